//! pi 0.83 as the oracle of navigation (issue 3, point 1): the real `collectEntriesForBranchSummary`,
//! `prepareBranchEntries` and `AgentHarness.navigateTree` on random trees, and leaflog on copies of the same files.
//!
//! `tests/pi/navigate.mjs` writes the trees and says what pi did. Two rules make a difference: 3.5 (which entries are on
//! a context path) and 4.2 (a summary without text is no message); there pi's own functions get the entries or the
//! messages that the rule names. `LEAFLOG_PI_SEED` changes what is written.

#[path = "pi_support/files.rs"]
#[allow(dead_code, reason = "shared with tests/pi.rs")]
mod files;
#[path = "pi_support/node.rs"]
#[allow(dead_code, reason = "shared with tests/pi.rs")]
mod node;
#[path = "pi_support/random.rs"]
#[allow(dead_code, reason = "shared with tests/pi.rs")]
mod random;
#[path = "pi_support/text.rs"]
#[allow(dead_code, reason = "shared with tests/pi.rs")]
mod text;

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use leaflog::{
    Cancellation, Durability, EntryId, EntryKind, Message, Moved, NavigateOptions, Navigation, NavigationDecision,
    NavigationEvent, NavigationPlan, Navigator, Prompt, Session, SessionOptions, Summarized, Summary, collect_branch,
    prepare_branch,
};

use text::{Members, elements, members, string};

/// How many trees pi writes.
const TREES: usize = 300;

/// What `navigateTree` of 0.83 keeps free of the context window.
const RESERVE: u64 = 16_384;

/// What the stub of `navigate.mjs` answers, and what that costs.
const STUB_TEXT: &str = "what a model would write";

/// What pi made of one journey.
struct Journey {
    members: Members,
    line: String,
}

impl Journey {
    fn parse(line: &str) -> Self {
        Self { members: members(line).unwrap(), line: line.chars().take(400).collect() }
    }

    fn raw(&self, key: &str) -> &str {
        self.members[key].get()
    }

    fn text(&self, key: &str) -> Option<String> {
        string(self.raw(key))
    }

    fn id(&self, key: &str) -> Option<EntryId> {
        self.text(key).map(|id| EntryId::parse(&id).unwrap())
    }

    fn number(&self, key: &str) -> u64 {
        self.raw(key).parse().unwrap()
    }

    fn is(&self, key: &str) -> bool {
        self.raw(key) == "true"
    }

    fn list(&self, key: &str) -> Vec<String> {
        texts(self.raw(key))
    }

    /// What became of the summary.
    fn summary(&self, key: &str) -> String {
        members(self.raw("summary")).unwrap().get(key).map_or_else(String::new, |raw| raw.get().to_owned())
    }

    fn options(&self) -> NavigateOptions {
        let options = NavigateOptions::new()
            .summarize(self.is("summarize"))
            .replace_instructions(self.is("replace"))
            .context_window(RESERVE + self.number("budget"));
        match self.text("instructions") {
            Some(instructions) => options.instructions(instructions),
            None => options,
        }
    }
}

fn texts(array: &str) -> Vec<String> {
    elements(array).unwrap().iter().map(|raw| string(raw).unwrap()).collect()
}

/// Checks the parts that a host can use alone.
fn check_parts(journey: &Journey, session: &Session) {
    let target = journey.id("target").unwrap();
    let left = collect_branch(session, session.leaf().as_ref(), &target).unwrap();
    assert_eq!(left.common_ancestor, journey.id("commonAncestor"), "{}", journey.line);
    let ids: Vec<_> = left.entries.iter().map(|entry| entry.id().to_string()).collect();
    assert_eq!(ids, journey.list("entries"), "{}", journey.line);

    let prepared = prepare_branch(&left.entries, Some(journey.number("budget")));
    let messages: Vec<_> = prepared.messages.iter().map(Message::as_json).collect();
    assert_eq!(messages, elements(journey.raw("messages")).unwrap(), "{}", journey.line);
    assert_eq!(prepared.tokens, journey.number("tokens"), "{}", journey.line);
    assert_eq!(prepared.read_files, journey.list("readFiles"), "{}", journey.line);
    assert_eq!(prepared.modified_files, journey.list("modifiedFiles"), "{}", journey.line);
}

/// What a navigator was asked and told.
#[derive(Clone, Default)]
struct Seen {
    prompts: Arc<Mutex<Vec<Prompt>>>,
    events: Arc<Mutex<Vec<NavigationEvent>>>,
}

impl Seen {
    fn navigator(&self, journey: &Journey, session: &Arc<Session>) -> Navigator {
        let (prompts, events) = (Arc::clone(&self.prompts), Arc::clone(&self.events));
        let usage = journey.summary("usage");
        let stub = move |prompt: &Prompt, _: &Cancellation| {
            prompts.lock().unwrap().push(prompt.clone());
            Ok(Summarized::new(STUB_TEXT).usage(usage.clone()))
        };
        let hook = journey.text("hook").unwrap();
        let before = move |_: &NavigationPlan<'_>| {
            let go_on = NavigationDecision::proceed();
            Ok(match hook.as_str() {
                "cancel" => NavigationDecision::cancel(),
                "summary" => go_on.summary(Summary::new("by the hook").details(r#"{"by":"hook"}"#)),
                "instructions" => go_on.instructions("what the hook wants").replace_instructions(true),
                _ => go_on,
            })
        };
        let navigator = Navigator::new(Arc::clone(session)).summarizer(stub).before(before);
        navigator.after(move |event| events.lock().unwrap().push(event.clone()))
    }
}

/// Checks the whole navigation.
fn check_navigation(journey: &Journey, session: &Arc<Session>) {
    let seen = Seen::default();
    let old_leaf = session.leaf();
    let navigator = seen.navigator(journey, session);
    let outcome = navigator.navigate(&journey.id("target").unwrap(), &journey.options()).unwrap();
    let name = match &outcome {
        Navigation::Moved(_) => "moved",
        Navigation::Unchanged => "unchanged",
        Navigation::Cancelled => "cancelled",
        Navigation::Conflict { .. } => "conflict",
    };
    assert_eq!(name, journey.text("outcome").unwrap(), "{}", journey.line);
    let events = seen.events.lock().unwrap().clone();
    if let Navigation::Moved(moved) = outcome {
        assert_eq!(moved.editor_text, journey.text("editorText"), "{}", journey.line);
        check_summary(journey, session, &moved, old_leaf.as_ref());
        let from_hook = elements(journey.raw("events")).unwrap() == ["true"];
        let event = events.first().unwrap();
        assert_eq!((events.len(), event.from_hook), (1, from_hook), "{}", journey.line);
        assert_eq!((&event.old_leaf, &event.new_leaf), (&old_leaf, &session.leaf()), "{}", journey.line);
        assert_eq!(event.summary_entry, moved.summary_entry, "{}", journey.line);
    } else {
        assert_eq!(session.leaf(), journey.id("leaf"), "{}", journey.line);
        assert!(events.is_empty(), "{}", journey.line);
    }
    check_prompts(journey, &seen.prompts.lock().unwrap());
    let again = Session::open(session.path()).unwrap();
    assert_eq!(again.leaf(), session.leaf(), "{}", journey.line);
}

/// Checks where the leaf is and what the summary entry holds.
fn check_summary(journey: &Journey, session: &Session, moved: &Moved, old_leaf: Option<&EntryId>) {
    let kind = string(&journey.summary("kind")).unwrap();
    let Some(id) = &moved.summary_entry else {
        assert_eq!(("none", &moved.leaf), (kind.as_str(), &journey.id("leaf")), "{}", journey.line);
        return;
    };
    let entry = session.entry(id).unwrap();
    assert_eq!((entry.kind(), &moved.leaf), (EntryKind::BranchSummary, &moved.summary_entry), "{}", journey.line);
    assert_eq!(entry.parent_id(), journey.id("leaf").as_ref(), "{}", journey.line);
    // Where it came from is 1.6.0's (SPEC 3.3); 0.83 names the place that it went to.
    let from = old_leaf.map_or_else(|| "root".to_owned(), EntryId::to_string);
    assert_eq!(entry.text_member("fromId"), Some(from), "{}", journey.line);
    let from_hook = if kind == "hook" { "true" } else { "false" };
    assert_eq!(entry.member("fromHook").as_deref(), Some(from_hook), "{}", journey.line);
    let usage = entry.member("usage").unwrap_or_else(|| "null".to_owned());
    assert_eq!(usage, journey.summary("usage"), "{}", journey.line);
    match kind.as_str() {
        "hook" => assert_eq!(entry.text(), "by the hook", "{}", journey.line),
        "noContent" => assert_eq!(entry.text(), "No content to summarize", "{}", journey.line),
        _ => {
            let text = entry.text();
            let (_, behind) = text.split_once(STUB_TEXT).unwrap();
            assert_eq!(Some(behind.to_owned()), string(&journey.summary("behind")), "{}", journey.line);
        }
    }
    if kind != "hook" {
        let details = members(&entry.member("details").unwrap()).unwrap();
        for key in ["readFiles", "modifiedFiles"] {
            assert_eq!(texts(details[key].get()), texts(&journey.summary(key)), "{}", journey.line);
        }
    }
}

/// Checks the conversation that was sent, and whose instructions stood behind it.
fn check_prompts(journey: &Journey, prompts: &[Prompt]) {
    let asked = string(&journey.summary("kind")).unwrap() == "made";
    assert_eq!(prompts.len(), usize::from(asked), "{}", journey.line);
    let Some(prompt) = prompts.first() else { return };
    let conversation = format!("<conversation>\n{}\n</conversation>\n\n", journey.text("conversation").unwrap());
    let instructions = prompt.user.strip_prefix(&conversation).unwrap_or_else(|| panic!("{prompt}\n{}", journey.line));
    let (wanted, replaces) = match journey.text("hook").as_deref() {
        Some("instructions") => (Some("what the hook wants".to_owned()), true),
        _ => (journey.text("instructions").filter(|text| !text.is_empty()), journey.is("replace")),
    };
    match wanted {
        Some(wanted) if replaces => assert_eq!(instructions, wanted, "{}", journey.line),
        Some(wanted) => assert!(instructions.contains("## Goal") && instructions.ends_with(&wanted)),
        None => assert!(instructions.contains("## Goal") && !instructions.contains("what the caller wants")),
    }
}

#[test]
#[ignore = "needs Node and the pi packages: npm ci --ignore-scripts in tests/pi"]
fn leaflog_navigates_random_trees_as_pi_does() {
    let folder = files::temporary_folder();
    let seed = random::seed();
    let out = folder.path().to_str().unwrap();
    print!("seed {seed}: {}", node::node(&["navigate.mjs", out, &TREES.to_string(), &seed.to_string()]));
    let mut tally: BTreeMap<String, usize> = BTreeMap::new();
    for line in fs::read_to_string(folder.path().join("expected.jsonl")).unwrap().lines() {
        let journey = Journey::parse(line);
        let options = SessionOptions::new().durability(Durability::Os);
        let session = Session::open_with(journey.text("path").unwrap(), options).unwrap();
        assert_eq!(session.leaf(), journey.id("oldLeaf"), "{}", journey.line);
        check_parts(&journey, &session);
        check_navigation(&journey, &Arc::new(session));
        let kind = string(&journey.summary("kind")).unwrap();
        for what in journey.list("rules").into_iter().chain([kind, journey.text("outcome").unwrap()]) {
            *tally.entry(what).or_default() += 1;
        }
    }
    println!("{tally:?}");
    // Each case was there, and the rules explain few of them.
    for what in ["moved", "cancelled", "unchanged", "none", "noContent", "made", "hook", "3.5", "4.2"] {
        assert!(tally.get(what).is_some_and(|count| *count >= 5), "{what}: {tally:?}");
    }
    assert!(tally["3.5"] + tally["4.2"] < TREES / 2, "{tally:?}");
}
