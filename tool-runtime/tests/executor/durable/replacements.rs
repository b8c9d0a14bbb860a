//! Calls that stay open: their records are replaced.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use tokio::sync::Notify;
use tool_runtime::{
    CallOutcome,
    call::{CallAddress, Operation},
    context::ConfirmationAnswer,
    open_calls::{
        MemoryOpenCalls, OpenCallError, OpenCallStore, OpenFilter, OpenRecord, OpenStoreError,
        SharedOpenCallStore,
    },
    prelude::*,
};

use super::{
    super::{Counter, building, calls, texts, ways::each_way},
    stores::{start, wiping},
};

const YES: ConfirmationAnswer = ConfirmationAnswer { confirmed: true, payload: Value::Null };

/// A store in memory that notes its changes.
struct Noting(MemoryOpenCalls, Arc<Mutex<Vec<&'static str>>>);

impl Noting {
    fn note(&self, change: &'static str) {
        self.1.lock().unwrap().push(change);
    }
}

impl OpenCallStore for Noting {
    fn outlives_process(&self) -> bool {
        false
    }

    async fn put(&self, record: OpenRecord) -> Result<(), OpenStoreError> {
        self.note("put");
        self.0.put(record).await
    }

    async fn get(&self, address: &CallAddress) -> Result<Option<OpenRecord>, OpenStoreError> {
        self.0.get(address).await
    }

    async fn list(&self, filter: &OpenFilter) -> Result<Vec<OpenRecord>, OpenStoreError> {
        self.0.list(filter).await
    }

    async fn consume(&self, record: &OpenRecord) -> Result<bool, OpenStoreError> {
        self.note("consume");
        self.0.consume(record).await
    }

    async fn replace(&self, record: &OpenRecord, replacement: OpenRecord) -> Result<bool, OpenStoreError> {
        self.note("replace");
        self.0.replace(record, replacement).await
    }
}

/// Requires confirmation, and wipes more than before.
#[tool(register = false, name = "wipe", confirm)]
fn wipe_more() -> &'static str {
    "wiped more"
}

// X05, X10: a process that ends between two steps would lose the call.
#[test]
fn the_record_of_a_call_that_stays_open_is_replaced_in_one_step() {
    each_way(async |way| {
        let (counter, changes) = (Counter::default(), Arc::default());
        let store = SharedOpenCallStore::new(Noting(MemoryOpenCalls::new(), Arc::clone(&changes)));
        let before = way.of(wiping(&counter).open_calls(store.clone()));
        let outcomes = before.run(calls(&["wipe", "start"])).await;
        let [wipe, start] = [0, 1].map(|n: usize| outcomes[n].address().unwrap().clone());

        let tools = Registry::builder().tool::<wipe_more>().tool::<start>();
        let after = way.of(building(tools).open_calls(store.clone()));
        // Its tool has changed, so that a person is asked again.
        let asked_again = after.drive(after.resume([(&wipe, YES)]).await.unwrap()).await;
        let CallOutcome::Pending(pending) = &asked_again[0] else { panic!("{asked_again:?}") };
        let Operation::Confirmation(question) = &pending.operation else { panic!("{pending:?}") };
        // Its body continues its work.
        let continued = after.drive(after.continue_calls([start.clone()]).await.unwrap()).await;
        assert!(!continued[0].is_finished());
        let output = ToolOutput::from("started again").with_operation_id("job-8");
        after.update(&start, output).await.unwrap();
        assert_eq!(
            std::mem::take(&mut *changes.lock().unwrap()),
            ["put", "put", "replace", "replace", "replace"]
        );

        let wiped = after.drive(after.resume([(&**question, YES)]).await.unwrap()).await;
        assert_eq!(texts(&wiped), ["wiped more"]);
        after.submit_result(&start, Ok("built".into())).await.unwrap();
        assert_eq!(*changes.lock().unwrap(), ["consume"; 2]);
    });
}

/// A store in memory that waits once before it removes or replaces a record.
struct Waiting {
    calls: MemoryOpenCalls,
    /// The change before which it waits, how often, and the signals of that.
    waits: Arc<(&'static str, AtomicUsize, Notify, Notify)>,
}

impl Waiting {
    async fn wait_before(&self, change: &str) {
        let (waits, left, reached, go_on) = &*self.waits;
        if change == *waits && left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
            reached.notify_one();
            go_on.notified().await;
        }
    }
}

impl OpenCallStore for Waiting {
    fn outlives_process(&self) -> bool {
        false
    }

    async fn put(&self, record: OpenRecord) -> Result<(), OpenStoreError> {
        self.calls.put(record).await
    }

    async fn get(&self, address: &CallAddress) -> Result<Option<OpenRecord>, OpenStoreError> {
        self.calls.get(address).await
    }

    async fn list(&self, filter: &OpenFilter) -> Result<Vec<OpenRecord>, OpenStoreError> {
        self.calls.list(filter).await
    }

    async fn consume(&self, record: &OpenRecord) -> Result<bool, OpenStoreError> {
        self.wait_before("consume").await;
        self.calls.consume(record).await
    }

    async fn replace(&self, record: &OpenRecord, replacement: OpenRecord) -> Result<bool, OpenStoreError> {
        self.wait_before("replace").await;
        self.calls.replace(record, replacement).await
    }
}

fn job(operation: &str) -> ToolOutput {
    ToolOutput::from("started").with_operation_id(operation.to_owned())
}

// X10: its record is replaced between the two steps of an answer.
#[test]
fn an_answer_reaches_a_call_whose_work_goes_on_elsewhere_at_the_same_time() {
    each_way(async |way| {
        for change in ["consume", "replace"] {
            let waits = Arc::new((change, AtomicUsize::new(1), Notify::new(), Notify::new()));
            let store = Waiting { calls: MemoryOpenCalls::new(), waits: Arc::clone(&waits) };
            let executor = way.of(building(Registry::builder().tool::<start>()).open_calls(store));
            let outcomes = executor.run(calls(&["start"])).await;
            let start = outcomes[0].address().unwrap();
            let answering = async {
                match change {
                    "consume" => drop(executor.submit_result(start, Ok("built".into())).await.unwrap()),
                    _ => drop(executor.update(start, job("job-9")).await.unwrap()),
                }
            };
            let moving = async {
                waits.2.notified().await;
                executor.update(start, job("job-8")).await.unwrap();
                waits.3.notify_one();
            };
            tokio::join!(answering, moving);
            let operation = executor.open_operation(start).await;
            match change {
                "consume" => assert_eq!(operation.unwrap_err(), OpenCallError::NotOpen(start.into())),
                _ => assert_eq!(operation.unwrap().as_deref(), Some("job-9")),
            }
        }
    });
}

/// Starts work, and has its result once a signal comes.
#[tool(register = false)]
async fn build(told: &Notify, counter: &Counter) -> ToolOutput {
    if counter.count() == 1 {
        return job("job-7");
    }
    told.notified().await;
    ToolOutput::from("built")
}

// X10: the body continues, and meanwhile its work moves to another operation.
#[test]
fn a_call_whose_body_continues_is_answered_by_its_end_whatever_its_operation_is() {
    each_way(async |way| {
        let (told, counter) = (Arc::new(Notify::new()), Counter::default());
        let tools =
            Registry::builder().tool::<build>().provide_shared(Arc::clone(&told)).provide(counter.clone());
        let executor = way.of(building(tools));
        let outcomes = executor.run(calls(&["build"])).await;
        let build = outcomes[0].address().unwrap();
        let batch = executor.continue_calls([build.clone()]).await.unwrap();
        let moving = async {
            while counter.get() < 2 {
                tokio::task::yield_now().await;
            }
            executor.update(build, job("job-8")).await.unwrap();
            told.notify_one();
        };
        let (outcomes, ()) = tokio::join!(executor.drive(batch), moving);
        assert!(outcomes[0].is_finished(), "{outcomes:?}");
        assert!(executor.open_calls().await.unwrap().is_empty());
    });
}
