//! Incomplete calls, which were truncated with their response: F20, F21, CF14.

use tool_runtime::{
    CallOutcome, CancellationToken, ErrorKind, Executor, RunContext, ToolCall,
    call::Incomplete,
    definition::Permission,
    event::EventKind,
    executor::{ExecutionStrategy, ExecutorBuilder, Finish},
    policy::{Approval, ApprovalRequest, PermissionRequest, Rule, Rules},
    prelude::*,
    schema::Repair,
};

use super::{Counter, Noting, Timeline, building, events, on_both_runtimes, short, texts, told};

const TEXT: &str = "Incomplete: the response ended (`length`) before this call did. Nothing was executed.";

/// Deletes one thing, or everything.
#[tool(register = false)]
fn delete(counter: &Counter, name: Option<String>) -> String {
    counter.count();
    name.unwrap_or_else(|| "everything".to_owned())
}

/// Deletes after confirmation.
#[tool(register = false, confirm)]
fn delete_asking(counter: &Counter) {
    counter.count();
}

/// Reads.
#[tool(register = false, read_only)]
fn read(counter: &Counter, name: Option<String>) -> String {
    counter.count();
    name.unwrap_or_default()
}

fn set(counter: &Counter) -> ExecutorBuilder {
    let tools = Registry::builder().tool::<delete>().tool::<delete_asking>().tool::<read>();
    building(tools.repair(Repair::AllTools).provide(counter.clone()))
}

fn cut(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall::new(name, arguments.to_owned()).with_id(id).with_incomplete(Incomplete::new("length"))
}

fn whole(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall::new(name, arguments.to_owned()).with_id(id)
}

fn kinds(outcomes: &[CallOutcome]) -> Vec<Option<ErrorKind>> {
    outcomes.iter().map(|it| it.result().unwrap().outcome.as_ref().err().map(ToolError::kind)).collect()
}

// F16, F21, CF14
#[test]
fn an_incomplete_call_has_an_error_and_never_runs() {
    let strategies =
        [ExecutionStrategy::Parallel, ExecutionStrategy::Sequential, ExecutionStrategy::Batched { size: 2 }];
    for strategy in strategies {
        for finish in [Finish::InOrder, Finish::AsCompleted] {
            for watched in [false, true] {
                on_both_runtimes(|| async move {
                    let counter = Counter::default();
                    let executor = set(&counter).strategy(strategy).finish(finish).build().unwrap();
                    let mut listener = watched.then(|| executor.subscribe());
                    let calls = vec![
                        whole("0", "delete", ""),
                        cut("1", "delete", "{}"),
                        cut("2", "delete", ""),
                        cut("3", "delete", r#"{"name":"a"}"#),
                        // The same for read-only tools.
                        cut("4", "read", r#"{"name":"a"#),
                        cut("5", "delete_asking", "{}"),
                        cut("6", "delet", "{}"),
                        whole("7", "delete", r#"{"name":"b"}"#),
                    ];
                    let outcomes = executor.run(calls).await;
                    let expected = ["everything", TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, "b"];
                    assert_eq!(texts(&outcomes), expected, "{strategy:?} {finish:?} {watched}");
                    assert_eq!(counter.get(), 2);
                    assert!(outcomes[1..7].iter().all(|it| it.result().unwrap().attempts == 0));
                    assert_eq!(kinds(&outcomes)[1..7], [Some(ErrorKind::Incomplete); 6]);
                    if let Some(listener) = &mut listener {
                        let mut heard = told(listener);
                        heard.sort();
                        let each = |what: &str| (0..8).map(|id| format!("{what} {id}")).collect::<Vec<_>>();
                        assert_eq!(heard, [each("finished"), each("started")].concat());
                    }
                });
            }
        }
    }
}

// F20
#[test]
fn an_incomplete_call_reaches_no_hook_rule_policy_or_approver() {
    let (counter, asked, timeline) = (Counter::default(), Counter::default(), Timeline::default());
    let (permission, person, ruling) = (asked.clone(), asked.clone(), asked.clone());
    let executor = set(&counter)
        .hook(Noting(timeline.clone(), ""))
        .rules(Rules::new([Rule::deny("delete"), Rule::ask("delete_asking")]))
        .external(move |_| ruling.count() == 0)
        .permission(move |_: &PermissionRequest<'_>| {
            permission.count();
            Permission::Allow
        })
        .approver(move |_: &ApprovalRequest| {
            person.count();
            Approval::Approved
        })
        .build()
        .unwrap();
    let mut listener = executor.subscribe();
    let outcomes = crate::run(executor.run(vec![cut("0", "delete", "{}"), cut("1", "delete_asking", "{}")]));
    assert_eq!(texts(&outcomes), [TEXT, TEXT]);
    assert_eq!((counter.get(), asked.get()), (0, 0));
    // `finished` is called for every call.
    assert_eq!(timeline.all(), ["failed 0", "failed 1"]);
    let heard = events(&mut listener);
    assert_eq!(
        heard.iter().map(short).collect::<Vec<_>>(),
        ["started 0", "started 1", "finished 0", "finished 1"]
    );
    let EventKind::Started { call, .. } = &heard[0].kind else { panic!() };
    assert_eq!(call.incomplete, Some(Incomplete::new("length")));
}

// X01
#[test]
fn an_incomplete_call_is_not_external() {
    let counter = Counter::default();
    let executor = set(&counter).external(|_| true).build().unwrap();
    let outcomes = crate::run(executor.run(vec![cut("0", "delete", "{}"), whole("1", "delete", "{}")]));
    assert_eq!(outcomes[0].result().unwrap().text(), TEXT);
    assert!(matches!(outcomes[1], CallOutcome::External(..)));
    let open: Vec<_> =
        crate::now(executor.open_calls()).unwrap().iter().map(|open| open.call().id.to_string()).collect();
    assert_eq!(open, ["1"]);
}

#[test]
fn an_incomplete_call_keeps_its_error_in_a_stopped_batch() {
    let counter = Counter::default();
    let executor = set(&counter).strategy(ExecutionStrategy::Sequential).build().unwrap();
    let calls = || vec![cut("0", "delete", "{}"), cut("1", "delete", "{}"), whole("2", "delete", "{}")];
    let token = CancellationToken::new();
    token.cancel();
    let cancelled = executor.batch(calls()).with_run(RunContext::new().with_cancellation(token));
    assert_eq!(texts(&crate::run(cancelled.run())), [TEXT, TEXT, "Cancelled"]);
    let steered = crate::run(executor.batch(calls()).steering(&super::steered(|| true)).run());
    assert_eq!(texts(&steered), [TEXT, TEXT, "Skipped: a message of the user came first"]);
    assert_eq!(counter.get(), 0);
}

#[test]
fn the_incomplete_mark_is_serialized_only_if_set() {
    let complete = serde_json::to_value(whole("0", "delete", "{}")).unwrap();
    assert_eq!(complete, json!({ "id": "0", "name": "delete", "arguments": "{}" }));
    assert_eq!(serde_json::from_value::<ToolCall>(complete).unwrap().incomplete, None);
    let broken_off = whole("0", "delete", "{}").with_incomplete(Incomplete::without_reason());
    for (call, mark) in [(cut("0", "delete", "{}"), json!({ "reason": "length" })), (broken_off, json!({}))] {
        let stored = serde_json::to_value(&call).unwrap();
        assert_eq!(stored["incomplete"], mark);
        let read: ToolCall = serde_json::from_value(stored).unwrap();
        assert_eq!(read, call);
        let outcomes = crate::run(Executor::new(Registry::builder().build().unwrap()).run(vec![read]));
        assert_eq!(kinds(&outcomes), [Some(ErrorKind::Incomplete)]);
    }
}

// E08
#[test]
fn a_stop_reason_is_shown_truncated_and_escaped() {
    let reasons = [
        (Incomplete::without_reason(), ""),
        (Incomplete::new(""), ""),
        (Incomplete::new("a`\u{202e}\u{1b}[8m b\n"), " (`a[8mb`)"),
        (Incomplete::new("x".repeat(10_000)), &format!(" (`{}`)", "x".repeat(64))),
    ];
    for (mark, shown) in reasons {
        let error = whole("0", "delete", "{}").with_incomplete(mark).completed().unwrap_err();
        let text =
            format!("Incomplete: the response ended{shown} before this call did. Nothing was executed.");
        assert_eq!(error.feedback(), text);
        assert_eq!(error.kind().name(), "incomplete");
        let log = format!(
            "tool \"delete\" was not called completely: the response ended{shown} before this call did"
        );
        assert_eq!(error.to_string(), log);
    }
    assert!(whole("0", "delete", "{}").completed().is_ok());
}
