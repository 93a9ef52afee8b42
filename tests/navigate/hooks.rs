//! What a host is asked before and told after (SPEC 6.3).

use std::sync::{Arc, Mutex};

use leaflog::{Error, ErrorKind, NavigateOptions, Navigation, NavigationDecision, NavigationEvent, NewEntry, Summary};

use super::common::{kind, strings};
use super::support::{Stub, TEXT, moved, scene, summarize};

/// Keeps what a listener is told.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<NavigationEvent>>>);

impl Told {
    fn listener(&self) -> impl Fn(&NavigationEvent) + Send + Sync + 'static {
        let told = Arc::clone(&self.0);
        move |event| told.lock().unwrap().push(event.clone())
    }

    #[track_caller]
    fn only(&self) -> NavigationEvent {
        let told = self.0.lock().unwrap();
        assert_eq!(told.len(), 1);
        told[0].clone()
    }

    fn is_empty(&self) -> bool {
        self.0.lock().unwrap().is_empty()
    }
}

#[test]
fn the_hook_before_sees_all_that_is_planned() {
    let scene = scene();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let plans = Arc::clone(&seen);
    let navigator = scene.navigator().summarizer(Stub::default()).before(move |plan| {
        let entries = strings(plan.entries.iter().map(|entry| entry.id().clone())).join(" ");
        let ids = format!("{} {:?} {:?} {entries}", plan.target, plan.old_leaf, plan.common_ancestor);
        let (wanted, replaces) = (plan.summary_wanted, plan.replace_instructions);
        plans.lock().unwrap().push((
            ids,
            wanted,
            plan.instructions.map(str::to_owned),
            replaces,
            plan.label.map(str::to_owned),
        ));
        Ok(NavigationDecision::proceed())
    });
    let options = summarize().instructions("look here").replace_instructions(true).label("l");
    moved(navigator.navigate(&scene.plan_a, &options));
    scene.session.move_to(None).unwrap();
    moved(navigator.navigate(&scene.answer, &NavigateOptions::new()));
    let (result_a, plan_a) = (&scene.result_a, &scene.plan_a);
    // The deepest common ancestor of a selected user message is the message itself.
    let ids = format!("{plan_a} {:?} {:?} {result_a}", Some(result_a), Some(plan_a));
    let first = (ids, true, Some("look here".to_owned()), true, Some("l".to_owned()));
    let second = (format!("{} None None ", scene.answer), false, None, false, None);
    assert_eq!(*seen.lock().unwrap(), [first, second]);
}

#[test]
fn a_hook_that_cancels_or_fails_stops_everything() {
    let scene = scene();
    let before = scene.bytes();
    let (stub, told) = (Stub::default(), Told::default());
    let navigator = || scene.navigator().summarizer(stub.clone()).after(told.listener());
    let cancelling = navigator().before(|_| Ok(NavigationDecision::cancel().summary(Summary::new("unused"))));
    assert!(matches!(cancelling.navigate(&scene.plan_a, &summarize()), Ok(Navigation::Cancelled)));
    let failing = navigator().before(|_| Err(Error::new(ErrorKind::Denied, "not now")));
    assert_eq!(kind(failing.navigate(&scene.plan_a, &summarize())), ErrorKind::Denied);
    assert!(stub.asked().is_empty() && told.is_empty());
    assert_eq!(scene.bytes(), before);
    scene.assert_leaf(Some(&scene.result_a));
}

#[test]
fn a_summary_from_the_hook_is_stored_whether_or_not_one_was_wanted_and_nobody_else_is_asked() {
    for options in [NavigateOptions::new(), summarize()] {
        let scene = scene();
        let (stub, told) = (Stub::default(), Told::default());
        let navigator = scene.navigator().summarizer(stub.clone()).after(told.listener()).before(|_| {
            let summary = Summary::new("by hand").details(r#"{"n":1e3}"#).usage(r#"{"input":1}"#);
            Ok(NavigationDecision::proceed().summary(summary))
        });
        let gone = moved(navigator.navigate(&scene.plan_a, &options));
        let entry = scene.session.entry(gone.summary_entry.as_ref().unwrap()).unwrap();
        assert_eq!(entry.text(), "by hand");
        let members = ["details", "usage", "fromHook"].map(|key| entry.member(key).unwrap());
        assert_eq!(members, [r#"{"n":1e3}"#, r#"{"input":1}"#, "true"]);
        assert!(stub.asked().is_empty());
        let event = told.only();
        assert_eq!((event.new_leaf.as_ref(), event.old_leaf.as_ref()), (Some(entry.id()), Some(&scene.result_a)));
        assert_eq!((event.summary_entry.as_ref(), event.from_hook), (Some(entry.id()), true));
        scene.assert_leaf(Some(entry.id()));
    }
}

#[test]
fn a_summary_from_the_hook_is_stored_even_where_the_leaf_would_stay() {
    let scene = scene();
    scene.session.move_to(Some(&scene.answer)).unwrap();
    let navigator = scene.navigator().before(|_| Ok(NavigationDecision::proceed().summary(Summary::new("note"))));
    let gone = moved(navigator.navigate(&scene.plan_a, &NavigateOptions::new()));
    let entry = scene.session.entry(&gone.summary_entry.unwrap()).unwrap();
    assert_eq!(entry.parent_id(), Some(&scene.answer));
}

#[test]
fn an_empty_summary_from_the_hook_is_none_and_a_broken_one_moves_nothing() {
    let scene = scene();
    let stub = Stub::default();
    let empty = scene.navigator().summarizer(stub.clone());
    let empty = empty.before(|_| Ok(NavigationDecision::proceed().summary(Summary::new(""))));
    let gone = moved(empty.navigate(&scene.plan_a, &summarize()));
    let entry = scene.session.entry(&gone.summary_entry.unwrap()).unwrap();
    assert!(entry.text().contains(TEXT));
    assert_eq!(entry.member("fromHook").as_deref(), Some("false"));
    let before = scene.bytes();
    let summary = Summary::new("s").details(r#"1,"parentId":null"#);
    let broken = scene.navigator().before(move |_| Ok(NavigationDecision::proceed().summary(summary.clone())));
    assert_eq!(kind(broken.navigate(&scene.plan_a, &summarize())), ErrorKind::Invalid);
    assert_eq!(scene.bytes(), before);
}

#[test]
fn the_hook_may_change_the_instructions() {
    let scene = scene();
    let stub = Stub::default();
    let navigator = scene
        .navigator()
        .summarizer(stub.clone())
        .before(|_| Ok(NavigationDecision::proceed().instructions("one word only").replace_instructions(true)));
    moved(navigator.navigate(&scene.plan_a, &summarize().instructions("the caller's")));
    assert!(stub.prompt().user.ends_with("</conversation>\n\none word only"));
}

#[test]
fn the_event_after_tells_of_a_plain_move_and_of_a_leaf_that_stays() {
    let scene = scene();
    let told = Told::default();
    moved(scene.navigator().after(told.listener()).navigate(&scene.plan_a, &NavigateOptions::new().label("l")));
    let event = told.only();
    assert_eq!((event.new_leaf, event.old_leaf), (scene.session.leaf(), Some(scene.result_a.clone())));
    assert_eq!((event.summary_entry, event.from_hook), (None, false));
    // Nothing is told of what did not happen.
    let told = Told::default();
    scene.add(NewEntry::assistant("next"));
    let failing = scene.navigator().after(told.listener()).navigate(&scene.plan_a, &summarize());
    assert_eq!(kind(failing), ErrorKind::Invalid);
    assert!(told.is_empty());
}
