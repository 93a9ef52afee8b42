//! The head of a record: what replay needs to know of an entry, without its payload.
//!
//! The fast path reads the layout that leaflog and pi write and is only taken for records whose seal vouches for the
//! rest of the line; everything else goes through `serde_json`, which also proves that the line is whole JSON. Both
//! give the same head. Of two members with one key the first counts, and `side` and `lane` count only before the
//! first member of the payload.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::model::json::Text;
use crate::model::{EntryId, EntryKind, Role, short_id};

/// What replay knows of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    pub(crate) kind: EntryKind,
    pub(crate) id: EntryId,
    pub(crate) parent: Option<EntryId>,
    /// As the record spells it; bytes, since most are never looked at.
    pub(crate) timestamp: Cow<'a, [u8]>,
    pub(crate) role: Option<Role>,
    pub(crate) side: bool,
    pub(crate) lane: Option<Box<str>>,
    pub(crate) detail: Detail,
    /// Whether all four members of the envelope are there and well formed.
    pub(crate) complete: bool,
}

/// What replay needs beyond the envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    None,
    Leaf {
        target: Option<EntryId>,
    },
    Label {
        target: EntryId,
        label: Option<String>,
    },
    /// Boxed: it is rare, and every head is moved about.
    SessionInfo(Box<SessionInfo>),
}

/// What an entry says of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionInfo {
    pub(crate) name: Option<String>,
    pub(crate) cwd: Option<String>,
}

/// What a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reading<'a> {
    Entry(Head<'a>),
    /// A record of type `session`.
    Header,
    /// Whole JSON, but no node: no object, or without an id or a type.
    NotAnEntry,
    /// The beginning of a record that was never finished.
    Torn,
    /// Anything else.
    NotJson,
}

impl Reading<'_> {
    fn into_owned(self) -> Reading<'static> {
        match self {
            Self::Entry(Head { kind, id, parent, timestamp, role, side, lane, detail, complete }) => {
                let timestamp = Cow::Owned(timestamp.into_owned());
                Reading::Entry(Head { kind, id, parent, timestamp, role, side, lane, detail, complete })
            }
            Self::Header => Reading::Header,
            Self::NotAnEntry => Reading::NotAnEntry,
            Self::Torn => Reading::Torn,
            Self::NotJson => Reading::NotJson,
        }
    }
}

/// Reads a line. `sealed` says that its checksum is there and right.
pub(crate) fn read(content: &[u8], sealed: bool) -> Reading<'_> {
    if sealed && let Some(head) = fast(content) {
        return Reading::Entry(head);
    }
    slow(content)
}

/// The id and parent that the beginning of a damaged line still names (SPEC 2.3).
pub(crate) fn ghost(content: &[u8]) -> Option<(EntryId, Option<EntryId>)> {
    Envelope::read(content).map(|(envelope, _)| (envelope.id, envelope.parent))
}

/// The envelope in the order in which leaflog and pi write it.
struct Envelope<'a> {
    type_name: &'a [u8],
    id: EntryId,
    parent: Option<EntryId>,
    timestamp: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn read(content: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (type_name, rest) = plain_string(content.strip_prefix(br#"{"type":"#)?)?;
        let (id, rest) = plain_id(rest.strip_prefix(br#","id":"#)?)?;
        let rest = rest.strip_prefix(br#","parentId":"#)?;
        let (parent, rest) = match rest.strip_prefix(b"null") {
            Some(rest) => (None, rest),
            None => plain_id(rest).map(|(parent, rest)| (Some(parent), rest))?,
        };
        let (timestamp, rest) = plain_string(rest.strip_prefix(br#","timestamp":"#)?)?;
        Some((Self { type_name, id, parent, timestamp }, rest))
    }
}

/// A JSON string of printable ASCII without escapes, which is its own value.
fn plain_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let bytes = bytes.strip_prefix(b"\"")?;
    let end = bytes.iter().position(|byte| !matches!(byte, 0x20..=0x7E) || matches!(byte, b'"' | b'\\'))?;
    let (text, rest) = bytes.split_at(end);
    Some((text, rest.strip_prefix(b"\"")?))
}

/// An id in such a string.
fn plain_id(bytes: &[u8]) -> Option<(EntryId, &[u8])> {
    if let Some((b'"', rest)) = bytes.split_first()
        && let Some((digits, [b'"', rest @ ..])) = rest.split_at_checked(8)
        && let Some(number) = short_id(digits)
    {
        return Some((EntryId::from_short(number), rest));
    }
    let (text, rest) = plain_string(bytes)?;
    let id = std::str::from_utf8(text).ok().filter(|id| !id.is_empty())?;
    Some((EntryId::from_stored(id), rest))
}

/// Reads the head of a sealed record in the usual layout; `None` sends it to [`slow`].
pub(crate) fn fast(content: &[u8]) -> Option<Head<'_>> {
    let (envelope, rest) = Envelope::read(content)?;
    let kind = EntryKind::from_type(std::str::from_utf8(envelope.type_name).ok()?);
    let role = match kind {
        EntryKind::Message => {
            let (role, rest) = plain_string(rest.strip_prefix(br#","message":{"role":"#)?)?;
            matches!(rest.first(), Some(b',' | b'}'))
                .then(|| std::str::from_utf8(role).ok().map(Role::from_name))
                .flatten()
        }
        // These carry what replay needs in their payload, or may be headers.
        EntryKind::Leaf | EntryKind::Label | EntryKind::SessionInfo | EntryKind::Unknown => return None,
        _ if rest.starts_with(br#","side""#) || rest.starts_with(br#","lane""#) || !rest.starts_with(br#",""#) => {
            return None;
        }
        _ => None,
    };
    if kind == EntryKind::Message && role.is_none() {
        return None;
    }
    Some(Head {
        kind,
        id: envelope.id,
        parent: envelope.parent,
        timestamp: Cow::Borrowed(envelope.timestamp),
        role,
        side: false,
        lane: None,
        detail: Detail::None,
        complete: true,
    })
}

/// Reads a line through `serde_json`. Bytes that are no UTF-8 may stand in any text, as U+FFFD.
pub(crate) fn slow(content: &[u8]) -> Reading<'_> {
    match parse(content) {
        Reading::NotJson if std::str::from_utf8(content).is_err() => {
            parse(String::from_utf8_lossy(content).as_bytes()).into_owned()
        }
        reading => reading,
    }
}

fn parse(content: &[u8]) -> Reading<'_> {
    let mut deserializer = serde_json::Deserializer::from_slice(content);
    let raw = match (RawHeadSeed.deserialize(&mut deserializer), deserializer.end()) {
        (Ok(raw), Ok(())) => raw,
        (Err(error), _) if error.is_eof() => return Reading::Torn,
        (Err(error), _) if error.is_data() => return not_an_object(content),
        _ => return Reading::NotJson,
    };
    raw.reading()
}

fn not_an_object(content: &[u8]) -> Reading<'static> {
    match serde_json::from_slice::<IgnoredAny>(content) {
        Ok(_) => Reading::NotAnEntry,
        Err(error) if error.is_eof() => Reading::Torn,
        Err(_) => Reading::NotJson,
    }
}

/// The members of a record that may matter, not yet looked into.
#[derive(Default)]
struct RawHead<'a> {
    type_name: Option<Option<Cow<'a, str>>>,
    id: Option<Option<Cow<'a, str>>>,
    parent: Option<&'a RawValue>,
    timestamp: Option<Option<Cow<'a, str>>>,
    side: Option<bool>,
    lane: Option<Option<Cow<'a, str>>>,
    target: Option<&'a RawValue>,
    label: Option<&'a RawValue>,
    name: Option<&'a RawValue>,
    cwd: Option<&'a RawValue>,
    message: Option<Option<Role>>,
    payload_seen: bool,
}

impl<'a> RawHead<'a> {
    fn reading(self) -> Reading<'a> {
        let Some(Some(type_name)) = self.type_name else { return Reading::NotAnEntry };
        if type_name == "session" {
            return Reading::Header;
        }
        let Some(id) = self.id.flatten().filter(|id| !id.is_empty()) else { return Reading::NotAnEntry };
        let kind = EntryKind::from_type(&type_name);
        let text = |raw: Option<&'a RawValue>| raw.and_then(|raw| crate::model::json::string(raw.get()));
        let parent = text(self.parent).map(|parent| EntryId::from_stored(&parent));
        let target = text(self.target).map(|target| EntryId::from_stored(&target));
        let detail = match (kind, target) {
            (EntryKind::Leaf, None) if self.target.is_none_or(|raw| raw.get() != "null") => {
                // Neither null nor an id: an unknown target, which moves nothing (SPEC 2.3).
                Detail::Leaf { target: Some(EntryId::from_stored("")) }
            }
            (EntryKind::Leaf, target) => Detail::Leaf { target },
            (EntryKind::Label, Some(target)) => Detail::Label { target, label: text(self.label) },
            (EntryKind::SessionInfo, _) => {
                Detail::SessionInfo(Box::new(SessionInfo { name: text(self.name), cwd: text(self.cwd) }))
            }
            _ => Detail::None,
        };
        let named_parent = parent.is_some() || self.parent.is_some_and(|raw| raw.get() == "null");
        let timestamp = self.timestamp.flatten();
        Reading::Entry(Head {
            kind,
            id: EntryId::from_stored(&id),
            parent,
            role: if kind == EntryKind::Message { self.message.flatten() } else { None },
            side: self.side.unwrap_or(false),
            lane: self.lane.flatten().map(|lane| lane.as_ref().into()),
            detail,
            complete: named_parent && timestamp.is_some(),
            timestamp: bytes(timestamp.unwrap_or_default()),
        })
    }

    fn take<A: MapAccess<'a>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "type" => keep(&mut self.type_name, map.next_value::<MaybeText<'a>>()?.0),
            "id" => keep(&mut self.id, map.next_value::<MaybeText<'a>>()?.0),
            "parentId" => keep(&mut self.parent, map.next_value()?),
            "timestamp" => keep(&mut self.timestamp, map.next_value::<MaybeText<'a>>()?.0),
            "side" if !self.payload_seen => keep(&mut self.side, map.next_value::<&RawValue>()?.get() == "true"),
            "lane" if !self.payload_seen => keep(&mut self.lane, map.next_value::<MaybeText<'a>>()?.0),
            _ => {
                self.payload_seen = true;
                match key {
                    "targetId" => keep(&mut self.target, map.next_value()?),
                    "label" => keep(&mut self.label, map.next_value()?),
                    "name" => keep(&mut self.name, map.next_value()?),
                    "cwd" => keep(&mut self.cwd, map.next_value()?),
                    "message" => keep(&mut self.message, map.next_value_seed(RoleSeed)?),
                    _ => {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

fn keep<T>(slot: &mut Option<T>, value: T) {
    slot.get_or_insert(value);
}

struct RawHeadSeed;

impl<'de> DeserializeSeed<'de> for RawHeadSeed {
    type Value = RawHead<'de>;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<RawHead<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RawHeadSeed {
    type Value = RawHead<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawHead<'de>, A::Error> {
        let mut head = RawHead::default();
        while let Some(key) = map.next_key::<Text<'de>>()? {
            head.take(&key.0, &mut map)?;
        }
        Ok(head)
    }
}

/// A string, or any other value as nothing.
struct MaybeText<'a>(Option<Cow<'a, str>>);

impl<'de: 'a, 'a> de::Deserialize<'de> for MaybeText<'a> {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        if !raw.starts_with('"') {
            return Ok(Self(None));
        }
        Ok(Self(serde_json::from_str::<Text<'a>>(raw).ok().map(|text| text.0)))
    }
}

/// Finds the role of a message without building it.
struct RoleSeed;

impl<'de> DeserializeSeed<'de> for RoleSeed {
    type Value = Option<Role>;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for RoleSeed {
    type Value = Option<Role>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut role = None;
        while let Some(key) = map.next_key::<Text<'de>>()? {
            if key.0 == "role" {
                keep(&mut role, map.next_value::<MaybeText<'de>>()?.0.map(|name| Role::from_name(&name)));
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(role.flatten())
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(line: &str) -> Head<'_> {
        match slow(line.as_bytes()) {
            Reading::Entry(head) => head,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn the_fast_path_and_serde_json_agree_wherever_the_fast_path_answers() {
        let lines = [
            r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"t","message":{"role":"user","content":"x"}}"#,
            r#"{"type":"message","id":"00000001","parentId":"zz","timestamp":"t","message":{"role":"odd"}}"#,
            r#"{"type":"custom","id":"a","parentId":"b","timestamp":"","customType":"x","side":true,"id":"c"}"#,
            r#"{"type":"compaction","id":"a","parentId":"b","timestamp":"t","summary":"s","lane":"x"}"#,
        ];
        for line in lines {
            assert_eq!(fast(line.as_bytes()).expect(line), head(line), "{line}");
        }
        let slow_only = [
            r#"{"type":"message","id":"a","parentId":null,"timestamp":"t","side":true,"message":{"role":"user"}}"#,
            r#"{"type":"custom","id":"a","parentId":null,"timestamp":"t","lane":"x","data":1}"#,
            r#"{"type":"leaf","id":"a","parentId":null,"timestamp":"t","targetId":null}"#,
            r#"{"type":"message","id":"a\u0041","parentId":null,"timestamp":"t","message":{"role":"user"}}"#,
            r#"{"type":"message","id":"","parentId":null,"timestamp":"t","message":{"role":"user"}}"#,
        ];
        for line in slow_only {
            assert_eq!(fast(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn side_and_lane_count_only_before_the_payload() {
        let first = head(r#"{"type":"custom","id":"a","side":true,"lane":"l","data":1}"#);
        assert!(first.side && first.lane.as_deref() == Some("l"));
        let later = head(r#"{"type":"custom","data":1,"id":"a","side":true,"lane":"l"}"#);
        assert!(!later.side && later.lane.is_none());
    }

    #[test]
    fn messages_of_any_shape_are_entries() {
        for message in [
            "null",
            "1",
            "-1",
            "1.5",
            "true",
            "\"x\"",
            "[1,[2]]",
            "{}",
            r#"{"role":1}"#,
            r#"{"content":{"role":"user"}}"#,
        ] {
            let line = format!(r#"{{"type":"message","id":"a","message":{message}}}"#);
            assert_eq!(head(&line).role, None, "{line}");
        }
        assert_eq!(
            head(r#"{"type":"message","id":"a","message":{"x":1,"role":"toolResult"}}"#).role,
            Some(Role::ToolResult)
        );
    }

    #[test]
    fn lines_that_are_no_entries_are_told_apart() {
        let cases: [(&[u8], Reading<'_>); 11] = [
            (br#"{"type":"session","id":"x"}"#, Reading::Header),
            (br#"{"id":"x"}"#, Reading::NotAnEntry),
            (br#"{"type":"x"}"#, Reading::NotAnEntry),
            (br#"{"type":"x","id":""}"#, Reading::NotAnEntry),
            (b"[1]", Reading::NotAnEntry),
            (b"12", Reading::NotAnEntry),
            (b"{\"type\":\"mes", Reading::Torn),
            (b"[1,", Reading::Torn),
            (b"\0\0", Reading::NotJson),
            (b"{\"a\":1}x", Reading::NotJson),
            (b"{broken}", Reading::NotJson),
        ];
        for (line, reading) in cases {
            assert_eq!(slow(line), reading, "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn lone_surrogates_and_broken_utf8_in_a_payload_do_not_stop_a_line_from_being_read() {
        let mut line = br#"{"type":"custom","id":"a","data":"\ud99c "#.to_vec();
        line.extend(b"\xFF\xFE\"}");
        assert!(matches!(slow(&line), Reading::Entry(_)));
    }
}
