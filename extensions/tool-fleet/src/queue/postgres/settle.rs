//! The effect of time on the rows.
//!
//! Leases end by the clock of the server, and only in a statement of a process whose statements the server has received without a gap for as long: workers
//! that could not reach it either extend theirs first. A statement that was on its way while the network was lost ends no lease, since the server compares its
//! clock with the time that it had told the process before.

use std::sync::PoisonError;

use super::{queue::PostgresCallQueue, record::COLUMNS};
use crate::{
    FleetError, QueuedCall,
    transport::postgres::{Value, read_column},
};

/// The time without a statement after which leases do not end at first, in microseconds: less than two of three heartbeats of a lease of 6 s, and
/// more than the interval in which a worker settles its queue.
const MAX_SILENCE_MICROS: i64 = 3_000_000;

/// The statements of a process that the server has answered, by the clock of the server: microseconds since the Unix epoch.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Contact {
    last: i64,
    /// The time since which they came without a gap.
    since: i64,
}

impl Contact {
    fn note_answer(&mut self, now: i64) {
        if now.saturating_sub(self.last).saturating_abs() > MAX_SILENCE_MICROS {
            self.since = now;
            self.last = now;
        }
        // Of two statements at once, the later one.
        self.last = self.last.max(now);
    }
}

impl PostgresCallQueue {
    /// Returns the calls that were removed.
    pub(super) async fn settle_records(&self) -> Result<Vec<QueuedCall>, FleetError> {
        // What becomes of a row follows from what it is once it is locked: it may have been started since the statement began.
        let sql = format!(
            "WITH due AS (SELECT id, state, cancel_requested, workers, max_workers, expires_at FROM {{schema}}.calls WHERE pool = $1 AND \
             (state IN ('taken', 'started') AND lease_ends_at <= now() AND pg_postmaster_start_time() + lease <= now() \
             AND timestamptz 'epoch' + $4 * interval '1 microsecond' <= now() - lease \
             AND abs((extract(epoch FROM now()) * 1000000)::bigint - $3) <= $5 \
             OR state NOT IN ('taken', 'started') AND expires_at <= now()) FOR UPDATE SKIP LOCKED), \
             removed AS (DELETE FROM {{schema}}.calls AS call USING due WHERE call.pool = $1 AND call.id = due.id \
             AND due.state NOT IN ('queued', 'taken', 'started') RETURNING call.*), \
             settled AS (SELECT id, CASE WHEN state = 'started' THEN 'interrupted' \
             WHEN state = 'taken' AND cancel_requested THEN 'cancelled' \
             WHEN state = 'taken' AND workers >= max_workers THEN 'interrupted' \
             WHEN expires_at <= now() THEN 'expired' ELSE 'queued' END AS state \
             FROM due WHERE state IN ('queued', 'taken', 'started')), \
             changed AS (UPDATE {{schema}}.calls AS call SET state = settled.state, worker = NULL, lease_ends_at = NULL, changed_at = now(), \
             expires_at = CASE WHEN settled.state = 'queued' THEN call.expires_at ELSE now() + make_interval(secs => $2) END \
             FROM settled WHERE call.pool = $1 AND call.id = settled.id) \
             SELECT {COLUMNS}, answer.time FROM (SELECT (extract(epoch FROM now()) * 1000000)::bigint AS time) AS answer \
             LEFT JOIN removed ON true"
        );
        let Contact { last, since } = *self.contact.lock().unwrap_or_else(PoisonError::into_inner);
        let values = [
            Value::Text(&self.pool),
            Value::Seconds(self.limits.result_age),
            Value::Integer(last),
            Value::Integer(since),
            Value::Integer(MAX_SILENCE_MICROS),
        ];
        let rows = self.fetch(&sql, &values).await?;
        if let Some(row) = rows.first() {
            let now = read_column(row, 11)?;
            self.contact.lock().unwrap_or_else(PoisonError::into_inner).note_answer(now);
        }
        // Without one that was removed, a row has the time alone.
        let has_call = |row: &&_| read_column::<Option<&str>>(row, 0).is_ok_and(|id| id.is_some());
        Ok(self.read_calls(rows.iter().filter(has_call)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_without_a_gap_while_none_is_longer_than_the_silence() {
        let mut known = Contact::default();
        let mut note = |now| {
            known.note_answer(now);
            (known.last, known.since)
        };
        let start = 1_000_000_000;
        assert_eq!(note(start), (start, start));
        let next = start + MAX_SILENCE_MICROS;
        assert_eq!(note(next), (next, start));
        // Of two statements at once.
        assert_eq!(note(next - 1), (next, start));
        let late = next + MAX_SILENCE_MICROS + 1;
        assert_eq!(note(late), (late, late));
        // The clock of the server was set back.
        assert_eq!(note(start), (start, start));
    }
}
