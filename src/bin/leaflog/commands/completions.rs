//! Completions for shells.

use clap::CommandFactory as _;

use crate::app::App;
use crate::args::{Cli, Completions};
use crate::failure::Failure;

pub(super) fn run(app: &mut App, args: &Completions) -> Result<(), Failure> {
    // Into memory first, since the generator panics on a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "leaflog", &mut script);
    app.output.bytes(&script)
}
