//! A queue that fails in the middle of an operation, or takes less than its engine.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::Notify;
use tool_fleet::{
    CallQueue, CallState, FleetError, LeaseState, NewCall, QueueEpoch, QueueLimits, QueuedCall, StartGrant,
    TakenCall,
};
use tool_runtime::{BoxFuture, CancellationToken, definition::ContentHash};

/// A queue whose storage fails as a test says.
#[derive(Clone)]
pub(super) struct TestQueue {
    inner: Arc<dyn CallQueue>,
    max_bytes: usize,
    /// A call is stored, and its answer is lost.
    pub(super) loses_answers: Arc<AtomicBool>,
    /// The number of calls that are read, and removed, before each of these fails.
    pub(super) reads_left: Arc<AtomicUsize>,
    /// A call that cannot be read.
    pub(super) unreadable: Arc<Mutex<Option<String>>>,
    /// The pause in the next read of a call.
    pub(super) read_pause: Arc<Mutex<Option<Arc<ReadPause>>>>,
    /// The number of times that a call was read.
    pub(super) reads: Arc<AtomicUsize>,
    pub(super) fails_to_remove: Arc<AtomicBool>,
    /// The number of times that the queue was settled.
    pub(super) settled: Arc<AtomicUsize>,
    /// The number of times that a worker asked for a call.
    pub(super) takes: Arc<AtomicUsize>,
    /// From a time on, it is settled without an end.
    pub(super) hangs: CancellationToken,
    /// The answer to the end of a call, which is not stored.
    pub(super) end_answer: Arc<Mutex<Option<EndAnswer>>>,
    /// The number of starts that are given, and whose answers are lost.
    pub(super) lost_starts: Arc<AtomicUsize>,
    /// A call is found in its state before the end.
    pub(super) is_late: Arc<AtomicBool>,
}

/// A pause before or after a call is read.
#[derive(Default)]
pub(super) struct ReadPause {
    pub(super) is_after: bool,
    pub(super) reached: Notify,
    pub(super) go_on: Notify,
}

impl ReadPause {
    async fn wait(&self) {
        self.reached.notify_one();
        self.go_on.notified().await;
    }
}

/// The answer of a queue to an end that it does not store.
#[derive(Clone, Copy)]
pub(super) enum EndAnswer {
    Refused,
    Away,
}

impl TestQueue {
    pub(super) fn new(inner: Arc<dyn CallQueue>) -> Self {
        let (loses_answers, fails_to_remove) = (Arc::default(), Arc::default());
        let (max_bytes, reads_left) = (inner.max_bytes(), Arc::new(AtomicUsize::new(usize::MAX)));
        let (settled, hangs, end_answer) = (Arc::default(), CancellationToken::new(), Arc::default());
        let (lost_starts, is_late, reads) = (Arc::default(), Arc::default(), Arc::default());
        let (unreadable, read_pause, takes) = (Arc::default(), Arc::default(), Arc::default());
        Self {
            inner,
            max_bytes,
            loses_answers,
            reads_left,
            unreadable,
            read_pause,
            reads,
            fails_to_remove,
            settled,
            takes,
            hangs,
            end_answer,
            lost_starts,
            is_late,
        }
    }

    /// Lowers the limit of a request or result.
    pub(super) fn with_max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    fn check_size(&self, bytes: &Bytes) -> Result<(), FleetError> {
        match (bytes.len(), self.max_bytes) {
            (bytes, limit) if bytes > limit => Err(FleetError::TooLargeForQueue { bytes, limit }),
            _ => Ok(()),
        }
    }
}

fn away() -> FleetError {
    FleetError::Transport("the database is away".to_owned())
}

impl CallQueue for TestQueue {
    fn pool(&self) -> &str {
        self.inner.pool()
    }

    fn limits(&self) -> QueueLimits {
        self.inner.limits()
    }

    fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    fn put_call(&self, call: NewCall) -> BoxFuture<'_, Result<bool, FleetError>> {
        Box::pin(async {
            self.check_size(&call.request)?;
            let stored = self.inner.put_call(call).await?;
            if self.loses_answers.load(Ordering::SeqCst) { Err(away()) } else { Ok(stored) }
        })
    }

    fn take_call<'a>(
        &'a self,
        keys: &'a [ContentHash],
        worker: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<TakenCall>, FleetError>> {
        self.takes.fetch_add(1, Ordering::SeqCst);
        self.inner.take_call(keys, worker, lease)
    }

    fn extend_lease<'a>(
        &'a self,
        call: &'a QueueEpoch,
        lease: Duration,
    ) -> BoxFuture<'a, Result<LeaseState, FleetError>> {
        self.inner.extend_lease(call, lease)
    }

    fn start_call<'a>(&'a self, call: &'a QueueEpoch) -> BoxFuture<'a, Result<StartGrant, FleetError>> {
        Box::pin(async move {
            let grant = self.inner.start_call(call).await?;
            let take_one = |left: usize| left.checked_sub(1);
            match self.lost_starts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take_one) {
                Ok(_) => Err(away()),
                Err(_) => Ok(grant),
            }
        })
    }

    fn return_call<'a>(&'a self, call: &'a QueueEpoch) -> BoxFuture<'a, Result<bool, FleetError>> {
        self.inner.return_call(call)
    }

    fn end_call<'a>(
        &'a self,
        call: &'a QueueEpoch,
        result: Bytes,
    ) -> BoxFuture<'a, Result<bool, FleetError>> {
        let answer = *self.end_answer.lock().unwrap();
        Box::pin(async move {
            self.check_size(&result)?;
            match answer {
                None => self.inner.end_call(call, result).await,
                Some(EndAnswer::Refused) => Ok(false),
                Some(EndAnswer::Away) => Err(away()),
            }
        })
    }

    fn read_call<'a>(
        &'a self,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<(QueuedCall, Bytes)>, FleetError>> {
        Box::pin(async move {
            self.reads.fetch_add(1, Ordering::SeqCst);
            if self.unreadable.lock().unwrap().as_deref() == Some(id) {
                return Err(away());
            }
            let pause = self.read_pause.lock().unwrap().take();
            if let Some(pause) = pause.as_ref().filter(|pause| !pause.is_after) {
                pause.wait().await;
            }
            let take_one = |left: usize| left.checked_sub(1);
            match self.reads_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take_one) {
                Ok(_) => {
                    let read = self.inner.read_call(id).await;
                    if let Some(pause) = pause.as_ref().filter(|pause| pause.is_after) {
                        pause.wait().await;
                    }
                    read
                }
                Err(_) => Err(away()),
            }
        })
    }

    fn find_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<QueuedCall>, FleetError>> {
        Box::pin(async move {
            let found = self.inner.find_call(id).await?;
            Ok(match self.is_late.load(Ordering::SeqCst) {
                true => found.map(|call| QueuedCall { state: CallState::Taken, ..call }),
                false => found,
            })
        })
    }

    fn remove_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, FleetError>> {
        Box::pin(async move {
            if self.fails_to_remove.load(Ordering::SeqCst) {
                Err(away())
            } else {
                self.inner.remove_call(id).await
            }
        })
    }

    fn cancel_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<CallState>, FleetError>> {
        self.inner.cancel_call(id)
    }

    fn list_calls<'a>(
        &'a self,
        states: &'a [CallState],
    ) -> BoxFuture<'a, Result<Vec<QueuedCall>, FleetError>> {
        self.inner.list_calls(states)
    }

    fn purge_calls<'a>(
        &'a self,
        states: &'a [CallState],
    ) -> BoxFuture<'a, Result<Vec<QueuedCall>, FleetError>> {
        self.inner.purge_calls(states)
    }

    fn settle_calls(&self) -> BoxFuture<'_, Result<Vec<QueuedCall>, FleetError>> {
        Box::pin(async {
            self.settled.fetch_add(1, Ordering::SeqCst);
            match self.hangs.is_cancelled() {
                true => std::future::pending().await,
                false => self.inner.settle_calls().await,
            }
        })
    }
}
