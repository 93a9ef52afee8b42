//! The tree: for people a drawing, for programs the array of SPEC 3.4.

use leaflog::{ActivePath, EntryId, Role, Session, TreeNode, TreeOptions};
use serde::Serialize;

use crate::app::App;
use crate::args::{Tree, TreeActive};
use crate::failure::Failure;
use crate::output::{Branches, Output, shortened};

/// How many characters of an entry's text a line shows.
const TEXT_CHARACTERS_MAX: usize = 72;

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
    let active = match args.active {
        TreeActive::Context => ActivePath::Context,
        TreeActive::Full => ActivePath::Full,
    };
    let options = TreeOptions::new().active(active);
    if app.output.is_json() {
        let nodes = session.tree(&options)?.map(|node| node.map(NodeJson::from).map_err(Failure::from));
        return app.output.json_array(nodes);
    }
    draw(&mut app.output, &session, &options, "", &EntryId::to_string)
}

/// Draws the tree, every line behind `indent`; `name` says how entries are called.
pub(super) fn draw(
    output: &mut Output,
    session: &Session,
    options: &TreeOptions,
    indent: &str,
    name: &dyn Fn(&EntryId) -> String,
) -> Result<(), Failure> {
    let mut nodes = session.tree(options)?.peekable();
    if nodes.peek().is_none() {
        return output.line(format_args!("{indent}(empty tree)"));
    }
    if session.leaf().is_none() {
        output.line(format_args!("{indent}← leaf, before the first entry"))?;
    }
    let mut branches = Branches::new(session.children(None)?.len());
    for node in nodes {
        let node = node?;
        let mark = if node.active { '●' } else { ' ' };
        let branch = branches.next(node.children);
        output.line(format_args!("{indent}{mark} {branch}{}", line(&node, &name(&node.id))))?;
    }
    Ok(())
}

fn line(node: &TreeNode, name: &str) -> String {
    let who = node.role.map_or(&*node.type_name, |role| role.as_str());
    let mut line = format!("{name} {who}");
    if !node.text.is_empty() {
        line.extend([": ", &shortened(&node.text, TEXT_CHARACTERS_MAX)]);
    }
    if let Some(label) = &node.label {
        line.extend([" [", label, "]"]);
    }
    if node.leaf {
        line.push_str(" ← leaf");
    }
    line
}
