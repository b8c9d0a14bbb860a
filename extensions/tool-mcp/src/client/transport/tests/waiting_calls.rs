//! Reports of a server, and the calls that they belong to.

use std::sync::Arc;

use rmcp::{
    RoleClient,
    model::NumberOrString,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;
use tool_runtime::context::{LogLevel, LogLine, Progress};

use crate::client::{
    limits::ServerLimits,
    questions::{QuestionAllowance, QuestionRefusal},
    transport::{CallReport, CallSlot, ReportDeliveringTransport, WaitingCalls},
};

/// A transport whose server sends these messages, and which takes any.
struct Script(std::vec::IntoIter<Value>);

impl Transport<RoleClient> for Script {
    type Error = std::io::Error;

    fn send(
        &mut self,
        _: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), std::io::Error>> + Send + 'static {
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.0.next().map(|message| serde_json::from_value(message).unwrap())
    }

    async fn close(&mut self) -> Result<(), std::io::Error> {
        Ok(())
    }
}

/// A call without a context, which may ask this many questions.
fn slot(questions: u32) -> (CallSlot, Receiver<CallReport>) {
    let limits = ServerLimits { max_questions_per_call: questions, ..ServerLimits::default() };
    CallSlot::new(None, QuestionAllowance::new(&limits))
}

/// The calls of a connection, after these were sent, with the numbers of their tokens.
async fn calls_of(slots: &[(i64, &CallSlot)]) -> Arc<WaitingCalls> {
    let calls = Arc::<WaitingCalls>::default();
    let mut transport =
        ReportDeliveringTransport::new(Script(Vec::new().into_iter()), "s".into(), Arc::clone(&calls));
    for (token, slot) in slots {
        let params = json!({ "name": "one", "_meta": { "progressToken": token } });
        let message = json!({ "jsonrpc": "2.0", "id": token, "method": "tools/call", "params": params });
        let mut message = serde_json::from_value(message).unwrap();
        if let TxJsonRpcMessage::<RoleClient>::Request(request) = &mut message {
            use rmcp::model::GetExtensions;
            request.request.extensions_mut().insert((*slot).clone());
        }
        transport.send(message).await.unwrap();
    }
    calls
}

/// Delivers messages of a server.
async fn deliver(calls: &Arc<WaitingCalls>, messages: Vec<Value>) {
    let mut transport =
        ReportDeliveringTransport::new(Script(messages.into_iter()), "s".into(), Arc::clone(calls));
    while transport.receive().await.is_some() {}
}

fn progress(token: i64, done: f64) -> Value {
    let params = json!({ "progressToken": token, "progress": done, "total": 9.0, "message": "m" });
    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
}

fn log(level: &str, data: Value) -> Value {
    let params = json!({ "level": level, "data": data });
    json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params })
}

fn token(number: i64) -> rmcp::model::ProgressToken {
    rmcp::model::ProgressToken(NumberOrString::Number(number))
}

/// The lines that a call has received.
fn lines(reports: &mut Receiver<CallReport>) -> Vec<LogLine> {
    let mut lines = Vec::new();
    while let Ok(report) = reports.try_recv() {
        if let CallReport::Log(line) = report {
            lines.push(line);
        }
    }
    lines
}

/// The progress that a call has received.
fn progress_of(reports: &mut Receiver<CallReport>) -> Vec<Progress> {
    let mut received = Vec::new();
    while let Ok(report) = reports.try_recv() {
        if let CallReport::Progress(progress) = report {
            received.push(progress);
        }
    }
    received
}

#[tokio::test]
async fn progress_goes_to_its_call_in_order_and_starts_its_timeout_anew() {
    let ((one, mut first), (two, mut second)) = (slot(1), slot(1));
    let calls = calls_of(&[(1, &one), (2, &two)]).await;
    let signal = calls.progress_signal(&token(1));
    deliver(&calls, vec![progress(1, 1.0), progress(2, 5.0), progress(3, 7.0), progress(1, 2.0)]).await;
    let received = progress_of(&mut first);
    assert_eq!(received.iter().map(|it| it.done).collect::<Vec<_>>(), [1.0, 2.0]);
    assert_eq!((received[0].total, received[0].message.as_deref()), (Some(9.0), Some("m")));
    assert_eq!(progress_of(&mut second).iter().map(|it| it.done).collect::<Vec<_>>(), [5.0]);
    signal.notified().await;
    assert!(Arc::ptr_eq(&signal, &calls.progress_signal(&token(1))));
    calls.end_request(Some(&one), Some(&token(1)));
    assert!(!Arc::ptr_eq(&signal, &calls.progress_signal(&token(1))));
}

#[tokio::test]
async fn progress_beyond_what_a_call_takes_is_dropped() {
    let (one, mut reports) = slot(1);
    let calls = calls_of(&[(1, &one)]).await;
    deliver(&calls, (0..300).map(|done| progress(1, f64::from(done))).collect()).await;
    let received = progress_of(&mut reports);
    assert_eq!((received.len(), received[255].done), (256, 255.0));
}

#[tokio::test]
async fn a_call_that_is_over_receives_nothing() {
    let ((one, mut first), (late, mut second)) = (slot(1), slot(1));
    let calls = calls_of(&[(1, &one)]).await;
    calls.end_request(Some(&one), Some(&token(1)));
    deliver(&calls, vec![progress(1, 1.0)]).await;
    assert_eq!(progress_of(&mut first), []);
    // Over before it was sent.
    WaitingCalls::default().end_request(Some(&late), None);
    let calls = calls_of(&[(2, &late)]).await;
    deliver(&calls, vec![progress(2, 1.0)]).await;
    assert_eq!(progress_of(&mut second), []);
    assert_eq!(calls.only_waiting_call_and_ends().1.len(), 0);
}

#[tokio::test]
async fn the_end_of_one_call_leaves_the_others() {
    let ((one, _first), (two, mut second)) = (slot(1), slot(1));
    let calls = calls_of(&[(1, &one), (2, &two)]).await;
    let ends = calls.only_waiting_call_and_ends().1;
    assert_eq!((ends.len(), ends.iter().filter(|end| end.is_cancelled()).count()), (2, 0));
    calls.end_request(Some(&one), Some(&token(1)));
    assert_eq!(ends.iter().filter(|end| end.is_cancelled()).count(), 1);
    assert_eq!(calls.only_waiting_call_and_ends().1.len(), 1);
    // A request outside of calls.
    calls.end_request(None, Some(&token(2)));
    deliver(&calls, vec![progress(2, 1.0)]).await;
    assert_eq!(progress_of(&mut second).len(), 1);
}

#[tokio::test]
async fn a_log_line_goes_to_the_only_call_that_waits() {
    let ((one, mut first), (two, mut second)) = (slot(1), slot(1));
    let calls = calls_of(&[(1, &one)]).await;
    deliver(&calls, vec![log("info", json!("own"))]).await;
    assert_eq!(lines(&mut first), [LogLine::new(LogLevel::Info, "own")]);
    let calls = calls_of(&[(1, &one), (2, &two)]).await;
    deliver(&calls, vec![log("info", json!("whose"))]).await;
    assert_eq!((lines(&mut first).len(), lines(&mut second).len()), (0, 0));
}

#[tokio::test]
async fn the_text_of_a_log_line_is_its_data_or_a_member_of_it() {
    let (one, mut reports) = slot(1);
    let calls = calls_of(&[(1, &one)]).await;
    for (data, message, rest) in [
        (json!("text"), "text", Value::Null),
        (json!({ "message": "m", "data": [1] }), "m", json!([1])),
        (json!({ "message": "m", "data": 1, "x": 2 }), "m", json!({ "message": "m", "data": 1, "x": 2 })),
        (json!({ "message": "m", "x": 2 }), "m", json!({ "message": "m", "x": 2 })),
        (json!({ "message": "m" }), "m", json!({ "message": "m" })),
        (json!({ "message": 7, "data": 1 }), "", json!({ "message": 7, "data": 1 })),
        (json!([7]), "", json!([7])),
    ] {
        deliver(&calls, vec![log("error", data)]).await;
        assert_eq!(lines(&mut reports), [LogLine::new(LogLevel::Error, message).with_data(rest)]);
    }
    let levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
    deliver(&calls, levels.iter().map(|level| log(level, json!("m"))).collect()).await;
    let received: Vec<_> = lines(&mut reports).into_iter().map(|line| line.level).collect();
    assert_eq!(
        received,
        [
            LogLevel::Debug,
            LogLevel::Info,
            LogLevel::Notice,
            LogLevel::Warning,
            LogLevel::Error,
            LogLevel::Critical,
            LogLevel::Alert,
            LogLevel::Emergency,
        ]
    );
}

#[tokio::test]
async fn a_question_is_one_of_the_call_that_has_most_of_them_left() {
    let ((one, _first), (two, _second)) = (slot(1), slot(2));
    let calls = calls_of(&[]).await;
    assert_eq!(calls.take_question_of_any_call(), Err(QuestionRefusal::NoCall));
    let calls = calls_of(&[(1, &one), (2, &two)]).await;
    let taken: Vec<_> = (0..4).map(|_| calls.take_question_of_any_call()).collect();
    assert_eq!(taken, [Ok(()), Ok(()), Ok(()), Err(QuestionRefusal::NoneLeft)]);
    let (none, _reports) = slot(0);
    assert_eq!(calls_of(&[(1, &none)]).await.take_question_of_any_call(), Err(QuestionRefusal::NoneLeft));
}
