//! The ends of all branches.

use leaflog::{EntryId, Tip};
use serde::Serialize;

use crate::app::App;
use crate::args::Listing;
use crate::failure::Failure;

#[derive(Serialize)]
struct TipJson {
    id: EntryId,
    depth: u32,
    timestamp: String,
}

impl From<Tip> for TipJson {
    fn from(tip: Tip) -> Self {
        Self { id: tip.id, depth: tip.depth, timestamp: tip.timestamp }
    }
}

pub(super) fn run(app: &mut App, args: &Listing) -> Result<(), Failure> {
    let session = app.open(&args.session)?;
    let tips = session.tips()?;
    if app.output.is_json() {
        return app.output.json_array(tips.into_iter().map(|tip| Ok(TipJson::from(tip))));
    }
    for tip in tips {
        app.output.line(format_args!("{}  depth {}  {}", tip.id, tip.depth, tip.timestamp))?;
    }
    Ok(())
}
