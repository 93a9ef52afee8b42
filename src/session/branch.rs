//! Moving the leaf, for good or for this handle only; labels and names (SPEC 3.3, 3.6).

use std::collections::HashSet;
use std::path::Path;

use super::append::{Plan, Receipt};
use super::options::{AppendOptions, Attach};
use super::{Session, State, id_of};
use crate::error::Result;
use crate::index::{NONE, Row};
use crate::model::json::quote;
use crate::model::{EntryId, NewEntry, json_value};

/// A summary of the branch that a move leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchSummary {
    summary: String,
    details: Option<String>,
    usage: Option<String>,
    from_hook: Option<bool>,
}

impl BranchSummary {
    /// A summary with this text.
    pub fn new(summary: impl Into<String>) -> Self {
        Self { summary: summary.into(), ..Self::default() }
    }

    /// Details of the host, raw JSON; not sent to the model.
    #[must_use]
    pub fn details(mut self, json: impl Into<String>) -> Self {
        self.details = Some(json.into());
        self
    }

    /// What the summary cost, raw JSON.
    #[must_use]
    pub fn usage(mut self, json: impl Into<String>) -> Self {
        self.usage = Some(json.into());
        self
    }

    /// Whether a hook made it.
    #[must_use]
    pub fn from_hook(mut self, from_hook: bool) -> Self {
        self.from_hook = Some(from_hook);
        self
    }

    pub(crate) fn into_entry(self, from: Option<&EntryId>) -> Result<NewEntry> {
        let from = from.map_or_else(|| "root".to_owned(), EntryId::to_string);
        let mut fields = format!(r#""fromId":{},"summary":{}"#, quote(&from), quote(&self.summary));
        let from_hook = self.from_hook.map(|from_hook| from_hook.to_string());
        for (key, value) in [("details", self.details), ("usage", self.usage), ("fromHook", from_hook)] {
            if let Some(value) = value {
                fields.push_str(&format!(r#","{key}":{}"#, json_value(&value, key)?));
            }
        }
        NewEntry::from_json(&format!(r#"{{"type":"branch_summary",{fields}}}"#))
    }
}

impl Session {
    /// Moves the leaf to `target` (`None` is before the first entry) for every handle, now and after reopening.
    ///
    /// Appends one `leaf` entry; returns `None` and writes nothing if the leaf is there already (SPEC 3.3).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is no such entry,
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) if it is itself a leaf entry, and what
    /// [`Session::append`] may return.
    pub fn move_to(&self, target: Option<&EntryId>) -> Result<Option<Receipt>> {
        self.move_with(target, None, &AppendOptions::new())
    }

    /// Moves the leaf to `target`, with a summary of the branch that is left if one is given.
    ///
    /// The summary becomes one entry under the target and the new leaf, so no crash moves without it (SPEC 3.3). Of
    /// `options`, the expectation and the durability count; [`AppendOptions::to_leaf`] drops the expectation.
    ///
    /// # Errors
    ///
    /// As [`Session::move_to`].
    pub fn move_with(
        &self,
        target: Option<&EntryId>,
        summary: Option<BranchSummary>,
        options: &AppendOptions,
    ) -> Result<Option<Receipt>> {
        let receipts = self.write(options.durability, &mut |state, _| {
            let row = state.target(target)?;
            state.check_move(options)?;
            match summary.clone() {
                Some(summary) => self.plan_summary(state, target, summary),
                None => Ok(plan_move(state, row, target)),
            }
        })?;
        Ok(receipts.into_iter().next())
    }

    fn plan_summary(&self, state: &State, target: Option<&EntryId>, summary: BranchSummary) -> Result<Plan> {
        let from = id_of(&state.replay, state.replay.index().leaf());
        let entry = self.through_hook(vec![summary.into_entry(from.as_ref())?])?.remove(0);
        Ok(Plan::appending(vec![state.draft(entry, target.cloned(), &mut HashSet::new())]))
    }

    /// Moves this handle's position to `target` and nothing else: no record is written, other handles and a reopened
    /// session stay where they are, and the next append makes it real (SPEC 3.3).
    ///
    /// # Errors
    ///
    /// As [`Session::move_to`], without I/O.
    pub fn branch(&self, target: Option<&EntryId>) -> Result<()> {
        let mut state = self.state.lock();
        state.target(target)?;
        state.position = target.cloned();
        state.branched = state.position != state.base;
        Ok(())
    }

    /// Puts `label` on `target`, or clears it with empty text; attaches to whatever the leaf is (SPEC 3.6).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is no such entry, and what
    /// [`Session::append`] may return but a conflict.
    pub fn set_label(&self, target: &EntryId, label: &str) -> Result<Receipt> {
        self.append_beside(NewEntry::label(target, label), Some(target))
    }

    /// Names the session, or clears the name with empty text; attaches to whatever the leaf is (SPEC 3.6).
    ///
    /// # Errors
    ///
    /// What [`Session::append`] may return but a conflict.
    pub fn set_name(&self, name: &str) -> Result<Receipt> {
        self.append_beside(NewEntry::session_info(name), None)
    }

    /// Says that the session's project is in the folder `cwd` now. The log stays where it is;
    /// [`Store::relocate`](crate::Store::relocate) moves it along.
    ///
    /// # Errors
    ///
    /// What [`Session::append`] may return but a conflict.
    pub fn set_cwd(&self, cwd: &Path) -> Result<Receipt> {
        let cwd = cwd.to_string_lossy();
        loop {
            let name = self.newest_name()?;
            let entry = NewEntry::relocation(name.as_deref().unwrap_or_default(), &cwd);
            let named_as_before = |state: &State| state.name() == name.as_deref();
            if let Some(receipt) = self.append_beside_if(entry, None, &named_as_before)? {
                return Ok(receipt);
            }
        }
    }

    /// The name that the log says now.
    fn newest_name(&self) -> Result<Option<String>> {
        let mut state = self.state.lock();
        let end = self.journal.end()?;
        state.catch_up(&*self.journal, end)?;
        Ok(state.name().map(str::to_owned))
    }

    /// Appends an entry that says something about the session, and leaves a branched position where it is.
    fn append_beside(&self, entry: NewEntry, target: Option<&EntryId>) -> Result<Receipt> {
        self.append_beside_if(entry, target, &|_| true).map(|receipt| receipt.expect("one entry was written"))
    }

    /// As [`Session::append_beside`], unless `holds` says no when it comes to writing.
    fn append_beside_if(
        &self,
        entry: NewEntry,
        target: Option<&EntryId>,
        holds: &dyn Fn(&State) -> bool,
    ) -> Result<Option<Receipt>> {
        let entry = self.through_hook(vec![entry])?.remove(0);
        let receipts = self.write(None, &mut |state, _| {
            if !holds(state) {
                return Ok(Plan::nothing());
            }
            target.map(|target| state.find(target)).transpose()?;
            let leaf = state.attach(&AppendOptions::new().to_leaf())?;
            let drafts = vec![state.draft(entry.clone(), id_of(&state.replay, leaf), &mut HashSet::new())];
            let plan = Plan { moves_position: false, ..Plan::appending(drafts) };
            // A leaf that others have moved away from the base stays a conflict for the next append (SPEC 3.7).
            let goes_along = state.check_leaf(state.base.as_ref()).is_ok();
            Ok(if goes_along { plan } else { Plan { leaf: None, ..plan } })
        })?;
        Ok(receipts.into_iter().next())
    }
}

impl State {
    /// A move names where to go, so a leaf in doubt does not stop it; an expectation does.
    fn check_move(&self, options: &AppendOptions) -> Result<()> {
        let expect = match (&options.expect, &options.attach) {
            (None, Attach::Position) if self.replay.index().doubt().is_none() => Some(self.base.clone()),
            (expect, _) => expect.clone(),
        };
        let Some(expect) = expect else { return Ok(()) };
        self.attach(&AppendOptions::new().under(None).expecting(expect)).map(|_| ())
    }
}

fn plan_move(state: &State, row: Row, target: Option<&EntryId>) -> Plan {
    let leaf = state.replay.index().leaf();
    let entry = NewEntry::leaf(target, id_of(&state.replay, leaf).as_ref());
    let stays = leaf == row && state.replay.index().doubt().is_none();
    let drafts = if stays { Vec::new() } else { vec![state.draft(entry, target.cloned(), &mut HashSet::new())] };
    debug_assert!(row != NONE || target.is_none());
    Plan { answers: drafts.len(), drafts, leaf: Some(target.cloned()), moves_position: true }
}
