//! Text of others inside a Markdown document: it cannot leave its place, be HTML, or load anything.
//!
//! Prose is quoted, line by line behind `>`, so that whatever it opens ends with it. Code and outputs are fenced, with
//! a fence longer than any run of backticks in them. Prose in which something may be read as HTML or as a picture is
//! fenced too: whether a `<` stands in code depends on everything before it, and a guess that is wrong once is enough.

use std::borrow::Cow;

/// The shortest fence.
const FENCE_LENGTH_MIN: usize = 3;

/// What somebody wrote, in Markdown as a rule: quoted, or fenced if there is any doubt.
pub(super) fn prose(text: &str) -> String {
    let text = clean(text);
    if !is_harmless(&text) {
        return fenced(&text, "markdown");
    }
    let quoted = |line: &str| if line.is_empty() { ">\n".to_owned() } else { format!("> {line}\n") };
    text.split('\n').map(quoted).collect()
}

/// Code or an output as it is; `language` is a word of ours.
pub(super) fn fenced(text: &str, language: &str) -> String {
    let text = clean(text);
    let fence = "`".repeat(longest_run(&text).saturating_add(1).max(FENCE_LENGTH_MIN));
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

/// A name or a title within a line of ours, as code: nothing in it means anything.
pub(super) fn inline(text: &str) -> String {
    let text = clean(text).replace(['\n', '\t'], " ");
    let text = text.trim();
    if text.is_empty() {
        return "(empty)".to_owned();
    }
    let ticks = "`".repeat(longest_run(text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{space}{text}{space}{ticks}")
}

/// A title of ours, or of others, within a line: marks are escaped, so that it reads as it is.
pub(super) fn escaped(text: &str) -> String {
    let text = clean(text).replace(['\n', '\t'], " ");
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        // A full stop and the like mean something at the start of a line only, where a title never stands.
        if character.is_ascii_punctuation() && !".,:;'\"%/?()-=".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Line feeds are the only line breaks, and characters that a terminal obeys become their pictures.
fn clean(text: &str) -> Cow<'_, str> {
    let is_odd = |character: char| {
        (character.is_control() && character != '\n' && character != '\t')
            || matches!(character, '\u{2028}' | '\u{2029}')
    };
    if !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n");
    let shown = |character: char| match character {
        '\r' | '\u{2028}' | '\u{2029}' => '\n',
        '\u{7f}' => '\u{2421}',
        character if is_odd(character) => {
            char::from_u32(0x2400 + u32::from(character)).filter(|_| character < ' ').unwrap_or('\u{fffd}')
        }
        character => character,
    };
    Cow::Owned(text.chars().map(shown).collect())
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or_default()
}

/// Whether nothing outside of code can be HTML or a picture, for sure.
fn is_harmless(text: &str) -> bool {
    let mut fence = None;
    for line in text.split('\n') {
        match (fence, fence_of(line)) {
            (Some((mark, length)), Some((end, other, rest))) => {
                if mark == end && other >= length && rest.trim().is_empty() {
                    fence = None;
                }
            }
            (Some(_), None) => {}
            (None, Some((mark, length, _))) => fence = Some((mark, length)),
            (None, None) if is_harmless_line(line) => {}
            (None, None) => return false,
        }
    }
    true
}

/// The mark and length of the fence that a line starts with, and what stands behind it. Only one without indentation
/// is a fence in whatever stands before it.
fn fence_of(line: &str) -> Option<(char, usize, &str)> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    (length >= FENCE_LENGTH_MIN && (mark == '~' || !rest.contains('`'))).then_some((mark, length, rest))
}

/// Whether a line outside of fences holds nothing that may be HTML or a picture but in code that begins and ends in
/// that line. A line whose backticks do not pair may turn the sense of those that follow.
fn is_harmless_line(line: &str) -> bool {
    let in_table = line.contains('|');
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        if may_be_markup(&rest[..at]) || rest[..at].ends_with('\\') {
            return false;
        }
        let behind = rest[at..].trim_start_matches('`');
        let length = rest.len() - at - behind.len();
        let Some(end) = closing(behind, length) else { return false };
        // In a table the cells are told apart before the code is.
        if in_table && may_be_markup(&behind[..end]) {
            return false;
        }
        rest = &behind[end + length..];
    }
    !may_be_markup(rest)
}

/// Where a run of exactly so many backticks starts.
fn closing(text: &str, length: usize) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = text[from..].find('`') {
        let start = from + at;
        let run = text[start..].len() - text[start..].trim_start_matches('`').len();
        if run == length {
            return Some(start);
        }
        from = start + run;
    }
    None
}

fn may_be_markup(text: &str) -> bool {
    let is_tag =
        |at: usize| text[at + 1..].starts_with(|next: char| next.is_ascii_alphabetic() || "/!?".contains(next));
    text.contains("![") || text.match_indices('<').any(|(at, _)| is_tag(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_quoted(text: &str) -> bool {
        let prose = prose(text);
        let quoted = prose.lines().all(|line| line.starts_with('>'));
        assert!(quoted || prose.starts_with("```"), "{prose}");
        quoted
    }

    #[test]
    fn harmless_prose_is_quoted_line_by_line() {
        assert_eq!(prose("# a\n\n```\nb"), "> # a\n>\n> ```\n> b\n");
        for text in [
            "1 < 2 and a<1",
            "`Vec<T>` is ``a `<b>` c``",
            "```html\n<b>\n```\nso",
            "~~~\n```\n<b>\n~~~\n",
            "```\n<script>",
            "| a | `b` |",
        ] {
            assert!(is_quoted(text), "{text}");
        }
    }

    #[test]
    fn prose_that_may_be_html_or_load_a_picture_is_fenced() {
        for text in [
            "<script>alert(1)</script>",
            "a <!-- b",
            "</blockquote>",
            "![x](http://example.com/x.png)",
            "a ` b\n`<script>`",
            "\\`<b>`",
            "```\ncode\n```\n<b>",
            "~~~\n```\n~~~\n<b>\n```",
            "- x\n  ```\n  <b>\n  ```",
            "``` a`b\n<b>\n```",
            "````\n```\n````\n<b>",
            "| ` | <b> ` |",
            "`` `<b>",
        ] {
            assert!(!is_quoted(text), "{text}");
        }
    }

    #[test]
    fn a_fence_is_longer_than_any_in_the_text() {
        assert_eq!(fenced("a\n`````\nb", "text"), "``````text\na\n`````\nb\n``````\n");
        assert_eq!(fenced("", "text"), "```text\n```\n");
        assert_eq!(fenced("a\n", ""), "```\na\n```\n");
    }

    #[test]
    fn no_line_break_and_no_control_character_of_others_is_left() {
        assert_eq!(prose("a\rb\r\nc\u{2028}d"), "> a\n> b\n> c\n> d\n");
        assert_eq!(fenced("a\u{1b}[2J\0\u{7f}\u{9b}", ""), "```\na\u{241b}[2J\u{2400}\u{2421}\u{fffd}\n```\n");
        assert_eq!(inline("a\n`b`"), "`` a `b` ``");
        assert_eq!(inline(" \n"), "(empty)");
        assert_eq!(escaped("a*b* <c>\n# [x](y)"), r"a\*b\* \<c\> \# \[x\](y)");
    }
}
