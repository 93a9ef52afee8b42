//! Forks: what a copy of a session, or of one path of it, holds (SPEC 5). The store publishes it.

use std::collections::{HashMap, HashSet};

use super::read::{Locator, gaps_on, read_entries};
use super::seal::{Draft, seal_all, seal_drafts};
use super::{Session, State, id_of};
use crate::codec::checksum::Checksum;
use crate::codec::line::Chain;
use crate::error::{Error, Result};
use crate::index::{Flags, Gap, Index, Label, NONE, Row};
use crate::model::{Entry, EntryId, EntryKind, Header, NewEntry, Origin, Position, Role, Scope, one_line_label};

/// What a fork copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fork {
    /// Every record: the copy has the same branches, leaf, labels and name.
    Whole,
    /// The path up to and with this entry.
    At(EntryId),
    /// The path up to the parent of this user message, whose text is returned for editing.
    Before(EntryId),
}

/// A fork that is decided but not written.
pub(crate) struct ForkPlan {
    pub(crate) origin: Origin,
    /// The text of the user message that the fork stops before.
    pub(crate) editor_text: Option<String>,
    /// Missing parents on the copied path.
    pub(crate) gaps: Vec<Gap>,
    copies: Copies,
    /// Labels and the name that hold for what is copied, but whose entries lie off the path.
    carried: Vec<NewEntry>,
    /// The project's folder that the copied entries name, if any does.
    recorded_cwd: Option<String>,
    /// Where the copy's leaf is.
    pub(crate) leaf: Option<EntryId>,
    /// Whether the last copied record places the leaf there.
    leaf_is_last: bool,
}

enum Copies {
    /// All lines between these positions.
    Lines {
        from: u64,
        to: u64,
    },
    Entries(Vec<Locator>),
}

impl Session {
    /// Decides what `fork` copies, from what this handle has replayed: a consistent prefix of the log (SPEC 5.4).
    pub(crate) fn plan_fork(&self, fork: &Fork, scope: Scope) -> Result<ForkPlan> {
        let state = self.state.lock();
        let (entry, position) = match fork {
            Fork::Whole => return Ok(plan_whole(&state)),
            Fork::At(id) => (id, Position::At),
            Fork::Before(id) => (id, Position::Before),
        };
        let target = state.target(Some(entry)).map_err(|error| invalid_target(entry, &error.to_string()))?;
        let (leaf, editor_text) = match position {
            Position::Before => self.before(&state, target)?,
            _ => (target, None),
        };
        self.plan_path(&state, leaf, scope, (entry, position), editor_text)
    }

    fn before(&self, state: &State, target: Row) -> Result<(Row, Option<String>)> {
        let index = state.replay.index();
        let id = index.table.id(target);
        if index.table.role(target) != Some(Role::User) {
            return Err(invalid_target(&id, "it is not a user message"));
        }
        let entry = read_entries(&*self.journal, &[Locator::of(index, target)])?.remove(0);
        Ok((index.table.parent(target), Some(entry.text())))
    }

    fn plan_path(
        &self,
        state: &State,
        leaf: Row,
        scope: Scope,
        (entry, position): (&EntryId, Position),
        editor_text: Option<String>,
    ) -> Result<ForkPlan> {
        let index = state.replay.index();
        let path = match scope {
            Scope::Path => index.table.path(leaf),
            Scope::Context => super::context::context_rows(index, &*self.journal, leaf)?,
        };
        let gaps = gaps_on(index, &path);
        self.refuse_gaps(&gaps)?;
        let rows = with_leaf_entries(index, &path, scope);
        let (carried, recorded_cwd) = self.carried(index, &rows)?;
        let moves_main = |row: &Row| {
            let flags = index.table.flags(*row);
            !flags.has(Flags::SIDE) && !flags.has(Flags::LANE)
        };
        let origin = Origin {
            session: state.replay.header().id.to_string(),
            entry: Some(entry.to_string()),
            position,
            scope,
            records: rows.len() as u64,
        };
        Ok(ForkPlan {
            origin,
            editor_text,
            gaps,
            copies: Copies::Entries(rows.iter().map(|row| Locator::of(index, *row)).collect()),
            recorded_cwd,
            leaf: id_of(&state.replay, leaf),
            leaf_is_last: carried.is_empty() && rows.last().is_none_or(moves_main),
            carried,
        })
    }

    /// Labels, and the name, that the copied entries have in the source but would not have in the copy (SPEC 5.3).
    fn carried(&self, index: &Index, rows: &[Row]) -> Result<(Vec<NewEntry>, Option<String>)> {
        let table = &index.table;
        let own: Vec<_> = rows
            .iter()
            .filter(|row| matches!(table.kind(**row), EntryKind::Label | EntryKind::SessionInfo))
            .map(|row| Locator::of(index, *row))
            .collect();
        let own = read_entries(&*self.journal, &own)?;
        let (labels, name) = fold(&own);
        let cwd = own.iter().rev().find_map(|entry| entry.text_member("cwd").filter(|cwd| !cwd.is_empty()));
        let copied: HashSet<_> = rows.iter().map(|row| table.id(*row)).collect();
        let mut targets: Vec<_> =
            index.labels().keys().chain(labels.keys()).filter(|id| copied.contains(*id)).collect();
        let time_of = |id: &EntryId| index.label(id).map(|label| label.timestamp.as_str());
        targets.sort_by(|a, b| time_of(a).cmp(&time_of(b)).then_with(|| a.cmp(b)));
        targets.dedup();
        let mut carried: Vec<_> = targets
            .into_iter()
            .filter(|target| index.label(target) != labels.get(*target))
            .map(|target| at_time(index.label(target), |text| NewEntry::label(target, text)))
            .collect();
        if index.name() != name.as_ref() {
            carried.push(at_time(index.name(), NewEntry::session_info));
        }
        Ok((carried, cwd))
    }

    /// Writes the planned copy under `header`, line by line with line feeds, to `sink`.
    pub(crate) fn write_fork(
        &self,
        plan: &ForkPlan,
        header: &Header,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut chain = Chain::default();
        let mut put = |line: &[u8]| {
            chain.push(line, true);
            sink(line)?;
            sink(b"\n")
        };
        put(&seal_all([header.to_record()], Checksum(0)).lines[0])?;
        match &plan.copies {
            // The bytes decide, and not the line feeds: that of the last record may have come since.
            Copies::Lines { from, to } => self.journal.contents().scan(*from..*to, &mut |line| put(line.bytes))?,
            Copies::Entries(locators) => {
                for page in locators.chunks(64) {
                    read_entries(&*self.journal, page)?.iter().try_for_each(|entry| put(&entry.line))?;
                }
            }
        }
        let drafts = self.closing_drafts(plan, header);
        for line in seal_drafts(&drafts, chain.prev()).lines {
            sink(&line)?;
            sink(b"\n")?;
        }
        Ok(())
    }

    /// The records behind the copied ones: what is carried, and a leaf entry where one is needed.
    fn closing_drafts(&self, plan: &ForkPlan, header: &Header) -> Vec<Draft> {
        let state = self.state.lock();
        let (mut drafts, mut taken) = (Vec::new(), HashSet::new());
        let mut last = plan.leaf.clone();
        for entry in &plan.carried {
            // Ids are drawn against the source, which knows all that was copied.
            let draft = state.draft(entry.clone(), last, &mut taken);
            last = Some(draft.id.clone());
            drafts.push(draft);
        }
        let elsewhere = plan.recorded_cwd.as_ref().is_some_and(|cwd| *cwd != header.cwd);
        if elsewhere {
            let name = state.name().unwrap_or_default();
            let draft = state.draft(NewEntry::relocation(name, &header.cwd), last, &mut taken);
            last = Some(draft.id.clone());
            drafts.push(draft);
        }
        if elsewhere || !plan.leaf_is_last {
            let entry = NewEntry::leaf(plan.leaf.as_ref(), last.as_ref());
            drafts.push(state.draft(entry, plan.leaf.clone(), &mut taken));
        }
        drafts
    }
}

fn plan_whole(state: &State) -> ForkPlan {
    let (watermark, provisional) = state.replay.watermark();
    let to = provisional.map_or(watermark, crate::journal::Span::end);
    let origin = Origin {
        session: state.replay.header().id.to_string(),
        entry: None,
        position: Position::Whole,
        scope: Scope::Path,
        records: state.replay.counts().records,
    };
    let copies = Copies::Lines { from: state.replay.header_end(), to };
    let gaps = state.replay.index().gaps().map(|(_, gap)| gap.clone()).collect();
    let leaf = id_of(&state.replay, state.replay.index().leaf());
    let recorded_cwd = state.replay.index().cwd().map(str::to_owned);
    let carried = Vec::new();
    ForkPlan { origin, editor_text: None, gaps, copies, carried, recorded_cwd, leaf, leaf_is_last: true }
}

/// The path with the leaf entries that its entries name as parents, so that every parent resolves in the copy.
fn with_leaf_entries(index: &Index, path: &[Row], scope: Scope) -> Vec<Row> {
    let mut rows = Vec::with_capacity(path.len());
    let mut between = Vec::new();
    for (at, row) in path.iter().enumerate() {
        // In the copy of a context path the first entry's parent stays behind.
        let whole = scope == Scope::Path || at > 0;
        let mut through = index.through_leaf(*row).filter(|_| whole);
        while let Some(leaf) = through {
            between.push(leaf);
            through = index.through_leaf(leaf).filter(|next| *next < leaf);
        }
        rows.extend(between.drain(..).rev());
        rows.push(*row);
    }
    debug_assert!(rows.iter().all(|row| *row != NONE));
    rows
}

/// The labels and the name that follow from these entries alone.
fn fold(entries: &[Entry]) -> (HashMap<EntryId, Label>, Option<Label>) {
    let mut labels = HashMap::new();
    let mut name = None;
    for entry in entries {
        let text = one_line_label(&entry.text());
        let label = Label { text, timestamp: entry.timestamp.clone() };
        let label = Some(label).filter(|label| !label.text.is_empty());
        let target = entry.text_member("targetId").map(|id| EntryId::from_stored(&id));
        match (entry.kind, target, label) {
            (EntryKind::SessionInfo, _, label) => name = label,
            (_, Some(target), Some(label)) => drop(labels.insert(target, label)),
            (_, Some(target), None) => drop(labels.remove(&target)),
            (_, None, _) => {}
        }
    }
    (labels, name)
}

/// An entry with the text and the time of `label`, or one that clears.
fn at_time(label: Option<&Label>, entry: impl Fn(&str) -> NewEntry) -> NewEntry {
    let Some(label) = label else { return entry("") };
    let mut carried = entry(&label.text);
    carried.timestamp = Some(label.timestamp.clone());
    carried
}

fn invalid_target(id: &EntryId, why: &str) -> Error {
    Error::invalid(format!("invalid fork target {id}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Backend as _, Memory, NewJournal, OpenOptions};
    use crate::model::SessionId;
    use crate::session::SessionOptions;

    /// Two handles on a session whose only entry has no line feed.
    fn unterminated() -> (Session, Session) {
        let memory = Memory::new();
        let header = Header {
            id: SessionId::new(),
            version: crate::model::FORMAT_VERSION,
            timestamp: "2026-01-02T03:04:05.006Z".to_owned(),
            cwd: "/project".to_owned(),
            parent_session: None,
            metadata: None,
            origin: None,
        };
        let entry = r#"{"type":"custom","id":"0000000a","parentId":null,"timestamp":"2026-01-02T03:04:05.006Z"}"#;
        let log = format!("{}\n{entry}", header.to_record());
        let path = memory.create(&NewJournal::new(&header, None), &mut |sink| sink(log.as_bytes())).unwrap();
        let open = || memory.open(&path, OpenOptions::default()).unwrap();
        let session = || Session::from_journal(open(), SessionOptions::new()).unwrap();
        (session(), session())
    }

    #[test]
    fn a_whole_fork_holds_the_last_record_even_if_its_line_feed_and_more_come_meanwhile() {
        let (source, other) = unterminated();
        let plan = source.plan_fork(&Fork::Whole, Scope::Path).unwrap();
        other.append(NewEntry::user("too late")).unwrap();
        let mut header = source.header();
        header.id = SessionId::new();
        let mut log = Vec::new();
        source
            .write_fork(&plan, &header, &mut |bytes| {
                log.extend_from_slice(bytes);
                Ok(())
            })
            .unwrap();
        let copy = Session::from_log(log, SessionOptions::new()).unwrap();
        assert_eq!(copy.entries().count(), 1);
        assert_eq!(copy.leaf(), source.leaf());
        assert_eq!((copy.leaf(), copy.damage().1), (plan.leaf, 0));
    }
}
