//! The cost of a batch, and the time until a cancelled batch ends.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use tool_runtime::{CancellationToken, Executor, Registry, RunContext, ToolCall, tool};

/// Sleeps for an hour.
#[tool]
async fn sleep() {
    tokio::time::sleep(Duration::from_secs(3600)).await;
}

/// Returns the time from the cancellation of a batch of `size` sleeping calls to its end.
fn cancelled(size: usize) -> Result<Duration, Box<dyn Error>> {
    let executor = Executor::new(Registry::builder().tool::<sleep>().build()?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let token = CancellationToken::new();
        let run = RunContext::new().with_cancellation(token.clone());
        let batch = executor.batch(vec![ToolCall::new("sleep", "{}"); size]).with_run(run).run();
        let batch = runtime.spawn(batch);
        // Long enough for all calls to be asleep.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let start = Instant::now();
        token.cancel();
        let outcomes = batch.await?;
        let elapsed = start.elapsed();
        assert!(
            outcomes.len() == size && outcomes.iter().all(|it| it.result().is_some_and(|it| it.is_error()))
        );
        Ok(elapsed)
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    benches::measure::run("batches", &benches::batches::workloads()?)?;
    println!("a cancelled batch of 1,000 sleeping calls ends after {:?}", cancelled(1_000)?);
    Ok(())
}
