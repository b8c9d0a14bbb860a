//! Tests of the executor.

#![allow(missing_docs, dead_code, reason = "fixtures speak for themselves")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may"
)]

#[path = "../common/mod.rs"]
mod common;

mod addresses;
mod approval;
mod budgets;
mod canonical;
mod child_buffers;
mod child_runs;
mod claims;
mod context;
mod continued_calls;
mod deadlines;
mod detached;
mod durable;
mod ends;
mod event_kinds;
mod events;
mod forwarded_events;
mod grace;
mod guards;
mod hooks;
mod incomplete;
mod journal;
mod limits;
mod open_calls;
mod open_stores;
mod overrides;
mod panics;
mod permission;
mod property;
mod questions;
mod redirected_directly;
mod redirects;
mod remote_redirects;
mod remote_steps;
mod repair;
mod replaced_settings;
mod retry;
mod retry_by;
mod run_deadlines;
mod run_settings;
mod run_sink;
mod secret_names;
mod secrets;
mod shared_components;
mod stages;
mod state;
mod steering;
mod stops;
mod strategies;
mod streaming;
mod sync_updates;
mod ways;

use std::{
    future::ready,
    ops::ControlFlow,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use common::{now, run};
use tool_runtime::{
    BoxFuture, CallOutcome, Executor, Registry, ToolCall, ToolResult,
    context::ConfirmationAnswer,
    definition::Retry,
    event::{EventKind, EventListener, ToolEvent},
    executor::{Batch, ExecutorBuilder, Steering},
    hook::{Before, BeforeCall, CallView, Hook},
    open_calls::OpenCall,
    prelude::*,
    registry::RegistryBuilder,
};

/// A list of notes, in order.
#[derive(Clone, Default)]
struct Timeline(Arc<Mutex<(Vec<String>, Option<EventListener>)>>);

impl Timeline {
    /// Discards all notes, and adds the events of an executor from now on.
    fn listen(&self, listener: EventListener) {
        self.0.lock().unwrap().1 = Some(listener);
    }

    fn note(&self, what: impl Into<String>) {
        self.catch_up();
        self.0.lock().unwrap().0.push(what.into());
    }

    fn catch_up(&self) {
        let (all, listener) = &mut *self.0.lock().unwrap();
        if let Some(listener) = listener {
            all.extend(told(listener));
        }
    }

    fn all(&self) -> Vec<String> {
        self.catch_up();
        self.0.lock().unwrap().0.clone()
    }
}

/// Runs `future` on a runtime of each flavour, with a clock that advances only when all tasks are idle.
fn on_both_runtimes<F: Future<Output = ()>>(make: impl Fn() -> F) {
    crate::run(make());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(make());
}

fn registry(builder: RegistryBuilder) -> Registry {
    builder.build().unwrap()
}

/// Returns the texts for the model, in order.
fn texts(outcomes: &[CallOutcome]) -> Vec<String> {
    outcomes.iter().map(|outcome| outcome.result().map_or("-".into(), |it| it.text().into_owned())).collect()
}

/// Returns calls of `names` without arguments, with the ids "0", "1", ..
fn calls(names: &[&str]) -> Vec<ToolCall> {
    let call = |(at, name): (usize, &&str)| ToolCall::new(*name, "{}").with_id(at.to_string());
    names.iter().enumerate().map(call).collect()
}

/// Formats an event, such as `started 0` or `finished 0`.
fn short(event: &ToolEvent) -> String {
    let what = match &event.kind {
        EventKind::Started { .. } => "started",
        EventKind::Updated { .. } => "updated",
        EventKind::Progress { .. } => "progress",
        EventKind::Log { .. } => "log",
        EventKind::Child { event: below } => return format!("{} > {}", event.id(), short(below)),
        EventKind::External { .. } => "external",
        EventKind::ApprovalRequested { .. } => "asked",
        EventKind::Finished { .. } => "finished",
        _ => "?",
    };
    format!("{what} {}", event.id())
}

/// Returns the events that a listener received.
fn events(listener: &mut EventListener) -> Vec<ToolEvent> {
    std::iter::from_fn(|| listener.try_next()).map(Result::unwrap).collect()
}

/// Returns the formatted events that a listener received.
fn told(listener: &mut EventListener) -> Vec<String> {
    events(listener).iter().map(short).collect()
}

fn executor(builder: RegistryBuilder) -> Executor {
    Executor::new(registry(builder))
}

fn building(builder: RegistryBuilder) -> ExecutorBuilder {
    Executor::builder(registry(builder))
}

/// Returns a policy with three attempts and without pauses.
const AT_ONCE: Retry = Retry { attempts: 3, initial_ms: 0, max_ms: 0, multiplier: 1.0, jitter: false };

/// Returns a call with the id "0".
fn one(name: &str, arguments: &str) -> Vec<ToolCall> {
    vec![ToolCall::new(name, arguments.to_owned()).with_id("0")]
}

/// Returns a steering with a message if `comes` returns `true`.
fn steered(comes: impl Fn() -> bool + Send + Sync + 'static) -> Steering<&'static str> {
    Steering::new(move || ready(comes().then_some("stop")))
}

/// Counts.
#[derive(Debug, Clone, Default)]
struct Counter(Arc<AtomicUsize>);

impl Counter {
    fn count(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Echoes a text.
#[tool(register = false)]
fn echo(counter: &Counter, text: String) -> String {
    counter.count();
    text
}

/// Never returns, and ignores its cancellation.
#[tool(register = false)]
async fn hang() {
    std::future::pending::<()>().await;
}

/// Returns on its cancellation.
#[tool(register = false)]
async fn obey(cx: &ToolContext) -> &'static str {
    cx.cancellation().cancelled().await;
    "stopped"
}

/// A hook that records each stage of each call.
struct Noting(Timeline, &'static str);

impl Noting {
    fn note<'a, T: Send + 'a>(&self, stage: &str, id: &impl ToString, value: T) -> BoxFuture<'a, T> {
        self.0.note(format!("{}{stage} {}", self.1, id.to_string()));
        Box::pin(async move {
            // Suspends the stage, so that an overlap of two stages would be visible.
            tokio::task::yield_now().await;
            value
        })
    }
}

impl Hook for Noting {
    async fn admit(&self, call: &CallView<'_>) -> bool {
        self.note("gate", call.id(), true).await
    }

    async fn before(&self, call: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        self.note("before", call.id(), Ok(Before::Continue)).await
    }

    async fn before_update(&self, call: &CallView<'_>, text: &str) -> bool {
        self.note(&format!("before {text}"), call.id(), true).await
    }

    async fn after_update(&self, call: &CallView<'_>, text: &str) {
        self.note(&format!("after {text}"), call.id(), ()).await
    }

    async fn recover(
        &self,
        call: &CallView<'_>,
        _error: &ToolError,
    ) -> Result<Option<ToolOutput>, ToolError> {
        self.note("recover", call.id(), Ok(None)).await
    }

    async fn after(
        &self,
        call: &CallView<'_>,
        _result: &mut ToolResult,
    ) -> Result<ControlFlow<()>, ToolError> {
        self.note("after", call.id(), Ok(ControlFlow::Continue(()))).await
    }

    async fn finished(&self, call: &CallView<'_>, result: &ToolResult) {
        self.note(if result.is_error() { "failed" } else { "done" }, call.id(), ()).await
    }
}

/// A hook made of closures.
#[expect(clippy::type_complexity, reason = "the types of methods")]
#[derive(Default)]
struct On {
    admit: Option<Box<dyn Fn(&CallView<'_>) -> bool + Send + Sync>>,
    before: Option<Box<dyn Fn(&mut BeforeCall<'_>) -> Result<Before, ToolError> + Send + Sync>>,
    update: Option<Box<dyn Fn(&CallView<'_>, &str) -> bool + Send + Sync>>,
    recover: Option<Box<dyn Fn(&ToolError) -> Result<Option<ToolOutput>, ToolError> + Send + Sync>>,
    after: Option<Box<dyn Fn(&mut ToolResult) -> Result<ControlFlow<()>, ToolError> + Send + Sync>>,
    finished: Option<Box<dyn Fn(&CallView<'_>, &ToolResult) + Send + Sync>>,
}

impl On {
    fn admit(asked: impl Fn(&CallView<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self { admit: Some(Box::new(asked)), ..Self::default() }
    }

    fn before(
        asked: impl Fn(&mut BeforeCall<'_>) -> Result<Before, ToolError> + Send + Sync + 'static,
    ) -> Self {
        Self { before: Some(Box::new(asked)), ..Self::default() }
    }

    fn update(asked: impl Fn(&CallView<'_>, &str) -> bool + Send + Sync + 'static) -> Self {
        Self { update: Some(Box::new(asked)), ..Self::default() }
    }

    fn recover(
        asked: impl Fn(&ToolError) -> Result<Option<ToolOutput>, ToolError> + Send + Sync + 'static,
    ) -> Self {
        Self { recover: Some(Box::new(asked)), ..Self::default() }
    }

    fn after(
        asked: impl Fn(&mut ToolResult) -> Result<ControlFlow<()>, ToolError> + Send + Sync + 'static,
    ) -> Self {
        Self { after: Some(Box::new(asked)), ..Self::default() }
    }

    fn finished(asked: impl Fn(&CallView<'_>, &ToolResult) + Send + Sync + 'static) -> Self {
        Self { finished: Some(Box::new(asked)), ..Self::default() }
    }
}

impl Hook for On {
    async fn admit(&self, call: &CallView<'_>) -> bool {
        self.admit.as_ref().is_none_or(|asked| asked(call))
    }

    async fn before(&self, call: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        self.before.as_ref().map_or(Ok(Before::Continue), |asked| asked(call))
    }

    async fn before_update(&self, call: &CallView<'_>, text: &str) -> bool {
        self.update.as_ref().is_none_or(|asked| asked(call, text))
    }

    async fn recover(
        &self,
        _call: &CallView<'_>,
        error: &ToolError,
    ) -> Result<Option<ToolOutput>, ToolError> {
        self.recover.as_ref().map_or(Ok(None), |asked| asked(error))
    }

    async fn after(
        &self,
        _call: &CallView<'_>,
        result: &mut ToolResult,
    ) -> Result<ControlFlow<()>, ToolError> {
        self.after.as_ref().map_or(Ok(ControlFlow::Continue(())), |asked| asked(result))
    }

    async fn finished(&self, call: &CallView<'_>, result: &ToolResult) {
        if let Some(asked) = &self.finished {
            asked(call, result);
        }
    }
}

/// Resumes the open call `id` with an answer to its question.
async fn answered(executor: &Executor, id: &str, answer: ConfirmationAnswer) -> Batch {
    let open = executor.open_calls().await.unwrap();
    let request = open.iter().find_map(|open| match open {
        OpenCall::Confirmation(call, request) if call.id.to_string() == id => Some(&**request),
        _ => None,
    });
    executor.resume([(request.unwrap(), answer)]).await.unwrap()
}
