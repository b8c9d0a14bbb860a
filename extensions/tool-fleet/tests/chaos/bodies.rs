//! The tools of the workers, whose bodies write a line when they start and one when they end.

use std::{
    fmt,
    path::Path,
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tool_runtime::{prelude::*, serde_json::Map};

use crate::lines::{Clock, Lines};

/// The kinds of calls, by the claims of their tools. Further ones are further variants, with the end that they may have in `checks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Read,
    Idempotent,
    Effect,
    /// With effects, and prepared at its worker.
    Prepared,
    /// Durable, and read-only.
    DurableRead,
    /// Durable, and with effects.
    DurableEffect,
    /// With effects, and left open at once.
    LongRunning,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] = [
        Self::Read,
        Self::Idempotent,
        Self::Effect,
        Self::Prepared,
        Self::DurableRead,
        Self::DurableEffect,
        Self::LongRunning,
    ];

    /// The name of the tool, and of the file of its bodies.
    pub(crate) fn tool(self) -> &'static str {
        match self {
            Self::Read => "look_up",
            Self::Idempotent => "set_value",
            Self::Effect => "book",
            Self::Prepared => "reserve",
            Self::DurableRead => "report",
            Self::DurableEffect => "pay",
            Self::LongRunning => "train",
        }
    }

    pub(crate) fn has_effects(self) -> bool {
        matches!(self, Self::Effect | Self::Prepared | Self::DurableEffect | Self::LongRunning)
    }

    /// Calls of long-running tools are durable in any case.
    pub(crate) fn is_durable(self) -> bool {
        matches!(self, Self::DurableRead | Self::DurableEffect | Self::LongRunning)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.tool())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(tool: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.tool() == tool).ok_or_else(|| tool.to_owned())
    }
}

/// The state that the bodies of a worker share.
pub(crate) struct Bodies {
    worker: String,
    clock: Clock,
    files: Vec<(Kind, Lines)>,
    running: AtomicUsize,
}

/// A body that runs, also until it is dropped.
struct RunningBody<'a>(&'a Bodies);

impl Drop for RunningBody<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Bodies {
    pub(crate) fn new(folder: &Path, worker: impl Into<String>, clock: Clock) -> Arc<Self> {
        let files = Kind::ALL.map(|kind| (kind, Lines::open(folder, kind.tool()))).into();
        Arc::new(Self { worker: worker.into(), clock, files, running: AtomicUsize::new(0) })
    }

    /// The number of bodies that run.
    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    async fn run_body(&self, kind: Kind, id: &str, millis: u64) -> String {
        let (_, file) = self.files.iter().find(|it| it.0 == kind).unwrap();
        self.running.fetch_add(1, Ordering::SeqCst);
        let _body = RunningBody(self);
        file.add_line(&format!("start {id} {} {}", self.worker, self.clock.millis()));
        tokio::time::sleep(Duration::from_millis(millis)).await;
        file.add_line(&format!("end {id} {} {}", self.worker, self.clock.millis()));
        format!("{id} by {}", self.worker)
    }
}

/// Looks something up.
#[tool(read_only, register = false)]
async fn look_up(id: String, millis: u64, bodies: &Bodies) -> String {
    bodies.run_body(Kind::Read, &id, millis).await
}

/// Sets a value.
#[tool(idempotent, register = false)]
async fn set_value(id: String, millis: u64, bodies: &Bodies) -> String {
    bodies.run_body(Kind::Idempotent, &id, millis).await
}

/// Books something.
#[tool(register = false)]
async fn book(id: String, millis: u64, bodies: &Bodies) -> String {
    bodies.run_body(Kind::Effect, &id, millis).await
}

/// Bounds the time of a body.
fn at_most_five_seconds(arguments: &mut Map<String, Value>) -> Result<(), ToolError> {
    let millis = arguments.get("millis").and_then(Value::as_u64).unwrap_or_default();
    arguments.insert("millis".to_owned(), millis.min(5000).into());
    Ok(())
}

/// Reserves something.
#[tool(register = false, prepare = at_most_five_seconds)]
async fn reserve(id: String, millis: u64, bodies: &Bodies) -> String {
    bodies.run_body(Kind::Prepared, &id, millis).await
}

/// Reports something.
#[tool(read_only, register = false)]
async fn report(id: String, millis: u64, bodies: &Bodies) -> String {
    bodies.run_body(Kind::DurableRead, &id, millis).await
}

/// Pays something.
#[tool(register = false)]
async fn pay(id: String, millis: u64, bodies: &Bodies) -> String {
    bodies.run_body(Kind::DurableEffect, &id, millis).await
}

/// Trains something.
#[tool(long_running, register = false)]
async fn train(id: String, millis: u64, bodies: &Bodies) -> String {
    bodies.run_body(Kind::LongRunning, &id, millis).await
}

pub(crate) fn registry(bodies: &Arc<Bodies>) -> Registry {
    let tools = Registry::builder().tool::<look_up>().tool::<set_value>().tool::<book>().tool::<reserve>();
    let tools = tools.tool::<report>().tool::<pay>().tool::<train>();
    tools.provide_shared(Arc::clone(bodies)).build().unwrap()
}
