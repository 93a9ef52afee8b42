//! Stored entries: the envelope, the kind, and the payload kept as the bytes that were written.

use std::borrow::Cow;

use super::id::EntryId;
use super::json;

/// What an entry is (SPEC 3.1). Kinds that this build does not know are kept and take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntryKind {
    /// A message of a user, an assistant, a tool, or of the system.
    Message,
    /// A summary that stands for what came before it in the context.
    Compaction,
    /// A summary of a branch that was left.
    BranchSummary,
    /// State of a host or an extension; not part of the context unless a projector says so.
    Custom,
    /// A message of a host or an extension; part of the context.
    CustomMessage,
    /// A label that is set on, or cleared from, an entry.
    Label,
    /// The session's name.
    SessionInfo,
    /// The model from here on.
    ModelChange,
    /// The thinking level from here on.
    ThinkingLevelChange,
    /// The active tools from here on.
    ActiveToolsChange,
    /// A control entry that moves the leaf.
    Leaf,
    /// Tokens and cost outside of the conversation.
    Usage,
    /// A change to what an earlier entry contributes to the context.
    ContextEdit,
    /// Anything else.
    Unknown,
}

impl EntryKind {
    /// The kind that a record's `type` names.
    pub fn from_type(name: &str) -> Self {
        match name {
            "message" => Self::Message,
            "compaction" => Self::Compaction,
            "branch_summary" => Self::BranchSummary,
            "custom" => Self::Custom,
            "custom_message" => Self::CustomMessage,
            "label" => Self::Label,
            "session_info" => Self::SessionInfo,
            "model_change" => Self::ModelChange,
            "thinking_level_change" => Self::ThinkingLevelChange,
            "active_tools_change" => Self::ActiveToolsChange,
            "leaf" => Self::Leaf,
            "usage" => Self::Usage,
            "context_edit" => Self::ContextEdit,
            _ => Self::Unknown,
        }
    }
}

/// Who speaks in a message entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// The system prompt.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The answer of a tool to a call of the assistant.
    ToolResult,
    /// A shell command that the user ran.
    BashExecution,
    /// A message of an extension.
    Custom,
    /// Any other role.
    Other,
}

impl Role {
    /// The role that a message's `role` names.
    pub fn from_name(name: &str) -> Self {
        match name {
            "system" => Self::System,
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "toolResult" => Self::ToolResult,
            "bashExecution" => Self::BashExecution,
            // Version 2 of the format called custom messages so.
            "custom" | "hookMessage" => Self::Custom,
            _ => Self::Other,
        }
    }

    /// The name that today's messages have for it; `other` stands for any other.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::ToolResult => "toolResult",
            Self::BashExecution => "bashExecution",
            Self::Custom => "custom",
            Self::Other => "other",
        }
    }
}

/// An entry as it stands in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub(crate) id: EntryId,
    pub(crate) parent_id: Option<EntryId>,
    pub(crate) kind: EntryKind,
    pub(crate) role: Option<Role>,
    pub(crate) timestamp: String,
    pub(crate) line: Vec<u8>,
    pub(crate) position: u64,
    pub(crate) suspect: bool,
}

impl Entry {
    /// The id.
    pub fn id(&self) -> &EntryId {
        &self.id
    }

    /// The parent as the record names it: `None` for a root.
    pub fn parent_id(&self) -> Option<&EntryId> {
        self.parent_id.as_ref()
    }

    /// The kind.
    pub fn kind(&self) -> EntryKind {
        self.kind
    }

    /// The role, for message entries.
    pub fn role(&self) -> Option<Role> {
        self.role
    }

    /// The time as the record spells it; ISO 8601 unless a foreign writer chose otherwise.
    pub fn timestamp(&self) -> &str {
        &self.timestamp
    }

    /// The stored record, byte for byte, without its line feed (SPEC 1.3).
    pub fn as_bytes(&self) -> &[u8] {
        &self.line
    }

    /// Where the record starts: a byte offset on files, opaque elsewhere.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Whether the record reads well but is not what its checksum says (SPEC 1.2).
    pub fn is_suspect(&self) -> bool {
        self.suspect
    }

    /// The stored record as text; bytes that are no UTF-8 become U+FFFD here, and only here.
    pub fn as_json(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.line)
    }

    /// The record's `type`.
    pub fn type_name(&self) -> String {
        self.text_member("type").unwrap_or_default()
    }

    /// The raw JSON of the top-level member `key`.
    pub fn member(&self, key: &str) -> Option<String> {
        json::member(&self.as_json(), key).map(str::to_owned)
    }

    /// The top-level member `key`, if it is a string.
    pub fn text_member(&self, key: &str) -> Option<String> {
        json::string(json::member(&self.as_json(), key)?)
    }

    /// The raw JSON of a message entry's message.
    pub fn message(&self) -> Option<String> {
        self.member("message")
    }

    /// What a person would read: the text of a message, a summary, a label, a name, a setting. May be empty.
    pub fn text(&self) -> String {
        let record = self.as_json();
        let text = |key| json::member(&record, key).and_then(json::string).unwrap_or_default();
        match self.kind {
            EntryKind::Message => json::member(&record, "message").map(message_text).unwrap_or_default(),
            EntryKind::CustomMessage => json::member(&record, "content").map(content_text).unwrap_or_default(),
            EntryKind::Compaction | EntryKind::BranchSummary => text("summary"),
            EntryKind::Label => text("label"),
            EntryKind::SessionInfo => text("name"),
            EntryKind::ModelChange => format!("{}/{}", text("provider"), text("modelId")),
            EntryKind::ThinkingLevelChange => text("thinkingLevel"),
            EntryKind::ActiveToolsChange => json::member(&record, "activeToolNames").map(joined).unwrap_or_default(),
            EntryKind::Custom => text("customType"),
            EntryKind::Leaf | EntryKind::ContextEdit => text("targetId"),
            EntryKind::Usage => text("kind"),
            EntryKind::Unknown => text("type"),
        }
    }
}

fn joined(array: &str) -> String {
    let names: Vec<_> = json::elements(array).into_iter().filter_map(json::string).collect();
    names.join(", ")
}

/// The text of a message: its content, or for a shell command the command.
pub(crate) fn message_text(message: &str) -> String {
    match json::member(message, "content") {
        Some(content) => content_text(content),
        None => json::member(message, "command").and_then(json::string).unwrap_or_default(),
    }
}

/// The text of a content value: a string, or the text blocks of an array, joined by nothing as pi's editor does.
pub(crate) fn content_text(content: &str) -> String {
    if let Some(text) = json::string(content) {
        return text;
    }
    let mut joined = String::new();
    for block in json::elements(content) {
        let Ok(members) = json::members(block) else { continue };
        if json::text(&members, "type").as_deref() == Some("text") {
            joined.push_str(&json::text(&members, "text").unwrap_or_default());
        }
    }
    joined
}
