//! Faults of the server and of the database.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use test_support::postgres::{Server, new_schema, reported, shared_url};
use tool_runtime::serde_json::json;
use tool_session::{
    LeaseRequest, PostgresOptions, SessionError, SessionFilter, SessionKey, SessionWrite, SharedSessionStore,
};

use super::options;
use crate::contract::world::{entries_of, key, map, message, write_run};

/// A schema of the shared server, and a connection to it that the store does not know.
struct Schema {
    name: String,
    url: String,
    connection: PgConnection,
}

impl Schema {
    async fn new() -> Option<Self> {
        let (url, name) = (shared_url()?, new_schema());
        let connection = PgConnection::connect(&url).await.unwrap();
        let mut schema = Self { name, url, connection };
        schema.execute("SET search_path = {schema}").await;
        Some(schema)
    }

    /// Returns the settings of the schema, with `parameters` in the URL.
    fn options(&self, parameters: &str) -> PostgresOptions {
        PostgresOptions::new(&format!("{}{parameters}", self.url)).unwrap().schema(&self.name).unwrap()
    }

    async fn open(&self) -> SharedSessionStore {
        self.options("").open().await.unwrap().into()
    }

    async fn execute(&mut self, sql: &str) {
        let sql = AssertSqlSafe(sql.replace("{schema}", &self.name));
        sqlx::raw_sql(sql).execute(&mut self.connection).await.unwrap();
    }
}

#[tokio::test]
async fn a_server_that_is_gone_is_unavailable_and_no_write_is_lost_or_doubled() {
    let Some(mut server) = reported(Server::start()) else { return };
    let store = PostgresOptions::new(&server.url()).unwrap().open().await.unwrap();
    let sessions = SharedSessionStore::new(store.clone());
    let lease = sessions.acquire(&key("s"), &LeaseRequest::new("one", "one")).await.unwrap().lease;
    let first = SessionWrite::new(0).entry(message("one", "a")).changes(map(json!({ "user:a": 1 })));
    sessions.write(&lease, &first).await.unwrap();
    for step in 1..4 {
        // With idle connections in the pool, and with the one of the last write.
        server.switch("stop");
        let write = SessionWrite::new(step).entry(message("one", "b"));
        for _ in 0..3 {
            let error = sessions.write(&lease, &write).await.unwrap_err();
            assert!(error.is_transient() && matches!(error, SessionError::Unavailable(_)), "{error:?}");
        }
        sessions.load(&key("s")).await.unwrap_err();
        server.switch("start");
        sessions.write(&lease, &write).await.unwrap();
        sessions.write(&lease, &write).await.unwrap();
        assert_eq!(entries_of(&sessions, "s").await, step + 1);
    }
    store.close().await;
    assert_eq!(sessions.load(&key("s")).await.unwrap_err(), SessionError::Closed);
}

#[tokio::test]
async fn an_unreachable_server_is_unavailable() {
    let options = PostgresOptions::new("postgres://tester@localhost/postgres?host=/nowhere").unwrap();
    let error = options.open().await.unwrap_err();
    assert!(matches!(error, SessionError::Unavailable(_)), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_that_open_a_new_schema_at_once_migrate_it_once() {
    let Some(schema) = Schema::new().await else { return };
    let tasks = (0..8).map(|number| {
        let options = schema.options("");
        tokio::spawn(async move {
            let sessions = SharedSessionStore::new(options.open().await?);
            write_run(&sessions, &format!("s-{number}"), "x").await
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap().unwrap();
    }
    assert_eq!(schema.open().await.list(&SessionFilter::new("shop")).await.unwrap().len(), 8);
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused_with_both_versions() {
    let Some(mut schema) = Schema::new().await else { return };
    schema.open().await;
    schema.execute("UPDATE store_version SET version = version + 6").await;
    let error = schema.options("").open().await.unwrap_err();
    let SessionError::NewerVersion { found, supported } = error else { panic!("{error:?}") };
    assert_eq!(found, supported + 6);
}

#[tokio::test]
async fn a_schema_with_tables_of_another_program_is_not_changed() {
    let Some(mut schema) = Schema::new().await else { return };
    schema.execute("CREATE SCHEMA {schema}; CREATE TABLE entries (a TEXT)").await;
    let error = schema.options("").open().await.unwrap_err();
    assert!(error.to_string().contains("already exists"), "{error}");
    let tables = "SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1";
    let tables = sqlx::query_scalar(tables).bind(&schema.name).fetch_one(&mut schema.connection);
    let tables: i64 = tables.await.unwrap();
    assert_eq!(tables, 1);
}

#[tokio::test]
async fn a_read_only_database_is_read_and_refuses_each_write() {
    let Some(schema) = Schema::new().await else { return };
    write_run(&schema.open().await, "s", "a").await.unwrap();
    let options = schema.options("&options=-c%20default_transaction_read_only%3Don");
    let sessions = SharedSessionStore::new(options.open().await.unwrap());
    assert_eq!(write_run(&sessions, "s", "b").await.unwrap_err(), SessionError::ReadOnly);
    assert_eq!(sessions.delete(&key("s")).await.unwrap_err(), SessionError::ReadOnly);
    assert_eq!(entries_of(&sessions, "s").await, 1);
}

#[tokio::test]
async fn a_locked_session_is_unavailable_and_read_all_the_same() {
    let Some(mut schema) = Schema::new().await else { return };
    let options = schema.options("").operation_timeout(Duration::from_secs(3));
    let sessions = SharedSessionStore::new(options.open().await.unwrap());
    for id in ["s", "other"] {
        write_run(&sessions, id, "a").await.unwrap();
    }
    schema.execute("BEGIN; SELECT * FROM sessions WHERE id = 's' FOR UPDATE").await;
    let error = write_run(&sessions, "s", "b").await.unwrap_err();
    assert!(error.is_transient() && matches!(error, SessionError::Unavailable(_)), "{error}");
    assert_eq!(entries_of(&sessions, "s").await, 1);
    write_run(&sessions, "other", "b").await.unwrap();
    schema.execute("ROLLBACK").await;
    write_run(&sessions, "s", "b").await.unwrap();
    assert_eq!((entries_of(&sessions, "s").await, entries_of(&sessions, "other").await), (2, 2));
}

/// The settings that free the locks of a process that is stopped in a transaction; and what a pooler in transaction mode would lose.
#[tokio::test]
async fn a_transaction_has_its_own_limits_and_leaves_nothing_to_its_connection() {
    let Some(mut schema) = Schema::new().await else { return };
    let options = schema.options("").operation_timeout(Duration::from_secs(7)).max_connections(1);
    let sessions = SharedSessionStore::new(options.open().await.unwrap());
    let observe = "CREATE TABLE seen (idle TEXT, locks TEXT, prepared BIGINT, advisory BIGINT); \
                   CREATE FUNCTION observe() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                   INSERT INTO seen SELECT current_setting('idle_in_transaction_session_timeout'), \
                   current_setting('lock_timeout'), (SELECT count(*) FROM pg_prepared_statements WHERE name <> ''), \
                   (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()); RETURN NEW; END $$; \
                   CREATE TRIGGER observer AFTER INSERT ON entries FOR EACH ROW EXECUTE FUNCTION observe()";
    schema.execute(observe).await;
    for _ in 0..3 {
        write_run(&sessions, "s", "x").await.unwrap();
    }
    let seen = sqlx::query_as("SELECT DISTINCT idle, locks, prepared, advisory FROM seen");
    let seen: Vec<(String, String, i64, i64)> = seen.fetch_all(&mut schema.connection).await.unwrap();
    assert_eq!(seen, [("7s".to_owned(), "7s".to_owned(), 0, 0)]);
}

#[tokio::test]
async fn a_write_that_is_dropped_leaves_no_lock_and_no_part() {
    let Some(mut schema) = Schema::new().await else { return };
    // With one connection, which the next operation uses again.
    let sessions = SharedSessionStore::new(schema.options("").max_connections(1).open().await.unwrap());
    let lease = sessions.acquire(&key("s"), &LeaseRequest::new("one", "one")).await.unwrap().lease;
    schema.execute("BEGIN; LOCK TABLE shared_state").await;
    let write = SessionWrite::new(0).entry(message("one", "a")).changes(map(json!({ "user:a": 1 })));
    // It has its lock and its entry, and cannot get further.
    tokio::time::timeout(Duration::from_millis(200), sessions.write(&lease, &write)).await.unwrap_err();
    schema.execute("ROLLBACK; SELECT * FROM sessions FOR UPDATE").await;
    assert_eq!(entries_of(&sessions, "s").await, 0);
    sessions.write(&lease, &write).await.unwrap();
    assert_eq!(entries_of(&sessions, "s").await, 1);
}

#[tokio::test]
async fn a_full_database_refuses_a_write_whole_and_goes_on_later() {
    let Some(mut schema) = Schema::new().await else { return };
    let sessions = schema.open().await;
    let lease = sessions.acquire(&key("s"), &LeaseRequest::new("one", "one")).await.unwrap().lease;
    let full = "CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$; \
                CREATE TRIGGER full_disk BEFORE INSERT ON shared_state FOR EACH ROW EXECUTE FUNCTION fill()";
    schema.execute(full).await;
    let changes = map(json!({ "a": 1, "user:a": 1 }));
    let write = SessionWrite::new(0).entry(message("one", "a")).changes(changes).title("No");
    let error = sessions.write(&lease, &write).await.unwrap_err();
    assert!(matches!(error, SessionError::Failed(_)) && error.to_string().contains("free space"), "{error}");
    let snapshot = sessions.load(&key("s")).await.unwrap().unwrap();
    assert_eq!((snapshot.session.revision, snapshot.session.entries, snapshot.session.title), (0, 0, None));
    assert!(snapshot.state.is_empty());
    schema.execute("DROP TRIGGER full_disk ON shared_state").await;
    sessions.write(&lease, &write).await.unwrap();
}

#[tokio::test]
async fn a_schema_that_is_deleted_under_a_run_is_an_error_of_each_write() {
    let Some(mut schema) = Schema::new().await else { return };
    let sessions = schema.open().await;
    let lease = sessions.acquire(&key("s"), &LeaseRequest::new("one", "one")).await.unwrap().lease;
    schema.execute("DROP SCHEMA {schema} CASCADE").await;
    let error = sessions.write(&lease, &SessionWrite::new(0).title("x")).await.unwrap_err();
    assert!(!error.is_transient() && error.to_string().contains("open the store again"), "{error}");
    sessions.load(&key("s")).await.unwrap_err();
    // The tables are made again; the session is not.
    let sessions = schema.open().await;
    assert!(matches!(sessions.renew(&lease).await.unwrap_err(), SessionError::NotFound(_)));
}

/// The longest names, whose bytes no compression makes shorter, fit into the indexes.
#[tokio::test]
async fn the_longest_names_are_stored() {
    let Some(options) = options() else { return };
    let sessions = SharedSessionStore::new(options.open().await.unwrap());
    let mut seed = 1_u64;
    let mut name = || -> String {
        let letters = (0..SessionKey::MAX_NAME_BYTES).map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'!' + u8::try_from((seed >> 33) % 90).unwrap())
        });
        letters.collect()
    };
    let key = SessionKey::new(name(), name(), name()).unwrap();
    let lease = sessions.acquire(&key, &LeaseRequest::new(name(), name())).await.unwrap().lease;
    let changes = map(json!({ "user:a": 1, "app:a": 1 }));
    let mut content = message(&name(), "x").with_branch(name()).with_view(name()).with_agent(name());
    content.kind = name().into();
    sessions
        .write(&lease, &SessionWrite::new(0).entry(content).title(name()).changes(changes))
        .await
        .unwrap();
    assert_eq!(sessions.load(&key).await.unwrap().unwrap().session.entries, 1);
}

#[test]
fn settings_show_no_password_and_invalid_ones_are_refused() {
    let options = PostgresOptions::new("postgres://user:hunter2@host/database").unwrap();
    let text = format!("{options:?}");
    assert!(text.contains("host") && !text.contains("hunter2"), "{text}");
    for url in ["postgres://user:hunter2@host:port/", "sqlite://hunter2", "hunter2", ""] {
        let error = PostgresOptions::new(url).unwrap_err().to_string();
        assert!(error.contains("not valid") && !error.contains("hunter2"), "{error}");
    }
    for schema in ["", "a; DROP TABLE b", "\"a\"", "1a", "A", "pg_catalog", "a.b", "é", &"a".repeat(64)] {
        let error = options.clone().schema(schema).unwrap_err();
        assert!(matches!(error, SessionError::Invalid(_)), "{error}");
    }
}

/// As `SqliteStore` has it: reads of a run read neither all entries of a session nor all sessions.
#[tokio::test]
async fn reads_of_a_long_session_use_an_index() {
    let Some(mut schema) = Schema::new().await else { return };
    schema.open().await;
    schema.execute("SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off").await;
    for (query, index) in [
        ("FROM entries WHERE session = 1 AND number > 5 ORDER BY number DESC LIMIT 9", "entries_pkey"),
        (
            "FROM entries WHERE session = 1 AND number > 0 AND kind = 'k' ORDER BY number DESC LIMIT 2",
            "entries_",
        ),
        ("FROM sessions WHERE app = 'a' AND user_id = 'u' AND id = 'i' FOR UPDATE", "sessions_"),
        (
            "FROM sessions WHERE app = 'a' ORDER BY updated_at DESC, user_id DESC, id DESC LIMIT 9",
            "sessions_of_apps",
        ),
        (
            "FROM sessions WHERE app = 'a' AND lease_released = 0 AND lease_expires_at <= 9 ORDER BY lease_expires_at",
            "unreleased_leases",
        ),
    ] {
        let plan = AssertSqlSafe(format!("EXPLAIN SELECT * {query}"));
        let steps: Vec<String> = sqlx::query_scalar(plan).fetch_all(&mut schema.connection).await.unwrap();
        let plan = steps.join("\n");
        assert!(
            plan.contains("Index Scan") && plan.contains(index) && !plan.contains("Sort"),
            "{query}: {plan}"
        );
    }
}
