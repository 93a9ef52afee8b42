//! Entries that a caller wants stored.

use super::entry::EntryKind;
use super::id::EntryId;
use super::json::{self, quote};
use super::time::Timestamp;
use crate::error::{Error, Result};

/// An entry to append: its type and payload; id, parent and time are given when it is stored.
///
/// Payloads are JSON text and are stored as they are given (SPEC 1.3): key order, number spelling, escapes and
/// duplicate keys stay. Only line breaks between tokens become spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    pub(crate) type_name: String,
    pub(crate) id: Option<EntryId>,
    pub(crate) timestamp: Option<String>,
    /// The payload's members, raw and joined by commas; empty if there are none.
    pub(crate) fields: String,
    /// How many bytes at the end of the fields hold the time at which this value was made, so that a retry with a new
    /// value of the same content is the same entry (SPEC 3.8).
    time_bytes: usize,
}

/// Members that the engine writes itself and that a payload may therefore not hold.
const ENGINE_MEMBERS: [&str; 5] = ["parentId", "side", "lane", "prev", "crc"];

impl NewEntry {
    fn new(type_name: &str, fields: String) -> Self {
        Self { type_name: type_name.to_owned(), id: None, timestamp: None, fields, time_bytes: 0 }
    }

    /// A message whose `members` are followed by the time of now.
    fn message_now(members: &str) -> Self {
        let time = format!("{}}}", Timestamp::now().as_millis());
        let fields = format!(r#""message":{{{members},"timestamp":{time}"#);
        Self { time_bytes: time.len(), ..Self::new("message", fields) }
    }

    /// A user message.
    pub fn user(text: impl AsRef<str>) -> Self {
        Self::message_now(&format!(r#""role":"user","content":{}"#, quote(text.as_ref())))
    }

    /// An assistant message with one block of text.
    pub fn assistant(text: impl AsRef<str>) -> Self {
        Self::message_now(&format!(r#""role":"assistant","content":[{}]"#, text_block(text.as_ref())))
    }

    /// The answer of a tool to the call `call_id` of an assistant.
    pub fn tool_result(call_id: impl AsRef<str>, tool: impl AsRef<str>, text: impl AsRef<str>) -> Self {
        let (call_id, tool, block) = (quote(call_id.as_ref()), quote(tool.as_ref()), text_block(text.as_ref()));
        Self::message_now(&format!(
            r#""role":"toolResult","toolCallId":{call_id},"toolName":{tool},"content":[{block}],"isError":false"#
        ))
    }

    /// A system message.
    pub fn system(text: impl AsRef<str>) -> Self {
        Self::message_now(&format!(r#""role":"system","content":{}"#, quote(text.as_ref())))
    }

    /// A message entry around `message`, a JSON object with a `role`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) if it is not that.
    pub fn message(message: &str) -> Result<Self> {
        let role = object(message, "a message")?.into_iter().find(|member| member.key == "role");
        if role.and_then(|member| json::string(member.value)).is_none() {
            return Err(Error::invalid("a message needs a role"));
        }
        Ok(Self::new("message", format!(r#""message":{}"#, one_line(message))))
    }

    /// State of a host or an extension; `data` is any JSON.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) if `data` is not JSON.
    pub fn custom(custom_type: &str, data: &str) -> Result<Self> {
        let data = json_value(data, "the data of a custom entry")?;
        Ok(Self::new("custom", format!(r#""customType":{},"data":{data}"#, quote(custom_type))))
    }

    /// A message of a host or an extension: `content` is a JSON string or an array of content blocks.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) if `content` is neither.
    pub fn custom_message(custom_type: &str, content: &str, display: bool) -> Result<Self> {
        let content = json_value(content, "the content of a custom message")?;
        if !content.starts_with(['"', '[']) {
            return Err(Error::invalid("the content of a custom message is a string or an array"));
        }
        let fields = format!(r#""customType":{},"content":{content},"display":{display}"#, quote(custom_type));
        Ok(Self::new("custom_message", fields))
    }

    /// The model from here on.
    pub fn model_change(provider: &str, model_id: &str) -> Self {
        Self::new("model_change", format!(r#""provider":{},"modelId":{}"#, quote(provider), quote(model_id)))
    }

    /// The thinking level from here on.
    pub fn thinking_level_change(level: &str) -> Self {
        Self::new("thinking_level_change", format!(r#""thinkingLevel":{}"#, quote(level)))
    }

    /// The active tools from here on.
    pub fn active_tools_change<T: AsRef<str>>(names: &[T]) -> Self {
        let names: Vec<_> = names.iter().map(|name| quote(name.as_ref())).collect();
        Self::new("active_tools_change", format!(r#""activeToolNames":[{}]"#, names.join(",")))
    }

    /// A label on `target`; empty text clears it (SPEC 3.6).
    pub(crate) fn label(target: &EntryId, label: &str) -> Self {
        let label = one_line_label(label);
        let label = if label.is_empty() { String::new() } else { format!(r#","label":{}"#, quote(&label)) };
        Self::new("label", format!(r#""targetId":{}{label}"#, quote(&target.to_string())))
    }

    /// The session's name; empty text clears it (SPEC 3.6).
    pub(crate) fn session_info(name: &str) -> Self {
        Self::new("session_info", format!(r#""name":{}"#, quote(&one_line_label(name))))
    }

    /// Where the session's project is now. Older programs read only the name, so that is stated again.
    pub(crate) fn relocation(name: &str, cwd: &str) -> Self {
        Self::new("session_info", format!(r#""name":{},"cwd":{}"#, quote(&one_line_label(name)), quote(cwd)))
    }

    /// A control entry that moves the leaf (SPEC 3.2).
    pub(crate) fn leaf(target: Option<&EntryId>, from: Option<&EntryId>) -> Self {
        Self::new("leaf", format!(r#""targetId":{},"fromId":{}"#, quote_id(target), quote_id(from)))
    }

    /// An entry from its JSON object. `type` is needed; `id` and `timestamp` are taken over if they are there;
    /// every other member is payload.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) if it is no object, has no type, is a header or a leaf entry
    /// (move the leaf instead), or holds a member that only the engine writes (`parentId`, `side`, `lane`, `prev`, `crc`).
    pub fn from_json(entry: &str) -> Result<Self> {
        let members = object(entry, "an entry")?;
        let text = |key: &str| json::value(&members, key).map(json::string);
        let type_name = text("type").flatten().ok_or_else(|| Error::invalid("an entry needs a type"))?;
        if matches!(type_name.as_str(), "session" | "leaf") {
            return Err(Error::invalid(format!(
                "an entry of type {type_name} cannot be appended; move the leaf instead"
            )));
        }
        if let Some(member) = members.iter().find(|member| ENGINE_MEMBERS.contains(&member.key.as_ref())) {
            return Err(Error::invalid(format!("the member {} is written by the engine; leave it out", member.key)));
        }
        let id = match text("id") {
            Some(Some(id)) => Some(EntryId::parse(&id)?),
            Some(None) => return Err(Error::invalid("an id is a string")),
            None => None,
        };
        let payload: Vec<_> = members
            .iter()
            .filter(|member| !matches!(member.key.as_ref(), "type" | "id" | "timestamp"))
            .map(|member| one_line(member.text))
            .collect();
        check_kind(&type_name, &members)?;
        let timestamp = text("timestamp").flatten();
        Ok(Self { id, timestamp, ..Self::new(&type_name, payload.join(",")) })
    }

    /// Gives the entry an id of the caller's choice; appending it twice stores it once (SPEC 3.8).
    #[must_use]
    pub fn with_id(mut self, id: EntryId) -> Self {
        self.id = Some(id);
        self
    }

    /// Gives the entry a time of the caller's choice.
    #[must_use]
    pub fn with_timestamp(mut self, timestamp: Timestamp) -> Self {
        self.timestamp = Some(timestamp.to_string());
        self
    }

    /// The kind.
    pub fn kind(&self) -> EntryKind {
        EntryKind::from_type(&self.type_name)
    }

    /// The payload: the JSON object of everything but the envelope. A before-write hook gets and returns this.
    pub fn payload(&self) -> String {
        format!("{{{}}}", self.fields)
    }

    /// The same entry with another payload, a JSON object; for before-write hooks.
    ///
    /// # Errors
    ///
    /// As [`NewEntry::from_json`].
    pub fn with_payload(self, payload: &str) -> Result<Self> {
        let members = object(payload, "a payload")?;
        let fields: Vec<_> = members.iter().map(|member| member.text).collect();
        let type_name = quote(&self.type_name);
        let comma = if fields.is_empty() { "" } else { "," };
        let changed = Self::from_json(&format!(r#"{{"type":{type_name}{comma}{}}}"#, fields.join(",")))?;
        let time = &self.fields[self.fields.len() - self.time_bytes..];
        let time_bytes = if changed.fields.ends_with(time) { self.time_bytes } else { 0 };
        Ok(Self { id: self.id, timestamp: self.timestamp, time_bytes, ..changed })
    }

    /// Whether `stored`, the payload of a stored record, is this entry's.
    pub(crate) fn has_fields(&self, stored: &str) -> bool {
        let (given, time) = self.fields.split_at(self.fields.len() - self.time_bytes);
        match stored.strip_prefix(given) {
            Some(rest) if time.is_empty() => rest.is_empty(),
            Some(rest) => rest.strip_suffix('}').is_some_and(|time| time.bytes().all(|byte| byte.is_ascii_digit())),
            None => false,
        }
    }

    /// The raw JSON of a payload member.
    pub(crate) fn field(&self, key: &str) -> Option<String> {
        json::member(&self.payload(), key).map(str::to_owned)
    }
}

fn check_kind(type_name: &str, members: &[json::Member<'_>]) -> Result<()> {
    let replacement = json::value(members, "replacement");
    if type_name == "context_edit" && !replacement.is_some_and(is_replacement) {
        return Err(Error::invalid(
            "a context edit replaces by null, or by an object with a string or array as content",
        ));
    }
    let needed = match EntryKind::from_type(type_name) {
        EntryKind::Message => "message",
        EntryKind::Compaction | EntryKind::BranchSummary => "summary",
        EntryKind::Label | EntryKind::ContextEdit => "targetId",
        EntryKind::Custom | EntryKind::CustomMessage => "customType",
        _ => return Ok(()),
    };
    match members.iter().find(|member| member.key == needed) {
        Some(member) if needed == "message" => NewEntry::message(member.value).map(|_| ()),
        Some(member) if member.value.starts_with('"') => Ok(()),
        _ => Err(Error::invalid(format!("an entry of type {type_name} needs the member {needed}"))),
    }
}

/// Whether pi takes `value` as the replacement of a context edit.
fn is_replacement(value: &str) -> bool {
    value == "null" || json::member(value, "content").is_some_and(|content| content.starts_with(['"', '[']))
}

fn object<'a>(text: &'a str, what: &str) -> Result<Vec<json::Member<'a>>> {
    json::members(text).map_err(|error| {
        // The position is safe to tell; the content is not (SPEC 1.7).
        Error::invalid(format!("{what} must be one JSON object (column {})", error.column()))
    })
}

/// One JSON value, as it is stored; anything else could smuggle in members of the engine.
pub(crate) fn json_value(text: &str, what: &str) -> Result<String> {
    match serde_json::from_str::<&serde_json::value::RawValue>(text) {
        Ok(raw) => Ok(one_line(raw.get())),
        Err(error) => Err(Error::invalid(format!("{what} must be JSON (column {})", error.column()))),
    }
}

/// Line breaks can only stand between tokens of valid JSON, so replacing them changes no value (SPEC 1.3).
fn one_line(json: &str) -> String {
    json.trim().replace(['\n', '\r'], " ")
}

/// A label or name as it is stored: trimmed as JavaScript trims, line breaks as one space (SPEC 3.6).
pub(crate) fn one_line_label(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for part in text.split(['\n', '\r']).filter(|part| !part.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(part);
    }
    trim(&line).to_owned()
}

/// Trims what JavaScript's `trim` trims: U+FEFF is white space there, U+0085 is not.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|character: char| character == '\u{feff}' || (character.is_whitespace() && character != '\u{85}'))
}

fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, quote(text))
}

/// The JSON for an optional id.
pub(crate) fn quote_id(id: Option<&EntryId>) -> String {
    id.map_or_else(|| "null".to_owned(), |id| quote(&id.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_keeps_every_byte_but_line_breaks_between_tokens() {
        let entry = NewEntry::from_json(
            "{\"type\":\"custom\",\r\n \"customType\":\"x\", \"data\" : {\"n\":1e3,\n\"n\":123456789012345678901234567890,\"s\":\"\\ud99c\"}}",
        )
        .unwrap();
        assert_eq!(
            entry.payload(),
            r#"{"customType":"x","data" : {"n":1e3, "n":123456789012345678901234567890,"s":"\ud99c"}}"#
        );
    }

    #[test]
    fn members_of_the_engine_are_refused() {
        for member in ENGINE_MEMBERS {
            let error = NewEntry::from_json(&format!(r#"{{"type":"x","{member}":"y"}}"#)).unwrap_err();
            assert!(error.to_string().contains(member), "{error}");
        }
        // An escaped spelling is the same key.
        assert!(NewEntry::from_json("{\"type\":\"x\",\"\\u0063rc\":\"y\"}").is_err());
    }

    #[test]
    fn what_cannot_be_an_entry_is_refused() {
        for bad in [
            "",
            "[]",
            "{}",
            "{\"type\":1}",
            "{\"type\":\"session\"}",
            "{\"type\":\"leaf\"}",
            "{\"type\":\"message\"}",
            "{\"type\":\"label\"}",
            "{\"type\":\"x\",\"id\":\"\"}",
            "{\"type\":\"x\",\"id\":3}",
            "{\"type\":\"x\"} {}",
        ] {
            assert!(NewEntry::from_json(bad).is_err(), "{bad}");
        }
        for replacement in ["", r#","replacement":1"#, r#","replacement":{}"#, r#","replacement":{"content":1}"#] {
            let edit = format!(r#"{{"type":"context_edit","targetId":"a"{replacement}}}"#);
            assert!(NewEntry::from_json(&edit).is_err(), "{edit}");
        }
        assert!(NewEntry::from_json(r#"{"type":"context_edit","targetId":"a","replacement":null}"#).is_ok());
        assert!(NewEntry::message("{\"content\":1}").is_err());
        assert!(NewEntry::message("[]").is_err());
    }

    #[test]
    fn labels_are_one_trimmed_line() {
        assert_eq!(one_line_label(" a\r\n\nb \u{feff}"), "a b");
        assert_eq!(one_line_label("\n \r"), "");
        assert_eq!(one_line_label("\u{85}x"), "\u{85}x");
    }
}
