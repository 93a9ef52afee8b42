//! Lines into words, and words into entries.

use leaflog::{EntryId, Error, ErrorKind, Session};

/// The first word of `line`, without its quotes if it has any, and the rest as it is.
pub(super) fn first_word(line: &str) -> (&str, &str) {
    let line = line.trim_start();
    if let Some((word, rest)) = line.strip_prefix('"').and_then(|quoted| quoted.split_once('"')) {
        return (word, rest.trim());
    }
    match line.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim()),
        None => (line.trim_end(), ""),
    }
}

/// Text that was put between quotes as a whole, without them; any other text as it is.
pub(super) fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

/// The entry that `name` names: an id, the beginning of one that fits one entry only, a label, `leaf`, or `@3` for the
/// third message of the log.
pub(super) fn entry(session: &Session, name: &str) -> leaflog::Result<EntryId> {
    if name == "leaf" {
        return session.leaf().ok_or_else(|| not_found("the session stands before its first entry"));
    }
    if let Some(number) = name.strip_prefix('@') {
        return message(session, number);
    }
    let id = EntryId::parse(name)?;
    if session.entry(&id).is_ok() {
        return Ok(id);
    }
    let labelled: Vec<_> = session.labels().into_iter().filter(|(_, label)| label.text == name).collect();
    match labelled.as_slice() {
        [(id, _)] => return Ok(id.clone()),
        [] => {}
        several => return Err(ambiguous(name, "labels", several.iter().map(|(id, _)| id.clone()))),
    }
    let mut fitting = session.newest_ids(usize::MAX);
    fitting.retain(|id| id.to_string().starts_with(name));
    fitting.reverse();
    match fitting.as_slice() {
        [id] => Ok(id.clone()),
        [] => Err(not_found(&format!("there is no entry {name:?}; 'tree' shows the ids"))),
        _ => Err(ambiguous(name, "ids", fitting.into_iter())),
    }
}

fn message(session: &Session, number: &str) -> leaflog::Result<EntryId> {
    let number: usize = number.parse().map_err(|_| Error::new(ErrorKind::Invalid, "behind @ comes a number"))?;
    let mut messages = session.entries().filter(|entry| entry.as_ref().map_or(true, |entry| entry.role().is_some()));
    let entry = number.checked_sub(1).and_then(|before| messages.nth(before));
    entry.ok_or_else(|| not_found(&format!("there is no message number {number}")))?.map(|entry| entry.id().clone())
}

fn not_found(message: &str) -> Error {
    Error::new(ErrorKind::NotFound, message)
}

fn ambiguous(name: &str, of: &str, ids: impl Iterator<Item = EntryId>) -> Error {
    let ids: Vec<_> = ids.take(5).map(|id| id.to_string()).collect();
    Error::new(ErrorKind::Invalid, format!("{name:?} fits several {of}: {}", ids.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_at_spaces_unless_they_are_quoted_and_the_rest_stays_as_it_is() {
        assert_eq!(first_word("send user 你好  x"), ("send", "user 你好  x"));
        assert_eq!(first_word("  tree  "), ("tree", ""));
        assert_eq!(first_word("\"plan A\" and more"), ("plan A", "and more"));
        assert_eq!(first_word("\"open"), ("\"open", ""));
        assert_eq!(first_word(""), ("", ""));
        assert_eq!(first_word("a\tb"), ("a", "b"));
        assert_eq!(unquoted("\"plan A\""), "plan A");
        assert_eq!(unquoted("say \"plan A\""), "say \"plan A\"");
        assert_eq!(unquoted("\""), "\"");
    }
}
