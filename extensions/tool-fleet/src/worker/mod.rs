//! A worker: the tools of an executor, for callers elsewhere.
//!
//! One subscription for the calls of its registry, whatever the number of tools. Calls run in tasks that the worker owns; the end of
//! [`Worker::serve`] ends them.

mod approver;
#[cfg(feature = "opentelemetry")]
mod backlog;
mod budget;
mod call;
mod claim;
mod drain;
mod index;
mod queue;
mod queued_call;
mod queued_values;
mod sent_end;
mod state;
mod status;
mod steps;
mod storage_attempts;
mod subscriptions;
mod values;

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
};
use tool_runtime::{CancellationToken, Executor, open_calls::PoolKey};

pub use self::status::WorkerState;
use self::{
    drain::DrainState, index::DefinitionIndex, sent_end::EndedCalls, state::RunningCalls,
    status::StateSender, steps::StepRequest, subscriptions::Subscriptions, values::ReceivedCall,
};
use crate::{
    CallQueue, Delivery, FleetError, Payload, Transport, ValueStore,
    caller::check_queue_pool,
    channel::{Channel, Received},
    message::{Announcement, CallEpoch, CallReport, CallRequest, Control, Message, Report},
    steps::MAX_STEPS,
    values::LargeValues,
};

/// Runs the calls of a pool by an executor, which validates, judges and limits them as those of its own program. An approval is accepted if
/// the caller's executor was given it for exactly this call; the executor's own approver is not asked, and its store of open calls is not used.
///
/// See the [crate] for an example.
pub struct Worker {
    executor: Executor,
    key: PoolKey,
    slots: usize,
    heartbeat: Duration,
    drain: Duration,
    values: Option<Arc<dyn ValueStore>>,
    queue: Option<Arc<dyn CallQueue>>,
    #[cfg(feature = "opentelemetry")]
    backlog_interval: Duration,
    state: StateSender,
}

/// Why a worker refuses a call whose definition it does not have.
const OTHER_DEFINITION: &str = "this worker has another definition of the tool";

/// The time in which the broker receives the last messages of a worker that has ended.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

impl Worker {
    /// Creates a worker of the pool of `key`.
    #[must_use]
    pub fn new(executor: Executor, key: PoolKey) -> Self {
        let (heartbeat, drain) = (Duration::from_secs(2), Duration::from_secs(30));
        Self {
            executor,
            key,
            slots: 16,
            heartbeat,
            drain,
            values: None,
            queue: None,
            #[cfg(feature = "opentelemetry")]
            backlog_interval: Duration::from_secs(15),
            state: StateSender::default(),
        }
    }

    /// Sets the number of calls that run at once, at least 1; a further one is answered as busy, and its caller tries again. Default: 16.
    #[must_use]
    pub fn slots(mut self, slots: usize) -> Self {
        self.slots = slots.max(1);
        self
    }

    /// Sets the interval of announcements, and of signs of life while a body runs. Callers regard a worker as lost after
    /// [`FleetSettings::lost_after`](crate::FleetSettings::lost_after) (6 s) without one: set that to three times the heartbeat. The lease of a durable call is
    /// always three heartbeats. At least 1 ms, and at most an hour. Default: 2 s.
    #[must_use]
    pub fn heartbeat(mut self, heartbeat: Duration) -> Self {
        self.heartbeat = heartbeat.clamp(Duration::from_millis(1), Duration::from_secs(60 * 60));
        self
    }

    /// Sets the time that running calls have after the stop; then they are dropped, and callers repeat those that are read-only or
    /// idempotent elsewhere. Default: 30 s.
    #[must_use]
    pub fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }

    /// Sets the store through which arguments and results go that are too large for the broker, up to 64 MiB. The callers of the pool need the
    /// same one. Those of durable calls that are too large for their [queue](Self::queue) go through it, too, if their callers have it
    /// ([`DurableCalls::value_store`](crate::DurableCalls::value_store)). Default: none; such a result is an error that names the size and the limit.
    #[must_use]
    pub fn value_store(mut self, store: impl ValueStore) -> Self {
        self.values = Some(Arc::new(store));
        self
    }

    /// Also runs the [durable calls](crate::DurableCalls) of this queue. They share the slots with the other calls. Default: none.
    #[must_use]
    pub fn queue(mut self, queue: impl CallQueue) -> Self {
        self.queue = Some(Arc::new(queue));
        self
    }

    /// Sets the interval in which the depth of the [queue](Self::queue) and the age of its oldest call are read for metrics. At least 1 s, and
    /// at most an hour. Requires the feature `opentelemetry`; `work` has no option for it. Default: 15 s.
    #[cfg(feature = "opentelemetry")]
    #[must_use]
    pub fn backlog_interval(mut self, interval: Duration) -> Self {
        self.backlog_interval = interval.clamp(Duration::from_secs(1), Duration::from_secs(60 * 60));
        self
    }

    /// Returns the state of the worker, which changes while it [serves](Self::serve), for a supervisor. Call it before `serve`, which takes the worker.
    #[must_use]
    pub fn watch_state(&self) -> watch::Receiver<WorkerState> {
        self.state.0.subscribe()
    }

    /// Runs calls until `stop` is cancelled, or an operator drains the worker (`fleet drain`); then takes no new one, and waits for those that it has.
    ///
    /// # Errors
    ///
    /// Returns an error if the name of the pool is invalid, or the queue is one of another pool, or the store of large values keeps a value for less time
    /// than the queue a call and its result, or the broker cannot be reached, or closes the connection or a subscription: then calls that run have
    /// the time to drain, too; or if it does not receive the last messages of a worker that was stopped within 2 s; [`FleetError::CallsDropped`] if calls
    /// run for longer than the [time to drain](Self::drain).
    pub async fn serve(self, transport: impl Transport, stop: CancellationToken) -> Result<(), FleetError> {
        let channel = Channel::new(self.key.clone(), Arc::new(transport))?;
        self.serve_on(channel, stop).await
    }

    /// Serves as the process of `channel`, whose name the worker has.
    pub(crate) async fn serve_on(self, channel: Channel, stop: CancellationToken) -> Result<(), FleetError> {
        let drain = self.drain;
        if let Some(queue) = &self.queue {
            check_queue_pool(&**queue, &self.key)?;
        }
        let server = Server::new(self, channel.clone(), &stop);
        server.check_value_lifetime()?;
        let dropped = server.serve_until_stopped().await;
        // The process may end now.
        let flushed = match tokio::time::timeout(FLUSH_TIMEOUT, channel.flush()).await {
            Ok(flushed) => flushed,
            Err(_) => Err(FleetError::Transport("the last messages were not sent in time".to_owned())),
        };
        match dropped? {
            0 => flushed,
            calls => Err(FleetError::CallsDropped { calls, drain }),
        }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("key", &self.key).field("slots", &self.slots).finish_non_exhaustive()
    }
}

/// The parts of a worker that its calls share.
struct Server {
    worker: Worker,
    channel: Channel,
    index: DefinitionIndex,
    calls: RunningCalls,
    ended: Arc<EndedCalls>,
    /// The places for steps of tools before their calls.
    steps: Arc<Semaphore>,
    /// The store of large values.
    values: Option<Arc<LargeValues>>,
    drain: DrainState,
}

impl Server {
    fn new(worker: Worker, channel: Channel, stop: &CancellationToken) -> Arc<Self> {
        let index = DefinitionIndex::new(worker.executor.tools());
        let steps = Arc::new(Semaphore::new(MAX_STEPS));
        let values = worker.values.clone().map(|store| Arc::new(LargeValues::new(worker.key.clone(), store)));
        let drain = DrainState::new(stop.child_token());
        let (calls, ended) = (RunningCalls::default(), Arc::default());
        Arc::new(Self { worker, channel, index, calls, ended, steps, values, drain })
    }

    /// Returns the number of calls that did not end in time after the stop.
    async fn serve_until_stopped(self: Arc<Self>) -> Result<usize, FleetError> {
        let stop = &self.drain.stop;
        // No message that waits for the broker holds up the stop.
        let mut subscriptions = tokio::select! {
            subscribed = self.subscribe() => subscribed?,
            () = stop.cancelled() => return Ok(0),
        };
        let mut tasks = JoinSet::new();
        if let Some(queue) = &self.worker.queue {
            tasks.spawn(Arc::clone(&self).serve_queue(Arc::clone(queue), stop.clone()));
            #[cfg(feature = "opentelemetry")]
            tasks.spawn(Arc::clone(&self).show_backlog(Arc::clone(queue)));
        }
        self.worker.state.set_state(WorkerState::Serving);
        // What it is about to answer is sent.
        let stopped = async {
            stop.cancelled().await;
            tokio::time::sleep(FLUSH_TIMEOUT).await;
        };
        let served = tokio::select! {
            served = self.serve_messages(&mut subscriptions, &mut tasks, stop) => served,
            () = stopped => Ok(()),
        };
        // Also if the broker receives no more messages: the calls that run have results.
        stop.cancel();
        // Another worker has those that come now, and answers the requests of callers.
        let Subscriptions { controls, requests, calls } = subscriptions;
        self.answer_received(requests, calls, &mut tasks).await;
        let dropped = self.drain_calls(tasks, controls).await;
        served.map(|()| dropped)
    }

    fn announcement(&self) -> Message {
        Message::Announce(Announcement { registry: self.index.registry(), tools: self.index.len() })
    }

    async fn send_announcement(&self) {
        self.send_or_warn(&self.channel.subject("announcements"), self.announcement()).await;
    }

    /// Sends what its receiver asks for again if it does not arrive.
    async fn send_or_warn(&self, subject: &str, message: Message) {
        self.warn_if_unsent(self.channel.send_message(subject, None, message).await);
    }

    fn warn_if_unsent(&self, sent: Result<(), FleetError>) {
        if let Err(error) = sent {
            tracing::warn!(pool = self.channel.pool(), %error, "a message of a worker was not sent");
        }
    }

    async fn answer_request(self: &Arc<Self>, delivery: Delivery, tasks: &mut JoinSet<()>) {
        let Some((request, reply)) = self.open_request(&delivery) else { return };
        let answer = match request.message {
            Message::Discover => self.announcement(),
            Message::ReadIndex { offset } => self.index.page(offset, self.channel.max_bytes()),
            Message::ReadDefinitions { hashes } => self.index.definitions(&hashes, self.channel.max_bytes()),
            Message::Prepare(request) => {
                return self.begin_step(StepRequest::Prepare(*request), reply, tasks).await;
            }
            Message::Redirect(request) => {
                return self.begin_step(StepRequest::Redirect(request), reply, tasks).await;
            }
            Message::Additions(request) => {
                return self.begin_step(StepRequest::Additions(*request), reply, tasks).await;
            }
            Message::StoredStep { request } => {
                return self.begin_step(StepRequest::Stored(request), reply, tasks).await;
            }
            _ => return,
        };
        self.send_answer(&reply, answer).await;
    }

    async fn send_answer(&self, reply: &str, answer: Message) {
        match self.channel.send_message(reply, None, answer).await {
            Err(error @ FleetError::TooLarge { .. }) => {
                let problem = format!("an answer of the worker was not sent: {error}");
                self.send_or_warn(reply, Message::Unanswerable { problem }).await;
            }
            sent => self.warn_if_unsent(sent),
        }
    }

    fn open_request(&self, delivery: &Delivery) -> Option<(Received, String)> {
        let reply = delivery.reply.clone()?;
        let body = body_of(delivery)?;
        let received = self.channel.open_message(&delivery.subject, Some(&reply), body)?;
        // Answers stay within the pool.
        reply.starts_with(&self.channel.subject("")).then_some((received, reply))
    }

    /// Passes a control on to its call, and answers an operator. A caller that has left cancels calls without effects.
    async fn handle_control(&self, delivery: Delivery) {
        match &delivery.payload {
            Payload::NoReceiver => {
                if let Some(call) = delivery.subject.rsplit('.').next() {
                    self.calls.note_no_receiver(call, self.worker.heartbeat);
                }
            }
            Payload::Body(body) => {
                let opened = self.channel.open_message(&delivery.subject, delivery.reply.as_deref(), body);
                match opened {
                    Some(Received { sender, message: Message::Control(control), .. }) => {
                        match control.control {
                            Control::RepeatEnd => Box::pin(self.repeat_end(&control.call, &sender)).await,
                            _ => self.calls.control_call(control, &sender),
                        }
                    }
                    Some(Received { message, .. }) => {
                        Box::pin(self.answer_operator(&message, delivery.reply)).await;
                    }
                    None => {}
                }
            }
        }
    }

    /// Returns a call that was not seen before, its caller, and the subject of that. A repeated message, by the broker or an attacker, is not
    /// answered: the call may run.
    fn open_call(&self, delivery: &Delivery) -> Option<(ReceivedCall, String, String)> {
        let (Received { sender, message, .. }, reply) = self.open_request(delivery)?;
        let received = ReceivedCall::of_message(message)?;
        let call = received.call();
        let is_of_caller = reply == self.channel.process_subject(&sender, &call.call);
        (is_of_caller && !self.calls.has_seen(call)).then_some((received, sender, reply))
    }

    /// Answers a call that does not run here.
    async fn refuse_call(&self, call: CallEpoch, reply: &str, report: Report) {
        let report = CallReport { call, sequence: 0, contents: 0, tokens: 0, report };
        self.send_or_warn(reply, Message::Report(report)).await;
    }

    /// Takes a call, unless it was seen before, or there is no slot.
    async fn take_call(self: &Arc<Self>, delivery: Delivery, tasks: &mut JoinSet<()>) {
        let Some((received, sender, reply)) = self.open_call(&delivery) else { return };
        let call = received.call().clone();
        let refused = if self.calls.running_calls() >= self.worker.slots {
            self.channel.metrics().count_busy_answer();
            Some(Report::Busy)
        } else {
            let reason = match &received {
                ReceivedCall::Whole(request) => self.refusal_reason(request),
                ReceivedCall::Stored(stored) => self.unreadable_reason(stored),
            };
            reason.map(Report::Refused)
        };
        if let Some(report) = refused {
            self.refuse_call(call, &reply, report).await;
            return;
        }
        let is_harmless = self.index.is_harmless(received.definition());
        let Some(running) = self.calls.add_call(&call, sender, is_harmless) else { return };
        reap_tasks(tasks);
        tasks.spawn(Arc::clone(self).run_call(received, reply, running));
    }

    /// Returns why this worker cannot run the call.
    fn refusal_reason(&self, request: &CallRequest) -> Option<String> {
        let Some(definition) = self.index.definition(request.definition) else {
            return Some(OTHER_DEFINITION.to_owned());
        };
        let canonical = definition.canonical(request.arguments.as_str().into());
        match canonical {
            Ok(canonical) if canonical.as_str() == request.arguments => None,
            _ => Some("the worker would run other arguments than the caller judged".to_owned()),
        }
    }
}

/// Frees the tasks of calls that have ended, without a wake of this task for each one.
fn reap_tasks(tasks: &mut JoinSet<()>) {
    while tasks.try_join_next().is_some() {}
}

fn body_of(delivery: &Delivery) -> Option<&Bytes> {
    match &delivery.payload {
        Payload::Body(body) => Some(body),
        Payload::NoReceiver => None,
    }
}

#[cfg(test)]
mod tests;
