//! A client of the broker without the key of the pool, which sends again what it saw, and the broker's own words.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use tool_fleet::{Deliveries, FleetError, MemoryTransport, Transport, Worker};
use tool_runtime::{BoxFuture, CancellationToken, Executor, ToolCall, prelude::*};

use super::{Probe, connect, program_key, registry};

type Sent = (String, Option<String>, Bytes);

/// A transport of which a client sees the messages.
#[derive(Clone, Default)]
struct SeenTransport {
    inner: MemoryTransport,
    seen: Arc<Mutex<Vec<Sent>>>,
}

impl SeenTransport {
    /// Sends the calls that were seen once more.
    async fn replay_calls(&self) {
        let seen = self.seen.lock().unwrap().clone();
        for (subject, reply, body) in seen {
            if subject.contains(".calls.") {
                self.inner.send(&subject, reply.as_deref(), body).await.unwrap();
            }
        }
    }
}

impl Transport for SeenTransport {
    fn send<'a>(
        &'a self,
        subject: &'a str,
        reply: Option<&'a str>,
        body: Bytes,
    ) -> BoxFuture<'a, Result<(), FleetError>> {
        self.seen.lock().unwrap().push((subject.to_owned(), reply.map(str::to_owned), body.clone()));
        self.inner.send(subject, reply, body)
    }

    fn listen<'a>(
        &'a self,
        pattern: &'a str,
        group: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Deliveries, FleetError>> {
        self.inner.listen(pattern, group)
    }

    fn max_bytes(&self) -> usize {
        self.inner.max_bytes()
    }
}

/// A repeated call arrives at its own worker, which has no free slot while it runs.
#[tokio::test(start_paused = true)]
async fn a_call_with_effects_that_is_repeated_at_its_full_worker_runs_once() {
    let transport = SeenTransport::default();
    let probe = Arc::new(Probe::default());
    let worker = Worker::new(Executor::new(registry(&probe)), program_key().pool_key("trip"))
        .slots(1)
        .heartbeat(Duration::from_millis(100));
    let worker = tokio::spawn(worker.serve(transport.clone(), CancellationToken::new()));
    let (executor, _toolbox) = connect(&transport, "trip").await;
    let calling =
        tokio::spawn(async move { executor.run(vec![ToolCall::new("trip__book", json!({}))]).await });
    probe.entered.notified().await;
    transport.replay_calls().await;
    // Shorter than the wait for a free slot; the clock is paused, so that all messages are read first.
    tokio::time::sleep(Duration::from_millis(50)).await;
    probe.released.cancel();
    let outcomes = calling.await.unwrap();
    assert_eq!(outcomes[0].result().unwrap().text(), "1");
    assert_eq!(probe.bodies(), 1);
    worker.abort();
}
