//! Old versions of pi's format, shown as version 3 (SPEC 8.4). No I/O.
//!
//! Version 1 is linear: its entries have no ids, and a compaction names what it keeps by a number. Version 2 has ids,
//! but calls the role of custom messages `hookMessage`. What changes here is what pi changes when it opens such a file,
//! except that pi draws ids at random and these follow from the log: from the session's id, the number of the line and
//! its bytes. So they are the same at every opening, and what is appended later changes none of them.
//!
//! Only the members that differ between the versions are written anew; every other byte of a record stays (SPEC 1.3).

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use crc32fast::Hasher;
use serde::de::IgnoredAny;

use super::head::{self, Reading};
use super::line;
use crate::model::json::{self, Member};
use crate::model::{FORMAT_VERSION, Header};

/// The name that versions 1 and 2 have for the role of custom messages.
const OLD_CUSTOM_ROLE: &str = "hookMessage";

/// Takes the lines of a log in order and gives them as version 3 has them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Upgrader {
    /// What the header says, once it was seen.
    version: Option<u64>,
    session: String,
    lines: u64,
    /// Of version 1, for each line that is whole JSON, the header included: the id that its entry got. These are what
    /// compactions count.
    parsed: Vec<Option<u32>>,
    taken: HashSet<u32>,
    last: Option<u32>,
}

impl Upgrader {
    /// The version that the header names; `None` until a header was seen.
    pub(crate) fn version(&self) -> Option<u64> {
        self.version
    }

    /// The next line (without its line feed). Owned if version 3 has it otherwise. The header stays as it is, so that
    /// the log's real version is seen; lines that are no entries stay as well.
    pub(crate) fn line<'a>(&mut self, line: &'a [u8]) -> Cow<'a, [u8]> {
        self.lines += 1;
        let content = line::content(line).trim_ascii();
        let changed = match self.version {
            _ if content.is_empty() => None,
            None => {
                self.take_header(content);
                None
            }
            Some(FORMAT_VERSION..) => None,
            Some(2) => upgrade_second(content),
            Some(_) => self.upgrade_first(content),
        };
        changed.map_or(Cow::Borrowed(line), Cow::Owned)
    }

    /// An unterminated line that is a whole record, and not the beginning of one, as version 3 has it.
    pub(crate) fn unterminated_record<'a>(&self, line: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let upgraded = self.unterminated(line);
        let is_record = matches!(head::slow(line::content(&upgraded)), Reading::Entry(_) | Reading::Header);
        is_record.then_some(upgraded)
    }

    /// An unterminated line, which may become longer: nothing is remembered of it.
    fn unterminated<'a>(&self, line: &'a [u8]) -> Cow<'a, [u8]> {
        self.clone().line(line)
    }

    fn take_header(&mut self, content: &[u8]) {
        if let Ok(header) = Header::parse(&String::from_utf8_lossy(content)) {
            self.version = Some(header.version);
            self.session = header.id.to_string();
        }
        if is_json(&same_length(content)) {
            self.parsed.push(None);
        }
    }

    fn upgrade_first(&mut self, content: &[u8]) -> Option<Vec<u8>> {
        let text = same_length(content);
        let Ok(members) = json::members(&text) else {
            // Damage is counted by nobody; a number or an array is no entry, but it is counted.
            self.parsed.extend(is_json(&text).then_some(None));
            return None;
        };
        let type_name = json::text(&members, "type").filter(|name| name != "session");
        let Some(type_name) = type_name else {
            self.parsed.push(None);
            return None;
        };
        let parent = self.last;
        let id = self.draw(content);
        self.last = Some(id);
        self.parsed.push(Some(id));
        let mut change = Change::new(id, parent, &members);
        if type_name == "compaction" {
            change.first_kept =
                json::value(&members, "firstKeptEntryIndex").and_then(number).map(|at| self.entry_at(at));
        }
        let record = Record { content, text: &text };
        Some(record.rewrite(&members, &mut |member| change.of(member, record, type_name == "message")))
    }

    /// The entry that a compaction of version 1 counts to. One that comes later than the compaction is none.
    fn entry_at(&self, at: f64) -> Option<u32> {
        if at.fract() != 0.0 || !(0.0..f64::from(u32::MAX)).contains(&at) {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number within range")]
        let at = at as usize;
        self.parsed.get(at).copied().flatten()
    }

    /// An id that no entry before has. Depends on nothing that comes later.
    fn draw(&mut self, content: &[u8]) -> u32 {
        let mut attempt = 0_u32;
        loop {
            let mut hasher = Hasher::new();
            hasher.update(self.session.as_bytes());
            hasher.update(&self.lines.to_le_bytes());
            hasher.update(&attempt.to_le_bytes());
            hasher.update(content);
            let id = hasher.finalize();
            if self.taken.insert(id) {
                return id;
            }
            attempt += 1;
        }
    }
}

/// The header `line` as version 3 has it, without what may stand around it.
pub(crate) fn upgrade_header(line: &[u8]) -> Vec<u8> {
    let content = line::content(line).trim_ascii();
    let text = same_length(content);
    let Ok(members) = json::members(&text) else { return content.to_vec() };
    let named = members.iter().any(|member| member.key == "version");
    let version = format!(r#""version":{FORMAT_VERSION}"#);
    Record { content, text: &text }.rewrite(&members, &mut |member| match member.key.as_ref() {
        "version" => Edit::Replace(version.clone().into_bytes()),
        "type" if !named => Edit::Follow(format!(",{version}")),
        _ => Edit::Keep,
    })
}

/// What version 2 has otherwise: the role of custom messages.
fn upgrade_second(content: &[u8]) -> Option<Vec<u8>> {
    let text = same_length(content);
    let members = json::members(&text).ok()?;
    if json::text(&members, "type").as_deref() != Some("message") {
        return None;
    }
    let record = Record { content, text: &text };
    let mut changed = false;
    let upgraded = record.rewrite(&members, &mut |member| {
        let edit = rename_role(member, record);
        changed |= !matches!(edit, Edit::Keep);
        edit
    });
    changed.then_some(upgraded)
}

/// Gives the message in a member of that name its new role.
fn rename_role(member: &Member<'_>, record: Record<'_>) -> Edit {
    if member.key != "message" {
        return Edit::Keep;
    }
    let Ok(inner) = json::members(member.value) else { return Edit::Keep };
    if json::text(&inner, "role").as_deref() != Some(OLD_CUSTOM_ROLE) {
        return Edit::Keep;
    }
    let message = Record { content: &record.content[range(record.text, member.value)], text: member.value };
    let renamed = message.rewrite(&inner, &mut |member| match member.key.as_ref() {
        "role" => Edit::Replace(br#""role":"custom""#.to_vec()),
        _ => Edit::Keep,
    });
    Edit::Replace([br#""message":"#.as_slice(), &renamed].concat())
}

/// What becomes of the members of an entry of version 1.
struct Change {
    id: String,
    parent: String,
    /// The entry's own `id` and `parentId`, which mean nothing in version 1, are replaced; what is not there is added
    /// behind `type`, so that the envelope stands in its usual order.
    missing: String,
    /// For a compaction that counts to what it keeps: the id of that, if it is an entry.
    first_kept: Option<Option<u32>>,
    /// Whether the compaction names what it keeps already.
    names_first_kept: bool,
}

impl Change {
    fn new(id: u32, parent: Option<u32>, members: &[Member<'_>]) -> Self {
        let has = |key: &str| members.iter().any(|member| member.key == key);
        let id = format!(r#""id":"{id:08x}""#);
        let parent = parent.map_or_else(|| "null".to_owned(), |parent| format!(r#""{parent:08x}""#));
        let parent = format!(r#""parentId":{parent}"#);
        let mut missing = String::new();
        for (_, member) in [("id", &id), ("parentId", &parent)].into_iter().filter(|(key, _)| !has(key)) {
            missing.push(',');
            missing.push_str(member);
        }
        Self { missing, id, parent, first_kept: None, names_first_kept: has("firstKeptEntryId") }
    }

    fn of(&mut self, member: &Member<'_>, record: Record<'_>, is_message: bool) -> Edit {
        match (member.key.as_ref(), self.first_kept) {
            ("type", _) => Edit::Follow(std::mem::take(&mut self.missing)),
            ("id", _) => Edit::Replace(self.id.clone().into_bytes()),
            ("parentId", _) => Edit::Replace(self.parent.clone().into_bytes()),
            ("firstKeptEntryId", Some(Some(kept))) => Edit::Replace(first_kept(kept)),
            ("firstKeptEntryIndex", Some(Some(kept))) if !std::mem::replace(&mut self.names_first_kept, true) => {
                Edit::Replace(first_kept(kept))
            }
            ("firstKeptEntryIndex", Some(_)) => Edit::Drop,
            _ if is_message => rename_role(member, record),
            _ => Edit::Keep,
        }
    }
}

fn first_kept(id: u32) -> Vec<u8> {
    format!(r#""firstKeptEntryId":"{id:08x}""#).into_bytes()
}

/// What becomes of a member.
enum Edit {
    Keep,
    Drop,
    Replace(Vec<u8>),
    /// It stays, and this comes behind it.
    Follow(String),
}

/// An object: its bytes, and a text of the same length whose members are looked at.
#[derive(Clone, Copy)]
struct Record<'a> {
    content: &'a [u8],
    text: &'a str,
}

impl Record<'_> {
    /// The bytes with these edits; what stands between the members stays with the member that it precedes.
    fn rewrite(self, members: &[Member<'_>], edit: &mut dyn FnMut(&Member<'_>) -> Edit) -> Vec<u8> {
        let mut end = self.text.find('{').map_or(0, |brace| brace + 1);
        let mut written = self.content[..end].to_vec();
        let mut first = true;
        for member in members {
            let at = range(self.text, member.text);
            let between = &self.content[end..at.start];
            end = at.end;
            let edit = edit(member);
            if matches!(edit, Edit::Drop) {
                continue;
            }
            // Whatever member comes first now has no comma before it.
            written.extend(between.iter().filter(|byte| !first || **byte != b','));
            first = false;
            match edit {
                Edit::Replace(text) => written.extend(text),
                Edit::Follow(text) => {
                    written.extend_from_slice(&self.content[at]);
                    written.extend(text.bytes());
                }
                Edit::Keep | Edit::Drop => written.extend_from_slice(&self.content[at]),
            }
        }
        written.extend_from_slice(&self.content[end..]);
        written
    }
}

/// Where `part`, a piece of `text`, stands in it.
fn range(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.len()
}

/// A text of the same length: bytes that are no UTF-8 are question marks in it.
fn same_length(content: &[u8]) -> Cow<'_, str> {
    let mut text = Cow::Borrowed("");
    for chunk in content.utf8_chunks() {
        if chunk.invalid().is_empty() && text.is_empty() {
            text = Cow::Borrowed(chunk.valid());
            continue;
        }
        let text = text.to_mut();
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    text
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn number(raw: &str) -> Option<f64> {
    raw.starts_with(|first: char| first == '-' || first.is_ascii_digit()).then(|| raw.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"type":"session","id":"s"}"#;

    fn upgrade(header: &str, lines: &[&str]) -> Vec<String> {
        let mut upgrader = Upgrader::default();
        assert_eq!(upgrader.line(header.as_bytes()), header.as_bytes());
        lines.iter().map(|line| String::from_utf8(upgrader.line(line.as_bytes()).into_owned()).unwrap()).collect()
    }

    fn id(line: &str) -> String {
        json::text(&json::members(line).unwrap(), "id").unwrap()
    }

    #[test]
    fn entries_of_version_1_form_a_chain_and_keep_every_other_byte() {
        let lines = upgrade(
            HEADER,
            &[
                r#"{"type":"message","timestamp":"t","message":{"role":"user","content":1e3}}"#,
                r#" { "timestamp" : "t" , "type" : "custom" , "x":"\ud99c" } "#,
                r#"{"id":7,"type":"message","message":{"role":"hookMessage","content":"x","x":1e3}}"#,
            ],
        );
        let ids: Vec<_> = lines.iter().map(|line| id(line)).collect();
        let (first, second, third) = (&ids[0], &ids[1], &ids[2]);
        assert_eq!(
            lines,
            [
                format!(
                    r#"{{"type":"message","id":"{first}","parentId":null,"timestamp":"t","message":{{"role":"user","content":1e3}}}}"#
                ),
                format!(
                    r#"{{ "timestamp" : "t" , "type" : "custom","id":"{second}","parentId":"{first}" , "x":"\ud99c" }}"#
                ),
                format!(
                    r#"{{"id":"{third}","type":"message","parentId":"{second}","message":{{"role":"custom","content":"x","x":1e3}}}}"#
                ),
            ]
        );
    }

    #[test]
    fn ids_follow_from_the_log_and_differ_even_if_lines_are_alike() {
        let line = r#"{"type":"custom"}"#;
        let lines = upgrade(HEADER, &[line; 100]);
        assert_eq!(lines, upgrade(HEADER, &[line; 100]));
        let ids: HashSet<_> = lines.iter().map(|line| id(line)).collect();
        assert_eq!(ids.len(), 100);
        assert_ne!(lines[0], upgrade(r#"{"type":"session","id":"other"}"#, &[line])[0]);
    }

    #[test]
    fn an_id_that_is_taken_is_drawn_again_in_the_same_way() {
        let draw = |taken: &[u32]| {
            let mut upgrader = Upgrader { taken: taken.iter().copied().collect(), ..Upgrader::default() };
            upgrader.draw(b"x")
        };
        let first = draw(&[]);
        let second = draw(&[first]);
        assert_ne!(first, second);
        assert_eq!(second, draw(&[first]));
        assert!(![first, second].contains(&draw(&[first, second])));
    }

    #[test]
    fn what_a_compaction_counts_to_becomes_the_id_as_pi_counts() {
        let kept = |members: &str| {
            let compaction = format!(r#"{{"type":"compaction"{members}}}"#);
            // The header is 0. What is no JSON is not counted; what is JSON, but no entry, is.
            let lines = [
                "",
                r#"{"type":"custom"}"#,
                "{broken",
                "7",
                r#"{"type":"custom"}"#,
                &compaction,
                r#"{"type":"custom"}"#,
            ];
            let lines = upgrade(HEADER, &lines);
            let compaction = json::members(&lines[5]).unwrap();
            assert_eq!(
                json::value(&compaction, "firstKeptEntryIndex").is_some(),
                members.contains('"') && members.contains("Index\":\"")
            );
            let kept = json::text(&compaction, "firstKeptEntryId")?;
            Some(
                lines
                    .iter()
                    .position(|line| line.starts_with('{') && line.contains(&format!(r#""id":"{kept}""#)))
                    .unwrap(),
            )
        };
        for (index, line) in [("0", None), ("1", Some(1)), ("2", None), ("3", Some(4)), ("4", Some(5)), ("5", None)] {
            assert_eq!(kept(&format!(r#","firstKeptEntryIndex":{index}"#)), line, "{index}");
        }
        for index in ["-1", "-0", "1.5", "99", "1e999", "-1e999"] {
            assert_eq!(kept(&format!(r#","firstKeptEntryIndex":{index}"#)), None, "{index}");
        }
        assert_eq!(kept(r#","firstKeptEntryIndex":3e0,"summary":"x""#), Some(4));
        assert_eq!(kept(r#","firstKeptEntryIndex":"3""#), None);
        assert_eq!(kept(r#","firstKeptEntryId":"x","firstKeptEntryIndex":3,"firstKeptEntryIndex":1"#), Some(4));
        assert_eq!(kept(""), None);
    }

    #[test]
    fn a_member_that_goes_takes_its_comma_along() {
        let of = |line: &str| upgrade(HEADER, &[line]).remove(0);
        let line = of(r#"{"firstKeptEntryIndex":9, "type":"compaction"}"#);
        assert!(line.starts_with(r#"{ "type":"compaction","id":"#), "{line}");
        let line = of(r#"{"type":"compaction","firstKeptEntryIndex":9}"#);
        assert!(line.ends_with(r#""parentId":null}"#), "{line}");
    }

    #[test]
    fn of_version_2_only_the_role_of_custom_messages_changes() {
        let header = r#"{"type":"session","version":2,"id":"s"}"#;
        let kept = [
            r#"{"type":"message","id":"a","message":{"role":"user","content":{"role":"hookMessage"}}}"#,
            r#"{"type":"custom","id":"b","message":{"role":"hookMessage"}}"#,
            r#"{"type":"compaction","id":"c","firstKeptEntryIndex":1}"#,
            r#"{"type":"message","id":"d","message":"hookMessage"}"#,
            r#"{"type":"message","id":"e","message":{"role":"hookMess"#,
        ];
        assert_eq!(upgrade(header, &kept), kept);
        let old = r#"{"type":"message", "id":"a","message":{"x":1e3,"role": "hookM\u0065ssage" ,"y":"\ud800"}}"#;
        let new = r#"{"type":"message", "id":"a","message":{"x":1e3,"role":"custom" ,"y":"\ud800"}}"#;
        assert_eq!(upgrade(header, &[old]), [new]);
        assert_eq!(upgrade(r#"{"type":"session","version":3,"id":"s"}"#, &[old]), [old]);
    }

    #[test]
    fn bytes_that_are_no_utf8_stay() {
        let mut upgrader = Upgrader::default();
        upgrader.line(HEADER.as_bytes());
        let line = upgrader.line(b"{\"type\":\"custom\",\"data\":\"\xFF\xC3\"}").into_owned();
        assert!(line.ends_with(b",\"data\":\"\xFF\xC3\"}"));
        assert!(line.starts_with(br#"{"type":"custom","id":""#));
        assert_eq!(same_length(b"a\xFFb\xE2\x82").as_ref(), "a?b??");
    }

    #[test]
    fn a_line_without_a_line_feed_changes_nothing_of_what_comes() {
        let mut upgrader = Upgrader::default();
        upgrader.line(HEADER.as_bytes());
        let line = br#"{"type":"custom"}"#;
        let before = upgrader.unterminated(line).into_owned();
        assert_eq!(upgrader.unterminated(b"{\"type\":"), b"{\"type\":".as_slice());
        assert_eq!(upgrader.line(line), before);
    }

    #[test]
    fn a_header_becomes_one_of_version_3() {
        let upgraded = |header: &str| String::from_utf8(upgrade_header(header.as_bytes())).unwrap();
        assert_eq!(upgraded(HEADER), r#"{"type":"session","version":3,"id":"s"}"#);
        assert_eq!(
            upgraded("{\"type\":\"session\", \"version\" : 2 ,\"x\":1e3}\r"),
            r#"{"type":"session", "version":3 ,"x":1e3}"#
        );
    }
}
