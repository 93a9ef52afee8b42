//! Sessions as documents for people: Markdown, and a page for the browser.
//!
//! Both are made of the same [`view::View`]s of entries, so that they say the same.

pub(crate) mod html;
pub(crate) mod markdown;
mod prose;
mod view;

use leaflog::{EntryId, Role, Session};

use crate::failure::Failure;
use crate::output::shortened;

/// Where a document goes, piece by piece, so that memory does not follow its length.
pub(crate) type Sink<'a> = dyn FnMut(&[u8]) -> Result<(), Failure> + 'a;

/// How many characters of a first message stand for a missing name.
const TITLE_CHARACTERS_MAX: usize = 80;

/// What a document is of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent<'a> {
    /// The path to an entry; `None` is where the session stands.
    Path(Option<&'a EntryId>),
    /// All branches.
    Whole,
}

/// What the session is called: its name, or the beginning of what the user first said.
fn title(session: &Session) -> Result<String, Failure> {
    if let Some(name) = session.name() {
        return Ok(name);
    }
    for entry in session.entries() {
        let entry = entry?;
        if entry.role() == Some(Role::User) {
            let words: Vec<_> = entry.text().split_whitespace().map(str::to_owned).collect();
            if !words.is_empty() {
                return Ok(shortened(&words.join(" "), TITLE_CHARACTERS_MAX));
            }
        }
    }
    Ok("Session without a name".to_owned())
}
