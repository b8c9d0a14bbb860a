//! The same tools in many processes: a [`Worker`] runs the calls of a pool, and a [`FleetToolSet`] is the pool's tools in any program with a
//! [`Toolbox`](tool_runtime::Toolbox).
//!
//! No line of a tool changes. Rules, hooks, approvals, pins and agents of the caller work on remote tools as on local ones, since the caller
//! judges the arguments that the worker runs: definitions travel with what the decoder of a generated schema knows, under the key of the pool.
//!
//! | module | decision |
//! | --- | --- |
//! | `transport` | a [`Transport`] sends bytes to subjects and knows nothing of calls: in memory ([`MemoryTransport`]), by NATS (`NatsTransport`, feature `nats`), by Postgres (`PostgresTransport`, feature `postgres`) |
//! | `channel` | every body is sealed under the [`PoolKey`](tool_runtime::open_calls::PoolKey), bound to its subject, and expires |
//! | `message` | what is said: discovery, one call, its reports, its control |
//! | `steps` | what a caller asks of a worker before a call is judged, and before a request is sent to a model |
//! | `queue` | a [`CallQueue`] keeps durable calls and their results: in memory ([`MemoryCallQueue`]), in JetStream (`JetStreamCallQueue`), in Postgres (`PostgresCallQueue`) |
//! | `values` | arguments and results above the limit of the broker or queue, through a [`ValueStore`] |
//! | `worker` | takes calls, asks for the start of a tool with effects, reports, and beats while a body runs |
//! | `caller` | lists tools, owns each call: its epochs, its start, its one outcome |
//!
//! # What happens when something dies
//!
//! | tool | worker dies before the start | during the body | caller dies |
//! | --- | --- | --- | --- |
//! | read-only or idempotent | another worker runs it | another worker runs it, with the same idempotency key | cancelled after three heartbeats |
//! | other | another worker runs it | interrupted, "may have taken effect"; never run again | runs to its end |
//!
//! Before the body of a tool with effects starts, its worker obtains the *start* from the caller, which gives it once. A message that is lost can
//! delay or interrupt a call, and never double it. Each time a call is sent, its *epoch* grows; a worker of an earlier epoch gets no start, and its
//! result is not read.
//!
//! After the broker was away, connections are back at different times: a call that had a worker, or for which one is known, waits for it for 5 s
//! ([`FleetSettings::busy`]).
//!
//! A worker keeps the end of a call with effects for 60 s, and sends it again to a caller that has heard nothing for half of [`FleetSettings::lost_after`]: what is lost
//! with the broker, or on its way, interrupts no call that has ended. A caller whose own connection is away waits for a call that has started for as long.
//!
//! A call starts on at most 3 workers ([`FleetSettings::max_workers`]). A message is one attempt: retries are decided by the caller's executor.
//!
//! # Durable calls
//!
//! Calls that are [durable](DurableCalls) are stored in a [`CallQueue`], and taken by workers that [have it](Worker::queue):
//!
//! | tool | no worker | worker dies before the start | during the body | caller dies |
//! | --- | --- | --- | --- | --- |
//! | read-only or idempotent | waits, 24 h at most | another worker runs it | another worker runs it, with the same idempotency key | goes on; the result waits |
//! | other | waits, 24 h at most | another worker runs it | interrupted, "may have taken effect"; never run again | goes on; the result waits |
//!
//! The queue gives a call to one worker, for a lease that the worker extends, and gives the start of a body with effects once. What a worker says
//! after another one has the call is refused. A call that started on 3 workers ends as interrupted, and is listed without its arguments.
//!
//! A call that does not end within 5 s ([`DurableCalls::wait`]) becomes an open call of the caller's executor, with an interim result; one of a long-running
//! tool does at once. Any process with the same store of open calls answers it by [`DurableCalls::answer_open_calls`], once.
//! An open call whose durable call is no more in its queue, since it was purged, was too old, or was lost with the files of the broker, is answered with an error.
//! [`DurableOpenCalls`] cancels the durable call of an open call that is discarded or rejected.
//!
//! Durable calls have no updates, progress and log lines, since their caller may be gone. A body cannot ask a person, nor draw on the budget of its
//! caller's run. The deadline of that run does not apply; timeouts of the worker's executor do. What the body of a long-running tool returns is the
//! result, unless it names an [operation](tool_runtime::ToolOutput::with_operation_id): then it is an interim result, and the program answers the call.
//!
//! # Reports of a running call
//!
//! Updates, progress and log lines are shown in the order of the worker. Reports that overtake others wait for them for half a second; then
//! the missing ones are counted by a warning in the log of the call, as are log lines and progress for which its readers have no room. A worker sends at most 128 reports beyond those that the caller has read:
//! a slow reader delays the body, as it does in one process. Events of child runs are reports, too; a child's call that has begun at a lost worker ends
//! with an error. Events of an agent in a child run, other than those of its calls, stay at the worker. A call with more than 1,024 unread reports, which no worker of this crate causes,
//! ends with an error that names the limit.
//!
//! # Before a call
//!
//! The functions of `prepare`, `confirm` and `permission` are at the worker. The caller's executor asks for them once a call is admitted, in one
//! message, and again after a hook has rewritten the arguments; then it validates and judges the prepared arguments, by rules, policies,
//! hooks and people, as in one process. A worker that runs the call prepares its arguments again: it refuses the call if it would run another text than
//! the one that was judged, and its own `permission` decides once more. A `prepare` function therefore returns its own result
//! unchanged. A call of a tool that redirects becomes one of another tool of the pool before anything else sees it.
//!
//! `on_request` of all tools of a set is asked once for each request to a model. A worker adds instructions, and messages of the user; body and messages of the
//! request stay with the caller, and members, native tools and messages in a provider's format are left out with a notice, since they are beyond the power of a
//! pool.
//!
//! A tool adds at most 16 texts and messages with 16 KiB, and a pool 64 KiB; what is more, and what fails, is left out with a notice.
//!
//! A worker has 2 s for an answer ([`FleetSettings::preparation`]); before a call, another one is asked after half of them. A call without one is refused as
//! unavailable, and has not run; a request is sent without the additions, with a notice. These questions take no slot and count in no budget; a worker
//! answers 64 of them at once.
//!
//! # Approvals and questions
//!
//! The caller's executor decides on `confirm`, `permission`, rules and policies. A question of a body
//! ([`ToolContext::request_confirmation`](tool_runtime::ToolContext::request_confirmation)) returns to the caller and ends the call there; with
//! the answer, at once or when the call is resumed, the body runs again. Before that, it runs once more than in one process, up to the question.
//!
//! # Budgets
//!
//! Each call and each round of a child run at a worker is granted by the caller, which counts it in the budget of the run: the sum never exceeds
//! it. Tokens are counted by the caller with the next report, so that a used up budget denies the next round. What a lost worker was granted stays
//! counted; tokens that it did not report are not. The loop of a body obtains its rounds by
//! [`RunContext::obtain_round`](tool_runtime::RunContext::obtain_round), as agents do: those that it counts without waiting are denied.
//!
//! # Large values
//!
//! A request, update, log line, event or result that is larger than the broker takes goes through a [`ValueStore`] that both sides have
//! ([`FleetToolSet::with_value_store`], [`Worker::value_store`]), sealed under the key of the pool, up to [64 MiB](MAX_VALUE_BYTES). With the feature
//! `artifacts`, `ArtifactValues` stores them beside the artifacts of `tool-session`, where no tool lists them. Without a store, the error names the size
//! and the limit, and nothing is sent; an update or log line is replaced by a line that says so.
//!
//! The message that names a value has its size and hash. A store that fails, or returns other bytes, costs the call alone: a request that
//! cannot be stored is not sent, one that cannot be read does not run, and a result that cannot be stored or read is an error that says that the call
//! ended. What a caller asks before a call goes through the store, too, and its worker's answers: the store has its own time, beside
//! [`FleetSettings::preparation`]. A question of a body, and the answer to it, do not.
//!
//! The caller deletes a request when its call ends, in any way, and a report when it was read, or belongs to a call that has ended. Values
//! are left if a process is killed that has stored one and not sent its name, or a caller with open calls, if a message is lost, and if
//! a deletion fails, which is a warning. They expire by the rules of the store: of `ArtifactValues`, after 3 days, by
//! `SharedArtifacts::sweep` or `TransientObjects::sweep`: any process may run it; one, each night, is enough.
//!
//! Requests and results of durable calls that are too large for their queue go through the store of [`DurableCalls::value_store`] and [`Worker::value_store`]. The record in
//! the queue has size and hash of the value, sealed; its name follows from the record, so that the process that removes a record, by taking the end, a withdrawal, a purge or its age, deletes
//! the values, too. A worker tries for a minute to read or store one. A store that keeps values for less time than the queue a call and its result is an error of
//! [`Worker::serve`] and [`FleetToolSet::connect_durable`].
//!
//! # Traces and metrics
//!
//! With the feature `opentelemetry`, the spans of a call are one trace: those of its worker are below the span `execute_tool` of the caller. The trace
//! travels as `traceparent` and `tracestate` in the metadata of the call and its run, where a body finds it.
//!
//! Metrics are those of the global meter provider of `opentelemetry` that is set when a worker begins to serve, or a set connects. Each one has the
//! attribute `tool_fleet.pool`.
//!
//! | metric | kind, unit | counts |
//! | --- | --- | --- |
//! | `tool_fleet.worker.busy_slots` | up-down counter, `{call}` | the calls that the workers of the process run |
//! | `tool_fleet.worker.busy_answers` | counter, `{call}` | the calls that a worker did not take, since it had no free slot; their callers try again |
//! | `tool_fleet.worker.calls` | counter, `{call}` | the calls that the workers of the process have run to their end, durable ones included; with `error.type`, as the calls of a caller: `cancelled` for one that was dropped |
//! | `tool_fleet.queue.depth` | gauge, `{call}` | the durable calls of the pool that wait for a worker |
//! | `tool_fleet.queue.oldest_age` | gauge, `s` | the time since the oldest one of them was stored; 0 without one |
//! | `tool_fleet.caller.calls` | counter, `{call}` | the calls that have ended, or were left open in a queue; with `error.type`, the [name](tool_runtime::ErrorKind::name) of the error's kind: `cancelled` for one that was dropped |
//! | `tool_fleet.caller.lost_workers` | counter, `{worker}` | the workers that the process regards as lost, after [`FleetSettings::lost_after`]; each caller counts them |
//!
//! A worker that has a queue reads its depth and age every 15 s (`Worker::backlog_interval`); all workers of a pool show the same ones, so that a
//! dashboard takes their maximum, not their sum. They are not shown while the queue cannot be read, and once the worker takes no more calls: without
//! a worker of the queue there are none, so that an alarm needs their absence, too.
//!
//! # Trust
//!
//! A client of the broker without the key of the pool sees subjects, sizes and times; it reads and answers nothing, and runs no tool with
//! effects again. It can repeat a question before a call, and a read-only or idempotent call, at other workers for a minute, delay a call, or have it answered as
//! unavailable or cancelled, since the broker's notice that there is no receiver is not sealed; such notices, repeated for some seconds, end one
//! call, and change nothing that is known about workers.
//! A question before a call has its arguments, documents, the user's message and the state of the run: workers of the pool know them before a rule about
//! arguments, a hook or a person refuses the call. A question before a request has the user's message, `meta` and state of the run, if a tool of the request has
//! `on_request`. A question about a redirect has the arguments alone, before a hook
//! admits the call; none is asked about one that is denied by its name, or for which there is no budget. A call is redirected to tools of the same set alone. No answer of a
//! pool stops a request.
//!
//! Requests and results of durable calls are sealed, and bound to their call, definition, epoch and request; the record beside them, with its state, is
//! not. With rights on the subjects or the table of a [`CallQueue`], a client without the key can delete or delay durable calls, have them answered as
//! cancelled, expired or interrupted, and have one without effects run again. Over JetStream, a body with effects that has started or ended is started again only by one that
//! may also purge the stream; over Postgres, by one that may change the rows. A worker of one pool answers no open call of another: the call names the id in its queue.
//!
//! Messages that are not of the pool are ignored, with a warning at most every ten seconds.
//!
//! # Limits
//!
//! Direct calls of a [`Registry`](tool_runtime::Registry) ask for nothing before: a tool with `prepare` then takes what its function leaves unchanged, and a tool that
//! redirects is not called. Calls of one batch are prepared one after another. A body that writes more log lines and progress reports than the event buffer of the worker's executor holds (256 by default), without
//! waiting for anything, receives an error for the further ones, as with a [`CallStream`](tool_runtime::executor::CallStream). Arguments and results are
//! limited by the broker (1 MiB by default), and with a [`ValueStore`] to 64 MiB. Requests and results of durable calls are limited by their queue, and with a store to the same. Calls that are not durable wait in no queue: without a worker, a call is unavailable at once. Over Postgres, a worker that
//! was killed counts as present for up to 6 s; a call that only it could take waits for [`FleetSettings::lost_after`], as one of a worker that died.
//!
//! # Examples
//!
//! ```
//! use tool_fleet::{FleetToolSet, MemoryTransport, Worker};
//! use tool_runtime::{
//!     CancellationToken, Executor, RunContext, ToolCall, Toolbox, open_calls::ProgramKey, prelude::*,
//! };
//!
//! /// Adds two numbers.
//! #[tool(read_only)]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let key = ProgramKey::new([7; 32]).pool_key("math");
//! let (transport, stop) = (MemoryTransport::new(), CancellationToken::new());
//! let worker = Worker::new(Executor::new(Registry::builder().tool::<add>().build()?), key.clone());
//! let serving = tokio::spawn(worker.serve(transport.clone(), stop.clone()));
//!
//! let toolbox = Toolbox::new();
//! toolbox.add_toolset(FleetToolSet::connect(transport, key).await?)?;
//! let tools = toolbox.snapshot(&RunContext::new()).await?.into_tools();
//! let outcomes = Executor::new(tools).run(vec![ToolCall::new("math__add", r#"{ "a": 2, "b": 3 }"#)]).await;
//! assert_eq!(outcomes[0].result().unwrap().text(), "5");
//!
//! stop.cancel();
//! serving.await??;
//! # Ok::<(), anyhow::Error>(())
//! # })?;
//! # Ok::<(), anyhow::Error>(())
//! ```

mod caller;
mod channel;
#[cfg(feature = "cli")]
pub mod cli;
mod error;
/// The examples of the guide.
#[cfg(all(doctest, feature = "artifacts", feature = "cli", feature = "nats"))]
#[doc = include_str!("../../../tool-runtime/src/docs/guide/fleet.md")]
pub mod guide {}
mod ignored;
mod message;
mod metrics;
mod queue;
mod steps;
mod trace;
mod transport;
mod values;
mod worker;

#[cfg(feature = "artifacts")]
pub use self::values::ArtifactValues;
pub use self::{
    caller::{AnsweredCall, DurableCalls, DurableOpenCalls, EndedCall, FleetSettings, FleetToolSet},
    error::FleetError,
    queue::{
        CallQueue, CallState, LeaseState, MemoryCallQueue, NewCall, QueueBacklog, QueueEpoch, QueueLimits,
        QueuedCall, StartGrant, TakenCall,
    },
    transport::{Deliveries, Delivery, MemoryTransport, Payload, Transport},
    values::{MAX_VALUE_BYTES, ValueStore},
    worker::{Worker, WorkerState},
};
#[cfg(feature = "nats")]
pub use self::{
    queue::JetStreamCallQueue,
    transport::{NatsTransport, nats},
};
#[cfg(feature = "postgres")]
pub use self::{
    queue::PostgresCallQueue,
    transport::{PostgresOptions, PostgresTransport},
};
