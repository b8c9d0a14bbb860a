//! The in-memory store of open calls.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use tool_core::{CallAddress, CallId};

use super::{OpenCallStore, OpenFilter, OpenRecord, OpenStoreError};

/// An in-memory store of open calls; the default store of an executor.
///
/// Holds at most [10,000](Self::MAX_CALLS) calls by default. Expired calls are removed when space is needed.
#[derive(Debug)]
pub struct MemoryOpenCalls {
    records: Mutex<Records>,
    most: usize,
}

#[derive(Debug, Default)]
struct Records {
    all: HashMap<CallAddress, OpenRecord>,
    /// The addresses of each call id, since most answers are looked up by id.
    by_id: HashMap<CallId, BTreeSet<(Option<String>, u64)>>,
}

impl MemoryOpenCalls {
    /// The default maximum number of calls.
    pub const MAX_CALLS: usize = 10_000;

    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of calls; a call beyond it is answered with an error. Default: [`MAX_CALLS`](Self::MAX_CALLS).
    #[must_use]
    pub fn at_most(mut self, calls: usize) -> Self {
        self.most = calls;
        self
    }

    // A poisoned lock can be recovered: no user code runs under it, and every change is completed before the next one.
    fn lock(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryOpenCalls {
    fn default() -> Self {
        Self { records: Mutex::default(), most: Self::MAX_CALLS }
    }
}

impl OpenCallStore for MemoryOpenCalls {
    fn outlives_process(&self) -> bool {
        false
    }

    async fn put(&self, record: OpenRecord) -> Result<(), OpenStoreError> {
        let mut records = self.lock();
        if records.all.len() >= self.most {
            records.remove_expired(SystemTime::now());
        }
        if records.all.len() >= self.most {
            return Err(OpenStoreError::Full { most: self.most });
        }
        records.insert(record)
    }

    async fn get(&self, address: &CallAddress) -> Result<Option<OpenRecord>, OpenStoreError> {
        Ok(self.lock().all.get(address).cloned())
    }

    async fn list(&self, filter: &OpenFilter) -> Result<Vec<OpenRecord>, OpenStoreError> {
        let records = self.lock();
        let Some(id) = &filter.call_id else {
            let found = records.all.values().filter(|record| filter.admits(record));
            return Ok(found.cloned().collect());
        };
        let addresses = records.by_id.get(id).into_iter().flatten().map(|(run, serial)| CallAddress {
            run: run.clone().map(CallId::from),
            call_id: id.clone(),
            serial: *serial,
        });
        let found = addresses.filter_map(|address| records.all.get(&address));
        Ok(found.filter(|record| filter.admits(record)).cloned().collect())
    }

    async fn consume(&self, record: &OpenRecord) -> Result<bool, OpenStoreError> {
        let mut records = self.lock();
        let is_it = records.all.get(&record.address).is_some_and(|kept| kept.tag == record.tag);
        Ok(is_it && records.remove(&record.address))
    }

    async fn replace(&self, record: &OpenRecord, replacement: OpenRecord) -> Result<bool, OpenStoreError> {
        let mut records = self.lock();
        let kept = records.all.get_mut(&record.address).filter(|kept| kept.tag == record.tag);
        Ok(kept.map(|kept| *kept = replacement).is_some())
    }
}

impl Records {
    fn insert(&mut self, record: OpenRecord) -> Result<(), OpenStoreError> {
        if self.all.contains_key(&record.address) {
            return Err(OpenStoreError::Exists);
        }
        self.by_id.entry(record.address.call_id.clone()).or_default().insert(run_and_serial(&record.address));
        self.all.insert(record.address.clone(), record);
        Ok(())
    }

    fn remove(&mut self, address: &CallAddress) -> bool {
        if let Some(places) = self.by_id.get_mut(&address.call_id) {
            places.remove(&run_and_serial(address));
            if places.is_empty() {
                self.by_id.remove(&address.call_id);
            }
        }
        self.all.remove(address).is_some()
    }

    fn remove_expired(&mut self, now: SystemTime) {
        let expired = self.all.values().filter(|record| record.is_expired(now));
        let expired: Vec<_> = expired.map(|record| record.address.clone()).collect();
        for address in expired {
            self.remove(&address);
        }
    }
}

/// Returns the parts of an address other than its id.
fn run_and_serial(address: &CallAddress) -> (Option<String>, u64) {
    (address.run.as_ref().map(ToString::to_string), address.serial)
}
