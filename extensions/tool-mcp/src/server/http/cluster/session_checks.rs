//! Looks for the sessions of requests, those of many requests in one statement.
//!
//! A session that was found has a lease: the requests of the next moment are admitted without another look. Who closes a session waits until the
//! leases of all processes have ended, so that no request that comes after its answer is admitted.

use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Semaphore, oneshot},
    time::Instant,
};

use super::{
    ClusterError,
    database::SqlValue,
    event_log::{EventLog, decode_column},
};

/// The statements that run at once; the requests that come meanwhile share the next one.
const MAX_STATEMENTS: usize = 2;

/// The longest lease of a session.
pub(super) const MAX_LEASE: Duration = Duration::from_millis(100);
/// The leases that are kept before those that have ended are removed.
const MIN_KEPT: usize = 64;

/// The time since a session was used; `None` if there is no such session.
type IdleTime = Option<Duration>;

/// A request that waits to hear of its session.
struct SessionCheck {
    /// The hash of its id.
    session: String,
    reply: oneshot::Sender<Result<IdleTime, ClusterError>>,
}

/// The requests that wait to hear of their sessions. The first of them that may send a statement asks for all.
pub(super) struct SessionChecks {
    waiting: Mutex<Vec<SessionCheck>>,
    statements: Semaphore,
    leases: Mutex<Leases>,
}

impl Default for SessionChecks {
    fn default() -> Self {
        let (waiting, leases) = (Mutex::default(), Mutex::default());
        Self { waiting, statements: Semaphore::new(MAX_STATEMENTS), leases }
    }
}

/// The ends of leases, by the hash of their session.
#[derive(Default)]
struct Leases {
    ends: HashMap<String, Instant>,
    /// The number of leases at which those that have ended are removed.
    next_removal: usize,
}

impl SessionChecks {
    /// Returns the time since the session of this hash was used; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If the database does not answer in time.
    pub(super) async fn session_idle_time(
        &self,
        log: &EventLog,
        session: &str,
    ) -> Result<IdleTime, ClusterError> {
        let timeout = log.database.timeout();
        tokio::time::timeout(timeout, self.check_in_shared_statement(log, session)).await.unwrap_or_else(
            |_| Err(ClusterError::Unavailable(format!("the database did not answer within {timeout:?}"))),
        )
    }

    async fn check_in_shared_statement(
        &self,
        log: &EventLog,
        session: &str,
    ) -> Result<IdleTime, ClusterError> {
        loop {
            let (reply, mut answer) = oneshot::channel();
            self.lock_waiting().push(SessionCheck { session: session.to_owned(), reply });
            let answer = tokio::select! {
                biased;
                answer = &mut answer => answer,
                Ok(_permit) = self.statements.acquire() => {
                    let checks = mem::take(&mut *self.lock_waiting());
                    answer_checks(log, checks).await;
                    answer.await
                }
            };
            // Without an answer, the request whose statement it was has been cancelled.
            if let Ok(answer) = answer {
                return answer;
            }
        }
    }

    /// Returns `true` if the session of this hash has a lease.
    pub(super) fn has_lease(&self, session: &str) -> bool {
        self.lock_leases().ends.get(session).is_some_and(|end| Instant::now() < *end)
    }

    /// Gives a session a lease up to `end`, which is at most [`MAX_LEASE`] after the time at which the database was asked for it.
    pub(super) fn give_lease(&self, session: String, end: Instant) {
        let mut leases = self.lock_leases();
        if leases.ends.len() >= leases.next_removal {
            let now = Instant::now();
            leases.ends.retain(|_, end| now < *end);
            leases.next_removal = MIN_KEPT.max(2 * leases.ends.len());
        }
        leases.ends.insert(session, end);
    }

    /// Ends the lease of a session.
    pub(super) fn end_lease(&self, session: &str) {
        self.lock_leases().ends.remove(session);
    }

    fn lock_leases(&self) -> MutexGuard<'_, Leases> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_waiting(&self) -> MutexGuard<'_, Vec<SessionCheck>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn answer_checks(log: &EventLog, checks: Vec<SessionCheck>) {
    if checks.is_empty() {
        return;
    }
    let found = find_sessions(log, &checks).await;
    for SessionCheck { session, reply } in checks {
        let answer = found.as_ref().map(|found| found.get(&session).copied());
        // The request may have ended.
        reply.send(answer.map_err(Clone::clone)).ok();
    }
}

/// Returns the sessions that there are, with the time since each was used.
async fn find_sessions(
    log: &EventLog,
    checks: &[SessionCheck],
) -> Result<HashMap<String, Duration>, ClusterError> {
    let sessions: Vec<_> = checks.iter().map(|check| &*check.session).collect();
    let sql = "SELECT id, (extract(epoch FROM now() - used_at) * 1000)::bigint FROM {schema}.sessions WHERE app = $1 AND id = ANY ($2)";
    let rows = log.database.fetch(sql, &[SqlValue::Text(&log.app), SqlValue::Texts(&sessions)]).await?;
    let found = rows.iter().map(|row| {
        let idle_ms: i64 = decode_column(row, 1)?;
        Ok((decode_column(row, 0)?, Duration::from_millis(u64::try_from(idle_ms).unwrap_or_default())))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_lease_ends_by_itself_or_with_its_session_and_those_that_ended_are_forgotten() {
        let checks = SessionChecks::default();
        checks.give_lease("a".to_owned(), Instant::now() + MAX_LEASE);
        checks.give_lease("b".to_owned(), Instant::now() + MAX_LEASE);
        assert!(checks.has_lease("a") && checks.has_lease("b") && !checks.has_lease("c"));
        checks.end_lease("b");
        assert!(checks.has_lease("a") && !checks.has_lease("b"));
        tokio::time::advance(MAX_LEASE).await;
        assert!(!checks.has_lease("a"));
        for number in 0..10 * MIN_KEPT {
            checks.give_lease(number.to_string(), Instant::now() + MAX_LEASE);
            tokio::time::advance(MAX_LEASE).await;
        }
        assert!(checks.lock_leases().ends.len() <= MIN_KEPT);
    }

    #[tokio::test(start_paused = true)]
    async fn leases_that_ended_are_removed_when_twice_as_many_are_kept_as_were_left() {
        let checks = SessionChecks::default();
        let kept_after = |number: usize| {
            checks.give_lease(number.to_string(), Instant::now() + MAX_LEASE);
            checks.lock_leases().ends.len()
        };
        // All have leases when they are looked at.
        let most = (0..=MIN_KEPT).map(kept_after).max();
        assert_eq!(most, Some(MIN_KEPT + 1));
        tokio::time::advance(MAX_LEASE).await;
        let kept: Vec<_> = (MIN_KEPT + 1..=2 * MIN_KEPT).map(kept_after).collect();
        assert_eq!(kept.iter().max(), Some(&(2 * MIN_KEPT)));
        assert_eq!(kept.last(), Some(&MIN_KEPT), "without those that ended at this moment");
    }
}
