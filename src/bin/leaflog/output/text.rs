//! Text that is safe and short enough to show.

use std::borrow::Cow;

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
    fn sizes_have_one_digit_behind_the_point() {
        for (count, text) in
            [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1_992_294, "1.8 MiB"), (u64::MAX, "16777215.9 TiB")]
        {
            assert_eq!(bytes(count), text);
        }
    }
}
