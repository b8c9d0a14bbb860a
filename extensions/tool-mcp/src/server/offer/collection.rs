//! Items in memory, which prompts, resources and templates have in common.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tool_runtime::{RunContext, ToolError};

use super::{ChangeSignal, Completing, Page, Paging};

/// Returns the candidates for an argument.
pub(super) type Complete = dyn Fn(&RunContext, Completing<'_>) -> Vec<String> + Send + Sync;

/// Items by their keys. Clones are the same collection; code of the program is called and dropped outside of its lock.
pub(super) struct Collection<T> {
    kept: Arc<Mutex<Entries<T>>>,
    pub(super) changes: ChangeSignal,
}

struct Entries<T> {
    entries: BTreeMap<String, CollectionEntry<T>>,
    /// The key that was added last.
    last: Option<String>,
    /// The number of items that were added so far.
    added: u64,
}

struct CollectionEntry<T> {
    item: T,
    /// The place in the order of adding.
    place: u64,
    complete: Option<Arc<Complete>>,
}

impl<T> Clone for Collection<T> {
    fn clone(&self) -> Self {
        Self { kept: Arc::clone(&self.kept), changes: self.changes.clone() }
    }
}

impl<T> Default for Collection<T> {
    fn default() -> Self {
        Self::with_changes(ChangeSignal::default())
    }
}

impl<T> Collection<T> {
    /// Creates a collection whose changes are announced by `changes`.
    pub(super) fn with_changes(changes: ChangeSignal) -> Self {
        let (entries, last, added) = Default::default();
        Self { kept: Arc::new(Mutex::new(Entries { entries, last, added })), changes }
    }

    fn lock_entries(&self) -> MutexGuard<'_, Entries<T>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an item, and returns the one of the same key that it replaces. The caller announces it.
    pub(super) fn insert(&self, key: String, item: T) -> Option<T> {
        self.insert_with_completion(key, item, None)
    }

    /// Adds an item with the candidates for its arguments, as [`insert`](Self::insert).
    pub(super) fn insert_with_completion(
        &self,
        key: String,
        item: T,
        complete: Option<Arc<Complete>>,
    ) -> Option<T> {
        let mut kept = self.lock_entries();
        kept.added += 1;
        let entry = CollectionEntry { item, place: kept.added, complete };
        kept.last = Some(key.clone());
        let before = kept.entries.insert(key, entry);
        drop(kept);
        before.map(|entry| entry.item)
    }

    /// Sets the candidates for the arguments of the item that was added last.
    pub(super) fn set_completion_of_last(
        &self,
        complete: impl Fn(&RunContext, Completing<'_>) -> Vec<String> + Send + Sync + 'static,
    ) {
        let complete: Arc<Complete> = Arc::new(complete);
        let mut kept = self.lock_entries();
        let last = kept.last.clone();
        let entry = last.and_then(|last| kept.entries.get_mut(&last));
        let _before = entry.and_then(|entry| entry.complete.replace(Arc::clone(&complete)));
        // Before what is replaced, which is code of the program.
        drop(kept);
    }

    /// Removes an item, and announces it. Returns `false` if there is none.
    pub(super) fn remove(&self, key: &str) -> bool {
        let removed = self.lock_entries().entries.remove(key);
        if removed.is_some() {
            self.changes.list_changed();
        }
        removed.is_some()
    }

    pub(super) fn contains(&self, key: &str) -> bool {
        self.lock_entries().entries.contains_key(key)
    }

    pub(super) fn keys(&self) -> Vec<String> {
        self.lock_entries().entries.keys().cloned().collect()
    }

    /// Returns a part of the item `key`.
    pub(super) fn get<R>(&self, key: &str, part: impl FnOnce(&T) -> R) -> Option<R> {
        self.lock_entries().entries.get(key).map(|entry| part(&entry.item))
    }

    /// Returns the first result of `part`, of the items in the order in which they were added.
    pub(super) fn find<R>(&self, part: impl FnMut(&T) -> Option<R>) -> Option<R> {
        let kept = self.lock_entries();
        let mut entries: Vec<_> = kept.entries.values().collect();
        entries.sort_by_key(|entry| entry.place);
        entries.into_iter().map(|entry| &entry.item).find_map(part)
    }

    /// Returns a page of the descriptions of the items.
    pub(super) fn page<D>(
        &self,
        page: Paging<'_>,
        description: impl Fn(&T) -> D,
        key: impl Fn(&D) -> &str,
    ) -> Page<D> {
        let descriptions: Vec<_> =
            self.lock_entries().entries.values().map(|it| description(&it.item)).collect();
        page.of(descriptions, key)
    }

    /// Returns the candidates for an argument; `None` if there is no such item.
    pub(super) fn candidates(&self, run: &RunContext, completing: Completing<'_>) -> Option<Vec<String>> {
        let complete = self.lock_entries().entries.get(completing.of).map(|entry| entry.complete.clone())?;
        Some(complete.map(|complete| complete(run, completing)).unwrap_or_default())
    }

    /// Returns `true` if there are candidates for anything.
    pub(super) fn completes(&self) -> bool {
        self.lock_entries().entries.values().any(|entry| entry.complete.is_some())
    }
}

/// The error for an argument of an item that does not exist.
pub(super) fn unknown_item_error(kind: &str, completing: Completing<'_>) -> ToolError {
    ToolError::bad_parameter(format!("there is no {kind} `{}`", completing.of))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(collection: &Collection<u32>, of: &str) -> Option<Vec<String>> {
        let others = std::collections::HashMap::new();
        let completing = Completing { of, argument: "argument", value: "value", others: &others };
        collection.candidates(&RunContext::new(), completing)
    }

    #[test]
    fn an_item_replaces_one_of_its_key_and_takes_the_last_place() {
        let collection = Collection::default();
        for (key, item) in [("b", 1), ("a", 2)] {
            assert_eq!(collection.insert(key.to_owned(), item), None);
        }
        let order = || {
            let mut order = Vec::new();
            assert_eq!(
                collection.find(|item| {
                    order.push(*item);
                    None::<()>
                }),
                None
            );
            order
        };
        assert_eq!(order(), [1, 2]);
        assert_eq!(collection.find(|item| (*item > 1).then_some(*item)), Some(2));
        assert_eq!(collection.insert("b".to_owned(), 3), Some(1));
        assert_eq!((order(), collection.keys()), (vec![2, 3], vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!((collection.get("b", |item| *item), collection.get("c", |item| *item)), (Some(3), None));
    }

    #[tokio::test]
    async fn an_item_is_removed_once_and_its_end_is_announced() {
        use futures_util::FutureExt as _;
        let collection = Collection::default();
        collection.insert("a".to_owned(), 1);
        let mut changes = collection.changes.subscribe();
        assert!(!collection.remove("b") && collection.contains("a"));
        assert!(changes.next().now_or_never().is_none());
        assert!(collection.remove("a") && !collection.contains("a") && !collection.remove("a"));
        assert_eq!(changes.next().now_or_never(), Some(super::super::OfferChange::List));
        assert!(changes.next().now_or_never().is_none());
    }

    #[test]
    fn candidates_are_of_the_item_that_was_added_last() {
        let collection = Collection::default();
        collection.set_completion_of_last(|_, _| Vec::new());
        collection.insert("b".to_owned(), 1);
        collection.insert("a".to_owned(), 2);
        assert!(!collection.completes());
        collection.set_completion_of_last(|_, completing| vec![completing.value.to_owned()]);
        assert!(collection.completes());
        assert_eq!(candidates(&collection, "a"), Some(vec!["value".to_owned()]));
        assert_eq!(candidates(&collection, "b"), Some(Vec::new()));
        assert_eq!(candidates(&collection, "c"), None);
    }

    /// Looks for an item when it is dropped.
    struct LooksAtEnd(Collection<u32>, std::sync::mpsc::Sender<bool>);

    impl Drop for LooksAtEnd {
        fn drop(&mut self) {
            let is_locked = self.0.kept.try_lock().is_err();
            self.1.send(is_locked).ok();
        }
    }

    #[test]
    fn code_of_the_program_is_dropped_outside_of_the_lock() {
        let collection = Collection::default();
        collection.insert("a".to_owned(), 1);
        let (sender, receiver) = std::sync::mpsc::channel();
        for _ in 0..2 {
            let looks = LooksAtEnd(collection.clone(), sender.clone());
            collection.set_completion_of_last(move |_, _| {
                let _ = &looks;
                Vec::new()
            });
        }
        assert_eq!(receiver.try_recv(), Ok(false));
        collection.insert("a".to_owned(), 2);
        assert_eq!(receiver.try_recv(), Ok(false));
        let looks = LooksAtEnd(collection.clone(), sender.clone());
        collection.set_completion_of_last(move |_, _| {
            let _ = &looks;
            Vec::new()
        });
        assert!(receiver.try_recv().is_err());
        let looks = LooksAtEnd(collection.clone(), sender);
        // The last one is kept, and the one that has no item is dropped.
        collection.remove("a");
        collection.set_completion_of_last(move |_, _| {
            let _ = &looks;
            Vec::new()
        });
        assert_eq!((receiver.try_recv(), receiver.try_recv()), (Ok(false), Ok(false)));
    }
}
