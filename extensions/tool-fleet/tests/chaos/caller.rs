//! A caller, which writes a line before each of its calls and one for its outcome.

use std::{path::Path, sync::Arc, time::Duration};

use fastrand::Rng;
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};
use tool_fleet::{FleetToolSet, Transport};
use tool_runtime::{CancellationToken, Executor, RunContext, ToolCall, Toolbox, prelude::*};

use crate::{
    POOL,
    bodies::Kind,
    lines::{Clock, Lines},
    pool_key, settings,
};

/// The file with the calls and outcomes of all callers.
pub(crate) const CALLS_FILE: &str = "calls";

/// The calls that a caller has at once.
const CALLS_AT_ONCE: usize = 3;

/// The time after which calls succeed again once nothing is disturbed any more: connections to a broker come back within 4 s.
const RECOVERY: Duration = Duration::from_secs(10);

pub(crate) struct Caller {
    name: String,
    clock: Clock,
    lines: Lines,
    executor: Executor,
    _toolbox: Toolbox,
}

impl Caller {
    /// Connects, and lists the tools as soon as there are workers.
    pub(crate) async fn connect(
        transport: Arc<dyn Transport>,
        folder: &Path,
        name: String,
        clock: Clock,
    ) -> Self {
        let toolbox = Toolbox::new();
        let set = loop {
            match FleetToolSet::connect_with(Arc::clone(&transport), pool_key(), settings()).await {
                Ok(set) => break set,
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        };
        toolbox.add_toolset(set).unwrap();
        let executor = loop {
            let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
            if tools.len() == Kind::ALL.len() {
                break Executor::new(tools);
            }
            sleep(Duration::from_millis(100)).await;
        };
        Self { name, clock, lines: Lines::open(folder, CALLS_FILE), executor, _toolbox: toolbox }
    }

    /// Calls until `stop`, and waits for all outcomes.
    pub(crate) async fn call_until(&self, stop: &CancellationToken, rng: &mut Rng) {
        join_all((0..CALLS_AT_ONCE).map(|lane| self.call_in_lane(lane, stop, rng.fork()))).await;
    }

    async fn call_in_lane(&self, lane: usize, stop: &CancellationToken, mut rng: Rng) {
        let mut number = 0;
        while !stop.is_cancelled() {
            number += 1;
            let kind = Kind::ALL[rng.usize(..Kind::ALL.len())];
            // Some are longer than the time after which a worker is lost.
            let longest = if rng.u8(..5) == 0 { 3000 } else { 200 };
            // Its line has the outcome.
            let _ = self.call(kind, &format!("{lane}.{number}"), rng.u64(..longest)).await;
            let pause = sleep(Duration::from_millis(rng.u64(..100)));
            tokio::select! { () = pause => {}, () = stop.cancelled() => {} }
        }
    }

    /// Calls each tool until it returns a result: nothing hinders it any more.
    pub(crate) async fn call_after_chaos(&self) {
        let until = Instant::now() + RECOVERY;
        for kind in Kind::ALL {
            let mut number = 0;
            loop {
                number += 1;
                match self.call(kind, &format!("last.{kind}.{number}"), 10).await {
                    Ok(()) => break,
                    Err(_) if Instant::now() < until => sleep(Duration::from_millis(100)).await,
                    Err(text) => panic!("a call of `{kind}` still fails after the chaos: {text}"),
                }
            }
        }
    }

    async fn call(&self, kind: Kind, number: &str, millis: u64) -> Result<(), String> {
        let id = format!("{}.{number}", self.name);
        self.lines.add_line(&format!("begin {id} {kind} {}", self.clock.millis()));
        let call = ToolCall::new(format!("{POOL}__{kind}"), json!({ "id": id, "millis": millis }));
        let outcomes = self.executor.run(vec![call]).await;
        let text = outcomes[0].result().map(|result| (result.is_error(), result.text().to_string()));
        let outcome = match text {
            Some((false, text)) if text.starts_with(&format!("{id} by ")) => Ok(()),
            Some((_, text)) => Err(text),
            None => Err("no result".to_owned()),
        };
        let text = outcome.as_ref().map_or_else(|text| text.as_str(), |()| "ok");
        self.lines.add_line(&format!("end {id} {} {text}", self.clock.millis()));
        outcome
    }
}
