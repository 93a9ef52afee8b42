//! From new entries to sealed records.

use crate::codec::checksum::Checksum;
use crate::codec::line;
use crate::model::{EntryId, NewEntry, Timestamp, quote_id};

/// An entry with everything that a record needs.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) entry: NewEntry,
    pub(crate) id: EntryId,
    pub(crate) parent: Option<EntryId>,
    pub(crate) side: bool,
}

impl Draft {
    /// The record without its seal. The envelope comes first, in this order, so that replay reads it fast.
    fn to_record(&self, now: &str) -> String {
        let type_name = serde_json::Value::from(self.entry.type_name.as_str());
        let timestamp = self.entry.timestamp.as_deref().unwrap_or(now);
        let mut record = format!(
            r#"{{"type":{type_name},"id":{},"parentId":{},"timestamp":{}"#,
            quote_id(Some(&self.id)),
            quote_id(self.parent.as_ref()),
            serde_json::Value::from(timestamp),
        );
        if self.side {
            record.push_str(r#","side":true"#);
        }
        if !self.entry.fields.is_empty() {
            record.push(',');
            record.push_str(&self.entry.fields);
        }
        record.push('}');
        record
    }
}

/// A sealed record.
pub(crate) struct Sealed {
    pub(crate) lines: Vec<Vec<u8>>,
    pub(crate) checksums: Vec<Checksum>,
}

/// Seals `drafts` as one batch behind a log whose end has the checksum `prev` (SPEC 1.2).
pub(crate) fn seal_drafts(drafts: &[Draft], prev: Checksum) -> Sealed {
    let now = Timestamp::now().to_string();
    seal_all(drafts.iter().map(|draft| draft.to_record(&now)), prev)
}

/// Seals records as one batch.
pub(crate) fn seal_all(records: impl IntoIterator<Item = String>, mut prev: Checksum) -> Sealed {
    let mut sealed = Sealed { lines: Vec::new(), checksums: Vec::new() };
    for record in records {
        let (line, crc) = line::seal(&record, prev);
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&line);
        hasher.update(b"\n");
        prev = Checksum(hasher.finalize());
        sealed.lines.push(line);
        sealed.checksums.push(crc);
    }
    sealed
}
