//! Executors and their stores of open calls.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tool_runtime::{
    CallOutcome, ErrorKind, RunContext, ToolCall,
    call::{CallAddress, Operation},
    context::ConfirmationAnswer,
    definition::ContentHash,
    executor::ExecutorError,
    open_calls::{
        MemoryOpenCalls, OpenCallError, OpenCallStore, OpenFilter, OpenRecord, OpenStoreError, ProgramKey,
        SharedOpenCallStore,
    },
    policy::ApprovalRequest,
    prelude::*,
};

use super::{
    super::{
        Counter, building, calls, echo, one, texts,
        ways::{Watch, each_way},
    },
    Folder, Ledger, pay,
};

const YES: ConfirmationAnswer = ConfirmationAnswer { confirmed: true, payload: Value::Null };

#[test]
fn a_store_that_outlives_the_process_requires_a_key() {
    let folder = Folder::new();
    let build = || building(Registry::builder()).open_calls(folder.clone());
    let error = build().build().unwrap_err();
    assert_eq!(error, ExecutorError::NoProgramKey);
    assert!(error.to_string().ends_with("set one by `program_key`"));
    assert!(build().program_key(ProgramKey::new([1; 32])).build().is_ok());
    assert!(building(Registry::builder()).open_calls(MemoryOpenCalls::new()).build().is_ok());
}

fn record(run: Option<&str>, call_id: &str, serial: u64) -> OpenRecord {
    record_of([None; 3], run, call_id, serial)
}

/// Returns a record of an app, a user and a session.
fn record_of(owner: [Option<&str>; 3], run: Option<&str>, call_id: &str, serial: u64) -> OpenRecord {
    let address = CallAddress { run: run.map(Into::into), call_id: call_id.into(), serial };
    let tag = ContentHash::of(&address);
    let [app, user, session] = owner;
    let record = json!({
        "address": address, "kind": "external", "openedAtMs": 0, "body": "", "tag": tag,
        "app": app, "user": user, "session": session,
    });
    serde_json::from_value(record).unwrap()
}

// X05
#[test]
fn a_store_lists_records_by_run_or_id_and_removes_each_once() {
    async fn check(store: impl OpenCallStore) {
        let all = [record(Some("r"), "a", 0), record(Some("r"), "b", 1), record(Some("s"), "a", 2)];
        let all = all.into_iter().chain([record(None, "a", 3), record(None, "a", 4)]);
        let all: Vec<_> = all.collect();
        for record in &all {
            store.put(record.clone()).await.unwrap();
            assert_eq!(store.put(record.clone()).await, Err(OpenStoreError::Exists));
        }
        let listed = async |run: Option<&str>, call_id: Option<&str>| {
            let mut filter = OpenFilter::default();
            (filter.run, filter.call_id) = (run.map(Into::into), call_id.map(Into::into));
            let mut serials: Vec<_> =
                store.list(&filter).await.unwrap().iter().map(|it| it.address.serial).collect();
            serials.sort_unstable();
            serials
        };
        assert_eq!(listed(None, None).await, [0, 1, 2, 3, 4]);
        assert_eq!(listed(Some("r"), None).await, [0, 1]);
        assert_eq!(listed(None, Some("a")).await, [0, 2, 3, 4]);
        assert_eq!(listed(Some("r"), Some("a")).await, [0]);
        assert_eq!(listed(Some("s"), Some("b")).await, [0; 0]);
        assert_eq!(listed(Some("t"), None).await, [0; 0]);

        let mut other = all[3].clone();
        other.tag = ContentHash::of("another record of the address");
        assert!(!store.consume(&other).await.unwrap());
        assert_eq!(store.get(&other.address).await.unwrap(), Some(all[3].clone()));
        assert!(store.consume(&all[3]).await.unwrap() && !store.consume(&all[3]).await.unwrap());
        assert_eq!(store.get(&other.address).await.unwrap(), None);
        assert_eq!(listed(None, Some("a")).await, [0, 2, 4]);
        assert!(!store.consume(&record(None, "z", 9)).await.unwrap());

        // The record of another question about the call.
        let mut next = all[0].clone();
        next.tag = ContentHash::of("the next record of the address");
        assert!(!store.replace(&next, next.clone()).await.unwrap());
        assert_eq!(store.get(&next.address).await.unwrap(), Some(all[0].clone()));
        assert!(store.replace(&all[0], next.clone()).await.unwrap());
        assert!(!store.replace(&all[0], next.clone()).await.unwrap());
        assert_eq!(store.get(&next.address).await.unwrap(), Some(next.clone()));
        assert_eq!(listed(Some("r"), Some("a")).await, [0]);
        assert!(!store.consume(&all[0]).await.unwrap() && store.consume(&next).await.unwrap());
        assert!(!store.replace(&next, next.clone()).await.unwrap());
        assert_eq!(listed(None, None).await, [1, 2, 4]);
    }
    crate::run(async {
        check(MemoryOpenCalls::new()).await;
        // It replaces in two steps.
        check(Folder::new()).await;
    });
}

// X05, X06: the calls that wait for a user.
#[test]
fn a_store_lists_records_by_app_user_and_session() {
    async fn check(store: impl OpenCallStore) {
        let owners = [
            [Some("shop"), Some("u-1"), Some("s-1")],
            [Some("shop"), Some("u-1"), Some("s-2")],
            [Some("shop"), Some("u-2"), Some("s-1")],
            [None; 3],
        ];
        for (serial, owner) in (0..).zip(owners) {
            store.put(record_of(owner, Some("r"), "a", serial)).await.unwrap();
        }
        let listed = async |[app, user, session]: [Option<&str>; 3], call_id: Option<&str>| {
            let mut filter = OpenFilter::default();
            (filter.app, filter.user) = (app.map(Into::into), user.map(Into::into));
            (filter.session, filter.call_id) = (session.map(Into::into), call_id.map(Into::into));
            let records = store.list(&filter).await.unwrap();
            let mut serials: Vec<_> = records.iter().map(|it| it.address.serial).collect();
            serials.sort_unstable();
            serials
        };
        for call_id in [None, Some("a")] {
            assert_eq!(listed([None; 3], call_id).await, [0, 1, 2, 3]);
            assert_eq!(listed([Some("shop"), None, None], call_id).await, [0, 1, 2]);
            assert_eq!(listed([Some("bar"), None, None], call_id).await, [0; 0]);
            assert_eq!(listed([None, Some("u-1"), None], call_id).await, [0, 1]);
            assert_eq!(listed([None, None, Some("s-1")], call_id).await, [0, 2]);
            assert_eq!(listed([Some("shop"), Some("u-1"), Some("s-2")], call_id).await, [1]);
            assert_eq!(listed([None, Some("u-2"), Some("s-2")], call_id).await, [0; 0]);
        }
    }
    crate::run(async {
        check(MemoryOpenCalls::new()).await;
        check(Folder::new()).await;
    });
}

// D02: addresses are unique across the processes that share a store.
#[test]
fn serial_numbers_of_two_executors_differ_with_any_store() {
    crate::run(async {
        let serial = async |builder: tool_runtime::executor::ExecutorBuilder| {
            let outcomes = builder.build().unwrap().run(calls(&["wipe"])).await;
            outcomes[0].address().unwrap().serial
        };
        let counter = Counter::default();
        let own = [serial(wiping(&counter)).await, serial(wiping(&counter)).await];
        assert!(own[0] > 1 << 14 && own[0] != own[1], "{own:?}");
        let in_memory = || wiping(&counter).open_calls(MemoryOpenCalls::new());
        let in_memory = [serial(in_memory()).await, serial(in_memory()).await];
        assert!(in_memory[0] > 1 << 14 && in_memory[0] != in_memory[1], "{in_memory:?}");
        let folder = Folder::new();
        let durable = || wiping(&counter).open_calls(folder.clone()).program_key(ProgramKey::new([1; 32]));
        let (first, second) = (serial(durable()).await, serial(durable()).await);
        assert!(first > 1 << 14 && second > 1 << 14 && first != second, "{first} {second}");
    });
}

// I17
#[test]
fn a_changed_tool_cannot_read_secret_arguments_in_memory() {
    let changed = {
        /// Runs as a long-running call, and shows its arguments.
        #[tool(register = false, long_running)]
        fn sync(token: String) -> ToolOutput {
            ToolOutput::from(token)
        }
        Registry::builder().tool::<sync>()
    };
    crate::run(async {
        let store = SharedOpenCallStore::new(MemoryOpenCalls::new());
        let of = |tools| building(tools).open_calls(store.clone()).build().unwrap();
        let executor = of(Registry::builder().tool::<sync>());
        let outcomes = executor.run(one("sync", r#"{"token":"hunter2"}"#)).await;
        let address = outcomes[0].address().unwrap();
        let refused = OpenCallError::SecretsUnavailable(address.into());
        assert_eq!(of(changed).open_arguments(address).await.unwrap_err(), refused);
        assert_eq!(of(Registry::builder()).open_arguments(address).await.unwrap_err(), refused);
        assert!(executor.open_arguments(address).await.unwrap().as_str().contains("hunter2"));
        // Where none is secret, they are what they were.
        let outcomes = of(Registry::builder().tool::<start>()).run(one("start", "{}")).await;
        let plain = of(Registry::builder()).open_arguments(outcomes[0].address().unwrap()).await;
        assert_eq!(plain.unwrap().as_str(), "{}");
    });
}

/// Requires confirmation.
#[tool(register = false, confirm)]
fn wipe(counter: &Counter) -> String {
    counter.count();
    "wiped".to_owned()
}

/// Runs as a long-running call.
#[tool(register = false, long_running)]
pub(super) fn start() -> ToolOutput {
    ToolOutput::from("started").with_operation_id("job-7")
}

pub(super) fn wiping(counter: &Counter) -> tool_runtime::executor::ExecutorBuilder {
    let tools = Registry::builder().tool::<wipe>().tool::<start>().tool::<echo>();
    building(tools.provide(counter.clone())).external(|call| call.tool() == "echo")
}

// X05, I20: in another executor and another run.
#[test]
fn executors_that_share_a_store_answer_each_others_calls_once() {
    each_way(async |way| {
        let (counter, store) = (Counter::default(), SharedOpenCallStore::new(MemoryOpenCalls::new()));
        let first = way.of(wiping(&counter).open_calls(store.clone()));
        let second = way.of(wiping(&counter).open_calls(store.clone()));
        // The same id in two executors.
        let at = [first.run(calls(&["wipe"])).await, second.run(calls(&["wipe"])).await];
        let at = at.map(|outcomes| outcomes[0].address().unwrap().clone());
        assert_ne!(at[0], at[1]);
        assert_eq!(first.open_calls().await.unwrap().len(), 2);

        let batch = second.resume([(&at[0], YES)]).await.unwrap();
        let same = first.resume([(&at[0], YES)]).await.unwrap();
        assert_eq!(texts(&second.drive(batch).await), ["wiped"]);
        let lost = texts(&first.drive(same).await);
        assert_eq!(lost, [format!("Denied: {}", OpenCallError::NotOpen((&at[0]).into()))]);
        assert_eq!(counter.get(), 1);
        // An executor of other tools shares the store.
        let derived = first.with_tools(first.tools().clone()).unwrap();
        let outcomes = derived.resume([(&at[1], YES)]).await.unwrap().run().await;
        assert_eq!((texts(&outcomes), counter.get()), (vec!["wiped".to_owned()], 2));

        let outcomes = first.run(one("echo", r#"{"text":"a"}"#)).await;
        let address = outcomes[0].address().unwrap();
        assert_eq!(second.submit_result(address, Ok("done".into())).await.unwrap().text(), "done");
        let again = first.submit_result(address, Ok("again".into())).await.unwrap_err();
        assert_eq!(again, OpenCallError::NotOpen(address.into()));
    });
}

// X05, I20: calls of several runs in a shared store may have the same id.
#[test]
fn an_id_does_not_identify_a_call_in_a_shared_store() {
    each_way(async |way| {
        let (counter, store) = (Counter::default(), SharedOpenCallStore::new(MemoryOpenCalls::new()));
        let executor = way.of(wiping(&counter).open_calls(store));
        let run = |names| executor.drive(executor.batch(calls(names)).with_run(RunContext::new()));
        let (closed, open) = (run(&["wipe"]).await, run(&["wipe", "start", "echo"]).await);
        executor.discard(closed[0].address().unwrap()).await.unwrap();
        // A late answer would reach the call of the other run.
        let refused = |id: &str| OpenCallError::NeedsAddress(id.into());
        assert_eq!(executor.resume([("0", YES)]).await.unwrap_err(), refused("0"));
        assert_eq!(executor.discard("0").await.unwrap_err(), refused("0"));
        assert_eq!(executor.open_arguments("0").await.unwrap_err(), refused("0"));
        assert_eq!(executor.update("1", "half".into()).await.unwrap_err(), refused("1"));
        let error = executor.submit_result("2", Ok("late".into())).await.unwrap_err();
        assert_eq!(error, refused("2"));
        let says = "the id 2 does not identify a call in a shared store; refer to the call by its \
                    `CallAddress` or its `ApprovalRequest`";
        assert_eq!(error.to_string(), says);
        assert_eq!((executor.open_calls().await.unwrap().len(), counter.get()), (3, 0));
        let [wipe, start, echo] = [0, 1, 2].map(|n: usize| open[n].address().unwrap());
        let resumed = executor.resume([(wipe, YES)]).await.unwrap();
        assert_eq!(texts(&executor.drive(resumed).await), ["wiped"]);
        executor.discard(start).await.unwrap();
        assert!(executor.submit_result(echo, Ok("done".into())).await.is_ok());
    });
}

// I20: a call stays open until its body starts.
#[test]
fn a_call_is_closed_by_its_answer_and_not_before() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.of(wiping(&counter));
        executor.run(calls(&["wipe"])).await;
        let one_batch = executor.resume([("0", YES)]).await.unwrap();
        let no = ConfirmationAnswer { confirmed: false, payload: Value::Null };
        let other = executor.resume([("0", no)]).await.unwrap();
        assert_eq!(executor.open_calls().await.unwrap().len(), 1);
        assert_eq!(texts(&executor.drive(other).await), [r#"Denied: the "wipe" call is rejected"#]);
        assert!(executor.open_calls().await.unwrap().is_empty());
        let lost = executor.drive(one_batch).await;
        assert_eq!(lost[0].result().unwrap().outcome.as_ref().unwrap_err().kind(), ErrorKind::Denied);
        assert_eq!(counter.get(), 0);
    });
}

#[test]
fn an_expired_call_is_refused_as_expired() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.of(wiping(&counter).open_calls_expire(Duration::ZERO));
        let outcomes = executor.run(calls(&["wipe", "start", "echo"])).await;
        assert!(executor.open_calls().await.unwrap().is_empty());
        let address = outcomes[0].address().unwrap();
        for call in [tool_runtime::open_calls::CallRef::from(address), "0".into()] {
            let error = executor.resume([(call.clone(), YES)]).await.unwrap_err();
            assert!(matches!(&error, OpenCallError::Expired { call: it, .. } if *it == call), "{error}");
            let start = format!("the call {call} expired 0ns ago");
            assert!(error.to_string().starts_with(&start), "{error}");
        }
        for id in ["1", "2"] {
            let error = executor.submit_result(id, Ok("late".into())).await.unwrap_err();
            assert!(matches!(error, OpenCallError::Expired { .. }), "{error}");
        }
        executor.discard("0").await.unwrap();
        assert_eq!(executor.discard("0").await.unwrap_err(), OpenCallError::NotOpen("0".into()));
        assert_eq!(counter.get(), 0);
    });
}

// I20: a question contains its expiry.
#[test]
fn a_question_has_the_expiry_of_its_call() {
    let asked = |after: Option<Duration>| -> ApprovalRequest {
        let executor = wiping(&Counter::default()).open_calls_expire(after).build().unwrap();
        let outcomes = crate::run(executor.run(calls(&["wipe"])));
        let CallOutcome::Pending(pending) = &outcomes[0] else { panic!("{outcomes:?}") };
        let Operation::Confirmation(request) = &pending.operation else { panic!("{pending:?}") };
        (**request).clone()
    };
    assert_eq!(asked(None).expires_at, None);
    let end = asked(Some(Duration::from_secs(3600))).expires_at.unwrap();
    let left = end.duration_since(std::time::SystemTime::now()).unwrap().as_secs();
    assert!((3000..=3600).contains(&left), "{left}");
}

#[test]
fn a_call_that_exceeds_the_store_has_an_error() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.of(wiping(&counter).open_calls(MemoryOpenCalls::new().at_most(1)));
        let first = executor.run(calls(&["wipe"])).await;
        let outcomes = executor.run(calls(&["wipe", "start", "echo"])).await;
        let full = "Tool unavailable: the call cannot be kept open for its answer: the limit of 1 open calls is \
                    reached; answer or discard some of them";
        assert_eq!(texts(&outcomes), [full; 3]);
        assert!(outcomes.iter().all(CallOutcome::is_finished));
        executor.discard(first[0].address().unwrap()).await.unwrap();
        assert!(!executor.run(calls(&["wipe"])).await[0].is_finished());
        assert_eq!(counter.get(), 0);
    });
}

#[test]
fn the_memory_store_removes_expired_calls_when_it_is_full() {
    crate::run(async {
        let (counter, store) =
            (Counter::default(), SharedOpenCallStore::new(MemoryOpenCalls::new().at_most(1)));
        let expiring = wiping(&counter).open_calls(store.clone()).open_calls_expire(Duration::ZERO);
        let expiring = expiring.build().unwrap();
        let executor = wiping(&counter).open_calls(store).open_calls_expire(None).build().unwrap();
        for _ in 0..3 {
            assert!(!expiring.run(calls(&["wipe"])).await[0].is_finished());
        }
        assert!(!executor.run(calls(&["wipe"])).await[0].is_finished());
        assert!(executor.run(calls(&["wipe"])).await[0].is_finished());
    });
}

// X11
#[test]
fn a_long_running_call_has_any_number_of_intermediate_results_and_one_final_result() {
    each_way(async |way| {
        let executor = way.of(wiping(&Counter::default()));
        executor.run(calls(&["start", "wipe", "echo"])).await;
        executor.events();
        for text in ["a tenth", "the half"] {
            let result = executor.update("0", text.into()).await.unwrap();
            assert_eq!(
                (result.id.to_string().as_str(), &*result.name, &*result.text()),
                ("0", "start", text)
            );
        }
        // The stream of the batch has ended.
        if way.watch == Watch::Listener {
            executor.assert_told(["updated 0", "updated 0"]);
        }
        assert_eq!(executor.submit_result("0", Ok("all".into())).await.unwrap().text(), "all");
        let late = executor.update("0", "more".into()).await.unwrap_err();
        assert_eq!(late, OpenCallError::NotOpen("0".into()));
        let waits = executor.update("1", "x".into()).await.unwrap_err();
        assert_eq!(waits, OpenCallError::WaitsForPerson("1".into()));
        let external = executor.update("2", "x".into()).await.unwrap_err();
        assert_eq!(external, OpenCallError::NotLongRunning("2".into()));
    });
}

/// A store that fails in one of its methods.
struct Broken(&'static str, MemoryOpenCalls);

impl Broken {
    fn fails(&self, method: &str) -> Result<(), OpenStoreError> {
        match self.0.strip_suffix(method) {
            Some("panic ") => panic!("boom"),
            Some(_) => Err(OpenStoreError::Failed("no connection".to_owned())),
            None => Ok(()),
        }
    }
}

impl OpenCallStore for Broken {
    fn outlives_process(&self) -> bool {
        false
    }

    async fn put(&self, record: OpenRecord) -> Result<(), OpenStoreError> {
        self.fails("put")?;
        self.1.put(record).await
    }

    async fn get(&self, address: &CallAddress) -> Result<Option<OpenRecord>, OpenStoreError> {
        self.fails("get")?;
        self.1.get(address).await
    }

    async fn list(&self, filter: &OpenFilter) -> Result<Vec<OpenRecord>, OpenStoreError> {
        self.fails("list")?;
        self.1.list(filter).await
    }

    async fn consume(&self, record: &OpenRecord) -> Result<bool, OpenStoreError> {
        self.fails("consume")?;
        self.1.consume(record).await
    }

    async fn replace(&self, record: &OpenRecord, replacement: OpenRecord) -> Result<bool, OpenStoreError> {
        self.fails("replace")?;
        self.1.replace(record, replacement).await
    }
}

// A call does not run if it may have run before.
#[test]
fn a_store_that_fails_or_panics_is_an_error_and_runs_no_call() {
    each_way(async |way| {
        for (how, why) in [("", "no connection"), ("panic ", "the store of open calls panicked: boom")] {
            let broken = |method: &str| -> &'static str { format!("{how}{method}").leak() };
            let counter = Counter::default();
            let with =
                |method| way.of(wiping(&counter).open_calls(Broken(broken(method), MemoryOpenCalls::new())));
            let put = with("put").run(calls(&["wipe", "start", "echo"])).await;
            // The message of a store, which may contain its location, is only for logs.
            assert_eq!(texts(&put), ["Tool unavailable: the call cannot be kept open for its answer"; 3]);
            let error = put[0].result().unwrap().outcome.as_ref().unwrap_err();
            assert!(error.to_string().contains(why), "{error}");

            let failed = OpenCallError::Store(OpenStoreError::Failed(why.to_owned()));
            let executor = with("consume");
            let outcomes = executor.run(calls(&["wipe", "echo"])).await;
            let [wipe, echo] = [0, 1].map(|n: usize| outcomes[n].address().unwrap());
            let batch = executor.resume([(wipe, YES)]).await.unwrap();
            let outcomes = executor.drive(batch).await;
            assert_eq!(texts(&outcomes), ["Tool unavailable: the store of open calls failed"]);
            assert_eq!(executor.submit_result(echo, Ok("x".into())).await.unwrap_err(), failed);
            assert_eq!(executor.open_calls().await.unwrap().len(), 2);

            let executor = with("replace");
            let outcomes = executor.run(calls(&["start"])).await;
            let start = outcomes[0].address().unwrap().clone();
            let output = ToolOutput::from("started again").with_operation_id("job-8");
            assert_eq!(executor.update(&start, output).await.unwrap_err(), failed);
            assert_eq!(executor.open_operation(&start).await.unwrap().as_deref(), Some("job-7"));
            let outcomes = executor.drive(executor.continue_calls([start.clone()]).await.unwrap()).await;
            assert_eq!(texts(&outcomes), ["Tool unavailable: the store of open calls failed"]);
            // It has its answer.
            assert!(executor.open_calls().await.unwrap().is_empty());

            let executor = with("list");
            let outcomes = executor.run(calls(&["wipe"])).await;
            assert_eq!(executor.open_calls().await.unwrap_err(), failed);
            assert!(executor.resume([(outcomes[0].address().unwrap(), YES)]).await.is_ok());
            assert_eq!(counter.get(), 0);
        }
    });
}

// I20: calls that were opened with the previous key.
#[test]
fn open_calls_survive_a_change_of_the_key() {
    crate::run(async {
        let (counter, store) = (Counter::default(), SharedOpenCallStore::new(MemoryOpenCalls::new()));
        let with = |key| wiping(&counter).open_calls(store.clone()).program_key(key).build().unwrap();
        let opened = with(ProgramKey::new([1; 32])).run(calls(&["wipe"])).await;
        let old = opened[0].address().unwrap();
        let changed = with(ProgramKey::new([2; 32]));
        assert_eq!(changed.resume([(old, YES)]).await.unwrap_err(), OpenCallError::Altered(old.into()));
        let both = with(ProgramKey::new([2; 32]).with_previous([1; 32]));
        assert_eq!(texts(&both.resume([(old, YES)]).await.unwrap().run().await), ["wiped"]);
        // New calls are opened with the new key.
        let opened = both.run(calls(&["wipe"])).await;
        let new = opened[0].address().unwrap();
        assert_eq!(texts(&changed.resume([(new, YES)]).await.unwrap().run().await), ["wiped"]);
    });
}

/// Logs in externally.
#[tool(register = false)]
fn login(user: String, #[arg(secret)] password: String) -> String {
    user + &password
}

/// Runs as a long-running call with a secret.
#[tool(register = false, long_running)]
fn sync(#[arg(secret)] token: String) -> ToolOutput {
    ToolOutput::from(format!("{} letters", token.len()))
}

// X01, X10, I15: outcomes and open calls can be stored without redaction.
#[test]
fn outcomes_and_open_calls_contain_no_secret_and_the_program_can_read_the_arguments() {
    each_way(async |way| {
        let tools = Registry::builder().tool::<login>().tool::<sync>().tool::<pay>();
        let tools = tools.provide(Ledger(std::path::PathBuf::new()));
        let executor = way.of(building(tools).external(|call| call.tool() == "login"));
        let arguments = [
            r#"{"user":"ada","password":"hunter2"}"#,
            r#"{"token":"hunter2"}"#,
            r#"{"amount":7,"pin":"hunter2"}"#,
        ];
        let call = |(name, text): (&str, &str)| ToolCall::new(name, text.to_owned());
        let named = ["login", "sync", "pay"].into_iter().zip(arguments);
        let outcomes = executor.run(named.map(call).collect()).await;
        let stored = serde_json::to_string(&outcomes).unwrap();
        let open = executor.open_calls().await.unwrap();
        let listed = serde_json::to_string(&open).unwrap();
        for text in [stored, listed, format!("{outcomes:?} {open:?}")] {
            assert!(!text.contains("hunter2"), "{text}");
        }
        assert!(outcomes.iter().all(|outcome| !outcome.is_finished()) && open.len() == 3);
        for (outcome, text) in outcomes.iter().zip(arguments) {
            let address = outcome.address().unwrap();
            assert_eq!(executor.open_arguments(address).await.unwrap().as_str(), text);
        }
        assert!(executor.open_arguments("nothing").await.is_err());
    });
}

/// A store in memory that shows the bodies of its records.
struct Shown(MemoryOpenCalls, Arc<Mutex<Vec<String>>>);

impl OpenCallStore for Shown {
    fn outlives_process(&self) -> bool {
        self.0.outlives_process()
    }

    async fn put(&self, record: OpenRecord) -> Result<(), OpenStoreError> {
        self.1.lock().unwrap().push(record.body.clone());
        self.0.put(record).await
    }

    async fn get(&self, address: &CallAddress) -> Result<Option<OpenRecord>, OpenStoreError> {
        self.0.get(address).await
    }

    async fn list(&self, filter: &OpenFilter) -> Result<Vec<OpenRecord>, OpenStoreError> {
        self.0.list(filter).await
    }

    async fn consume(&self, record: &OpenRecord) -> Result<bool, OpenStoreError> {
        self.0.consume(record).await
    }
}

// I17, X05: not even encrypted ones, which only a store outside of the process needs.
#[test]
fn records_in_memory_contain_no_secret_arguments() {
    crate::run(async {
        let bodies = Arc::default();
        let store = Shown(MemoryOpenCalls::new(), Arc::clone(&bodies));
        let executor = building(Registry::builder().tool::<sync>()).open_calls(store).build().unwrap();
        let outcomes = executor.run(one("sync", r#"{"token":"hunter2"}"#)).await;
        let bodies = std::mem::take(&mut *bodies.lock().unwrap());
        let bodies: Vec<Value> = bodies.iter().map(|body| serde_json::from_str(body).unwrap()).collect();
        assert_eq!(bodies.iter().map(|body| &body["secret"]).collect::<Vec<_>>(), ["local"]);
        let arguments = executor.open_arguments(outcomes[0].address().unwrap()).await.unwrap();
        assert_eq!(arguments.as_str(), r#"{"token":"hunter2"}"#);
    });
}

#[test]
fn a_call_that_cannot_be_read_back_is_not_stored() {
    /// Asks with a payload that exceeds the nesting limit of a store.
    #[tool(register = false)]
    fn deep(cx: &ToolContext) -> Result<String, ToolError> {
        let payload = (0..500).fold(json!(1), |inner, _| json!([inner]));
        Err(cx.request_confirmation("Really?", payload))
    }
    each_way(async |way| {
        let executor = way.executor(Registry::builder().tool::<deep>());
        let outcomes = executor.run(calls(&["deep"])).await;
        let text = texts(&outcomes).concat();
        assert!(text.contains("cannot be kept open for its answer: recursion limit exceeded"), "{text}");
        assert!(outcomes[0].is_finished() && executor.open_calls().await.unwrap().is_empty());
    });
}

// Without the feature `sealed-calls`.
#[cfg(not(feature = "sealed-calls"))]
#[test]
fn a_call_with_secrets_is_not_stored_outside_of_the_process() {
    crate::run(async {
        let folder = Folder::new();
        let outcomes = super::executor(&folder).run(one("pay", super::PAY)).await;
        let text = texts(&outcomes).concat();
        assert!(text.contains("it has secret arguments, and this build cannot encrypt them"), "{text}");
        assert!(text.contains("enable the feature `sealed-calls`"), "{text}");
        assert!(folder.files(None).unwrap().is_empty() && super::payments(&folder) == 0);
    });
}
