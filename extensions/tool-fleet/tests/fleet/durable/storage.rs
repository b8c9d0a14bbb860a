//! The records of a queue while others change them, or its storage refuses them.

#[cfg(all(feature = "postgres", unix))]
mod postgres {
    use std::time::Duration;

    use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
    use test_support::postgres::{new_schema, shared_url};
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
}
