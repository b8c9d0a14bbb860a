//! Limits of concurrent calls.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::time::{Instant, sleep};
use tool_runtime::{
    CancellationToken, Executor, RunContext,
    executor::ExecutorError,
    policy::{Limits, LimitsError},
    prelude::*,
};

use super::{Timeline, building, calls, hang, texts, told};

/// The current and the maximum number of running calls.
#[derive(Default)]
struct Gauge {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Gauge {
    async fn within(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        sleep(Duration::from_secs(1)).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Works.
#[tool(register = false)]
async fn work(gauge: &Arc<Gauge>) {
    gauge.within().await;
}

/// Works in a group.
#[tool(register = false, group = "slow")]
async fn grouped(gauge: &Arc<Gauge>) {
    gauge.within().await;
}

/// Works sequentially.
#[tool(register = false, concurrency_safe = false)]
async fn unsafe_work(gauge: &Arc<Gauge>) {
    gauge.within().await;
}

/// Returns the maximum number of calls of `names` that run at once under `limits`.
async fn at_most(limits: Limits, names: &[&str]) -> usize {
    let gauge = Arc::new(Gauge::default());
    let tools = Registry::builder().tool::<work>().tool::<grouped>().tool::<unsafe_work>();
    let executor = building(tools.provide(Arc::clone(&gauge))).limits(limits).build().unwrap();
    let outcomes = executor.run(calls(names)).await;
    assert!(outcomes.iter().all(|outcome| outcome.is_finished()));
    assert_eq!(texts(&outcomes), vec![""; names.len()]);
    gauge.most.load(Ordering::SeqCst)
}

// G13
#[tokio::test(start_paused = true)]
async fn concurrent_calls_never_exceed_the_limit() {
    assert_eq!(at_most(Limits::new(), &["work"; 5]).await, 5);
    assert_eq!(at_most(Limits::new().overall(2), &["work"; 5]).await, 2);
    assert_eq!(at_most(Limits::new().tool("work", 3), &["work"; 5]).await, 3);
    assert_eq!(at_most(Limits::new().tool("work", 1), &["work", "work", "grouped"]).await, 2);
    assert_eq!(at_most(Limits::new().overall(usize::MAX), &["work"; 3]).await, 3);
}

// G13
#[tokio::test(start_paused = true)]
async fn the_tools_of_a_group_share_its_limit() {
    let group = Limits::new().group("slow", 1, ["work"]);
    assert_eq!(at_most(group.clone(), &["work", "grouped", "work"]).await, 1);
    assert_eq!(at_most(group, &["work", "unsafe_work"]).await, 2);
    assert_eq!(at_most(Limits::new(), &["grouped"; 2]).await, 2);
    // The same group twice, with the same limit.
    assert_eq!(at_most(Limits::new().group("slow", 1, ["grouped"]), &["grouped"; 2]).await, 1);
}

// G13, A09
#[tokio::test(start_paused = true)]
async fn calls_of_unsafe_tools_run_one_at_a_time_if_hints_apply() {
    assert_eq!(at_most(Limits::new(), &["unsafe_work"; 3]).await, 3);
    assert_eq!(at_most(Limits::new().by_hints(), &["unsafe_work"; 3]).await, 1);
    assert_eq!(at_most(Limits::new().by_hints().tool("unsafe_work", 2), &["unsafe_work"; 3]).await, 2);
}

// G13
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_narrow_limit_holds_no_wider_one() {
    /// Returns the number of seconds since the batch began, on a paused clock.
    #[tool(register = false)]
    async fn beside(began: &Instant) -> u64 {
        began.elapsed().as_secs()
    }
    // The second call of `work` waits for a second. Each wider limit has room for another tool meanwhile.
    for limits in [
        Limits::new().tool("work", 1).overall(2),
        Limits::new().group("narrow", 1, ["work"]).overall(2),
        Limits::new().tool("work", 1).group("wide", 2, ["work", "beside"]),
    ] {
        let tools = Registry::builder().tool::<work>().tool::<beside>();
        let tools = tools.provide(Arc::<Gauge>::default()).provide(Instant::now());
        let executor = building(tools).limits(limits.clone()).build().unwrap();
        let outcomes = executor.run(calls(&["work", "work", "beside"])).await;
        assert_eq!(texts(&outcomes), ["", "", "0"], "{limits:?}"); // G13
    }
}

// G13
#[test]
fn invalid_limits_are_errors() {
    let error = |limits: Limits| {
        let tools = Registry::builder().tool::<grouped>().provide(Arc::<Gauge>::default());
        building(tools).limits(limits).build().unwrap_err()
    };
    let twice = error(Limits::new().group("slow", 1, ["x"]).group("other", 1, ["grouped"]));
    assert!(matches!(twice, ExecutorError::Limits(LimitsError::TwoGroups(..))));
    assert_eq!(
        twice.to_string(),
        "the tool `grouped` is in the group `other` and in the group `slow`; remove it from one"
    );
    let given = error(Limits::new().group("slow", 1, ["grouped"]).group("slower", 1, ["grouped"]));
    assert_eq!(
        given.to_string(),
        "the tool `grouped` is in the group `slow` and in the group `slower`; remove it from one"
    );
    let same = Limits::new().group("slow", 1, ["grouped", "grouped"]);
    let tools = Registry::builder().tool::<grouped>().provide(Arc::<Gauge>::default());
    assert!(building(tools).limits(same).build().is_ok());
    let none = |limits| error(limits).to_string();
    assert_eq!(
        none(Limits::new().overall(0)),
        "the limit of all tools is 0, so that no call could run; set it to at least 1"
    );
    assert_eq!(
        none(Limits::new().tool("a", 0)),
        "the limit of the tool `a` is 0, so that no call could run; set it to at least 1"
    );
    assert_eq!(
        none(Limits::new().group("a", 0, ["b"])),
        "the limit of the group `a` is 0, so that no call could run; set it to at least 1"
    );
}

// G13, G11
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_permit_is_cancelled_at_once_and_never_starts() {
    /// Records its start.
    #[tool(register = false)]
    async fn begin(timeline: &Timeline, cx: &ToolContext) -> &'static str {
        timeline.note("begun");
        cx.cancellation().cancelled().await;
        "stopped"
    }
    let timeline = Timeline::default();
    let tools = Registry::builder().tool::<begin>().tool::<hang>().provide(timeline.clone());
    let executor = building(tools).limits(Limits::new().overall(1)).build().unwrap();
    let mut listener = executor.subscribe();
    let stop = CancellationToken::new();
    let run = RunContext::new().with_cancellation(stop.clone());
    let batch = executor.batch(calls(&["begin", "begin", "hang"])).with_run(run).run();
    let stopping = async {
        sleep(Duration::from_secs(1)).await;
        stop.cancel();
    };
    let (outcomes, ()) = tokio::join!(batch, stopping);
    // The first call releases its permit as it ends, but no call takes it.
    assert_eq!(texts(&outcomes), ["stopped", "Cancelled", "Cancelled"]);
    assert_eq!(timeline.all(), ["begun"]);
    let attempts: Vec<_> = outcomes.iter().map(|outcome| outcome.result().unwrap().attempts).collect();
    assert_eq!(attempts, [1, 0, 0]);
    assert_eq!(
        told(&mut listener),
        ["started 0", "started 1", "started 2", "finished 0", "finished 1", "finished 2"]
    );
    // The permit is available to the next batch.
    let again = executor.batch(calls(&["begin"])).with_run(RunContext::new());
    assert!(tokio::time::timeout(Duration::from_secs(1), again.run()).await.is_err());
    assert_eq!(timeline.all(), ["begun", "begun"]);
}

// G13
#[tokio::test(start_paused = true)]
async fn runs_with_their_own_tools_share_the_limits() {
    for limits in
        [Limits::new().overall(1), Limits::new().by_hints(), Limits::new().group("slow", 1, ["unsafe_work"])]
    {
        let gauge = Arc::new(Gauge::default());
        let tools = || Registry::builder().tool::<unsafe_work>().provide(Arc::clone(&gauge)).build().unwrap();
        let shared = Executor::builder(Registry::builder().build().unwrap()).limits(limits).build().unwrap();
        let (one, other) = (shared.with_tools(tools()).unwrap(), shared.with_tools(tools()).unwrap());
        futures_util::join!(one.run(calls(&["unsafe_work"; 2])), other.run(calls(&["unsafe_work"; 2])));
        assert_eq!(gauge.most.load(Ordering::SeqCst), 1);
    }
}
