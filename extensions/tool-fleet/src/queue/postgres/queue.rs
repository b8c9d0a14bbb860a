use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use sqlx::postgres::PgRow;
use tool_runtime::BoxFuture;

use super::{
    record::{COLUMNS, altered_row, names_of, parse_state, read_call_row},
    settle::Contact,
    take::LostTakes,
};
use crate::{
    CallState, FleetError, LeaseState, NewCall, PostgresTransport, QueueBacklog, QueueEpoch, QueueLimits,
    QueuedCall, StartGrant,
    queue::{
        engine::impl_call_queue,
        limits::{QueueTotals, SMALL_RESULT_BYTES, check_call_size},
    },
    transport::postgres::{Connection, Value, read_column},
};

/// The durable calls of a pool in a database of Postgres: [`PostgresTransport::call_queue`]. Clones share the connections of the transport.
///
/// A client of the database with rights on the table can read ids, hashes, states, sizes and times, and delete, repeat or delay calls: the start of
/// a body is given by a row. It reads and forges no request or result. Roles and schemas can separate pools.
#[derive(Clone)]
pub struct PostgresCallQueue {
    connection: Arc<Connection>,
    pub(super) pool: Arc<str>,
    pub(super) limits: QueueLimits,
    pub(super) contact: Arc<Mutex<Contact>>,
    pub(super) lost_takes: Arc<LostTakes>,
}

impl PostgresTransport {
    /// Returns the queue of the durable calls of the pool `pool`, in the tables of this transport. Workers and callers may have it without using the
    /// transport for their messages.
    #[must_use]
    pub fn call_queue(&self, pool: &str) -> PostgresCallQueue {
        let (connection, limits) = (self.connection(), QueueLimits::default());
        let (contact, lost_takes) = (Arc::default(), Arc::default());
        PostgresCallQueue { connection, pool: pool.into(), limits, contact, lost_takes }
    }
}

impl PostgresCallQueue {
    /// Sets the limits of the queue. Ages beyond their range are set to its end. Default: those of [`QueueLimits`].
    #[must_use]
    pub fn with_limits(mut self, limits: QueueLimits) -> Self {
        self.limits = limits.clamped();
        self
    }

    pub(super) async fn fetch(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<PgRow>, FleetError> {
        self.connection.fetch(sql, values).await
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

    async fn put_record(&self, call: NewCall) -> Result<bool, FleetError> {
        check_call_size(&call.request, self.connection.max_bytes())?;
        let sql = "WITH total AS (SELECT count(*) AS calls, coalesce(sum(octet_length(body)), 0)::bigint AS bytes \
                   FROM {schema}.calls WHERE pool = $1 AND octet_length(body) > 0), \
                   stored AS (INSERT INTO {schema}.calls (pool, id, key, state, max_workers, expires_at, body, request) \
                   SELECT $1, $2, $3, 'queued', $4, now() + make_interval(secs => $5), $6, $9 FROM total \
                   WHERE total.calls < $7 AND total.bytes + octet_length($6) <= $8 \
                   ON CONFLICT (pool, id) DO NOTHING RETURNING id) \
                   SELECT total.calls, total.bytes, EXISTS (SELECT 1 FROM stored) FROM total";
        let request_hash = call.request_hash();
        let (key, request) = (call.key.to_string(), request_hash.to_string());
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
        let row = rows.first().ok_or_else(|| altered_row("the number"))?;
        if read_column(row, 2)? {
            return Ok(true);
        }
        // The statement may have been repeated after its connection was lost: then it has stored this request before.
        if let Some(stored) = self.find_record(&call.id).await? {
            return Ok(stored.request == request_hash);
        }
        let (calls, bytes): (i64, i64) = (read_column(row, 0)?, read_column(row, 1)?);
        let totals = QueueTotals { calls: calls.unsigned_abs(), bytes: bytes.unsigned_abs() };
        // Within the limits, one was there that was removed since.
        totals.check_call(&self.pool, self.limits, call.request.len())?;
        Err(FleetError::Transport(format!("the call {} was removed as it was stored", call.id)))
    }

    async fn extend_record(&self, call: &QueueEpoch, lease: Duration) -> Result<LeaseState, FleetError> {
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
        Ok(match read_column(row, 0)? {
            true => LeaseState::CancelRequested,
            false => LeaseState::Held,
        })
    }

    /// Returns the calls of rows; one that was altered is left out.
    pub(super) fn read_calls<'a>(&self, rows: impl IntoIterator<Item = &'a PgRow>) -> Vec<QueuedCall> {
        let read = |row| match read_call_row(row) {
            Ok(call) => Some(call),
            Err(error) => {
                tracing::warn!(pool = &*self.pool, %error, "a stored call is left out of the list");
                None
            }
        };
        rows.into_iter().filter_map(read).collect()
    }

    async fn cancel_record(&self, id: &str) -> Result<Option<CallState>, FleetError> {
        // The row is locked before its state is read.
        let sql = "WITH found AS (SELECT id, state FROM {schema}.calls WHERE pool = $1 AND id = $2 FOR UPDATE), \
                   changed AS (UPDATE {schema}.calls AS call SET \
                   cancel_requested = cancel_requested OR found.state = 'taken', \
                   state = CASE WHEN found.state = 'queued' THEN 'cancelled' ELSE call.state END, \
                   changed_at = CASE WHEN found.state = 'queued' THEN now() ELSE call.changed_at END, \
                   expires_at = CASE WHEN found.state = 'queued' THEN now() + make_interval(secs => $3) ELSE call.expires_at END \
                   FROM found WHERE call.pool = $1 AND call.id = found.id AND found.state IN ('queued', 'taken')) \
                   SELECT state FROM found";
        let values = [Value::Text(&self.pool), Value::Text(id), Value::Seconds(self.limits.result_age)];
        let rows = self.fetch(sql, &values).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        parse_state(read_column(row, 0)?).map(Some)
    }

    async fn start_record(&self, call: &QueueEpoch) -> Result<StartGrant, FleetError> {
        // The same worker may repeat it, after a failure.
        let sql = "UPDATE {schema}.calls SET state = 'started', was_started = true, changed_at = now() WHERE pool = $1 AND id = $2 \
                   AND epoch = $3 AND request = $4 AND state IN ('taken', 'started') AND NOT cancel_requested RETURNING id";
        Ok(match self.change_call(sql, call, &[]).await? {
            true => StartGrant::Given,
            false => StartGrant::Refused,
        })
    }

    async fn return_record(&self, call: &QueueEpoch) -> Result<bool, FleetError> {
        let sql = "UPDATE {schema}.calls SET state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END, \
                   expires_at = CASE WHEN cancel_requested THEN now() + make_interval(secs => $5) ELSE expires_at END, \
                   workers = greatest(workers - 1, 0), worker = NULL, lease_ends_at = NULL, changed_at = now() \
                   WHERE pool = $1 AND id = $2 AND epoch = $3 AND request = $4 AND state = 'taken' RETURNING id";
        self.change_call(sql, call, &[Value::Seconds(self.limits.result_age)]).await
    }

    async fn end_record(&self, call: &QueueEpoch, result: Bytes) -> Result<bool, FleetError> {
        // Stored by an earlier attempt whose answer was lost: it is stored again.
        let sql = "UPDATE {schema}.calls AS call SET state = 'finished', body = $5, worker = NULL, lease_ends_at = NULL, changed_at = now(), \
                   expires_at = now() + make_interval(secs => $6) WHERE pool = $1 AND id = $2 AND epoch = $3 AND request = $4 \
                   AND (state IN ('taken', 'started') OR state = 'finished' AND body = $5) \
                   AND CASE WHEN octet_length($5) <= greatest(octet_length(body), $7) THEN true ELSE octet_length($5) - octet_length(body) + \
                   (SELECT sum(octet_length(it.body)) FROM {schema}.calls AS it WHERE it.pool = $1) <= $8 END RETURNING id";
        check_call_size(&result, self.connection.max_bytes())?;
        let values = [
            Value::OptionalBytes(Some(&result)),
            Value::Seconds(self.limits.result_age),
            Value::Integer(SMALL_RESULT_BYTES as i64),
            Value::Integer(i64::try_from(self.limits.bytes).unwrap_or(i64::MAX)),
        ];
        if self.change_call(sql, call, &values).await? {
            return Ok(true);
        }
        self.check_room(call, result.len()).await?;
        Ok(false)
    }

    /// Returns an error if a result of `bytes` bytes was refused although its worker has the call: there is no room for it, or was none.
    async fn check_room(
        &self,
        QueueEpoch { id, epoch, request }: &QueueEpoch,
        bytes: usize,
    ) -> Result<(), FleetError> {
        let sql = "SELECT octet_length(call.body)::bigint, \
                   (SELECT sum(octet_length(it.body)) FROM {schema}.calls AS it WHERE it.pool = $1)::bigint \
                   FROM {schema}.calls AS call WHERE pool = $1 AND id = $2 AND epoch = $3 AND request = $4 AND state IN ('taken', 'started')";
        let request = request.to_string();
        let values = [
            Value::Text(&self.pool),
            Value::Text(id),
            Value::Integer((*epoch).into()),
            Value::Text(&request),
        ];
        let rows = self.fetch(sql, &values).await?;
        let Some(row) = rows.first() else { return Ok(()) };
        let (own, total): (i64, i64) = (read_column(row, 0)?, read_column(row, 1)?);
        let totals = QueueTotals { calls: 0, bytes: total.unsigned_abs() };
        totals.check_result(&self.pool, self.limits, own.unsigned_abs(), bytes)?;
        Err(FleetError::Transport(format!(
            "there was no room for the result of the call {id}, and there is now; try again"
        )))
    }

    async fn read_record(&self, id: &str) -> Result<Option<(QueuedCall, Bytes)>, FleetError> {
        let sql = format!("SELECT {COLUMNS}, body FROM {{schema}}.calls WHERE pool = $1 AND id = $2");
        let rows = self.fetch(&sql, &[Value::Text(&self.pool), Value::Text(id)]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let body: Vec<u8> = read_column(row, 11)?;
        Ok(Some((read_call_row(row)?, body.into())))
    }

    async fn find_record(&self, id: &str) -> Result<Option<QueuedCall>, FleetError> {
        let sql = format!("SELECT {COLUMNS} FROM {{schema}}.calls WHERE pool = $1 AND id = $2");
        let rows = self.fetch(&sql, &[Value::Text(&self.pool), Value::Text(id)]).await?;
        rows.first().map(read_call_row).transpose()
    }

    async fn remove_record(&self, id: &str) -> Result<bool, FleetError> {
        let sql = "WITH answered AS (UPDATE {schema}.calls SET body = '' WHERE pool = $1 AND id = $2 AND state = 'interrupted' \
                   AND octet_length(body) > 0 RETURNING id), \
                   removed AS (DELETE FROM {schema}.calls WHERE pool = $1 AND id = $2 AND state IN ('finished', 'cancelled', 'expired') \
                   RETURNING id) SELECT id FROM answered UNION ALL SELECT id FROM removed";
        Ok(!self.fetch(sql, &[Value::Text(&self.pool), Value::Text(id)]).await?.is_empty())
    }

    async fn list_records(&self, states: &[CallState]) -> Result<Vec<QueuedCall>, FleetError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM {{schema}}.calls WHERE pool = $1 AND state = ANY ($2) ORDER BY number"
        );
        let rows = self.fetch(&sql, &[Value::Text(&self.pool), Value::Texts(&names_of(states))]).await?;
        Ok(self.read_calls(&rows))
    }

    async fn count_queued(&self) -> Result<QueueBacklog, FleetError> {
        let sql = "SELECT count(*), (extract(epoch FROM now() - min(created_at)) * 1000)::bigint FROM {schema}.calls \
                   WHERE pool = $1 AND state = 'queued'";
        let rows = self.fetch(sql, &[Value::Text(&self.pool)]).await?;
        let row = rows.first().ok_or_else(|| altered_row("the number"))?;
        let (calls, age): (i64, Option<i64>) = (read_column(row, 0)?, read_column(row, 1)?);
        let oldest_age = age.map(|millis| Duration::from_millis(millis.max(0).unsigned_abs()));
        Ok(QueueBacklog { calls: calls.unsigned_abs(), oldest_age })
    }

    async fn purge_records(&self, states: &[CallState]) -> Result<Vec<QueuedCall>, FleetError> {
        let sql = format!(
            "DELETE FROM {{schema}}.calls WHERE pool = $1 AND state = ANY ($2) AND state NOT IN ('taken', 'started') \
             RETURNING {COLUMNS}"
        );
        let rows = self.fetch(&sql, &[Value::Text(&self.pool), Value::Texts(&names_of(states))]).await?;
        Ok(self.read_calls(&rows))
    }
}

impl_call_queue! { PostgresCallQueue {
    fn pool(&self) -> &str {
        &self.pool
    }

    fn limits(&self) -> QueueLimits {
        self.limits
    }

    fn max_bytes(&self) -> usize {
        self.connection.max_bytes()
    }

    fn read_backlog(&self) -> BoxFuture<'_, Result<QueueBacklog, FleetError>> {
        Box::pin(self.count_queued())
    }
} }

impl fmt::Debug for PostgresCallQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresCallQueue").field("pool", &self.pool).finish_non_exhaustive()
    }
}
