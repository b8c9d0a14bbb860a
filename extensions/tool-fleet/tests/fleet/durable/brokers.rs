//! Brokers that are off, away or under attack.

#[cfg(feature = "nats")]
mod jetstream {
    use std::time::Duration;

    use test_support::nats::{Server, reported, shared_jetstream_url, shared_url};
    use tool_fleet::{
        CallQueue as _, CallState, JetStreamCallQueue, NatsTransport, NewCall, QueueLimits, StartGrant,
        nats::async_nats::Client,
    };
    use tool_runtime::{definition::ContentHash, prelude::*};

    use super::super::{Broker, DurablePool, open_calls};

    const LEASE: Duration = Duration::from_secs(30);

    fn new_call() -> NewCall {
        let request = vec![7; 100].into();
        NewCall { id: "a-1".to_owned(), key: ContentHash::of("tool"), max_workers: 3, request }
    }

    async fn client(url: &str) -> Client {
        tool_fleet::nats::async_nats::connect(url).await.unwrap()
    }

    #[tokio::test]
    async fn a_server_without_jetstream_is_an_error_that_names_the_flag() {
        let Some(url) = shared_url() else { return };
        let transport = NatsTransport::connect(url).await.unwrap();
        let error = JetStreamCallQueue::open(&transport, "off").await.unwrap_err();
        assert!(error.to_string().contains("start the server with the flag `-js`"), "{error}");
    }

    /// The view of the process has the record of the call.
    #[tokio::test]
    async fn a_caller_that_waits_reads_nothing_from_the_server() {
        let Some(url) = shared_jetstream_url() else { return };
        let transport = NatsTransport::connect(url).await.unwrap();
        let mut pool =
            DurablePool::with_limits(Broker::Nats(transport), "silent", QueueLimits::default()).await;
        let caller = pool.caller(pool.durable().wait(Duration::from_secs(3)), &open_calls()).await;
        let client = client(url).await;
        let mut requests = Vec::new();
        for api in ["STREAM.MSG.GET", "DIRECT.GET"] {
            requests.push(client.subscribe(format!("$JS.API.{api}.tool-fleet-silent")).await.unwrap());
        }
        client.flush().await.unwrap();
        assert!(!caller.call("book", json!({})).await.is_finished());
        client.flush().await.unwrap();
        let mut reads = futures_util::stream::select_all(requests);
        let mut count = 0;
        while let Some(Some(_)) =
            futures_util::FutureExt::now_or_never(futures_util::StreamExt::next(&mut reads))
        {
            count += 1;
        }
        // One for the id, before it is stored.
        assert!(count <= 1, "{count} messages were read");
    }

    /// Each with a view of its own.
    #[tokio::test]
    async fn two_processes_take_a_call_once() {
        let Some(url) = shared_jetstream_url() else { return };
        let transport = NatsTransport::connect(url).await.unwrap();
        let first = JetStreamCallQueue::open(&transport, "views").await.unwrap();
        first.put_call(new_call()).await.unwrap();
        let second = JetStreamCallQueue::open(&transport, "views").await.unwrap();
        let keys = [ContentHash::of("tool")];
        let (one, other) =
            tokio::join!(first.take_call(&keys, "one", LEASE), second.take_call(&keys, "other", LEASE));
        let taken: Vec<_> = [one, other].into_iter().filter_map(Result::unwrap).collect();
        assert_eq!(taken.len(), 1);
        // Each changes the record that the other one has changed.
        assert_eq!(first.cancel_call("a-1").await.unwrap(), Some(CallState::Taken));
        assert_eq!(second.cancel_call("a-1").await.unwrap(), Some(CallState::Taken));
        assert_eq!(second.start_call(&taken[0].call).await.unwrap(), StartGrant::Refused);
    }

    #[tokio::test]
    async fn a_stream_keeps_messages_for_the_process_with_the_longest_age() {
        let Some(url) = shared_jetstream_url() else { return };
        let transport = NatsTransport::connect(url).await.unwrap();
        let hour = Duration::from_secs(3600);
        let short = QueueLimits { call_age: hour, result_age: hour, ..QueueLimits::default() };
        let long = QueueLimits::default();
        let client = client(url).await;
        let mut ages = Vec::new();
        for limits in [short, long, short] {
            JetStreamCallQueue::open_with(&transport, "ages", limits).await.unwrap();
            let info = client.request("$JS.API.STREAM.INFO.tool-fleet-ages", "".into()).await.unwrap();
            let info: Value = serde_json::from_slice(&info.payload).unwrap();
            ages.push(info["config"]["max_age"].as_u64().unwrap() / 1_000_000_000 / 3600);
        }
        assert_eq!(ages, [1, 24, 24]);
    }

    /// A client without the key stores the record of a queued call again, after the call was started.
    #[tokio::test]
    async fn a_repeated_record_is_not_started_again() {
        let Some(url) = shared_jetstream_url() else { return };
        let transport = NatsTransport::connect(url).await.unwrap();
        let queue = JetStreamCallQueue::open(&transport, "repeated").await.unwrap();
        let (client, subject) = (client(url).await, "tools.repeated.durable.calls.a-1");
        let mut records = client.subscribe(subject).await.unwrap();
        client.flush().await.unwrap();
        queue.put_call(new_call()).await.unwrap();
        let queued = futures_util::StreamExt::next(&mut records).await.unwrap().payload;
        let keys = [ContentHash::of("tool")];
        let taken = queue.take_call(&keys, "worker", LEASE).await.unwrap().unwrap();
        assert_eq!(queue.start_call(&taken.call).await.unwrap(), StartGrant::Given);
        // JetStream acknowledges it.
        client.request(subject, queued).await.unwrap();
        let other = JetStreamCallQueue::open(&transport, "repeated").await.unwrap();
        let repeated = other.take_call(&keys, "worker", LEASE).await.unwrap().unwrap();
        assert_eq!(repeated.call.id, "a-1");
        assert_eq!(other.start_call(&repeated.call).await.unwrap(), StartGrant::GivenBefore);
    }

    /// A process ends after it has stored the request of a call, and before its record; the call is repeated.
    #[tokio::test]
    async fn a_call_runs_whose_earlier_caller_ended_before_it_was_queued() {
        let Some(url) = shared_jetstream_url() else { return };
        let transport = NatsTransport::connect(url).await.unwrap();
        let queue = JetStreamCallQueue::open(&transport, "left").await.unwrap();
        queue.put_call(NewCall { request: vec![8; 100].into(), ..new_call() }).await.unwrap();
        let filter = json!({ "filter": "tools.left.durable.calls.a-1" }).to_string();
        client(url).await.request("$JS.API.STREAM.PURGE.tool-fleet-left", filter.into()).await.unwrap();
        let queue = JetStreamCallQueue::open(&transport, "left").await.unwrap();
        assert!(queue.put_call(new_call()).await.unwrap());
        let taken = queue.take_call(&[ContentHash::of("tool")], "worker", LEASE).await.unwrap().unwrap();
        assert_eq!((taken.call.request, &taken.request), (new_call().request_hash(), &new_call().request));
        assert_eq!(queue.start_call(&taken.call).await.unwrap(), StartGrant::Given);
        assert!(queue.end_call(&taken.call, vec![9].into()).await.unwrap());
    }

    /// A client without the key stores the request and the record of a call again that was cancelled before a worker took it, with the hash of
    /// another request.
    #[tokio::test]
    async fn a_cancelled_call_that_is_stored_again_is_not_started() {
        let Some(url) = shared_jetstream_url() else { return };
        let transport = NatsTransport::connect(url).await.unwrap();
        let queue = JetStreamCallQueue::open(&transport, "cancelled").await.unwrap();
        let client = client(url).await;
        let mut records = client.subscribe("tools.cancelled.durable.calls.a-1").await.unwrap();
        client.flush().await.unwrap();
        queue.put_call(new_call()).await.unwrap();
        let queued = futures_util::StreamExt::next(&mut records).await.unwrap().payload;
        assert_eq!(queue.cancel_call("a-1").await.unwrap(), Some(CallState::Queued));
        assert!(queue.remove_call("a-1").await.unwrap());
        let mut record: Value = serde_json::from_slice(&queued).unwrap();
        for request in [record["request"].clone(), json!(ContentHash::of("other"))] {
            let subject = format!("tools.cancelled.durable.requests.a-1.{}", request.as_str().unwrap());
            record["request"] = request;
            client.request(subject, new_call().request).await.unwrap();
            client.request("tools.cancelled.durable.calls.a-1", record.to_string().into()).await.unwrap();
            let other = JetStreamCallQueue::open(&transport, "cancelled").await.unwrap();
            let taken = other.take_call(&[ContentHash::of("tool")], "worker", LEASE).await.unwrap().unwrap();
            assert_ne!(other.start_call(&taken.call).await.unwrap(), StartGrant::Given);
        }
    }

    /// While the body runs, a client without the key stores the record as queued again: another worker takes it, and says nothing that is not true.
    #[tokio::test]
    async fn a_call_that_is_queued_again_while_it_runs_is_interrupted() {
        let Some(url) = shared_jetstream_url() else { return };
        let transport = NatsTransport::connect(url).await.unwrap();
        let limits = QueueLimits::default();
        let mut pool = DurablePool::with_limits(Broker::Nats(transport), "again", limits).await;
        let client = client(url).await;
        let mut records = client.subscribe("tools.again.durable.calls.>").await.unwrap();
        let mut requests = client.subscribe("tools.again.durable.requests.>").await.unwrap();
        client.flush().await.unwrap();
        let probe = pool.start_worker();
        let caller = pool.caller(pool.durable(), &open_calls()).await;
        assert!(!caller.call("book", json!({})).await.is_finished());
        probe.entered.notified().await;
        pool.reach(CallState::Started).await;
        let request = futures_util::StreamExt::next(&mut requests).await.unwrap();
        let queued = futures_util::StreamExt::next(&mut records).await.unwrap();
        let second = pool.start_worker();
        client.request(request.subject, request.payload).await.unwrap();
        let mut record: Value = serde_json::from_slice(&queued.payload).unwrap();
        record["epoch"] = json!(7);
        client.request(queued.subject, record.to_string().into()).await.unwrap();
        let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
        let text = answered[0].result.text();
        assert!(text.contains("it may have taken effect"), "{text}");
        assert_eq!((probe.bodies(), second.bodies()), (1, 0));
    }

    /// The server is killed, and starts without its files: its sequences begin again.
    #[tokio::test]
    async fn a_queue_goes_on_after_the_files_of_the_server_were_deleted() {
        let Some(mut server) = reported(Server::start_with_jetstream()) else { return };
        let connect = || async { NatsTransport::connect(server.url()).await.unwrap() };
        let queue = JetStreamCallQueue::open(&connect().await, "deleted").await.unwrap();
        let keys = [ContentHash::of("tool")];
        queue.put_call(new_call()).await.unwrap();
        let lost = queue.take_call(&keys, "worker", LEASE).await.unwrap().unwrap();
        let server = tokio::task::spawn_blocking(move || {
            server.kill();
            server.delete_files();
            server.start_again();
            server
        });
        let server = server.await.unwrap();
        let other = NatsTransport::connect(server.url()).await.unwrap();
        let other = JetStreamCallQueue::open(&other, "deleted").await.unwrap();
        // As a call that is repeated after a crash.
        let repeated = NewCall { request: vec![8; 100].into(), ..new_call() };
        let request = repeated.request_hash();
        assert!(other.put_call(repeated).await.unwrap());
        let taking = async {
            loop {
                // The connection of the first process is back later.
                if let Ok(Some(taken)) = queue.take_call(&keys, "worker", LEASE).await {
                    break taken;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let taken = tokio::time::timeout(LEASE, taking).await.unwrap();
        assert_eq!(taken.call.request, request);
        assert_eq!(queue.start_call(&lost.call).await.unwrap(), StartGrant::Refused);
        assert!(!queue.end_call(&lost.call, vec![9].into()).await.unwrap());
        assert_eq!(queue.start_call(&taken.call).await.unwrap(), StartGrant::Given);
        assert!(queue.end_call(&taken.call, vec![9].into()).await.unwrap());
        assert_eq!(other.read_call("a-1").await.unwrap().unwrap().1, vec![9]);
    }

    #[tokio::test]
    async fn calls_and_results_outlive_a_restart_of_the_server() {
        let Some(mut server) = reported(Server::start_with_jetstream()) else { return };
        let transport = NatsTransport::connect(server.url()).await.unwrap();
        let mut pool =
            DurablePool::with_limits(Broker::Nats(transport), "restarted", QueueLimits::default()).await;
        let caller = pool.caller(pool.durable(), &open_calls()).await;
        assert!(!caller.call("book", json!({})).await.is_finished());
        let server = tokio::task::spawn_blocking(move || {
            server.restart();
            server
        });
        let _server = server.await.unwrap();
        let probe = pool.start_worker();
        probe.released.cancel();
        let durable = pool.durable();
        let answered = loop {
            // While the connection is lost, the queue cannot be read.
            if let Ok(answered) = durable.wait_for_answers(&caller.executor).await {
                break answered;
            }
        };
        assert_eq!((answered[0].result.text().as_ref(), probe.bodies()), ("1", 1));
    }
}

#[cfg(all(feature = "postgres", unix))]
mod postgres {
    use std::time::Duration;

    use sqlx::Connection as _;
    use test_support::postgres::{Server, new_schema, reported};
    use tool_fleet::{CallQueue as _, CallState, LeaseState, NewCall, PostgresOptions, QueueLimits};
    use tool_runtime::{definition::ContentHash, prelude::*};

    use super::super::{Broker, DurablePool, open_calls};

    /// The body ends while the database is down: its worker keeps the result until it is back.
    #[tokio::test]
    async fn a_result_waits_for_the_database() {
        let Some(mut server) = reported(Server::start()) else { return };
        let options = PostgresOptions::new(&server.url()).unwrap().schema(new_schema()).unwrap();
        let mut pool = DurablePool::new(Broker::Postgres(options.connect().await.unwrap()), "away").await;
        let probe = pool.start_worker();
        let caller = pool.caller(pool.durable(), &open_calls()).await;
        assert!(!caller.call("book", json!({})).await.is_finished());
        probe.entered.notified().await;
        pool.reach(CallState::Started).await;
        let server = tokio::task::spawn_blocking(move || {
            server.switch("stop");
            server
        });
        let mut server = server.await.unwrap();
        probe.released.cancel();
        let second = pool.start_worker();
        // Longer than the lease of 1.5 s.
        let server = tokio::task::spawn_blocking(move || {
            std::thread::sleep(std::time::Duration::from_secs(2));
            server.switch("start");
            server
        });
        let _server = server.await.unwrap();
        let durable = pool.durable();
        let answered = loop {
            if let Ok(answered) = durable.wait_for_answers(&caller.executor).await {
                break answered;
            }
        };
        assert_eq!((answered[0].result.text().as_ref(), second.bodies()), ("1", 0));
    }

    /// Another call is removed while the database looks whether there is room.
    #[tokio::test]
    async fn a_result_for_which_room_is_made_meanwhile_is_not_refused() {
        let Some(url) = test_support::postgres::shared_url() else { return };
        let schema = new_schema();
        let options = PostgresOptions::new(&url).unwrap().schema(schema.as_str()).unwrap();
        let limits = QueueLimits { bytes: 10_000, ..QueueLimits::default() };
        let queue = options.connect().await.unwrap().call_queue("room").with_limits(limits);
        let key = ContentHash::of("tool");
        for (id, bytes) in [("a-1", 100), ("b-1", 9000)] {
            let request = vec![7; bytes].into();
            let new = NewCall { id: id.to_owned(), key, max_workers: 3, request };
            assert!(queue.put_call(new).await.unwrap());
        }
        let lease = Duration::from_secs(30);
        let call = queue.take_call(&[key], "worker", lease).await.unwrap().unwrap().call;
        // What a statement changes before it begins, it does not see.
        let sql = format!(
            "CREATE FUNCTION {schema}.make_room() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN DELETE FROM {schema}.calls WHERE id = 'b-1'; RETURN NULL; END $$; \
             CREATE TRIGGER make_room BEFORE UPDATE ON {schema}.calls FOR EACH STATEMENT EXECUTE FUNCTION {schema}.make_room()"
        );
        let mut connection = sqlx::PgConnection::connect(&url).await.unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        let error = queue.end_call(&call, vec![9; 5000].into()).await.unwrap_err().to_string();
        assert!(error.contains("try again"), "{error}");
        assert!(queue.end_call(&call, vec![9; 5000].into()).await.unwrap());
    }

    /// Another process asks for the end of leases as the network is lost, and the database hears it once the network is back.
    #[tokio::test]
    async fn leases_do_not_end_while_the_database_was_out_of_reach() {
        const LEASE: Duration = Duration::from_secs(2);
        let Some(mut server) = reported(Server::start()) else { return };
        let options = PostgresOptions::new(&server.url()).unwrap().schema(new_schema()).unwrap();
        let transport = options.operation_timeout(Duration::from_secs(60)).connect().await.unwrap();
        let (queue, other) = (transport.call_queue("partition"), transport.call_queue("partition"));
        let request = vec![7; 100].into();
        let new = NewCall { id: "a-1".to_owned(), key: ContentHash::of("tool"), max_workers: 3, request };
        queue.put_call(new).await.unwrap();
        let call = queue.take_call(&[ContentHash::of("tool")], "worker", LEASE).await.unwrap().unwrap().call;
        queue.start_call(&call).await.unwrap();
        // The other process has reached the database for longer than the lease.
        for _ in 0..12 {
            assert_eq!(queue.extend_lease(&call, LEASE).await.unwrap(), LeaseState::Held);
            other.settle_calls().await.unwrap();
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        server.switch("pause");
        let settling = {
            let other = other.clone();
            tokio::spawn(async move { other.settle_calls().await })
        };
        // The server does not hear it, and the lease is over.
        tokio::time::sleep(Duration::from_secs(4)).await;
        server.switch("resume");
        settling.await.unwrap().unwrap();
        other.settle_calls().await.unwrap();
        let (record, _) = queue.read_call("a-1").await.unwrap().unwrap();
        assert_eq!(record.state, CallState::Started);
        assert_eq!(queue.extend_lease(&call, LEASE).await.unwrap(), LeaseState::Held);
        // It ends once the worker is silent.
        while queue.read_call("a-1").await.unwrap().unwrap().0.state != CallState::Interrupted {
            other.settle_calls().await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
