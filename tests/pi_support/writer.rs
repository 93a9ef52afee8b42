//! Random sessions, written through leaflog's public API.

use leaflog::{
    AppendOptions, BranchSummary, Compaction, ContextOptions, CreateOptions, Durability, EntryId, EntryKind, Fork,
    ForkOptions, NewEntry, Scope, Session, SessionOptions, Store, Timestamp,
};

use super::content::{self, Style};
use super::node::Pi;
use super::random::{Random, seed};
use super::text::quote;

const CWDS: [&str; 3] = ["/home/dev/alpha", "/home/dev/beta work", "/srv/データ"];
const ENTRIES_MAX: usize = 60;
const LONG_TEXT_BYTES: usize = 200_000;

#[derive(Clone, Copy)]
enum Action {
    Message,
    Builder,
    Batch,
    Under,
    ToLeaf,
    Side,
    Move,
    MoveToRoot,
    MoveWithSummary,
    BranchAndAppend,
    Label,
    Name,
    Settings,
    Compact,
    Custom,
    CustomMessage,
    ContextEdit,
    Usage,
    Unknown,
    SecondHandle,
}

const ACTIONS: [(usize, Action); 20] = [
    (40, Action::Message),
    (8, Action::Builder),
    (5, Action::Batch),
    (4, Action::Under),
    (3, Action::ToLeaf),
    (5, Action::Side),
    (8, Action::Move),
    (1, Action::MoveToRoot),
    (4, Action::MoveWithSummary),
    (5, Action::BranchAndAppend),
    (8, Action::Label),
    (3, Action::Name),
    (7, Action::Settings),
    (6, Action::Compact),
    (4, Action::Custom),
    (5, Action::CustomMessage),
    (6, Action::ContextEdit),
    (3, Action::Usage),
    (3, Action::Unknown),
    (3, Action::SecondHandle),
];

/// A store whose appends need not survive a power cut.
pub(crate) fn store(root: &std::path::Path) -> Store {
    Store::new(root).with_options(SessionOptions::new().durability(Durability::Os))
}

/// Writes one session and perhaps forks of it.
pub(crate) fn write_session(store: &Store, random: &mut Random, style: Style) -> Vec<Session> {
    let mut options = CreateOptions::new(random.pick(&CWDS));
    if random.chance(30) {
        options =
            options.metadata(format!(r#"{{"title":{},"value":{}}}"#, content::text(random), content::json(random, 0)));
    }
    if random.chance(10) {
        options = options.id(format!("own.id_{}", random.next()).parse().unwrap());
    }
    let session = store.create(options).unwrap();
    let size = if random.chance(5) { random.below(2) } else { 1 + random.below(ENTRIES_MAX) };
    do_random_things(&session, random, style, size);
    let mut sessions = vec![session];
    if random.chance(25) {
        sessions.extend(fork(store, &sessions[0], random));
        let count = random.below(5);
        do_random_things(sessions.last().unwrap(), random, style, count);
    }
    sessions
}

/// Forks a session in a random way, and checks that the copy stands where it should and has what holds there.
pub(crate) fn fork(store: &Store, source: &Session, random: &mut Random) -> Option<Session> {
    let kinds = |kind: &dyn Fn(&leaflog::Entry) -> bool| -> Vec<EntryId> {
        source.entries().map(Result::unwrap).filter(kind).map(|entry| entry.id().clone()).collect()
    };
    let fork = match random.below(3) {
        0 => Fork::Whole,
        1 => Fork::At(random.maybe(&kinds(&|entry| entry.kind() != EntryKind::Leaf))?.clone()),
        _ => Fork::Before(random.maybe(&kinds(&|entry| entry.role() == Some(leaflog::Role::User)))?.clone()),
    };
    let scope = if random.chance(30) { Scope::Context } else { Scope::Path };
    let options = ForkOptions::new().scope(scope).cwd(random.pick(&CWDS));
    let copy = store.fork(source, &fork, options).unwrap().session;
    check_fork(source, &fork, scope, &copy);
    Some(copy)
}

fn check_fork(source: &Session, fork: &Fork, scope: Scope, copy: &Session) {
    let place = format!("{fork:?} of {}, seed {}", source.path().display(), seed());
    let path =
        |from: Option<&EntryId>| if scope == Scope::Path { source.path_ids(from) } else { source.context_path(from) };
    let expected = match fork {
        Fork::Whole => source.stored_leaf(),
        Fork::At(id) => Some(id.clone()),
        Fork::Before(id) => source.path_ids(Some(id)).unwrap().iter().rev().nth(1).cloned(),
    };
    assert_eq!(copy.leaf(), expected, "{place}");
    assert_eq!(copy.name(), source.name(), "{place}");
    for entry in copy.entries().map(Result::unwrap).filter(|entry| source.entry(entry.id()).is_ok()) {
        assert_eq!(copy.label(entry.id()), source.label(entry.id()), "{place}");
    }
    let Some(leaf) = expected else { return };
    let messages = |session: &Session| session.context(&ContextOptions::new().from(leaf.clone())).unwrap().messages;
    assert_eq!(messages(copy), messages(source), "{place}");
    if *fork != Fork::Whole {
        assert_eq!(copy.path_ids(None).unwrap(), path(Some(&leaf)).unwrap(), "{place}");
    }
}

/// Appends to, moves in and labels a session at random.
pub(crate) fn do_random_things(session: &Session, random: &mut Random, style: Style, count: usize) {
    let mut writer = Writer { session, random, style, edited: None };
    for _ in 0..count {
        writer.step();
    }
}

struct Writer<'a> {
    session: &'a Session,
    random: &'a mut Random,
    style: Style,
    /// The target of the last context edit.
    edited: Option<EntryId>,
}

impl Writer<'_> {
    fn step(&mut self) {
        match self.random.weighted(&ACTIONS) {
            Action::Message => self.append(&AppendOptions::new()),
            Action::Builder => self.append_built(),
            Action::Batch => self.batch(),
            Action::Under => self.append_under(),
            Action::ToLeaf => self.append(&AppendOptions::new().to_leaf()),
            Action::Side => self.append_aside(),
            Action::Move => self.move_to_any(),
            Action::MoveToRoot => drop(self.session.move_to(None).unwrap()),
            Action::MoveWithSummary => self.move_with_summary(),
            Action::BranchAndAppend => self.branch_and_append(),
            Action::Label => self.label(),
            Action::Name => self.name(),
            Action::Settings => self.settings(),
            Action::Compact => self.compact(),
            Action::Custom => self.custom(),
            Action::CustomMessage => self.custom_message(),
            Action::ContextEdit => self.edit(),
            Action::Usage => self.usage(),
            Action::Unknown => self.unknown(),
            Action::SecondHandle => self.through_a_second_handle(),
        }
    }

    /// Any entry that can be a parent.
    fn any(&mut self) -> Option<EntryId> {
        let entries = self.session.entries().map(Result::unwrap);
        let nodes: Vec<_> =
            entries.filter(|entry| entry.kind() != EntryKind::Leaf).map(|entry| entry.id().clone()).collect();
        self.random.maybe(&nodes).cloned()
    }

    fn message(&mut self) -> NewEntry {
        let raw = content::message(self.random, self.style);
        let entry = NewEntry::message(&raw).unwrap();
        match self.random.below(12) {
            0 => entry.with_id(self.new_id()),
            1 => entry.with_timestamp(Timestamp::from_millis(
                1_000_000_000_000 + i64::try_from(self.random.below(1 << 40)).unwrap(),
            )),
            _ => entry,
        }
    }

    /// An id that a caller chose.
    fn new_id(&mut self) -> EntryId {
        let number = self.random.next();
        let id = match self.random.below(4) {
            0 => format!("会话 {number}"),
            1 => format!("{number}"),
            2 => format!("{number:016X}"),
            _ => format!("{:08x}", number >> 32),
        };
        id.parse().unwrap()
    }

    fn put(&self, entry: NewEntry) {
        self.session.append(entry).unwrap();
    }

    fn append(&mut self, options: &AppendOptions) {
        let entry = self.message();
        self.session.append_with(entry, options).unwrap();
    }

    fn append_built(&mut self) {
        let text = content::plain_text(self.random);
        let entry = match self.random.below(if self.style.has(Pi::Today) { 5 } else { 4 }) {
            0 => NewEntry::user(text),
            1 => NewEntry::assistant(text),
            2 => NewEntry::tool_result("call_1", "read", text),
            3 => NewEntry::user("long ".repeat(LONG_TEXT_BYTES / 5 / (1 + self.random.below(100)))),
            _ => NewEntry::system(text),
        };
        self.put(entry);
    }

    fn batch(&mut self) {
        let entries: Vec<_> = (0..2 + self.random.below(4)).map(|_| self.message()).collect();
        let options = match self.any().filter(|_| self.random.chance(30)) {
            Some(parent) if self.random.chance(50) => AppendOptions::new().side(Some(parent)),
            parent => AppendOptions::new().under(parent),
        };
        let options = if self.random.chance(60) { AppendOptions::new() } else { options };
        self.session.append_batch(entries, &options).unwrap();
    }

    fn append_under(&mut self) {
        let parent = self.any().filter(|_| self.random.chance(90));
        self.append(&AppendOptions::new().under(parent));
    }

    fn append_aside(&mut self) {
        let parent = self.any().filter(|_| self.random.chance(90));
        self.append(&AppendOptions::new().side(parent));
    }

    fn move_to_any(&mut self) {
        if let Some(target) = self.any() {
            self.session.move_to(Some(&target)).unwrap();
        }
    }

    fn move_with_summary(&mut self) {
        let target = self.any().filter(|_| self.random.chance(90));
        let summary = if self.random.chance(20) { String::new() } else { content::plain_text(self.random) };
        let mut summary = BranchSummary::new(summary);
        if self.random.chance(50) {
            let details = content::json(self.random, 1);
            summary = summary.details(details).usage(content::usage(self.random)).from_hook(self.random.chance(50));
        }
        self.session.move_with(target.as_ref(), Some(summary), &AppendOptions::new()).unwrap();
    }

    fn branch_and_append(&mut self) {
        let target = self.any().filter(|_| self.random.chance(90));
        self.session.branch(target.as_ref()).unwrap();
        if self.random.chance(30) {
            // A label moves the leaf, and leaves the chosen position alone.
            self.label();
        }
        self.append(&AppendOptions::new());
    }

    fn label(&mut self) {
        let entries: Vec<_> = self.session.entries().map(|entry| entry.unwrap().id().clone()).collect();
        let Some(target) = self.random.maybe(&entries) else { return };
        let label = if self.random.chance(25) { " ".to_owned() } else { content::plain_text(self.random) };
        self.session.set_label(target, &label).unwrap();
    }

    fn name(&mut self) {
        let name = if self.random.chance(25) { String::new() } else { content::plain_text(self.random) };
        self.session.set_name(&name).unwrap();
        if self.random.chance(30) {
            // The name is stated again, and stays what it was for whoever reads only that.
            self.session.set_cwd(format!("/moved/{}", self.random.below(100)).as_ref()).unwrap();
        }
    }

    fn settings(&mut self) {
        let (provider, model) = content::model(self.random);
        let kinds = if self.style.has(Pi::OfC12) { 3 } else { 2 };
        let entry = match self.random.below(kinds) {
            0 => NewEntry::model_change(provider, model),
            1 => NewEntry::thinking_level_change(content::level(self.random)),
            _ => NewEntry::active_tools_change(&content::tools(self.random)),
        };
        self.put(entry);
    }

    fn compact(&mut self) {
        if self.random.chance(15) {
            return self.compact_oddly();
        }
        let mut compaction =
            Compaction::new(content::plain_text(self.random)).tokens_before(self.random.next() % 200_000);
        let path = self.session.path_ids(None).unwrap();
        if self.style.has(Pi::OfC12) && self.random.chance(40) {
            let tail: Vec<_> = (0..self.random.below(4)).map(|_| content::message(self.random, self.style)).collect();
            compaction = compaction.retained_tail(format!("[{}]", tail.join(" , ")));
        } else if let Some(first_kept) = self.random.maybe(&path).filter(|_| self.random.chance(75)) {
            compaction = compaction.first_kept(first_kept.clone());
        }
        if self.style.has(Pi::Today) && self.random.chance(70) {
            let text = content::text(self.random);
            compaction = compaction.system_message(format!(r#"{{"role":"system","content":{text},"timestamp":1e12}}"#));
        }
        if self.random.chance(30) {
            let details = content::json(self.random, 1);
            compaction = compaction.details(details).usage(content::usage(self.random)).from_hook(true);
        }
        self.session.compact(compaction.keep_settings(self.random.chance(30))).unwrap();
    }

    /// A compaction whose first kept entry is nothing to keep from: elsewhere, unknown, empty or missing.
    fn compact_oddly(&mut self) {
        let elsewhere = self.any().map(|id| quote(&id.to_string()));
        let first_kept = match self.random.below(4) {
            0 => elsewhere,
            1 => Some(r#""zzzzzzzz""#.to_owned()),
            2 => Some(r#""""#.to_owned()),
            _ => None,
        };
        let first_kept = first_kept.map_or_else(String::new, |id| format!(r#","firstKeptEntryId":{id}"#));
        let summary = content::text(self.random);
        let raw = format!(r#"{{"type":"compaction","summary":{summary}{first_kept},"tokensBefore":1e3}}"#);
        self.put(NewEntry::from_json(&raw).unwrap());
    }

    fn custom(&mut self) {
        let data = content::json(self.random, 0);
        let custom_type = self.random.pick(&["todo", "状态"]);
        self.put(NewEntry::custom(custom_type, &data).unwrap());
    }

    fn custom_message(&mut self) {
        let content = content::content(self.random);
        let raw = match self.random.below(4) {
            0 if self.style.has(Pi::Today) => {
                r#"{"type":"custom_message","customType":"note","content":null,"display":true}"#.to_owned()
            }
            1 => {
                let details = content::json(self.random, 1);
                format!(
                    r#"{{"customType":"note","type":"custom_message","details":{details},"content":{content},"display":false}}"#
                )
            }
            _ => return self.put(NewEntry::custom_message("note", &content, true).unwrap()),
        };
        self.put(NewEntry::from_json(&raw).unwrap());
    }

    fn edit(&mut self) {
        if !self.style.has(Pi::Today) {
            return self.append(&AppendOptions::new());
        }
        let path = self.session.path_ids(None).unwrap();
        let again = self.edited.clone().filter(|_| self.random.chance(30));
        let target = again.or_else(|| self.random.maybe(&path).cloned());
        let Some(target) = target.filter(|_| self.random.chance(90)).or_else(|| self.any()) else { return };
        let replacement = match self.random.below(10) {
            0..=3 => "null".to_owned(),
            _ => format!(r#"{{ "content":{} }}"#, content::content(self.random)),
        };
        let raw = format!(
            r#"{{"type":"context_edit","targetId":{},"replacement":{replacement}}}"#,
            quote(&target.to_string())
        );
        self.put(NewEntry::from_json(&raw).unwrap());
        self.edited = Some(target);
    }

    fn usage(&mut self) {
        let (provider, model) = content::model(self.random);
        let usage = content::usage(self.random);
        let raw =
            format!(r#"{{"type":"usage","kind":"title","provider":"{provider}","model":"{model}","usage":{usage}}}"#);
        self.put(NewEntry::from_json(&raw).unwrap());
    }

    /// A kind of the future, with members that look like those of other kinds.
    fn unknown(&mut self) {
        let (payload, message) = (content::json(self.random, 0), content::message(self.random, self.style));
        let raw = format!(r#"{{"type":"bookmark","payload":{payload},"message":{message},"targetId":"zzzzzzzz"}}"#);
        self.put(NewEntry::from_json(&raw).unwrap());
    }

    /// Another handle appends, and this one goes on behind it.
    fn through_a_second_handle(&mut self) {
        let other = Session::open_with(self.session.path(), SessionOptions::new().durability(Durability::Os)).unwrap();
        let entry = self.message();
        other.append(entry).unwrap();
        self.session.refresh().unwrap();
        assert_eq!(self.session.leaf(), other.leaf());
    }
}
