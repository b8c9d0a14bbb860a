#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]

use std::time::SystemTime;

use futures_util::FutureExt as _;

use super::{
    super::{AgentEventKind, handle::RunHandle},
    *,
};

fn parent(run: &RunContext) -> Arc<ParentRun> {
    ParentRun::offer_to_child_runs(run, &RunHandle::new(run.cancellation().clone()).inbox())
}

fn event(number: usize) -> Box<AgentEvent> {
    let kind = AgentEventKind::Notice { text: number.to_string() };
    Box::new(AgentEvent { time: SystemTime::now(), run: "run-1".into(), agent: "scout".into(), kind })
}

fn call() -> CallAddress {
    CallAddress { run: None, call_id: "c".to_owned().into(), serial: 1 }
}

#[test]
fn a_run_is_within_itself_its_parent_and_all_runs_above() {
    let root = RunContext::new().with_id("root");
    let _root = parent(&root);
    let child = root.child("a").with_id("child");
    let _child = parent(&child);
    let grandchild = child.child("b").with_id("grandchild");
    let within = |run: &RunContext| {
        ["root", "child", "grandchild", "other"].map(|id| ParentRun::is_within(run, &id.into()))
    };
    assert_eq!(within(&root), [true, false, false, false]);
    assert_eq!(within(&child), [true, true, false, false]);
    assert_eq!(within(&grandchild), [true, true, true, false]);
    // A child of a run that offers nothing has its parent.
    let plain = RunContext::new().with_id("other").child("a");
    assert_eq!(within(&plain), [false, false, false, true]);
}

#[test]
fn a_run_offers_itself_to_its_children_as_long_as_it_lasts() {
    let root = RunContext::new();
    let offered = parent(&root);
    assert_eq!(offered.run_id(), root.id());
    let child = root.child("a");
    assert!(ParentRun::of(&child).is_some_and(|above| Arc::ptr_eq(&above, &offered)));
    // Approvals of all runs are those of the root.
    let below = parent(&child);
    assert!(Arc::ptr_eq(&below.approvals, &offered.approvals));
    drop((offered, below));
    assert!(ParentRun::of(&child).is_none());
}

#[test]
fn usage_counts_for_the_turn_and_the_run_and_for_the_whole() {
    let usage = |rounds: u64| RunUsage { rounds, ..RunUsage::default() };
    let run = RunContext::new();
    let whole = parent(&run);
    let handle = RunHandle::new(run.cancellation().clone());
    let part =
        ParentRun::offer_part_to_child_runs(&run.child("a"), &handle.inbox(), Some(Arc::clone(&whole)));
    part.count_child_usage(&usage(2));
    let rounds = |parent: &ParentRun| (parent.usage().rounds, parent.usage_of_turn().rounds);
    assert_eq!((rounds(&part), rounds(&whole)), ((2, 2), (2, 2)));
    part.begin_turn();
    part.count_child_usage(&usage(3));
    assert_eq!((rounds(&part), rounds(&whole)), ((5, 3), (5, 5)));
    part.continue_usage(ChildUsage { rounds: 7, ..ChildUsage::default() });
    assert_eq!((rounds(&part), rounds(&whole)), ((7, 7), (5, 5)));
}

#[test]
fn each_note_of_a_run_below_is_taken_once_and_shown_above() {
    let parent = parent(&RunContext::new());
    assert!(parent.note_for_child().is_none());
    parent.set_shown_messages(vec![Message::user("Look.")]);
    let note = parent.note_for_child().unwrap();
    assert_eq!(note.text(), "For context, the conversation so far:\nuser: Look.");
    let shown = |text: &str| parent.shown_run(vec![Message::user(text)]);
    let texts = |notes: &[Message]| notes.iter().map(Message::text).collect::<Vec<_>>();
    assert!(parent.take_notes().is_empty());
    parent.add_notes_of_ended_child("scout", &shown("One."));
    let first = "For context, the messages of the agent `scout`:\nuser: One.";
    assert_eq!(texts(&parent.take_notes()), [first]);
    // What a run below was told by those below it follows.
    let nested = shown("Two.");
    assert_eq!(
        (texts(&nested.messages), texts(&nested.notes)),
        (vec!["Two.".to_owned()], vec![first.to_owned()])
    );
    parent.add_notes_of_ended_child("clerk", &nested);
    let second = "For context, the messages of the agent `clerk`:\nuser: Two.";
    assert_eq!(texts(&parent.take_notes()), [second, first]);
    assert!(parent.take_notes().is_empty());
    assert_eq!(texts(&shown("Three.").notes), [first, second, first]);
}

#[test]
fn only_a_stored_history_that_ends_with_its_call_is_removed() {
    let views = || ["%fresh/a-1", "a"].map(Arc::<str>::from);
    let parent = parent(&RunContext::new());
    for history in [None, Some(RunHistory::of_root(Arc::default(), None))] {
        if let Some(history) = history {
            parent.set_history(history);
            assert!(parent.history().is_some());
        }
        views().iter().for_each(|view| parent.end_history(view));
        assert!(parent.answered_histories().take().is_empty());
    }
    let answered = parent.answered_histories();
    answered.add(views());
    assert_eq!(answered.clone().take(), views());
    assert!(answered.take().is_empty());
}

#[tokio::test]
async fn events_of_runs_below_wait_for_a_reader_and_for_room() {
    let parent = parent(&RunContext::new());
    // Without a reader, an event is lost.
    parent.emit_child_event(call(), event(0)).await;
    let events = parent.subscribe_to_child_events();
    assert!(events.try_next().is_none());
    for number in 1..=MAX_WAITING_EVENTS {
        parent.emit_child_event(call(), event(number)).await;
    }
    let mut last = Box::pin(parent.emit_child_event(call(), event(MAX_WAITING_EVENTS + 1)));
    assert!(last.as_mut().now_or_never().is_none());
    let text = |event: ChildEvent| match event.event.kind {
        AgentEventKind::Notice { text } => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(text(events.next().await), "1");
    last.await;
    for number in 2..=MAX_WAITING_EVENTS + 1 {
        assert_eq!(text(events.next().await), number.to_string());
    }
    assert!(events.next().now_or_never().is_none());
    // An event that waits for room ends with its reader.
    for number in 0..MAX_WAITING_EVENTS {
        parent.emit_child_event(call(), event(number)).await;
    }
    let mut last = Box::pin(parent.emit_child_event(call(), event(MAX_WAITING_EVENTS)));
    assert!(last.as_mut().now_or_never().is_none());
    drop(events);
    last.await;
    assert!(parent.subscribe_to_child_events().try_next().is_none());
}
