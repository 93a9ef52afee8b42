//! The tests of the engine that are not about files, on sessions in a SQLite database: the name of this program says so to
//! `common`.

#![allow(clippy::duplicate_mod, reason = "each of these brings its own `common`, as a program of its own does")]

#[path = "appending.rs"]
mod appending;
#[path = "context.rs"]
mod context;
#[path = "forks.rs"]
mod forks;
#[path = "life_cycle.rs"]
mod life_cycle;
#[path = "navigate.rs"]
mod navigate;
#[path = "relocated.rs"]
mod relocated;
#[path = "seeds.rs"]
mod seeds;
#[path = "tree.rs"]
mod tree;

#[test]
fn the_sessions_are_kept_there() {
    let (_folder, _, session) = tree::common::session();
    assert!(session.path().to_string_lossy().starts_with("sqlite:"), "{}", session.path().display());
}
