//! The requests that a server works on, and their limits.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
#[cfg(feature = "http")]
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError, Weak},
};

use rmcp::{ErrorData, RoleServer, service::RequestContext};
use tokio_util::task::task_tracker::{TaskTracker, TaskTrackerToken};

#[cfg(feature = "postgres")]
use super::http::{CountedCall, CountedCaller};
use super::{handler::RequestHandler, question_round::UNAVAILABLE};

/// The number of requests of one caller: of an identity, or else of a connection.
pub(super) type CallerCount = Arc<AtomicUsize>;

/// The calls, prompts and resources that a server works on.
pub(super) struct RunningRequests {
    /// Its tokens are those that run.
    all: TaskTracker,
    count: Arc<AtomicUsize>,
    limit: usize,
    /// The limit of one caller.
    of_caller: usize,
    /// The numbers of the identities that have requests.
    #[cfg(feature = "http")]
    identities: Mutex<HashMap<String, Weak<AtomicUsize>>>,
}

impl RunningRequests {
    pub(super) fn new(limit: usize, of_caller: usize) -> Self {
        Self {
            all: TaskTracker::new(),
            count: Arc::default(),
            limit,
            of_caller,
            #[cfg(feature = "http")]
            identities: Mutex::default(),
        }
    }

    /// The number of an identity.
    #[cfg(feature = "http")]
    fn count_of_identity(&self, subject: &str) -> CallerCount {
        /// The identities that are kept before those without requests are removed.
        const KEPT: usize = 1_024;
        let mut identities = self.identities.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = identities.get(subject).and_then(Weak::upgrade) {
            return number;
        }
        if identities.len() >= KEPT.max(self.limit.saturating_mul(2)) {
            identities.retain(|_, number| number.strong_count() > 0);
        }
        let number = CallerCount::default();
        identities.insert(subject.to_owned(), Arc::downgrade(&number));
        number
    }

    /// Counts one more, for a caller with the number `own`, until the answer is dropped.
    fn count_request(&self, own: CallerCount) -> Result<RunningRequest, ErrorData> {
        let limit = self.of_caller;
        let own = CountGuard::increment_below(limit, own).ok_or_else(|| caller_limit_error(limit))?;
        let all = CountGuard::increment_below(self.limit, Arc::clone(&self.count))
            .ok_or_else(|| limit_error(format!("{} calls run, the limit of the server", self.limit)))?;
        Ok(RunningRequest { _counted: [own, all], _token: self.all.token() })
    }

    /// Waits until none runs.
    pub(super) async fn wait_until_idle(&self) {
        self.all.close();
        self.all.wait().await;
    }
}

fn caller_limit_error(limit: usize) -> ErrorData {
    limit_error(format!("{limit} calls of this caller run, the limit of each caller"))
}

fn limit_error(reason: String) -> ErrorData {
    ErrorData::new(UNAVAILABLE, format!("{reason}; try again later"), None)
}

/// One of them.
pub(super) struct RunningRequest {
    _counted: [CountGuard; 2],
    _token: TaskTrackerToken,
}

/// One of a number.
struct CountGuard(Arc<AtomicUsize>);

impl CountGuard {
    /// Adds one to `number`, unless it has reached `limit`.
    fn increment_below(limit: usize, number: Arc<AtomicUsize>) -> Option<Self> {
        let admit = |number| (number < limit).then_some(number + 1);
        number.fetch_update(Ordering::AcqRel, Ordering::Acquire, admit).ok()?;
        Some(Self(number))
    }
}

impl Drop for CountGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl RequestHandler {
    /// Counts a request until the answer is dropped.
    pub(super) fn admit_request(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<RunningRequest, ErrorData> {
        let running = &self.shared.running;
        #[cfg(feature = "http")]
        if let Some(identity) =
            super::request_run::http_facts(context).and_then(|facts| facts.identity.as_ref())
        {
            return running.count_request(running.count_of_identity(&identity.subject));
        }
        let _ = context;
        running.count_request(Arc::clone(&self.running))
    }
}

#[cfg(feature = "postgres")]
impl RequestHandler {
    /// Counts a request together with those of its caller in the other processes of a cluster, until the answer is dropped.
    pub(super) async fn count_in_cluster(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<CountedCall>, ErrorData> {
        let link = self.shared.cluster.get();
        let Some((link, facts)) = link.zip(super::request_run::http_facts(context)) else { return Ok(None) };
        let caller = match (&facts.identity, &facts.session) {
            (Some(identity), _) => CountedCaller::Identity(&identity.subject),
            (None, Some(session)) => CountedCaller::Session(session),
            (None, None) => return Ok(None),
        };
        let limit = self.shared.running.of_caller;
        match link.cluster.count_call(caller, limit).await {
            Ok(Some(call)) => Ok(Some(call)),
            Ok(None) => Err(caller_limit_error(limit)),
            Err(error) => {
                tracing::error!(%error, "a call is refused");
                Err(limit_error("the database of the server does not answer".to_owned()))
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn message(refused: Result<RunningRequest, ErrorData>) -> String {
        let error = refused.err().unwrap();
        assert_eq!(error.code, UNAVAILABLE);
        error.message.into_owned()
    }

    #[test]
    fn requests_are_counted_until_they_are_dropped() {
        let running = RunningRequests::new(3, 2);
        let (one, other) = (CallerCount::default(), CallerCount::default());
        let start = |own: &CallerCount| running.count_request(Arc::clone(own));
        let first = start(&one).unwrap();
        let second = start(&one).unwrap();
        let of_caller = "2 calls of this caller run, the limit of each caller; try again later";
        assert_eq!(message(start(&one)), of_caller);
        let third = start(&other).unwrap();
        assert_eq!(message(start(&other)), "3 calls run, the limit of the server; try again later");
        // A request that was refused is not counted.
        assert_eq!(other.load(Ordering::Relaxed), 1);
        drop(first);
        let fourth = start(&other).unwrap();
        assert!(start(&one).is_err(), "the server is at its limit");
        assert!(running.wait_until_idle().now_or_never().is_none());
        drop((second, third, fourth));
        assert_eq!([&one, &other, &running.count].map(|count| count.load(Ordering::Relaxed)), [0; 3]);
        assert!(running.wait_until_idle().now_or_never().is_some());
    }

    #[cfg(feature = "http")]
    #[test]
    fn an_identity_has_one_number_while_it_has_requests() {
        let running = RunningRequests::new(1, 1);
        let kept: Vec<_> = (0..1_024).map(|number| running.count_of_identity(&number.to_string())).collect();
        assert!(Arc::ptr_eq(&running.count_of_identity("7"), &kept[7]));
        assert!(!Arc::ptr_eq(&kept[6], &kept[7]));
        let identities = || running.identities.lock().unwrap().len();
        // All of them have requests.
        let more = running.count_of_identity("more");
        assert_eq!(identities(), 1_025);
        drop((kept, more));
        assert_eq!(identities(), 1_025, "they are removed when one more comes");
        let _last = running.count_of_identity("last");
        assert_eq!(identities(), 1);
    }
}
