//! A caller, which writes a line before each of its calls and one for its outcome. Callers answer each other's open calls.

use std::{convert::Infallible, path::Path, time::Duration};

use fastrand::Rng;
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};
use tool_fleet::{DurableCalls, FleetToolSet};
use tool_runtime::{
    CallOutcome, CancellationToken, Executor, Registry, RunContext, ToolCall, ToolResult, Toolbox,
    call::{CallAddress, CallId},
    definition::ContentHash,
    prelude::*,
};

use crate::{
    Connections, POOL,
    bodies::Kind,
    lines::{Clock, Lines},
    open_calls::OpenCallFiles,
    pool_key, program_key,
    queue::ChaosQueue,
    settings,
};

/// The file with the calls and outcomes of all callers.
pub(crate) const CALLS_FILE: &str = "calls";

/// The calls that a caller has at once.
const CALLS_AT_ONCE: usize = 3;

/// The time for which a durable call waits for its end; longer ones are left open.
const DURABLE_WAIT: Duration = Duration::from_secs(1);

/// The interval in which a caller looks for answers to open calls.
const ANSWER_INTERVAL: Duration = Duration::from_millis(300);

/// The time after which calls succeed again once nothing is disturbed any more: connections to a broker come back within 4 s.
const RECOVERY: Duration = Duration::from_secs(10);

/// The address of the call with this id, in all processes.
pub(crate) fn address_of(id: &str) -> CallAddress {
    CallAddress { run: None, call_id: CallId::from(id.to_owned()), serial: 1 }
}

/// The beginning of the ids that the attempts of a call have in its queue.
pub(crate) fn queue_id_prefix(id: &str) -> String {
    let hash = ContentHash::of(&("tool-fleet queued call", POOL, address_of(id)));
    hash.to_string()[..32].to_owned()
}

/// The text of a result in the lines of its call.
fn result_text(id: &str, result: &ToolResult) -> String {
    match result.text() {
        text if !result.is_error() && text.starts_with(&format!("{id} by ")) => "ok".to_owned(),
        text => text.into_owned(),
    }
}

/// Reads the ends of durable calls of all callers.
pub(crate) struct EndReader {
    clock: Clock,
    lines: Lines,
    pub(crate) durable: DurableCalls,
    pub(crate) executor: Executor,
}

impl EndReader {
    pub(crate) fn new(queue: ChaosQueue, tools: Registry, folder: &Path, clock: Clock) -> Self {
        let durable = Kind::ALL.into_iter().filter(|kind| kind.is_durable()).map(Kind::tool);
        let durable = DurableCalls::new(queue, pool_key()).unwrap().only(durable).wait(DURABLE_WAIT);
        let executor = Executor::builder(tools).open_calls(OpenCallFiles::open(folder));
        let executor = executor.program_key(program_key()).build().unwrap();
        Self { clock, lines: Lines::open(folder, CALLS_FILE), durable, executor }
    }

    /// Answers the open calls that have ended.
    pub(crate) async fn answer_calls(&self) {
        // While the broker is away, later.
        for it in self.durable.answer_open_calls(&self.executor).await.into_iter().flatten() {
            let id = it.address.call_id.to_string();
            self.add_line("end", &id, &result_text(&id, &it.result));
        }
    }

    pub(crate) fn add_line(&self, event: &str, id: &str, text: &str) {
        self.lines.add_line(&format!("{event} {id} {} {text}", self.clock.millis()));
    }
}

pub(crate) struct Caller {
    name: String,
    ends: EndReader,
    _toolbox: Toolbox,
}

impl Caller {
    /// Connects, and lists the tools as soon as there are workers.
    pub(crate) async fn connect(
        connections: Connections,
        make_queue: impl Fn() -> ChaosQueue,
        folder: &Path,
        name: String,
        clock: Clock,
    ) -> Self {
        let toolbox = Toolbox::new();
        let none = Registry::builder().build().unwrap();
        let durable = EndReader::new(make_queue(), none, folder, clock).durable;
        let set = loop {
            let transport = connections.transport.clone();
            match FleetToolSet::connect_durable(transport, settings(), durable.clone()).await {
                Ok(set) => break set,
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        };
        toolbox.add_toolset(set).unwrap();
        let tools = loop {
            let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
            if tools.len() == Kind::ALL.len() {
                break tools;
            }
            sleep(Duration::from_millis(100)).await;
        };
        Self { name, ends: EndReader::new(make_queue(), tools, folder, clock), _toolbox: toolbox }
    }

    /// Calls until `stop`, waits for all outcomes that are not left open, and calls once more. Answers open calls meanwhile.
    pub(crate) async fn run(&self, stop: &CancellationToken, rng: &mut Rng) {
        let done = CancellationToken::new();
        let calling = async {
            self.call_until(stop, rng).await;
            self.call_after_chaos().await;
            done.cancel();
        };
        let answering = async {
            while !done.is_cancelled() {
                self.ends.answer_calls().await;
                sleep(ANSWER_INTERVAL).await;
            }
        };
        tokio::join!(calling, answering);
    }

    async fn call_until(&self, stop: &CancellationToken, rng: &mut Rng) {
        join_all((0..CALLS_AT_ONCE).map(|lane| self.call_in_lane(lane, stop, rng.fork()))).await;
    }

    async fn call_in_lane(&self, lane: usize, stop: &CancellationToken, mut rng: Rng) {
        let mut number = 0;
        while !stop.is_cancelled() {
            number += 1;
            let kind = Kind::ALL[rng.usize(..Kind::ALL.len())];
            // Some are longer than the time after which a worker is lost.
            let longest = if rng.u8(..5) == 0 { 3000 } else { 200 };
            let cancel_after = (rng.u8(..8) == 0).then(|| Duration::from_millis(rng.u64(..2 * longest)));
            // Its line has the outcome.
            let _ = self.call(kind, &format!("{lane}.{number}"), rng.u64(..longest), cancel_after).await;
            let pause = sleep(Duration::from_millis(rng.u64(..100)));
            tokio::select! { () = pause => {}, () = stop.cancelled() => {} }
        }
    }

    /// Calls each tool until it returns a result, or the call is left open: nothing hinders it any more.
    async fn call_after_chaos(&self) {
        let until = Instant::now() + RECOVERY;
        for kind in Kind::ALL {
            let mut number = 0;
            loop {
                number += 1;
                match self.call(kind, &format!("last.{kind}.{number}"), 10, None).await {
                    Ok(()) => break,
                    Err(_) if Instant::now() < until => sleep(Duration::from_millis(100)).await,
                    Err(text) => panic!("a call of `{kind}` still fails after the chaos: {text}"),
                }
            }
        }
    }

    async fn call(
        &self,
        kind: Kind,
        number: &str,
        millis: u64,
        cancel_after: Option<Duration>,
    ) -> Result<(), String> {
        let id = format!("{}.{number}", self.name);
        self.ends.add_line("begin", &id, kind.tool());
        let arguments = json!({ "id": id, "millis": millis });
        let call = ToolCall::new(format!("{POOL}__{kind}"), arguments).with_address(address_of(&id));
        let token = CancellationToken::new();
        let run = RunContext::new().with_cancellation(token.clone());
        let cancelling = async {
            if let Some(time) = cancel_after {
                sleep(time).await;
                self.ends.add_line("cancel", &id, "");
                token.cancel();
            }
            std::future::pending::<Infallible>().await
        };
        let mut outcomes = tokio::select! {
            outcomes = self.ends.executor.batch(vec![call]).with_run(run).run() => outcomes,
            never = cancelling => match never {},
        };
        let text = match outcomes.remove(0) {
            CallOutcome::Pending(_) => {
                self.ends.add_line("open", &id, "");
                return Ok(());
            }
            CallOutcome::Finished(result) => result_text(&id, &result),
            CallOutcome::External(..) => "no result".to_owned(),
        };
        self.ends.add_line("end", &id, &text);
        if text == "ok" { Ok(()) } else { Err(text) }
    }
}
