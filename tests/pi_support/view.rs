//! One line about a session, of the shape that `lib.mjs` gives pi's own view.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use leaflog::{Context, ContextOptions, EntryId, Session, SettingsFrom, to_llm};

use super::model::Model;
use super::node::{LeftToRules, Pi, compare, read};
use super::text::{array, elements, members, object, quote, string};

/// What is said of a session; values are raw JSON where they may hold lone surrogates.
pub(crate) struct View {
    pub(crate) pi: Pi,
    pub(crate) path: PathBuf,
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) leaf: Option<String>,
    pub(crate) entries: Vec<String>,
    pub(crate) children: BTreeMap<String, Vec<String>>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) context: ContextView,
    pub(crate) contexts_at: Vec<(String, ContextView)>,
    pub(crate) llm: Option<Vec<String>>,
}

/// What is said of the context at one entry.
pub(crate) struct ContextView {
    pub(crate) path_ids: Vec<String>,
    pub(crate) messages: Vec<String>,
    pub(crate) model: String,
    pub(crate) thinking_level: String,
    pub(crate) active_tools: String,
}

impl View {
    pub(crate) fn to_json(&self) -> String {
        let children: BTreeMap<_, _> = self.children.iter().map(|(id, children)| (id, ids(children))).collect();
        let contexts_at = self.contexts_at.iter().map(|(from, context)| self.context_at(context, Some(from)));
        let path = quote(self.path.to_str().unwrap());
        object([
            ("path", Some(path.as_str())),
            ("id", Some(&quote(&self.id))),
            ("name", Some(self.name.as_deref().unwrap_or("null"))),
            ("leaf", Some(&self.leaf.as_deref().map_or_else(|| "null".to_owned(), quote))),
            ("entries", Some(&ids(&self.entries))),
            ("path_ids", Some(&ids(&self.context.path_ids))),
            ("children", Some(&object(children.iter().map(|(id, ids)| (id.as_str(), Some(ids.as_str())))))),
            ("labels", Some(&object(self.labels.iter().map(|(id, label)| (id.as_str(), Some(label.as_str())))))),
            ("context", Some(&self.context_at(&self.context, None))),
            ("contexts_at", Some(&array(contexts_at))),
            ("llm", self.llm.as_ref().map(array).as_deref()),
        ])
    }

    fn context_at(&self, context: &ContextView, from: Option<&str>) -> String {
        let from = from.map(quote);
        object([
            ("from", from.as_deref()),
            ("path_ids", from.as_ref().map(|_| ids(&context.path_ids)).as_deref()),
            ("messages", Some(&array(&context.messages))),
            ("model", Some(&context.model)),
            ("thinkingLevel", Some(&context.thinking_level)),
            // 1.6.0 knows no active tools.
            ("activeToolNames", Some(context.active_tools.as_str()).filter(|_| self.pi == Pi::OfC12)),
        ])
    }
}

fn ids(ids: &[String]) -> String {
    array(ids.iter().map(|id| quote(id)))
}

/// How leaflog sees a session, with contexts at the leaf and at `froms`.
pub(crate) fn view(session: &Session, pi: Pi, froms: &[String]) -> View {
    let entries: Vec<_> = session.entries().map(|entry| entry.unwrap().id().clone()).collect();
    let (context, context_view) = context(session, pi, None);
    let parents = std::iter::once(None).chain(entries.iter().map(Some));
    let children = parents.map(|parent| {
        let children = session.children(parent).unwrap();
        (
            parent.map_or_else(|| "null".to_owned(), EntryId::to_string),
            children.iter().map(EntryId::to_string).collect(),
        )
    });
    let is_there = |id: &EntryId| session.entry(id).is_ok();
    View {
        pi,
        path: session.path(),
        id: session.id().to_string(),
        name: session.name().as_deref().map(quote),
        leaf: session.leaf().map(|leaf| leaf.to_string()),
        entries: entries.iter().map(EntryId::to_string).collect(),
        children: children.filter(|(_, children): &(_, Vec<_>)| !children.is_empty()).collect(),
        labels: session
            .labels()
            .into_iter()
            .filter(|(id, _)| is_there(id))
            .map(|(id, label)| (id.to_string(), quote(&label.text)))
            .collect(),
        context: context_view,
        contexts_at: froms.iter().map(|from| (from.clone(), self::context(session, pi, Some(from)).1)).collect(),
        llm: Some(to_llm(&context.messages).iter().map(|message| message.as_json().to_owned()).collect()),
    }
}

fn context(session: &Session, pi: Pi, from: Option<&str>) -> (Context, ContextView) {
    let from: Option<EntryId> = from.map(|id| id.parse().unwrap());
    // 1.6.0 takes its settings, and what it calls the branch, from the whole path (SPEC 4.3).
    let (settings, path) = match pi {
        Pi::Today => (SettingsFrom::WholePath, session.path_ids(from.as_ref()).unwrap()),
        Pi::OfC12 => (SettingsFrom::ContextPath, session.context_path(from.as_ref()).unwrap()),
    };
    let mut options = ContextOptions::new().settings(settings);
    if let Some(from) = from {
        options = options.from(from);
    }
    let context = session.context(&options).unwrap();
    let settings = &context.settings;
    let view = ContextView {
        path_ids: path.iter().map(EntryId::to_string).collect(),
        messages: context.messages.iter().map(|message| message.as_json().to_owned()).collect(),
        model: serde_json::to_string(&settings.model).unwrap(),
        thinking_level: quote(&settings.thinking_level),
        active_tools: serde_json::to_string(&settings.active_tool_names).unwrap(),
    };
    (context, view)
}

/// A line of pi's view, as far as the tests look into it.
pub(crate) struct Expected {
    pub(crate) path: PathBuf,
    pub(crate) leaf: Option<String>,
    pub(crate) entries: Vec<String>,
    pub(crate) path_ids: Vec<String>,
    /// Where its `contexts_at` are.
    pub(crate) froms: Vec<String>,
}

/// Reads a file of pi's views.
pub(crate) fn read_expected(file: &Path) -> Vec<Expected> {
    let text = std::fs::read_to_string(file).unwrap();
    let texts = |raw: &str| elements(raw).unwrap().iter().map(|id| string(id).unwrap()).collect();
    text.lines()
        .map(|line| {
            let members = members(line).unwrap();
            let contexts = members.get("contexts_at").map(|raw| elements(raw.get()).unwrap()).unwrap_or_default();
            let from = |context: &String| string(self::members(context).unwrap()["from"].get()).unwrap();
            Expected {
                path: string(members["path"].get()).unwrap().into(),
                leaf: string(members["leaf"].get()),
                entries: texts(members["entries"].get()),
                path_ids: texts(members["path_ids"].get()),
                froms: contexts.iter().map(from).collect(),
            }
        })
        .collect()
}

/// Checks that leaflog sees all sessions in the file `expected` as pi does, except where a rule says otherwise, and as
/// the model does, everywhere. Returns the lines and what was left to rules.
///
/// The sessions are opened anew. Files with the two other views are written beside `expected`.
pub(crate) fn check_views(pi: Pi, expected: &Path, context: &str) -> (Vec<Expected>, LeftToRules) {
    let lines = read_expected(expected);
    let (ours, by_rules) = (expected.with_extension("leaflog"), expected.with_extension("model"));
    let mut out = [&ours, &by_rules].map(|path| BufWriter::new(File::create(path).unwrap()));
    for line in &lines {
        let session = Session::open(&line.path).unwrap_or_else(|error| panic!("{error}; {context}"));
        let model = Model::read(&line.path);
        writeln!(out[0], "{}", view(&session, pi, &line.froms).to_json()).unwrap();
        writeln!(out[1], "{}", model.view(pi, &session.path(), &line.froms).to_json()).unwrap();
    }
    out.each_mut().iter_mut().for_each(|out| out.flush().unwrap());
    drop(out);
    compare(&by_rules, &ours, &format!("leaflog is not as the rules say; {context}"));
    let left = compare(expected, &ours, &format!("leaflog is not as pi {}; {context}", pi.version()));
    (lines, left)
}

/// Lets pi read the sessions `paths` and checks that leaflog sees them the same way; `out` is a file for pi's views.
pub(crate) fn check_against_pi(pi: Pi, paths: &[PathBuf], out: &Path, context: &str) -> (Vec<Expected>, LeftToRules) {
    read(pi, paths, out, false, context);
    check_views(pi, out, context)
}
