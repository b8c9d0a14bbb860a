//! The calls of a caller in all processes together.
//!
//! A process reserves calls of a caller in blocks, so that most calls need no statement, and soon returns those that it does not use. The sum of what
//! all processes have reserved is at most the limit. The reservations of a process that has ended do not count.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Mutex as AsyncMutex, Notify},
    time::Instant,
};

use super::{
    Cluster, ClusterError,
    database::SqlValue,
    event_log::{EventLog, decode_first_value},
    sessions::hash_of,
};

/// The most calls that are reserved for later.
const MAX_BLOCK: usize = 16;
/// The part of the limit that a process reserves for later at most.
const BLOCKS_PER_LIMIT: usize = 64;
/// The time after which calls are returned that are not used.
const RETURN_PAUSE: Duration = Duration::from_millis(50);
/// The pauses before a call is refused, in milliseconds: another process may return calls.
const PAUSES_MS: [u64; 4] = [25, 50, 100, 200];

/// The calls that this process has reserved.
pub(super) struct ReservedCalls {
    log: Arc<EventLog>,
    process_timeout: Duration,
    callers: Mutex<HashMap<String, CallerCalls>>,
    /// Held for each statement about reservations, so that they have one order.
    statements: AsyncMutex<()>,
    /// Notified when calls may be returned.
    has_ended: Notify,
}

#[derive(Debug, Default)]
struct CallerCalls {
    reserved: usize,
    running: usize,
    /// The database is not asked again before.
    full_until: Option<Instant>,
}

/// The caller of a request, whose calls are counted.
#[derive(Debug, Clone, Copy)]
pub(in crate::server) enum CountedCaller<'a> {
    Identity(&'a str),
    /// A session without an identity.
    Session(&'a str),
}

/// A call that is counted until it is dropped.
pub(in crate::server) struct CountedCall {
    calls: Arc<ReservedCalls>,
    caller: String,
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        if let Some(calls) = self.calls.lock_callers().get_mut(&self.caller) {
            calls.running = calls.running.saturating_sub(1);
        }
        self.calls.has_ended.notify_one();
    }
}

impl Cluster {
    /// Counts a call of `caller`, of which `limit` run in all processes together; `None` if the limit is reached.
    ///
    /// # Errors
    ///
    /// If the database does not answer in time.
    pub(in crate::server) async fn count_call(
        &self,
        caller: CountedCaller<'_>,
        limit: usize,
    ) -> Result<Option<CountedCall>, ClusterError> {
        let caller = match caller {
            CountedCaller::Identity(subject) => hash_of("caller", subject),
            CountedCaller::Session(session) => hash_of("session", session),
        };
        let calls = &self.0.calls;
        let is_counted = calls.count_call_within(&caller, limit).await?;
        Ok(is_counted.then(|| CountedCall { calls: Arc::clone(calls), caller }))
    }
}

impl ReservedCalls {
    pub(super) fn new(log: Arc<EventLog>, process_timeout: Duration) -> Self {
        let (callers, statements, has_ended) = (Mutex::default(), AsyncMutex::default(), Notify::new());
        Self { log, process_timeout, callers, statements, has_ended }
    }

    fn lock_callers(&self) -> MutexGuard<'_, HashMap<String, CallerCalls>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call; returns `false` if the limit is reached.
    async fn count_call_within(&self, caller: &str, limit: usize) -> Result<bool, ClusterError> {
        for pause in PAUSES_MS.map(Some).into_iter().chain([None]) {
            if self.use_reserved(caller) {
                return Ok(true);
            }
            if !self.is_full(caller) && self.use_or_reserve(caller, limit).await? {
                return Ok(true);
            }
            match pause {
                Some(pause) => tokio::time::sleep(Duration::from_millis(pause)).await,
                None => break,
            }
        }
        Ok(false)
    }

    /// Uses a call that is reserved, or that the database reserves; returns `false` if it reserves none.
    async fn use_or_reserve(&self, caller: &str, limit: usize) -> Result<bool, ClusterError> {
        let reserving = async {
            let _order = self.statements.lock().await;
            // Another call may have asked.
            if self.use_reserved(caller) {
                return Ok(true);
            }
            if !self.is_full(caller) {
                self.reserve_block(caller, limit).await?;
            }
            Ok(self.use_reserved(caller))
        };
        let timeout = self.log.database.timeout();
        tokio::time::timeout(timeout, reserving).await.unwrap_or_else(|_| {
            Err(ClusterError::Unavailable(format!("the database did not answer within {timeout:?}")))
        })
    }

    /// Uses a call that is reserved, if there is one.
    fn use_reserved(&self, caller: &str) -> bool {
        match self.lock_callers().get_mut(caller) {
            Some(calls) if calls.running < calls.reserved => {
                calls.running += 1;
                true
            }
            _ => false,
        }
    }

    fn is_full(&self, caller: &str) -> bool {
        let callers = self.lock_callers();
        callers.get(caller).and_then(|calls| calls.full_until).is_some_and(|until| until > Instant::now())
    }

    /// Reserves more calls of `caller`, if there are some.
    async fn reserve_block(&self, caller: &str, limit: usize) -> Result<(), ClusterError> {
        let running = self.lock_callers().get(caller).map_or(0, |calls| calls.running);
        let block = (limit / BLOCKS_PER_LIMIT).clamp(1, MAX_BLOCK);
        let values = [
            SqlValue::Text(&self.log.app),
            SqlValue::Text(&self.log.process),
            SqlValue::Text(caller),
            SqlValue::from_count(running),
            SqlValue::from_count(running.saturating_add(block)),
            SqlValue::from_count(limit),
            SqlValue::Seconds(self.process_timeout),
        ];
        let sql = "SELECT {schema}.reserve_calls($1, $2, $3, $4, $5, $6, $7)";
        let reserved: i64 = decode_first_value(&self.log.database.fetch(sql, &values).await?)?;
        let mut callers = self.lock_callers();
        let calls = callers.entry(caller.to_owned()).or_default();
        calls.reserved = usize::try_from(reserved).unwrap_or_default();
        calls.full_until =
            (calls.reserved <= calls.running).then(|| Instant::now() + Duration::from_millis(PAUSES_MS[0]));
        drop(callers);
        // They are returned, should no call use them.
        self.has_ended.notify_one();
        Ok(())
    }

    /// Returns the calls that are not used.
    async fn return_unused(&self) -> Result<(), ClusterError> {
        let _order = self.statements.lock().await;
        let (mut names, mut numbers) = (Vec::new(), Vec::new());
        self.lock_callers().retain(|caller, calls| {
            if calls.reserved > calls.running {
                calls.reserved = calls.running;
                names.push(caller.clone());
                numbers.push(i64::try_from(calls.running).unwrap_or(i64::MAX));
            }
            calls.running > 0 || calls.full_until.is_some_and(|until| until > Instant::now())
        });
        if names.is_empty() {
            return Ok(());
        }
        let sql = "WITH new AS (SELECT * FROM unnest($3::text[], $4::bigint[]) AS new (caller, calls)), \
                   gone AS (DELETE FROM {schema}.reserved_calls AS old USING new \
                   WHERE old.app = $1 AND old.process = $2 AND old.caller = new.caller AND new.calls = 0) \
                   UPDATE {schema}.reserved_calls AS old SET calls = new.calls FROM new \
                   WHERE old.app = $1 AND old.process = $2 AND old.caller = new.caller AND new.calls > 0";
        let (app, process) = (SqlValue::Text(&self.log.app), SqlValue::Text(&self.log.process));
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let values = [app, process, SqlValue::Texts(&names), SqlValue::Integers(&numbers)];
        self.log.database.fetch(sql, &values).await.map(drop)
    }

    /// Stores all reservations again: statements that failed, and a server of the database that crashed, may have changed them.
    pub(super) async fn store_all_reservations(&self) -> Result<(), ClusterError> {
        let _order = self.statements.lock().await;
        let (names, numbers): (Vec<_>, Vec<_>) = self
            .lock_callers()
            .iter()
            .filter(|(_, calls)| calls.reserved > 0)
            .map(|(caller, calls)| (caller.clone(), i64::try_from(calls.reserved).unwrap_or(i64::MAX)))
            .unzip();
        let sql = "WITH gone AS (DELETE FROM {schema}.reserved_calls \
                   WHERE app = $1 AND process = $2 AND caller <> ALL ($3)) \
                   INSERT INTO {schema}.reserved_calls (app, process, caller, calls) \
                   SELECT $1, $2, new.caller, new.calls FROM unnest($3::text[], $4::bigint[]) AS new (caller, calls) \
                   ON CONFLICT (app, process, caller) DO UPDATE SET calls = excluded.calls \
                   WHERE reserved_calls.calls <> excluded.calls";
        let (app, process) = (SqlValue::Text(&self.log.app), SqlValue::Text(&self.log.process));
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let values = [app, process, SqlValue::Texts(&names), SqlValue::Integers(&numbers)];
        self.log.database.fetch(sql, &values).await.map(drop)
    }
}

/// Returns calls that are not used, as long as the process is in its cluster.
pub(super) async fn keep_returning_unused_calls(calls: Arc<ReservedCalls>) {
    loop {
        calls.has_ended.notified().await;
        tokio::time::sleep(RETURN_PAUSE).await;
        if calls.log.database.pool.is_closed() {
            return;
        }
        if let Err(error) = calls.return_unused().await {
            tracing::warn!(%error, "calls that ended are counted for a while");
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// The calls of the caller `ada`, in front of a database that does not answer.
    fn calls_of_ada(ada: CallerCalls) -> Arc<ReservedCalls> {
        let calls = ReservedCalls::new(EventLog::without_database(), Duration::from_secs(10));
        calls.lock_callers().insert("ada".to_owned(), ada);
        Arc::new(calls)
    }

    fn numbers(calls: &ReservedCalls) -> Option<(usize, usize)> {
        calls.lock_callers().get("ada").map(|ada| (ada.reserved, ada.running))
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_reserved_needs_no_statement() {
        let calls = calls_of_ada(CallerCalls { reserved: 2, running: 1, full_until: None });
        assert!(!calls.use_reserved("eve"));
        assert!(matches!(calls.count_call_within("ada", 2).now_or_never(), Some(Ok(true))));
        assert_eq!(numbers(&calls), Some((2, 2)));
        assert!(!calls.use_reserved("ada"));
        assert_eq!(numbers(&calls), Some((2, 2)));
        let counted = CountedCall { calls: Arc::clone(&calls), caller: "ada".to_owned() };
        assert!(calls.has_ended.notified().now_or_never().is_none());
        drop(counted);
        assert_eq!(numbers(&calls), Some((2, 1)));
        assert!(calls.has_ended.notified().now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_whose_limit_is_reached_is_refused_after_some_pauses() {
        let far = Instant::now() + Duration::from_secs(60);
        let calls = calls_of_ada(CallerCalls { reserved: 1, running: 1, full_until: Some(far) });
        let start = Instant::now();
        assert!(matches!(calls.count_call_within("ada", 1).await, Ok(false)));
        assert_eq!(start.elapsed(), Duration::from_millis(25 + 50 + 100 + 200));
        // A call that ends meanwhile gives its place.
        let (counted, ()) = tokio::join!(calls.count_call_within("ada", 1), async {
            tokio::time::sleep(Duration::from_millis(30)).await;
            drop(CountedCall { calls: Arc::clone(&calls), caller: "ada".to_owned() });
        });
        assert!(matches!(counted, Ok(true)));
        assert_eq!(start.elapsed(), Duration::from_millis(375 + 25 + 50));
        assert_eq!(numbers(&calls), Some((1, 1)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_that_was_reached_is_asked_for_again_after_a_time() {
        let time = Duration::from_millis(25);
        let calls =
            calls_of_ada(CallerCalls { full_until: Some(Instant::now() + time), ..Default::default() });
        assert!(calls.is_full("ada") && !calls.is_full("eve"));
        tokio::time::advance(time - Duration::from_millis(1)).await;
        assert!(calls.is_full("ada"));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!calls.is_full("ada"));
        assert!(!calls_of_ada(CallerCalls::default()).is_full("ada"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_for_the_statements_before_it_as_long_as_for_the_database() {
        let calls = calls_of_ada(CallerCalls::default());
        let before = calls.statements.lock().await;
        let start = Instant::now();
        let error = calls.use_or_reserve("ada", 1).await.unwrap_err();
        assert!(matches!(error, ClusterError::Unavailable(_)), "{error:?}");
        assert_eq!(error.to_string(), "the database did not answer within 5s");
        assert_eq!(start.elapsed(), Duration::from_secs(5));
        // What the statement before reserved is enough.
        let (counted, ()) = tokio::join!(calls.use_or_reserve("ada", 1), async {
            calls.lock_callers().insert("ada".to_owned(), CallerCalls { reserved: 1, ..Default::default() });
            drop(before);
        });
        assert!(matches!(counted, Ok(true)));
        assert_eq!(numbers(&calls), Some((1, 1)));
        // Nor does one ask that knows of the limit.
        let far = Some(Instant::now() + Duration::from_secs(60));
        calls.lock_callers().insert("ada".to_owned(), CallerCalls { full_until: far, ..Default::default() });
        assert!(matches!(calls.use_or_reserve("ada", 1).now_or_never(), Some(Ok(false))));
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_are_not_used_are_returned_after_a_pause_until_the_cluster_is_closed() {
        let calls = calls_of_ada(CallerCalls::default());
        let mut returning = Box::pin(keep_returning_unused_calls(Arc::clone(&calls)));
        let is_over = async |returning: &mut (dyn Future<Output = ()> + Unpin), time| {
            tokio::time::timeout(time, returning).await.is_ok()
        };
        let (moment, long) = (Duration::from_millis(1), Duration::from_secs(60));
        assert!(!is_over(&mut returning, long).await);
        assert_eq!(numbers(&calls), Some((0, 0)), "no call has ended");
        for _ in 0..2 {
            calls.lock_callers().insert("ada".to_owned(), CallerCalls::default());
            calls.has_ended.notify_one();
            assert!(!is_over(&mut returning, RETURN_PAUSE - moment).await);
            assert_eq!(numbers(&calls), Some((0, 0)), "another call may use them");
            assert!(!is_over(&mut returning, moment * 2).await);
            assert_eq!(numbers(&calls), None);
        }
        calls.log.database.close().await;
        assert!(!is_over(&mut returning, long).await);
        calls.has_ended.notify_one();
        assert!(is_over(&mut returning, long).await);
    }

    #[tokio::test(start_paused = true)]
    async fn callers_are_forgotten_that_neither_have_a_call_nor_reached_their_limit() {
        let now = Instant::now();
        let kept = |ada: CallerCalls| {
            let calls = calls_of_ada(ada);
            assert!(matches!(calls.return_unused().now_or_never(), Some(Ok(()))));
            numbers(&calls)
        };
        let second = Duration::from_secs(1);
        for (running, full_until, expected) in [
            (0, None, None),
            (0, Some(now), None),
            (0, Some(now + second), Some((0, 0))),
            (1, None, Some((1, 1))),
            (2, Some(now), Some((2, 2))),
        ] {
            assert_eq!(kept(CallerCalls { reserved: running, running, full_until }), expected);
        }
    }

    #[tokio::test]
    async fn a_process_reserves_a_part_of_the_limit_for_later() {
        let Some(cluster) = Cluster::open_alone().await else { return };
        for (limit, block) in [(1, 1), (2, 1), (127, 1), (128, 2), (1_023, 15), (1_024, 16), (100_000, 16)] {
            let subject = limit.to_string();
            let counted = cluster.count_call(CountedCaller::Identity(&subject), limit).await.unwrap();
            let calls = &cluster.0.calls;
            let reserved = calls.lock_callers()[&hash_of("caller", &subject)].reserved;
            assert_eq!((reserved, counted.is_some()), (block, true), "{limit}");
        }
        // The session of a name is another caller than the identity.
        let session = CountedCaller::Session("1");
        let counted = cluster.count_call(session, 1).await.unwrap();
        assert!(counted.is_some());
        assert!(cluster.count_call(session, 1).await.unwrap().is_none());
        drop(counted);
        assert!(cluster.count_call(session, 1).await.unwrap().is_some());
    }
}
