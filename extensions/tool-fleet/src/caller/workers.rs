//! The workers of a pool that showed signs of life.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};
use tool_runtime::definition::ContentHash;

use crate::message::Announcement;

#[derive(Default)]
pub(super) struct Workers {
    by_name: Mutex<HashMap<String, (ContentHash, Instant)>>,
    /// Told when there is a worker.
    pub(super) found: Notify,
}

impl Workers {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, (ContentHash, Instant)>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the registries of the workers, with the numbers of their workers.
    pub(super) fn registries(&self) -> BTreeMap<[u8; 32], usize> {
        let mut registries = BTreeMap::new();
        for (registry, _) in self.lock().values() {
            *registries.entry((*registry).into()).or_default() += 1;
        }
        registries
    }

    pub(super) fn note_announcement(&self, worker: String, announcement: &Announcement) {
        self.lock().insert(worker, (announcement.registry, Instant::now()));
        self.found.notify_waiters();
    }

    pub(super) fn remove_worker(&self, worker: &str) {
        self.lock().remove(worker);
    }

    pub(super) fn remove_lost(&self, lost_after: Duration) {
        self.lock().retain(|_, (_, seen)| seen.elapsed() < lost_after);
    }
}
