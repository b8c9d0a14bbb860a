//! Where bodies run that block, and what is known of those that nobody waits for any more.

use std::{
    panic::resume_unwind,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::{Either, select};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore, watch},
};
use tool_core::{
    __private::{Call, OwnedCall, within_call},
    CallId, ErrorKind, ToolContext, ToolError, ToolOutput,
};
use tracing::Span;

/// Runs the body of a `blocking` tool where it holds up nobody.
///
/// It cannot be stopped once it runs: a call that is cancelled or late leaves it behind, and its
/// result is dropped. A panic goes on in the caller, whose barrier turns it into an error. Of the calls of an
/// executor, only so many have a body at once, those included that were left behind; others wait.
///
/// # Errors
///
/// What the body fails with, that all permits are held by bodies that were left behind, or that the runtime
/// is shutting down.
pub async fn blocking<F>(call: Call<'_>, body: F) -> Result<ToolOutput, ToolError>
where
    F: FnOnce(OwnedCall) -> Result<ToolOutput, ToolError> + Send + 'static,
{
    if Handle::try_current().is_err() {
        let message = "it is `blocking`, and there is no tokio runtime to give it a thread";
        return Err(ToolError::new(ErrorKind::Unavailable, message));
    }
    // By the executor; a registry by itself counts nothing.
    let detached = call.context().get::<Arc<Detached>>().cloned();
    let permit = match &detached {
        Some(detached) => Some(detached.permit().await?),
        None => None,
    };
    let waiting = Waiting::new(call.context(), detached);
    let (id, span, body_stage) = (ToolContext::current_call_id(), Span::current(), Arc::clone(&waiting.body));
    let call = call.into_owned();
    let body = move || {
        // Both are dropped on every way out of it, the permit last.
        let _permit = permit;
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

/// The blocking bodies of an executor's calls: each holds a permit while it may have a thread, whether its
/// call still waits for it or not.
#[derive(Debug)]
pub(crate) struct Detached {
    /// How many were left behind by their calls.
    count: watch::Sender<usize>,
    max: usize,
    permits: Arc<Semaphore>,
}

impl Detached {
    /// None yet, and at most `max`.
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
    /// If all are held by bodies that were left behind, which may never end.
    async fn permit(&self) -> Result<OwnedSemaphorePermit, ToolError> {
        let mut count = self.count.subscribe();
        let all_left = pin!(count.wait_for(|count| *count >= self.max));
        let permit = pin!(Arc::clone(&self.permits).acquire_owned());
        if let Either::Left((Ok(permit), _)) = select(permit, all_left).await {
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

/// How far a body is.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    /// It waits for a thread.
    Waiting,
    BoxFuture,
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
    fn new(cx: &ToolContext, detached: Option<Arc<Detached>>) -> Self {
        let body = Arc::new(Body { stage: Mutex::new(Stage::Waiting), detached });
        Self { body, tool: cx.tool_name().to_string(), call: cx.call_id().clone() }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut stage = self.body.stage();
        let was = std::mem::replace(&mut *stage, Stage::Left);
        if was != Stage::BoxFuture {
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
        *stage = Stage::BoxFuture;
        drop(stage);
        Some(Self(body))
    }
}

impl Drop for OnThread {
    fn drop(&mut self) {
        let was = std::mem::replace(&mut *self.0.stage(), Stage::Over);
        if let (Stage::Left, Some(detached)) = (was, &self.0.detached) {
            detached.count.send_modify(|count| *count -= 1);
        }
    }
}
