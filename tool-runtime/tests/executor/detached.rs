//! Blocking bodies that outlive their calls: they are counted, limited and reported (section 13, decision 9).

use std::{
    fmt::Debug,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::join};
use test_support::collectors::each_thread_for_itself;
use tokio::{sync::Semaphore, task::yield_now};
use tool_runtime::{
    CallOutcome, CancellationToken, ErrorKind, Executor, RunContext, executor::ExecutorBuilder, prelude::*,
};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context, prelude::*};

use super::{Counter, building, calls, echo, one, texts};

/// The signals between a test and a blocking body.
struct Stuck {
    begun: Semaphore,
    until: Mutex<Receiver<()>>,
}

/// Waits on its thread.
#[tool(register = false, blocking)]
fn stuck(stuck: &Arc<Stuck>, counter: &Counter) -> &'static str {
    counter.count();
    stuck.begun.add_permits(1);
    // Until the test lets it continue or drops the sender.
    let _ = stuck.until.lock().unwrap().recv();
    "done"
}

/// Panics on its thread.
#[tool(register = false, blocking)]
fn crash() {
    panic!("boom")
}

struct Test {
    stuck: Arc<Stuck>,
    counter: Counter,
    end: Sender<()>,
    stop: CancellationToken,
    run: Arc<RunContext>,
}

fn test() -> (ExecutorBuilder, Test) {
    let (end, until) = channel();
    let stuck_at = Arc::new(Stuck { begun: Semaphore::new(0), until: Mutex::new(until) });
    let (counter, stop) = (Counter::default(), CancellationToken::new());
    let tools = Registry::builder().tool::<stuck>().tool::<crash>().tool::<echo>();
    let tools = tools.provide(Arc::clone(&stuck_at)).provide(counter.clone());
    let run = Arc::new(RunContext::new().with_cancellation(stop.clone()));
    (building(tools), Test { stuck: stuck_at, counter, end, stop, run })
}

impl Test {
    async fn begun(&self) {
        self.stuck.begun.acquire().await.unwrap().forget();
    }

    /// Detaches a body.
    async fn leave(&self, executor: &Executor) -> Vec<CallOutcome> {
        let batch = executor.batch(calls(&["stuck"])).with_run(Arc::clone(&self.run));
        let stopped = async {
            self.begun().await;
            self.stop.cancel();
        };
        join(batch.run(), stopped).await.0
    }
}

async fn none_is_left(executor: &Executor) {
    while executor.detached() > 0 {
        yield_now().await;
    }
}

#[test]
fn a_detached_body_is_counted_from_its_cancellation_until_it_ends() {
    super::on_both_runtimes(async || {
        let (builder, test) = test();
        let executor = builder.build().unwrap();
        assert_eq!(texts(&test.leave(&executor).await), ["Cancelled"]);
        assert_eq!(executor.detached(), 1);
        assert_eq!(executor.clone().detached(), 1);
        test.end.send(()).unwrap();
        none_is_left(&executor).await;
    });
}

#[tokio::test(start_paused = true)]
async fn a_body_whose_call_timed_out_or_was_dropped_is_counted() {
    let (builder, test) = test();
    let executor = builder.timeout(Duration::from_secs(5)).build().unwrap();
    let late = async {
        test.begun().await;
        tokio::time::advance(Duration::from_secs(6)).await;
    };
    let (outcomes, ()) = join(executor.run(calls(&["stuck"])), late).await;
    assert_eq!(texts(&outcomes), ["Timed out: no result after 5s"]);
    assert_eq!(executor.detached(), 1);
    drop(test.end);
    none_is_left(&executor).await;

    let (builder, test) = self::test();
    let executor = builder.build().unwrap();
    {
        let mut batch = Box::pin(executor.run(calls(&["stuck"])));
        tokio::select! {
            _ = &mut batch => unreachable!("it waits"),
            () = test.begun() => {}
        }
        assert_eq!(executor.detached(), 0);
    }
    assert_eq!(executor.detached(), 1);
    drop(test.end);
    none_is_left(&executor).await;
}

#[test]
fn at_the_limit_of_detached_bodies_no_other_starts_until_one_ends() {
    super::on_both_runtimes(async || {
        let (builder, test) = test();
        let executor = builder.max_detached(1).build().unwrap();
        test.leave(&executor).await;
        let mut batch = calls(&["stuck"]);
        batch.extend(one("echo", r#"{"text":"a"}"#));
        let outcomes = executor.run(batch.clone()).await;
        let refused = "Tool unavailable: as many calls as may (1) were late or cancelled and still block a \
                       thread; try again when one of them has ended";
        assert_eq!(texts(&outcomes), [refused, "a"]);
        let error = outcomes[0].result().unwrap().outcome.as_ref().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        test.end.send(()).unwrap();
        none_is_left(&executor).await;
        test.end.send(()).unwrap();
        assert_eq!(texts(&executor.run(batch).await), ["done", "a"]);
        // The detached call, the last one, and two echoes.
        assert_eq!(test.counter.get(), 4);
    });
    let error = test().0.max_detached(0).build().unwrap_err();
    let message = "the limit of `blocking` bodies is 0, so that no call could run; set it to at least 1";
    assert_eq!(error.to_string(), message);
}

#[test]
fn awaited_and_detached_bodies_together_never_exceed_the_permits() {
    super::on_both_runtimes(async || {
        let (builder, test) = test();
        let executor = builder.max_detached(2).build().unwrap();
        let batch = executor.batch(calls(&["stuck"; 40])).with_run(Arc::clone(&test.run));
        let stopped = async {
            test.begun().await;
            test.begun().await;
            test.stop.cancel();
        };
        assert_eq!(texts(&join(batch.run(), stopped).await.0), ["Cancelled"; 40]);
        assert_eq!((test.counter.get(), executor.detached()), (2, 2));
        drop(test.end);
        none_is_left(&executor).await;
    });
}

#[test]
fn the_default_limit_of_detached_bodies_is_sixty_four() {
    crate::run(async {
        let (builder, test) = test();
        let executor = builder.build().unwrap();
        let batch = executor.batch(calls(&["stuck"; 66])).with_run(Arc::clone(&test.run));
        let stopped = async {
            for _ in 0..64 {
                test.begun().await;
            }
            test.stop.cancel();
        };
        assert_eq!(texts(&join(batch.run(), stopped).await.0), ["Cancelled"; 66]);
        assert_eq!((test.counter.get(), executor.detached()), (64, 64));
        drop(test.end);
        none_is_left(&executor).await;
    });
}

#[test]
fn a_body_waits_for_the_permit_of_another_one() {
    super::on_both_runtimes(async || {
        let (builder, test) = test();
        let executor = builder.max_detached(1).build().unwrap();
        let ended = async {
            test.begun().await;
            assert_eq!(test.counter.get(), 1);
            test.end.send(()).unwrap();
            test.begun().await;
            test.end.send(()).unwrap();
        };
        let (outcomes, ()) = join(executor.run(calls(&["stuck", "stuck"])), ended).await;
        assert_eq!(texts(&outcomes), ["done", "done"]);
        assert_eq!(executor.detached(), 0);
    });
}

#[test]
fn a_waiting_body_is_refused_when_detached_bodies_hold_all_permits() {
    super::on_both_runtimes(async || {
        let (builder, test) = test();
        let executor = builder.max_detached(1).build().unwrap();
        let waits = async {
            test.begun().await;
            let waiting = executor.run(calls(&["stuck"]));
            let stopped = async { test.stop.cancel() };
            texts(&join(waiting, stopped).await.0)
        };
        let left = executor.batch(calls(&["stuck"])).with_run(Arc::clone(&test.run)).run();
        let (outcomes, waited) = join(left, waits).await;
        assert_eq!(texts(&outcomes), ["Cancelled"]);
        assert!(waited[0].starts_with("Tool unavailable: as many calls as may (1)"), "{waited:?}");
        drop(test.end);
        none_is_left(&executor).await;
    });
}

#[test]
fn a_body_that_ended_or_panicked_is_not_detached() {
    super::on_both_runtimes(async || {
        let (builder, test) = test();
        let executor = builder.max_detached(1).build().unwrap();
        test.end.send(()).unwrap();
        let outcomes = executor.run(calls(&["stuck", "crash"])).await;
        assert_eq!(texts(&outcomes), ["done", "The tool crash panicked: boom"]);
        assert_eq!(executor.detached(), 0);
    });
}

#[test]
fn a_body_without_a_thread_at_its_cancellation_never_runs() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.max_blocking_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let (builder, test) = test();
        let executor = builder.build().unwrap();
        let (free, until) = channel::<()>();
        let occupied = tokio::task::spawn_blocking(move || until.recv());
        let mut batch = Box::pin(executor.run(calls(&["stuck"])));
        assert!(batch.as_mut().now_or_never().is_none());
        drop(batch);
        assert_eq!(executor.detached(), 0);
        drop(free);
        let _ = occupied.await.unwrap();
        // The only thread runs bodies in order.
        tokio::task::spawn_blocking(|| ()).await.unwrap();
        assert_eq!((test.counter.get(), executor.detached()), (0, 0));
    });
}

#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Visit for Warnings {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.lock().unwrap().push(format!("{field}={value:?}"));
    }
}

impl<S: Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() == tracing::Level::WARN {
            event.record(&mut self.clone());
        }
    }
}

#[test]
fn a_detached_body_is_reported() {
    each_thread_for_itself();
    let warnings = Warnings::default();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(warnings.clone()), || {
        crate::run(async {
            let (builder, test) = test();
            let executor = builder.build().unwrap();
            test.leave(&executor).await;
            drop(test.end);
        });
    });
    let told = warnings.0.lock().unwrap().join(" ");
    let what = "a blocking body cannot be stopped; it continues detached";
    for part in ["tool=\"stuck\"", "call=0", "detached=1", what] {
        assert!(told.contains(part), "{told}");
    }
}
