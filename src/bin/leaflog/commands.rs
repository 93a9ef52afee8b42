//! One file a command: parse, call the library, print.

mod append;
mod compact;
mod completions;
mod context;
mod copy;
mod delete;
mod demo;
mod entries;
mod export;
mod fork;
mod import;
mod info;
mod label;
mod list;
mod migrate;
mod move_to;
mod name;
mod navigate;
mod new;
mod path;
mod relocate;
mod repl;
mod restore;
mod search;
mod show;
mod stats;
mod tips;
mod tree;
mod watch;

use crate::app::App;
use crate::args::Command;
use crate::failure::Failure;

pub(crate) fn run(app: &mut App, command: Command) -> Result<(), Failure> {
    match command {
        Command::Demo(args) => demo::run(app, args),
        Command::Repl(args) => repl::run(app, args),
        Command::New(args) => new::run(app, args),
        Command::Append(args) => append::run(app, args),
        Command::Move(args) => move_to::run(app, args),
        Command::Navigate(args) => navigate::run(app, &args),
        Command::Compact(args) => compact::run(app, args),
        Command::Label(args) => label::run(app, &args),
        Command::Name(args) => name::run(app, &args),
        Command::Fork(args) => fork::run(app, args),
        Command::Clone(args) => fork::run_clone(app, args),
        Command::Tree(args) => tree::run(app, &args),
        Command::Path(args) => path::run(app, &args),
        Command::Context(args) => context::run(app, args),
        Command::Entries(args) => entries::run(app, &args),
        Command::Show(args) => show::run(app, &args),
        Command::Tips(args) => tips::run(app, &args),
        Command::Stats(args) => stats::run(app, &args),
        Command::Info(args) => info::run(app, &args),
        Command::List(args) => list::run(app, &args),
        Command::Watch(args) => watch::run(app, &args),
        Command::Search(args) => search::run(app, &args),
        Command::Delete(args) => delete::run(app, &args),
        Command::Restore(args) => restore::run(app, &args),
        Command::Export(args) => export::run(app, &args),
        Command::Copy(args) => copy::run(app, &args),
        Command::Import(args) => import::run(app, &args),
        Command::Relocate(args) => relocate::run(app, &args),
        Command::Migrate(args) => migrate::run(app, args),
        Command::Completions(args) => completions::run(app, &args),
    }
}
