#![allow(clippy::unwrap_used, reason = "a test may")]

use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::time::sleep;
use tool_runtime::context::ConfirmationAnswer;

use super::*;

const HEARTBEAT: Duration = Duration::from_secs(2);

#[tokio::test(start_paused = true)]
async fn a_call_is_remembered_while_it_runs_and_for_a_time_after_it() {
    let (calls, call) = (RunningCalls::default(), CallEpoch { call: "a".to_owned(), epoch: 1 });
    assert!(calls.add_call(&call, "caller".to_owned(), true).is_some());
    for _ in 0..3 {
        sleep(2 * REMEMBERED).await;
        calls.forget_expired();
        assert!(calls.has_seen(&call) && calls.add_call(&call, "caller".to_owned(), true).is_none());
    }
    calls.remove_call(&call);
    assert!(calls.has_seen(&call));
    sleep(2 * REMEMBERED).await;
    calls.forget_expired();
    assert!(!calls.has_seen(&call));
}

#[tokio::test(start_paused = true)]
async fn a_caller_has_left_once_no_report_is_received_for_three_heartbeats() {
    let mut missing = MissingCaller::default();
    for _ in 0..3 {
        assert!(!missing.note_notice(HEARTBEAT));
        sleep(HEARTBEAT).await;
    }
    assert!(missing.note_notice(HEARTBEAT));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_receives_a_heartbeat_between_two_notices_has_not_left() {
    let mut missing = MissingCaller::default();
    for _ in 0..10 {
        assert!(!missing.note_notice(HEARTBEAT));
        sleep(2 * HEARTBEAT).await;
    }
}

fn call(name: &str, epoch: u32) -> CallEpoch {
    CallEpoch { call: name.to_owned(), epoch }
}

fn add(calls: &RunningCalls, name: &str, epoch: u32, is_harmless: bool) -> Arc<RunningCall> {
    calls.add_call(&call(name, epoch), "caller".to_owned(), is_harmless).unwrap()
}

fn answer(hint: &str) -> BodyAnswer {
    let answer = ConfirmationAnswer { confirmed: true, payload: Value::Null };
    BodyAnswer { hint: hint.to_owned(), payload: Value::Null, answer }
}

/// The effects of controls on a call.
#[derive(Debug, Default, PartialEq)]
struct Effects {
    is_started: bool,
    is_cancelled: bool,
    has_caller_left: bool,
    is_abandoned: bool,
    read: u64,
    answers: Vec<BodyAnswer>,
}

fn effects(running: &RunningCall) -> Effects {
    Effects {
        is_started: running.started.notified().now_or_never().is_some(),
        is_cancelled: running.token.is_cancelled(),
        has_caller_left: running.caller_left().is_cancelled(),
        is_abandoned: running.abandoned().is_cancelled(),
        read: *running.read().borrow(),
        answers: running.answers().borrow().clone(),
    }
}

/// Returns the effects of one control, from the process `sender`, about an epoch.
fn control(control: Control, sender: &str, epoch: u32) -> Effects {
    let calls = RunningCalls::default();
    let (running, other) = (add(&calls, "a", 1, true), add(&calls, "b", 1, true));
    calls.control_call(CallControl { call: call("a", epoch), control }, sender);
    assert_eq!(effects(&other), Effects::default());
    effects(&running)
}

#[test]
fn each_control_of_the_caller_has_its_own_effect() {
    let by_caller = |it| control(it, "caller", 1);
    assert_eq!(by_caller(Control::Start), Effects { is_started: true, ..Effects::default() });
    assert_eq!(by_caller(Control::Cancel), Effects { is_cancelled: true, ..Effects::default() });
    let abandoned =
        Effects { is_cancelled: true, has_caller_left: true, is_abandoned: true, ..Effects::default() };
    assert_eq!(by_caller(Control::Abandon), abandoned);
    assert_eq!(by_caller(Control::Read(3)), Effects { read: 3, ..Effects::default() });
    let answers = vec![answer("sure?")];
    assert_eq!(by_caller(Control::Answer(answer("sure?"))), Effects { answers, ..Effects::default() });
    assert_eq!(by_caller(Control::RepeatEnd), Effects::default());
    assert_eq!(by_caller(Control::Budget { number: 1, denied: None }), Effects::default());
}

#[test]
fn controls_of_another_process_or_epoch_have_no_effect() {
    for (sender, epoch) in [("other", 1), ("", 1), ("caller", 0), ("caller", 2)] {
        for it in [
            Control::Start,
            Control::Cancel,
            Control::Abandon,
            Control::Read(3),
            Control::Answer(answer("sure?")),
        ] {
            let text = format!("{it:?} by {sender:?} of {epoch}");
            assert_eq!(control(it, sender, epoch), Effects::default(), "{text}");
        }
    }
}

#[test]
fn the_number_of_read_reports_grows_alone_and_a_repeated_answer_is_one() {
    let calls = RunningCalls::default();
    let running = add(&calls, "a", 1, true);
    let mut read = running.read().subscribe();
    let say = |control| calls.control_call(CallControl { call: call("a", 1), control }, "caller");
    let mut has_changed = Vec::new();
    for number in [3, 3, 2, 4] {
        say(Control::Read(number));
        has_changed.push((read.has_changed().unwrap(), *read.borrow_and_update()));
    }
    assert_eq!(has_changed, [(true, 3), (false, 3), (false, 3), (true, 4)]);
    for hint in ["sure?", "sure?", "quite?"] {
        say(Control::Answer(answer(hint)));
    }
    assert_eq!(effects(&running).answers, [answer("sure?"), answer("quite?")]);
}

#[test]
fn a_call_that_was_added_is_not_added_again_in_its_epoch() {
    let calls = RunningCalls::default();
    let again = |name, epoch| calls.add_call(&call(name, epoch), "caller".to_owned(), true).is_some();
    assert_eq!([again("a", 1), again("a", 1), again("a", 2), again("b", 1)], [true, false, true, true]);
    assert_eq!(calls.running_calls(), 3);
    calls.remove_call(&call("a", 1));
    assert_eq!((calls.running_calls(), again("a", 1)), (2, false));
}

#[tokio::test(start_paused = true)]
async fn a_question_is_answered_once_until_no_message_of_it_is_valid() {
    let calls = RunningCalls::default();
    assert!(calls.note_question("a") && calls.note_question("b") && !calls.note_question("a"));
    sleep(REMEMBERED - Duration::from_millis(1)).await;
    assert!(calls.note_question("c"));
    calls.forget_expired();
    assert!(!calls.note_question("a"));
    sleep(Duration::from_millis(1)).await;
    calls.forget_expired();
    assert!(!calls.note_question("c") && calls.note_question("a") && calls.note_question("b"));
    // What is remembered takes the room of what is.
    let calls = calls.lock();
    assert_eq!((calls.seen.len(), calls.seen_at.len()), (3, 3));
}

/// Notes for three heartbeats that there is no receiver of reports about the call `a`.
async fn leave(calls: &RunningCalls) {
    for _ in 0..NOTICED_HEARTBEATS {
        calls.note_no_receiver("a", HEARTBEAT);
        sleep(HEARTBEAT).await;
    }
    calls.note_no_receiver("a", HEARTBEAT);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_effects_is_cancelled_once_its_caller_has_left_and_others_go_on() {
    let calls = RunningCalls::default();
    let (read, effect) = (add(&calls, "a", 1, true), add(&calls, "a", 2, false));
    let other = add(&calls, "b", 1, true);
    leave(&calls).await;
    let left = Effects { has_caller_left: true, ..Effects::default() };
    assert_eq!(effects(&read), Effects { is_cancelled: true, has_caller_left: true, ..Effects::default() });
    assert_eq!((effects(&effect), effects(&other)), (left, Effects::default()));
}
