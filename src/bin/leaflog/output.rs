//! Rendering answers, as text for people and as JSON for programs.

mod branches;
mod paint;
mod progress;
mod text;

use std::fmt::Display;
use std::io::{self, BufWriter, StdoutLock, Write as _};

use leaflog::{EntryId, Gap, Receipt, Session};
use serde::Serialize;

use crate::failure::Failure;
pub(crate) use branches::Branches;
pub(crate) use paint::Paint;
pub(crate) use progress::Progress;
pub(crate) use text::{bytes, fitted, plain, plain_lines, shortened, terminal_columns, width};

/// Standard output. What cannot be written there is a failure; a closed pipe is told apart later.
pub(crate) struct Output {
    json: bool,
    sink: BufWriter<StdoutLock<'static>>,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, sink: BufWriter::with_capacity(64 << 10, io::stdout().lock()) }
    }

    /// Whether JSON was asked for.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// A line for people; what could control a terminal is taken out of it.
    pub(crate) fn line(&mut self, line: impl Display) -> Result<(), Failure> {
        writeln!(self.sink, "{}", plain(&line.to_string())).map_err(Failure::Output)
    }

    /// A line that its maker has made safe, and then painted.
    pub(crate) fn painted(&mut self, line: &str) -> Result<(), Failure> {
        writeln!(self.sink, "{line}").map_err(Failure::Output)
    }

    /// Text as it is.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.bytes(text.as_bytes())
    }

    /// Bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.sink.write_all(bytes).map_err(Failure::Output)
    }

    /// A stored record, byte for byte, on a line of its own.
    pub(crate) fn record(&mut self, record: &[u8]) -> Result<(), Failure> {
        self.bytes(record)?;
        self.bytes(b"\n")
    }

    /// A value as JSON on one line.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        self.json_value(value)?;
        self.bytes(b"\n")
    }

    /// An array of what comes, one element a line, so that memory does not follow its length.
    pub(crate) fn json_array<T: Serialize>(
        &mut self,
        elements: impl IntoIterator<Item = Result<T, Failure>>,
    ) -> Result<(), Failure> {
        let mut separator = "[";
        for element in elements {
            let element = element?;
            self.text(separator)?;
            self.json_value(&element)?;
            separator = ",\n";
        }
        self.text(if separator == "[" { "[]\n" } else { "]\n" })
    }

    fn json_value(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        serde_json::to_writer(&mut self.sink, value).map_err(|error| Failure::Output(error.into()))
    }

    /// What a write stored: the id, or the receipt.
    pub(crate) fn receipt(&mut self, receipt: &Receipt) -> Result<(), Failure> {
        if self.json { self.json(&ReceiptJson::of(receipt)) } else { self.line(&receipt.id) }
    }

    /// What a write stored that need not store anything.
    pub(crate) fn receipt_or_none(&mut self, receipt: Option<&Receipt>, session: &Session) -> Result<(), Failure> {
        match receipt {
            Some(receipt) => self.receipt(receipt),
            None if self.json => self.json(&ReceiptJson::none(session.bytes())),
            None => {
                self.note("the leaf is there already; nothing was written");
                Ok(())
            }
        }
    }

    /// Missing parents, which may hide history.
    pub(crate) fn note_gaps(&self, gaps: &[Gap]) {
        for gap in gaps {
            let goes_on = match &gap.bridged_to {
                Some(bridge) => format!("the path goes on at {bridge}"),
                None => "the path ends there".to_owned(),
            };
            self.note(&format!(
                "the parent {} of {} (line {}) is missing; {goes_on}",
                gap.missing, gap.entry, gap.line
            ));
        }
    }

    /// A remark for people, on stderr so that it is in no one's way; JSON says the same in its answer.
    pub(crate) fn note(&self, note: &str) {
        if !self.json {
            Self::warn(note);
        }
    }

    /// A remark on stderr that the answer has no place for, with JSON too.
    pub(crate) fn warn(note: &str) {
        // A remark that cannot be made changes no outcome.
        let _ = writeln!(io::stderr(), "note: {}", plain(note));
    }

    /// Hands everything over to the operating system.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.sink.flush().map_err(Failure::Output)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReceiptJson<'a> {
    id: Option<&'a EntryId>,
    end: u64,
    crc: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    interleaved: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    already_stored: bool,
}

impl<'a> ReceiptJson<'a> {
    fn of(receipt: &'a Receipt) -> Self {
        Self {
            id: Some(&receipt.id),
            end: receipt.end,
            crc: Some(receipt.crc.to_string()),
            interleaved: receipt.interleaved,
            already_stored: receipt.already_stored,
        }
    }

    fn none(end: u64) -> Self {
        Self { id: None, end, crc: None, interleaved: false, already_stored: false }
    }
}

/// A missing parent as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GapJson<'a> {
    entry: &'a EntryId,
    missing: &'a EntryId,
    line: u64,
    bridged_to: Option<&'a EntryId>,
    reason: &'static str,
}

impl<'a> GapJson<'a> {
    pub(crate) fn all(gaps: &'a [Gap]) -> Vec<Self> {
        gaps.iter()
            .map(|gap| Self {
                entry: &gap.entry,
                missing: &gap.missing,
                line: gap.line,
                bridged_to: gap.bridged_to.as_ref(),
                reason: gap.reason.as_str(),
            })
            .collect()
    }
}
