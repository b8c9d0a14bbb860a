//! A million calls through one executor. Some panic, some fail, some time out, some panic when they are dropped, and some
//! belong to a run that is cancelled while a hook hangs.
//!
//! Memory must not grow: the peak is printed regularly.

use std::{error::Error, fs, future::pending, ops::ControlFlow, panic, time::Duration};

use futures_util::{StreamExt, future::join, stream};
use tool_runtime::{
    CallOutcome, CancellationToken, ErrorKind, Executor, Registry, RunContext, ToolCall, ToolError,
    ToolResult,
    hook::{Before, BeforeCall, CallView, Hook},
    tool,
};

const CALLS: u64 = 1_000_000;
const IN_FLIGHT: usize = 64;

/// Succeeds, fails, hangs or panics depending on its number.
#[tool(timeout = "1ms")]
#[expect(clippy::panic, reason = "panics are measured")]
async fn work(number: u64) -> Result<u64, String> {
    match number % 100 {
        0 => panic!("boom"),
        1 => Err("no".to_owned()),
        2 => pending().await,
        3 => {
            let _fragile = Fragile;
            pending().await
        }
        _ => {
            tokio::task::yield_now().await;
            Ok(number)
        }
    }
}

/// Panics when it is dropped.
struct Fragile;

impl Drop for Fragile {
    #[expect(clippy::panic, reason = "panics are measured")]
    fn drop(&mut self) {
        panic!("dropped");
    }
}

/// A hook that hangs before and after the calls of runs that are cancelled.
struct Hanging;

impl Hook for Hanging {
    async fn before(&self, call: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        let hangs = call.context().run().is_some_and(|run| run.user() == Some("before"));
        if hangs {
            pending::<()>().await;
        }
        Ok(Before::Continue)
    }

    async fn after(
        &self,
        call: &CallView<'_>,
        _result: &mut ToolResult,
    ) -> Result<ControlFlow<()>, ToolError> {
        let hangs = call.run().is_some_and(|run| run.user() == Some("after"));
        if hangs {
            pending::<()>().await;
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Returns the peak memory of the process, in kB.
fn peak() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |peak| peak.trim().to_owned())
}

#[derive(Debug, Default)]
struct Tally {
    done: u64,
    ok: u64,
    panicked: u64,
    failed: u64,
    late: u64,
    cancelled: u64,
}

impl Tally {
    fn add(&mut self, outcome: &CallOutcome) {
        self.done += 1;
        match outcome.result().map(|result| &result.outcome) {
            Some(Ok(_)) => self.ok += 1,
            Some(Err(error)) => match error.kind() {
                ErrorKind::Panicked => self.panicked += 1,
                ErrorKind::TimedOut => self.late += 1,
                ErrorKind::Cancelled => self.cancelled += 1,
                _ => self.failed += 1,
            },
            None => {}
        }
        if [CALLS / 10, CALLS].contains(&self.done) {
            println!("after {:>9} calls: peak memory {}", self.done, peak());
        }
    }
}

/// Runs call `number`. One call in a hundred is cancelled while a hook hangs before it, and one while a hook hangs
/// after it.
async fn call(executor: &Executor, number: u64) -> Vec<CallOutcome> {
    let batch = executor.batch(vec![ToolCall::new("work", format!(r#"{{"number":{number}}}"#))]);
    let user = match number % 100 {
        4 => "before",
        5 => "after",
        _ => return batch.run().await,
    };
    let stop = CancellationToken::new();
    let run = RunContext::new().with_user(user).with_cancellation(stop.clone());
    let cancelled = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        stop.cancel();
    };
    join(batch.with_run(run).run(), cancelled).await.0
}

fn main() -> Result<(), Box<dyn Error>> {
    // Without this, the panics would print thousands of backtraces.
    panic::set_hook(Box::new(|_| {}));
    let tools = Registry::builder().tool::<work>().build()?;
    let executor = Executor::builder(tools).hook(Hanging).grace_period(Duration::ZERO).build()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let started = std::time::Instant::now();
    let tally = runtime.block_on(async {
        let executor = &executor;
        stream::iter(0..CALLS)
            .map(|number| call(executor, number))
            .buffer_unordered(IN_FLIGHT)
            .fold(Tally::default(), async |mut tally, outcomes| {
                outcomes.iter().for_each(|outcome| tally.add(outcome));
                tally
            })
            .await
    });
    println!("{tally:?} in {:?}", started.elapsed());
    let one_in_a_hundred = CALLS / 100;
    let Tally { done, ok, panicked, failed, late, cancelled } = tally;
    assert_eq!(
        (done, panicked, failed),
        (CALLS, one_in_a_hundred, one_in_a_hundred),
        "each call has a result"
    );
    assert!(cancelled >= one_in_a_hundred, "a hook that hangs before a call ends with the batch");
    // On a busy machine, other calls may also be cancelled before they end.
    assert!(
        late >= 2 * one_in_a_hundred && ok + late + cancelled == CALLS - 2 * one_in_a_hundred,
        "each by its kind"
    );
    Ok(())
}
