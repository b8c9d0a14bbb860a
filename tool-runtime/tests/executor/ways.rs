//! The ways of running the same calls. None of them changes the outcome of a call, so that a test of outcomes
//! runs in [each](each_way).

use std::{cell::RefCell, collections::BTreeMap, ops::Deref, thread};

use tokio::runtime::{Builder, Runtime};
use tool_runtime::{
    CallOutcome, Executor, ToolCall,
    call::{CallAddress, Operation},
    event::{EventKind, EventListener, ToolEvent},
    executor::{Batch, CallStream, ExecutionStrategy, ExecutorBuilder, Finish, StreamItem},
    hook::Hook,
    registry::RegistryBuilder,
};

use super::{building, events, short};

/// The observers of a batch. Only calls without observers are plain, and most of these end alone (`executor/plan.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watch {
    Unwatched,
    Listener,
    Stream,
    Hook,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub(super) watch: Watch,
    pub(super) strategy: ExecutionStrategy,
    pub(super) finish: Finish,
}

/// Runs `body` in each way, on a runtime of each flavour.
pub(super) fn each_way(body: impl AsyncFn(Way)) {
    each_way_paused(&body);
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for way in Way::all() {
        way.run(&runtime, &body);
    }
}

/// Runs `body` in each way, on a runtime whose clock advances only when all tasks are idle.
pub(super) fn each_way_paused(body: impl AsyncFn(Way)) {
    for way in Way::all() {
        way.run(&Builder::new_current_thread().enable_all().start_paused(true).build().unwrap(), &body);
    }
}

/// A hook that changes nothing.
struct Follows;

impl Hook for Follows {}

impl Way {
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for watch in [Watch::Unwatched, Watch::Listener, Watch::Stream, Watch::Hook] {
            for strategy in [
                ExecutionStrategy::Parallel,
                ExecutionStrategy::Sequential,
                ExecutionStrategy::Batched { size: 2 },
            ] {
                for finish in [Finish::InOrder, Finish::AsCompleted] {
                    all.push(Self { watch, strategy, finish });
                }
            }
        }
        all
    }

    fn run(self, runtime: &Runtime, body: &impl AsyncFn(Self)) {
        struct Names(Way);
        impl Drop for Names {
            fn drop(&mut self) {
                if thread::panicking() {
                    eprintln!("failed with: {:?}", self.0);
                }
            }
        }
        let _names = Names(self);
        runtime.block_on(body(self));
    }

    /// The number of calls that run in parallel.
    pub(super) fn size(self) -> usize {
        match self.strategy {
            ExecutionStrategy::Sequential => 1,
            ExecutionStrategy::Batched { size } => size,
            ExecutionStrategy::Parallel => usize::MAX,
        }
    }

    pub(super) fn executor(self, tools: RegistryBuilder) -> Observed {
        self.of(building(tools))
    }

    /// Builds the executor of `builder` in this way.
    pub(super) fn of(self, builder: ExecutorBuilder) -> Observed {
        let builder = builder.strategy(self.strategy).finish(self.finish);
        let builder = if self.watch == Watch::Hook { builder.hook(Follows) } else { builder };
        let executor = builder.build().unwrap();
        let listener = (self.watch == Watch::Listener).then(|| RefCell::new(executor.subscribe()));
        Observed {
            executor,
            way: self,
            listener,
            streamed: RefCell::default(),
            open: RefCell::default(),
            goes_on: RefCell::default(),
        }
    }
}

/// An executor in one of the ways. It checks that each start event of a call has an end event.
pub(super) struct Observed {
    executor: Executor,
    way: Way,
    listener: Option<RefCell<EventListener>>,
    streamed: RefCell<Vec<ToolEvent>>,
    /// The number of calls with an id that have started and not finished.
    open: RefCell<BTreeMap<String, usize>>,
    /// The long-running calls, which may have updates after their batch.
    goes_on: RefCell<Vec<CallAddress>>,
}

impl Deref for Observed {
    type Target = Executor;

    fn deref(&self) -> &Executor {
        &self.executor
    }
}

impl Observed {
    pub(super) async fn run(&self, calls: Vec<ToolCall>) -> Vec<CallOutcome> {
        self.drive(self.batch(calls)).await
    }

    /// Runs `batch`, which belongs to this executor.
    pub(super) async fn drive(&self, batch: Batch) -> Vec<CallOutcome> {
        let outcomes = match self.way.watch {
            Watch::Stream => self.read(batch.stream()).await,
            _ => batch.run().await,
        };
        let goes_on = outcomes.iter().filter_map(|outcome| match outcome {
            CallOutcome::Pending(pending) if matches!(pending.operation, Operation::LongRunning(_)) => {
                Some(&pending.address)
            }
            _ => None,
        });
        self.goes_on.borrow_mut().extend(goes_on.cloned());
        outcomes
    }

    async fn read(&self, mut stream: CallStream) -> Vec<CallOutcome> {
        loop {
            match stream.next().await.unwrap() {
                StreamItem::Event(event) => self.streamed.borrow_mut().push(event),
                StreamItem::Outcomes(outcomes) => return outcomes,
            }
        }
    }

    /// Returns the events since the last call, if events are watched.
    pub(super) fn events(&self) -> Option<Vec<ToolEvent>> {
        let new = match (&self.listener, self.way.watch) {
            (Some(listener), _) => events(&mut listener.borrow_mut()),
            (None, Watch::Stream) => self.streamed.take(),
            _ => return None,
        };
        for event in &new {
            let mut open = self.open.borrow_mut();
            let open = open.entry(event.id().to_string()).or_default();
            match &event.kind {
                // An external call has no other event.
                EventKind::External { .. } => {}
                EventKind::Started { .. } => *open += 1,
                EventKind::Updated { .. } if self.goes_on.borrow().contains(&event.address) => {}
                _ => assert!(*open > 0, "{} of a call that does not run", short(event)),
            }
            if let EventKind::Finished { .. } = event.kind {
                *open -= 1;
            }
        }
        Some(new)
    }

    /// Returns the same events, formatted.
    pub(super) fn texts(&self) -> Option<Vec<String>> {
        Some(self.events()?.iter().map(short).collect())
    }

    /// Checks that the events since the last call are `expected`, if events are watched.
    #[track_caller]
    pub(super) fn assert_told<T: AsRef<str>>(&self, expected: impl IntoIterator<Item = T>) {
        if let Some(told) = self.texts() {
            let expected: Vec<_> = expected.into_iter().map(|it| it.as_ref().to_owned()).collect();
            assert_eq!(told, expected, "{:?}", self.way);
        }
    }

    /// Checks that the events since the last call are the starts and ends of `ids`: each wave starts in order, and then
    /// ends in order or in order of completion.
    #[track_caller]
    pub(super) fn assert_calls_told(&self, ids: &[&str]) {
        let Some(mut told) = self.texts() else { return };
        let mut expected = Vec::new();
        for wave in ids.chunks(self.way.size().min(ids.len())) {
            expected.extend(wave.iter().map(|id| format!("started {id}")));
            let started = expected.len();
            expected.extend(wave.iter().map(|id| format!("finished {id}")));
            if self.way.finish == Finish::AsCompleted && told.len() >= expected.len() {
                expected[started..].sort();
                told[started..expected.len()].sort();
            }
        }
        assert_eq!(told, expected, "{:?}", self.way);
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.events();
        }
    }
}
