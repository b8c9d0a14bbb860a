//! The records of a queue while others change them, or its storage refuses them.

#[cfg(all(feature = "postgres", unix))]
mod postgres {
    use std::time::Duration;

    use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
    use test_support::postgres::{Server, new_schema, reported, shared_url};
    use tool_fleet::{CallQueue as _, CallState, NewCall, PostgresCallQueue, PostgresOptions, StartGrant};
    use tool_runtime::definition::ContentHash;

    const LEASE: Duration = Duration::from_secs(30);

    fn new_call() -> NewCall {
        let request = vec![7; 100].into();
        NewCall { id: "a-1".to_owned(), key: ContentHash::of("tool"), max_workers: 3, request }
    }

    /// A queue with one call, in a schema of its own, and a connection beside it; `None` if the machine has no server.
    async fn queue_with_call(pool: &str) -> Option<(PostgresCallQueue, PgConnection, String)> {
        let (url, schema) = (shared_url()?, new_schema());
        let options = PostgresOptions::new(&url).unwrap().schema(schema.as_str()).unwrap();
        let queue = options.connect().await.unwrap().call_queue(pool);
        assert!(queue.put_call(new_call()).await.unwrap());
        Some((queue, PgConnection::connect(&url).await.unwrap(), schema))
    }

    async fn run_sql(connection: &mut PgConnection, sql: String) {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.unwrap();
    }

    async fn state(queue: &PostgresCallQueue) -> CallState {
        queue.find_call("a-1").await.unwrap().unwrap().state
    }

    /// Its worker was silent for longer than its lease. The statement that ends the lease has begun before the start.
    #[tokio::test]
    async fn a_call_that_is_started_as_its_lease_ends_is_not_queued_again() {
        let Some((queue, mut other, schema)) = queue_with_call("starting").await else { return };
        let keys = [ContentHash::of("tool")];
        // Leases end once the server has heard of the process before.
        queue.settle_calls().await.unwrap();
        let call = queue.take_call(&keys, "worker", Duration::ZERO).await.unwrap().unwrap().call;
        let sql = format!(
            "CREATE FUNCTION {schema}.wait() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN PERFORM pg_advisory_xact_lock_shared(hashtext('{schema}')); RETURN NULL; END $$; \
             CREATE TRIGGER wait BEFORE DELETE ON {schema}.calls FOR EACH STATEMENT EXECUTE FUNCTION {schema}.wait(); \
             SELECT pg_advisory_lock(hashtext('{schema}'))"
        );
        run_sql(&mut other, sql).await;
        let settling = {
            let queue = queue.clone();
            tokio::spawn(async move { queue.settle_calls().await })
        };
        let sql = format!(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid::int = hashtext('{schema}')"
        );
        while sqlx::query_scalar::<_, i64>(AssertSqlSafe(sql.clone())).fetch_one(&mut other).await.unwrap()
            == 0
        {}
        assert_eq!(queue.start_call(&call).await.unwrap(), StartGrant::Given);
        run_sql(&mut other, format!("SELECT pg_advisory_unlock(hashtext('{schema}'))")).await;
        settling.await.unwrap().unwrap();
        assert_eq!(state(&queue).await, CallState::Interrupted);
        assert!(queue.take_call(&keys, "other", LEASE).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_row_that_says_that_it_was_started_is_not_taken() {
        let Some((queue, mut other, schema)) = queue_with_call("started").await else { return };
        run_sql(&mut other, format!("UPDATE {schema}.calls SET was_started = true")).await;
        assert!(queue.take_call(&[ContentHash::of("tool")], "worker", LEASE).await.unwrap().is_none());
        assert_eq!(state(&queue).await, CallState::Queued);
    }

    /// The server is paused as a worker takes a call, and reads the statement later.
    #[tokio::test]
    async fn a_call_that_is_taken_without_an_answer_counts_one_worker() {
        let Some(mut server) = reported(Server::start()) else { return };
        let options = PostgresOptions::new(&server.url()).unwrap().schema(new_schema()).unwrap();
        let options = options.operation_timeout(Duration::from_secs(1));
        let queue = options.connect().await.unwrap().call_queue("lost");
        assert!(queue.put_call(new_call()).await.unwrap());
        // All connections know the statement, so that it is one message to the server.
        for _ in 0..16 {
            assert!(queue.take_call(&[ContentHash::of("other")], "worker", LEASE).await.unwrap().is_none());
        }
        let keys = [ContentHash::of("tool")];
        server.switch("pause");
        let error = queue.take_call(&keys, "worker", LEASE).await.unwrap_err().to_string();
        assert!(error.contains("the database did not answer within 1s"), "{error}");
        server.switch("resume");
        let taking = async { while state(&queue).await != CallState::Taken {} };
        tokio::time::timeout(LEASE, taking).await.unwrap();
        let taken = queue.take_call(&keys, "worker", LEASE).await.unwrap().unwrap();
        let call = queue.find_call("a-1").await.unwrap().unwrap();
        assert_eq!((taken.call.epoch, call.epoch, call.workers), (1, 1, 1));
        // The same worker has it once.
        assert!(queue.take_call(&keys, "worker", LEASE).await.unwrap().is_none());
    }
}

#[cfg(feature = "nats")]
mod jetstream {
    use std::time::Duration;

    use futures_util::StreamExt as _;
    use test_support::nats::{Server, reported, shared_jetstream_url};
    use tool_fleet::{
        CallQueue as _, CallState, JetStreamCallQueue, NatsTransport, NewCall, QueueLimits,
        nats::async_nats::Client,
    };
    use tool_runtime::{definition::ContentHash, prelude::*};

    const LEASE: Duration = Duration::from_secs(30);

    fn new_call(id: &str) -> NewCall {
        let request = id.as_bytes().repeat(40).into();
        NewCall { id: id.to_owned(), key: ContentHash::of("tool"), max_workers: 3, request }
    }

    /// A queue, and a client of the broker without the key; `None` if the machine has no broker.
    async fn queue_and_client(pool: &str, limits: QueueLimits) -> Option<(JetStreamCallQueue, Client)> {
        let url = shared_jetstream_url()?;
        let transport = NatsTransport::connect(url).await.unwrap();
        let queue = JetStreamCallQueue::open_with(&transport, pool, limits).await.unwrap();
        Some((queue, tool_fleet::nats::async_nats::connect(url).await.unwrap()))
    }

    /// A client of the broker writes something else in place of a record.
    #[tokio::test]
    async fn a_record_that_cannot_be_read_holds_up_no_other_call() {
        // Longer than the test takes, and an age at which calls expire.
        let limits = QueueLimits { call_age: Duration::from_secs(2), ..QueueLimits::default() };
        let Some((queue, client)) = queue_and_client("unread", limits).await else { return };
        for id in ["a-1", "b-1", "c-1"] {
            assert!(queue.put_call(new_call(id)).await.unwrap());
        }
        client.request("tools.unread.durable.calls.a-1", "x".into()).await.unwrap();
        let taken = queue.take_call(&[ContentHash::of("tool")], "worker", LEASE).await.unwrap().unwrap();
        assert_eq!(taken.call.id, "b-1");
        client.request("tools.unread.durable.calls.c-1", "x".into()).await.unwrap();
        // The other one is of a process that has not looked at it.
        assert!(queue.put_call(new_call("d-1")).await.unwrap());
        let expired = async {
            loop {
                queue.settle_calls().await.unwrap();
                let Some(call) = queue.find_call("d-1").await.unwrap() else { panic!("it was removed") };
                if call.state == CallState::Expired {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(LEASE, expired).await.unwrap();
        assert!(queue.end_call(&taken.call, vec![9].into()).await.unwrap());
        // An error and no end, since they may have run.
        for id in ["a-1", "c-1"] {
            let error = queue.find_call(id).await.unwrap_err().to_string();
            assert!(error.contains(&format!("the stored call {id} was altered")), "{error}");
        }
        let purged = queue.purge_calls(&CallState::ALL).await.unwrap();
        assert_eq!(purged.len(), 2);
    }

    #[tokio::test]
    async fn a_record_that_is_altered_as_calls_are_purged_holds_up_no_other_one() {
        let Some((queue, client)) = queue_and_client("purging", QueueLimits::default()).await else { return };
        for id in ["a-1", "b-1", "c-1"] {
            assert!(queue.put_call(new_call(id)).await.unwrap());
        }
        client.request("tools.purging.durable.calls.a-1", "x".into()).await.unwrap();
        let purged = queue.purge_calls(&CallState::ALL).await.unwrap();
        assert_eq!(purged.iter().map(|call| &*call.id).collect::<Vec<_>>(), ["b-1", "c-1"]);
    }

    fn read_json(bytes: &[u8]) -> Value {
        serde_json::from_slice(bytes).unwrap()
    }

    /// The server takes the bytes of the request, and not its record.
    #[tokio::test]
    async fn a_call_that_cannot_be_queued_leaves_no_bytes() {
        let Some((queue, client)) = queue_and_client("refused", QueueLimits::default()).await else { return };
        let info = || async {
            let info = client.request("$JS.API.STREAM.INFO.tool-fleet-refused", "".into()).await.unwrap();
            read_json(&info.payload)
        };
        let mut config = info().await["config"].clone();
        // Less than a record has.
        config["max_msg_size"] = json!(200);
        let update = client.request("$JS.API.STREAM.UPDATE.tool-fleet-refused", config.to_string().into());
        assert_eq!(read_json(&update.await.unwrap().payload)["error"], json!(null));
        let error = queue.put_call(new_call("a-1")).await.unwrap_err().to_string();
        assert!(error.contains("message size exceeds maximum"), "{error}");
        assert_eq!(info().await["state"]["messages"], json!(0));
    }

    /// The server is stopped as a worker takes a call, and reads the message later.
    #[tokio::test]
    async fn a_call_that_is_taken_without_an_answer_counts_one_worker() {
        let Some(mut server) = reported(Server::start_with_jetstream()) else { return };
        let transport = NatsTransport::connect(server.url()).await.unwrap();
        let queue = JetStreamCallQueue::open(&transport, "lost").await.unwrap();
        let client = tool_fleet::nats::async_nats::connect(server.url()).await.unwrap();
        assert!(queue.put_call(new_call("a-1")).await.unwrap());
        let keys = [ContentHash::of("tool")];
        server.send_signal("STOP");
        let answer_time = Duration::from_millis(200);
        while let Ok(answered) =
            tokio::time::timeout(answer_time, client.request("$JS.API.INFO", "".into())).await
        {
            answered.unwrap();
        }
        let lease = Duration::from_secs(2);
        let error = queue.take_call(&keys, "worker", lease).await.unwrap_err().to_string();
        assert!(error.contains("JetStream did not answer within 1s"), "{error}");
        server.send_signal("CONT");
        let taking = async {
            loop {
                if let Some(taken) = queue.take_call(&keys, "worker", LEASE).await.unwrap() {
                    break taken;
                }
                tokio::task::yield_now().await;
            }
        };
        let taken = tokio::time::timeout(LEASE, taking).await.unwrap();
        let (call, _) = queue.read_call("a-1").await.unwrap().unwrap();
        assert_eq!((taken.call.epoch, call.epoch, call.workers), (2, 2, 1));
        // The same worker has it once.
        assert!(queue.take_call(&keys, "worker", LEASE).await.unwrap().is_none());
        assert_eq!(queue.find_call("a-1").await.unwrap().unwrap().state, CallState::Taken);
    }

    /// Each is a request to the server, while the worker takes no call.
    #[tokio::test]
    async fn a_worker_removes_some_records_at_a_time() {
        let Some((queue, client)) = queue_and_client("records", QueueLimits::default()).await else { return };
        let calls: Vec<_> = (0..300).map(|number| format!("{number}-1")).collect();
        let removing = calls.iter().map(|id| async {
            assert!(queue.put_call(new_call(id)).await.unwrap());
            queue.cancel_call(id).await.unwrap();
            assert!(queue.remove_call(id).await.unwrap());
        });
        futures_util::stream::iter(removing).for_each_concurrent(16, |removing| removing).await;
        // All processes have seen them.
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(61)).await;
        tokio::time::resume();
        let mut left = Vec::new();
        for _ in 0..3 {
            queue.settle_calls().await.unwrap();
            let info = client.request("$JS.API.STREAM.INFO.tool-fleet-records", "".into()).await.unwrap();
            left.push(read_json(&info.payload)["state"]["messages"].clone());
        }
        // The mark of each call that it is not started any more stays.
        assert_eq!(left, [300 + 44, 300, 300]);
    }
}
