//! Reads a folder of pi's sessions and prints each with its context. Nothing is written to it.
//!
//! `cargo run --example read_pi -- ~/.pi/agent/sessions`; without an argument it makes a small folder in pi's layout.

use std::fs;
use std::path::{Path, PathBuf};

use leaflog::{ContextOptions, ListOptions, Result, Session, SettingsFrom, Store};

/// How many characters of a message are shown.
const SHOWN_CHARACTERS: usize = 100;

/// A session as pi writes it: no seals, another branch, a label, a compaction.
const SESSION: &str = r#"{"type":"session","version":3,"id":"0197f3a2-7c1e-7a10-9b55-2f6c1d9e0a41","timestamp":"2026-01-02T03:04:05.006Z","cwd":"/projects/login"}
{"type":"model_change","id":"3f2a90c1","parentId":null,"timestamp":"2026-01-02T03:04:05.100Z","provider":"example","modelId":"large"}
{"type":"message","id":"a1b2c3d4","parentId":"3f2a90c1","timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"Read the login code.","timestamp":1767323046000}}
{"type":"message","id":"b2c3d4e5","parentId":"a1b2c3d4","timestamp":"2026-01-02T03:04:09.000Z","message":{"role":"assistant","content":[{"type":"text","text":"It has two steps."}],"provider":"example","model":"large","timestamp":1767323049000}}
{"type":"message","id":"c3d4e5f6","parentId":"b2c3d4e5","timestamp":"2026-01-02T03:05:00.000Z","message":{"role":"user","content":"Refactor it with plan A.","timestamp":1767323100000}}
{"type":"message","id":"d4e5f6a7","parentId":"b2c3d4e5","timestamp":"2026-01-02T03:06:00.000Z","message":{"role":"user","content":"Refactor it with plan B.","timestamp":1767323160000}}
{"type":"label","id":"e5f6a7b8","parentId":"d4e5f6a7","timestamp":"2026-01-02T03:06:01.000Z","targetId":"d4e5f6a7","label":"plan B"}
{"type":"compaction","id":"f6a7b8c9","parentId":"e5f6a7b8","timestamp":"2026-01-02T03:07:00.000Z","summary":"The login has two steps.","firstKeptEntryId":"d4e5f6a7","tokensBefore":1200}
"#;

fn main() -> Result<()> {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let root = match std::env::args_os().nth(1) {
        Some(root) => PathBuf::from(root),
        None => sample(scratch.path()),
    };
    let sessions = Store::new(&root).list(&ListOptions::new())?;
    println!("sessions in {}: {}", root.display(), sessions.len());
    let own_sample = scratch.path() == root;
    for listed in &sessions {
        println!("\n{}  {}  {}", listed.modified, listed.id, listed.cwd);
        let before = own_sample.then(|| stamp(&listed.path));
        // A folder may hold sessions of other versions, and files that are none.
        if let Err(error) = Session::open(&listed.path).and_then(|session| show(&session)) {
            assert!(!own_sample, "{error}");
            println!("  {}: {error}", error.kind());
        }
        let after = own_sample.then(|| stamp(&listed.path));
        assert_eq!(after, before, "reading changes neither bytes nor time");
    }
    Ok(())
}

fn show(session: &Session) -> Result<()> {
    // As today's pi does: settings count from the whole path, also from before a compaction.
    let context = session.context(&ContextOptions::new().settings(SettingsFrom::WholePath))?;
    let (entries, tips) = (session.entries().count(), session.tips()?.len());
    println!("  {entries} entries, {tips} tips, {} messages in the context", context.messages.len());
    if let Some(model) = &context.settings.model {
        println!("  model {}/{}", model.provider, model.model_id);
    }
    for (id, label) in session.labels() {
        println!("  label {id} {}", label.text);
    }
    for message in &context.messages {
        let text: String = message.text().chars().take(SHOWN_CHARACTERS).collect();
        println!("  {:<17} {}", message.role(), text.replace(char::is_control, " "));
    }
    let (_, damaged) = session.damage();
    if damaged > 0 {
        println!("  {damaged} damaged records");
    }
    Ok(())
}

/// A folder with one session, laid out as pi lays it out.
fn sample(root: &Path) -> PathBuf {
    let folder = root.join("--projects-login--");
    fs::create_dir(&folder).expect("the temporary folder can be written");
    let name = "2026-01-02T03-04-05-006Z_0197f3a2-7c1e-7a10-9b55-2f6c1d9e0a41.jsonl";
    fs::write(folder.join(name), SESSION).expect("the temporary folder can be written");
    root.to_owned()
}

/// What reading must leave alone.
fn stamp(path: &Path) -> (Option<Vec<u8>>, Option<std::time::SystemTime>) {
    (fs::read(path).ok(), fs::metadata(path).and_then(|metadata| metadata.modified()).ok())
}
