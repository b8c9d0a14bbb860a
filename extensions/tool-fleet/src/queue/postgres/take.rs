//! The calls that workers take.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use tool_runtime::definition::ContentHash;

use super::{
    queue::PostgresCallQueue,
    record::{parse_key, read_number},
};
use crate::{
    FleetError, QueueEpoch, TakenCall,
    channel::random_name,
    transport::postgres::{Value, read_column},
};

/// The number of keys from which on those that have queued calls are asked for first.
const MANY_KEYS: usize = 64;

/// The last attempts of workers to take a call whose answers were lost: each by a name that no other one has.
#[derive(Default)]
pub(super) struct LostTakes(Mutex<HashMap<String, String>>);

impl LostTakes {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PostgresCallQueue {
    pub(super) async fn take_record(
        &self,
        keys: &[ContentHash],
        worker: &str,
        lease: Duration,
    ) -> Result<Option<TakenCall>, FleetError> {
        // An attempt that is repeated, since its answer was lost, is given what it has taken.
        let sql = "WITH own AS (SELECT id FROM {schema}.calls WHERE $5 AND pool = $1 AND state = 'taken' AND worker = $3 AND key = ANY ($2) LIMIT 1), \
                   next AS (SELECT id FROM {schema}.calls WHERE pool = $1 AND state = 'queued' AND NOT was_started AND key = ANY ($2) \
                   AND expires_at > now() AND NOT EXISTS (SELECT 1 FROM own) ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED), \
                   found AS (SELECT id, 0 AS added FROM own UNION ALL SELECT id, 1 FROM next) \
                   UPDATE {schema}.calls AS call SET state = 'taken', epoch = epoch + added, workers = workers + added, worker = $3, \
                   lease = make_interval(secs => $4), lease_ends_at = now() + make_interval(secs => $4), changed_at = now() \
                   FROM found WHERE call.pool = $1 AND call.id = found.id AND (added = 1 OR call.state = 'taken' AND call.worker = $3) \
                   RETURNING call.id, call.key, call.epoch, call.body, call.request";
        let lost = self.lost_takes.lock().remove(worker);
        let mut keys: Vec<String> = keys.iter().map(ContentHash::to_string).collect();
        if keys.len() >= MANY_KEYS && lost.is_none() {
            let queued = self.queued_keys().await?;
            keys.retain(|key| queued.contains(key));
        }
        if keys.is_empty() {
            return Ok(None);
        }
        let was_sent = AtomicBool::new(lost.is_some());
        let attempt = match lost {
            Some(attempt) => attempt,
            None => format!("{worker}.{}", random_name()?),
        };
        let values = [
            Value::Text(&self.pool),
            Value::Texts(&keys),
            Value::Text(&attempt),
            Value::Seconds(lease),
            Value::WasSent(&was_sent),
        ];
        let fetched = self.fetch(sql, &values).await;
        if fetched.is_err() {
            self.lost_takes.lock().insert(worker.to_owned(), attempt);
        }
        let rows = fetched?;
        let Some(row) = rows.first() else { return Ok(None) };
        let (id, epoch) = (read_column(row, 0)?, read_number(row, 2)?);
        let call = QueueEpoch { id, epoch, request: parse_key(read_column(row, 4)?)? };
        let request = read_column::<Vec<u8>>(row, 3)?.into();
        Ok(Some(TakenCall { call, key: parse_key(read_column(row, 1)?)?, request }))
    }

    async fn queued_keys(&self) -> Result<HashSet<String>, FleetError> {
        let sql = "SELECT DISTINCT key FROM {schema}.calls WHERE pool = $1 AND state = 'queued'";
        let rows = self.fetch(sql, &[Value::Text(&self.pool)]).await?;
        rows.iter().map(|row| read_column(row, 0)).collect()
    }
}
