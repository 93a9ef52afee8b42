//! A second reading of session files: by SPEC 3 and 4 alone, as plainly as can be, without a line of the library.
//!
//! Where pi and leaflog differ on purpose, this says what leaflog's rule demands; everywhere else pi's own view, which
//! is compared with the library's, shows that it is right itself.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use super::node::Pi;
use super::text::{Members, array, elements, is_space, members, object, quote, quote_units, string, units};
use super::view::{ContextView, View};

/// A session file, read whole.
pub(crate) struct Model {
    header: Members,
    records: Vec<Record>,
    rows: HashMap<String, usize>,
}

/// A record that is an entry.
pub(crate) struct Record {
    pub(crate) id: String,
    pub(crate) kind: String,
    parent: Option<String>,
    members: Members,
}

impl Record {
    fn raw(&self, key: &str) -> Option<&str> {
        self.members.get(key).map(|raw| raw.get())
    }

    fn text(&self, key: &str) -> Option<String> {
        string(self.raw(key)?)
    }

    fn is_leaf(&self) -> bool {
        self.kind == "leaf"
    }

    /// A message's members and its role.
    fn message(&self) -> Option<(Members, String)> {
        let message = members(self.raw("message").filter(|_| self.kind == "message")?)?;
        let role = message.get("role").and_then(|raw| string(raw.get())).unwrap_or_default();
        Some((message, role))
    }

    fn has_role(&self, wanted: &str) -> bool {
        self.message().is_some_and(|(_, role)| role == wanted)
    }

    /// When it was written, as a JavaScript time.
    fn millis(&self) -> String {
        let instant: jiff::Timestamp = self.text("timestamp").unwrap().parse().unwrap();
        instant.as_millisecond().to_string()
    }
}

/// What the compaction on a path selects (SPEC 3.5).
struct Selection {
    /// From where the path starts, leaf entries too.
    path: Vec<usize>,
    /// What contributes to the context, in its order.
    order: Vec<usize>,
}

impl Model {
    pub(crate) fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let mut lines = text.split('\n').filter(|line| !line.is_empty());
        let header = members(lines.next().unwrap()).unwrap();
        let mut records = Vec::new();
        let mut rows = HashMap::new();
        for line in lines {
            let members = members(line).unwrap();
            let text = |key: &str| members.get(key).and_then(|raw| string(raw.get()));
            let record =
                Record { id: text("id").unwrap(), kind: text("type").unwrap(), parent: text("parentId"), members };
            assert!(rows.insert(record.id.clone(), records.len()).is_none(), "the id {} is there twice", record.id);
            records.push(record);
        }
        Self { header, records, rows }
    }

    pub(crate) fn records(&self) -> &[Record] {
        &self.records
    }

    pub(crate) fn name(&self) -> Option<String> {
        let named = self.records.iter().rfind(|record| record.kind == "session_info")?;
        tidy(named.raw("name")?)
    }

    /// How many messages there are, on all branches.
    pub(crate) fn messages(&self) -> usize {
        self.records.iter().filter(|record| record.kind == "message").count()
    }

    /// The entries whose parent is not in the file.
    pub(crate) fn orphans(&self) -> Vec<&str> {
        let is_missing = |parent: &String| !self.rows.contains_key(parent);
        let orphans = self.records.iter().filter(|record| record.parent.as_ref().is_some_and(is_missing));
        orphans.map(|record| record.id.as_str()).collect()
    }

    /// All labels, on entries that are there.
    fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = BTreeMap::new();
        for record in self.records.iter().filter(|record| record.kind == "label") {
            let target = record.text("targetId").unwrap();
            match record.raw("label").and_then(tidy).filter(|_| self.rows.contains_key(&target)) {
                Some(label) => drop(labels.insert(target, label)),
                None => drop(labels.remove(&target)),
            }
        }
        labels
    }

    /// Where the session stands after replay (SPEC 3.2).
    pub(crate) fn leaf(&self) -> Option<&str> {
        let mut leaf = None;
        for record in &self.records {
            if record.is_leaf() {
                match record.text("targetId").map(|target| self.rows.get(&target)) {
                    None => leaf = None,
                    Some(Some(target)) => leaf = Some(*target),
                    // Such an entry moves nothing (SPEC 2.3).
                    Some(None) => {}
                }
            } else if record.raw("side") != Some("true") {
                leaf = Some(self.rows[&record.id]);
            }
        }
        let nearest = self.chain(leaf).into_iter().rev().find(|row| !self.records[*row].is_leaf());
        nearest.map(|row| self.records[row].id.as_str())
    }

    /// The rows from the root to `row` as the parents say, leaf entries too.
    fn chain(&self, row: Option<usize>) -> Vec<usize> {
        let mut chain = Vec::new();
        let mut next = row;
        while let Some(row) = next {
            assert!(chain.len() < self.records.len(), "a cycle");
            chain.push(row);
            next = self.records[row].parent.as_ref().and_then(|parent| self.rows.get(parent)).copied();
        }
        chain.reverse();
        chain
    }

    fn chain_to(&self, from: Option<&str>) -> Vec<usize> {
        self.chain(from.map(|id| self.rows[id]))
    }

    /// The ids of these rows without leaf entries, which are transparent (SPEC 3.4).
    fn ids(&self, rows: &[usize]) -> Vec<String> {
        let shown = rows.iter().map(|row| &self.records[*row]).filter(|record| !record.is_leaf());
        shown.map(|record| record.id.clone()).collect()
    }

    fn children(&self) -> BTreeMap<String, Vec<String>> {
        let mut children: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for record in self.records.iter().filter(|record| !record.is_leaf()) {
            let path = self.ids(&self.chain_to(Some(&record.id)));
            let parent = path.len().checked_sub(2).map_or_else(|| "null".to_owned(), |above| path[above].clone());
            children.entry(parent).or_default().push(record.id.clone());
        }
        children
    }

    /// Only the newest compaction of the path sets the boundary (SPEC 3.5, 4.1).
    fn select(&self, from: Option<&str>) -> Selection {
        let path = self.chain_to(from);
        let Some(at) = path.iter().rposition(|row| self.records[*row].kind == "compaction") else {
            return Selection { order: path.clone(), path };
        };
        let compaction = &self.records[path[at]];
        let tail = compaction.raw("retainedTail").is_some_and(|raw| raw.starts_with('['));
        let first_kept = compaction.text("firstKeptEntryId").filter(|_| !tail);
        let first_kept = first_kept.and_then(|id| path[..at].iter().position(|row| self.records[*row].id == id));
        let start = first_kept.unwrap_or(at);
        let own_system = compaction.raw("systemMessage").is_some_and(|raw| raw.starts_with('{'));
        let kept = path[start..at].iter().filter(|row| !(own_system && self.records[**row].has_role("system")));
        let order = [path[at]].iter().chain(kept).chain(&path[at + 1..]).copied().collect();
        Selection { path: path[start..].to_vec(), order }
    }

    /// What the selected entries say to the model, edits applied (SPEC 4.2).
    fn messages_of(&self, order: &[usize]) -> Vec<String> {
        let mut edits = HashMap::new();
        for record in order.iter().map(|row| &self.records[*row]).filter(|record| record.kind == "context_edit") {
            if let Some(replacement) = record.raw("replacement") {
                edits.insert(record.text("targetId").unwrap(), replacement);
            }
        }
        let mut messages = Vec::new();
        for (index, record) in order.iter().map(|row| &self.records[*row]).enumerate() {
            let said = if record.kind == "compaction" && index > 0 { Vec::new() } else { said(record) };
            match edits.get(&record.id) {
                Some(&"null") => {}
                Some(edit) if record.kind != "compaction" => {
                    messages.extend(said.iter().map(|said| edited(said, edit)));
                }
                _ => messages.extend(said),
            }
        }
        messages
    }

    fn context(&self, pi: Pi, from: Option<&str>) -> ContextView {
        let selection = self.select(from);
        // 1.6.0 takes its settings, and what it calls the branch, from the whole path (SPEC 4.3).
        let path = if pi == Pi::Today { self.chain_to(from) } else { selection.path };
        let mut view = ContextView {
            path_ids: self.ids(&path),
            messages: self.messages_of(&selection.order),
            model: "null".to_owned(),
            thinking_level: quote("off"),
            active_tools: "null".to_owned(),
        };
        for row in path {
            set(&mut view, &self.records[row]);
        }
        view
    }

    /// What leaflog's rules say of the session, with contexts at the leaf and at `froms`.
    pub(crate) fn view(&self, pi: Pi, path: &Path, froms: &[String]) -> View {
        View {
            pi,
            path: path.to_owned(),
            id: string(self.header["id"].get()).unwrap(),
            name: self.name(),
            leaf: self.leaf().map(str::to_owned),
            entries: self.records.iter().map(|record| record.id.clone()).collect(),
            children: self.children(),
            labels: self.labels(),
            context: self.context(pi, self.leaf()),
            contexts_at: froms.iter().map(|from| (from.clone(), self.context(pi, Some(from)))).collect(),
            llm: None,
        }
    }
}

/// A label or name, raw: trimmed as JavaScript trims, line breaks as a space; `None` if nothing is left (SPEC 3.6).
fn tidy(raw: &str) -> Option<String> {
    let mut units = units(raw)?;
    units.dedup_by(|next, last| is_break(*next) && is_break(*last));
    units.iter_mut().filter(|unit| is_break(**unit)).for_each(|unit| *unit = u16::from(b' '));
    let start = units.iter().position(|unit| !is_space(*unit))?;
    let end = units.iter().rposition(|unit| !is_space(*unit))?;
    Some(quote_units(&units[start..=end]))
}

fn is_break(unit: u16) -> bool {
    unit == u16::from(b'\n') || unit == u16::from(b'\r')
}

/// A setting stays until the next one; an assistant that names no model sets none (SPEC 4.3).
fn set(view: &mut ContextView, record: &Record) {
    let raw = |key: &str| record.raw(key).unwrap().to_owned();
    match (record.kind.as_str(), record.message()) {
        ("thinking_level_change", _) => view.thinking_level = raw("thinkingLevel"),
        ("active_tools_change", _) => view.active_tools = raw("activeToolNames"),
        ("model_change", _) => set_model(view, &record.members, "modelId"),
        (_, Some((message, role))) if role == "assistant" => set_model(view, &message, "model"),
        _ => {}
    }
}

fn set_model(view: &mut ContextView, named: &Members, key: &str) {
    let raw = |key: &str| named.get(key).map(|raw| raw.get()).filter(|raw| raw.starts_with('"'));
    if let (Some(provider), Some(model)) = (raw("provider"), raw(key)) {
        view.model = object([("provider", Some(provider)), ("modelId", Some(model))]);
    }
}

/// The messages that an entry contributes.
fn said(record: &Record) -> Vec<String> {
    let millis = record.millis();
    let timestamp = ("timestamp", Some(millis.as_str()));
    let own = |key: &'static str| (key, record.raw(key));
    let filled = record.raw("content").filter(|content| *content != "null").unwrap_or("[]");
    match record.kind.as_str() {
        "message" => vec![with_filled_content(record)],
        "custom_message" => {
            let content = ("content", Some(filled));
            let role = ("role", Some(r#""custom""#));
            vec![object([role, own("customType"), content, own("display"), own("details"), timestamp])]
        }
        "branch_summary" if record.raw("summary") != Some(r#""""#) => {
            vec![object([("role", Some(r#""branchSummary""#)), own("summary"), own("fromId"), timestamp])]
        }
        "compaction" => {
            let role = ("role", Some(r#""compactionSummary""#));
            let summary = object([role, own("summary"), own("tokensBefore"), timestamp]);
            let system = record.raw("systemMessage").filter(|raw| raw.starts_with('{')).map(str::to_owned);
            let tail = record.raw("retainedTail").and_then(elements).unwrap_or_default();
            system.into_iter().chain([summary]).chain(tail).collect()
        }
        _ => Vec::new(),
    }
}

fn with_filled_content(record: &Record) -> String {
    let (message, role) = record.message().unwrap();
    let stored = message.get("content").map(|raw| raw.get()).filter(|raw| *raw != "null");
    match (stored, role.as_str()) {
        (None, "user" | "assistant" | "toolResult") => with_content(&message, Some("[]")),
        (None, "system") => with_content(&message, Some(r#""""#)),
        _ => record.raw("message").unwrap().to_owned(),
    }
}

fn with_content(message: &Members, content: Option<&str>) -> String {
    let others = message.iter().filter(|(key, _)| *key != "content");
    object(others.map(|(key, raw)| (key.as_str(), Some(raw.get()))).chain([("content", content)]))
}

/// A message with its content replaced, if its role has content that can be.
fn edited(said: &str, replacement: &str) -> String {
    let message = members(said).unwrap();
    let replacement = members(replacement).unwrap_or_default();
    let content = replacement.get("content").map(|raw| raw.get());
    let block = content
        .filter(|raw| raw.starts_with('"'))
        .map(|text| object([("type", Some(r#""text""#)), ("text", Some(text))]));
    match message.get("role").and_then(|raw| string(raw.get())).as_deref() {
        Some("assistant" | "toolResult") if block.is_some() => with_content(&message, Some(&array(block))),
        Some("user" | "custom" | "assistant" | "toolResult") => with_content(&message, content),
        _ => said.to_owned(),
    }
}
