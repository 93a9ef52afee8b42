//! Another writer moves the leaf meanwhile (SPEC 3.7, 6.2).

use std::sync::Arc;

use leaflog::{
    AppendOptions, Cancellation, EntryId, ErrorKind, NavigateOptions, Navigation, NewEntry, Prompt, Summarized,
};

use super::common::{self, texts};
use super::support::{Scene, TEXT, moved, scene, summarize};

/// Lets `meanwhile` happen while the summary is written.
fn navigate_while(scene: &Scene, meanwhile: impl Fn() + Send + Sync + 'static) -> leaflog::Result<Navigation> {
    let slow = move |_: &Prompt, _: &Cancellation| {
        meanwhile();
        Ok(Summarized::new(TEXT))
    };
    scene.navigator().summarizer(slow).navigate(&scene.plan_a, &summarize().label("A"))
}

#[test]
fn a_leaf_that_another_handle_moved_during_the_summary_is_a_conflict_and_the_summary_is_not_lost() {
    let scene = scene();
    let other = Arc::new(common::open(scene.session.path()));
    let appending = Arc::clone(&other);
    let navigation = navigate_while(&scene, move || drop(appending.append(NewEntry::user("meanwhile")).unwrap()));
    let Ok(Navigation::Conflict { error, summary: Some(summary) }) = navigation else { panic!("{navigation:?}") };
    let actual = other.leaf();
    assert_eq!((error.kind(), error.actual_leaf()), (ErrorKind::Conflict, Some(actual.as_ref())));
    assert!(summary.text.contains(TEXT) && !summary.from_hook);
    // Nothing was written, and the handle stands where the leaf is.
    assert_eq!(common::ids(&scene.session).len(), 5);
    assert!(scene.session.labels().is_empty());
    scene.assert_leaf(actual.as_ref());
    // The caller may store the summary after all.
    scene.session.move_with(Some(&scene.answer), Some(summary.into()), &AppendOptions::new()).unwrap();
    let stored = texts(&common::assert_reopens_alike(&scene.session));
    assert!(stored[2].contains(TEXT), "{stored:?}");
}

#[test]
fn a_plain_move_notices_a_leaf_that_moved_and_the_next_one_goes_through() {
    let scene = scene();
    let other = common::open(scene.session.path());
    let actual = other.append(NewEntry::user("meanwhile")).unwrap().id;
    for options in [NavigateOptions::new(), NavigateOptions::new().label("l")] {
        let session = Arc::new(common::open(scene.session.path()));
        session.branch(Some(&scene.question)).unwrap();
        let newer = other.append(NewEntry::user("again")).unwrap().id;
        let navigator = leaflog::Navigator::new(Arc::clone(&session));
        let navigation = navigator.navigate(&scene.answer, &options);
        let Ok(Navigation::Conflict { error, summary: None }) = navigation else { panic!("{navigation:?}") };
        assert_eq!(error.actual_leaf(), Some(Some(&newer)));
        assert_eq!(session.stored_leaf(), Some(newer));
    }
    let navigation = scene.navigator().navigate(&scene.plan_a, &NavigateOptions::new());
    assert!(matches!(navigation, Ok(Navigation::Conflict { .. })));
    assert_ne!(scene.session.leaf(), Some(actual));
    moved(scene.navigator().navigate(&scene.plan_a, &NavigateOptions::new()));
    scene.assert_leaf(Some(&scene.answer));
}

#[test]
fn a_leaf_that_the_same_handle_moved_during_the_summary_is_a_conflict_too() {
    let scene = scene();
    let session = Arc::clone(&scene.session);
    let navigation = navigate_while(&scene, move || drop(session.append(NewEntry::user("out of turn")).unwrap()));
    assert!(matches!(navigation, Ok(Navigation::Conflict { summary: Some(_), .. })), "{navigation:?}");
    assert_eq!(texts(&scene.session).last().unwrap(), "out of turn");
}

#[test]
fn labels_names_and_side_records_of_others_are_no_conflict() {
    let scene = scene();
    let other = common::open(scene.session.path());
    let (labelled, parent): (EntryId, EntryId) = (scene.answer.clone(), scene.question.clone());
    let navigation = navigate_while(&scene, move || {
        other.set_label(&labelled, "plans").unwrap();
        other.set_name("both plans").unwrap();
        other.append_with(NewEntry::user("beside"), &AppendOptions::new().side(Some(parent.clone()))).unwrap();
    });
    let gone = moved(navigation);
    assert_eq!(scene.session.name().as_deref(), Some("both plans"));
    assert_eq!(scene.session.label(&gone.summary_entry.unwrap()).unwrap().text, "A");
    scene.assert_leaf(gone.leaf.as_ref());
}

#[test]
fn a_log_that_is_gone_is_an_error_and_the_phase_is_idle() {
    let scene = scene();
    let navigator = scene.navigator();
    scene.store.remove(scene.session.id().as_str()).unwrap();
    assert_eq!(common::kind(navigator.navigate(&scene.plan_a, &NavigateOptions::new())), ErrorKind::Gone);
    assert_eq!(navigator.phase(), leaflog::Phase::Idle);
}
