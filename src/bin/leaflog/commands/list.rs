//! Listing sessions.

use std::collections::HashMap;

use leaflog::{Deleted, ListOptions, SessionInfo, Store};
use serde::Serialize;

use crate::app::App;
use crate::args::List;
use crate::failure::Failure;
use crate::output::{Progress, bytes, fitted, plain};

/// How many columns of a name or first message a line shows.
const TITLE_COLUMNS_MAX: usize = 60;

/// How far a fork of a fork of a fork is indented.
const DEPTH_SHOWN_MAX: usize = 16;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionJson<'a> {
    id: &'a str,
    path: String,
    cwd: &'a str,
    name: Option<&'a str>,
    first_message: Option<&'a str>,
    messages: Option<u64>,
    modified: String,
    created: Option<String>,
    bytes: u64,
    parent: Option<&'a str>,
    damaged: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<usize>,
}

#[derive(Serialize)]
struct DeletedJson {
    id: String,
    path: String,
    original: String,
}

pub(super) fn run(app: &mut App, args: &List) -> Result<(), Failure> {
    let store = app.store()?;
    if args.deleted {
        return deleted(app, store.deleted()?);
    }
    let mut options = ListOptions::new().exact(args.exact);
    if let Some(cwd) = &args.cwd {
        options = options.cwd(cwd);
    }
    let sessions = with_progress(&store, &options)?;
    let rows = if args.tree { families(&sessions) } else { sessions.iter().map(|session| (session, 0)).collect() };
    if app.output.is_json() {
        let depth = |depth| args.tree.then_some(depth);
        return app.output.json_array(rows.iter().map(|row| Ok(SessionJson::of(row.0, depth(row.1)))));
    }
    print_rows(app, rows)
}

/// Prints the sessions for people, one a line.
pub(super) fn print(app: &mut App, sessions: &[SessionInfo]) -> Result<(), Failure> {
    print_rows(app, sessions.iter().map(|session| (session, 0)).collect())
}

fn print_rows(app: &mut App, rows: Vec<(&SessionInfo, usize)>) -> Result<(), Failure> {
    if rows.is_empty() {
        return app.output.line("(no sessions)");
    }
    for (session, depth) in rows {
        let indent =
            if depth == 0 { String::new() } else { format!("{}└─ ", "   ".repeat(depth.min(DEPTH_SHOWN_MAX) - 1)) };
        app.output.line(format_args!("{indent}{}", line(session)))?;
    }
    Ok(())
}

fn deleted(app: &mut App, sessions: Vec<Deleted>) -> Result<(), Failure> {
    if app.output.is_json() {
        return app.output.json_array(sessions.into_iter().map(|session| Ok(DeletedJson::from(session))));
    }
    if sessions.is_empty() {
        return app.output.line("(no deleted sessions)");
    }
    for session in sessions {
        app.output.line(format_args!("{}  {}", session.id, session.path.display()))?;
    }
    Ok(())
}

/// Shows how far the reading is, if it takes a while and stderr is a terminal.
fn with_progress(store: &Store, options: &ListOptions) -> Result<Vec<SessionInfo>, Failure> {
    let progress = Progress::of_sessions();
    Ok(store.list_with_progress(options, &mut |done, all| progress.update(done, all))?)
}

/// Every session with its depth, forks below the sessions that they come from. Each is there once, whatever the
/// headers claim.
fn families(sessions: &[SessionInfo]) -> Vec<(&SessionInfo, usize)> {
    let mut known = HashMap::new();
    for (index, session) in sessions.iter().enumerate() {
        known.insert(session.id.to_string(), index);
        known.insert(session.path.to_string_lossy().into_owned(), index);
    }
    let parent = |index: &usize| {
        let parent = sessions[*index].parent.as_ref().and_then(|parent| known.get(parent));
        parent.copied().filter(|parent| parent != index)
    };
    let mut forks: HashMap<usize, Vec<usize>> = HashMap::new();
    for index in 0..sessions.len() {
        if let Some(parent) = parent(&index) {
            forks.entry(parent).or_default().push(index);
        }
    }
    let mut rows = Vec::with_capacity(sessions.len());
    let mut seen = vec![false; sessions.len()];
    // Sessions that claim to be each other's forks have no root among them; the first one then counts as that.
    let roots = (0..sessions.len()).filter(|index| parent(index).is_none()).chain(0..sessions.len());
    for root in roots {
        let mut open = vec![(root, 0)];
        while let Some((index, depth)) = open.pop() {
            if std::mem::replace(&mut seen[index], true) {
                continue;
            }
            rows.push((&sessions[index], depth));
            let below = forks.get(&index).into_iter().flatten().rev();
            open.extend(below.map(|fork| (*fork, depth + 1)));
        }
    }
    rows
}

impl<'a> SessionJson<'a> {
    fn of(session: &'a SessionInfo, depth: Option<usize>) -> Self {
        Self {
            id: session.id.as_str(),
            path: session.path.to_string_lossy().into_owned(),
            cwd: &session.cwd,
            name: session.name.as_deref(),
            first_message: session.first_message.as_deref(),
            messages: session.messages,
            modified: session.modified.to_string(),
            created: session.created.map(|created| created.to_string()),
            bytes: session.bytes,
            parent: session.parent.as_deref(),
            damaged: session.damaged,
            format: session.format.as_deref(),
            depth,
        }
    }
}

impl From<Deleted> for DeletedJson {
    fn from(session: Deleted) -> Self {
        Self {
            id: session.id,
            path: session.path.to_string_lossy().into_owned(),
            original: session.original.to_string_lossy().into_owned(),
        }
    }
}

fn line(session: &SessionInfo) -> String {
    let title = session.name.as_deref().or(session.first_message.as_deref()).unwrap_or("(no message)");
    let messages = session.messages.map_or_else(|| "?".to_owned(), |count| count.to_string());
    let remark = match (&session.format, session.damaged) {
        (Some(format), _) => format!("  (cannot be read: {format})"),
        (None, true) => "  (damaged)".to_owned(),
        (None, false) => String::new(),
    };
    format!(
        "{}  {}  {messages:>5} messages  {:>10}  {}{remark}",
        session.id,
        session.modified,
        bytes(session.bytes),
        fitted(&plain(title), TITLE_COLUMNS_MAX),
    )
}
