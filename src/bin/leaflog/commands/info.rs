//! What a session is and where it stands.

use std::collections::BTreeMap;

use leaflog::{EntryId, Session};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::app::App;
use crate::args::Listing;
use crate::failure::Failure;

/// How many damaged records a person is shown.
const DAMAGE_SHOWN_MAX: usize = 5;

#[derive(Serialize)]
struct Info {
    id: String,
    path: String,
    version: u64,
    leaf: Option<EntryId>,
    lanes: BTreeMap<String, Option<EntryId>>,
    name: Option<String>,
    cwd: String,
    created: String,
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doubt: Option<String>,
    #[serde(skip_serializing_if = "is_zero")]
    damage: u64,
    #[serde(skip_serializing_if = "is_zero")]
    gaps: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Info {
    fn of(session: &Session) -> Self {
        let header = session.header();
        Self {
            id: header.id.to_string(),
            path: session.path().to_string_lossy().into_owned(),
            version: header.version,
            leaf: session.stored_leaf(),
            lanes: session.lanes().into_iter().collect(),
            name: session.name(),
            cwd: session.cwd().to_string_lossy().into_owned(),
            created: header.timestamp,
            parent: header.parent_session,
            metadata: header.metadata.and_then(|raw| RawValue::from_string(raw).ok()),
            doubt: session.doubt().map(|doubt| doubt.to_string()),
            damage: session.damage().1,
            gaps: session.gaps().len() as u64,
        }
    }

    fn lines(self) -> Vec<(String, String)> {
        let leaf =
            |leaf: Option<EntryId>| leaf.map_or_else(|| "before the first entry".to_owned(), |id| id.to_string());
        let mut lines = vec![
            ("id", Some(self.id)),
            ("path", Some(self.path)),
            ("version", Some(self.version.to_string())),
            ("leaf", Some(leaf(self.leaf))),
            ("name", self.name),
            ("cwd", Some(self.cwd)),
            ("created", Some(self.created)),
            ("parent", self.parent),
            ("metadata", self.metadata.map(|raw| raw.get().to_owned())),
            ("doubt", self.doubt.map(|doubt| format!("the leaf is in doubt: {doubt}"))),
            ("damage", Some(self.damage).filter(|count| *count > 0).map(|count| format!("{count} records"))),
            ("gaps", Some(self.gaps).filter(|count| *count > 0).map(|count| format!("{count} missing parents"))),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect::<Vec<_>>();
        lines.extend(self.lanes.into_iter().map(|(lane, at)| (format!("lane {lane}"), leaf(at))));
        lines
    }
}

pub(super) fn run(app: &mut App, args: &Listing) -> Result<(), Failure> {
    let session = app.open(&args.session)?;
    let info = Info::of(&session);
    if app.output.is_json() {
        return app.output.json(&info);
    }
    for (name, value) in info.lines() {
        app.output.line(format_args!("{name:9} {value}"))?;
    }
    for damage in session.damage().0.iter().take(DAMAGE_SHOWN_MAX) {
        let (kind, line, offset) = (damage.kind, damage.line, damage.offset);
        app.output.line(format_args!("  line {line}, offset {offset}: {kind}: {}", damage.detail))?;
    }
    Ok(())
}
