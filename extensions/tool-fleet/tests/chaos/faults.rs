//! The faults of a broker in memory: it is away at times; it loses, repeats and delays messages, and its queue fails.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use fastrand::Rng;
use tokio::{task::JoinSet, time::sleep};
use tool_fleet::{FleetError, MemoryTransport};

use crate::test_broker::{Sent, TestBroker};

struct FaultState {
    rng: Rng,
    /// Loses and repeats this number of messages in a thousand, delays three times as many, and fails before and after as many operations of
    /// the queue.
    per_mille: u16,
    /// The broker is away: it loses all messages, and its queue fails.
    is_away: bool,
    /// The messages that are late.
    late: JoinSet<()>,
}

/// The faults of a broker. Clones are those of the same one.
#[derive(Clone)]
pub(crate) struct Faults(Arc<Mutex<FaultState>>);

impl Faults {
    pub(crate) fn new(rng: Rng, per_mille: u16) -> Self {
        let state = FaultState { rng, per_mille, is_away: false, late: JoinSet::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// A broker with these faults.
    pub(crate) fn broker(&self) -> TestBroker {
        let faults = self.clone();
        let broker = TestBroker::tampering(move |inner, sent| {
            let faults = faults.clone();
            async move { faults.deliver(inner, sent).await }
        });
        broker.unrecorded()
    }

    fn lock(&self) -> MutexGuard<'_, FaultState> {
        self.0.lock().unwrap()
    }

    pub(crate) fn set_away(&self, is_away: bool) {
        self.lock().is_away = is_away;
    }

    /// Ends the faults at random.
    pub(crate) fn end(&self) {
        self.lock().per_mille = 0;
    }

    /// Returns an error while the broker is away, and at random.
    pub(crate) fn check_broker(&self) -> Result<(), FleetError> {
        let mut faults = self.lock();
        let per_mille = faults.per_mille;
        match faults.is_away || faults.rng.u16(..1000) < per_mille {
            true => Err(FleetError::Transport("the broker is away".to_owned())),
            false => Ok(()),
        }
    }

    /// Delivers a message after its delays: never if it is lost, twice if it is repeated.
    async fn deliver(&self, inner: MemoryTransport, sent: Sent) {
        for delay in self.delays() {
            match delay {
                Duration::ZERO => sent.deliver(&inner).await,
                delay => self.deliver_after(inner.clone(), sent.clone(), delay),
            }
        }
    }

    fn deliver_after(&self, inner: MemoryTransport, sent: Sent, delay: Duration) {
        let mut faults = self.lock();
        while faults.late.try_join_next().is_some() {}
        faults.late.spawn(async move {
            sleep(delay).await;
            sent.deliver(&inner).await;
        });
    }

    fn delays(&self) -> Vec<Duration> {
        let mut faults = self.lock();
        let per_mille = faults.per_mille;
        let is_late = faults.rng.u16(..1000) < 3 * per_mille;
        let delay = Duration::from_millis(if is_late { faults.rng.u64(..3000) } else { 0 });
        match faults.rng.u16(..1000) {
            _ if faults.is_away => Vec::new(),
            draw if draw < per_mille => Vec::new(),
            draw if draw < 2 * per_mille => vec![delay, Duration::from_millis(faults.rng.u64(..3000))],
            _ => vec![delay],
        }
    }
}
