//! Named values of a run.

use std::{
    any::Any,
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

/// The named values of a run.
#[derive(Default)]
pub(super) struct RunValues(RwLock<HashMap<String, Arc<dyn Any + Send + Sync>>>);

impl RunValues {
    // A poisoned lock is safe to use: the map is consistent between operations.
    pub(super) fn get(&self, key: &str) -> Option<Arc<dyn Any + Send + Sync>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    pub(super) fn get_or_insert_with<T: Send + Sync + 'static>(
        &self,
        key: &str,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        let typed = |value: Arc<dyn Any + Send + Sync>| value.downcast().ok();
        if let Some(value) = self.get(key).and_then(typed) {
            return value;
        }
        // Created and dropped outside the lock, since user code may access the run.
        let made = Arc::new(make());
        let mut values = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = values.get(key).cloned().and_then(typed) {
            return value;
        }
        let _before = values.insert(key.to_owned(), Arc::clone(&made) as _);
        drop(values);
        made
    }

    pub(super) fn set(&self, key: String, value: Arc<dyn Any + Send + Sync>) {
        // Dropped outside the lock, since user code may access the run.
        let _before = self.0.write().unwrap_or_else(PoisonError::into_inner).insert(key, value);
    }
}

impl Clone for RunValues {
    fn clone(&self) -> Self {
        Self(RwLock::new(self.0.read().unwrap_or_else(PoisonError::into_inner).clone()))
    }
}
