//! Execution of blocking bodies, and the accounting of detached ones.

use std::{
    future::{Future, poll_fn},
    panic::resume_unwind,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
};

use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore, watch},
};
use tool_core::{
    __private::{Call, OwnedCall},
    CallId, ErrorKind, ToolContext, ToolError, ToolOutput,
    internals::within_call,
};
use tracing::Span;

/// Runs the body of a `blocking` tool on the blocking thread pool.
///
/// A running body cannot be stopped: a call that is cancelled or timed out detaches it, and its result is
/// dropped. A panic is resumed in the caller, whose barrier turns it into an error. An executor limits the
/// number of its running bodies, including detached ones; further calls wait.
///
/// # Errors
///
/// Returns the error of the body; also an error if detached bodies hold all permits, or the runtime is shutting
/// down.
pub async fn blocking<F>(call: Call<'_>, body: F) -> Result<ToolOutput, ToolError>
where
    F: FnOnce(OwnedCall) -> Result<ToolOutput, ToolError> + Send + 'static,
{
    if Handle::try_current().is_err() {
        let message = "it is `blocking`, but there is no tokio runtime; call it within `#[tokio::main]` or \
                       `Runtime::block_on`";
        return Err(ToolError::new(ErrorKind::Unavailable, message));
    }
    // Set by an executor; a registry alone has no limit.
    let detached = call.context().get::<Arc<Detached>>().cloned();
    let permit = match &detached {
        Some(detached) => Some(detached.acquire_permit().await?),
        None => None,
    };
    let waiting = Waiting::new(call.context(), detached);
    let (id, span, body_stage) = (ToolContext::current_call_id(), Span::current(), Arc::clone(&waiting.body));
    let call = call.into_owned();
    let body = move || {
        // Both are dropped on every return path, the permit last.
        let _permit = permit;
        let Some(_until_it_ends) = OnThread::begin(body_stage) else { return Err(ToolError::cancelled()) };
        let body = || span.in_scope(|| body(call));
        match id {
            Some(id) => within_call(id, body),
            None => body(),
        }
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "awaited; a detached body keeps its permit, and `Detached` counts it"
    )]
    let ended = tokio::task::spawn_blocking(body).await;
    match ended {
        Ok(result) => result,
        Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
        Err(_) => Err(ToolError::new(ErrorKind::Cancelled, "the runtime is shutting down")),
    }
}

/// The blocking bodies of an executor's calls: each holds a permit while it may occupy a thread, detached or
/// not.
#[derive(Debug)]
pub(crate) struct Detached {
    /// The number of detached bodies.
    count: watch::Sender<usize>,
    max: usize,
    permits: Arc<Semaphore>,
}

impl Detached {
    /// Creates a limit of `max` bodies.
    pub(crate) fn at_most(max: usize) -> Self {
        let permits = Arc::new(Semaphore::new(max.min(Semaphore::MAX_PERMITS)));
        Self { count: watch::Sender::new(0), max, permits }
    }

    pub(crate) fn count(&self) -> usize {
        *self.count.borrow()
    }

    /// Waits for a permit.
    ///
    /// # Errors
    ///
    /// Returns an error if detached bodies hold all permits, since they may never complete.
    async fn acquire_permit(&self) -> Result<OwnedSemaphorePermit, ToolError> {
        let mut count = self.count.subscribe();
        let mut all_left = pin!(count.wait_for(|count| *count >= self.max));
        let mut permit = pin!(Arc::clone(&self.permits).acquire_owned());
        let permit = poll_fn(|cx| match permit.as_mut().poll(cx) {
            Poll::Ready(permit) => Poll::Ready(permit.ok()),
            Poll::Pending => all_left.as_mut().poll(cx).map(|_| None),
        });
        if let Some(permit) = permit.await {
            return Ok(permit);
        }
        let message = format!(
            "as many calls as may ({}) were late or cancelled and still block a thread; \
             try again when one of them has ended",
            self.max
        );
        Err(ToolError::new(ErrorKind::Unavailable, message))
    }
}

/// The progress of a body.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    /// Queued for a thread.
    Waiting,
    Running,
    Over,
    /// Detached: the call was dropped.
    Left,
}

/// The state of a body, shared by both sides.
struct BlockingBody {
    stage: Mutex<Stage>,
    detached: Option<Arc<Detached>>,
}

impl BlockingBody {
    fn lock_stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The side of the call, which may be dropped at any time.
struct Waiting {
    body: Arc<BlockingBody>,
    tool: String,
    call: CallId,
}

impl Waiting {
    fn new(cx: &ToolContext, detached: Option<Arc<Detached>>) -> Self {
        let body = Arc::new(BlockingBody { stage: Mutex::new(Stage::Waiting), detached });
        Self { body, tool: cx.tool_name().to_string(), call: cx.call_id().clone() }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut stage = self.body.lock_stage();
        let was = std::mem::replace(&mut *stage, Stage::Left);
        if was != Stage::Running {
            return;
        }
        let detached = self.body.detached.as_ref().map(|it| {
            it.count.send_modify(|count| *count += 1);
            it.count()
        });
        drop(stage);
        tracing::warn!(
            tool = self.tool,
            call = %self.call,
            detached,
            "a blocking body cannot be stopped; it continues detached"
        );
    }
}

/// The side of the thread.
struct OnThread(Arc<BlockingBody>);

impl OnThread {
    /// Starts the body, unless its call was dropped.
    fn begin(body: Arc<BlockingBody>) -> Option<Self> {
        let mut stage = body.lock_stage();
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
        let was = std::mem::replace(&mut *self.0.lock_stage(), Stage::Over);
        if let (Stage::Left, Some(detached)) = (was, &self.0.detached) {
            detached.count.send_modify(|count| *count -= 1);
        }
    }
}
