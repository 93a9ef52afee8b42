//! From entries to messages that fit a budget, and the files that they touched (SPEC 6.2).

use std::collections::BTreeSet;

use super::content::{Block, Fields, blocks, joined, printed, units};
use super::summarizer::Summary;
use crate::model::{Entry, EntryKind, Role, json};
use crate::session::{Message, latest_edits, project_entry};

/// What an image counts, in characters, as pi has it.
const IMAGE_CHARACTERS: u64 = 4_800;

const CHARACTERS_PER_TOKEN: u64 = 4;

/// An earlier summary may go over the budget as long as less than this much of it is taken.
const FULL_PERCENT: u64 = 90;

/// What stands before every summary, so that the model knows what it reads.
const PREAMBLE: &str = "Before it came here, the conversation followed another branch, which was then left. \
                        What that branch was about:\n\n";

/// The summary of a branch in which nothing was said.
const NO_CONTENT: &str = "No content to summarize";

/// A branch, ready to be summarised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PreparedBranch {
    /// What was said, in time order: the newest part that fits the budget, without tool results.
    pub messages: Vec<Message>,
    /// How many tokens that is, by [`estimate_tokens`].
    pub tokens: u64,
    /// The files that were read and not modified, sorted.
    pub read_files: Vec<String>,
    /// The files that were written or edited, sorted.
    pub modified_files: Vec<String>,
}

impl PreparedBranch {
    /// The summary to store for `text`, which a model wrote: with a preamble and the lists of files (SPEC 6.2).
    ///
    /// `usage` is what it cost, raw JSON.
    pub fn summary(&self, text: &str, usage: Option<String>) -> Summary {
        let lists = [("read-files", &self.read_files), ("modified-files", &self.modified_files)];
        let lists = lists.into_iter().filter(|(_, files)| !files.is_empty());
        let lists = lists.map(|(tag, files)| format!("\n\n<{tag}>\n{}\n</{tag}>", files.join("\n")));
        let whole = format!("{PREAMBLE}{}{}", text.trim(), lists.collect::<String>());
        Summary { text: whole, details: Some(details(&self.read_files, &self.modified_files)), usage, from_hook: false }
    }

    /// The summary of a branch without messages, for which nobody is asked.
    pub(super) fn no_content() -> Summary {
        Summary { details: Some(details(&[], &[])), ..Summary::new(NO_CONTENT) }
    }
}

fn details(read: &[String], modified: &[String]) -> String {
    serde_json::json!({ "readFiles": read, "modifiedFiles": modified }).to_string()
}

/// Makes of `entries`, given in time order, what a summary of at most `budget` tokens of conversation is made from
/// (SPEC 6.2); `None` sets no limit.
///
/// Takes the newest messages first and stops at the first that does not fit; an earlier summary still goes in while
/// less than nine tenths of the budget are taken. Tool results are left out. A context edit holds here as in a context
/// (SPEC 4.2). Files come from the `read`, `write` and `edit` calls of the messages taken, and from the details of every
/// earlier branch summary that no hook made.
pub fn prepare_branch(entries: &[Entry], budget: Option<u64>) -> PreparedBranch {
    let edits = latest_edits(entries);
    let mut files = Files::default();
    for entry in entries {
        files.add_details(entry);
    }
    let mut messages = Vec::new();
    let mut tokens = 0;
    for entry in entries.iter().rev() {
        let Some(message) = message_of(entry, edits.get(entry.id()).copied()) else { continue };
        files.add_calls(&message);
        let more = estimate_tokens(&message);
        let fits = budget.is_none_or(|budget| tokens + more <= budget);
        let is_summary = matches!(entry.kind(), EntryKind::Compaction | EntryKind::BranchSummary);
        let has_room = budget.is_none_or(|budget| tokens * 100 < budget.saturating_mul(FULL_PERCENT));
        if fits || (is_summary && has_room) {
            messages.push(message);
            tokens += more;
        }
        if !fits {
            break;
        }
    }
    messages.reverse();
    let (read_files, modified_files) = files.into_lists();
    PreparedBranch { messages, tokens, read_files, modified_files }
}

/// What an entry contributes to a summary.
fn message_of(entry: &Entry, edit: Option<&Entry>) -> Option<Message> {
    match entry.kind() {
        EntryKind::Message if entry.role() == Some(Role::ToolResult) => None,
        EntryKind::Message | EntryKind::CustomMessage | EntryKind::BranchSummary => {
            project_entry(entry, edit).into_iter().next()
        }
        // A retained tail repeats messages that stand before the compaction, and a system message is no event.
        EntryKind::Compaction => {
            project_entry(entry, edit).into_iter().find(|message| message.role() == "compactionSummary")
        }
        _ => None,
    }
}

/// How many tokens a message takes, by pi's rule: its characters (UTF-16 units) divided by four, rounded up.
///
/// Texts, thinking, names and arguments of tool calls, commands and their output, and summaries count; an image counts
/// as 4,800 characters. A message of another role, a system message too, counts nothing.
pub fn estimate_tokens(message: &Message) -> u64 {
    let fields = Fields::of(message.as_json());
    let text = |key| fields.text(key).map_or(0, |text| units(&text));
    let content = |count: fn(&Block<'_>) -> u64| blocks(&fields).iter().map(count).sum();
    let characters: u64 = match message.role().as_str() {
        "user" | "custom" | "toolResult" => content(shown_characters),
        "assistant" => content(written_characters),
        "bashExecution" => text("command") + text("output"),
        "branchSummary" | "compactionSummary" => text("summary"),
        _ => 0,
    };
    characters.div_ceil(CHARACTERS_PER_TOKEN)
}

/// What a block counts that a model is shown.
fn shown_characters(block: &Block<'_>) -> u64 {
    match block {
        Block::Text(text) => units(&joined(&[text], "")),
        Block::Image => IMAGE_CHARACTERS,
        _ => 0,
    }
}

/// What a block counts that a model wrote.
fn written_characters(block: &Block<'_>) -> u64 {
    match block {
        Block::Text(text) | Block::Thinking(text) => units(&joined(&[text], "")),
        Block::Call(call) => {
            let arguments = call.arguments.map_or_else(|| "undefined".to_owned(), printed);
            units(&call.name) + units(&arguments)
        }
        Block::Image | Block::Other => 0,
    }
}

/// Files by what was done to them.
#[derive(Default)]
struct Files {
    read: BTreeSet<String>,
    modified: BTreeSet<String>,
}

impl Files {
    /// Takes over what an earlier summary knows, unless a hook made it: a hook's details are its own.
    fn add_details(&mut self, entry: &Entry) {
        if entry.kind() != EntryKind::BranchSummary {
            return;
        }
        let record = entry.as_json();
        let record = Fields::of(&record);
        if !matches!(record.raw("fromHook"), None | Some("false" | "null")) {
            return;
        }
        let details = Fields::of(record.raw("details").unwrap_or_default());
        for (key, files) in [("readFiles", &mut self.read), ("modifiedFiles", &mut self.modified)] {
            files.extend(json::elements(details.raw(key).unwrap_or_default()).into_iter().filter_map(json::string));
        }
    }

    /// Takes over what an assistant's tool calls did.
    fn add_calls(&mut self, message: &Message) {
        if message.role() != "assistant" {
            return;
        }
        for block in blocks(&Fields::of(message.as_json())) {
            let Block::Call(call) = block else { continue };
            let path = Fields::of(call.arguments.unwrap_or_default()).text("path").filter(|path| !path.is_empty());
            match (call.name.as_str(), path) {
                ("read", Some(path)) => drop(self.read.insert(path)),
                ("write" | "edit", Some(path)) => drop(self.modified.insert(path)),
                _ => {}
            }
        }
    }

    /// The files read only and the files modified, sorted as JavaScript sorts.
    fn into_lists(self) -> (Vec<String>, Vec<String>) {
        let sorted = |files: &mut Vec<String>| files.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
        let mut read: Vec<_> = self.read.difference(&self.modified).cloned().collect();
        let mut modified: Vec<_> = self.modified.into_iter().collect();
        sorted(&mut read);
        sorted(&mut modified);
        (read, modified)
    }
}
