//! What an entry says, part by part and decoded, for people to read.

use super::entry::{Entry, EntryKind};
use super::json;

/// A part of what an entry says.
///
/// Texts are decoded: lone surrogates and bytes that are no UTF-8 are U+FFFD here. The record keeps them
/// ([`Entry::as_bytes`]).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// Text: of a message, or a summary.
    Text(String),
    /// What a model thought before it spoke.
    Thinking(String),
    /// A call of a tool.
    #[non_exhaustive]
    ToolCall {
        /// The id that the result names.
        id: String,
        /// The tool.
        name: String,
        /// The arguments with their names, an object's members in their order: a string's text, else raw JSON. What is
        /// no object is one argument without a name.
        arguments: Vec<(String, String)>,
    },
    /// A picture.
    #[non_exhaustive]
    Image {
        /// Such as `image/png`.
        mime_type: String,
        /// Its bytes in Base64.
        data: String,
    },
    /// A block of another type, by the type's name.
    Other(String),
}

impl Entry {
    /// What the entry says: the blocks of a message's content, or a summary. Entries that say nothing have none.
    pub fn content(&self) -> Vec<Content> {
        let record = self.as_json();
        let Some(content) = content_of(self.kind, &record) else { return Vec::new() };
        match json::string(content) {
            Some(text) => vec![Content::Text(text)],
            None => json::elements(content).into_iter().map(block).collect(),
        }
    }

    /// The raw JSON of the member `key` of a message entry's message.
    pub fn message_member(&self, key: &str) -> Option<String> {
        json::member(&self.message()?, key).map(str::to_owned)
    }

    /// The member `key` of a message entry's message, if it is a string.
    pub fn message_text_member(&self, key: &str) -> Option<String> {
        json::string(&self.message_member(key)?)
    }
}

/// The raw content of what `record` says.
fn content_of(kind: EntryKind, record: &str) -> Option<&str> {
    match kind {
        EntryKind::Message => json::member(json::member(record, "message")?, "content"),
        EntryKind::CustomMessage => json::member(record, "content"),
        EntryKind::Compaction | EntryKind::BranchSummary => json::member(record, "summary"),
        _ => None,
    }
}

fn block(raw: &str) -> Content {
    let members = json::members(raw).unwrap_or_default();
    let text = |key: &str| json::text(&members, key).unwrap_or_default();
    match text("type").as_str() {
        "text" => Content::Text(text("text")),
        "thinking" => Content::Thinking(text("thinking")),
        "toolCall" => Content::ToolCall {
            id: text("id"),
            name: text("name"),
            arguments: json::value(&members, "arguments").map(arguments).unwrap_or_default(),
        },
        "image" => Content::Image { mime_type: text("mimeType"), data: text("data") },
        other => Content::Other(other.to_owned()),
    }
}

fn arguments(raw: &str) -> Vec<(String, String)> {
    let shown = |value: &str| json::string(value).unwrap_or_else(|| value.to_owned());
    match json::members(raw) {
        Ok(members) => members.into_iter().map(|member| (member.key.into_owned(), shown(member.value))).collect(),
        Err(_) => vec![(String::new(), shown(raw))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EntryId, Role};

    fn entry(kind: EntryKind, line: &str) -> Entry {
        Entry {
            id: EntryId::parse("0000000a").unwrap(),
            parent_id: None,
            kind,
            role: Some(Role::Assistant),
            timestamp: String::new(),
            line: line.as_bytes().to_vec(),
            position: 0,
            suspect: false,
        }
    }

    #[test]
    fn every_block_of_a_message_is_there_in_order() {
        let line = r#"{"message":{"content":[
            {"type":"thinking","thinking":"hm\ud800"},{"type":"text","text":"a\u4e2d"},
            {"type":"toolCall","id":"c","name":"write","arguments":{"path":"x","n":1e3,"to":["a"]}},
            {"type":"toolCall","name":"odd","arguments":7},
            {"type":"image","mimeType":"image/png","data":"AA=="},{"type":"audio"},3],"model":"m"}}"#;
        let entry = entry(EntryKind::Message, line);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [
            Content::Thinking("hm\u{fffd}".to_owned()),
            Content::Text("a中".to_owned()),
            Content::ToolCall {
                id: "c".to_owned(),
                name: "write".to_owned(),
                arguments: vec![pair("path", "x"), pair("n", "1e3"), pair("to", r#"["a"]"#)],
            },
            Content::ToolCall { id: String::new(), name: "odd".to_owned(), arguments: vec![pair("", "7")] },
            Content::Image { mime_type: "image/png".to_owned(), data: "AA==".to_owned() },
            Content::Other("audio".to_owned()),
            Content::Other(String::new()),
        ];
        assert_eq!(entry.content(), expected);
        assert_eq!(entry.message_text_member("model").as_deref(), Some("m"));
        assert_eq!(entry.message_member("cost"), None);
    }

    #[test]
    fn summaries_are_text_and_settings_say_nothing() {
        let text = |kind, line| entry(kind, line).content();
        assert_eq!(text(EntryKind::Compaction, r#"{"summary":"s"}"#), [Content::Text("s".to_owned())]);
        assert_eq!(text(EntryKind::CustomMessage, r#"{"content":"c"}"#), [Content::Text("c".to_owned())]);
        assert_eq!(text(EntryKind::ModelChange, r#"{"modelId":"m"}"#), []);
        assert_eq!(text(EntryKind::Message, r#"{"message":{"content":null}}"#), []);
        assert_eq!(text(EntryKind::Message, "no JSON"), []);
    }
}
