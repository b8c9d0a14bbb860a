//! Durable calls as rows of a table beside those of the transport.
//!
//! Each operation is one statement that can be repeated. A worker takes a row that no other one has locked (`SKIP LOCKED`), and each change names
//! the epoch that it expects. Leases end by the clock of the server, and only for a process that has reached the server without a gap for as long, and
//! one lease after the server was started: workers that could not reach it either extend them first.

use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use sqlx::{Row as _, postgres::PgRow};
use tokio::time::Instant;
use tool_runtime::{BoxFuture, definition::ContentHash};

use super::{
    Connection, PostgresTransport,
    database::{Value, database_error},
};
use crate::{
    CallQueue, CallState, FleetError, LeaseState, NewCall, QueueBacklog, QueueEpoch, QueueLimits, QueuedCall,
    StartGrant, TakenCall, queue::QueueTotals,
};

/// The number of keys from which on those that have queued calls are asked for first.
const MANY_KEYS: usize = 64;

/// The columns of a [`QueuedCall`], as [`read_call_row`] reads them.
const COLUMNS: &str = "id, key, state, epoch, workers, was_started, cancel_requested, \
                       (extract(epoch FROM created_at) * 1000)::bigint, (extract(epoch FROM changed_at) * 1000)::bigint, \
                       octet_length(body)::bigint, request";

/// The durable calls of a pool in a database of Postgres: [`PostgresTransport::call_queue`]. Clones share the connections of the transport.
///
/// A client of the database with rights on the table can read ids, hashes, states, sizes and times, and delete, repeat or delay calls: the start of
/// a body is given by a row. It reads and forges no request or result. Roles and schemas can separate pools.
#[derive(Clone)]
pub struct PostgresCallQueue {
    connection: Arc<Connection>,
    pool: Arc<str>,
    limits: QueueLimits,
    contact: Arc<Mutex<Contact>>,
}

/// The answers of the database.
struct Contact {
    last: Instant,
    /// The time since which they come without a gap.
    since: Instant,
}

/// The time without an answer after which leases do not end at first: their workers may not have reached the database, either.
const MAX_SILENCE: Duration = Duration::from_secs(4);

impl PostgresTransport {
    /// Returns the queue of the durable calls of the pool `pool`, in the tables of this transport. Workers and callers may have it without using the
    /// transport for their messages.
    #[must_use]
    pub fn call_queue(&self, pool: &str) -> PostgresCallQueue {
        let connection = Arc::clone(&self.0);
        let now = Instant::now();
        let contact = Arc::new(Mutex::new(Contact { last: now, since: now }));
        PostgresCallQueue { connection, pool: pool.into(), limits: QueueLimits::default(), contact }
    }
}

impl PostgresCallQueue {
    /// Sets the limits of the queue. Ages beyond their range are set to its end. Default: those of [`QueueLimits`].
    #[must_use]
    pub fn with_limits(mut self, limits: QueueLimits) -> Self {
        self.limits = limits.clamped();
        self
    }

    async fn fetch(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<PgRow>, FleetError> {
        let rows = self.connection.database.fetch(sql, values).await?;
        let mut contact = self.contact.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if contact.last.elapsed() >= MAX_SILENCE {
            contact.since = now;
        }
        contact.last = now;
        Ok(rows)
    }

    /// Returns the time for which the database has answered without a gap.
    fn contact_time(&self) -> Duration {
        let contact = self.contact.lock().unwrap_or_else(PoisonError::into_inner);
        match contact.last.elapsed() >= MAX_SILENCE {
            true => Duration::ZERO,
            false => contact.since.elapsed(),
        }
    }

    /// Runs a statement about one epoch of a call, and returns `true` if it changed a row.
    async fn change_call(
        &self,
        sql: &str,
        QueueEpoch { id, epoch, request }: &QueueEpoch,
        values: &[Value<'_>],
    ) -> Result<bool, FleetError> {
        let request = request.to_string();
        let call = [
            Value::Text(&self.pool),
            Value::Text(id),
            Value::Integer((*epoch).into()),
            Value::Text(&request),
        ];
        Ok(!self.fetch(sql, &[&call, values].concat()).await?.is_empty())
    }

    fn check_size(&self, bytes: &Bytes) -> Result<(), FleetError> {
        match (bytes.len(), self.max_bytes()) {
            (bytes, limit) if bytes > limit => Err(FleetError::TooLargeForQueue { bytes, limit }),
            _ => Ok(()),
        }
    }

    async fn put_row(&self, call: NewCall) -> Result<bool, FleetError> {
        self.check_size(&call.request)?;
        let sql = "WITH total AS (SELECT count(*) AS calls, coalesce(sum(octet_length(body)), 0)::bigint AS bytes \
                   FROM {schema}.calls WHERE pool = $1 AND octet_length(body) > 0), \
                   stored AS (INSERT INTO {schema}.calls (pool, id, key, state, max_workers, expires_at, body, request) \
                   SELECT $1, $2, $3, 'queued', $4, now() + make_interval(secs => $5), $6, $9 FROM total \
                   WHERE total.calls < $7 AND total.bytes + octet_length($6) <= $8 \
                   ON CONFLICT (pool, id) DO NOTHING RETURNING id) \
                   SELECT total.calls, total.bytes, EXISTS (SELECT 1 FROM stored), \
                   EXISTS (SELECT 1 FROM {schema}.calls WHERE pool = $1 AND id = $2) FROM total";
        let (key, request) = (call.key.to_string(), call.request_hash().to_string());
        let limit = |limit: u64| Value::Integer(i64::try_from(limit).unwrap_or(i64::MAX));
        let values = [
            Value::Text(&self.pool),
            Value::Text(&call.id),
            Value::Text(&key),
            Value::Integer(call.max_workers.into()),
            Value::Seconds(self.limits.call_age),
            Value::OptionalBytes(Some(&call.request)),
            limit(self.limits.calls as u64),
            limit(self.limits.bytes),
            Value::Text(&request),
        ];
        let rows = self.fetch(sql, &values).await?;
        let row = rows.first().ok_or_else(no_row)?;
        let read = || Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?));
        let (calls, bytes, is_stored, exists): (i64, i64, bool, bool) =
            read().map_err(|error| database_error(&error))?;
        if !is_stored && !exists {
            let totals = QueueTotals { calls: calls.unsigned_abs(), bytes: bytes.unsigned_abs() };
            // Within the limits, another process has stored it at the same moment.
            totals.check(&self.pool, self.limits, call.request.len())?;
        }
        Ok(is_stored)
    }

    async fn take_row(
        &self,
        keys: &[ContentHash],
        worker: &str,
        lease: Duration,
    ) -> Result<Option<TakenCall>, FleetError> {
        let sql = "WITH next AS (SELECT id FROM {schema}.calls WHERE pool = $1 AND state = 'queued' AND key = ANY ($2) \
                   AND expires_at > now() ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED) \
                   UPDATE {schema}.calls AS call SET state = 'taken', epoch = epoch + 1, workers = workers + 1, worker = $3, \
                   lease = make_interval(secs => $4), lease_ends_at = now() + make_interval(secs => $4), changed_at = now() \
                   FROM next WHERE call.pool = $1 AND call.id = next.id RETURNING call.id, call.key, call.epoch, call.body, call.request";
        let mut keys: Vec<String> = keys.iter().map(ContentHash::to_string).collect();
        if keys.len() >= MANY_KEYS {
            let queued = self.queued_keys().await?;
            keys.retain(|key| queued.contains(key));
        }
        if keys.is_empty() {
            return Ok(None);
        }
        let values =
            [Value::Text(&self.pool), Value::Texts(&keys), Value::Text(worker), Value::Seconds(lease)];
        let rows = self.fetch(sql, &values).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let read =
            || Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?, row.try_get(4)?));
        let (id, key, epoch, body, request): (String, String, i64, Vec<u8>, String) =
            read().map_err(|error| database_error(&error))?;
        let call = QueueEpoch { id, epoch: number(epoch)?, request: parse_key(&request)? };
        Ok(Some(TakenCall { call, key: parse_key(&key)?, request: body.into() }))
    }

    async fn queued_keys(&self) -> Result<HashSet<String>, FleetError> {
        let sql = "SELECT DISTINCT key FROM {schema}.calls WHERE pool = $1 AND state = 'queued'";
        let rows = self.fetch(sql, &[Value::Text(&self.pool)]).await?;
        rows.iter().map(|row| row.try_get(0).map_err(|error| database_error(&error))).collect()
    }

    async fn extend_row(&self, call: &QueueEpoch, lease: Duration) -> Result<LeaseState, FleetError> {
        let sql = "UPDATE {schema}.calls SET lease = make_interval(secs => $4), lease_ends_at = now() + make_interval(secs => $4) \
                   WHERE pool = $1 AND id = $2 AND epoch = $3 AND request = $5 AND state IN ('taken', 'started') RETURNING cancel_requested";
        let request = call.request.to_string();
        let values = [
            Value::Text(&self.pool),
            Value::Text(&call.id),
            Value::Integer(call.epoch.into()),
            Value::Seconds(lease),
            Value::Text(&request),
        ];
        let rows = self.fetch(sql, &values).await?;
        let Some(row) = rows.first() else { return Ok(LeaseState::Lost) };
        Ok(match row.try_get(0).map_err(|error| database_error(&error))? {
            true => LeaseState::CancelRequested,
            false => LeaseState::Held,
        })
    }

    /// Returns the calls of rows; one that was altered is left out.
    fn read_calls(&self, rows: &[PgRow]) -> Vec<QueuedCall> {
        let read = |row| match read_call_row(row) {
            Ok(call) => Some(call),
            Err(error) => {
                tracing::warn!(pool = &*self.pool, %error, "a stored call is left out of the list");
                None
            }
        };
        rows.iter().filter_map(read).collect()
    }

    async fn cancel_row(&self, id: &str) -> Result<Option<CallState>, FleetError> {
        // The row is locked before its state is read.
        let sql = "WITH found AS (SELECT id, state FROM {schema}.calls WHERE pool = $1 AND id = $2 FOR UPDATE), \
                   changed AS (UPDATE {schema}.calls AS call SET \
                   cancel_requested = cancel_requested OR found.state = 'taken', \
                   state = CASE WHEN found.state = 'queued' THEN 'cancelled' ELSE call.state END, changed_at = now(), \
                   expires_at = CASE WHEN found.state = 'queued' THEN now() + make_interval(secs => $3) ELSE call.expires_at END \
                   FROM found WHERE call.pool = $1 AND call.id = found.id AND found.state IN ('queued', 'taken')) \
                   SELECT state FROM found";
        let values = [Value::Text(&self.pool), Value::Text(id), Value::Seconds(self.limits.result_age)];
        let rows = self.fetch(sql, &values).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let state: String = row.try_get(0).map_err(|error| database_error(&error))?;
        parse_state(&state).map(Some)
    }
}

impl CallQueue for PostgresCallQueue {
    fn pool(&self) -> &str {
        &self.pool
    }

    fn limits(&self) -> QueueLimits {
        self.limits
    }

    fn max_bytes(&self) -> usize {
        self.connection.max_bytes
    }

    fn put_call(&self, call: NewCall) -> BoxFuture<'_, Result<bool, FleetError>> {
        Box::pin(self.put_row(call))
    }

    fn take_call<'a>(
        &'a self,
        keys: &'a [ContentHash],
        worker: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<TakenCall>, FleetError>> {
        Box::pin(self.take_row(keys, worker, lease))
    }

    fn extend_lease<'a>(
        &'a self,
        call: &'a QueueEpoch,
        lease: Duration,
    ) -> BoxFuture<'a, Result<LeaseState, FleetError>> {
        Box::pin(self.extend_row(call, lease))
    }

    fn start_call<'a>(&'a self, call: &'a QueueEpoch) -> BoxFuture<'a, Result<StartGrant, FleetError>> {
        // The same worker may repeat it, after a failure.
        let sql = "UPDATE {schema}.calls SET state = 'started', was_started = true, changed_at = now() WHERE pool = $1 AND id = $2 \
                   AND epoch = $3 AND request = $4 AND state IN ('taken', 'started') AND NOT cancel_requested RETURNING id";
        Box::pin(async move {
            Ok(match self.change_call(sql, call, &[]).await? {
                true => StartGrant::Given,
                false => StartGrant::Refused,
            })
        })
    }

    fn return_call<'a>(&'a self, call: &'a QueueEpoch) -> BoxFuture<'a, Result<bool, FleetError>> {
        let sql = "UPDATE {schema}.calls SET state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END, \
                   workers = greatest(workers - 1, 0), worker = NULL, lease_ends_at = NULL, changed_at = now() \
                   WHERE pool = $1 AND id = $2 AND epoch = $3 AND request = $4 AND state = 'taken' RETURNING id";
        Box::pin(async move { self.change_call(sql, call, &[]).await })
    }

    fn end_call<'a>(
        &'a self,
        call: &'a QueueEpoch,
        result: Bytes,
    ) -> BoxFuture<'a, Result<bool, FleetError>> {
        // Stored by an earlier attempt whose answer was lost: it is stored again.
        let sql = "UPDATE {schema}.calls SET state = 'finished', body = $5, worker = NULL, lease_ends_at = NULL, changed_at = now(), \
                   expires_at = now() + make_interval(secs => $6) WHERE pool = $1 AND id = $2 AND epoch = $3 AND request = $4 \
                   AND (state IN ('taken', 'started') OR state = 'finished' AND body = $5) RETURNING id";
        Box::pin(async move {
            self.check_size(&result)?;
            let values = [Value::OptionalBytes(Some(&result)), Value::Seconds(self.limits.result_age)];
            self.change_call(sql, call, &values).await
        })
    }

    fn read_call<'a>(
        &'a self,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<(QueuedCall, Bytes)>, FleetError>> {
        Box::pin(async move {
            let sql = format!("SELECT {COLUMNS}, body FROM {{schema}}.calls WHERE pool = $1 AND id = $2");
            let rows = self.fetch(&sql, &[Value::Text(&self.pool), Value::Text(id)]).await?;
            let Some(row) = rows.first() else { return Ok(None) };
            let body: Vec<u8> = row.try_get(11).map_err(|error| database_error(&error))?;
            Ok(Some((read_call_row(row)?, body.into())))
        })
    }

    fn remove_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, FleetError>> {
        let sql = "WITH answered AS (UPDATE {schema}.calls SET body = '' WHERE pool = $1 AND id = $2 AND state = 'interrupted' \
                   AND octet_length(body) > 0 RETURNING id), \
                   removed AS (DELETE FROM {schema}.calls WHERE pool = $1 AND id = $2 AND state IN ('finished', 'cancelled', 'expired') \
                   RETURNING id) SELECT id FROM answered UNION ALL SELECT id FROM removed";
        Box::pin(async move {
            let values = [Value::Text(&self.pool), Value::Text(id)];
            Ok(!self.fetch(sql, &values).await?.is_empty())
        })
    }

    fn cancel_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<CallState>, FleetError>> {
        Box::pin(self.cancel_row(id))
    }

    fn list_calls<'a>(
        &'a self,
        states: &'a [CallState],
    ) -> BoxFuture<'a, Result<Vec<QueuedCall>, FleetError>> {
        Box::pin(async move {
            let sql = format!(
                "SELECT {COLUMNS} FROM {{schema}}.calls WHERE pool = $1 AND state = ANY ($2) ORDER BY number"
            );
            let rows = self.fetch(&sql, &[Value::Text(&self.pool), Value::Texts(&names_of(states))]).await?;
            Ok(self.read_calls(&rows))
        })
    }

    fn purge_calls<'a>(
        &'a self,
        states: &'a [CallState],
    ) -> BoxFuture<'a, Result<Vec<QueuedCall>, FleetError>> {
        Box::pin(async move {
            let sql = format!(
                "DELETE FROM {{schema}}.calls WHERE pool = $1 AND state = ANY ($2) AND state NOT IN ('taken', 'started') \
                 RETURNING {COLUMNS}"
            );
            let states = names_of(states);
            let values = [Value::Text(&self.pool), Value::Texts(&states)];
            Ok(self.read_calls(&self.fetch(&sql, &values).await?))
        })
    }

    fn settle_calls(&self) -> BoxFuture<'_, Result<Vec<QueuedCall>, FleetError>> {
        let sql = "WITH due AS (SELECT id FROM {schema}.calls WHERE pool = $1 AND \
                   (state IN ('taken', 'started') AND lease_ends_at <= now() \
                   AND lease <= make_interval(secs => $3) AND pg_postmaster_start_time() + lease <= now() \
                   OR state NOT IN ('taken', 'started') AND expires_at <= now()) FOR UPDATE SKIP LOCKED), \
                   removed AS (DELETE FROM {schema}.calls AS call USING due WHERE call.pool = $1 AND call.id = due.id \
                   AND call.state NOT IN ('queued', 'taken', 'started') RETURNING call.*), \
                   settled AS (SELECT call.id, CASE WHEN state = 'started' THEN 'interrupted' \
                   WHEN state = 'taken' AND cancel_requested THEN 'cancelled' \
                   WHEN state = 'taken' AND workers >= max_workers THEN 'interrupted' \
                   WHEN expires_at <= now() THEN 'expired' ELSE 'queued' END AS state \
                   FROM {schema}.calls AS call JOIN due ON call.id = due.id \
                   WHERE call.pool = $1 AND call.state IN ('queued', 'taken', 'started')), \
                   changed AS (UPDATE {schema}.calls AS call SET state = settled.state, worker = NULL, lease_ends_at = NULL, changed_at = now(), \
                   expires_at = CASE WHEN settled.state = 'queued' THEN call.expires_at ELSE now() + make_interval(secs => $2) END \
                   FROM settled WHERE call.pool = $1 AND call.id = settled.id)";
        Box::pin(async move {
            let values = [
                Value::Text(&self.pool),
                Value::Seconds(self.limits.result_age),
                Value::Seconds(self.contact_time()),
            ];
            let sql = format!("{sql} SELECT {COLUMNS} FROM removed");
            Ok(self.read_calls(&self.fetch(&sql, &values).await?))
        })
    }

    fn read_backlog(&self) -> BoxFuture<'_, Result<QueueBacklog, FleetError>> {
        let sql = "SELECT count(*), (extract(epoch FROM now() - min(created_at)) * 1000)::bigint FROM {schema}.calls \
                   WHERE pool = $1 AND state = 'queued'";
        Box::pin(async move {
            let rows = self.fetch(sql, &[Value::Text(&self.pool)]).await?;
            let row = rows.first().ok_or_else(no_row)?;
            let read = || Ok((row.try_get(0)?, row.try_get(1)?));
            let (calls, age): (i64, Option<i64>) = read().map_err(|error| database_error(&error))?;
            let oldest_age = age.map(|millis| Duration::from_millis(millis.max(0).unsigned_abs()));
            Ok(QueueBacklog { calls: calls.unsigned_abs(), oldest_age })
        })
    }
}

impl fmt::Debug for PostgresCallQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresCallQueue").field("pool", &self.pool).finish_non_exhaustive()
    }
}

fn names_of(states: &[CallState]) -> Vec<String> {
    states.iter().map(|state| state.name().to_owned()).collect()
}

fn read_call_row(row: &PgRow) -> Result<QueuedCall, FleetError> {
    let read_error = |error: sqlx::Error| database_error(&error);
    let integer = |column: usize| row.try_get::<i64, _>(column).map_err(read_error);
    let text = |column: usize| row.try_get::<String, _>(column).map_err(read_error);
    Ok(QueuedCall {
        id: text(0)?,
        key: parse_key(&text(1)?)?,
        state: parse_state(&text(2)?)?,
        epoch: number(integer(3)?)?,
        workers: number(integer(4)?)?,
        was_started: row.try_get(5).map_err(read_error)?,
        cancel_requested: row.try_get(6).map_err(read_error)?,
        created: time_at(integer(7)?),
        changed: time_at(integer(8)?),
        bytes: integer(9)?.unsigned_abs(),
        request: parse_key(&text(10)?)?,
    })
}

fn time_at(millis: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis.unsigned_abs())
}

fn number(value: i64) -> Result<u32, FleetError> {
    u32::try_from(value).map_err(|_| altered_row("a number"))
}

fn parse_key(key: &str) -> Result<ContentHash, FleetError> {
    key.parse().map_err(|_| altered_row("a key"))
}

fn parse_state(state: &str) -> Result<CallState, FleetError> {
    CallState::of_name(state).ok_or_else(|| altered_row("a state"))
}

fn altered_row(column: &str) -> FleetError {
    FleetError::Transport(format!(
        "{column} of a stored call is not valid; was the table changed by another program?"
    ))
}

fn no_row() -> FleetError {
    FleetError::Transport("the database returned no row".to_owned())
}
