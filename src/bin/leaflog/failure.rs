//! Why a command failed, as one line or as JSON, and the exit code.

use std::error::Error as _;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use leaflog::{EntryId, Error, ErrorKind};
use serde::Serialize;
use serde_json::Value;

use crate::output::plain;

const EXIT_ERROR: u8 = 1;
const EXIT_USAGE: u8 = 2;
const EXIT_CONFLICT: u8 = 3;
const EXIT_DAMAGE: u8 = 4;
const EXIT_CANCELLED: u8 = 5;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The library says no.
    Engine(Error),
    /// A line of the input is wrong, or could not be stored.
    Line {
        /// Counted from 1.
        line: u64,
        error: Error,
    },
    /// The leaf moved while a branch was summed up.
    Conflict {
        error: Error,
        /// The summary, which was not stored.
        summary: Option<String>,
    },
    /// What failed was told already; this is the exit code.
    Told(u8),
    /// The user stopped it.
    Cancelled(&'static str),
    /// The command was not understood.
    Usage(String),
    /// Standard output cannot be written.
    Output(io::Error),
    /// A step of the demo does not hold.
    Step(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    error: Body<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    kind: &'a str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    actual_leaf: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    /// The line of standard input, while `line` is one of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_line: Option<u64>,
    /// What was made and not stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
}

impl Failure {
    /// What clap says over several lines, on one.
    pub(crate) fn usage(error: &clap::Error) -> Self {
        let rendered = error.render().to_string();
        let lines = rendered.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
        let said: Vec<_> = lines.filter(|line| !line.is_empty() && !line.starts_with("For more")).collect();
        let said = said.join(" ").replace(" tip: ", "; ");
        Self::Usage(said.strip_prefix("error: ").unwrap_or(&said).to_owned())
    }

    /// The error for a failed system call of the command line's own: `doing` says on what.
    pub(crate) fn io(doing: &str, source: &io::Error) -> Self {
        let kind = match source.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::AlreadyExists => ErrorKind::AlreadyExists,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::Denied,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                ErrorKind::StorageFull
            }
            io::ErrorKind::InvalidData => ErrorKind::Invalid,
            _ => ErrorKind::Io,
        };
        Self::Engine(Error::new(kind, format!("{doing}: {source}")))
    }

    pub(crate) fn file(doing: &str, path: &Path, source: &io::Error) -> Self {
        Self::io(&format!("{doing} {}", path.display()), source)
    }

    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => EXIT_USAGE,
            Self::Conflict { .. } => EXIT_CONFLICT,
            Self::Cancelled(_) => EXIT_CANCELLED,
            Self::Told(code) => *code,
            Self::Engine(error) | Self::Line { error, .. } => match error.kind() {
                ErrorKind::Conflict => EXIT_CONFLICT,
                ErrorKind::Corrupt | ErrorKind::LeafInDoubt => EXIT_DAMAGE,
                _ => EXIT_ERROR,
            },
            Self::Output(_) | Self::Step(_) => EXIT_ERROR,
        }
    }

    /// Prints the failure on one line.
    pub(crate) fn report(&self, json: bool, sink: &mut dyn Write) -> io::Result<()> {
        if matches!(self, Self::Told(_)) {
            return Ok(());
        }
        if json {
            serde_json::to_writer(&mut *sink, &Report { error: self.body() })?;
            return sink.write_all(b"\n");
        }
        writeln!(sink, "error: {}", self.message())
    }

    fn body(&self) -> Body<'_> {
        let error = match self {
            Self::Engine(error) | Self::Line { error, .. } | Self::Conflict { error, .. } => Some(error),
            Self::Told(_) | Self::Cancelled(_) | Self::Usage(_) | Self::Output(_) | Self::Step(_) => None,
        };
        Body {
            kind: self.kind(),
            message: self.message(),
            // Null is an answer too: before the first entry.
            actual_leaf: error.and_then(Error::actual_leaf).map(|leaf| leaf.map(EntryId::to_string).into()),
            path: error.and_then(Error::path).map(|path| path.to_string_lossy().into_owned()),
            line: error.and_then(Error::line),
            offset: error.and_then(Error::offset),
            input_line: if let Self::Line { line, .. } = self { Some(*line) } else { None },
            summary: if let Self::Conflict { summary, .. } = self { summary.as_deref() } else { None },
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Engine(error) | Self::Line { error, .. } | Self::Conflict { error, .. } => error.kind().as_str(),
            Self::Cancelled(_) => "cancelled",
            Self::Told(_) => "told",
            Self::Usage(_) => "usage",
            Self::Output(_) => "output",
            Self::Step(_) => "step",
        }
    }

    fn message(&self) -> String {
        let message = match self {
            Self::Engine(error) => with_sources(error),
            Self::Conflict { error, summary } => {
                let lost = if summary.is_some() { "; the summary was not stored" } else { "" };
                format!("{}{lost}", with_sources(error))
            }
            Self::Cancelled(message) => (*message).to_owned(),
            Self::Told(_) => String::new(),
            Self::Line { line, error } => format!("line {line} of the input: {}", with_sources(error)),
            Self::Usage(message) => format!("{message} (--help says more)"),
            Self::Output(error) => format!("cannot write to standard output: {error}"),
            Self::Step(message) => message.clone(),
        };
        plain(&message).into_owned()
    }
}

fn with_sources(error: &Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        message.push_str(": ");
        message.push_str(&error.to_string());
        source = error.source();
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(failure: &Failure) -> (String, String) {
        let mut printed = (Vec::new(), Vec::new());
        failure.report(false, &mut printed.0).unwrap();
        failure.report(true, &mut printed.1).unwrap();
        (String::from_utf8(printed.0).unwrap(), String::from_utf8(printed.1).unwrap())
    }

    #[test]
    fn every_kind_of_failure_has_its_exit_code() {
        let engine = |kind| Failure::Engine(Error::new(kind, "x"));
        for (failure, code) in [
            (engine(ErrorKind::NotFound), 1),
            (engine(ErrorKind::Undecided), 1),
            (engine(ErrorKind::Conflict), 3),
            (engine(ErrorKind::LeafInDoubt), 4),
            (engine(ErrorKind::Corrupt), 4),
            (Failure::Line { line: 1, error: Error::new(ErrorKind::Conflict, "x") }, 3),
            (Failure::Line { line: 1, error: Error::new(ErrorKind::Invalid, "x") }, 1),
            (Failure::Conflict { error: Error::new(ErrorKind::Conflict, "x"), summary: None }, 3),
            (Failure::Cancelled("x"), 5),
            (Failure::Usage(String::new()), 2),
            (Failure::Output(io::ErrorKind::StorageFull.into()), 1),
            (Failure::Step(String::new()), 1),
        ] {
            assert_eq!(failure.code(), code, "{failure:?}");
        }
    }

    #[test]
    fn a_failure_is_one_line_whatever_its_text_holds() {
        let (text, json) = lines(&Failure::Step("a\nb\u{1b}[31mc".to_owned()));
        assert_eq!(text, "error: a b[31mc\n");
        assert_eq!(json, "{\"error\":{\"kind\":\"step\",\"message\":\"a b[31mc\"}}\n");
    }

    #[test]
    fn only_a_closed_pipe_is_no_error() {
        assert!(Failure::Output(io::ErrorKind::BrokenPipe.into()).is_closed_pipe());
        assert!(!Failure::Output(io::ErrorKind::StorageFull.into()).is_closed_pipe());
        assert!(!Failure::Engine(Error::new(ErrorKind::Io, "x")).is_closed_pipe());
    }
}
