//! Finding text in a session: messages, summaries, labels and the name, on all branches (SPEC 8.1).

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::{Entries, Session};
use crate::error::Result;
use crate::model::{Entry, EntryId, EntryKind, Role};

/// Says where in a text the first match is, in bytes.
type Matcher = Arc<dyn Fn(&str) -> Option<Range<usize>> + Send + Sync>;

/// What is looked for.
#[derive(Clone)]
pub struct Search {
    /// A text that must be there as it stands, for skipping lines that cannot hold it.
    needle: Option<String>,
    matcher: Matcher,
    role: Option<Role>,
}

impl Search {
    /// Looks for `text` as it stands. However the stored line spells it, as UTF-8 or in JSON's escapes, it is found.
    pub fn text(text: impl Into<String>) -> Self {
        let needle: String = text.into();
        let finder = memchr::memmem::Finder::new(needle.as_bytes()).into_owned();
        let length = needle.len();
        let matcher = move |text: &str| finder.find(text.as_bytes()).map(|at| at..at + length);
        Self { needle: Some(needle), matcher: Arc::new(matcher), role: None }
    }

    /// Looks for what `matcher` finds: it gets a text and says where the first match is, as a range of bytes that ends
    /// on characters.
    pub fn matching(matcher: impl Fn(&str) -> Option<Range<usize>> + Send + Sync + 'static) -> Self {
        Self { needle: None, matcher: Arc::new(matcher), role: None }
    }

    /// Only in messages of this role, and their labels.
    #[must_use]
    pub fn role(mut self, role: Role) -> Self {
        self.role = Some(role);
        self
    }

    fn find(&self, text: &str) -> Option<Range<usize>> {
        // What a caller's matcher says must not cut characters.
        (self.matcher)(text).filter(|range| text.get(range.clone()).is_some())
    }

    /// Whether the record may hold a match. It cannot if the text is not in the line and nothing stands between the two:
    /// no escapes, no bytes that read as U+FFFD, and one block of text at most.
    fn may_match(&self, record: &[u8]) -> bool {
        let Some(needle) = &self.needle else { return true };
        let escaped = memchr::memchr(b'\\', record).is_some() || needle.contains('\u{fffd}');
        let blocks = memchr::memmem::find_iter(record, b"\"text\"").take(3).count();
        escaped || blocks > 2 || memchr::memmem::find(record, needle.as_bytes()).is_some()
    }
}

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search").field("needle", &self.needle).field("role", &self.role).finish_non_exhaustive()
    }
}

/// Where a match is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitIn {
    /// In what an entry says: a message, a custom message, a summary.
    Text,
    /// In the label on an entry.
    Label,
    /// In the session's name.
    Name,
}

impl HitIn {
    /// The word for it that the command line prints.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Label => "label",
            Self::Name => "name",
        }
    }
}

/// A match.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hit {
    /// Where it is.
    pub place: HitIn,
    /// The entry, or the one that the label is on; `None` for the name.
    pub entry: Option<EntryId>,
    /// The entry's kind.
    pub kind: Option<EntryKind>,
    /// The role, for messages.
    pub role: Option<Role>,
    /// The whole text.
    pub text: String,
    /// Where in the text the first match is, in bytes.
    pub range: Range<usize>,
}

impl Hit {
    /// The match with about `characters` characters before and behind it, and signs where something was left out. Cut
    /// on characters.
    pub fn excerpt(&self, characters: usize) -> String {
        let (before, rest) = self.text.split_at(self.range.start);
        let (hit, behind) = rest.split_at(self.range.len());
        let start = before.char_indices().rev().nth(characters.saturating_sub(1)).map_or(0, |(at, _)| at);
        let start = if characters == 0 { before.len() } else { start };
        let end = behind.char_indices().nth(characters).map_or(behind.len(), |(at, _)| at);
        let sign = |left_out: bool| if left_out { "…" } else { "" };
        format!("{}{}{hit}{}{}", sign(start > 0), &before[start..], &behind[..end], sign(end < behind.len()))
    }
}

/// The matches in a session, read as they are asked for: the name, labels in the order of their entries' ids, then what
/// entries say, in file order.
pub struct Hits<'a> {
    search: Search,
    marks: std::vec::IntoIter<Hit>,
    entries: Entries<'a>,
}

impl Iterator for Hits<'_> {
    type Item = Result<Hit>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(hit) = self.marks.next() {
            return Some(Ok(hit));
        }
        loop {
            match self.entries.next()? {
                Ok(entry) => {
                    if let Some(hit) = hit_in(&self.search, &entry) {
                        return Some(Ok(hit));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn hit_in(search: &Search, entry: &Entry) -> Option<Hit> {
    let speaks = matches!(
        entry.kind(),
        EntryKind::Message | EntryKind::CustomMessage | EntryKind::Compaction | EntryKind::BranchSummary
    );
    let asked_for = search.role.is_none() || search.role == entry.role();
    if !speaks || !asked_for || !search.may_match(entry.as_bytes()) {
        return None;
    }
    let text = entry.text();
    let range = search.find(&text)?;
    let (id, kind, role) = (entry.id().clone(), entry.kind(), entry.role());
    Some(Hit { place: HitIn::Text, entry: Some(id), kind: Some(kind), role, text, range })
}

impl Session {
    /// Finds what `search` looks for, on all branches, as far as this handle has replayed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Gone`](crate::ErrorKind::Gone) if the log changed under this handle.
    pub fn search(&self, search: &Search) -> Result<Hits<'_>> {
        let mut marks = Vec::new();
        let name = self.name().filter(|_| search.role.is_none());
        if let Some((range, text)) = name.and_then(|name| Some((search.find(&name)?, name))) {
            marks.push(Hit { place: HitIn::Name, entry: None, kind: None, role: None, text, range });
        }
        for (id, label) in self.labels() {
            let Some(range) = search.find(&label.text) else { continue };
            // A label may be on an entry that is not there.
            let entry = self.entry(&id).ok();
            let (kind, role) = (entry.as_ref().map(Entry::kind), entry.as_ref().and_then(Entry::role));
            if search.role.is_none() || search.role == role {
                marks.push(Hit { place: HitIn::Label, entry: Some(id), kind, role, text: label.text, range });
            }
        }
        Ok(Hits { search: search.clone(), marks: marks.into_iter(), entries: self.entries() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(text: &str, range: Range<usize>, characters: usize) -> String {
        Hit { place: HitIn::Text, entry: None, kind: None, role: None, text: text.to_owned(), range }
            .excerpt(characters)
    }

    #[test]
    fn excerpts_are_cut_on_characters_and_say_where_they_are_cut() {
        assert_eq!(excerpt("one two three", 4..7, 100), "one two three");
        assert_eq!(excerpt("one two three", 4..7, 2), "…e two t…");
        assert_eq!(excerpt("one two three", 4..7, 4), "one two thr…");
        assert_eq!(excerpt("one two three", 4..7, 0), "…two…");
        assert_eq!(excerpt("请用方案重构", 6..12, 1), "…用方案重…");
        assert_eq!(excerpt("方案", 0..6, 3), "方案");
    }

    #[test]
    fn a_matcher_that_cuts_characters_finds_nothing() {
        assert_eq!(Search::matching(|_| Some(0..1)).find("方"), None);
        assert_eq!(Search::matching(|_| Some(0..99)).find("x"), None);
        assert_eq!(Search::matching(|_| Some(0..1)).find("x"), Some(0..1));
    }
}
