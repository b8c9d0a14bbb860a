//! Where bodies run that block, and what is known of those that nobody waits for any more.

use std::{
    panic::resume_unwind,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::runtime::Handle;
use tool_core::{
    __private::{Call, OwnedCall, within_call},
    CallId, ErrorKind, ToolContext, ToolError, ToolOutput,
};
use tracing::Span;

/// Runs the body of a `blocking` tool where it holds up nobody.
///
/// It cannot be stopped once it runs: a call that is cancelled or late leaves it behind, and its
/// result is dropped. A panic goes on in the caller, whose barrier turns it into an error.
///
/// # Errors
///
/// What the body fails with, that too many were left behind, or that the runtime is shutting down.
pub async fn blocking<F>(call: Call<'_>, body: F) -> Result<ToolOutput, ToolError>
where
    F: FnOnce(OwnedCall) -> Result<ToolOutput, ToolError> + Send + 'static,
{
    if Handle::try_current().is_err() {
        let message = "it is `blocking`, and there is no tokio runtime to give it a thread";
        return Err(ToolError::new(ErrorKind::Unavailable, message));
    }
    let waiting = Waiting::new(call.context())?;
    let (id, span, body_stage) = (ToolContext::current_call_id(), Span::current(), Arc::clone(&waiting.body));
    let call = call.into_owned();
    let body = move || {
        // Dropped on every way out of it.
        let Some(_until_it_ends) = OnThread::begin(body_stage) else { return Err(ToolError::cancelled()) };
        let body = || span.in_scope(|| body(call));
        match id {
            Some(id) => within_call(id, body),
            None => body(),
        }
    };
    match tokio::task::spawn_blocking(body).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
        Err(_) => Err(ToolError::new(ErrorKind::Cancelled, "the runtime is shutting down")),
    }
}

/// How many bodies of an executor's calls nobody waits for any more, and how many there may be.
#[derive(Debug)]
pub(crate) struct Detached {
    count: AtomicUsize,
    max: usize,
}

impl Detached {
    /// None yet, and at most `max`.
    pub(crate) fn at_most(max: usize) -> Self {
        Self { count: AtomicUsize::new(0), max }
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

/// How far a body is.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    /// It waits for a thread.
    Waiting,
    Running,
    Over,
    /// Nobody waits for it any more.
    Left,
}

/// A body, as both sides know it.
struct Body {
    stage: Mutex<Stage>,
    detached: Option<Arc<Detached>>,
}

impl Body {
    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The side of the call, which may be dropped at any time.
struct Waiting {
    body: Arc<Body>,
    tool: String,
    call: CallId,
}

impl Waiting {
    fn new(cx: &ToolContext) -> Result<Self, ToolError> {
        // By the executor; a registry by itself counts nothing.
        let detached = cx.get::<Arc<Detached>>().cloned();
        if let Some(Detached { count, max }) = detached.as_deref()
            && count.load(Ordering::SeqCst) >= *max
        {
            let message = format!(
                "as many calls as may ({max}) were late or cancelled and still block a thread; \
                 try again when one of them has ended"
            );
            return Err(ToolError::new(ErrorKind::Unavailable, message));
        }
        let body = Arc::new(Body { stage: Mutex::new(Stage::Waiting), detached });
        Ok(Self { body, tool: cx.tool_name().to_string(), call: cx.call_id().clone() })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut stage = self.body.stage();
        let was = std::mem::replace(&mut *stage, Stage::Left);
        if was != Stage::Running {
            return;
        }
        let detached = self.body.detached.as_ref().map(|it| it.count.fetch_add(1, Ordering::SeqCst) + 1);
        drop(stage);
        tracing::warn!(
            tool = self.tool,
            call = %self.call,
            detached,
            "a blocking body cannot be stopped and goes on, though nobody waits for it any more"
        );
    }
}

/// The side of the thread.
struct OnThread(Arc<Body>);

impl OnThread {
    /// Begins, unless nobody waits for it any more.
    fn begin(body: Arc<Body>) -> Option<Self> {
        let mut stage = body.stage();
        if *stage == Stage::Left {
            return None;
        }
        *stage = Stage::Running;
        drop(stage);
        Some(Self(body))
    }
}

impl Drop for OnThread {
    fn drop(&mut self) {
        let was = std::mem::replace(&mut *self.0.stage(), Stage::Over);
        if let (Stage::Left, Some(detached)) = (was, &self.0.detached) {
            detached.count.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
