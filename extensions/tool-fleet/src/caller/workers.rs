//! The workers of a pool that showed signs of life.

use std::{
    collections::{BTreeMap, HashMap, btree_map::Entry},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};
use tool_runtime::definition::ContentHash;

use crate::message::Announcement;

#[derive(Default)]
pub(super) struct Workers {
    live: Mutex<LiveWorkers>,
    /// Told when there is a worker.
    pub(super) found: Notify,
}

#[derive(Default)]
struct LiveWorkers {
    /// The registry of each worker, and its last sign of life.
    by_name: HashMap<String, (ContentHash, Instant)>,
    /// The registries, with the numbers of their workers.
    registries: BTreeMap<ContentHash, usize>,
}

impl LiveWorkers {
    /// Returns `true` if the registry is new.
    fn add_to_registry(&mut self, registry: ContentHash) -> bool {
        let workers = self.registries.entry(registry).or_default();
        *workers += 1;
        *workers == 1
    }

    /// Returns `true` if the registry has no other worker.
    fn remove_from_registry(&mut self, registry: ContentHash) -> bool {
        let Entry::Occupied(mut workers) = self.registries.entry(registry) else { return false };
        *workers.get_mut() -= 1;
        let is_last = *workers.get() == 0;
        if is_last {
            workers.remove();
        }
        is_last
    }
}

impl Workers {
    fn lock(&self) -> MutexGuard<'_, LiveWorkers> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the registries of the workers, with the numbers of their workers.
    pub(super) fn registries(&self) -> BTreeMap<ContentHash, usize> {
        self.lock().registries.clone()
    }

    /// Returns those of `registries` that have workers.
    pub(super) fn live_registries(
        &self,
        registries: impl IntoIterator<Item = ContentHash>,
    ) -> Vec<ContentHash> {
        let live = self.lock();
        registries.into_iter().filter(|it| live.registries.contains_key(it)).collect()
    }

    /// Returns `true` if a registry has come or left.
    pub(super) fn note_announcement(&self, worker: String, announcement: &Announcement) -> bool {
        let registry = announcement.registry;
        let mut live = self.lock();
        let has_changed = match live.by_name.insert(worker, (registry, Instant::now())) {
            Some((before, _)) if before == registry => false,
            Some((before, _)) => live.remove_from_registry(before) | live.add_to_registry(registry),
            None => live.add_to_registry(registry),
        };
        drop(live);
        self.found.notify_waiters();
        has_changed
    }

    /// Returns `true` if a registry has left.
    pub(super) fn remove_worker(&self, worker: &str) -> bool {
        let mut live = self.lock();
        let removed = live.by_name.remove(worker);
        removed.is_some_and(|(registry, _)| live.remove_from_registry(registry))
    }

    /// Removes the workers without a sign of life in time. Returns their number, and `true` if a registry has left.
    pub(super) fn remove_lost(&self, lost_after: Duration) -> (usize, bool) {
        let mut live = self.lock();
        let lost = live.by_name.extract_if(|_, (_, seen)| seen.elapsed() >= lost_after);
        let lost: Vec<_> = lost.map(|(_, (registry, _))| registry).collect();
        let workers = lost.len();
        let has_changed =
            lost.into_iter().fold(false, |has_changed, it| live.remove_from_registry(it) | has_changed);
        (workers, has_changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_registry_comes_with_its_first_worker_and_leaves_with_its_last_one() {
        let (workers, hash) = (Workers::default(), |byte| ContentHash::from([byte; 32]));
        let announce = |worker: &str, byte| {
            let announcement = Announcement { registry: hash(byte), tools: 1 };
            workers.note_announcement(worker.to_owned(), &announcement)
        };
        assert!(announce("a", 1) && !announce("a", 1) && !announce("b", 1));
        assert_eq!(workers.registries(), BTreeMap::from([(hash(1), 2)]));
        // The worker has started again, with other tools.
        assert!(announce("a", 2));
        assert_eq!(workers.live_registries([hash(3), hash(2)]), [hash(2)]);
        assert!(workers.remove_worker("b") && !workers.remove_worker("b"));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(announce("c", 3));
        assert_eq!(workers.remove_lost(Duration::from_secs(1)), (1, true));
        assert_eq!(workers.registries(), BTreeMap::from([(hash(3), 1)]));
        // A registry with another worker stays.
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(!announce("d", 3));
        assert_eq!(workers.remove_lost(Duration::from_secs(1)), (1, false));
        assert_eq!(workers.remove_lost(Duration::from_secs(1)), (0, false));
        assert_eq!(workers.registries(), BTreeMap::from([(hash(3), 1)]));
    }

    #[tokio::test(start_paused = true)]
    async fn each_announcement_wakes_those_that_look_for_a_worker() {
        let workers = Workers::default();
        for _ in 0..2 {
            let found = workers.found.notified();
            tokio::pin!(found);
            found.as_mut().enable();
            let announcement = Announcement { registry: ContentHash::from([1; 32]), tools: 1 };
            workers.note_announcement("a".to_owned(), &announcement);
            assert!(tokio::time::timeout(Duration::from_secs(1), found).await.is_ok());
        }
    }
}
