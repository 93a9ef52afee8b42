//! Taking over a log from elsewhere.

use std::io::Read as _;
use std::path::Path;

use leaflog::Session;

use super::new;
use crate::app::App;
use crate::args::Import;
use crate::failure::Failure;

pub(super) fn run(app: &mut App, args: &Import) -> Result<(), Failure> {
    let source = if args.file == Path::new("-") {
        let mut log = Vec::new();
        std::io::stdin()
            .lock()
            .read_to_end(&mut log)
            .map_err(|error| Failure::io("cannot read standard input", &error))?;
        Session::from_log(log, app.options())?
    } else {
        Session::open_with(&args.file, app.options())?
    };
    let session = app.store()?.copy(&source)?;
    new::print(app, &session)
}
