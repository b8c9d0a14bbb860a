//! Durable calls of a caller: they are stored in a queue, and go on without it.

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use tool_runtime::{ErrorKind, ToolContext, ToolError, ToolOutput, open_calls::PoolKey};

use super::{
    connection::Replies,
    durable_values::{RequestValue, SealedCall, not_queued_error},
    settle_turns::SettleTurns,
    tool::RemoteTool,
    waiting_call::{WaitEnd, WaitingCall},
    withdrawal::{Withdrawal, WithdrawalGuard},
};
use crate::{
    CallQueue, FleetError, NewCall, ValueStore,
    message::{CallEpoch, Message},
    queue::{CallEnd, CallSeal, SealedContents, StoredRequest, call_id, request_value_name},
    values::LargeValues,
};

/// The longest wait for the end of a call before it is left open.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// The durable calls of a pool: which calls of a [`FleetToolSet`](crate::FleetToolSet) are stored in a [`CallQueue`], and their results in any process.
///
/// A stored call waits while no worker is there, goes on if its caller ends, and its result is kept until it is taken. If it does not end within the
/// [wait](Self::wait), it becomes an open call of the caller's executor: the model receives an interim result. Any process with the same
/// [store of open calls](tool_runtime::executor::ExecutorBuilder::open_calls) answers it by [`answer_open_calls`](Self::answer_open_calls).
///
/// All calls are durable by default; [`only`](Self::only) restricts them to some tools. Those of long-running tools always are, and are left
/// open at once.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use tool_fleet::{DurableCalls, FleetSettings, FleetToolSet, MemoryCallQueue, MemoryTransport, Worker};
/// use tool_runtime::{
///     CancellationToken, Executor, RunContext, ToolCall, Toolbox, open_calls::ProgramKey, prelude::*,
/// };
///
/// /// Trains a model.
/// #[tool(long_running)]
/// fn train(model: String) -> String {
///     format!("{model} is trained")
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let key = ProgramKey::new([7; 32]).pool_key("models");
/// let (transport, queue) = (MemoryTransport::new(), MemoryCallQueue::new("models"));
/// let executor = Executor::new(Registry::builder().tool::<train>().build()?);
/// let (worker, stop) = (Worker::new(executor, key.clone()).queue(queue.clone()), CancellationToken::new());
/// let serving = tokio::spawn(worker.serve(transport.clone(), stop.clone()));
///
/// let durable = DurableCalls::new(queue, key)?;
/// let toolbox = Toolbox::new();
/// let set = FleetToolSet::connect_durable(transport, FleetSettings::default(), durable.clone()).await?;
/// toolbox.add_toolset(set)?;
/// let executor = Executor::new(toolbox.snapshot(&RunContext::new()).await?.into_tools());
/// let outcomes = executor.run(vec![ToolCall::new("models__train", json!({ "model": "small" }))]).await;
/// assert!(!outcomes[0].is_finished());
///
/// // Here or in another process with the same store of open calls, at any time.
/// let answered = durable.wait_for_answers(&executor).await?;
/// assert_eq!(answered[0].result.text(), "small is trained");
///
/// stop.cancel();
/// serving.await??;
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct DurableCalls(Arc<Shared>);

#[derive(Clone)]
struct Shared {
    queue: Arc<dyn CallQueue>,
    key: PoolKey,
    values: Option<Arc<LargeValues>>,
    /// `None` for all tools.
    tools: Option<BTreeSet<String>>,
    wait: Duration,
    settle_turns: Arc<SettleTurns>,
}

impl DurableCalls {
    /// Makes the calls of the pool of `key` durable, by `queue`.
    ///
    /// # Errors
    ///
    /// Returns [`FleetError::Invalid`] if the queue is one of another pool.
    pub fn new(queue: impl CallQueue, key: PoolKey) -> Result<Self, FleetError> {
        check_queue_pool(&queue, &key)?;
        let (values, tools, wait, settle_turns) = (None, None, Duration::from_secs(5), Arc::default());
        Ok(Self(Arc::new(Shared { queue: Arc::new(queue), key, values, tools, wait, settle_turns })))
    }

    /// Makes only the calls of these tools durable, by their names with or without the prefix of the pool, and those of long-running tools. Without a name, those of
    /// long-running tools alone. A name that no tool has is ignored: its tool may come later. Default: all tools.
    #[must_use]
    pub fn only<N: Into<String>>(mut self, tools: impl IntoIterator<Item = N>) -> Self {
        let prefix = format!("{}__", self.0.key.pool());
        let tools = tools.into_iter().map(Into::into);
        let worker_names = tools.map(|name| name.strip_prefix(&prefix).map(str::to_owned).unwrap_or(name));
        Arc::make_mut(&mut self.0).tools = Some(worker_names.collect());
        self
    }

    /// Sets the store through which requests and results go that are too large for the queue, up to 64 MiB. The workers of the pool need the same one
    /// ([`Worker::value_store`](crate::Worker::value_store)), and every process that takes results. A value is deleted by the process that removes its call from the queue.
    /// [`FleetToolSet::with_value_store`](crate::FleetToolSet::with_value_store) sets the store of calls that are not durable. Default: none; such a call is an
    /// error that names the size and the limit.
    #[must_use]
    pub fn value_store(mut self, store: impl ValueStore) -> Self {
        let shared = Arc::make_mut(&mut self.0);
        shared.values = Some(Arc::new(LargeValues::new(shared.key.clone(), Arc::new(store))));
        self
    }

    /// Sets the time for which a call waits for its end, before it is left open; at most a day. A caller that ends meanwhile leaves no open call, and
    /// the result waits for the same call alone: one that is repeated after a crash, under the same address. Zero leaves calls open at once.
    /// Default: 5 s.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        Arc::make_mut(&mut self.0).wait = wait.min(MAX_WAIT);
        self
    }

    pub(super) fn queue(&self) -> &dyn CallQueue {
        &*self.0.queue
    }

    pub(super) fn key(&self) -> &PoolKey {
        &self.0.key
    }

    pub(super) fn values(&self) -> Option<&Arc<LargeValues>> {
        self.0.values.as_ref()
    }

    pub(super) fn settle_turns(&self) -> &SettleTurns {
        &self.0.settle_turns
    }

    /// Returns an error if the store may remove a value that the queue still needs.
    pub(super) fn check_lifetime(&self) -> Result<(), FleetError> {
        self.values().map_or(Ok(()), |values| values.check_lifetime(self.queue().limits()))
    }

    pub(super) fn includes_tool(&self, worker_name: &str) -> bool {
        self.0.tools.as_ref().is_none_or(|tools| tools.contains(worker_name))
    }
}

impl fmt::Debug for DurableCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { key, tools, wait, .. } = &*self.0;
        f.debug_struct("DurableCalls")
            .field("key", key)
            .field("tools", tools)
            .field("wait", wait)
            .finish_non_exhaustive()
    }
}

/// Returns an error for the queue of another pool.
pub(crate) fn check_queue_pool(queue: &(impl CallQueue + ?Sized), key: &PoolKey) -> Result<(), FleetError> {
    let (of_queue, of_key) = (queue.pool(), key.pool());
    match of_queue == of_key {
        true => Ok(()),
        false => Err(FleetError::Invalid(format!(
            "the queue is one of the pool `{of_queue}`, and the key one of `{of_key}`; open the queue of `{of_key}`"
        ))),
    }
}

impl RemoteTool {
    /// Stores the call with `arguments`, the canonical text, and waits a short time for its end.
    pub(super) async fn call_by_queue(
        &self,
        durable: &DurableCalls,
        arguments: &str,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let replies = self.connection().register_replies();
        let id = call_id(durable.key().pool(), &cx.address(), cx.attempt());
        let token = cx.cancellation().clone();
        let SealedCall { call: new, value } = self.new_call(durable, &id, &replies, arguments, cx)?;
        let mut request_value = match value {
            Some((values, value)) => {
                let name = request_value_name(values.pool(), &id, new.request_hash());
                let request_value = RequestValue::new(self.connection(), values, name);
                request_value.store(value, cx).await?;
                Some(request_value)
            }
            None => None,
        };
        let mut keep_value = |is_kept| request_value.iter_mut().for_each(|value| value.keep(is_kept));
        let withdrawal = Withdrawal { id: id.clone(), request: new.request_hash() };
        let mut guard =
            WithdrawalGuard { connection: self.connection(), withdrawal, token, is_settled: false };
        keep_value(true);
        match durable.queue().put_call(new).await {
            // One that is stored has its own value.
            Ok(is_new) => keep_value(is_new),
            Err(error) => {
                guard.is_settled = true;
                keep_value(!is_refusal(&error));
                return Err(self.put_error(error, &guard.withdrawal));
            }
        }
        let subject = self.connection().channel.subject("queue");
        if let Err(error) = self.connection().channel.send_message(&subject, None, Message::CallQueued).await
        {
            tracing::warn!(%error, "workers were not told of a queued call, and find it later");
        }
        let is_left_open = self.is_long_running();
        let wait = if is_left_open { Duration::ZERO } else { durable.0.wait };
        let end = WaitingCall { durable, id: &id, replies, cx }.wait_for_end(wait).await;
        // One that its worker still has is removed once that has ended it.
        guard.is_settled = !matches!(end, WaitEnd::Cancelling);
        drop(guard);
        match end {
            WaitEnd::Ended(CallEnd::Output(output) | CallEnd::Interim(output)) => Ok(*output),
            WaitEnd::Ended(CallEnd::Error(error)) => Err(self.rename_error(*error)),
            WaitEnd::Cancelled | WaitEnd::Cancelling => Err(ToolError::cancelled()),
            WaitEnd::LeftOpen => {
                let text = format!("The call is queued as {id}. It is not finished; its result follows.");
                Ok(ToolOutput::from(text).with_operation_id(id))
            }
        }
    }

    fn new_call(
        &self,
        durable: &DurableCalls,
        id: &str,
        replies: &Replies,
        arguments: &str,
        cx: &ToolContext,
    ) -> Result<SealedCall, ToolError> {
        let call = CallEpoch { call: id.to_owned(), epoch: 0 };
        let Message::Call(mut request) = self.call_request(call, arguments, cx)? else {
            return Err(ToolError::new(ErrorKind::Internal, "a call has no request"));
        };
        // The call outlives the run of its caller.
        request.time_left = None;
        let request = StoredRequest { request: *request, reply: Some(replies.subject()) };
        let seal = CallSeal { key: durable.key(), id, definition: self.hash() };
        let (limits, max_bytes) = (durable.queue().limits(), durable.queue().max_bytes());
        let sealed = seal.seal_request(SealedContents::Whole(&request), limits.call_age);
        let sealed = sealed.map_err(|error| not_queued_error(&error))?;
        let (request, value) = match durable.values() {
            Some(values) if sealed.len() > max_bytes => {
                let sealed = seal.seal_large_request(&request, limits, values);
                let (request, value) = sealed.map_err(|error| not_queued_error(&error))?;
                (request, Some((Arc::clone(values), value)))
            }
            _ => (sealed, None),
        };
        let max_workers = self.connection().settings.max_workers;
        let call = NewCall { id: id.to_owned(), key: self.hash(), max_workers, request };
        Ok(SealedCall { call, value })
    }

    /// Returns the error of a call that was not stored, or may be.
    fn put_error(&self, error: FleetError, withdrawal: &Withdrawal) -> ToolError {
        match error {
            FleetError::QueueFull { .. } => not_queued_error(&error).retryable(true),
            error if is_refusal(&error) => not_queued_error(&error),
            error => {
                self.connection().withdraw_later(withdrawal.clone());
                let problem = format!(
                    "it is not known whether the call was queued; it is withdrawn, and runs if that fails: {error}"
                );
                ToolError::new(ErrorKind::Unavailable, problem)
            }
        }
    }
}

/// Returns `true` if the queue has refused a call, and did not store it.
fn is_refusal(error: &FleetError) -> bool {
    let is_limit = matches!(error, FleetError::QueueFull { .. } | FleetError::TooLargeForQueue { .. });
    is_limit || matches!(error, FleetError::Invalid(_))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use tool_runtime::open_calls::ProgramKey;

    use super::*;
    use crate::MemoryCallQueue;

    fn durable() -> DurableCalls {
        let key = ProgramKey::new([7; 32]).pool_key("trip");
        DurableCalls::new(MemoryCallQueue::new("trip"), key).unwrap()
    }

    #[test]
    fn calls_wait_for_five_seconds_or_for_a_day_at_most() {
        assert_eq!(durable().0.wait, Duration::from_secs(5));
        let day = Duration::from_secs(24 * 60 * 60);
        let waits =
            [Duration::ZERO, day, day + Duration::from_nanos(1)].map(|wait| durable().wait(wait).0.wait);
        assert_eq!(waits, [Duration::ZERO, day, day]);
    }

    #[test]
    fn the_calls_of_the_tools_that_are_named_are_durable() {
        let includes =
            |durable: &DurableCalls| ["book", "trip__book", "find"].map(|name| durable.includes_tool(name));
        assert_eq!(includes(&durable()), [true; 3]);
        assert_eq!(includes(&durable().only(["trip__book"])), [true, false, false]);
        assert_eq!(includes(&durable().only(["book", "mail__find"])), [true, false, false]);
        assert_eq!(includes(&durable().only([""; 0])), [false; 3]);
        // A clone is not changed.
        let all = durable();
        drop(all.clone().only(["find"]));
        assert_eq!(includes(&all), [true; 3]);
    }

    #[test]
    fn the_queue_of_another_pool_is_refused() {
        let key = ProgramKey::new([7; 32]).pool_key("trip");
        let error = DurableCalls::new(MemoryCallQueue::new("mail"), key).err().map(|error| error.to_string());
        let problem =
            "the queue is one of the pool `mail`, and the key one of `trip`; open the queue of `trip`";
        assert!(error.as_ref().is_some_and(|error| error.ends_with(problem)), "{error:?}");
    }

    #[test]
    fn a_call_that_is_refused_was_not_stored() {
        let pool = "trip".to_owned();
        for error in [
            FleetError::QueueFull { pool, unit: "calls", limit: 1, used: 1, needed: 1 },
            FleetError::TooLargeForQueue { bytes: 2, limit: 1 },
            FleetError::Invalid("no".to_owned()),
        ] {
            assert!(is_refusal(&error), "{error}");
        }
        assert!(!is_refusal(&FleetError::Transport("away".to_owned())));
    }
}
