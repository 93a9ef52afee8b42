//! What entries contribute to the context, as pi 1.6.0 projects them (SPEC 4.1, 4.2).
//!
//! Stored values are spliced, never re-encoded (SPEC 1.3). On top of pi 1.6.0 stand the retained tail of a
//! compaction and the projector for custom entries, both as in 0.83.

use std::collections::HashMap;

use super::message::{Message, Object, build, elements, number, string_contents, text_blocks};
use crate::model::json;
use crate::model::{Entry, EntryId, EntryKind, Timestamp};

/// The largest distance from 1970 that a JavaScript date has, in milliseconds.
const DATE_MILLIS_MAX: f64 = 8.64e15;

/// Says what a custom entry contributes (SPEC 4.4): it gets the entry, its index, and all selected entries, and
/// returns messages, each the text of one JSON object.
pub(crate) type Projector<'a> = dyn Fn(&Entry, usize, &[Entry]) -> Vec<String> + 'a;

/// The messages of the selected entries, in order (SPEC 4.1, 4.2, 4.4).
///
/// `entries` starts with the newest compaction if there is one. Two rules need the whole selection: the latest
/// `context_edit` of a target wins, and a compaction anywhere but at the front contributes nothing. `projector` is
/// asked for the messages of custom entries.
pub(super) fn project_selected(entries: &[Entry], projector: &Projector<'_>) -> Vec<Message> {
    let edits = latest_edits(entries);
    let mut messages = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let edit = edits.get(entry.id()).copied();
        match entry.kind() {
            EntryKind::Compaction if index > 0 => {}
            EntryKind::Custom => messages.extend(edited(projector(entry, index, entries), entry, edit)),
            _ => messages.extend(project(entry, edit)),
        }
    }
    messages
}

/// The messages that one entry contributes; `edit` is the latest `context_edit` that targets it.
///
/// Bytes are those of the record, except that missing or null content becomes `[]` (in system messages `""`) and
/// that an edit replaces the content or takes the message away. A message that is no JSON object contributes
/// nothing; custom entries are the projector's.
pub(crate) fn project(entry: &Entry, edit: Option<&Entry>) -> Vec<Message> {
    let record = entry.as_json();
    let Some((record, message)) = Object::parse_record(&record) else { return Vec::new() };
    let messages = match entry.kind() {
        EntryKind::Message => {
            let message = record.raw("message").zip(message);
            message.map(|(text, members)| stored(text, &members)).into_iter().collect()
        }
        EntryKind::CustomMessage => vec![custom(&record)],
        EntryKind::BranchSummary if record.is_truthy("summary") => vec![summary("branchSummary", "fromId", &record)],
        EntryKind::Compaction => compaction(&record),
        _ => Vec::new(),
    };
    edited(messages, entry, edit)
}

/// The latest edit of each target. An edit that says nothing of a replacement cannot be applied and does not count.
pub(crate) fn latest_edits(entries: &[Entry]) -> HashMap<EntryId, &Entry> {
    let mut edits = HashMap::new();
    for entry in entries.iter().filter(|entry| entry.kind() == EntryKind::ContextEdit) {
        let record = entry.as_json();
        let Some(record) = Object::parse(&record) else { continue };
        if let (Some(target), Some(_)) = (record.text("targetId"), record.raw("replacement")) {
            edits.insert(EntryId::from_stored(&target), entry);
        }
    }
    edits
}

/// Whether a compaction brings a system message of its own.
pub(super) fn has_system_message(entry: &Entry) -> bool {
    entry.kind() == EntryKind::Compaction
        && Object::parse(&entry.as_json()).is_some_and(|record| system_message(&record).is_some())
}

fn system_message<'a>(compaction: &Object<'a>) -> Option<&'a str> {
    compaction.raw("systemMessage").filter(|raw| raw.starts_with('{'))
}

fn stored(message: &str, members: &Object<'_>) -> String {
    let missing = matches!(members.raw("content"), None | Some("null"));
    let empty = match members.text("role").as_deref() {
        Some("user" | "assistant" | "toolResult") if missing => "[]",
        Some("system") if missing => "\"\"",
        _ => return message.to_owned(),
    };
    with_content(message, members, Some(empty))
}

fn custom(record: &Object<'_>) -> String {
    let content = record.raw("content").filter(|raw| *raw != "null").unwrap_or("[]");
    let members = [
        ("customType", record.raw("customType")),
        ("content", Some(content)),
        ("display", record.raw("display")),
        ("details", record.raw("details")),
        ("timestamp", Some(&*millis(record.raw("timestamp")))),
    ];
    build("custom", &members)
}

/// A summary as a message of its own role; `extra` is the member that the role adds.
fn summary(role: &str, extra: &str, record: &Object<'_>) -> String {
    let timestamp = millis(record.raw("timestamp"));
    build(role, &[("summary", record.raw("summary")), (extra, record.raw(extra)), ("timestamp", Some(&timestamp))])
}

fn compaction(record: &Object<'_>) -> Vec<String> {
    let tail = elements(record.raw("retainedTail").unwrap_or("[]"));
    let tail = tail.into_iter().filter(|element| element.starts_with('{')).map(str::to_owned);
    let mut messages: Vec<_> = system_message(record).map(str::to_owned).into_iter().collect();
    messages.push(summary("compactionSummary", "tokensBefore", record));
    messages.extend(tail);
    messages
}

/// Applies `edit` to the messages of `entry`.
fn edited(messages: Vec<String>, entry: &Entry, edit: Option<&Entry>) -> Vec<Message> {
    let edit = edit.map(Entry::as_json);
    let replacement = edit.as_deref().and_then(Object::parse).and_then(|record| record.raw("replacement"));
    let plain = |json| Message::new(json, Some(entry.id().clone()));
    match replacement {
        Some("null") => Vec::new(),
        // A checkpoint stands for several entries; one content for all its messages would say nothing.
        Some(replacement) if entry.kind() != EntryKind::Compaction => {
            messages.into_iter().map(|json| plain(replace_content(json, replacement))).collect()
        }
        _ => messages.into_iter().map(plain).collect(),
    }
}

fn replace_content(message: String, replacement: &str) -> String {
    let Some(members) = Object::parse(&message) else { return message };
    let content = Object::parse(replacement).and_then(|replacement| replacement.raw("content"));
    match members.text("role").as_deref() {
        Some("assistant" | "toolResult") => {
            let blocks = content.and_then(string_contents).map(text_blocks);
            with_content(&message, &members, blocks.as_deref().or(content))
        }
        Some("user" | "custom") => with_content(&message, &members, content),
        _ => message,
    }
}

/// `message` with another content, its other bytes untouched: each `content` member is replaced in place, so that
/// no reader of duplicate keys finds the old one; without such a member it is added last; `None` takes it away.
fn with_content(message: &str, members: &Object<'_>, content: Option<&str>) -> String {
    let Some(content) = content else {
        let others: Vec<_> =
            members.members().iter().filter(|member| member.key != "content").map(|member| member.text).collect();
        return format!("{{{}}}", others.join(","));
    };
    let mut edited = String::with_capacity(message.len() + content.len());
    let mut from = 0;
    for member in members.members().iter().filter(|member| member.key == "content") {
        edited.push_str(&message[from..member.offset]);
        edited.push_str(content);
        from = member.offset + member.value.len();
    }
    if from > 0 {
        edited.push_str(&message[from..]);
        return edited;
    }
    let comma = if members.members().is_empty() { "" } else { "," };
    let body = message.trim_end().strip_suffix('}').unwrap_or(message);
    format!(r#"{body}{comma}"content":{content}}}"#)
}

/// What JavaScript's `new Date(timestamp).getTime()` is in JSON: milliseconds since 1970, or `null`.
///
/// A time without an offset is read as UTC, so that the context does not depend on where it is read.
fn millis(timestamp: Option<&str>) -> String {
    let Some(raw) = timestamp else { return "null".to_owned() };
    let millis = match (number(raw), json::string(raw)) {
        #[expect(clippy::cast_possible_truncation, reason = "fractions of a millisecond are cut off")]
        (Some(millis), _) if millis.abs() <= DATE_MILLIS_MAX => Some(millis as i64),
        (_, Some(text)) => parse_date(&text),
        _ => (raw == "null").then_some(0),
    };
    millis.map_or_else(|| "null".to_owned(), |millis| millis.to_string())
}

fn parse_date(text: &str) -> Option<i64> {
    ["", "Z", "T00:00:00Z"].iter().find_map(|rest| Timestamp::parse(&format!("{text}{rest}"))).map(Timestamp::as_millis)
}

#[cfg(test)]
mod tests {
    use super::super::message::fixture::{entry, texts};
    use super::*;

    const TIME: &str = r#""timestamp":"2026-01-02T03:04:05.006Z""#;
    const MILLIS: i64 = 1_767_323_045_006;

    fn message(json: &str) -> Entry {
        entry(&format!(r#"{{"type":"message","id":"0000000a",{TIME},"message":{json}}}"#))
    }

    fn edit(target: &str, replacement: &str) -> Entry {
        entry(&format!(
            r#"{{"type":"context_edit","id":"0000000e","targetId":"{target}","replacement":{replacement}}}"#
        ))
    }

    fn only(entry: &Entry, edit: Option<&Entry>) -> String {
        let messages = project(entry, edit);
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert_eq!(messages[0].entry_id(), Some(entry.id()));
        messages[0].as_json().to_owned()
    }

    fn selected(entries: &[Entry]) -> Vec<String> {
        let no_messages = |_: &Entry, _: usize, _: &[Entry]| Vec::new();
        project_selected(entries, &no_messages).iter().map(|message| message.as_json().to_owned()).collect()
    }

    #[test]
    fn a_stored_message_keeps_its_bytes() {
        for json in [
            r#"{ "role" : "user","content":"\ud99c\u0041", "n":1e3,"n":123456789012345678901234567890 }"#,
            r#"{"role":"assistant","content":[],"stopReason":"error"}"#,
            r#"{"role":"system","content":""}"#,
            r#"{"role":"user","content":null,"content":"the last of two counts"}"#,
            r#"{"role":"custom","content":null}"#,
            r#"{"role":"bashExecution","command":"ls"}"#,
            r#"{"role":"from the future"}"#,
            "{}",
        ] {
            assert_eq!(only(&message(json), None), json);
        }
    }

    #[test]
    fn missing_or_null_content_is_filled_in_and_nothing_else_changes() {
        for (role, empty) in [("user", "[]"), ("assistant", "[]"), ("toolResult", "[]"), ("system", "\"\"")] {
            let null = message(&format!(r#"{{"a":1e3,"role":"{role}", "content" : null ,"b":"\ud99c"}}"#));
            let filled = format!(r#"{{"a":1e3,"role":"{role}", "content" : {empty} ,"b":"\ud99c"}}"#);
            assert_eq!(only(&null, None), filled);
            let missing = message(&format!(r#"{{"role":"{role}","x":{{"content":1}} }}"#));
            assert_eq!(only(&missing, None), format!(r#"{{"role":"{role}","x":{{"content":1}} ,"content":{empty}}}"#));
        }
        let repeated = message(r#"{"role":"user","content":"old","content":null}"#);
        assert_eq!(only(&repeated, None), r#"{"role":"user","content":[],"content":[]}"#);
    }

    #[test]
    fn what_is_no_message_contributes_nothing() {
        for json in ["null", "\"text\"", "[]", "7"] {
            assert!(project(&message(json), None).is_empty(), "{json}");
        }
        let other_kinds = [
            r#"{"type":"message"}"#,
            r#"{"type":"custom","customType":"x","data":1}"#,
            r#"{"type":"label","targetId":"a","label":"l"}"#,
            r#"{"type":"model_change","provider":"p","modelId":"m"}"#,
            r#"{"type":"from_the_future","message":{"role":"user","content":"x"}}"#,
            r#"{"type":"branch_summary","fromId":"root","summary":""}"#,
            r#"{"type":"branch_summary","fromId":"root"}"#,
        ];
        for record in other_kinds {
            assert!(project(&entry(record), None).is_empty(), "{record}");
        }
    }

    #[test]
    fn a_custom_message_gets_the_fields_of_pi_and_no_others() {
        let full = format!(
            r#"{{"type":"custom_message","id":"a",{TIME},"details":{{"k":1e3}},"display":true,"content":"\ud99c","customType":"t","x":1}}"#
        );
        assert_eq!(
            only(&entry(&full), None),
            format!(
                r#"{{"role":"custom","customType":"t","content":"\ud99c","display":true,"details":{{"k":1e3}},"timestamp":{MILLIS}}}"#
            )
        );
        for content in ["", r#","content":null"#] {
            let bare = entry(&format!(r#"{{"type":"custom_message"{content}}}"#));
            assert_eq!(only(&bare, None), r#"{"role":"custom","content":[],"timestamp":null}"#);
        }
    }

    #[test]
    fn a_branch_summary_becomes_a_message_of_its_role() {
        let record =
            format!(r#"{{"type":"branch_summary","id":"a",{TIME},"fromId":"b","summary":"s\ud99c","usage":{{}}}}"#);
        assert_eq!(
            only(&entry(&record), None),
            format!(r#"{{"role":"branchSummary","summary":"s\ud99c","fromId":"b","timestamp":{MILLIS}}}"#)
        );
    }

    #[test]
    fn a_compaction_gives_its_system_message_its_summary_and_its_tail() {
        let record = format!(
            r#"{{"type":"compaction","id":"a",{TIME},"summary":"","tokensBefore":1e3,"systemMessage":{{"role":"system", "content":null}},"retainedTail":[{{"role":"user", "content":null}},7,{{"role":"assistant"}}]}}"#
        );
        let summary = format!(r#"{{"role":"compactionSummary","summary":"","tokensBefore":1e3,"timestamp":{MILLIS}}}"#);
        assert_eq!(
            texts(&project(&entry(&record), None)),
            [
                r#"{"role":"system", "content":null}"#,
                &summary,
                r#"{"role":"user", "content":null}"#,
                r#"{"role":"assistant"}"#
            ]
        );
        for rest in [r#","systemMessage":null,"retainedTail":null"#, r#","systemMessage":"x","retainedTail":[]"#, ""] {
            let bare = entry(&format!(r#"{{"type":"compaction","summary":"s"{rest}}}"#));
            assert_eq!(only(&bare, None), r#"{"role":"compactionSummary","summary":"s","timestamp":null}"#);
        }
    }

    #[test]
    fn an_edit_with_null_takes_every_message_of_its_target_away() {
        let null = edit("0000000a", "null");
        assert!(project(&message(r#"{"role":"system","content":"x"}"#), Some(&null)).is_empty());
        let compaction = entry(r#"{"type":"compaction","summary":"s","retainedTail":[{"role":"user"}]}"#);
        assert!(project(&compaction, Some(&null)).is_empty());
    }

    #[test]
    fn an_edit_replaces_the_content_in_place_or_adds_it_last() {
        let text = edit("0000000a", r#"{"content":"\ud99c"}"#);
        let blocks = r#"[{"type":"text","text":"\ud99c"}]"#;
        for (role, content) in
            [("user", r#""\ud99c""#), ("custom", r#""\ud99c""#), ("assistant", blocks), ("toolResult", blocks)]
        {
            let target = message(&format!(r#"{{"role":"{role}", "content":[{{"content":1}}] ,"b":1e3}}"#));
            assert_eq!(only(&target, Some(&text)), format!(r#"{{"role":"{role}", "content":{content} ,"b":1e3}}"#));
            let target = message(&format!(r#"{{"role":"{role}"}}"#));
            assert_eq!(only(&target, Some(&text)), format!(r#"{{"role":"{role}","content":{content}}}"#));
        }
        let array = edit("0000000a", r#"{"content":[ 1e3 ]}"#);
        assert_eq!(
            only(&message(r#"{"role":"assistant","content":null}"#), Some(&array)),
            r#"{"role":"assistant","content":[ 1e3 ]}"#
        );
        let custom = entry(r#"{"type":"custom_message","content":"old"}"#);
        assert_eq!(only(&custom, Some(&text)), r#"{"role":"custom","content":"\ud99c","timestamp":null}"#);
    }

    #[test]
    fn edited_content_is_not_found_under_a_repeated_key() {
        let target = message(r#"{"role":"user","content":"secret","c\u006fntent":"secret"}"#);
        assert_eq!(
            only(&target, Some(&edit("0000000a", r#"{"content":"x"}"#))),
            r#"{"role":"user","content":"x","c\u006fntent":"x"}"#
        );
    }

    #[test]
    fn an_edit_leaves_what_is_not_editable_as_it_is() {
        let text = edit("0000000a", r#"{"content":"x"}"#);
        for json in [
            r#"{"role":"system","content":"kept"}"#,
            r#"{"role":"bashExecution","command":"kept"}"#,
            r#"{"content":"kept"}"#,
        ] {
            assert_eq!(only(&message(json), Some(&text)), json);
        }
        let compaction =
            entry(r#"{"type":"compaction","summary":"s","retainedTail":[{"role":"user","content":"kept"}]}"#);
        assert_eq!(project(&compaction, Some(&text)), project(&compaction, None));
    }

    #[test]
    fn an_edit_without_content_takes_the_content_away_and_one_without_a_replacement_does_nothing() {
        let target = message(r#"{"content":"x","role":"user", "b":1e3}"#);
        for replacement in ["{}", "\"text\"", "7"] {
            assert_eq!(only(&target, Some(&edit("0000000a", replacement))), r#"{"role":"user","b":1e3}"#);
        }
        let none = entry(r#"{"type":"context_edit","id":"e","targetId":"0000000a"}"#);
        assert_eq!(only(&target, Some(&none)), r#"{"content":"x","role":"user", "b":1e3}"#);
        let first = edit("0000000a", "null");
        assert!(selected(&[target, first, none]).is_empty());
    }

    #[test]
    fn the_latest_edit_of_a_target_wins_and_others_do_not_touch_it() {
        let entries = [
            message(r#"{"role":"user","content":"a"}"#),
            edit("0000000a", r#"{"content":"b"}"#),
            edit("0000000a", r#"{"content":"c"}"#),
            edit("0000000b", "null"),
        ];
        assert_eq!(selected(&entries), [r#"{"role":"user","content":"c"}"#]);
    }

    #[test]
    fn only_the_compaction_at_the_front_contributes() {
        let compaction = |text| entry(&format!(r#"{{"type":"compaction","summary":"{text}"}}"#));
        let entries = [compaction("new"), compaction("old"), message(r#"{"role":"user","content":"a"}"#)];
        assert_eq!(
            selected(&entries),
            [r#"{"role":"compactionSummary","summary":"new","timestamp":null}"#, r#"{"role":"user","content":"a"}"#]
        );
    }

    #[test]
    fn only_a_compaction_with_an_object_has_a_system_message_of_its_own() {
        for (record, expected) in [
            (r#"{"type":"compaction","systemMessage":{"role":"system"}}"#, true),
            (r#"{"type":"compaction","systemMessage":null}"#, false),
            (r#"{"type":"compaction","systemMessage":"x"}"#, false),
            (r#"{"type":"compaction"}"#, false),
            (r#"{"type":"custom","systemMessage":{"role":"system"}}"#, false),
        ] {
            assert_eq!(has_system_message(&entry(record)), expected, "{record}");
        }
    }

    #[test]
    fn a_projector_sees_the_entry_its_index_and_all_selected() {
        let custom = |id: &str| entry(&format!(r#"{{"type":"custom","id":"{id}","customType":"t"}}"#));
        let entries = [
            message(r#"{"role":"user","content":"a"}"#),
            custom("0000000b"),
            custom("0000000c"),
            edit("0000000c", "null"),
        ];
        let projector = |entry: &Entry, index: usize, all: &[Entry]| {
            assert_eq!(all[index].id(), entry.id());
            vec![format!(r#"{{"role":"user","content":"{index} of {}"}}"#, all.len()), "{}".to_owned()]
        };
        let messages = project_selected(&entries, &projector);
        assert_eq!(
            texts(&messages),
            [r#"{"role":"user","content":"a"}"#, r#"{"role":"user","content":"1 of 4"}"#, "{}"]
        );
        assert_eq!(messages[2].entry_id(), Some(entries[1].id()));
        assert_eq!(selected(&entries).len(), 1);
    }

    #[test]
    fn times_are_milliseconds_or_null() {
        for (raw, expected) in [
            ("\"2026-01-02T03:04:05.006Z\"", "1767323045006"),
            ("\"2026-01-02T04:04:05.006789+01:00\"", "1767323045006"),
            ("\"2026-01-02T03:04:05.006\"", "1767323045006"),
            ("\"2026-01-02\"", "1767312000000"),
            ("\"yesterday\"", "null"),
            ("\"\"", "null"),
            ("1767323045006.9", "1767323045006"),
            ("-0.5", "0"),
            ("1e16", "null"),
            ("null", "0"),
            ("{}", "null"),
        ] {
            assert_eq!(millis(Some(raw)), expected, "{raw}");
        }
        assert_eq!(millis(None), "null");
    }
}
