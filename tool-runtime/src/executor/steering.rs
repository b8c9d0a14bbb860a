//! Steering: messages that interrupt a batch between its calls.

use std::{
    fmt,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tool_core::BoxFuture;

use super::{state::BatchState, stop::StopReason};
use crate::guard::{Guarded, Panic, catch};

/// Polls for messages between the calls of a batch, such as one that the user wrote meanwhile, and keeps them for the
/// caller. Cheap to clone; clones share their messages.
///
/// It is polled after each call if calls run sequentially, after each wave of a batched strategy, and after all calls
/// if they run together. A message before the last call skips the calls that did not start; they are answered with
/// [`ErrorKind::Skipped`](crate::ErrorKind::Skipped). The caller adds the message to the next turn, after the results.
/// after the results.
///
/// # Examples
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use tool_runtime::{Executor, ToolCall, executor::{ExecutionStrategy, Steering}, prelude::*};
///
/// /// Waves.
/// #[tool]
/// fn wave() -> &'static str {
///     "o/"
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let inbox = Arc::new(Mutex::new(vec!["Stop, please."]));
/// let steering = Steering::new(move || {
///     let inbox = Arc::clone(&inbox);
///     async move { inbox.lock().ok()?.pop() }
/// });
/// let tools = Registry::builder().tool::<wave>().build()?;
/// let executor = Executor::builder(tools).strategy(ExecutionStrategy::Sequential).build()?;
/// let calls = vec![ToolCall::new("wave", "{}"), ToolCall::new("wave", "{}")];
/// let outcomes = executor.batch(calls).steering(&steering).run().await;
///
/// assert_eq!(outcomes[0].result().unwrap().text(), "o/");
/// assert_eq!(outcomes[1].result().unwrap().text(), "Skipped: a message of the user came first");
/// assert_eq!(steering.take(), ["Stop, please."]);
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
pub struct Steering<M>(Arc<SteeringParts<M>>);

struct SteeringParts<M> {
    ask: Guarded<Box<Ask<M>>>,
    messages: Mutex<Vec<M>>,
}

type Ask<M> = dyn Fn() -> BoxFuture<'static, Option<M>> + Send + Sync;

impl<M: Send + 'static> Steering<M> {
    /// Creates a steering that calls `next` for a message. The batch waits for its future, which must return `None` at
    /// once if there is no message: use `try_recv` of a channel, not `recv`. The future is dropped if the batch is
    /// cancelled or dropped while it waits, so that it should take a message out of a queue only after its last
    /// `.await`.
    pub fn new<F, Fut>(next: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<M>> + Send + 'static,
    {
        let ask: Box<Ask<M>> = Box::new(move || Box::pin(next()));
        Self(Arc::new(SteeringParts { ask: Guarded::new(ask), messages: Mutex::default() }))
    }

    /// Takes the received messages, in order, also after a batch that was cancelled or dropped. Messages that are not
    /// taken interrupt the next batch after its first calls.
    #[must_use]
    pub fn take(&self) -> Vec<M> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl<M> SteeringParts<M> {
    /// No user code runs under the lock.
    fn lock(&self) -> MutexGuard<'_, Vec<M>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The object-safe form of [`Steering`], for messages of any type.
pub(super) trait Steer: Send + Sync {
    /// Returns `true` if there is a message.
    fn ask(&self) -> BoxFuture<'_, Result<bool, Panic>>;
}

impl<M: Send + 'static> Steer for Steering<M> {
    fn ask(&self) -> BoxFuture<'_, Result<bool, Panic>> {
        Box::pin(async move {
            let has_message = || !self.0.lock().is_empty();
            let Some(ask) = self.0.ask.get().filter(|_| !has_message()) else { return Ok(has_message()) };
            if let Some(message) = Guarded::new(catch(ask)?).await? {
                self.0.lock().push(message);
            }
            Ok(has_message())
        })
    }
}

impl BatchState {
    /// Returns the stop of the rest of the batch, if a message interrupts it.
    pub(super) async fn poll_steering(&self, steering: &dyn Steer) -> Option<StopReason> {
        match self.unless_stopped(steering.ask()).await {
            Ok(Ok(false)) => None,
            Ok(Ok(true)) => Some(StopReason::Steered),
            Ok(Err(panic)) => {
                tracing::error!(message = panic.message(), "the steering of a batch panicked");
                Some(StopReason::SteeringPanicked(panic))
            }
            Err(stop) => Some(stop),
        }
    }
}

impl<M> Clone for Steering<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M> fmt::Debug for Steering<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steering").field("messages", &self.0.lock().len()).finish()
    }
}
