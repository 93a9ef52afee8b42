//! Which entries a move leaves behind (SPEC 6.2).

use crate::error::Result;
use crate::model::{Entry, EntryId};
use crate::session::Session;

/// What a move leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftBranch {
    /// The deepest entry that is on the context paths of both the old leaf and the target; `None` if there is none.
    pub common_ancestor: Option<EntryId>,
    /// The entries from behind it (without one, from the physical root) to the old leaf, in time order.
    pub entries: Vec<Entry>,
}

/// Collects what a move from `old_leaf` to `target` leaves behind (SPEC 6.2).
///
/// Two entries may share history that lies before a compaction's boundary only; then they have no common ancestor
/// here, and all of the old branch is collected. Reads each collected entry once, and the newest compaction of each of
/// the two paths.
///
/// # Errors
///
/// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is no such entry,
/// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) if the path has a gap and the session was opened strictly.
///
/// # Examples
///
/// ```
/// use leaflog::{AppendOptions, CreateOptions, NewEntry, Store, collect_branch, prepare_branch, summary_prompt};
///
/// # let folder = tempfile::tempdir().expect("a temporary folder");
/// # let store = Store::new(folder.path());
/// let session = store.create(CreateOptions::new("/home/me/project"))?;
/// let question = session.append(NewEntry::user("How do we do it?"))?.id;
/// let plan = session.append(NewEntry::assistant("With plan A."))?.id;
///
/// // What a navigator does, by hand.
/// let left = collect_branch(&session, Some(&plan), &question)?;
/// let prepared = prepare_branch(&left.entries, Some(100_000));
/// let prompt = summary_prompt(&prepared.messages, None, false);
/// assert!(prompt.user.contains("With plan A."));
/// let summary = prepared.summary("Plan A was proposed.", None);
/// session.move_with(Some(&question), Some(summary.into()), &AppendOptions::new())?;
/// # Ok::<(), leaflog::Error>(())
/// ```
pub fn collect_branch(session: &Session, old_leaf: Option<&EntryId>, target: &EntryId) -> Result<LeftBranch> {
    let Some(old_leaf) = old_leaf else { return Ok(LeftBranch::default()) };
    let common_ancestor = shared_context(session, old_leaf, target)?;
    let path = session.path_ids(Some(old_leaf))?;
    let left = path.rsplit(|id| Some(id) == common_ancestor.as_ref()).next().unwrap_or_default();
    let entries = left.iter().map(|id| session.entry(id)).collect::<Result<_>>()?;
    Ok(LeftBranch { common_ancestor, entries })
}

/// The deepest entry on both context paths. Each of them is the lower end of a path from the root, so it is the deepest
/// entry of the two whole paths, unless one of the context paths starts below that.
fn shared_context(session: &Session, a: &EntryId, b: &EntryId) -> Result<Option<EntryId>> {
    let Some(shared) = session.common_ancestor(a, b)? else { return Ok(None) };
    for end in [a, b] {
        match session.context_path(Some(end))?.first() {
            Some(start) if session.is_ancestor(start, &shared)? => {}
            _ => return Ok(None),
        }
    }
    Ok(Some(shared))
}
