//! The header: the first record of a session (SPEC 1.1).

use super::id::SessionId;
use super::json::{self, quote};
use super::time::Timestamp;

/// The version of the format that this build reads and writes; today's pi writes the same.
pub(crate) const FORMAT_VERSION: u64 = 3;

/// What a session says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The session's id.
    pub id: SessionId,
    /// The format's version; 1 where an old file names none.
    pub version: u64,
    /// When the session was made, as the header spells it.
    pub timestamp: String,
    /// The folder of the project; empty in old files.
    pub cwd: String,
    /// The session that this one was forked from: an absolute path, or an id on backends without paths.
    pub parent_session: Option<String>,
    /// Metadata of the host, raw JSON.
    pub metadata: Option<String>,
    /// For forks: what was copied.
    pub origin: Option<Origin>,
}

/// Where a fork was taken (SPEC 1.1, 5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The id of the source.
    pub session: String,
    /// The entry that the fork was asked for; `None` for a whole copy.
    pub entry: Option<String>,
    /// Whether that entry is part of the copy.
    pub position: Position,
    /// How far back a path fork reaches.
    pub scope: Scope,
    /// How many records after the header were copied byte for byte.
    pub records: u64,
}

/// What a fork copies, as the header records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// The path up to and with the entry.
    At,
    /// The path up to the entry's parent.
    Before,
    /// Every record.
    Whole,
}

/// How far back a path fork reaches (SPEC 5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// From the root.
    #[default]
    Path,
    /// From where the context path starts; what a compaction summarised stays behind.
    Context,
}

impl Position {
    fn as_str(self) -> &'static str {
        match self {
            Self::At => "at",
            Self::Before => "before",
            Self::Whole => "whole",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::At, Self::Before, Self::Whole].into_iter().find(|position| position.as_str() == name)
    }
}

impl Scope {
    fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Context => "context",
        }
    }
}

/// Why a record is not a header that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HeaderFault {
    /// It is something else.
    NotAHeader,
    /// It is the header of a format that is known by name only, such as pi 0.84's.
    OtherFormat(String),
}

impl Header {
    /// Reads a header from a record.
    pub(crate) fn parse(record: &str) -> Result<Self, HeaderFault> {
        let members = json::members(record).map_err(|_| HeaderFault::NotAHeader)?;
        let raw = |key: &str| json::value(&members, key);
        let text = |key: &str| json::text(&members, key);
        if text("kind").as_deref() == Some("header") && raw("type").is_none() {
            let version = raw("version").unwrap_or("unknown");
            return Err(HeaderFault::OtherFormat(format!("kind header, version {version}")));
        }
        let (Some("session"), Some(id)) = (text("type").as_deref(), text("id")) else {
            return Err(HeaderFault::NotAHeader);
        };
        Ok(Self {
            id: SessionId::from_stored(id),
            version: raw("version").map_or(Some(1), |raw| raw.parse().ok()).unwrap_or(1),
            timestamp: text("timestamp").unwrap_or_default(),
            cwd: text("cwd").unwrap_or_default(),
            parent_session: text("parentSession"),
            metadata: raw("metadata").filter(|raw| *raw != "null").map(str::to_owned),
            origin: raw("origin").and_then(Origin::parse),
        })
    }

    /// When the session was made, if the header says it well.
    pub fn created(&self) -> Option<Timestamp> {
        Timestamp::parse(&self.timestamp)
    }

    /// The header as a record, without its seal and without the closing brace's line feed.
    pub(crate) fn to_record(&self) -> String {
        let mut record = format!(
            r#"{{"type":"session","version":{},"id":{},"timestamp":{},"cwd":{}"#,
            self.version,
            quote(self.id.as_str()),
            quote(&self.timestamp),
            quote(&self.cwd),
        );
        let members = [
            ("parentSession", self.parent_session.as_deref().map(quote)),
            ("metadata", self.metadata.clone()),
            ("origin", self.origin.as_ref().map(Origin::to_json)),
            ("writer", Some(quote(concat!("leaflog ", env!("CARGO_PKG_VERSION"))))),
        ];
        for (key, value) in members {
            if let Some(value) = value {
                record.push_str(&format!(r#","{key}":{value}"#));
            }
        }
        record.push('}');
        record
    }
}

impl Origin {
    fn parse(raw: &str) -> Option<Self> {
        let text = |key| json::member(raw, key).and_then(json::string);
        Some(Self {
            session: text("session")?,
            entry: text("entry"),
            position: Position::from_name(&text("position")?)?,
            scope: if text("scope").as_deref() == Some("context") { Scope::Context } else { Scope::Path },
            records: json::member(raw, "records")?.parse().ok()?,
        })
    }

    fn to_json(&self) -> String {
        format!(
            r#"{{"session":{},"entry":{},"position":"{}","scope":"{}","records":{}}}"#,
            quote(&self.session),
            self.entry.as_deref().map_or_else(|| "null".to_owned(), quote),
            self.position.as_str(),
            self.scope.as_str(),
            self.records,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            id: SessionId::parse("s-1").unwrap(),
            version: FORMAT_VERSION,
            timestamp: "2026-01-02T03:04:05.006Z".to_owned(),
            cwd: "/a \"b\"".to_owned(),
            parent_session: Some("/x.jsonl".to_owned()),
            metadata: Some(r#"{"k":1e3}"#.to_owned()),
            origin: Some(Origin {
                session: "s-0".to_owned(),
                entry: Some("deadbeef".to_owned()),
                position: Position::Before,
                scope: Scope::Context,
                records: 7,
            }),
        }
    }

    #[test]
    fn a_header_reads_back_as_it_was_written() {
        assert_eq!(Header::parse(&header().to_record()), Ok(header()));
    }

    #[test]
    fn other_records_are_told_apart() {
        assert_eq!(Header::parse(r#"{"type":"message","id":"a"}"#), Err(HeaderFault::NotAHeader));
        assert_eq!(Header::parse("{broken"), Err(HeaderFault::NotAHeader));
        let fault = Header::parse(r#"{"kind":"header","version":4,"id":"x"}"#);
        assert_eq!(fault, Err(HeaderFault::OtherFormat("kind header, version 4".to_owned())));
        assert_eq!(Header::parse(r#"{"type":"session","id":"x"}"#).unwrap().version, 1);
    }
}
