//! Counts over all branches.

use leaflog::Stats;
use serde::Serialize;

use crate::app::App;
use crate::args::Listing;
use crate::failure::Failure;

#[derive(Serialize)]
struct StatsJson {
    entries: u64,
    messages: u64,
    tips: u64,
    depth: u64,
    bytes: u64,
    unchecked: u64,
    tokens: u64,
    cost: f64,
}

impl From<Stats> for StatsJson {
    fn from(stats: Stats) -> Self {
        Self {
            entries: stats.entries,
            messages: stats.messages,
            tips: stats.tips,
            depth: stats.depth,
            bytes: stats.bytes,
            unchecked: stats.unchecked,
            tokens: stats.tokens,
            cost: stats.cost,
        }
    }
}

pub(super) fn run(app: &mut App, args: &Listing) -> Result<(), Failure> {
    let stats = app.open(&args.session)?.stats()?;
    if app.output.is_json() {
        return app.output.json(&StatsJson::from(stats));
    }
    let counts = [
        ("entries", stats.entries),
        ("messages", stats.messages),
        ("tips", stats.tips),
        ("depth", stats.depth),
        ("bytes", stats.bytes),
        ("unchecked", stats.unchecked),
        ("tokens", stats.tokens),
    ];
    for (name, count) in counts {
        app.output.line(format_args!("{name:9} {count}"))?;
    }
    app.output.line(format_args!("{:9} {}", "cost", stats.cost))
}
