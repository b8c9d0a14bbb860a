//! Addresses of open calls.

use std::sync::{Arc, Mutex};

use tool_runtime::{
    CallOutcome, ErrorKind, Executor, RunContext, ToolCall,
    call::{CallAddress, Operation},
    context::ConfirmationAnswer,
    event::EventKind,
    executor::{ExecutionStrategy, ExecutorBuilder},
    open_calls::{CallRef, OpenCall, OpenCallError},
    policy::{Approval, ApprovalRequest, RetryPolicy},
    prelude::*,
};

use super::{On, answered, building, events, one, texts, ways::each_way};

/// Pays.
#[tool(register = false, confirm)]
fn pay(amount: u32, cx: &ToolContext) -> String {
    format!("paid {amount}: {}", cx.approval().map_or(Value::Null, |answer| answer.payload.clone()))
}

/// Asks by itself.
#[tool(register = false)]
fn ask(amount: u32, cx: &ToolContext) -> Result<String, ToolError> {
    match cx.confirmation() {
        None => Err(cx.request_confirmation("Really?", Value::Null)),
        Some(answer) => Ok(format!("asked {amount}: {}", answer.payload)),
    }
}

/// Runs elsewhere.
#[tool(register = false)]
fn elsewhere(amount: u32) {
    let _ = amount;
}

/// Runs as a long-running call.
#[tool(register = false, long_running)]
fn start(amount: u32) -> ToolOutput {
    ToolOutput::from(format!("started {amount}"))
}

fn executor(settings: impl FnOnce(ExecutorBuilder) -> ExecutorBuilder) -> Executor {
    let tools = Registry::builder().tool::<pay>().tool::<ask>().tool::<elsewhere>().tool::<start>();
    let builder = building(tools).external(|call| call.tool() == "elsewhere");
    settings(builder).build().unwrap()
}

/// Calls with the same id and different amounts.
fn same(names: &[&str]) -> Vec<ToolCall> {
    let call = |(at, name): (usize, &&str)| ToolCall::new(*name, json!({ "amount": at })).with_id("call_1");
    names.iter().enumerate().map(call).collect()
}

fn addresses(outcomes: &[CallOutcome]) -> Vec<CallAddress> {
    outcomes.iter().map(|outcome| outcome.address().unwrap().clone()).collect()
}

fn says(payload: impl Into<Value>) -> ConfirmationAnswer {
    ConfirmationAnswer { confirmed: true, payload: payload.into() }
}

const STRATEGIES: [ExecutionStrategy; 4] = [
    ExecutionStrategy::Sequential,
    ExecutionStrategy::Parallel,
    ExecutionStrategy::Batched { size: 2 },
    ExecutionStrategy::Batched { size: 3 },
];

// I19, I20, X05, X11: under each strategy, watched or not.
#[test]
fn an_answer_by_address_reaches_its_call_among_calls_with_the_same_id() {
    for strategy in STRATEGIES {
        for is_watched in [false, true] {
            let executor = executor(|builder| match is_watched {
                true => builder.strategy(strategy).hook(On::finished(|_, _| ())),
                false => builder.strategy(strategy),
            });
            let _listener = is_watched.then(|| executor.subscribe());
            let names = ["pay", "elsewhere", "ask", "pay", "start", "elsewhere", "ask"];
            let outcomes = crate::run(executor.run(same(&names)));
            let at = addresses(&outcomes);
            assert!((0..).zip(&at).all(|(n, address)| address.serial == at[0].serial + n), "{at:?}");
            let open: Vec<_> = crate::now(executor.open_calls())
                .unwrap()
                .iter()
                .map(|open| open.address().clone())
                .collect();
            assert_eq!(open, at);

            // The id is ambiguous, so that an answer by id is refused and changes nothing.
            let ambiguous = OpenCallError::Ambiguous { id: "call_1".into(), addresses: at.clone() };
            assert_eq!(
                crate::now(executor.submit_result("call_1", Ok("lost".into()))).unwrap_err(),
                ambiguous
            );
            assert_eq!(crate::now(executor.resume([("call_1", says(0))])).unwrap_err(), ambiguous);
            assert_eq!(crate::now(executor.discard("call_1")).unwrap_err(), ambiguous);
            assert_eq!(crate::now(executor.open_calls()).unwrap().len(), 7);

            let answered = |at: &CallAddress, text: &str| {
                crate::now(executor.submit_result(at, Ok(text.into()))).unwrap()
            };
            assert_eq!(answered(&at[5], "second").text(), "second");
            assert_eq!(answered(&at[4], "built").name.as_ref(), "start");
            // All at once, in any order.
            let answers = [6, 0, 3, 2].map(|n| (&at[n], says(format!("answer {n}"))));
            let batch = crate::now(executor.resume(answers)).unwrap();
            assert_eq!(
                texts(&crate::run(batch.run())),
                [
                    r#"paid 0: "answer 0""#,
                    r#"asked 2: "answer 2""#,
                    r#"paid 3: "answer 3""#,
                    r#"asked 6: "answer 6""#
                ]
            );
            // One call is left, so that its id is unambiguous.
            let [OpenCall::External(call, left)] = &crate::now(executor.open_calls()).unwrap()[..] else {
                panic!()
            };
            assert_eq!((call.arguments.to_value().unwrap(), left), (json!({ "amount": 1 }), &at[1]));
            assert_eq!(
                crate::now(executor.submit_result("call_1", Ok("first".into()))).unwrap().text(),
                "first"
            );
            // Each answer counts once.
            let again = crate::now(executor.submit_result(&at[1], Ok("again".into()))).unwrap_err();
            assert_eq!(again, OpenCallError::NotOpen(CallRef::Address(at[1].clone())));
            assert_eq!(
                again.to_string(),
                format!(
                    "no call {} is open: there was none at this address, or it was answered before",
                    at[1]
                )
            );
        }
    }
}

// I15, X01
#[test]
fn every_open_call_carries_its_address() {
    let executor = executor(|builder| builder);
    let mut listener = executor.subscribe();
    let run = Arc::new(RunContext::new());
    let calls = same(&["pay", "elsewhere", "start"]);
    let outcomes = crate::run(executor.batch(calls).with_run(Arc::clone(&run)).run());
    let CallOutcome::Pending(pending) = &outcomes[0] else { panic!() };
    let address = |n| CallAddress {
        run: Some(run.id().clone()),
        call_id: "call_1".into(),
        serial: pending.address.serial + n,
    };
    let Operation::Confirmation(request) = &pending.operation else { panic!() };
    assert_eq!((&pending.address, &request.address), (&address(0), &address(0)));
    let asked = events(&mut listener).into_iter().find_map(|event| match event.kind {
        EventKind::ApprovalRequested { request } => Some(request),
        _ => None,
    });
    assert_eq!(asked.unwrap().address, address(0));
    let CallOutcome::External(_, external) = &outcomes[1] else { panic!() };
    assert_eq!(external, &address(1));
    assert_eq!(outcomes[2].address(), Some(&address(2)));
    // A front end that sees only the call answers by this address.
    let asking = executor.confirmation_call(request).arguments.to_value().unwrap();
    let read: CallAddress = serde_json::from_value(asking["address"].clone()).unwrap();
    assert_eq!(read, address(0));
    assert!(crate::now(executor.resume([(read, says(1))])).is_ok());
}

// I20: an address belongs to one call.
#[test]
fn an_address_with_another_run_or_id_is_not_found() {
    let executor = executor(|builder| builder);
    let outcomes = crate::run(executor.run(same(&["elsewhere"])));
    let right = addresses(&outcomes).remove(0);
    let wrong = [
        CallAddress { run: Some("r".into()), ..right.clone() },
        CallAddress { call_id: "call_2".into(), ..right.clone() },
        CallAddress { serial: right.serial + 1, ..right.clone() },
    ];
    for address in wrong {
        assert_eq!(
            crate::now(executor.submit_result(&address, Ok("lost".into()))).unwrap_err(),
            OpenCallError::NotOpen(CallRef::Address(address))
        );
    }
    assert!(crate::now(executor.submit_result(right, Ok("done".into()))).is_ok());
}

// X08, I20: calls without a run, whose addresses differ only in their serials.
#[test]
fn an_address_is_not_reused_after_a_restart() {
    each_way(async |way| {
        let tools = || Registry::builder().tool::<pay>().tool::<elsewhere>();
        let started = || way.of(building(tools()).external(|call| call.tool() == "elsewhere"));
        let calls = || same(&["elsewhere", "pay"]);
        let before = addresses(&started().run(calls()).await);
        let after = started();
        after.run(calls()).await;
        for old in before {
            let refused = OpenCallError::NotOpen((&old).into());
            assert_eq!(after.submit_result(&old, Ok("late".into())).await.unwrap_err(), refused);
            assert_eq!(after.resume([(&old, says(0))]).await.unwrap_err(), refused);
            assert_eq!(after.discard(&old).await.unwrap_err(), refused);
        }
        assert_eq!(after.open_calls().await.unwrap().len(), 2);
    });
}

// I20
#[test]
fn an_answer_by_id_and_by_address_at_once_is_refused() {
    let executor = executor(|builder| builder);
    let outcomes = crate::run(executor.run(same(&["pay"])));
    let address = addresses(&outcomes).remove(0);
    let answers = [(CallRef::from("call_1"), says(1)), (CallRef::from(&address), says(2))];
    assert_eq!(
        crate::now(executor.resume(answers)).unwrap_err(),
        OpenCallError::AnsweredTwice(CallRef::Address(address.clone()))
    );
    let batch = crate::now(executor.resume([(&address, says(3))])).unwrap();
    assert_eq!(texts(&crate::run(batch.run())), ["paid 0: 3"]);
}

#[test]
fn an_error_lists_a_few_of_many_addresses() {
    let executor = executor(|builder| builder);
    let at = addresses(&crate::run(executor.run(same(&["elsewhere"; 1000]))));
    let message = crate::now(executor.discard("call_1")).unwrap_err().to_string();
    let start = format!("1000 open calls have the id call_1; answer each by its address: {}, ", at[0]);
    assert!(message.starts_with(&start), "{message}");
    assert!(message.ends_with(&format!("{}, and 992 more", at[7])), "{message}");
}

// I17, I19: a call that requires approval again keeps its address and its place.
#[test]
fn a_call_keeps_its_address_while_it_is_open() {
    for strategy in STRATEGIES {
        let executor = executor(|builder| builder.strategy(strategy));
        let outcomes = crate::run(executor.run(same(&["pay", "ask", "pay"])));
        let at = addresses(&outcomes);
        drop(crate::now(executor.resume([(&at[1], says(1)), (&at[0], says(1))])).unwrap());
        drop(crate::now(executor.resume([(&at[2], says(1))])).unwrap().run());
        let open = |executor: &Executor| -> Vec<_> {
            crate::now(executor.open_calls()).unwrap().iter().map(|open| open.address().clone()).collect()
        };
        assert_eq!(open(&executor), at);
        let batch = crate::now(executor.resume([(&at[2], says("last")), (&at[1], says("own"))])).unwrap();
        let other = RunContext::new();
        let resumed = crate::run(batch.with_run(other).run());
        assert_eq!(texts(&resumed), [r#"asked 1: "own""#, r#"paid 2: "last""#]);
        assert_eq!(open(&executor), at[..1]);
    }
}

/// Records the idempotency key of each run.
#[tool(register = false, confirm, idempotent)]
fn noting(keys: &Arc<Mutex<Vec<String>>>, cx: &ToolContext) -> Result<&'static str, ToolError> {
    let mut keys = keys.lock().unwrap();
    keys.push(cx.idempotency_key());
    match (cx.confirmation(), keys.len()) {
        (None, _) => Err(cx.request_confirmation("Really?", Value::Null)),
        (_, ..=2) => Err(ToolError::new(ErrorKind::Unavailable, "busy").retryable(true)),
        _ => Ok("done"),
    }
}

// J06, I17, I20
#[test]
fn a_call_keeps_its_idempotency_key_whenever_it_runs() {
    let keys = Arc::new(Mutex::new(Vec::new()));
    let built = |approver: bool| {
        let tools = Registry::builder().tool::<noting>().provide(Arc::clone(&keys));
        let builder = building(tools).retry(RetryPolicy::new(super::AT_ONCE));
        let approves = |_: &ApprovalRequest| Approval::Approved;
        (if approver { builder.approver(approves) } else { builder }).build().unwrap()
    };
    let taken = || std::mem::take(&mut *keys.lock().unwrap());
    let all_equal = |keys: &[String]| keys.iter().all(|key| key == &keys[0]);

    // Approval, answer and retry in one call.
    let executor = built(true);
    let run = Arc::new(RunContext::new());
    let batch = executor.batch(one("noting", "{}")).with_run(Arc::clone(&run));
    assert_eq!(texts(&crate::run(batch.run())), ["done"]);
    let first = taken();
    assert!(first.len() == 3 && all_equal(&first), "{first:?}");
    // Another call of the same run with the same id.
    let batch = executor.batch(one("noting", "{}")).with_run(Arc::clone(&run));
    crate::run(batch.run());
    let second = taken();
    assert!(all_equal(&second) && second[0] != first[0]);
    // A call of an executor with other tools.
    let derived = executor.with_tools(executor.tools().clone()).unwrap();
    crate::run(derived.batch(one("noting", "{}")).with_run(run).run());
    let third = taken();
    assert!(third[0] != first[0] && third[0] != second[0]);

    // Open, and resumed in runs of their own.
    let executor = built(false);
    crate::run(executor.batch(one("noting", "{}")).with_run(RunContext::new()).run());
    for _ in 0..2 {
        let batch = crate::now(answered(&executor, "0", says(1)));
        crate::run(batch.with_run(RunContext::new()).run());
    }
    let resumed = taken();
    assert!(crate::now(executor.open_calls()).unwrap().is_empty());
    assert!(resumed.len() == 3 && all_equal(&resumed), "{resumed:?}");
    assert_ne!(resumed[0], first[0]);
}

#[test]
fn every_outcome_has_the_tool_name_that_the_model_wrote() {
    let executor = executor(|it| it);
    let outcomes = crate::run(executor.run(same(&["elsewhere", "pay", "start", "nothing"])));
    let names: Vec<_> = outcomes.iter().map(CallOutcome::name).collect();
    assert_eq!(names, ["elsewhere", "pay", "start", "nothing"]);
    let ends: Vec<_> = outcomes.iter().map(CallOutcome::is_finished).collect();
    assert_eq!(ends, [false, false, false, true]);
}

// I19
#[test]
fn ambiguous_calls_of_several_runs_are_listed_in_the_order_of_their_arrival() {
    let executor = executor(|builder| builder);
    let mut at = Vec::new();
    for id in ["b", "a", "c"] {
        let run = RunContext::new().with_id(id);
        at.extend(addresses(&crate::run(executor.batch(same(&["elsewhere"])).with_run(run).run())));
    }
    let ambiguous = OpenCallError::Ambiguous { id: "call_1".into(), addresses: at.clone() };
    assert_eq!(crate::now(executor.submit_result("call_1", Ok("a".into()))).unwrap_err(), ambiguous);
    assert_eq!(crate::now(executor.discard("call_1")).unwrap_err(), ambiguous);
    crate::now(executor.discard(&at[1])).unwrap();
    let ambiguous =
        OpenCallError::Ambiguous { id: "call_1".into(), addresses: vec![at[0].clone(), at[2].clone()] };
    assert_eq!(crate::now(executor.discard("call_1")).unwrap_err(), ambiguous);
}
