//! Workers and sets that are stopped while their broker hangs.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::{sync::Notify, task::JoinHandle, time::timeout};
use tool_fleet::{Deliveries, FleetError, FleetToolSet, MemoryCallQueue, MemoryTransport, Transport, Worker};
use tool_runtime::{
    BoxFuture, CancellationToken, Executor, RunContext, ToolCall, ToolSet as _, Toolbox, prelude::*,
    serde_json::Map,
};

use super::{Probe, program_key, registry, settings};

/// The time in which a worker that runs no call stops: 2 s for an answer that is on its way, 2 s to leave, and 2 s for the last messages.
const STOP_TIME: Duration = Duration::from_secs(7);

/// A broker in memory that takes no message and no subscription from a time on: each one waits without an end. It also ends the subscription
/// to calls of its pool, as one does whose permissions change.
#[derive(Clone, Default)]
struct HangingBroker {
    inner: MemoryTransport,
    hangs: CancellationToken,
    ends_calls: CancellationToken,
    /// Told of each one that waits.
    waits: Arc<Notify>,
}

impl HangingBroker {
    async fn pass(&self) {
        if self.hangs.is_cancelled() {
            self.waits.notify_one();
            std::future::pending().await
        }
    }
}

impl Transport for HangingBroker {
    fn send<'a>(
        &'a self,
        subject: &'a str,
        reply: Option<&'a str>,
        body: Bytes,
    ) -> BoxFuture<'a, Result<(), FleetError>> {
        Box::pin(async move {
            self.pass().await;
            self.inner.send(subject, reply, body).await
        })
    }

    fn listen<'a>(
        &'a self,
        pattern: &'a str,
        group: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Deliveries, FleetError>> {
        Box::pin(async move {
            self.pass().await;
            let deliveries = self.inner.listen(pattern, group).await?;
            Ok(match pattern.contains(".calls.") {
                true => deliveries.take_until(self.ends_calls.clone().cancelled_owned()).boxed(),
                false => deliveries,
            })
        })
    }

    fn max_bytes(&self) -> usize {
        self.inner.max_bytes()
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), FleetError>> {
        Box::pin(async {
            self.pass().await;
            Ok(())
        })
    }
}

fn serve(
    broker: &HangingBroker,
    probe: &Arc<Probe>,
    stop: &CancellationToken,
) -> JoinHandle<Result<(), FleetError>> {
    let worker = Worker::new(Executor::new(registry(probe)), program_key().pool_key("hanging"))
        .heartbeat(Duration::from_millis(100))
        .queue(MemoryCallQueue::new("hanging"));
    tokio::spawn(worker.serve(broker.clone(), stop.clone()))
}

#[tokio::test(start_paused = true)]
async fn a_worker_whose_announcement_hangs_is_stopped_in_time() {
    let (broker, stop) = (HangingBroker::default(), CancellationToken::new());
    let mut announcements = broker.inner.listen("tools.hanging.announcements", None).await.unwrap();
    let serving = serve(&broker, &Arc::default(), &stop);
    announcements.next().await.unwrap();
    broker.hangs.cancel();
    broker.waits.notified().await;
    stop.cancel();
    let stopped = timeout(STOP_TIME, serving).await.unwrap().unwrap().unwrap_err();
    assert!(stopped.to_string().contains("the last messages were not sent in time"), "{stopped}");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_waits_for_its_first_subscription_is_stopped_in_time() {
    let (broker, stop) = (HangingBroker::default(), CancellationToken::new());
    broker.hangs.cancel();
    let serving = serve(&broker, &Arc::default(), &stop);
    broker.waits.notified().await;
    stop.cancel();
    let stopped = timeout(STOP_TIME, serving).await.unwrap().unwrap();
    assert!(stopped.is_err());
}

/// The cancellation of a dropped call hangs as the set is closed.
#[tokio::test(start_paused = true)]
async fn a_set_whose_control_hangs_is_closed_in_time() {
    let (broker, probe) = (HangingBroker::default(), Arc::<Probe>::default());
    let (stop, of_worker) = (CancellationToken::new(), broker.inner.clone());
    let _worker = serve(&HangingBroker { inner: of_worker, ..Default::default() }, &probe, &stop);
    let key = program_key().pool_key("hanging");
    let set = Arc::new(FleetToolSet::connect_with(broker.clone(), key, settings()).await.unwrap());
    let toolbox = Toolbox::new();
    toolbox.add_toolset(Arc::clone(&set)).unwrap();
    let executor = Executor::new(toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools());
    let call = ToolCall::new("hanging__forecast", json!({ "query": { "city": "Paris" } }));
    let calling = tokio::spawn(async move { executor.run(vec![call]).await });
    probe.entered.notified().await;
    // Its worker is known once it has reported.
    tokio::time::sleep(Duration::from_millis(300)).await;
    broker.hangs.cancel();
    calling.abort();
    let waits = timeout(STOP_TIME, broker.waits.notified()).await;
    waits.unwrap();
    timeout(STOP_TIME, set.close()).await.unwrap().unwrap();
}

/// The calls and the stop arrive at once.
#[tokio::test(start_paused = true)]
async fn a_worker_that_is_stopped_gives_back_the_calls_that_it_has_not_taken() {
    let (broker, probe, stop) = (HangingBroker::default(), Arc::<Probe>::default(), CancellationToken::new());
    let _stopped = serve(&broker, &probe, &stop);
    let (executor, _toolbox) = super::connect(&broker, "hanging").await;
    let _other = serve(&broker, &probe, &CancellationToken::new());
    tokio::time::sleep(Duration::from_millis(300)).await;
    let begin = tokio::time::Instant::now();
    let calls: Vec<_> = (0..16)
        .map(|_| {
            let executor = executor.clone();
            let call = ToolCall::new("hanging__add", json!({ "a": 1, "b": 2 }));
            tokio::spawn(async move { executor.run(vec![call]).await.remove(0) })
        })
        .collect();
    tokio::spawn(async move { stop.cancel() });
    for call in calls {
        let outcome = call.await.unwrap();
        assert_eq!(outcome.result().unwrap().text(), "3");
    }
    assert!(begin.elapsed() < settings().lost_after, "{:?}", begin.elapsed());
}

fn in_capitals(arguments: &mut Map<String, Value>) -> Result<(), ToolError> {
    if let Some(Value::String(city)) = arguments.get_mut("city") {
        *city = city.to_uppercase();
    }
    Ok(())
}

/// Finds a city.
#[tool(read_only, register = false, prepare = in_capitals)]
fn find(city: String) -> String {
    city
}

/// The questions before calls and the stop arrive at once.
#[tokio::test(start_paused = true)]
async fn a_worker_that_is_stopped_answers_the_questions_that_it_has_received() {
    let (broker, stop) = (MemoryTransport::new(), CancellationToken::new());
    let serve = |stop: &CancellationToken| {
        let tools = Registry::builder().tool::<find>().build().unwrap();
        let worker = Worker::new(Executor::new(tools), program_key().pool_key("finding"));
        let worker = worker.heartbeat(Duration::from_millis(100));
        tokio::spawn(worker.serve(broker.clone(), stop.clone()))
    };
    let _stopped = serve(&stop);
    let (executor, _toolbox) = super::connect(&broker, "finding").await;
    let _other = serve(&CancellationToken::new());
    tokio::time::sleep(Duration::from_millis(300)).await;
    let begin = tokio::time::Instant::now();
    let calls: Vec<_> = (0..32)
        .map(|_| {
            let (executor, call) =
                (executor.clone(), ToolCall::new("finding__find", json!({ "city": "Rome" })));
            tokio::spawn(async move { executor.run(vec![call]).await.remove(0) })
        })
        .collect();
    tokio::spawn(async move { stop.cancel() });
    for call in calls {
        assert_eq!(call.await.unwrap().result().unwrap().text(), "ROME");
    }
    // Half of the time for an answer, in which another worker is asked.
    assert!(begin.elapsed() < settings().preparation / 2, "{:?}", begin.elapsed());
}

/// It fails, since it receives no more calls, and those that it has come to their end.
#[tokio::test(start_paused = true)]
async fn a_worker_whose_subscription_ends_lets_its_calls_end() {
    let (broker, probe) = (HangingBroker::default(), Arc::<Probe>::default());
    let mut serving = serve(&broker, &probe, &CancellationToken::new());
    let (executor, _toolbox) = super::connect(&broker, "hanging").await;
    let calling =
        tokio::spawn(async move { executor.run(vec![ToolCall::new("hanging__book", json!({}))]).await });
    probe.entered.notified().await;
    broker.ends_calls.cancel();
    assert!(timeout(Duration::from_secs(5), &mut serving).await.is_err(), "it has a call");
    probe.released.cancel();
    assert_eq!(calling.await.unwrap()[0].result().unwrap().text(), "1");
    let error = timeout(STOP_TIME, serving).await.unwrap().unwrap().unwrap_err();
    assert!(error.to_string().contains("the connection is closed"), "{error}");
}
