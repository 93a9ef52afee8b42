//! The command line, as its users meet it: the real binary on real files.
#![cfg(feature = "cli")]

#[path = "cli/support.rs"]
mod support;

#[path = "cli/append.rs"]
mod append;
#[path = "cli/change.rs"]
mod change;
#[path = "cli/errors.rs"]
mod errors;
#[path = "cli/export.rs"]
mod export;
#[path = "cli/limits.rs"]
mod limits;
#[path = "cli/migrate.rs"]
mod migrate;
#[path = "cli/navigate.rs"]
mod navigate;
#[path = "cli/read.rs"]
mod read;
#[path = "cli/repl.rs"]
mod repl;
#[path = "cli/search.rs"]
mod search;
#[path = "cli/sessions.rs"]
mod sessions;
#[path = "cli/stores.rs"]
mod stores;
#[path = "cli/tree.rs"]
mod tree;
#[path = "cli/watch.rs"]
mod watch;
