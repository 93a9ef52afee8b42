//! Appending: expectations, idempotent ids, and the one way in which records reach the log (SPEC 1.5, 3.7, 3.8).

use std::collections::HashSet;

use super::options::{AppendOptions, Attach, Durability};
use super::seal::{Draft, Sealed, seal_drafts};
use super::{Session, State, id_of};
use crate::codec::checksum::Checksum;
use crate::codec::line;
use crate::error::{Error, ErrorKind, Result};
use crate::index::{NONE, Row};
use crate::journal::{APPEND_BYTES_MAX, Batch, Journal, Outcome, Stored};
use crate::model::{EntryId, EntryKind, FORMAT_VERSION, NewEntry, json};

/// How much a handle replays while it holds the lock, in bytes.
const TURN_BYTES_MAX: u64 = 256 << 10;

/// Proof that an entry is stored (SPEC 1.8).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The entry's id.
    pub id: EntryId,
    /// The log's position behind the record: on files its size in bytes then.
    pub end: u64,
    /// The record's checksum.
    pub crc: Checksum,
    /// Whether another program's bytes came in between, so that the entry was decided without them (SPEC 1.5).
    pub interleaved: bool,
    /// Whether the entry was there already and this call stored nothing (SPEC 3.8).
    pub already_stored: bool,
}

/// What a write is going to store, decided under the lock.
pub(super) struct Plan {
    /// The records; those behind the first `answers` are control entries of the engine's own.
    pub(super) drafts: Vec<Draft>,
    /// How many of them the caller asked for.
    pub(super) answers: usize,
    /// Where the leaf is afterwards; `None` if the write moves no leaf.
    pub(super) leaf: Option<Option<EntryId>>,
    /// Whether the handle's position goes along even if it was chosen with `branch`.
    pub(super) moves_position: bool,
}

impl Plan {
    /// A write of nothing.
    pub(super) fn nothing() -> Self {
        Self { drafts: Vec::new(), answers: 0, leaf: None, moves_position: false }
    }

    /// A write of entries that the caller asked for, after which the leaf is the last of them.
    pub(super) fn appending(drafts: Vec<Draft>) -> Self {
        let leaf = drafts.last().map(|draft| Some(draft.id.clone()));
        Self { answers: drafts.len(), leaf, drafts, moves_position: true }
    }
}

impl Session {
    /// Appends `entry` at this handle's position and makes it the leaf.
    ///
    /// On return the entry is visible to every reader; with [`Durability::Disk`], the default, it also survives a
    /// power cut (SPEC 1.6).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] if the leaf moved since this handle last saw it (nothing was written; the handle now
    /// stands at the actual leaf); [`ErrorKind::LeafInDoubt`], [`ErrorKind::Locked`], [`ErrorKind::TooLarge`],
    /// [`ErrorKind::StorageFull`], [`ErrorKind::Denied`] (nothing was stored); [`ErrorKind::Undecided`] if a sync
    /// failed.
    pub fn append(&self, entry: NewEntry) -> Result<Receipt> {
        self.append_with(entry, &AppendOptions::new())
    }

    /// Appends `entry` where `options` say.
    ///
    /// # Errors
    ///
    /// As [`Session::append`]; [`ErrorKind::NotFound`] if a parent or a target is unknown,
    /// [`ErrorKind::AlreadyExists`] if the caller's id belongs to another entry.
    pub fn append_with(&self, entry: NewEntry, options: &AppendOptions) -> Result<Receipt> {
        self.append_batch(vec![entry], options).map(|mut receipts| receipts.remove(0))
    }

    /// Appends entries as one write, each the parent of the next.
    ///
    /// A batch that was stored in part before a crash is completed by appending it again with the same ids (SPEC 3.8).
    ///
    /// # Errors
    ///
    /// As [`Session::append_with`]; then none of the batch is acknowledged.
    pub fn append_batch(&self, entries: Vec<NewEntry>, options: &AppendOptions) -> Result<Vec<Receipt>> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let entries = self.through_hook(entries)?;
        check_size(&entries)?;
        check_ids_differ(&entries)?;
        let mut present = Vec::new();
        let stored = self.write(options.durability, &mut |state, journal| {
            present = find_present(state, journal, &entries, options)?;
            plan_append(state, &entries, &present, options)
        })?;
        let mut stored = stored.into_iter();
        Ok(present.into_iter().filter_map(|receipt| receipt.or_else(|| stored.next())).collect())
    }

    pub(super) fn through_hook(&self, entries: Vec<NewEntry>) -> Result<Vec<NewEntry>> {
        match &self.options.before_write {
            Some(hook) => entries.into_iter().map(|entry| hook(entry)).collect(),
            None => Ok(entries),
        }
    }

    /// Catches up, takes the turn, catches up again, decides by `plan`, writes once, and syncs if that was asked for.
    pub(super) fn write(
        &self,
        durability: Option<Durability>,
        plan: &mut dyn FnMut(&State, &dyn Journal) -> Result<Plan>,
    ) -> Result<Vec<Receipt>> {
        let journal = &*self.journal;
        let durable = durability.unwrap_or(self.options.durability) == Durability::Disk;
        let mut state = self.state.lock();
        self.check_writable(&state)?;
        let (plan, written) = self.take_turn(&mut state, durable, plan)?;
        state.after_write(&plan);
        let generation = state.replay.generation();
        drop(state);
        let Some((sealed, stored)) = written else {
            if durable {
                journal.sync_all(generation)?;
            }
            return Ok(Vec::new());
        };
        if durable && !stored.durable {
            journal.sync(&stored, &sealed.lines)?;
        }
        Ok(receipts(&plan, &sealed, &stored))
    }

    fn take_turn(
        &self,
        state: &mut State,
        durable: bool,
        plan: &mut dyn FnMut(&State, &dyn Journal) -> Result<Plan>,
    ) -> Result<(Plan, Option<(Sealed, Stored)>)> {
        let journal = &*self.journal;
        let mut turn = journal.turn(durable)?;
        while turn.end().position.saturating_sub(state.replay.seen()) > TURN_BYTES_MAX {
            // Most of the catching up is done without the lock, so that it is held for the last delta only.
            drop(turn);
            let end = journal.end()?;
            state.catch_up(journal, end)?;
            turn = journal.turn(durable)?;
        }
        loop {
            state.catch_up(journal, turn.end())?;
            self.check_strict(state)?;
            let plan = plan(state, journal).inspect_err(|error| {
                if error.kind() == ErrorKind::Conflict {
                    state.follow_leaf();
                }
            })?;
            if plan.drafts.is_empty() {
                return Ok((plan, None));
            }
            let sealed = seal_drafts(&plan.drafts, state.replay.prev());
            let expected = state.replay.seen();
            let leaf = state.leaf_behind(&plan.drafts);
            let cwd = cwd_of(&plan.drafts);
            let batch = Batch::new(expected, &sealed.lines).leaf(leaf.as_ref()).cwd(cwd.as_deref());
            let Outcome::Stored(stored) = turn.append(&batch)? else { continue };
            drop(turn);
            if state.replay.is_at_line_start() && stored.position == expected {
                state.replay.appended(journal, stored.position, &sealed.lines)?;
            } else {
                let end = journal.end()?;
                state.catch_up(journal, end)?;
            }
            return Ok((plan, Some((sealed, stored))));
        }
    }

    fn check_writable(&self, state: &State) -> Result<()> {
        let version = state.replay.header().version;
        if version > FORMAT_VERSION {
            let message = format!("a session of version {version}, which this build can only read");
            return Err(Error::new(ErrorKind::Unsupported, message).at(self.journal.path()));
        }
        Ok(())
    }
}

impl State {
    fn after_write(&mut self, plan: &Plan) {
        let Some(leaf) = &plan.leaf else { return };
        self.base.clone_from(leaf);
        if plan.moves_position || !self.branched {
            self.position.clone_from(leaf);
            self.branched = false;
        }
    }

    /// Where the session's leaf is once `drafts` are stored (SPEC 3.2).
    fn leaf_behind(&self, drafts: &[Draft]) -> Option<EntryId> {
        let leaf = id_of(&self.replay, self.replay.index().leaf());
        drafts.iter().filter(|draft| !draft.side).fold(leaf, |leaf, draft| match draft.entry.kind() {
            EntryKind::Leaf => match draft.entry.field("targetId").as_deref().map(json::string) {
                Some(target) => target.map(|id| EntryId::from_stored(&id)),
                None => leaf,
            },
            _ => Some(draft.id.clone()),
        })
    }

    /// The parent of what is appended now, if nothing speaks against appending it (SPEC 2.3, 3.7).
    pub(super) fn attach(&self, options: &AppendOptions) -> Result<Row> {
        let leaf = self.replay.index().leaf();
        let named = match &options.attach {
            Attach::Parent(parent) | Attach::Side(parent) => Some(self.target(parent.as_ref())?),
            Attach::Position if self.branched => Some(self.row_of_position()),
            Attach::Position | Attach::Leaf => None,
        };
        let side = matches!(options.attach, Attach::Side(_));
        if let Some(doubt) = self.replay.index().doubt().filter(|_| named.is_none() || side) {
            let message = format!("the leaf is in doubt ({doubt}); name a parent, or move the leaf");
            return Err(Error::new(ErrorKind::LeafInDoubt, message));
        }
        match (&options.expect, &options.attach) {
            (Some(expected), _) => self.check_leaf(expected.as_ref())?,
            (None, Attach::Position) => self.check_leaf(self.base.as_ref())?,
            _ => {}
        }
        Ok(named.unwrap_or(leaf))
    }

    /// Fails unless the leaf is `expected`, or has moved from there through labels and names only.
    pub(super) fn check_leaf(&self, expected: Option<&EntryId>) -> Result<()> {
        let table = &self.replay.index().table;
        let leaf = self.replay.index().leaf();
        let expected_row = expected.map_or(Some(NONE), |id| table.find(id));
        let moved_by_labels = |row: &Row| matches!(table.kind(*row), EntryKind::Label | EntryKind::SessionInfo);
        let reached = table.upwards(leaf).find(|row| Some(*row) == expected_row || !moved_by_labels(row));
        if expected_row == Some(reached.unwrap_or(NONE)) {
            return Ok(());
        }
        let actual = id_of(&self.replay, leaf);
        let name = |id: Option<&EntryId>| id.map_or_else(|| "root".to_owned(), EntryId::to_string);
        let message = format!("the leaf is {} and not {}, as was expected", name(actual.as_ref()), name(expected));
        Err(Error::new(ErrorKind::Conflict, message).with_actual_leaf(actual))
    }

    /// An id that no entry has, and that is not `taken` by one that is about to be written.
    pub(super) fn draw_id(&self, taken: &HashSet<EntryId>) -> EntryId {
        let table = &self.replay.index().table;
        EntryId::draw(|id| table.find(id).is_some() || taken.contains(id))
    }

    /// An entry under `parent`, with an id, which is `taken` then.
    pub(super) fn draft(&self, entry: NewEntry, parent: Option<EntryId>, taken: &mut HashSet<EntryId>) -> Draft {
        let id = entry.id.clone().unwrap_or_else(|| self.draw_id(taken));
        taken.insert(id.clone());
        Draft { entry, id, parent, side: false }
    }
}

/// Refuses what is too large before anything is done for it; the writer looks again at what it writes (SPEC 1.3).
fn check_size(entries: &[NewEntry]) -> Result<()> {
    let length: u64 = entries.iter().map(|entry| entry.fields.len() as u64).sum();
    if length > APPEND_BYTES_MAX {
        let message = format!("a record or batch may hold {APPEND_BYTES_MAX} bytes and this has over {length}");
        return Err(Error::new(ErrorKind::TooLarge, message));
    }
    Ok(())
}

fn check_ids_differ(entries: &[NewEntry]) -> Result<()> {
    let mut seen = HashSet::new();
    match entries.iter().filter_map(|entry| entry.id.as_ref()).find(|id| !seen.insert(*id)) {
        Some(id) => Err(Error::invalid(format!("the batch holds the id {id} twice"))),
        None => Ok(()),
    }
}

/// Confirms those of `entries` that are stored already (SPEC 3.8).
fn find_present(
    state: &State,
    journal: &dyn Journal,
    entries: &[NewEntry],
    options: &AppendOptions,
) -> Result<Vec<Option<Receipt>>> {
    let table = &state.replay.index().table;
    let mut present = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let Some((id, row)) = entry.id.as_ref().and_then(|id| Some((id, table.find(id)?))) else {
            present.push(None);
            continue;
        };
        let parent = match &options.attach {
            Attach::Parent(parent) | Attach::Side(parent) if index == 0 => Some(parent),
            _ => None,
        };
        let span = table.span(row);
        let mut stored = Vec::new();
        journal.read(&[span], &mut |_, bytes| {
            stored = bytes.to_vec();
            Ok(())
        })?;
        if !is_same(&String::from_utf8_lossy(&stored), entry, parent) {
            let message = format!("the id {id} belongs to another entry");
            return Err(Error::new(ErrorKind::AlreadyExists, message).at_offset(span.position));
        }
        let crc = Checksum::of(line::covered(&stored));
        // The line feed may be missing yet.
        let end = (span.end() + 1).min(state.replay.seen());
        let receipt = Receipt { id: id.clone(), end, crc, interleaved: false, already_stored: true };
        present.push(Some(receipt));
    }
    Ok(present)
}

/// Whether a stored record is what the caller gives now: kind, payload, and the parent if one was named.
fn is_same(record: &str, entry: &NewEntry, parent: Option<&Option<EntryId>>) -> bool {
    let Ok(members) = json::members(record) else { return false };
    let text = |key: &str| json::text(&members, key);
    if text("type").as_deref() != Some(entry.type_name.as_str()) {
        return false;
    }
    if let Some(parent) = parent
        && text("parentId") != parent.as_ref().map(EntryId::to_string)
    {
        return false;
    }
    let envelope = ["type", "id", "parentId", "timestamp", "side", "lane", "prev", "crc"];
    let stored: Vec<_> =
        members.iter().filter(|member| !envelope.contains(&member.key.as_ref())).map(|member| member.text).collect();
    entry.has_fields(&stored.join(","))
}

fn plan_append(
    state: &State,
    entries: &[NewEntry],
    present: &[Option<Receipt>],
    options: &AppendOptions,
) -> Result<Plan> {
    let missing: Vec<_> = entries.iter().zip(present).filter(|(_, receipt)| receipt.is_none()).collect();
    if missing.is_empty() {
        return Ok(Plan::nothing());
    }
    let last_present = present.iter().flatten().next_back().map(|receipt| receipt.id.clone());
    let row = match (&last_present, &options.attach) {
        (None, _) => state.attach(options)?,
        // The rest of a retried batch goes behind what is there of it.
        (Some(id), Attach::Side(_)) => state.attach(&options.clone().side(Some(id.clone())))?,
        (Some(id), Attach::Position) => {
            state.attach(&options.clone().under(Some(id.clone())).expecting(last_present.clone()))?
        }
        (Some(id), _) => state.attach(&options.clone().under(Some(id.clone())))?,
    };
    let side = matches!(options.attach, Attach::Side(_));
    let mut parent = id_of(&state.replay, row);
    let mut drafts: Vec<Draft> = Vec::with_capacity(missing.len() + 1);
    let mut taken = entries.iter().filter_map(|entry| entry.id.clone()).collect();
    for (entry, _) in missing {
        check_target(state, entry, &taken)?;
        let draft = Draft { side, ..state.draft(entry.clone(), parent, &mut taken) };
        parent = Some(draft.id.clone());
        drafts.push(draft);
    }
    if !side {
        return Ok(Plan::appending(drafts));
    }
    let answers = drafts.len();
    let leaf = id_of(&state.replay, state.replay.index().leaf());
    // A reader that knows only "the last line" must resume on main (SPEC 3.2).
    drafts.push(state.draft(NewEntry::leaf(leaf.as_ref(), leaf.as_ref()), leaf.clone(), &mut taken));
    Ok(Plan { drafts, answers, leaf: None, moves_position: false })
}

/// Labels and context edits name an entry that must be there (SPEC 3.6).
fn check_target(state: &State, entry: &NewEntry, batch: &HashSet<EntryId>) -> Result<()> {
    if !matches!(entry.kind(), EntryKind::Label | EntryKind::ContextEdit) {
        return Ok(());
    }
    let target = entry.field("targetId").and_then(|raw| json::string(&raw)).unwrap_or_default();
    let target = EntryId::parse(&target)?;
    if batch.contains(&target) {
        return Ok(());
    }
    state.find(&target).map(|_| ())
}

/// Where these drafts say that the session's project is.
fn cwd_of(drafts: &[Draft]) -> Option<String> {
    // By kind first: other payloads are not looked into.
    let mut said = drafts.iter().rev().filter(|draft| draft.entry.kind() == EntryKind::SessionInfo);
    said.find_map(|draft| json::string(&draft.entry.field("cwd")?).filter(|cwd| !cwd.is_empty()))
}

fn receipts(plan: &Plan, sealed: &Sealed, stored: &Stored) -> Vec<Receipt> {
    let mut end = stored.position;
    let mut receipts = Vec::with_capacity(plan.answers);
    for ((draft, line), crc) in plan.drafts.iter().zip(&sealed.lines).zip(&sealed.checksums).take(plan.answers) {
        end += line.len() as u64 + 1;
        receipts.push(Receipt {
            id: draft.id.clone(),
            end,
            crc: *crc,
            interleaved: stored.interleaved,
            already_stored: false,
        });
    }
    receipts
}
