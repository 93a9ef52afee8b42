//! Text that is safe and short enough to show.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// `text` on one line and without characters that a terminal would obey; sessions hold what models and tools wrote.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    without(text, char::is_control)
}

/// As [`plain`], but line breaks and tabs stay.
pub(crate) fn plain_lines(text: &str) -> Cow<'_, str> {
    without(text, |character| character.is_control() && character != '\n' && character != '\t')
}

fn without(text: &str, is_unsafe: impl Fn(char) -> bool + Copy) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let kept = text.chars().filter_map(|character| match character {
        '\u{1b}' => None,
        character if is_unsafe(character) => Some(' '),
        character => Some(character),
    });
    Cow::Owned(kept.collect())
}

/// The first `characters_max` characters of `text`, with a sign if there are more.
pub(crate) fn shortened(text: &str, characters_max: usize) -> String {
    match text.char_indices().nth(characters_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// How many columns `text` takes on a terminal: CJK characters and emoji take two.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// As much of the beginning of `text` as fits into so many columns, with a sign if that is not all.
pub(crate) fn fitted(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut taken = 1;
    let fits = |character: &char| {
        taken += UnicodeWidthChar::width(*character).unwrap_or(0);
        taken <= columns
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// How wide the terminal is, if the output goes to one.
pub(crate) fn terminal_columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// A size for people.
pub(crate) fn bytes(count: u64) -> String {
    const STEP: u64 = 1024;
    let mut unit = 1;
    let mut names = ["KiB", "MiB", "GiB", "TiB"].into_iter();
    let mut name = None;
    while count / unit >= STEP
        && let Some(next) = names.next()
    {
        unit *= STEP;
        name = Some(next);
    }
    match name {
        None => format!("{count} B"),
        Some(name) => format!("{}.{} {name}", count / unit, count % unit * 10 / unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        assert_eq!(plain("a\nb\tc\u{1b}[2Jd\u{9b}e\u{7f}"), "a b c[2Jd e ");
        assert_eq!(plain_lines("a\nb\tc\u{1b}[2J\r"), "a\nb\tc[2J ");
        assert_eq!(plain("方案 A"), "方案 A");
    }

    #[test]
    fn texts_are_cut_on_characters() {
        assert_eq!(shortened("方案 A", 2), "方案…");
        assert_eq!(shortened("方案", 2), "方案");
    }

    #[test]
    fn texts_are_cut_by_the_columns_that_they_take() {
        assert_eq!(fitted("方案 A", 6), "方案 A");
        assert_eq!(fitted("方案 A", 5), "方案…");
        assert_eq!(fitted("方案 A", 4), "方…");
        assert_eq!(fitted("plan A", 4), "pla…");
        assert_eq!(fitted("\u{1f600}\u{1f600}", 3), "\u{1f600}…");
        assert_eq!(fitted("x", 0), "…");
        assert_eq!(width("方案 \u{1f600}"), 7);
    }

    #[test]
    fn sizes_have_one_digit_behind_the_point() {
        for (count, text) in
            [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1_992_294, "1.8 MiB"), (u64::MAX, "16777215.9 TiB")]
        {
            assert_eq!(bytes(count), text);
        }
    }
}
