//! The tree: for people a drawing, for programs the array of SPEC 3.4.

use std::ops::Range;

use leaflog::{ActivePath, EntryId, EntryKind, Role, Session, TreeFilter, TreeNode, TreeOptions};
use serde::Serialize;

use crate::app::App;
use crate::args::{Colours, Tree, TreeActive, TreeShown};
use crate::failure::Failure;
use crate::output::{Branches, Output, Paint, fitted, plain, terminal_columns, width};

/// How wide a line is where there is no terminal.
const COLUMNS: usize = 110;

/// How much of a text is shown in any case.
const TEXT_COLUMNS_MIN: usize = 24;

/// What only sets or marks something: no part of the conversation.
pub(super) const CONTROL: [EntryKind; 8] = [
    EntryKind::Label,
    EntryKind::SessionInfo,
    EntryKind::ModelChange,
    EntryKind::ThinkingLevelChange,
    EntryKind::ActiveToolsChange,
    EntryKind::Custom,
    EntryKind::Usage,
    EntryKind::ContextEdit,
];

/// A node as SPEC 3.4 says.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeJson {
    id: EntryId,
    parent_id: Option<EntryId>,
    depth: u32,
    r#type: String,
    role: Option<&'static str>,
    text: String,
    label: Option<String>,
    label_timestamp: Option<String>,
    active: bool,
    leaf: bool,
}

impl From<TreeNode> for NodeJson {
    fn from(node: TreeNode) -> Self {
        Self {
            id: node.id,
            parent_id: node.parent_id,
            depth: node.depth,
            r#type: node.type_name,
            role: node.role.map(Role::as_str),
            text: node.text,
            label: node.label,
            label_timestamp: node.label_timestamp,
            active: node.active,
            leaf: node.leaf,
        }
    }
}

pub(super) fn run(app: &mut App, args: &Tree) -> Result<(), Failure> {
    let session = app.open(&args.session)?;
    let options = options(args, app.output.is_json());
    if app.output.is_json() {
        let nodes = session.tree(&options)?.map(|node| node.map(NodeJson::from).map_err(Failure::from));
        return app.output.json_array(nodes);
    }
    let look = Look { time: args.time, limit: args.limit.unwrap_or(usize::MAX), ..Look::on_stdout(args.color) };
    draw(&mut app.output, &session, &options, &look)
}

fn options(args: &Tree, json: bool) -> TreeOptions {
    let active = match args.active {
        TreeActive::Context => ActivePath::Context,
        TreeActive::Full => ActivePath::Full,
    };
    let options = TreeOptions::new().active(active);
    match args.filter {
        Some(TreeShown::User) => options.filter(TreeFilter::Users),
        Some(TreeShown::Labels) => options.filter(TreeFilter::Labelled),
        Some(TreeShown::All) => options,
        None if args.all || json => options,
        None => options.hide(CONTROL),
    }
}

/// How a tree is drawn.
pub(super) struct Look<'a> {
    /// What stands before every line.
    pub(super) indent: &'a str,
    /// How entries are called.
    pub(super) name: &'a dyn Fn(&EntryId) -> String,
    pub(super) time: bool,
    /// How many lines there may be.
    pub(super) limit: usize,
    pub(super) paint: Paint,
    /// How wide a line may be.
    pub(super) columns: usize,
}

impl<'a> Look<'a> {
    /// Everything in full, without times and colours.
    pub(super) fn plain(indent: &'a str, name: &'a dyn Fn(&EntryId) -> String) -> Self {
        Self { indent, name, time: false, limit: usize::MAX, paint: Paint::none(), columns: COLUMNS }
    }

    /// As the terminal allows, if the output goes to one.
    pub(super) fn on_stdout(colours: Colours) -> Self {
        let columns = terminal_columns().unwrap_or(COLUMNS);
        Self { paint: Paint::on_stdout(colours), columns, ..Self::plain("", &EntryId::to_string) }
    }
}

/// Draws the tree.
pub(super) fn draw(
    output: &mut Output,
    session: &Session,
    options: &TreeOptions,
    look: &Look<'_>,
) -> Result<(), Failure> {
    let nodes = session.tree(options)?;
    let indent = look.indent;
    if nodes.remaining() == 0 {
        return output.line(format_args!("{indent}(empty tree)"));
    }
    if session.leaf().is_none() {
        output.line(format_args!("{indent}← leaf, before the first entry"))?;
    }
    let shown = window(nodes.remaining(), nodes.leaf_position(), look.limit);
    let (above, below) = (shown.start, nodes.remaining() - shown.end);
    let mut branches = Branches::new(nodes.roots());
    if above > 0 {
        output.line(format_args!("{indent}  … {above} more above"))?;
    }
    for (number, node) in nodes.enumerate().take(shown.end) {
        let node = node?;
        let branch = branches.next(node.children);
        if number >= shown.start {
            output.painted(&line(&node, &branch, look))?;
        }
    }
    if below > 0 {
        output.line(format_args!("{indent}  … {below} more below"))?;
    }
    Ok(())
}

/// Which of `count` lines are shown: at most `limit`, with the leaf among them, near the end.
fn window(count: usize, leaf: Option<usize>, limit: usize) -> Range<usize> {
    let limit = limit.min(count);
    let behind_leaf = leaf.map_or(count, |leaf| leaf + 1 + limit / 4);
    let end = behind_leaf.clamp(limit, count);
    end - limit..end
}

fn line(node: &TreeNode, branch: &str, look: &Look<'_>) -> String {
    let paint = &look.paint;
    let mark = if node.active { '●' } else { ' ' };
    let time = if look.time { format!("{} ", short_time(&node.timestamp)) } else { String::new() };
    let name = (look.name)(&node.id);
    let who = node.role.map_or(&*node.type_name, |role| role.as_str());
    let label = node.label.as_ref().map_or_else(String::new, |label| format!(" [{}]", plain(label)));
    let leaf = if node.leaf { " ← leaf" } else { "" };
    let taken = [look.indent, "● ", &time, branch, &name, " ", who, ": ", &label, leaf];
    let taken: usize = taken.into_iter().map(width).sum();
    // However deep it is, a few words stay.
    let room = look.columns.saturating_sub(taken).max(TEXT_COLUMNS_MIN);
    let text = if node.text.is_empty() { String::new() } else { format!(": {}", fitted(&plain(&node.text), room)) };
    let text = if node.active { text } else { paint.dim(&text) };
    let who = paint.role(node.role, &plain(who));
    let (name, label, leaf) = (paint.dim(&plain(&name)), paint.label(&label), paint.leaf(leaf));
    format!("{}{mark} {}{}{name} {who}{text}{label}{leaf}", look.indent, paint.dim(&time), paint.dim(branch))
}

/// To the second, without the `T`; whatever else a record spells is shown as it is.
fn short_time(timestamp: &str) -> String {
    match timestamp.get(..19) {
        Some(time) if timestamp.ends_with('Z') => plain(time).replacen('T', " ", 1),
        _ => plain(timestamp).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_holds_the_leaf_and_as_many_lines_as_it_may() {
        assert_eq!(window(10, Some(3), usize::MAX), 0..10);
        assert_eq!(window(100, Some(99), 10), 90..100);
        assert_eq!(window(100, Some(50), 8), 45..53);
        assert_eq!(window(100, Some(0), 10), 0..10);
        assert_eq!(window(100, None, 10), 90..100);
        assert_eq!(window(5, Some(2), 0), 3..3);
    }

    #[test]
    fn times_are_shown_to_the_second_and_odd_ones_as_they_are() {
        assert_eq!(short_time("2026-01-02T03:04:05.006Z"), "2026-01-02 03:04:05");
        assert_eq!(short_time("yesterday\n"), "yesterday ");
    }
}
