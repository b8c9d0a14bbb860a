//! Updates, progress and log lines of a remote call, over brokers that delay, lose and repeat messages.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tool_fleet::Transport as _;
use tool_runtime::{
    Executor, ToolCall, ToolResult,
    context::{LogLevel, LogLine},
    event::EventKind,
    executor::{CallStream, StreamItem},
    policy::{Approval, ApprovalRequest},
    prelude::*,
};

use super::{
    Pool,
    broker::{Forger, Sent, TestBroker},
    connect, serve,
};

/// The updates and log lines of a call.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    pub(crate) updates: Vec<String>,
    pub(crate) log: Vec<String>,
}

impl Shown {
    /// Reads a stream to its end.
    pub(crate) async fn read_to_end(&mut self, stream: &mut CallStream) -> ToolResult {
        loop {
            // A call that goes on for ever fails its test.
            let item = tokio::time::timeout(Duration::from_secs(100), stream.next()).await.unwrap();
            match item.unwrap() {
                StreamItem::Event(event) => match event.kind {
                    EventKind::Updated { update, .. } => self.updates.push(update.into_text()),
                    EventKind::Log { line } => self.log.push(line.message.clone()),
                    _ => {}
                },
                StreamItem::Outcomes(outcomes) => return outcomes[0].result().cloned().unwrap(),
            }
        }
    }
}

pub(crate) fn count(executor: &Executor, pool: &str, to: usize) -> CallStream {
    executor.stream(vec![ToolCall::new(format!("{pool}__count"), json!({ "to": to }))])
}

fn numbers(to: usize) -> Vec<String> {
    (1..=to).map(|number| number.to_string()).collect()
}

/// A broker of which `is_chosen` chooses reports by their number, from 0, and `change` delivers those.
fn changing<F: Future<Output = ()> + Send + 'static>(
    is_chosen: impl Fn(usize) -> bool + Send + Sync + 'static,
    change: impl Fn(tool_fleet::MemoryTransport, Sent) -> F + Send + Sync + 'static,
) -> TestBroker {
    let (reports, change) = (AtomicUsize::new(0), Arc::new(change));
    TestBroker::tampering(move |inner, sent: Sent| {
        let is_chosen = sent.is_report()
            && is_chosen(reports.fetch_add(usize::from(sent.is_report()), Ordering::Relaxed));
        let change = Arc::clone(&change);
        async move {
            match is_chosen {
                true => change(inner, sent).await,
                false => sent.deliver(&inner).await,
            }
        }
    })
}

/// Each third report comes late: the one before an update, or before the outcome.
#[tokio::test(start_paused = true)]
async fn reports_out_of_order_are_shown_in_order() {
    for offset in 0..3 {
        let late = |inner: tool_fleet::MemoryTransport, sent: Sent| async move {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(200)).await;
                sent.deliver(&inner).await;
            });
        };
        let broker = changing(move |report| report % 3 == offset, late);
        let pool = Pool::start(&broker, "trip", 1).await;
        let mut shown = Shown::default();
        let result = shown.read_to_end(&mut count(&pool.executor, "trip", 20)).await;
        assert_eq!(result.text(), "20 in all");
        assert_eq!(shown.updates, numbers(20));
        assert_eq!(shown.log, [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn reports_that_are_lost_are_counted_in_the_log_of_the_call() {
    let broker = changing(|report| [2, 3, 9].contains(&report), |_, _| async {});
    let pool = Pool::start(&broker, "trip", 1).await;
    let mut shown = Shown::default();
    let result = shown.read_to_end(&mut count(&pool.executor, "trip", 10)).await;
    assert_eq!(result.text(), "10 in all");
    assert_eq!(shown.updates, ["1", "2", "5", "6", "7", "8", "9"]);
    let missing = |reports| format!("{reports} of the worker (updates, progress, log lines) did not arrive");
    assert_eq!(shown.log, [missing("2 reports"), missing("1 report")]);
}

/// Each report arrives three times.
#[tokio::test(start_paused = true)]
async fn reports_that_are_repeated_are_shown_once() {
    let thrice = |inner: tool_fleet::MemoryTransport, sent: Sent| async move {
        for _ in 0..3 {
            sent.deliver(&inner).await;
        }
    };
    let broker = changing(|_| true, thrice);
    let pool = Pool::start(&broker, "trip", 1).await;
    let mut shown = Shown::default();
    let result = shown.read_to_end(&mut count(&pool.executor, "trip", 500)).await;
    assert_eq!(result.text(), "500 in all");
    assert_eq!(shown.updates, numbers(500));
}

/// Waits, while the stream is not read; the clock is paused, so that all messages are sent and received first.
async fn pause() {
    tokio::time::sleep(Duration::from_secs(60)).await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_reads_slowly_delays_the_body_and_misses_nothing() {
    let broker = TestBroker::new();
    let pool = Pool::start(&broker, "trip", 1).await;
    let mut stream = count(&pool.executor, "trip", 1600);
    let mut shown = Shown::default();
    // The first events: the call has begun.
    while shown.updates.is_empty() {
        if let Some(StreamItem::Event(event)) = stream.next().await
            && let EventKind::Updated { update, .. } = event.kind
        {
            shown.updates.push(update.into_text());
        }
    }
    pause().await;
    assert!(pool.probes[0].bodies() < 1000, "{}", pool.probes[0].bodies());
    let result = shown.read_to_end(&mut stream).await;
    assert_eq!(result.text(), "1600 in all");
    assert_eq!(shown.updates, numbers(1600));
    assert_eq!(shown.log, [""; 0]);
}

/// A client without the key repeats a report while the caller does not read.
#[tokio::test(start_paused = true)]
async fn repeated_reports_take_no_room() {
    let broker = TestBroker::new();
    let pool = Pool::start(&broker, "trip", 1).await;
    let mut stream = executor_stream(&pool);
    let _started = stream.next().await;
    assert!(futures_util::FutureExt::now_or_never(stream.next()).is_none());
    pool.entered().await;
    let report = broker.seen(Sent::is_report).remove(0);
    for _ in 0..2000 {
        report.deliver(&broker.inner).await;
        broker.inner.send("without.receivers", Some(&report.subject), "".into()).await.unwrap();
    }
    pause().await;
    pool.probes[0].released.cancel();
    let result = Shown::default().read_to_end(&mut stream).await;
    assert_eq!(result.text(), "1");
}

/// A process with the key sends more than any worker does.
#[tokio::test(start_paused = true)]
async fn more_unread_reports_than_the_limit_end_the_call_with_an_error_that_names_it() {
    let broker = TestBroker::new();
    let pool = Pool::start(&broker, "trip", 1).await;
    let mut stream = executor_stream(&pool);
    let _started = stream.next().await;
    assert!(futures_util::FutureExt::now_or_never(stream.next()).is_none());
    let entered = pool.entered();
    // The start is given.
    let mut entered = std::pin::pin!(entered);
    tokio::select! { _ = stream.next() => panic!("the call has ended"), _ = &mut entered => {} }
    let forger = Forger::new(&broker.inner, "trip");
    let report = broker.seen(Sent::is_report).remove(0);
    let call = forger.read(&report)["message"]["report"]["call"].clone();
    for number in 1..=1100 {
        let line = json!({ "log": { "level": "info", "message": "" } });
        let body =
            json!({ "call": call, "sequence": number, "contents": number, "tokens": 0, "report": line });
        forger.send(&report.subject, None, "report", body).await;
    }
    pause().await;
    let result = Shown::default().read_to_end(&mut stream).await;
    let text = result.text();
    assert!(text.contains("1024 reports about it were unread when more arrived"), "{text}");
    assert!(text.contains("may have taken effect"), "{text}");
    pool.probes[0].cancelled.notified().await;
}

/// Begins a call with effects.
fn executor_stream(pool: &Pool) -> CallStream {
    pool.executor.stream(vec![ToolCall::new(format!("{}__book", pool.name), json!({}))])
}

/// Says eight lines, and asks.
#[tool(register = false)]
fn say_and_ask(cx: &ToolContext) -> Result<String, ToolError> {
    for line in 1..=8 {
        cx.log(LogLine::new(LogLevel::Info, line.to_string()))?;
    }
    match cx.confirmation_of("Go on?", &json!(null)) {
        None => Err(cx.request_confirmation("Go on?", json!(null))),
        Some(answer) => Ok(format!("confirmed: {}", answer.confirmed)),
    }
}

/// A report takes a moment, in which the worker sends others: the question of the body beside its log lines.
#[tokio::test(start_paused = true)]
async fn a_question_beside_log_lines_is_answered_and_no_line_is_lost() {
    let slow = |inner: tool_fleet::MemoryTransport, sent: Sent| async move {
        tokio::time::sleep(Duration::from_millis(10)).await;
        sent.deliver(&inner).await;
    };
    let broker = changing(|_| true, slow);
    let tools = Registry::builder().tool::<say_and_ask>().build().unwrap();
    let worker = serve(&broker, "trip", Executor::new(tools));
    let (executor, _toolbox) = connect(&broker, "trip").await;
    let approve = |_: &ApprovalRequest| Approval::Approved;
    let executor = Executor::builder(executor.tools().clone()).approver(approve).build().unwrap();
    let mut shown = Shown::default();
    let call = ToolCall::new("trip__say_and_ask", json!({}));
    let result = shown.read_to_end(&mut executor.stream(vec![call])).await;
    assert_eq!(result.text(), "confirmed: true");
    assert_eq!(shown.log[shown.log.len() - 8..], numbers(8));
    assert!(shown.log.iter().all(|line| line.len() == 1), "{:?}", shown.log);
    worker.abort();
}

/// A call that ends at once is two messages; one that goes on shows that its worker has it, long before the heartbeat.
#[tokio::test(start_paused = true)]
async fn a_call_that_ends_at_once_is_answered_by_its_outcome_alone() {
    let broker = TestBroker::new();
    let pool = Pool::start(&broker, "trip", 1).await;
    let result = pool.call("echo", json!({ "text": "x", "times": 1 })).await.unwrap();
    assert_eq!(result.text(), "x");
    assert_eq!(broker.seen(Sent::is_report).len(), 1);
    let call = pool.call("forecast", json!({ "query": { "city": "Paris" } }));
    pool.entered().await;
    tokio::time::sleep(Duration::from_millis(11)).await;
    assert_eq!(broker.seen(Sent::is_report).len(), 2);
    pool.probes[0].released.cancel();
    assert_eq!(call.await.unwrap().text(), "Paris 0 by body 1");
    assert_eq!(broker.seen(Sent::is_report).len(), 3);
}

/// Says many lines at once.
#[tool(read_only, register = false)]
fn say_many(lines: usize, cx: &ToolContext) -> Result<&'static str, ToolError> {
    (1..=lines).try_for_each(|line| cx.log(LogLine::new(LogLevel::Info, line.to_string())))?;
    Ok("said")
}

#[tokio::test(start_paused = true)]
async fn log_lines_beyond_the_buffer_of_the_caller_are_counted_in_the_log_of_the_call() {
    let broker = TestBroker::new();
    let tools = Registry::builder().tool::<say_many>().build().unwrap();
    let worker = serve(&broker, "trip", Executor::new(tools));
    let (executor, _toolbox) = connect(&broker, "trip").await;
    let executor = Executor::builder(executor.tools().clone()).event_buffer(4).build().unwrap();
    let mut shown = Shown::default();
    let call = ToolCall::new("trip__say_many", json!({ "lines": 100 }));
    let result = shown.read_to_end(&mut executor.stream(vec![call])).await;
    assert_eq!(result.text(), "said");
    let last = shown.log.pop().unwrap();
    let unshown: usize = last.split_once(' ').unwrap().0.parse().unwrap();
    assert!(last.ends_with("were not shown, since the buffer of events was full"), "{last}");
    assert!(unshown > 0);
    assert_eq!(shown.log.len() + unshown, 100);
    worker.abort();
}

/// Anybody can repeat a report. The call is cancelled once for each report that its worker sent.
#[tokio::test(start_paused = true)]
async fn a_repeated_report_of_a_call_without_a_caller_cancels_it_once() {
    let broker = TestBroker::new();
    let pool = Pool::start(&broker, "trip", 1).await;
    let call = pool.call("forecast", json!({ "query": { "city": "Paris" } }));
    pool.entered().await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let report = broker.seen(Sent::is_report).remove(0);
    call.abort();
    pool.probes[0].cancelled.notified().await;
    let controls = || broker.seen(|sent| sent.subject.contains(".process.") && sent.reply.is_none()).len();
    let before = controls();
    for _ in 0..100 {
        report.deliver(&broker.inner).await;
    }
    pause().await;
    assert!(controls() <= before + 1, "{} controls after {before}", controls());
}
