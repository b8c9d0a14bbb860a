//! A store of large values in memory, which fails, hangs and lies as a test says.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::watch;
use tool_fleet::{FleetError, ValueStore};
use tool_runtime::BoxFuture;

/// An operation of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Put,
    Get,
    Delete,
}

/// The behaviour of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deed {
    Work,
    /// It takes some time.
    Delay(Duration),
    Fail,
    Panic,
    Hang,
    /// It returns this value.
    Return(Option<Bytes>),
}

type Choice = dyn Fn(Operation, usize, Option<Bytes>) -> Deed + Send + Sync;

/// Clones are the same store.
#[derive(Clone)]
pub(crate) struct TestValues {
    choose: Arc<Choice>,
    lifetime: Duration,
    /// The number of operations of each kind.
    counts: Arc<Mutex<[usize; 3]>>,
    values: watch::Sender<BTreeMap<String, Bytes>>,
    /// All that was ever stored.
    stored: Arc<Mutex<Vec<(String, Bytes)>>>,
}

impl TestValues {
    pub(crate) fn new() -> Self {
        Self::choosing(|_, _, _| Deed::Work)
    }

    /// A store of which `choose` says what an operation does, by its number among those of its kind, from 0, and the value that is read.
    pub(crate) fn choosing(
        choose: impl Fn(Operation, usize, Option<Bytes>) -> Deed + Send + Sync + 'static,
    ) -> Self {
        let choose = Arc::new(choose);
        let lifetime = Duration::from_secs(3 * 24 * 3600);
        Self {
            choose,
            lifetime,
            counts: Arc::default(),
            values: watch::Sender::default(),
            stored: Arc::default(),
        }
    }

    /// A store whose operation of this kind and number does `deed`.
    pub(crate) fn with_deed(kind: Operation, number: usize, deed: Deed) -> Self {
        Self::choosing(move |it, count, _| match it == kind && count == number {
            true => deed.clone(),
            false => Deed::Work,
        })
    }

    pub(crate) fn with_lifetime(self, lifetime: Duration) -> Self {
        Self { lifetime, ..self }
    }

    pub(crate) fn count(&self, kind: Operation) -> usize {
        self.counts.lock().unwrap()[kind as usize]
    }

    pub(crate) fn stored(&self) -> Vec<(String, Bytes)> {
        self.stored.lock().unwrap().clone()
    }

    /// Waits until nothing is left of `puts` values or more.
    pub(crate) async fn wait_until_empty(&self, puts: usize) {
        let mut values = self.values.subscribe();
        let empty = values.wait_for(BTreeMap::is_empty);
        let emptied = tokio::time::timeout(Duration::from_secs(20), empty).await.is_ok();
        assert!(emptied, "{:?}", self.values.borrow().keys());
        assert!(self.stored().len() >= puts, "{} values were stored", self.stored().len());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.borrow().is_empty()
    }

    /// Does what the choice says; `None` if the operation is to be done.
    async fn run_deed(
        &self,
        kind: Operation,
        value: Option<Bytes>,
    ) -> Option<Result<Option<Bytes>, FleetError>> {
        let number = {
            let mut counts = self.counts.lock().unwrap();
            counts[kind as usize] += 1;
            counts[kind as usize] - 1
        };
        match (self.choose)(kind, number, value) {
            Deed::Work => None,
            Deed::Delay(time) => {
                tokio::time::sleep(time).await;
                None
            }
            Deed::Fail => Some(Err(FleetError::ValueStore("the disk is full".to_owned()))),
            Deed::Panic => panic!("the disk is broken"),
            Deed::Hang => std::future::pending().await,
            Deed::Return(value) => Some(Ok(value)),
        }
    }
}

impl ValueStore for TestValues {
    fn lifetime(&self) -> Duration {
        self.lifetime
    }

    fn put<'a>(&'a self, name: &'a str, value: Bytes) -> BoxFuture<'a, Result<(), FleetError>> {
        Box::pin(async move {
            if let Some(end) = self.run_deed(Operation::Put, None).await {
                return end.map(drop);
            }
            self.stored.lock().unwrap().push((name.to_owned(), value.clone()));
            self.values.send_modify(|values| drop(values.insert(name.to_owned(), value)));
            Ok(())
        })
    }

    fn get<'a>(&'a self, name: &'a str, _: usize) -> BoxFuture<'a, Result<Option<Bytes>, FleetError>> {
        Box::pin(async move {
            let value = self.values.borrow().get(name).cloned();
            match self.run_deed(Operation::Get, value.clone()).await {
                Some(end) => end,
                None => Ok(value),
            }
        })
    }

    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), FleetError>> {
        Box::pin(async move {
            if let Some(end) = self.run_deed(Operation::Delete, None).await {
                return end.map(drop);
            }
            self.values.send_modify(|values| drop(values.remove(name)));
            Ok(())
        })
    }
}
