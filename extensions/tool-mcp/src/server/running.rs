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
use tokio::sync::watch;

use super::{handler::Handler, round::UNAVAILABLE};

/// The number of requests of one caller: of an identity, or else of a connection.
pub(super) type OfCaller = Arc<AtomicUsize>;

/// The calls, prompts and resources that a server works on.
pub(super) struct Running {
    count: watch::Sender<usize>,
    limit: usize,
    /// The limit of one caller.
    of_caller: usize,
    /// The numbers of the identities that have requests.
    #[cfg(feature = "http")]
    identities: Mutex<HashMap<String, Weak<AtomicUsize>>>,
}

impl Running {
    pub(super) fn new(limit: usize, of_caller: usize) -> Self {
        Self {
            count: watch::Sender::new(0),
            limit,
            of_caller,
            #[cfg(feature = "http")]
            identities: Mutex::default(),
        }
    }

    /// The number of an identity.
    #[cfg(feature = "http")]
    fn of_identity(&self, subject: &str) -> OfCaller {
        /// The identities that are kept before those without requests are removed.
        const KEPT: usize = 1_024;
        let mut identities = self.identities.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = identities.get(subject).and_then(Weak::upgrade) {
            return number;
        }
        if identities.len() >= KEPT.max(self.limit.saturating_mul(2)) {
            identities.retain(|_, number| number.strong_count() > 0);
        }
        let number = OfCaller::default();
        identities.insert(subject.to_owned(), Arc::downgrade(&number));
        number
    }

    /// Counts one more, for a caller with the number `own`, until the answer is dropped.
    fn start(&self, own: OfCaller) -> Result<OneRunning, ErrorData> {
        let limit = self.of_caller;
        let admit = |number| (number < limit).then_some(number + 1);
        if own.fetch_update(Ordering::AcqRel, Ordering::Acquire, admit).is_err() {
            return Err(refused(format!("{limit} calls of this caller run, the limit of each caller")));
        }
        let is_admitted = self.count.send_if_modified(|count| {
            let is_admitted = *count < self.limit;
            *count += usize::from(is_admitted);
            is_admitted
        });
        if !is_admitted {
            own.fetch_sub(1, Ordering::AcqRel);
            return Err(refused(format!("{} calls run, the limit of the server", self.limit)));
        }
        Ok(OneRunning { count: self.count.clone(), own })
    }

    /// Waits until none runs.
    pub(super) async fn ended(&self) {
        self.count.subscribe().wait_for(|count| *count == 0).await.ok();
    }
}

fn refused(reason: String) -> ErrorData {
    ErrorData::new(UNAVAILABLE, format!("{reason}; try again later"), None)
}

/// One of them.
pub(super) struct OneRunning {
    count: watch::Sender<usize>,
    own: OfCaller,
}

impl Drop for OneRunning {
    fn drop(&mut self) {
        self.own.fetch_sub(1, Ordering::AcqRel);
        self.count.send_modify(|count| *count -= 1);
    }
}

impl Handler {
    /// Counts a request until the answer is dropped.
    pub(super) fn admitted(&self, context: &RequestContext<RoleServer>) -> Result<OneRunning, ErrorData> {
        let running = &self.shared.running;
        #[cfg(feature = "http")]
        if let Some(identity) = super::handler::via(context).and_then(|via| via.identity.as_ref()) {
            return running.start(running.of_identity(&identity.subject));
        }
        let _ = context;
        running.start(Arc::clone(&self.running))
    }
}
