#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use futures_util::FutureExt as _;
use rmcp::model::{LoggingLevel, NumberOrString};
use serde_json::json;
use test_support::collectors::EventLog;

use super::*;
use crate::client::limits::ServerLimits;

fn token(number: i64) -> ProgressToken {
    ProgressToken(NumberOrString::Number(number))
}

/// A call that may ask this many questions.
fn slot(questions: u32) -> (CallSlot, mpsc::Receiver<CallReport>) {
    let limits = ServerLimits { max_questions_per_call: questions, ..ServerLimits::default() };
    CallSlot::new(None, QuestionAllowance::new(&limits))
}

fn log_line(level: LoggingLevel, data: Value) -> LoggingMessageNotificationParam {
    LoggingMessageNotificationParam::new(level, data)
}

/// The text of the log line that was delivered, if there is one.
fn delivered(reports: &mut mpsc::Receiver<CallReport>) -> Option<String> {
    match reports.try_recv().ok()? {
        CallReport::Log(line) => Some(line.message.clone()),
        CallReport::Progress(_) => None,
    }
}

#[test]
fn a_log_line_goes_to_the_only_call_or_else_to_the_log_of_the_program() {
    let calls = WaitingCalls::default();
    let line = log_line(LoggingLevel::Error, json!("it broke"));
    let event = r#"ERROR tool_mcp::server_log: it broke {server: "s"}"#.to_owned();
    assert_eq!(
        EventLog::events_of(|| calls.deliver_log_to_only_call("s", &line)),
        std::slice::from_ref(&event)
    );
    let (first, mut of_first) = slot(0);
    calls.add_call(token(1), &first);
    assert_eq!(EventLog::events_of(|| calls.deliver_log_to_only_call("s", &line)), [""; 0]); // M14
    assert_eq!(delivered(&mut of_first).as_deref(), Some("it broke"));
    // Of two calls, it may belong to either.
    let (second, mut of_second) = slot(0);
    calls.add_call(token(2), &second);
    assert_eq!(
        EventLog::events_of(|| calls.deliver_log_to_only_call("s", &line)),
        std::slice::from_ref(&event)
    );
    assert_eq!((delivered(&mut of_first), delivered(&mut of_second)), (None, None));
    calls.end_request(Some(&first), Some(&token(1)));
    assert_eq!(EventLog::events_of(|| calls.deliver_log_to_only_call("s", &line)), [""; 0]);
    assert_eq!((delivered(&mut of_first), delivered(&mut of_second).is_some()), (None, true));
    // A call with too many reports.
    for _ in 0..MAX_WAITING_REPORTS {
        calls.deliver_log_to_only_call("s", &line);
    }
    assert_eq!(EventLog::events_of(|| calls.deliver_log_to_only_call("s", &line)), [event]);
}

#[test]
fn a_line_of_the_log_has_its_level_its_logger_and_its_data() {
    let calls = WaitingCalls::default();
    for (level, name) in [
        (LoggingLevel::Debug, "DEBUG"),
        (LoggingLevel::Info, "INFO"),
        (LoggingLevel::Notice, "INFO"),
        (LoggingLevel::Warning, "WARN"),
        (LoggingLevel::Error, "ERROR"),
        (LoggingLevel::Critical, "ERROR"),
        (LoggingLevel::Alert, "ERROR"),
        (LoggingLevel::Emergency, "ERROR"),
    ] {
        let mut line = log_line(level, json!({ "message": "m", "data": [1] }));
        line.logger = Some("l".to_owned());
        let events = EventLog::events_of(|| calls.deliver_log_to_only_call("s", &line));
        assert_eq!(
            events,
            [format!(r#"{name} tool_mcp::server_log: m {{server: "s", logger: "l", data: [1]}}"#)]
        );
    }
}

#[test]
fn the_text_of_a_line_is_its_message() {
    for (data, text, rest) in [
        (json!("t"), "t", json!(null)),
        (json!({ "message": "m", "data": 7 }), "m", json!(7)),
        (json!({ "message": "m" }), "m", json!({ "message": "m" })),
        (json!({ "message": "m", "other": 7 }), "m", json!({ "message": "m", "other": 7 })),
        (
            json!({ "message": "m", "data": 7, "other": 7 }),
            "m",
            json!({ "message": "m", "data": 7, "other": 7 }),
        ),
        (json!({ "message": 7, "data": 7 }), "", json!({ "message": 7, "data": 7 })),
        (json!([1]), "", json!([1])),
    ] {
        let line = log_line_of_message(&log_line(LoggingLevel::Alert, data));
        assert_eq!((line.message.as_str(), &line.data, line.level), (text, &rest, LogLevel::Alert));
    }
}

#[test]
fn progress_goes_to_its_call_and_restarts_the_timeout_of_its_request() {
    let calls = WaitingCalls::default();
    let (first, mut of_first) = slot(0);
    let (second, mut of_second) = slot(0);
    calls.add_call(token(1), &first);
    calls.add_call(token(2), &second);
    let signal = calls.progress_signal(&token(1));
    let mut report = ProgressNotificationParam::new(token(1), 1.0);
    (report.total, report.message) = (Some(2.0), Some("half".to_owned()));
    assert!(signal.notified().now_or_never().is_none());
    calls.deliver_progress(&report);
    assert!(signal.notified().now_or_never().is_some());
    let Ok(CallReport::Progress(progress)) = of_first.try_recv() else { panic!("no progress") };
    assert_eq!((progress.done, progress.total, progress.message.as_deref()), (1.0, Some(2.0), Some("half")));
    assert!(of_second.try_recv().is_err());
    // Reports beyond those that wait are dropped, and the signal of a request that ended is another one.
    for _ in 0..MAX_WAITING_REPORTS {
        calls.deliver_progress(&report);
    }
    assert!(EventLog::events_of(|| calls.deliver_progress(&report))[0].contains("its call has too many"));
    assert!(signal.notified().now_or_never().is_some());
    calls.end_request(None, Some(&token(1)));
    calls.deliver_progress(&report);
    assert!(signal.notified().now_or_never().is_none());
}

#[test]
fn a_call_that_is_over_does_not_wait() {
    let calls = WaitingCalls::default();
    let (slot, mut reports) = slot(0);
    // It ended before its request was sent.
    calls.end_request(Some(&slot), None);
    calls.add_call(token(1), &slot);
    calls.deliver_progress(&ProgressNotificationParam::new(token(1), 1.0));
    assert!(reports.try_recv().is_err());
    assert!(calls.only_waiting_call_and_ends().1.is_empty());
}

#[test]
fn a_question_is_taken_from_the_call_with_most_of_them_left() {
    let calls = WaitingCalls::default();
    assert_eq!(calls.take_question_of_any_call(), Err(QuestionRefusal::NoCall));
    let (few, _of_few) = slot(1);
    let (many, _of_many) = slot(2);
    calls.add_call(token(1), &few);
    calls.add_call(token(2), &many);
    let left = || (few.allowance.questions_left(), many.allowance.questions_left());
    assert_eq!((calls.take_question_of_any_call(), left()), (Ok(()), (1, 1)));
    assert_eq!((calls.take_question_of_any_call(), left().0 + left().1), (Ok(()), 1));
    assert_eq!((calls.take_question_of_any_call(), left()), (Ok(()), (0, 0)));
    assert_eq!(calls.take_question_of_any_call(), Err(QuestionRefusal::NoneLeft));
}

#[test]
fn a_question_has_the_context_of_the_only_call_and_the_ends_of_all() {
    let calls = WaitingCalls::default();
    let context = || Some(ToolContext::for_test());
    let allowance = QuestionAllowance::new(&ServerLimits::default());
    let (first, _of_first) = CallSlot::new(context(), Arc::clone(&allowance));
    let (second, _of_second) = CallSlot::new(context(), allowance);
    assert!(calls.only_waiting_call_and_ends().0.is_none());
    calls.add_call(token(1), &first);
    let (context, ends) = calls.only_waiting_call_and_ends();
    assert!(context.is_some() && ends.len() == 1 && !ends[0].is_cancelled());
    calls.add_call(token(2), &second);
    let (context, ends) = calls.only_waiting_call_and_ends();
    assert!(context.is_none() && ends.len() == 2);
    calls.end_request(Some(&first), Some(&token(1)));
    assert_eq!(ends.iter().filter(|end| end.is_cancelled()).count(), 1);
    assert!(calls.only_waiting_call_and_ends().0.is_some());
}
