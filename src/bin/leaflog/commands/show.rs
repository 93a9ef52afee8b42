//! One entry.

use leaflog::{Entry, Role, Session};

use crate::app::App;
use crate::args::Show;
use crate::failure::Failure;
use crate::output::plain_lines;

pub(super) fn run(app: &mut App, args: &Show) -> Result<(), Failure> {
    let session = app.open(&args.session)?;
    let entry = session.entry(&args.entry)?;
    if app.output.is_json() {
        return app.output.record(entry.as_bytes());
    }
    for (name, value) in facts(&session, &entry)? {
        app.output.line(format_args!("{name:9} {value}"))?;
    }
    let text = entry.text();
    if text.is_empty() {
        return Ok(());
    }
    app.output.text(&format!("\n{}\n", plain_lines(&text)))
}

fn facts(session: &Session, entry: &Entry) -> Result<Vec<(&'static str, String)>, Failure> {
    let parent = entry.parent_id().map_or_else(|| "none (a root)".to_owned(), ToString::to_string);
    let children: Vec<_> = session.children(Some(entry.id()))?.iter().map(ToString::to_string).collect();
    let mut facts = vec![
        ("id", entry.id().to_string()),
        ("parent", parent),
        ("children", if children.is_empty() { "none".to_owned() } else { children.join(" ") }),
        ("time", entry.timestamp().to_owned()),
        ("type", entry.type_name()),
    ];
    if let Some(role) = entry.role() {
        facts.push(("role", Role::as_str(role).to_owned()));
    }
    if let Some(label) = session.label(entry.id()) {
        facts.push(("label", format!("{} (since {})", label.text, label.timestamp)));
    }
    facts.push(("offset", entry.position().to_string()));
    facts.push(("bytes", entry.as_bytes().len().to_string()));
    if entry.is_suspect() {
        facts.push(("suspect", "not what its checksum says".to_owned()));
    }
    Ok(facts)
}
