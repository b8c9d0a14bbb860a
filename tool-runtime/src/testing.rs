//! Scripted tools, an event recorder and a paused clock, for tests of programs with tools.
//!
//! Requires the feature `testing`; enable it in the `[dev-dependencies]`. [`ScriptedTool`] answers calls by a
//! script, and [`Calls`] returns the arguments that it received; [`Gate`] holds calls until a test opens it;
//! [`Recorder`] collects the events of an executor; [`paused`] runs a test with a paused clock.
//!
//! # Examples
//!
//! ```
//! use tool_runtime::{Executor, Registry, ToolCall, testing::{Recorder, ScriptedTool, paused}};
//!
//! paused(async {
//!     let search = ScriptedTool::new("search")
//!         .gives("nothing yet")
//!         .hangs()
//!         .fails("the index is gone");
//!     let calls = search.calls();
//!     let tools = Registry::builder().add(search).build()?;
//!     let executor = Executor::builder(tools).timeout(std::time::Duration::from_secs(60)).build()?;
//!     let recorder = Recorder::of(&executor);
//!
//!     for id in ["a", "b", "c"] {
//!         executor.run(vec![ToolCall::new("search", r#"{"for":"it"}"#).with_id(id)]).await;
//!     }
//!     assert_eq!(calls.arguments(), [r#"{"for":"it"}"#; 3]);
//!     assert_eq!(recorder.texts()?, [
//!         "started a", "finished a: nothing yet",
//!         "started b", "finished b: Timed out: no result after 60s",
//!         "started c", "finished c: the index is gone",
//!     ]);
//!     Ok::<(), Box<dyn std::error::Error>>(())
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{
    collections::VecDeque,
    fmt,
    future::{Future, pending, ready},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::json;
use tokio::sync::Semaphore;
use tool_core::{
    Arguments, BoxFuture, InputSchema, Metadata, Prepared, Tool, ToolContext, ToolDefinition, ToolError,
    ToolName, ToolOutput,
};

use crate::{
    Executor,
    event::{EventKind, EventListener, Lagged, ToolEvent},
};

/// Runs `future` on its own runtime with a paused clock, which advances to the next timer when no task can make
/// progress: an hour of waiting takes no real time.
///
/// # Panics
///
/// Panics if the runtime cannot be created.
pub fn paused<F: Future>(future: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    #[expect(clippy::expect_used, reason = "a test without a runtime has failed")]
    let runtime = runtime.enable_all().start_paused(true).build().expect("a runtime");
    runtime.block_on(future)
}

/// A tool that accepts any arguments and answers calls by a script with one step per call; the last step is
/// repeated.
#[derive(Clone)]
pub struct ScriptedTool {
    definition: ToolDefinition,
    steps: Arc<Mutex<VecDeque<Step>>>,
    calls: Calls,
}

#[derive(Clone)]
enum Step {
    Give(ToolOutput),
    Update(Vec<String>, ToolOutput),
    Fail(ToolError),
    Panic(String),
    Hang,
    Wait(Gate, ToolOutput),
}

impl ScriptedTool {
    /// Creates a tool with an empty output for every call, until steps are added.
    ///
    /// # Panics
    ///
    /// Panics if `name` is not a valid name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        #[expect(clippy::expect_used, reason = "a test with a wrong name has failed")]
        let definition = ToolDefinition::new(
            ToolName::new(name.to_owned()).expect("a valid name"),
            "Answers by a script.",
            InputSchema::new(json!({ "type": "object" })).expect("a valid schema"),
        );
        Self { definition, steps: Arc::default(), calls: Calls::default() }
    }

    /// Sets the metadata. Default: none.
    #[must_use]
    pub fn metadata(mut self, metadata: Metadata) -> Self {
        self.definition = self.definition.with_metadata(metadata);
        self
    }

    /// Adds a step: the call returns `output`.
    #[must_use]
    pub fn gives(self, output: impl Into<ToolOutput>) -> Self {
        self.then(Step::Give(output.into()))
    }

    /// Adds a step: the call reports `updates`, then returns `output`.
    #[must_use]
    pub fn updates<T: Into<String>>(
        self,
        updates: impl IntoIterator<Item = T>,
        output: impl Into<ToolOutput>,
    ) -> Self {
        self.then(Step::Update(updates.into_iter().map(Into::into).collect(), output.into()))
    }

    /// Adds a step: the call fails.
    #[must_use]
    pub fn fails(self, error: impl Into<ToolError>) -> Self {
        self.then(Step::Fail(error.into()))
    }

    /// Adds a step: the call panics.
    #[must_use]
    pub fn panics(self, message: impl Into<String>) -> Self {
        self.then(Step::Panic(message.into()))
    }

    /// Adds a step: the call never completes.
    #[must_use]
    pub fn hangs(self) -> Self {
        self.then(Step::Hang)
    }

    /// Adds a step: the call waits until `gate` is opened, then returns `output`.
    #[must_use]
    pub fn waits_for(self, gate: &Gate, output: impl Into<ToolOutput>) -> Self {
        self.then(Step::Wait(gate.clone(), output.into()))
    }

    /// Returns a handle to the calls of the tool, which stays valid after the tool is moved.
    #[must_use]
    pub fn calls(&self) -> Calls {
        self.calls.clone()
    }

    fn then(self, step: Step) -> Self {
        lock(&self.steps).push_back(step);
        self
    }

    fn next_step(&self) -> Step {
        let mut steps = lock(&self.steps);
        match steps.len() {
            0 | 1 => steps.front().cloned().unwrap_or(Step::Give(ToolOutput::empty())),
            _ => steps.pop_front().unwrap_or(Step::Hang),
        }
    }
}

impl Tool for ScriptedTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, |arguments, cx| {
            lock(&self.calls.0).push(arguments.as_str().to_owned());
            self.next_step().run(cx)
        }))
    }
}

impl Step {
    fn run(self, cx: &ToolContext) -> BoxFuture<'_> {
        match self {
            Self::Give(output) => Box::pin(ready(Ok(output))),
            Self::Update(updates, output) => Box::pin(async move {
                for update in updates {
                    cx.update(update).await;
                }
                Ok(output)
            }),
            Self::Fail(error) => Box::pin(ready(Err(error))),
            #[expect(clippy::panic, reason = "this is what was asked for")]
            Self::Panic(message) => Box::pin(async move { panic!("{message}") }),
            Self::Hang => Box::pin(pending()),
            Self::Wait(gate, output) => Box::pin(async move {
                gate.pass().await;
                Ok(output)
            }),
        }
    }
}

impl fmt::Debug for ScriptedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedTool").field("definition", &self.definition).finish_non_exhaustive()
    }
}

/// The recorded calls of a [`ScriptedTool`].
#[derive(Debug, Clone, Default)]
pub struct Calls(Arc<Mutex<Vec<String>>>);

impl Calls {
    /// Returns the arguments of each call, in order.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        lock(&self.0).clone()
    }

    /// Returns the number of calls.
    #[must_use]
    pub fn count(&self) -> usize {
        lock(&self.0).len()
    }
}

/// A barrier for calls, which a test opens.
#[derive(Debug, Clone)]
pub struct Gate {
    open: Arc<Semaphore>,
    arrived: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    /// Creates a closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self { open: Arc::new(Semaphore::new(0)), arrived: Arc::new(Semaphore::new(0)) }
    }

    /// Opens the gate for waiting and later calls.
    pub fn open(&self) {
        self.open.close();
    }

    /// Waits until a call has reached the gate; once for each call.
    pub async fn arrival(&self) {
        if let Ok(arrived) = self.arrived.acquire().await {
            arrived.forget();
        }
    }

    /// Waits until the gate is open.
    pub async fn pass(&self) {
        self.arrived.add_permits(1);
        // The gate opens by closing the semaphore, which is an error for its waiters.
        let _ = self.open.acquire().await;
    }
}

/// A recorder of an executor's events.
#[derive(Debug)]
pub struct Recorder(Mutex<EventListener>);

impl Recorder {
    /// Records the events of `executor` from now on; between two reads, at most as many as its
    /// [`event_buffer`](crate::executor::ExecutorBuilder::event_buffer).
    #[must_use]
    pub fn of(executor: &Executor) -> Self {
        Self(Mutex::new(executor.subscribe()))
    }

    /// Returns the events since the last read.
    ///
    /// # Errors
    ///
    /// Returns an error if the buffer overflowed.
    pub fn events(&self) -> Result<Vec<ToolEvent>, Lagged> {
        let mut listener = lock(&self.0);
        std::iter::from_fn(|| listener.try_next()).collect()
    }

    /// Returns the events since the last read as texts: `started a`, `updated a: text`, `progress a: 3 of 4`,
    /// `log a: text`, `asked a: hint`, `external a`, `finished a: text for the model`; with the
    /// prefix `below a: ` for an event of a run below the call `a`.
    ///
    /// # Errors
    ///
    /// Returns an error if the buffer overflowed.
    pub fn texts(&self) -> Result<Vec<String>, Lagged> {
        Ok(self.events()?.iter().map(text_of).collect())
    }
}

fn text_of(event: &ToolEvent) -> String {
    let id = event.id();
    match &event.kind {
        EventKind::Started { .. } => format!("started {id}"),
        EventKind::Updated { update, .. } => format!("updated {id}: {}", update.text()),
        EventKind::Progress { progress } => match progress.total {
            Some(total) => format!("progress {id}: {} of {total}", progress.done),
            None => format!("progress {id}: {}", progress.done),
        },
        EventKind::Log { line } => format!("log {id}: {}", line.message),
        EventKind::Child { event } => format!("below {id}: {}", text_of(event)),
        EventKind::External { .. } => format!("external {id}"),
        EventKind::ApprovalRequested { request } => format!("asked {id}: {}", request.hint),
        EventKind::Finished { result } => format!("finished {id}: {}", result.text()),
    }
}

// No lock is held while a panic can leave the data inconsistent.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
