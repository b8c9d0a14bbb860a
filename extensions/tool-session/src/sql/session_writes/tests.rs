#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, ops::ControlFlow};

use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, Row, SqliteConnection, sqlite::SqliteRow};

use super::*;
use crate::{
    LeaseRequest,
    sql::{acquire_lease, renew_lease},
    sqlite::migrate,
};

/// A connection that counts its statements by their first words, and notes how the database finds their rows.
struct ObservedConnection {
    inner: SqliteConnection,
    statements: BTreeMap<String, usize>,
    plans: Vec<String>,
}

impl ObservedConnection {
    /// Opens an empty database in memory.
    async fn open() -> Self {
        let mut inner = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        migrate(&mut inner).await.unwrap();
        Self { inner, statements: BTreeMap::new(), plans: Vec::new() }
    }

    async fn observe(&mut self, statement: &SqlStatement<'_>) {
        let verb = statement.sql.split(' ').next().unwrap_or_default().to_owned();
        *self.statements.entry(verb).or_default() += 1;
        let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", statement.sql));
        let rows = sqlx::raw_sql(explain).fetch_all(&mut self.inner).await.unwrap();
        self.plans.extend(rows.iter().map(|row| row.get::<String, _>("detail")));
    }
}

impl SqlConnection for ObservedConnection {
    type Row = SqliteRow;

    const ROW_LOCK: &'static str = SqliteConnection::ROW_LOCK;
    const FORGET_TERMS: Option<&'static str> = SqliteConnection::FORGET_TERMS;
    const NEXT_EPOCH: &'static str = SqliteConnection::NEXT_EPOCH;
    const MAX_ROWS: usize = SqliteConnection::MAX_ROWS;
    const SENDS_ALL_ROWS: bool = SqliteConnection::SENDS_ALL_ROWS;

    async fn execute(&mut self, statement: SqlStatement<'_>) -> Result<u64, SessionError> {
        self.observe(&statement).await;
        self.inner.execute(statement).await
    }

    async fn fetch_until(
        &mut self,
        statement: SqlStatement<'_>,
        read_row: impl FnMut(&SqliteRow) -> Result<ControlFlow<()>, SessionError> + Send,
    ) -> Result<(), SessionError> {
        self.observe(&statement).await;
        self.inner.fetch_until(statement, read_row).await
    }
}

/// Takes the leases of sessions of one user.
async fn leases(connection: &mut ObservedConnection, count: usize) -> Vec<Lease> {
    let mut leases = Vec::new();
    for number in 0..count {
        let key = SessionKey::new("shop", "u-7", format!("s-{number}")).unwrap();
        let request = LeaseRequest::new("run", "holder");
        leases.push(acquire_lease(connection, &key, &request, SystemTime::UNIX_EPOCH).await.unwrap().lease);
    }
    leases
}

fn write(revision: u64, changes: serde_json::Value) -> SessionWrite {
    let body = JsonText::of(&"text").unwrap();
    let changes = changes.as_object().cloned().unwrap_or_default();
    SessionWrite::new(revision).entry(EntryContent::new("run", EntryContent::MESSAGE, body)).changes(changes)
}

async fn apply(
    connection: &mut ObservedConnection,
    leases: &[Lease],
    write: &SessionWrite,
) -> Vec<Result<SessionVersion, SessionError>> {
    let writes: Vec<_> = leases.iter().map(|lease| (lease, write)).collect();
    apply_writes(connection, &writes, SystemTime::UNIX_EPOCH).await.unwrap()
}

#[tokio::test]
async fn the_statements_of_writes_grow_with_their_number_of_rows_and_not_of_sessions() {
    let mut connection = ObservedConnection::open().await;
    let leases = leases(&mut connection, 2 * SqliteConnection::MAX_ROWS).await;
    connection.statements.clear();
    for result in apply(&mut connection, &leases, &write(0, json!({ "step": 1 }))).await {
        assert_eq!(result, Ok(SessionVersion { revision: 1, entries: 1 }));
    }
    let expected =
        [("INSERT", 2), ("SELECT", 2), ("UPDATE", 2)].map(|(verb, count)| (verb.to_owned(), count));
    assert_eq!(connection.statements, BTreeMap::from(expected));

    // One alone has as many as before.
    connection.statements.clear();
    apply(&mut connection, &leases[..1], &write(1, json!({}))).await[0].clone().unwrap();
    assert_eq!(connection.statements.values().sum::<usize>(), 3);
}

#[tokio::test]
async fn no_step_of_a_run_reads_the_rows_of_other_sessions_or_users() {
    let mut connection = ObservedConnection::open().await;
    let leases = leases(&mut connection, 3).await;
    renew_lease(&mut connection, &leases[0], SystemTime::UNIX_EPOCH).await.unwrap();
    let first = write(0, json!({ "a": 1, "user:a": 1, "app:a": 1 }));
    for leases in [&leases[..1], &leases[1..]] {
        assert!(apply(&mut connection, leases, &first).await.iter().all(Result::is_ok));
    }
    // Their answers were lost.
    assert!(apply(&mut connection, &leases, &first).await.iter().all(Result::is_ok));
    let is_of_all = |plan: &&String| {
        let scans = ["SCAN sessions", "SCAN entries", "SCAN shared_state"];
        scans.iter().any(|scan| plan.starts_with(scan))
            || plan.contains("shared_state USING PRIMARY KEY (app=?)")
    };
    assert_eq!(connection.plans.iter().filter(is_of_all).collect::<Vec<_>>(), Vec::<&String>::new());
    assert!(
        connection.plans.iter().any(|plan| plan.starts_with("SEARCH sessions USING")),
        "{:?}",
        connection.plans
    );
}
