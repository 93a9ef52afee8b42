//! What people see of an entry, whatever the format.

use leaflog::{Content, Entry, EntryKind, Role, Session};
use serde::Serialize;

/// An entry as a document shows it.
#[derive(Debug, Serialize)]
pub(super) struct View {
    pub(super) speaker: Speaker,
    /// Who speaks, or what this is, in a few words.
    pub(super) title: String,
    /// Whether a tool or a command failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) failed: bool,
    /// Short remarks.
    pub(super) facts: Vec<String>,
    pub(super) parts: Vec<Part>,
}

/// Who speaks, as far as the look of it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Speaker {
    User,
    Assistant,
    Tool,
    System,
    /// An extension, or a role that is not known here.
    Other,
    /// What stands for messages that are not shown to the model any more.
    Summary,
    /// What says something about the session and nothing in it: one line.
    Note,
}

/// A part of what is said.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Part {
    /// What somebody wrote; Markdown as a rule.
    Text {
        text: String,
    },
    Thinking {
        text: String,
    },
    /// A call of a tool.
    Call {
        name: String,
        id: String,
        text: String,
    },
    /// What came out of a tool or a command, as it is.
    Output {
        text: String,
    },
    Image {
        mime: String,
        data: String,
    },
    /// A block of a type that is not known here.
    Unknown {
        name: String,
    },
}

impl Speaker {
    /// Without the record, as far as that is needed to draw a tree.
    pub(super) fn of(kind: EntryKind, role: Option<Role>) -> Self {
        match (kind, role) {
            (EntryKind::Message, Some(Role::User)) => Self::User,
            (EntryKind::Message, Some(Role::Assistant)) => Self::Assistant,
            (EntryKind::Message, Some(Role::ToolResult | Role::BashExecution)) => Self::Tool,
            (EntryKind::Message, Some(Role::System)) => Self::System,
            (EntryKind::Message | EntryKind::CustomMessage, _) => Self::Other,
            (EntryKind::Compaction | EntryKind::BranchSummary, _) => Self::Summary,
            _ => Self::Note,
        }
    }
}

impl View {
    pub(super) fn of(entry: &Entry, session: &Session) -> Self {
        let speaker = Speaker::of(entry.kind(), entry.role());
        let mut view = Self { speaker, title: String::new(), failed: false, facts: Vec::new(), parts: Vec::new() };
        match entry.kind() {
            EntryKind::Message => view.message(entry),
            EntryKind::CustomMessage => {
                view.title = with_name("Message of", &member(entry, "customType"));
                view.blocks(entry, false);
            }
            EntryKind::Compaction => view.compaction(entry),
            EntryKind::BranchSummary => {
                view.title = String::from("Summary of a branch that was left");
                view.fact("left at", &member(entry, "fromId"));
                view.blocks(entry, false);
            }
            _ => view.note(entry),
        }
        if let Some(label) = session.label(entry.id()) {
            view.facts.push(format!("label: {}", label.text));
        }
        if entry.is_suspect() {
            view.facts.push("not what its checksum says".to_owned());
        }
        view
    }

    fn message(&mut self, entry: &Entry) {
        let text = |key| entry.message_text_member(key).unwrap_or_default();
        match entry.role() {
            Some(Role::User) => self.title = String::from("User"),
            Some(Role::System) => self.title = String::from("System"),
            Some(Role::Assistant) => {
                self.title = String::from("Assistant");
                self.fact("", &text("model"));
                self.fact("error:", &text("errorMessage"));
            }
            Some(Role::ToolResult) => {
                self.title = with_name("Result of", &text("toolName"));
                self.failed = entry.message_member("isError").as_deref() == Some("true");
                self.fact("call", &text("toolCallId"));
            }
            Some(Role::BashExecution) => return self.shell_command(entry),
            _ => self.title = with_name("Message of", &[text("customType"), text("role")].join(" ")),
        }
        self.blocks(entry, entry.role() == Some(Role::ToolResult));
    }

    fn shell_command(&mut self, entry: &Entry) {
        self.title = String::from("Shell command");
        let text = |key| entry.message_text_member(key).unwrap_or_default();
        let is_set = |key| entry.message_member(key).as_deref() == Some("true");
        let code = entry.message_member("exitCode").filter(|code| code != "null" && code != "0");
        self.failed = code.is_some() || is_set("cancelled");
        self.fact("exit code", &code.unwrap_or_default());
        for remark in ["cancelled", "truncated"] {
            if is_set(remark) {
                self.facts.push(remark.to_owned());
            }
        }
        self.parts.push(Part::Call { name: "sh".to_owned(), id: String::new(), text: text("command") });
        self.parts.push(Part::Output { text: text("output") });
    }

    fn compaction(&mut self, entry: &Entry) {
        self.title = String::from("Compaction: this stands for what came before");
        if entry.member("retainedTail").is_some() {
            self.facts.push("keeps a tail of its own".to_owned());
        } else {
            self.fact("keeps what follows from", &member(entry, "firstKeptEntryId"));
        }
        self.fact("tokens before:", &entry.member("tokensBefore").unwrap_or_default());
        self.blocks(entry, false);
    }

    fn note(&mut self, entry: &Entry) {
        let text = entry.text();
        self.title = match entry.kind() {
            EntryKind::Label if text.is_empty() => format!("Label of {} cleared", member(entry, "targetId")),
            EntryKind::Label => format!("Label of {}: {text}", member(entry, "targetId")),
            EntryKind::SessionInfo if text.is_empty() => "Name cleared".to_owned(),
            EntryKind::SessionInfo => format!("Name: {text}"),
            EntryKind::ModelChange => format!("Model: {text}"),
            EntryKind::ThinkingLevelChange => format!("Thinking level: {text}"),
            EntryKind::ActiveToolsChange => format!("Active tools: {text}"),
            EntryKind::Custom => with_name("State of", &text),
            EntryKind::Usage => "Usage".to_owned(),
            EntryKind::ContextEdit => format!("Context edit of {text}"),
            _ => with_name("Entry of the type", &entry.type_name()),
        };
    }

    fn fact(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.facts.push(format!("{name} {value}").trim_start().to_owned());
        }
    }

    fn blocks(&mut self, entry: &Entry, is_output: bool) {
        self.parts.extend(entry.content().into_iter().map(|block| match block {
            Content::Text(text) if is_output => Part::Output { text },
            Content::Text(text) => Part::Text { text },
            Content::Thinking(text) => Part::Thinking { text },
            Content::ToolCall { id, name, arguments, .. } => Part::Call { name, id, text: shown(&arguments) },
            Content::Image { mime_type, data, .. } => Part::Image { mime: mime_type, data },
            Content::Other(name) => Part::Unknown { name },
            _ => Part::Unknown { name: String::new() },
        }));
        self.parts.retain(|part| !matches!(part, Part::Text { text } | Part::Thinking { text } if text.is_empty()));
    }
}

fn member(entry: &Entry, key: &str) -> String {
    entry.text_member(key).unwrap_or_default()
}

fn with_name(what: &str, name: &str) -> String {
    let name = name.trim();
    if name.is_empty() { format!("{what} an unknown kind") } else { format!("{what} {name}") }
}

/// Arguments one below the other, the longer ones indented.
fn shown(arguments: &[(String, String)]) -> String {
    let mut text = String::new();
    for (name, value) in arguments {
        if !text.is_empty() {
            text.push('\n');
        }
        if value.contains('\n') {
            text.extend([name, ":"]);
            value.lines().for_each(|line| text.extend(["\n    ", line]));
        } else if name.is_empty() {
            text.push_str(value);
        } else {
            text.extend([name, ": ", value]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_stand_one_below_the_other() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let arguments = [pair("path", "a.rs"), pair("text", "one\n  two"), pair("n", "3")];
        assert_eq!(shown(&arguments), "path: a.rs\ntext:\n    one\n      two\nn: 3");
        assert_eq!(shown(&[pair("", "[1]")]), "[1]");
        assert_eq!(shown(&[]), "");
    }
}
