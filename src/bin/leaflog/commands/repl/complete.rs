//! Completion of commands, roles, entry ids and labels.

use leaflog::Session;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::COMMANDS;
use super::words::first_word;

/// How many of the newest entries are offered.
const ENTRIES_MAX: usize = 10_000;

const ROLES: [&str; 3] = ["user", "assistant", "tool"];

/// What may be completed, as of the moment when the line was begun.
#[derive(Default)]
pub(super) struct Completion {
    entries: Vec<String>,
}

impl Completion {
    pub(super) fn of(session: Option<&Session>) -> Self {
        let Some(session) = session else { return Self::default() };
        let mut entries: Vec<_> = session.labels().into_iter().filter_map(|(_, label)| typed(&label.text)).collect();
        entries.extend(session.newest_ids(ENTRIES_MAX).iter().filter_map(|id| typed(&id.to_string())));
        entries.extend(["leaf", "root"].map(str::to_owned));
        Self { entries }
    }

    /// Where the word starts that ends at the cursor, and what it may become.
    fn candidates(&self, line: &str) -> (usize, Vec<String>) {
        let start = word_start(line);
        let word = &line[start..];
        let before: Vec<_> = line[..start].split_whitespace().collect();
        let fitting = |all: &mut dyn Iterator<Item = &str>| {
            all.filter(|candidate| candidate.starts_with(word)).map(|candidate| format!("{candidate} ")).collect()
        };
        let candidates = match before.as_slice() {
            [] => fitting(&mut COMMANDS.iter().map(|command| command.name)),
            ["send"] => fitting(&mut ROLES.into_iter()),
            ["branch" | "move" | "navigate" | "fork" | "compact" | "label"] => {
                fitting(&mut self.entries.iter().map(String::as_str))
            }
            _ => Vec::new(),
        };
        (start, candidates)
    }
}

/// A word that is open between quotes starts at the quote.
fn word_start(line: &str) -> usize {
    let quotes: Vec<_> = line.match_indices('"').map(|(at, _)| at).collect();
    if quotes.len() % 2 == 1 {
        return quotes[quotes.len() - 1];
    }
    line.rfind(char::is_whitespace).map_or(0, |at| at + line[at..].chars().next().map_or(1, char::len_utf8))
}

/// How a label or an id is typed, if it can be. Sessions hold what models, tools and other programs wrote: nothing that
/// a terminal would obey is offered, and nothing that would be read back as another word.
fn typed(name: &str) -> Option<String> {
    let typed = if name.contains(char::is_whitespace) { format!("\"{name}\"") } else { name.to_owned() };
    let is_safe = !name.contains(char::is_control) && first_word(&typed) == (name, "");
    is_safe.then_some(typed)
}

impl Completer for Completion {
    type Candidate = Pair;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, candidates) = self.candidates(&line[..position]);
        let pair = |text: String| Pair { display: text.trim_end().to_owned(), replacement: text };
        Ok((start, candidates.into_iter().map(pair).collect()))
    }
}

impl Hinter for Completion {
    type Hint = String;
}

impl Highlighter for Completion {}
impl Validator for Completion {}
impl Helper for Completion {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_roles_ids_and_labels_are_completed_where_they_stand() {
        let completion = Completion { entries: ["\"plan A\"", "00aa11bb", "00cc"].map(str::to_owned).to_vec() };
        let candidates = |line: &str| completion.candidates(line);
        assert_eq!(candidates("tr"), (0, vec!["tree ".to_owned()]));
        assert_eq!(candidates("").1.len(), COMMANDS.len());
        assert_eq!(candidates("send as"), (5, vec!["assistant ".to_owned()]));
        assert_eq!(candidates("branch 00a"), (7, vec!["00aa11bb ".to_owned()]));
        assert_eq!(candidates("branch \"pl"), (7, vec!["\"plan A\" ".to_owned()]));
        assert_eq!(candidates("branch \"plan A"), (7, vec!["\"plan A\" ".to_owned()]));
        assert!(candidates("send user 00").1.is_empty());
        assert!(candidates("nonsense 00").1.is_empty());
    }

    #[test]
    fn only_what_can_be_typed_is_offered_and_nothing_that_a_terminal_obeys() {
        assert_eq!(typed("方案A").as_deref(), Some("方案A"));
        assert_eq!(typed("plan A").as_deref(), Some("\"plan A\""));
        assert_eq!(typed("a\"b").as_deref(), Some("a\"b"));
        for name in ["x\u{1b}]0;title\u{7}", "a\nb", "\u{9b}2J", "the \"best\" plan", "\"quoted\""] {
            assert_eq!(typed(name), None, "{name:?}");
        }
    }
}
