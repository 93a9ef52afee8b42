//! Appending an entry, a batch or a stream.

use std::collections::HashMap;
use std::io;

use leaflog::{AppendOptions, EntryId, NewEntry, Session};
use serde_json::value::RawValue;

use crate::app::App;
use crate::args::{Append, Place, Speaker};
use crate::failure::Failure;
use crate::input::{self, Lines};

pub(super) fn run(app: &mut App, args: Append) -> Result<(), Failure> {
    if (args.call_id.is_some() || args.tool.is_some()) && !matches!(args.role, Speaker::Tool) {
        return Err(Failure::Usage("--call-id and --tool are for --role tool".to_owned()));
    }
    let session = app.open(&args.session)?;
    let attachment = Attachment::of(&args);
    if args.stream {
        return stream(app, &session, attachment);
    }
    let entries = if args.batch { batch()? } else { vec![one(args)?] };
    for receipt in session.append_batch(entries, &attachment.options())? {
        note_interleaved(app, receipt.interleaved);
        app.output.receipt(&receipt)?;
    }
    Ok(())
}

fn one(args: Append) -> Result<NewEntry, Failure> {
    let entry = if let Some(text) = &args.text {
        let text = input::text_or_stdin(text)?;
        match args.role {
            Speaker::User => NewEntry::user(text),
            Speaker::Assistant => NewEntry::assistant(text),
            Speaker::Tool => NewEntry::tool_result(
                args.call_id.as_deref().unwrap_or_default(),
                args.tool.as_deref().unwrap_or_default(),
                text,
            ),
            Speaker::System => NewEntry::system(text),
        }
    } else if let Some(message) = &args.message {
        NewEntry::message(&input::text_or_stdin(&message.0)?)?
    } else {
        let entry = args.entry.as_ref().map(|entry| input::text_or_stdin(&entry.0)).transpose()?;
        NewEntry::from_json(&entry.unwrap_or_default())?
    };
    Ok(match args.id {
        Some(id) => entry.with_id(id),
        None => entry,
    })
}

fn batch() -> Result<Vec<NewEntry>, Failure> {
    input::refuse_large_file()?;
    let mut lines = Lines::new(io::stdin().lock());
    let mut entries = Vec::new();
    while let Some((line, text)) = lines.next_line()? {
        entries.push(parse(&text).map_err(|error| Failure::Line { line, error })?);
    }
    Ok(entries)
}

/// Appends line by line; what was acknowledged stays, whatever comes after it.
fn stream(app: &mut App, session: &Session, mut attachment: Attachment) -> Result<(), Failure> {
    let mut lines = Lines::new(io::stdin().lock());
    while let Some((line, text)) = lines.next_line()? {
        let receipt = parse(&text).and_then(|entry| session.append_with(entry, &attachment.options()));
        let receipt = receipt.map_err(|error| Failure::Line { line, error })?;
        note_interleaved(app, receipt.interleaved);
        app.output.receipt(&receipt)?;
        app.output.flush()?;
        attachment.follow(&receipt.id);
    }
    Ok(())
}

fn note_interleaved(app: &App, interleaved: bool) {
    if interleaved {
        app.output.note("another program wrote at the same moment, without the lock");
    }
}

/// A line with a top-level `type` is an entry, one with a `role` is a message.
fn parse(line: &str) -> leaflog::Result<NewEntry> {
    // The library parses with more care; here only the names of the members count.
    let members: HashMap<String, &RawValue> = serde_json::from_str(line).unwrap_or_default();
    if members.contains_key("role") && !members.contains_key("type") {
        NewEntry::message(line)
    } else {
        NewEntry::from_json(line)
    }
}

/// Where the next entry goes.
struct Attachment {
    expect: Option<Place>,
    parent: Option<Place>,
    side: bool,
    durability: leaflog::Durability,
}

impl Attachment {
    fn of(args: &Append) -> Self {
        Self {
            expect: args.expect.expect.clone(),
            parent: args.parent.clone(),
            side: args.side,
            durability: args.durability.into(),
        }
    }

    fn options(&self) -> AppendOptions {
        let options = match (&self.parent, self.side) {
            (None, _) => AppendOptions::new().to_leaf(),
            (Some(parent), false) => AppendOptions::new().under(parent.0.clone()),
            (Some(parent), true) => AppendOptions::new().side(parent.0.clone()),
        };
        let options = match &self.expect {
            Some(leaf) => options.expecting(leaf.0.clone()),
            None => options,
        };
        options.durability(self.durability)
    }

    /// A stream with a parent goes on under its last entry, one with an expectation expects its own last entry.
    fn follow(&mut self, last: &EntryId) {
        if let Some(parent) = &mut self.parent {
            *parent = Place(Some(last.clone()));
        }
        // A side entry moves no leaf.
        if let Some(expect) = self.expect.as_mut().filter(|_| !self.side) {
            *expect = Place(Some(last.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leaflog::EntryKind;

    #[test]
    fn a_line_is_an_entry_if_it_has_a_type_and_a_message_if_it_has_a_role() {
        let kind = |line: &str| parse(line).map(|entry| entry.kind());
        assert_eq!(kind(r#"{"role":"user","content":"x"}"#).unwrap(), EntryKind::Message);
        assert_eq!(kind(r#"{"type":"custom","customType":"x","role":"y"}"#).unwrap(), EntryKind::Custom);
        assert_eq!(kind(r#"{"role":"user","role":"user"}"#).unwrap(), EntryKind::Message);
        for bad in ["", "[]", "{}", "x", r#"{"a":{"type":"custom"}}"#, r#"{"role":3}"#] {
            assert!(kind(bad).is_err(), "{bad}");
        }
    }
}
