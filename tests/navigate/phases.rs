//! One thing at a time, and idle again on every way out (SPEC 6.1).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use leaflog::{
    Cancellation, ErrorKind, NavigateOptions, Navigation, NavigationDecision, Navigator, Phase, Prompt, Summarized,
};

use super::support::{Stub, moved, scene, summarize};

type Start = fn(&Navigator) -> leaflog::Result<leaflog::PhaseGuard>;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn whatever_is_under_way_makes_everything_else_busy_and_is_named() {
    let scene = scene();
    let navigator = scene.navigator();
    let before = scene.bytes();
    let starts: [(Start, Phase, &str); 2] =
        [(Navigator::begin_turn, Phase::Turn, "turn"), (Navigator::begin_compaction, Phase::Compaction, "compaction")];
    for (start, phase, name) in starts {
        let guard = start(&navigator).unwrap();
        assert_eq!(navigator.phase(), phase);
        let errors = [
            navigator.navigate(&scene.plan_a, &NavigateOptions::new()).unwrap_err(),
            navigator.begin_turn().unwrap_err(),
            navigator.begin_compaction().unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::Busy);
            assert!(error.to_string().contains(&format!("the phase is {name};")), "{error}");
        }
        drop(guard);
        assert_eq!(navigator.phase(), Phase::Idle);
    }
    assert_eq!(scene.bytes(), before);
    moved(navigator.navigate(&scene.plan_a, &NavigateOptions::new()));
    scene.assert_leaf(Some(&scene.answer));
}

#[test]
fn a_navigation_is_busy_for_everybody_its_hooks_and_its_summariser_too() {
    let scene = scene();
    let (sender, receiver) = channel::<Arc<Navigator>>();
    let receiver = std::sync::Mutex::new(receiver);
    let target = scene.plan_a.clone();
    let navigator = scene.navigator().before(move |_| {
        let navigator = receiver.lock().unwrap().recv().unwrap();
        assert_eq!(navigator.phase(), Phase::BranchSummary);
        let error = navigator.navigate(&target, &NavigateOptions::new()).unwrap_err();
        assert!(error.to_string().contains("the phase is branch_summary;"), "{error}");
        assert_eq!(navigator.begin_turn().unwrap_err().kind(), ErrorKind::Busy);
        assert!(!navigator.wait_idle(Duration::from_millis(1)));
        Ok(NavigationDecision::proceed())
    });
    let navigator = Arc::new(navigator);
    sender.send(Arc::clone(&navigator)).unwrap();
    moved(navigator.navigate(&scene.plan_a, &NavigateOptions::new()));
    assert_eq!(navigator.phase(), Phase::Idle);
}

#[test]
fn a_guard_learns_of_an_abort_and_the_next_one_starts_afresh() {
    let navigator = scene().navigator();
    assert!(!navigator.abort(), "there is nothing to abort");
    let guard = navigator.begin_turn().unwrap();
    assert!(!guard.is_aborted());
    assert!(navigator.abort());
    assert!(guard.is_aborted() && guard.cancellation().is_cancelled());
    assert_eq!(navigator.phase(), Phase::Turn, "an abort asks, the guard decides");
    drop(guard);
    assert!(!navigator.begin_turn().unwrap().is_aborted());
}

#[test]
fn whoever_waits_for_idle_is_woken_by_the_guard_or_told_that_it_took_too_long() {
    let scene = scene();
    let navigator = Arc::new(scene.navigator());
    assert!(navigator.wait_idle(Duration::ZERO));
    let guard = navigator.begin_turn().unwrap();
    assert!(!navigator.wait_idle(Duration::from_millis(20)));
    let turn = thread::spawn(move || {
        // The turn stops when it is asked to.
        assert!(guard.cancellation().wait(LONG));
    });
    let start = Instant::now();
    navigator.abort();
    assert!(navigator.wait_idle(LONG));
    assert!(start.elapsed() < LONG / 2);
    turn.join().unwrap();
    moved(navigator.navigate(&scene.plan_a, &NavigateOptions::new()));
}

#[test]
fn a_summary_that_has_started_can_be_aborted_from_another_thread() {
    let scene = scene();
    let before = scene.bytes();
    let (started, wait_started) = channel();
    let started = std::sync::Mutex::new(started);
    let slow = move |_: &Prompt, cancellation: &Cancellation| {
        started.lock().unwrap().send(()).unwrap();
        assert!(cancellation.wait(LONG), "nobody aborted");
        // It finished all the same, which is too late.
        Ok(Summarized::new("done"))
    };
    let navigator = Arc::new(scene.navigator().summarizer(slow));
    let (other, target) = (Arc::clone(&navigator), scene.plan_a.clone());
    let navigating = thread::spawn(move || other.navigate(&target, &summarize()));
    wait_started.recv().unwrap();
    assert_eq!(navigator.phase(), Phase::BranchSummary);
    assert!(navigator.abort());
    assert!(matches!(navigating.join().unwrap(), Ok(Navigation::Cancelled)));
    assert!(navigator.wait_idle(LONG));
    assert_eq!(scene.bytes(), before);
    scene.assert_leaf(Some(&scene.result_a));
}

#[test]
fn a_failure_of_an_aborted_summary_is_a_cancellation() {
    let scene = scene();
    let aborting = |_: &Prompt, cancellation: &Cancellation| {
        cancellation.cancel();
        Err(leaflog::SummaryFailure::failed("connection closed"))
    };
    let navigation = scene.navigator().summarizer(aborting).navigate(&scene.plan_a, &summarize());
    assert!(matches!(navigation, Ok(Navigation::Cancelled)));
    scene.assert_leaf(Some(&scene.result_a));
}

#[test]
fn an_abort_while_the_hook_is_asked_stops_even_a_plain_move() {
    let scene = scene();
    let before = scene.bytes();
    let navigator = scene.navigator().before(|plan| {
        plan.cancellation.cancel();
        Ok(NavigationDecision::proceed())
    });
    assert!(matches!(navigator.navigate(&scene.plan_a, &NavigateOptions::new()), Ok(Navigation::Cancelled)));
    assert_eq!(scene.bytes(), before);
}

#[test]
fn a_panic_of_a_hook_or_a_summariser_leaves_the_leaf_and_the_phase_idle() {
    let scene = scene();
    let before = scene.bytes();
    let panicking: [Navigator; 2] = [
        scene.navigator().before(|_| panic!("the hook is broken")),
        scene.navigator().summarizer(|_: &Prompt, _: &Cancellation| panic!("the summariser is broken")),
    ];
    for navigator in panicking {
        let outcome = catch_unwind(AssertUnwindSafe(|| navigator.navigate(&scene.plan_a, &summarize())));
        assert!(outcome.is_err());
        assert_eq!(navigator.phase(), Phase::Idle);
        assert_eq!(scene.bytes(), before);
        drop(navigator.begin_turn().unwrap());
    }
    // A listener is told when all is done.
    let navigator = scene.navigator().summarizer(Stub::default()).after(|_| panic!("the listener is broken"));
    assert!(catch_unwind(AssertUnwindSafe(|| navigator.navigate(&scene.plan_a, &NavigateOptions::new()))).is_err());
    assert_eq!(navigator.phase(), Phase::Idle);
    scene.assert_leaf(Some(&scene.answer));
}

#[test]
fn phases_have_the_names_of_pi() {
    let names = [Phase::Idle, Phase::Turn, Phase::Compaction, Phase::BranchSummary].map(|phase| phase.to_string());
    assert_eq!(names, ["idle", "turn", "compaction", "branch_summary"]);
}
