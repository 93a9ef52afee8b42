//! A message of a context, and the view of JSON objects that the parts of this folder share.

use std::borrow::Cow;

use serde::ser::Error as _;
use serde_json::value::RawValue;

use crate::model::EntryId;
use crate::model::json;

/// A message of a context: a JSON object, and the entry that it came from.
///
/// What the log stores is kept byte for byte (SPEC 1.3, 4.2): number spelling, key order, duplicate keys and lone
/// surrogate escapes are those of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    json: String,
    entry: Option<EntryId>,
}

impl Message {
    /// `json` is one JSON object.
    pub(crate) fn new(json: impl Into<String>, entry: Option<EntryId>) -> Self {
        Self { json: json.into(), entry }
    }

    /// The JSON object, as it is stored or as it was made.
    pub fn as_json(&self) -> &str {
        &self.json
    }

    /// The `role`; empty if the message names none.
    pub fn role(&self) -> String {
        Object::parse(&self.json).and_then(|message| message.text("role")).unwrap_or_default()
    }

    /// What a person would read: the text of the content, the command of a shell execution, or the summary.
    ///
    /// Lone surrogates become U+FFFD here; [`as_json`](Self::as_json) keeps them. May be empty.
    pub fn text(&self) -> String {
        let message = Object::parse(&self.json);
        let summary = message.filter(|message| message.raw("content").is_none()).and_then(|it| it.text("summary"));
        summary.unwrap_or_else(|| crate::model::message_text(&self.json))
    }

    /// The entry that the message came from; `None` for a message that no entry stands behind.
    pub fn entry_id(&self) -> Option<&EntryId> {
        self.entry.as_ref()
    }
}

/// Writes the JSON object unchanged (with `serde_json`; other formats cannot hold raw JSON).
///
/// Fails if a projector supplied text that is not JSON (SPEC 4.4).
impl serde::Serialize for Message {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The parser's own error is left out: it says nothing that helps, and content has no place here (SPEC 1.7).
        let raw: &RawValue =
            serde_json::from_str(&self.json).map_err(|_| S::Error::custom("a message of the context is not JSON"))?;
        raw.serialize(serializer)
    }
}

/// A member of an object: its decoded key, its raw value and that value's offset, and the raw text of both.
#[derive(Debug)]
pub(super) struct Member<'a> {
    pub(super) key: Cow<'a, str>,
    pub(super) value: &'a str,
    pub(super) offset: usize,
    pub(super) text: &'a str,
}

/// The members of a JSON object. Of two with one key the last counts, as for pi and for whoever parses the bytes
/// that a context returns.
///
/// Contexts are made of records that were checked when the log was read, so nothing is checked again: values are
/// found by skipping from quote to quote, which is several times faster than parsing them.
#[derive(Debug)]
pub(super) struct Object<'a>(Vec<Member<'a>>);

impl<'a> Object<'a> {
    /// `None` if `text` is no object.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        Self::parse_with(text, None).map(|(object, _)| object)
    }

    /// Parses a record and, in the same pass, the message that it holds; the latter is `None` if it is no object.
    pub(super) fn parse_record(text: &'a str) -> Option<(Self, Option<Self>)> {
        Self::parse_with(text, Some("message"))
    }

    fn parse_with(text: &'a str, inner_key: Option<&str>) -> Option<(Self, Option<Self>)> {
        let mut scanner = Scanner { text, at: 0 };
        let parsed = scanner.object(inner_key)?;
        scanner.skip_space();
        (scanner.at == text.len()).then_some(parsed)
    }

    pub(super) fn members(&self) -> &[Member<'a>] {
        &self.0
    }

    /// The raw JSON of the member `key`.
    pub(super) fn raw(&self, key: &str) -> Option<&'a str> {
        self.0.iter().rev().find(|member| member.key == key).map(|member| member.value)
    }

    /// The decoded text of the member `key`, if it is a string.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        json::string(self.raw(key)?)
    }

    /// Whether JavaScript takes the member `key` for true.
    pub(super) fn is_truthy(&self, key: &str) -> bool {
        match self.raw(key) {
            None | Some("null" | "false" | "\"\"") => false,
            Some(raw) => number(raw) != Some(0.0),
        }
    }
}

/// The elements of the array that `text` is; what is no array has none.
pub(super) fn elements(text: &str) -> Vec<&str> {
    Scanner { text, at: 0 }.array().unwrap_or_default()
}

/// Finds the parts of JSON text that is known to be whole. Ends on any input; what is no JSON gives `None` or nonsense.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Passes `wanted`, and white space before it, if it is next.
    fn eat(&mut self, wanted: u8) -> Option<()> {
        self.skip_space();
        (self.peek() == Some(wanted)).then(|| self.at += 1)
    }

    /// The members of an object and, if it is an object itself, those of the last one called `inner_key`.
    fn object(&mut self, inner_key: Option<&str>) -> Option<(Object<'a>, Option<Object<'a>>)> {
        self.eat(b'{')?;
        let (mut members, mut inner) = (Vec::new(), None);
        if self.eat(b'}').is_some() {
            return Some((Object(members), inner));
        }
        loop {
            self.skip_space();
            let start = self.at;
            let key = decoded(self.string()?)?;
            self.eat(b':')?;
            self.skip_space();
            let offset = self.at;
            if inner_key == Some(&*key) {
                let mut scanner = Scanner { text: &self.text[offset..], at: 0 };
                inner = scanner.object(None).map(|(object, _)| object);
                self.at += if inner.is_some() { scanner.at } else { 0 };
            }
            if self.at == offset {
                self.skip_value()?;
            }
            let text = self.text;
            members.push(Member { key, value: &text[offset..self.at], offset, text: &text[start..self.at] });
            if self.eat(b',').is_none() {
                return self.eat(b'}').map(|()| (Object(members), inner));
            }
        }
    }

    fn array(&mut self) -> Option<Vec<&'a str>> {
        self.eat(b'[')?;
        let mut elements = Vec::new();
        if self.eat(b']').is_some() {
            return Some(elements);
        }
        loop {
            self.skip_space();
            let start = self.at;
            self.skip_value()?;
            elements.push(&self.text[start..self.at]);
            if self.eat(b',').is_none() {
                return self.eat(b']').map(|()| elements);
            }
        }
    }

    /// Passes a value; nesting is counted, not followed by recursion (SPEC 2.4).
    fn skip_value(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.string()?;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                _ if depth > 0 => self.at += 1,
                _ => self.skip_word()?,
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Passes a number or a name such as `null`.
    fn skip_word(&mut self) -> Option<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'+' | b'-' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z')) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    /// Passes a string and returns it with its quotes.
    fn string(&mut self) -> Option<&'a str> {
        let start = self.at;
        self.eat(b'"')?;
        let bytes = self.text.as_bytes();
        loop {
            self.at += memchr::memchr(b'"', &bytes[self.at..])?;
            // Runs of backslashes end at a quote, so looking back at each quote stays linear.
            let escapes = bytes[start..self.at].iter().rev().take_while(|byte| **byte == b'\\').count();
            self.at += 1;
            if escapes % 2 == 0 {
                return Some(&self.text[start..self.at]);
            }
        }
    }
}

/// The text of a key, given with its quotes.
fn decoded(key: &str) -> Option<Cow<'_, str>> {
    let contents = string_contents(key)?;
    if contents.contains('\\') { json::string(key).map(Cow::Owned) } else { Some(Cow::Borrowed(contents)) }
}

/// The JSON object `{"role":role, ...members}`; members without a value are left out.
pub(super) fn build(role: &str, members: &[(&str, Option<&str>)]) -> String {
    let mut object = format!(r#"{{"role":"{role}""#);
    for (key, value) in members {
        if let Some(value) = value {
            for part in [",\"", key, "\":", value] {
                object.push_str(part);
            }
        }
    }
    object.push('}');
    object
}

/// A content array of one text block; `contents` stands between the quotes of a JSON string.
pub(super) fn text_blocks(contents: &str) -> String {
    format!(r#"[{{"type":"text","text":"{contents}"}}]"#)
}

/// What stands between the quotes, if `raw` is a JSON string: its escapes, lone surrogates too, stay as they are.
pub(super) fn string_contents(raw: &str) -> Option<&str> {
    raw.strip_prefix('"')?.strip_suffix('"')
}

/// The value of a JSON number as JavaScript reads it: infinite where it is too large.
pub(super) fn number(raw: &str) -> Option<f64> {
    if raw.starts_with(|first: char| first == '-' || first.is_ascii_digit()) { raw.parse().ok() } else { None }
}

/// Entries and messages for the tests of this folder.
#[cfg(test)]
pub(super) mod fixture {
    use super::{Message, Object};
    use crate::model::{Entry, EntryId, EntryKind, Role};

    /// An entry from its record; the envelope is read from it where it is there.
    pub(in super::super) fn entry(record: &str) -> Entry {
        let members = Object::parse(record).unwrap();
        let message = members.raw("message").and_then(Object::parse);
        Entry {
            id: EntryId::parse(&members.text("id").unwrap_or("00000001".to_owned())).unwrap(),
            parent_id: None,
            kind: EntryKind::from_type(&members.text("type").unwrap()),
            role: message.and_then(|message| message.text("role")).map(|role| Role::from_name(&role)),
            timestamp: members.text("timestamp").unwrap_or_default(),
            line: record.as_bytes().to_vec(),
            position: 0,
            suspect: false,
        }
    }

    pub(in super::super) fn message(json: &str) -> Message {
        Message::new(json, Some(EntryId::parse("deadbeef").unwrap()))
    }

    pub(in super::super) fn texts(messages: &[Message]) -> Vec<&str> {
        messages.iter().map(Message::as_json).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::message;
    use super::*;

    #[test]
    fn a_message_is_serialised_byte_for_byte() {
        let json = r#"{"role":"user" , "content":"\ud99c\u0041","n":1e3,"n":123456789012345678901234567890}"#;
        assert_eq!(serde_json::to_string(&message(json)).unwrap(), json);
        assert_eq!(serde_json::to_string(&[message(json)]).unwrap(), format!("[{json}]"));
        assert_eq!(message(json).as_json(), json);
        assert_eq!(message(json).entry_id().unwrap().to_string(), "deadbeef");
    }

    #[test]
    fn text_that_is_not_json_fails_to_serialise_and_does_not_leak() {
        let error = serde_json::to_string(&message("{secret")).unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn the_role_is_decoded_and_may_be_missing() {
        assert_eq!(message(r#"{"role":"us\u0065r"}"#).role(), "user");
        assert_eq!(message(r#"{"role":"user","role":"assistant"}"#).role(), "assistant");
        for json in ["{}", r#"{"role":1}"#, "{broken"] {
            assert_eq!(message(json).role(), "");
        }
    }

    #[test]
    fn the_text_is_that_of_the_content_the_command_or_the_summary() {
        for (json, text) in [
            (r#"{"role":"user","content":"a\ud99c"}"#, "a\u{fffd}"),
            (r#"{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#, "ab"),
            (r#"{"role":"bashExecution","command":"ls"}"#, "ls"),
            (r#"{"role":"compactionSummary","summary":"s"}"#, "s"),
            (r#"{"role":"user","content":"c","summary":"s"}"#, "c"),
            (r#"{"role":"other"}"#, ""),
        ] {
            assert_eq!(message(json).text(), text);
        }
    }

    #[test]
    fn truth_is_what_javascript_takes_for_true() {
        let object = Object::parse(
            r#"{"n":null,"f":false,"e":"","z":0,"m":-0.0,"u":1e-999,"t":true,"o":{},"a":[],"s":"0","i":7,"h":1e999,
                "d":1,"d":0}"#,
        )
        .unwrap();
        for key in ["n", "f", "e", "z", "m", "u", "missing", "d"] {
            assert!(!object.is_truthy(key), "{key}");
        }
        for key in ["t", "o", "a", "s", "i", "h"] {
            assert!(object.is_truthy(key), "{key}");
        }
    }

    #[test]
    fn members_are_those_that_a_parser_finds() {
        for text in [
            "{}",
            " { \t} \r",
            r#"{"a":1}"#,
            r#" { "a" : -1.5E+3 ,"b":[ {"x":"}]"} , [] ],"a":null,"\u0061\ud800":"\\\"" , "":"\\\\","会":"话\"," } "#,
            "{\"a\":\n[1,\n2]\r\n,\"b\":{\"c\":true}}",
        ] {
            let expected: Vec<_> =
                json::members(text).unwrap().into_iter().map(|it| (it.key, it.value, it.text)).collect();
            let object = Object::parse(text).unwrap();
            let found: Vec<_> = object.members().iter().map(|it| (it.key.clone(), it.value, it.text)).collect();
            assert_eq!(found, expected, "{text}");
            assert!(object.members().iter().all(|it| text[it.offset..].starts_with(it.value)));
        }
    }

    #[test]
    fn elements_are_those_that_a_parser_finds() {
        for text in ["[]", " [ ] ", r#"[1, "a,]\"" ,{"b":[2]},[[]] ,null]"#, "{}", "7", "\"[1]\"", ""] {
            assert_eq!(elements(text), json::elements(text), "{text}");
        }
    }

    #[test]
    fn a_record_is_parsed_with_the_last_message_that_it_holds() {
        let inner = |text: &'static str| Object::parse_record(text).unwrap().1;
        let message = inner(r#"{"message":{"a":1},"message": {"a" : 2} ,"z":{"a":3}}"#).unwrap();
        assert_eq!((message.raw("a"), message.members()[0].offset), (Some("2"), 7));
        for none in [r#"{"message":[{"a":1}],"m":{}}"#, r#"{"message":{},"message":"{}"}"#, r#"{"x":{"message":{}}}"#] {
            assert!(inner(none).is_none(), "{none}");
        }
        let (record, message) = Object::parse_record(r#"{"message":{"a":[1]},"b":2}"#).unwrap();
        assert_eq!((record.raw("message"), record.raw("b")), (Some(r#"{"a":[1]}"#), Some("2")));
        assert_eq!(message.unwrap().raw("a"), Some("[1]"));
    }

    #[test]
    fn unfinished_or_foreign_text_is_no_object_and_deep_nesting_is_passed() {
        let whole = r#"{"a":[{"b":"\"话"}],"message":{"c":[1,{}]},"d":tru}"#;
        assert!(Object::parse_record(whole).is_some());
        for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
            assert!(Object::parse_record(&whole[..end]).is_none(), "{}", &whole[..end]);
        }
        for text in [
            "{}x",
            "{,}",
            r#"{"a":}"#,
            r#"{"a":]}"#,
            r#"{"a":1,}"#,
            r#"{"a" 1}"#,
            r#"{"a":,"b":1}"#,
            r#"{"a":话}"#,
            "{a:1}",
            "[]",
        ] {
            assert!(Object::parse(text).is_none(), "{text}");
        }
        let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert_eq!(Object::parse(&deep).unwrap().raw("a").map(str::len), Some(2_000_000));
    }

    #[test]
    fn built_objects_leave_out_what_has_no_value() {
        assert_eq!(
            build("r", &[("a", Some("1e3")), ("b", None), ("c", Some("null"))]),
            r#"{"role":"r","a":1e3,"c":null}"#
        );
    }

    #[test]
    fn numbers_are_told_from_other_values() {
        assert_eq!(number("-1e3"), Some(-1000.0));
        for raw in ["\"1\"", "null", "true", "[1]", "{}"] {
            assert_eq!(number(raw), None, "{raw}");
        }
    }
}
