//! A session as Markdown, message by message.

use std::collections::HashMap;

use leaflog::{ActivePath, Entry, EntryId, Session, TreeNode, TreeOptions};

use super::prose::{escaped, fenced, inline, prose};
use super::view::{Part, Speaker, View};
use super::{Extent, Sink, title};
use crate::failure::Failure;

/// Writes the document.
pub(crate) fn write(session: &Session, extent: Extent<'_>, sink: &mut Sink<'_>) -> Result<(), Failure> {
    match extent {
        Extent::Path(entry) => path(session, entry, sink),
        Extent::Whole => whole(session, sink),
    }
}

fn path(session: &Session, entry: Option<&EntryId>, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let ids = session.path_ids(entry)?;
    let shown = match (entry, ids.last()) {
        (_, None) => "nothing: the session stands before its first entry".to_owned(),
        (None, Some(last)) => format!("the active path, {} up to {}", entries(ids.len()), code(last)),
        (Some(_), Some(last)) => format!("the path to {}, {}", code(last), entries(ids.len())),
    };
    head(session, &shown, sink)?;
    let leaf = session.leaf();
    for entry in session.path_entries(entry)? {
        put_entry(session, &entry?, leaf.as_ref(), "##", sink)?;
    }
    Ok(())
}

fn whole(session: &Session, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let nodes = session.tree(&TreeOptions::new().active(ActivePath::Full))?.collect::<Result<Vec<_>, _>>()?;
    let branches = Branches::of(&nodes);
    let shown =
        format!("the whole tree, {} in {}", entries(nodes.len()), counted(branches.starts.len(), "branch", "branches"));
    head(session, &shown, sink)?;
    let leaf = session.leaf();
    for (index, node) in nodes.iter().enumerate() {
        if let Some(number) = branches.starting_at(index) {
            put(&format!("## {}\n\n", branches.heading(number, node)), sink)?;
        }
        put_entry(session, &session.entry(&node.id)?, leaf.as_ref(), "###", sink)?;
        if let Some(below) = branches.below(index) {
            put(&format!("*From here on: {below}.*\n\n"), sink)?;
        }
    }
    Ok(())
}

/// The runs without branching of a tree in depth-first order, numbered from 1.
struct Branches<'a> {
    nodes: &'a [TreeNode],
    /// Where each starts.
    starts: Vec<usize>,
    /// The branches that start behind a node with several children.
    below: HashMap<&'a EntryId, Vec<usize>>,
}

impl<'a> Branches<'a> {
    fn of(nodes: &'a [TreeNode]) -> Self {
        let mut branches = Self { nodes, starts: Vec::new(), below: HashMap::new() };
        for (index, node) in nodes.iter().enumerate() {
            // An only child stands right behind its parent.
            let goes_on = index.checked_sub(1).is_some_and(|before| {
                nodes[before].children == 1 && node.parent_id.as_ref() == Some(&nodes[before].id)
            });
            if !goes_on {
                branches.starts.push(index);
                if let Some(parent) = &node.parent_id {
                    branches.below.entry(parent).or_default().push(branches.starts.len());
                }
            }
        }
        branches
    }

    /// The number of the branch that starts at a node.
    fn starting_at(&self, index: usize) -> Option<usize> {
        self.starts.binary_search(&index).ok().map(|number| number + 1)
    }

    fn heading(&self, number: usize, first: &TreeNode) -> String {
        let from = first.parent_id.as_ref().map_or_else(String::new, |parent| format!(", from {}", code(parent)));
        format!("{}{from}", self.name(number))
    }

    fn name(&self, number: usize) -> String {
        let active = if self.nodes[self.starts[number - 1]].active { " (active)" } else { "" };
        format!("Branch {number}{active}")
    }

    /// The branches behind a node, in words.
    fn below(&self, index: usize) -> Option<String> {
        let names: Vec<_> = self.below.get(&self.nodes[index].id)?.iter().map(|number| self.name(*number)).collect();
        Some(names.join(", ").to_lowercase())
    }
}

fn head(session: &Session, shown: &str, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let header = session.header();
    let mut head = format!("# {}\n\n", escaped(&title(session)?));
    head += &format!("- Session: {}\n", inline(header.id.as_str()));
    head += &format!("- Folder: {}\n", inline(&header.cwd));
    head += &format!("- Created: {}\n", escaped(&header.timestamp));
    head += &format!("- Shown: {shown}\n\n");
    put(&head, sink)
}

fn put_entry(
    session: &Session,
    entry: &Entry,
    leaf: Option<&EntryId>,
    level: &str,
    sink: &mut Sink<'_>,
) -> Result<(), Failure> {
    let view = View::of(entry, session);
    let mut facts = vec![escaped(entry.timestamp()), code(entry.id())];
    facts.extend(view.facts.iter().map(|fact| escaped(fact)));
    if leaf == Some(entry.id()) {
        facts.push("**leaf**".to_owned());
    }
    let facts = facts.join(" · ");
    if view.speaker == Speaker::Note {
        return put(&format!("*{}* · {facts}\n\n", escaped(&view.title)), sink);
    }
    let failed = if view.failed { " (failed)" } else { "" };
    put(&format!("{level} {}{failed}\n\n{facts}\n\n", escaped(&view.title)), sink)?;
    for part in &view.parts {
        put(&block(part), sink)?;
        put("\n", sink)?;
    }
    Ok(())
}

fn block(part: &Part) -> String {
    match part {
        Part::Text { text } => prose(text),
        Part::Thinking { text } => format!("*Thinking:*\n\n{}", fenced(text, "text")),
        Part::Call { name, id, text } => {
            let id = if id.is_empty() { String::new() } else { format!(", call {}", inline(id)) };
            format!("**Calls {}**{id}\n\n{}", inline(name), fenced(text, "text"))
        }
        Part::Output { text } if text.is_empty() => "(no output)\n".to_owned(),
        Part::Output { text } => fenced(text, "text"),
        Part::Image { mime, data } => {
            format!("(an image, {}, {} of Base64)\n", inline(mime), crate::output::bytes(data.len() as u64))
        }
        Part::Unknown { name } => format!("(a block of the type {})\n", inline(name)),
    }
}

fn code(id: &EntryId) -> String {
    inline(&id.to_string())
}

fn entries(count: usize) -> String {
    counted(count, "entry", "entries")
}

fn counted(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

fn put(text: &str, sink: &mut Sink<'_>) -> Result<(), Failure> {
    sink(text.as_bytes())
}
