//! Ends of calls with effects that are lost on their way, or with the broker.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tool_runtime::prelude::*;

use super::{
    Pool,
    broker::{Forger, Sent, TestBroker},
};

/// Returns `true` for the end of a call.
fn is_end(forger: &Forger, sent: &Sent) -> bool {
    sent.is_report() && !forger.read(sent)["message"]["report"]["report"]["output"].is_null()
}

/// A broker that loses the first ends of calls.
fn broker_that_loses(ends: usize) -> (TestBroker, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let broker = TestBroker::tampering(move |inner, sent: Sent| {
        let is_end = is_end(&Forger::new(&inner, "trip"), &sent);
        let is_lost = is_end && counted.fetch_add(1, Ordering::SeqCst) < ends;
        async move {
            if !is_lost {
                sent.deliver(&inner).await;
            }
        }
    });
    (broker, count)
}

#[tokio::test(start_paused = true)]
async fn an_end_that_is_lost_is_sent_again() {
    let (broker, ends) = broker_that_loses(2);
    let pool = Pool::start(&broker, "trip", 2).await;
    let call = pool.call("book", json!({}));
    let worker = pool.entered().await;
    pool.probes[worker].released.cancel();
    assert_eq!(call.await.unwrap().text(), "1");
    assert_eq!((pool.bodies().iter().sum::<usize>(), ends.load(Ordering::SeqCst)), (1, 3));
}

/// A client of the broker without the key repeats the question of the caller, and delays what the worker says.
#[tokio::test(start_paused = true)]
async fn a_repeated_question_for_an_end_is_answered_once() {
    let (ends, questions) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (of_ends, of_questions) = (Arc::clone(&ends), Arc::clone(&questions));
    let broker = TestBroker::tampering(move |inner, sent: Sent| {
        let forger = Forger::new(&inner, "trip");
        let asks = sent.subject.contains(".process.")
            && sent.reply.is_none()
            && forger.read(&sent)["message"]["control"]["control"] == "repeatEnd";
        let is_lost = is_end(&forger, &sent) && of_ends.fetch_add(1, Ordering::SeqCst) == 0;
        of_questions.fetch_add(usize::from(asks), Ordering::SeqCst);
        async move {
            for _ in 0..if asks { 10 } else { usize::from(!is_lost) } {
                sent.deliver(&inner).await;
            }
        }
    });
    let pool = Pool::start(&broker, "trip", 1).await;
    pool.probes[0].released.cancel();
    assert_eq!(pool.call("book", json!({})).await.unwrap().text(), "1");
    // The worker reads all questions.
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert_eq!((questions.load(Ordering::SeqCst), ends.load(Ordering::SeqCst)), (1, 2));
    let sent = broker.seen(|sent| is_end(&Forger::new(&broker.inner, "trip"), sent));
    assert_ne!(sent[0].body, sent[1].body, "it is sealed again, and valid for a minute");
}

/// It is repeated elsewhere, as after the end of its worker.
#[tokio::test(start_paused = true)]
async fn a_read_whose_end_is_lost_runs_again() {
    let (broker, ends) = broker_that_loses(1);
    let pool = Pool::start(&broker, "trip", 1).await;
    pool.probes[0].released.cancel();
    let result = pool.call("forecast", json!({ "query": { "city": "Paris", "days": 2 } })).await.unwrap();
    assert_eq!(result.text(), "Paris 2 by body 2");
    assert_eq!(ends.load(Ordering::SeqCst), 2);
}

#[cfg(feature = "nats")]
mod nats {
    use std::time::Duration;

    use bytes::Bytes;
    use test_support::nats::{Server, reported};
    use tokio::{sync::Notify, time::timeout};
    use tool_fleet::{
        Deliveries, FleetError, FleetSettings, FleetToolSet, MemoryTransport, NatsTransport, Transport,
        nats::async_nats::{self, Client},
    };
    use tool_runtime::{BoxFuture, Executor, RunContext, ToolCall, Toolbox};

    use super::*;
    use crate::{Probe, program_key, registry, serve};

    /// The transport of a worker, which tells when the end of a call was given to the client.
    #[derive(Clone)]
    struct EndingTransport {
        inner: NatsTransport,
        ended: Arc<Notify>,
    }

    impl Transport for EndingTransport {
        fn send<'a>(
            &'a self,
            subject: &'a str,
            reply: Option<&'a str>,
            body: Bytes,
        ) -> BoxFuture<'a, Result<(), FleetError>> {
            Box::pin(async move {
                let sent =
                    Sent { subject: subject.to_owned(), reply: reply.map(str::to_owned), body: body.clone() };
                self.inner.send(subject, reply, body).await?;
                if is_end(&Forger::new(&MemoryTransport::new(), "trip"), &sent) {
                    self.ended.notify_one();
                }
                Ok(())
            })
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

        fn is_connected(&self) -> bool {
            self.inner.is_connected()
        }
    }

    /// Waits until the server does not answer.
    async fn wait_until_stopped(client: &Client) {
        while timeout(Duration::from_millis(300), client.request("nothing", "".into())).await.is_ok() {}
    }

    /// The broker is stopped, receives the end in its buffer, and is killed before it reads it.
    #[tokio::test]
    async fn an_end_that_is_lost_with_the_broker_is_sent_again() {
        let Some(mut server) = reported(Server::start()) else { return };
        let client = async_nats::connect(server.url()).await.unwrap();
        let (ended, probe) = (Arc::new(Notify::new()), Arc::new(Probe::default()));
        let transport =
            EndingTransport { inner: NatsTransport::from(client.clone()), ended: Arc::clone(&ended) };
        let worker = serve(&transport, "trip", Executor::new(registry(&probe)));
        let toolbox = Toolbox::new();
        // Also while the connection of the caller is away.
        let settings = FleetSettings { lost_after: Duration::from_secs(3), ..FleetSettings::default() };
        let caller = NatsTransport::connect(server.url()).await.unwrap();
        let set = FleetToolSet::connect_with(caller, program_key().pool_key("trip"), settings).await.unwrap();
        toolbox.add_toolset(set).unwrap();
        let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
        let executor = Executor::new(tools);
        let call = tokio::spawn(async move {
            executor.run(vec![ToolCall::new("trip__book", json!({}))]).await.remove(0)
        });
        probe.entered.notified().await;
        server.send_signal("STOP");
        wait_until_stopped(&client).await;
        probe.released.cancel();
        ended.notified().await;
        client.flush().await.unwrap();
        let restarting = tokio::task::spawn_blocking(move || {
            server.kill();
            server.start_again();
            server
        });
        let _server = restarting.await.unwrap();
        let outcome = call.await.unwrap();
        assert_eq!((outcome.result().unwrap().text().as_ref(), probe.bodies()), ("1", 1));
        worker.abort();
    }
}

/// The database is down as the result is written, and for longer than a worker without a sign of life is waited for.
#[cfg(all(feature = "postgres", unix))]
#[tokio::test]
async fn a_result_waits_for_a_database_that_is_down() {
    use std::time::Duration;

    use test_support::postgres::{Server, new_schema, reported};
    use tool_fleet::FleetSettings;

    let Some(mut server) = reported(Server::start()) else { return };
    let options = tool_fleet::PostgresOptions::new(&server.url()).unwrap().schema(new_schema()).unwrap();
    let transport = options.connect().await.unwrap();
    // A busy machine answers within it, too.
    let settings = FleetSettings { lost_after: Duration::from_secs(2), ..FleetSettings::default() };
    let pool = Pool::start_with(&transport, "trip", 1, settings).await;
    let call = pool.call("book", json!({}));
    pool.entered().await;
    let stopping = tokio::task::spawn_blocking(move || {
        server.switch("stop");
        server
    });
    let mut server = stopping.await.unwrap();
    pool.probes[0].released.cancel();
    let starting = tokio::task::spawn_blocking(move || {
        std::thread::sleep(Duration::from_secs(3));
        server.switch("start");
        server
    });
    let _server = starting.await.unwrap();
    let result = call.await.unwrap();
    assert_eq!((result.text().as_ref(), pool.bodies()), ("1", vec![1]));
}
