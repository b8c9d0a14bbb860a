//! Updates of synchronous bodies.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use tokio::time::{Instant, timeout};
use tool_runtime::{
    ErrorKind,
    event::{EventKind, ToolEvent},
    executor::{ExecutorBuilder, StreamItem},
    hook::{CallView, Hook},
    policy::RetryPolicy,
    prelude::*,
};

use super::{
    building, one, short, texts,
    ways::{each_way, each_way_paused},
};

fn event_texts(events: Vec<ToolEvent>) -> Vec<String> {
    let shown = |event: ToolEvent| match &event.kind {
        EventKind::Updated { attempt, update } => {
            assert_eq!(*attempt, 1);
            update.text().into_owned()
        }
        _ => short(&event),
    };
    events.into_iter().map(shown).collect()
}

/// Sends three updates.
#[tool(register = false)]
fn at_once(cx: &ToolContext) -> usize {
    (0..3).filter(|n| cx.try_update(format!("part {n}"))).count()
}

/// Sends updates in both ways.
#[tool(register = false)]
async fn in_turn(cx: &ToolContext) -> bool {
    let first = cx.try_update("part 0");
    cx.update("part 1").await;
    first && cx.try_update("part 2")
}

/// Sends updates from a thread.
#[tool(register = false, blocking)]
fn on_a_thread(cx: &ToolContext) -> Result<&'static str, ToolError> {
    for n in 0..3 {
        cx.blocking_update(format!("part {n}"))?;
    }
    Ok("done")
}

// K01
#[test]
fn updates_of_a_synchronous_body_are_in_order_and_complete() {
    each_way(async |way| {
        let tools = Registry::builder().tool::<at_once>().tool::<in_turn>().tool::<on_a_thread>();
        let executor = way.executor(tools);
        for (tool, result) in [("at_once", "3"), ("in_turn", "true"), ("on_a_thread", "done")] {
            assert_eq!(texts(&executor.run(one(tool, "{}")).await), [result], "{tool}");
            let Some(events) = executor.events() else { continue };
            assert_eq!(
                event_texts(events),
                ["started 0", "part 0", "part 1", "part 2", "finished 0"],
                "{tool}"
            );
        }
    });
}

// K06
#[test]
fn an_update_without_room_is_refused_and_accepted_updates_are_shown() {
    /// Sends more updates than the buffer holds.
    #[tool(register = false)]
    fn flood(cx: &ToolContext) -> usize {
        (0..100).filter(|n| cx.try_update(n.to_string())).count()
    }
    each_way(async |way| {
        let executor = way.executor(Registry::builder().tool::<flood>());
        let outcomes = executor.run(one("flood", "{}")).await;
        let Some(events) = executor.events() else { return assert_eq!(texts(&outcomes).len(), 1) };
        assert_eq!(texts(&outcomes), ["64"]);
        assert_eq!(event_texts(events)[1..65], std::array::from_fn::<String, 64, _>(|n| n.to_string()));
    });
}

/// A hook that never decides about an update.
struct Undecided;

impl Hook for Undecided {
    async fn before_update(&self, _call: &CallView<'_>, _text: &str) -> bool {
        std::future::pending().await
    }
}

// J09, K06
#[test]
fn a_timeout_includes_the_time_in_which_updates_are_shown() {
    each_way_paused(async |way| {
        type Limit = fn(ExecutorBuilder) -> ExecutorBuilder;
        let limits: [(&str, Limit); 3] = [
            ("timeout", |it| it.timeout(LIMIT)),
            ("idle timeout", |it| it.idle_timeout(LIMIT)),
            ("retries", |it| it.timeout(LIMIT).retry(RetryPolicy::new(super::AT_ONCE))),
        ];
        for (name, limit) in limits {
            let executor = way.of(limit(building(Registry::builder().tool::<at_once>())).hook(Undecided));
            let began = Instant::now();
            let outcomes = timeout(LIMIT * 10, executor.run(one("at_once", "{}"))).await.expect(name);
            // The body itself returned in time.
            assert_eq!(
                (texts(&outcomes), began.elapsed() / 10),
                (vec!["3".to_owned()], LIMIT / 10),
                "{name}"
            );
            executor.assert_told(["started 0", "finished 0"]);
        }
    });
}

const LIMIT: Duration = Duration::from_secs(10);

// K06, K11
#[tokio::test(flavor = "multi_thread")]
async fn a_thread_that_waits_for_room_is_released_when_its_batch_is_dropped() {
    struct Ended(Mutex<mpsc::Sender<ErrorKind>>, AtomicUsize);
    /// Sends updates until the reader is dropped.
    #[tool(register = false, blocking)]
    fn chatter(cx: &ToolContext, ended: &Arc<Ended>) {
        let error = (0..).find_map(|n: u32| {
            let taken = cx.blocking_update(n.to_string());
            ended.1.fetch_add(1, Ordering::SeqCst);
            taken.err()
        });
        ended.0.lock().unwrap().send(error.unwrap().kind()).unwrap();
    }
    let (sender, receiver) = mpsc::channel();
    let ended = Arc::new(Ended(Mutex::new(sender), AtomicUsize::new(0)));
    let tools = Registry::builder().tool::<chatter>().provide(Arc::clone(&ended));
    let executor = building(tools).event_buffer(1).build().unwrap();
    let mut stream = executor.stream(one("chatter", "{}"));
    let mut read = 0;
    while read < 200 {
        match stream.next().await {
            Some(StreamItem::Event(event)) => {
                if let EventKind::Updated { update, .. } = event.kind {
                    assert_eq!(update.text(), read.to_string());
                    read += 1;
                    // 64 are kept, and a few are on their way.
                    let taken = ended.1.load(Ordering::SeqCst);
                    assert!(taken <= read + 64 + 4, "{taken} were taken, and {read} read");
                }
            }
            Some(_) => {}
            None => panic!("the batch ended"),
        }
    }
    drop(stream);
    let kind = tokio::task::spawn_blocking(move || receiver.recv().unwrap()).await.unwrap();
    assert_eq!(kind, ErrorKind::Cancelled);
}

#[tokio::test]
async fn an_async_body_cannot_block_on_an_update() {
    /// Blocks in an async body.
    #[tool(register = false)]
    async fn wrong(cx: &ToolContext) -> Result<(), ToolError> {
        cx.blocking_update("part")
    }
    let executor = building(Registry::builder().tool::<wrong>()).build().unwrap();
    let _listener = executor.subscribe();
    let outcomes = executor.run(one("wrong", "{}")).await;
    assert_eq!(
        texts(&outcomes),
        ["Tool unavailable: `blocking_update` needs a `blocking` tool; use `update` or `try_update`"]
    );
}

// K02
#[tokio::test]
async fn a_report_after_the_end_of_the_call_is_refused() {
    struct Kept(Mutex<Option<ToolContext>>);
    /// Stores its context.
    #[tool(register = false)]
    fn keep(cx: &ToolContext, kept: &Arc<Kept>) {
        *kept.0.lock().unwrap() = Some(cx.clone());
    }
    let kept = Arc::new(Kept(Mutex::default()));
    let executor = building(Registry::builder().tool::<keep>().provide(Arc::clone(&kept))).build().unwrap();
    let mut listener = executor.subscribe();
    executor.run(one("keep", "{}")).await;
    let cx = kept.0.lock().unwrap().take().unwrap();
    assert!(!cx.try_update("late"));
    assert_eq!(super::told(&mut listener), ["started 0", "finished 0"]);
}

// K01
#[tokio::test(flavor = "multi_thread")]
async fn blocking_updates_of_a_second_attempt_have_its_number() {
    /// Fails once, and then sends an update.
    #[tool(register = false, blocking, retry(attempts = 2, initial = "1ms"))]
    fn stubborn(cx: &ToolContext) -> Result<(), ToolError> {
        cx.blocking_update(format!("attempt {}", cx.attempt()))?;
        match cx.attempt() {
            1 => Err(ToolError::failed("busy").retryable(true)),
            _ => Ok(()),
        }
    }
    let executor = building(Registry::builder().tool::<stubborn>()).build().unwrap();
    let mut listener = executor.subscribe();
    executor.run(one("stubborn", "{}")).await;
    let updates = super::events(&mut listener).into_iter().filter_map(|event| match event.kind {
        EventKind::Updated { attempt, update } => Some((attempt, update.text().into_owned())),
        _ => None,
    });
    let expected = [(1, "attempt 1".to_owned()), (2, "attempt 2".to_owned())];
    assert_eq!(updates.collect::<Vec<_>>(), expected);
}

// J08, K06
#[tokio::test(flavor = "multi_thread")]
async fn blocking_updates_without_a_receiver_take_no_room() {
    /// Sends more updates than are kept.
    #[tool(register = false, blocking, idle_timeout = "1h")]
    fn chatter(cx: &ToolContext) -> Result<u32, ToolError> {
        for n in 0..200 {
            cx.blocking_update(n.to_string())?;
        }
        Ok(200)
    }
    let executor = building(Registry::builder().tool::<chatter>()).build().unwrap();
    assert_eq!(texts(&executor.run(one("chatter", "{}")).await), ["200"]);
}
