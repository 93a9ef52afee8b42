//! Storage for the sessions of AI agents: append-only trees of messages in checksummed JSON lines.
//!
//! A session is one log file. Its records form a tree through `parentId`, a *leaf* says where the session stands, and
//! everything else (tree, leaf, labels, context) is a fold over the log. Nothing is ever rewritten, so going back is
//! safe, every branch stays, and a copy of a live log is a valid session.
//!
//! ```
//! use leaflog::{Compaction, ContextOptions, CreateOptions, Fork, ForkOptions, NewEntry, Session, Store};
//!
//! let folder = tempfile::tempdir().expect("a temporary folder");
//! let store = Store::new(folder.path());
//!
//! // On return each entry is on the disk, and visible to every process.
//! let session = store.create(CreateOptions::new("/home/me/project"))?;
//! let question = session.append(NewEntry::user("How do we do it?"))?.id;
//! let plan_a = session.append(NewEntry::assistant("With plan A."))?.id;
//!
//! // Back to the question: what is appended next becomes a sibling of plan A, which stays.
//! session.move_to(Some(&question))?;
//! let plan_b = session.append(NewEntry::assistant("With plan B."))?.id;
//! assert_eq!(session.common_ancestor(&plan_a, &plan_b)?, Some(question.clone()));
//!
//! // The model sees the path to the leaf, and of what a compaction summarised, the summary.
//! session.compact(Compaction::new("We chose plan B.").first_kept(plan_b))?;
//! let context = session.context(&ContextOptions::new())?;
//! let texts: Vec<_> = context.messages.iter().map(|message| message.text()).collect();
//! assert_eq!(texts, ["We chose plan B.", "With plan B."]);
//!
//! // A fork is a session of its own; this one goes on from plan A.
//! let fork = store.fork(&session, &Fork::At(plan_a.clone()), ForkOptions::new())?.session;
//! assert_eq!(fork.leaf(), Some(plan_a));
//!
//! // Reopened, everything is where it was.
//! let again = Session::open(session.path())?;
//! assert_eq!(again.leaf(), session.leaf());
//! # Ok::<(), leaflog::Error>(())
//! ```
//!
//! # Where to find what
//!
//! | to | use |
//! |---|---|
//! | make, open, find, list, fork, delete and restore sessions | [`Store`], with [`CreateOptions`], [`ListOptions`], [`ForkOptions`] and [`Fork`] |
//! | open one file | [`Session::open`], [`Session::open_with`] and [`SessionOptions`] |
//! | say what to store | [`NewEntry`]: messages, custom entries, settings, or any JSON; bytes are kept as they are given |
//! | store it | [`Session::append`], [`Session::append_batch`]; [`AppendOptions`] say where, and which leaf is expected; a [`Receipt`] comes back |
//! | go elsewhere in the tree | [`Session::move_to`] for everyone and for good, [`Session::branch`] for this handle only, [`Session::move_with`] to leave a [`BranchSummary`] |
//! | shorten the context | [`Session::compact`] and [`Compaction`] |
//! | mark and name | [`Session::set_label`], [`Session::set_name`] |
//! | get what the model sees | [`Session::context`], [`ContextOptions`], [`Context`] of [`Message`]s and [`Settings`]; [`to_llm`] for models |
//! | look at the tree | [`Session::entries`], [`Session::path_entries`], [`Session::context_path`], [`Session::children`], [`Session::tips`], [`Session::tree`], [`Session::stats`] |
//! | find text | [`Session::search`], [`Store::search`] and [`Search`] |
//! | see what others appended | [`Session::refresh`], [`Session::watch`] |
//! | go to an old entry as an editor does, with a summary of what is left | [`Navigator`] and [`Summarizer`] |
//! | keep sessions in a database, in memory, or elsewhere | `Store::sqlite`, [`Store::in_memory`], [`Store::with_backend`], [`journal`] |
//! | move them between stores, and with their project | [`Store::copy`], [`Session::log`], [`Store::relocate`] |
//! | make sessions of pi's old formats writable | [`Store::migrate`], [`migrate`] |
//! | know of damage | [`Session::damage`], [`Session::gaps`], [`Session::doubt`]; [`SessionOptions::strict`] makes it an error |
//!
//! # What holds
//!
//! - With [`Durability::Disk`], the default, an entry survives a power cut once the call has returned; with
//!   [`Durability::Os`] it survives the death of the process.
//! - Any number of handles, threads and processes may append to one session. An append goes to the leaf that this handle
//!   has seen or fails with [`ErrorKind::Conflict`], which names the leaf; [`AppendOptions`] has other ways.
//! - Reading takes no lock, writes nothing, and leaves the file's time alone.
//! - Damage costs the damaged record, not those behind it. It is reported and never hidden.
//! - An [`Error`] says what to do by its [`ErrorKind`] and holds no session content.
//!
//! "SPEC" in these pages names the rules that a behaviour comes from; the numbers are those of the project's
//! requirements, and `docs/seeds.md` in the repository maps them to tests. `docs/format.md` describes the bytes and the
//! locking protocol, `docs/architecture.md` how the crate is built.
//!
//! Unix only for now: the lock and the file identities are those of Linux and macOS.
mod check;
mod codec;
#[cfg(feature = "test-util")]
pub mod conformance;
mod error;
mod index;
pub mod journal;
pub(crate) mod model;
mod navigate;
mod session;
mod store;

pub use check::{Migrated, migrate};
pub use codec::checksum::Checksum;
pub use error::{Error, ErrorKind, Result};
pub use index::{Damage, DamageKind, Doubt, Gap, GapReason, Label};
pub use journal::{APPEND_BYTES_MAX, Deleted};
pub use model::{
    Content, Entry, EntryId, EntryKind, Header, NewEntry, Origin, Position, Role, Scope, SessionId, Timestamp,
};
pub use navigate::{
    Cancellation, CommandSummarizer, LeftBranch, Moved, NavigateOptions, Navigation, NavigationDecision,
    NavigationEvent, NavigationPlan, Navigator, Phase, PhaseGuard, PreparedBranch, Prompt, Summarized, Summarizer,
    Summary, SummaryFailure, collect_branch, estimate_tokens, prepare_branch, summary_prompt,
};
pub use session::{
    ActivePath, AppendOptions, BranchSummary, Compaction, Context, ContextOptions, Durability, Entries, Fork, Hit,
    HitIn, Hits, LogReader, Message, Model, Receipt, Refresh, Search, Session, SessionOptions, Settings, SettingsFrom,
    Stats, Tip, ToolCall, Tree, TreeFilter, TreeNode, TreeOptions, to_llm,
};
pub use store::{CreateOptions, ForkOptions, Forked, ListOptions, SessionInfo, Store};

/// The example in the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
