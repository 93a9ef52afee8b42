//! Forks, and clones, which are forks at the leaf.

use leaflog::{Fork, ForkOptions, Forked, Session};
use serde::Serialize;

use crate::app::App;
use crate::args::{self, CloneArgs, CopyArgs};
use crate::failure::Failure;
use crate::output::GapJson;

pub(super) fn run(app: &mut App, args: args::Fork) -> Result<(), Failure> {
    let source = app.open(&args.session)?;
    let fork = match (args.entry, args.at) {
        (None, _) => Fork::Whole,
        (Some(entry), true) => Fork::At(entry),
        (Some(entry), false) => Fork::Before(entry),
    };
    let options = options(args.copy).scope(args.scope.map(Into::into).unwrap_or_default());
    copy(app, &source, &fork, options)
}

/// C12's clone: the path to the leaf.
pub(super) fn run_clone(app: &mut App, args: CloneArgs) -> Result<(), Failure> {
    let source = app.open(&args.session)?;
    let fork = source.leaf().map_or(Fork::Whole, Fork::At);
    copy(app, &source, &fork, options(args.copy))
}

fn options(args: CopyArgs) -> ForkOptions {
    let mut options = ForkOptions::new();
    if let Some(cwd) = args.cwd {
        options = options.cwd(cwd);
    }
    if let Some(id) = args.id {
        options = options.id(id);
    }
    if let Some(metadata) = args.metadata {
        options = options.metadata(metadata.0);
    }
    if let Some(parent) = args.parent {
        options = options.parent(parent);
    }
    options
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ForkedJson<'a> {
    id: String,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    editor_text: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gaps: Vec<GapJson<'a>>,
}

fn copy(app: &mut App, source: &Session, fork: &Fork, options: ForkOptions) -> Result<(), Failure> {
    let forked = app.store()?.fork(source, fork, options)?;
    print(app, &forked)
}

fn print(app: &mut App, forked: &Forked) -> Result<(), Failure> {
    let path = forked.session.path().to_string_lossy().into_owned();
    if !app.output.is_json() {
        app.output.note_gaps(&forked.gaps);
        return app.output.line(path);
    }
    app.output.json(&ForkedJson {
        id: forked.session.id().to_string(),
        path,
        editor_text: forked.editor_text.as_deref(),
        gaps: GapJson::all(&forked.gaps),
    })
}
