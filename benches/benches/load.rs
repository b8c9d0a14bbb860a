//! A million calls through one executor, of which some panic, some fail and some take too long.
//!
//! Memory must not grow: the peak is printed on the way.

use std::{error::Error, fs, panic};

use futures_util::{StreamExt, stream};
use tool_runtime::{ErrorKind, Executor, Registry, ToolCall, tool};

const CALLS: u64 = 1_000_000;
const IN_FLIGHT: usize = 64;

/// Does what its number says.
#[tool(timeout = "1ms")]
#[expect(clippy::panic, reason = "this is what is measured")]
async fn work(number: u64) -> Result<u64, String> {
    match number % 100 {
        0 => panic!("boom"),
        1 => Err("no".to_owned()),
        2 => std::future::pending().await,
        _ => {
            tokio::task::yield_now().await;
            Ok(number)
        }
    }
}

/// The most memory that was used so far, in kB.
fn peak() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |peak| peak.trim().to_owned())
}

#[derive(Default)]
struct Tally {
    done: u64,
    ok: u64,
    panicked: u64,
    failed: u64,
    late: u64,
}

impl Tally {
    fn add(&mut self, outcome: &tool_runtime::CallOutcome) {
        self.done += 1;
        match outcome.result().map(|result| &result.outcome) {
            Some(Ok(_)) => self.ok += 1,
            Some(Err(error)) if error.kind() == ErrorKind::Panicked => self.panicked += 1,
            Some(Err(error)) if error.kind() == ErrorKind::TimedOut => self.late += 1,
            Some(Err(_)) => self.failed += 1,
            None => {}
        }
        if [CALLS / 10, CALLS].contains(&self.done) {
            println!("after {:>9} calls: peak memory {}", self.done, peak());
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // Ten thousand back traces help nobody.
    panic::set_hook(Box::new(|_| {}));
    let executor = Executor::new(Registry::builder().tool::<work>().build()?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let started = std::time::Instant::now();
    let tally = runtime.block_on(async {
        let executor = &executor;
        stream::iter(0..CALLS)
            .map(|number| async move {
                let call = ToolCall::new("work", format!(r#"{{"number":{number}}}"#));
                executor.run(vec![call]).await
            })
            .buffer_unordered(IN_FLIGHT)
            .fold(Tally::default(), async |mut tally, outcomes| {
                outcomes.iter().for_each(|outcome| tally.add(outcome));
                tally
            })
            .await
    });
    let Tally { done, ok, panicked, failed, late } = tally;
    println!(
        "{done} calls in {:?}: {ok} ok, {panicked} panicked, {failed} failed, {late} too late",
        started.elapsed()
    );
    let one_in_a_hundred = CALLS / 100;
    assert_eq!((done, panicked, failed), (CALLS, one_in_a_hundred, one_in_a_hundred), "all were answered");
    // On a busy machine one that would have ended may be late, too.
    assert!(late >= one_in_a_hundred && ok + late == CALLS - 2 * one_in_a_hundred, "each by its own kind");
    Ok(())
}
