//! The `leaflog` command line. It sees only the public API of the crate.

mod app;
mod args;
mod commands;
mod export;
mod failure;
mod input;
mod output;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{CommandFactory as _, Parser as _};

use app::App;
use args::{Cli, Command};
use failure::Failure;

fn main() -> ExitCode {
    survive_file_size_limits();
    let words: Vec<OsString> = std::env::args_os().collect();
    match Cli::try_parse_from(&words) {
        Ok(cli) => {
            let json = cli.global.json;
            finish(run(cli), json)
        }
        // Help and version are answers, not errors. A closed pipe does not matter here either.
        Err(answer) if !answer.use_stderr() => {
            let _ = answer.print();
            ExitCode::SUCCESS
        }
        // The options were not understood, so this is the best guess at what the caller reads.
        Err(error) => finish(Err(Failure::usage(&error)), words.iter().any(|word| word == "--json")),
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    let on_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let bare = || on_terminal.then(|| Command::Repl(args::Repl::bare()));
    let Some(command) = cli.command.or_else(bare) else {
        let mut output = output::Output::new(false);
        output.text(&Cli::command().render_help().to_string())?;
        return output.flush();
    };
    let mut app = App::new(cli.global);
    commands::run(&mut app, command)?;
    app.output.flush()
}

fn finish(result: Result<(), Failure>, json: bool) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Who reads no more, as `head` does after its ten lines, has no quarrel with us.
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            // If nobody listens on stderr either, the exit code has to do.
            let _ = failure.report(json, &mut std::io::stderr());
            failure.exit_code()
        }
    }
}

/// Makes a write over the file-size limit (`ulimit -f`) fail with an error; unhandled, its signal kills the process
/// between a write and its cleaning up.
fn survive_file_size_limits() {
    // Where this cannot be had the signal kills, which the log survives as well.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)));
}
