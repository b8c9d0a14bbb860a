//! Values that a run keeps under names.

use std::{
    any::Any,
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

/// What runs keep for themselves, under names.
#[derive(Default)]
pub(super) struct Values(RwLock<HashMap<String, Arc<dyn Any + Send + Sync>>>);

impl Values {
    // A map is whole between two operations, also where a thread panicked that held the lock.
    pub(super) fn get(&self, key: &str) -> Option<Arc<dyn Any + Send + Sync>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    pub(super) fn get_or_insert_with<T: Send + Sync + 'static>(
        &self,
        key: &str,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        let kept = |value: Arc<dyn Any + Send + Sync>| value.downcast().ok();
        if let Some(value) = self.get(key).and_then(kept) {
            return value;
        }
        // Made and dropped outside the lock: both may look at the run.
        let made = Arc::new(make());
        let mut values = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = values.get(key).cloned().and_then(kept) {
            return value;
        }
        let _before = values.insert(key.to_owned(), Arc::clone(&made) as _);
        drop(values);
        made
    }

    pub(super) fn set(&self, key: String, value: Arc<dyn Any + Send + Sync>) {
        // Dropped outside the lock: it may look at the run.
        let _before = self.0.write().unwrap_or_else(PoisonError::into_inner).insert(key, value);
    }
}

impl Clone for Values {
    fn clone(&self) -> Self {
        Self(RwLock::new(self.0.read().unwrap_or_else(PoisonError::into_inner).clone()))
    }
}
