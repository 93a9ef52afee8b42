//! The parts of a message, as JavaScript would find them.

use crate::model::json;
use crate::model::json::Member;

/// The members of a JSON object; of two with one key the last counts, as for pi.
pub(super) struct Fields<'a>(Vec<Member<'a>>);

impl<'a> Fields<'a> {
    /// What is no object has no members.
    pub(super) fn of(text: &'a str) -> Self {
        Self(json::members(text).unwrap_or_default())
    }

    pub(super) fn raw(&self, key: &str) -> Option<&'a str> {
        self.0.iter().rev().find(|member| member.key == key).map(|member| member.value)
    }

    /// The decoded text of a string.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        json::string(self.raw(key)?)
    }

    /// The keys with their values as JSON.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|member| (&*member.key, member.value))
    }
}

/// A part of a message's content. Texts are what stands between the quotes of a JSON string, so that surrogates of two
/// neighbours can become one character where they are joined.
pub(super) enum Block<'a> {
    Text(&'a str),
    Thinking(&'a str),
    Call(Call<'a>),
    Image,
    Other,
}

/// A call of a tool.
pub(super) struct Call<'a> {
    pub(super) name: String,
    /// Raw JSON, an object as a rule.
    pub(super) arguments: Option<&'a str>,
}

/// The blocks of a message's content.
pub(super) fn blocks<'a>(message: &Fields<'a>) -> Vec<Block<'a>> {
    message.raw("content").map(blocks_of).unwrap_or_default()
}

/// The blocks of a content value; a plain text is one block.
pub(super) fn blocks_of(content: &str) -> Vec<Block<'_>> {
    match contents(content) {
        Some(text) => vec![Block::Text(text)],
        None => json::elements(content).into_iter().map(block).collect(),
    }
}

fn block(raw: &str) -> Block<'_> {
    let fields = Fields::of(raw);
    let text = |key| fields.raw(key).and_then(contents).unwrap_or_default();
    match fields.text("type").as_deref() {
        Some("text") => Block::Text(text("text")),
        Some("thinking") => Block::Thinking(text("thinking")),
        Some("toolCall") => {
            Block::Call(Call { name: fields.text("name").unwrap_or_default(), arguments: fields.raw("arguments") })
        }
        Some("image") => Block::Image,
        _ => Block::Other,
    }
}

/// What stands between the quotes, if `raw` is a JSON string.
fn contents(raw: &str) -> Option<&str> {
    raw.strip_prefix('"')?.strip_suffix('"')
}

/// The texts of the blocks, as they stand between their quotes.
pub(super) fn texts<'a>(blocks: &[Block<'a>]) -> Vec<&'a str> {
    let text = |block: &Block<'a>| match block {
        Block::Text(text) => Some(*text),
        _ => None,
    };
    blocks.iter().filter_map(text).collect()
}

/// Joins texts that stand between quotes and decodes the whole; a surrogate that is still alone then is U+FFFD.
/// `separator` is written as in a JSON string.
pub(super) fn joined(texts: &[&str], separator: &str) -> String {
    json::string(&format!("\"{}\"", texts.join(separator))).unwrap_or_default()
}

/// How many UTF-16 units a text has.
pub(super) fn units(text: &str) -> u64 {
    text.encode_utf16().count() as u64
}

/// JSON text as JavaScript would print the value: no white space, only the escapes that are needed, and a lone surrogate
/// as an escape. Numbers keep their spelling.
pub(super) fn printed(raw: &str) -> String {
    let mut printed = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('"') {
        printed.extend(rest[..at].chars().filter(|character| !character.is_ascii_whitespace()));
        let end = string_end(&rest[at..]);
        print_string(&rest[at + 1..at + end], &mut printed);
        rest = rest.get(at + end + 1..).unwrap_or_default();
    }
    printed.extend(rest.chars().filter(|character| !character.is_ascii_whitespace()));
    printed
}

/// Where the string that `text` begins with has its closing quote.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    let closing = text.bytes().enumerate().skip(1).find(|(_, byte)| {
        let closes = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        closes
    });
    closing.map_or(text.len(), |(at, _)| at)
}

/// Prints a string; `contents` stands between the quotes.
fn print_string(contents: &str, printed: &mut String) {
    let quoted = format!("\"{contents}\"");
    // Whatever is no lone surrogate is decoded and encoded again; those are all that a Rust string cannot hold.
    if let Ok(text) = serde_json::from_str::<String>(&quoted) {
        printed.push_str(&json::quote(&text));
        return;
    }
    printed.push('"');
    let mut rest = contents;
    while let Some((lone, at)) = lone_surrogate(rest) {
        let before = json::quote(&json::string(&format!("\"{}\"", &rest[..at])).unwrap_or_default());
        printed.push_str(&before[1..before.len() - 1]);
        printed.push_str(&lone.to_ascii_lowercase());
        rest = &rest[at + lone.len()..];
    }
    let last = json::quote(&json::string(&format!("\"{rest}\"")).unwrap_or_default());
    printed.push_str(&last[1..]);
}

/// The first escape of a surrogate without its other half, and where it is.
fn lone_surrogate(contents: &str) -> Option<(&str, usize)> {
    let mut at = 0;
    while let Some(found) = contents[at..].find('\\') {
        at += found;
        let escape = |from: usize| {
            let digits = contents.get(from..from + 6)?.strip_prefix("\\u")?;
            u16::from_str_radix(digits, 16).ok()
        };
        match escape(at) {
            Some(0xD800..=0xDBFF) if matches!(escape(at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => return Some((&contents[at..at + 6], at)),
            Some(_) => at += 6,
            None => at += 2,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_printed_as_javascript_prints_it() {
        for (raw, expected) in [
            (r#" { "a" : [ 1e3 , "b c" , null ] } "#, r#"{"a":[1e3,"b c",null]}"#),
            (r#""\u4e2d\/\u0041\u000a""#, r#""中/A\n""#),
            (r#""\u001B\u007f\u2028""#, "\"\\u001b\u{7f}\u{2028}\""),
            (r#""\"\\\" \\""#, r#""\"\\\" \\""#),
            (r#""\ud83d\ude00""#, r#""😀""#),
            (r#""a\uD83D\u0041""#, r#""a\ud83dA""#),
            (r#""\ude00\ud83d""#, r#""\ude00\ud83d""#),
            (r#""\ud83d\ud83d\ude00\"x""#, r#""\ud83d😀\"x""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            ("", ""),
        ] {
            assert_eq!(printed(raw), expected, "{raw}");
        }
    }

    #[test]
    fn of_two_members_with_one_key_the_last_counts() {
        assert_eq!(Fields::of(r#"{"a":1,"a":"2"}"#).text("a").as_deref(), Some("2"));
        assert_eq!(Fields::of("[]").iter().count(), 0);
    }

    #[test]
    fn halves_of_a_character_in_neighbouring_blocks_become_one_where_they_are_joined() {
        let content = r#"[{"type":"text","text":"a\ud83d"},{"type":"image"},{"type":"text","text":"\ude00\ud83d"}]"#;
        assert_eq!(joined(&texts(&blocks_of(content)), ""), "a😀\u{fffd}");
        assert_eq!(joined(&texts(&blocks_of(content)), r"\n"), "a\u{fffd}\n\u{fffd}\u{fffd}");
        assert_eq!(joined(&[], ""), "");
    }

    #[test]
    fn lengths_are_those_of_utf_16() {
        assert_eq!(units("a中😀"), 4);
    }
}
