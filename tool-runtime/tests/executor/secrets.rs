//! Secret arguments, which only the tool may see.

use std::sync::{Arc, Mutex};

use tool_runtime::{
    CallOutcome, RunContext, ToolCall,
    definition::Permission,
    executor::{RunSettings, StreamItem},
    hook::Before,
    policy::{Approval, ApprovalRequest, PermissionRequest, RetryInfo, RetryPolicy},
    prelude::*,
    toolbox::Visibility,
};

use super::{On, building, events, one, texts};

const SECRET: &str = "hunter2";

#[expect(clippy::ptr_arg, reason = "as the parameters are")]
fn is_asked(_user: &String, pin: &String) -> bool {
    !pin.is_empty()
}

/// Logs in, unless the network is down.
#[tool(register = false, read_only, confirm = is_asked)]
async fn login(
    user: String,
    #[arg(secret)]
    #[serde(alias = "password")]
    pin: String,
) -> Result<String, ToolError> {
    assert_eq!(pin, SECRET);
    Err(ToolError::failed(format!("{user} could not log in")).retryable(true))
}

/// All texts that could have been written to a log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn note(&self, what: &(impl std::fmt::Debug + ?Sized)) {
        self.0.lock().unwrap().push(format!("{what:?} {what:#?}"));
    }

    fn json(&self, what: &impl serde::Serialize) {
        self.0.lock().unwrap().push(serde_json::to_string(what).unwrap());
    }

    fn error(&self, error: &ToolError) {
        self.note(error);
        let mut lines = self.0.lock().unwrap();
        lines.push(error.to_string());
        lines.push(error.feedback());
    }

    fn outcome(&self, outcome: &CallOutcome) {
        self.note(outcome);
        let Some(result) = outcome.result() else { return };
        self.json(result);
        self.0.lock().unwrap().push(result.text().into_owned());
        if let Err(error) = &result.outcome {
            self.error(error);
        }
    }

    fn assert_clean(&self, arguments: &str) {
        for line in self.0.lock().unwrap().iter() {
            assert!(!line.contains(SECRET), "{arguments}: {line}");
        }
    }
}

fn executor(log: &Log, approver: bool, rewrites: Option<Value>) -> tool_runtime::Executor {
    let (before, gate, policy, rule, finished) =
        (log.clone(), log.clone(), log.clone(), log.clone(), log.clone());
    let retry = tool_runtime::definition::Retry { attempts: 2, initial_ms: 0, ..Default::default() };
    let hook = On {
        admit: Some(Box::new(move |call| {
            gate.note(call);
            true
        })),
        before: Some(Box::new(move |call| {
            if let Some(arguments) = &rewrites {
                call.rewrite(arguments.clone());
            }
            before.note(call);
            Ok(Before::Continue)
        })),
        finished: Some(Box::new(move |call, result| {
            finished.note(call);
            finished.note(result);
        })),
        ..On::default()
    };
    let builder = building(Registry::builder().tool::<login>())
        .hook(hook)
        .permission(move |request: &PermissionRequest<'_>| {
            policy.note(request);
            Permission::Allow
        })
        .retry(RetryPolicy::new(retry).rule(move |info: &RetryInfo<'_>| {
            rule.note(info);
            true
        }));
    let asked = log.clone();
    let builder = match approver {
        false => builder,
        true => builder.approver(move |request: &ApprovalRequest| {
            asked.note(request);
            asked.json(request);
            Approval::Approved
        }),
    };
    builder.build().unwrap()
}

/// A hook that records all stages of a call.
async fn run_observed(log: &Log, executor: &tool_runtime::Executor, arguments: &str) -> Vec<CallOutcome> {
    let call = ToolCall::new("login", arguments.to_owned()).with_id("0");
    log.note(&call);
    let mut listener = executor.subscribe();
    let batch = executor.batch(vec![call]);
    log.note(&batch);
    let (mut stream, mut all) = (batch.stream(), Vec::new());
    log.note(&stream);
    while let Some(item) = stream.next().await {
        log.note(&item);
        if let StreamItem::Outcomes(outcomes) = item {
            all = outcomes;
        }
    }
    for event in events(&mut listener) {
        log.note(&event);
        log.json(&event);
    }
    all.iter().for_each(|outcome| log.outcome(outcome));
    for open in executor.open_calls().await.unwrap() {
        log.note(&open);
        if let tool_runtime::open_calls::OpenCall::Confirmation(_, request) = open {
            log.json(&request);
            log.json(&executor.confirmation_call(&request));
        }
    }
    log.note(executor);
    all
}

const ARGUMENTS: [&str; 10] = [
    r#"{"user":"ada","pin":"hunter2"}"#,
    r#"{"user":"ada","password":"hunter2"}"#,
    // Misspelt, of another type, in the wrong place, duplicate, too long, truncated, not an object.
    r#"{"user":"ada","pln":"hunter2"}"#,
    r#"{"user":"ada","pin":["hunter2"]}"#,
    r#"{"user":{"pin":"hunter2"}}"#,
    r#"{"user":"ada","pin":"hunter2","pin":"hunter2"}"#,
    r#"{"user":"ada","pin":"hunter2","extra":"hunter2"}"#,
    r#"{"user":"ada","pin":"hunter2"#,
    r#"["hunter2"]"#,
    r#""hunter2""#,
];

// I01, I15, H14: see `#[arg(secret)]`.
#[test]
fn a_secret_is_hidden_from_hooks_policies_approvers_and_listeners() {
    for arguments in ARGUMENTS {
        for approver in [false, true] {
            let log = Log::default();
            let outcomes = crate::run(run_observed(&log, &executor(&log, approver, None), arguments));
            let ran = outcomes[0].result().unwrap().attempts;
            let fits = arguments == ARGUMENTS[0] || arguments == ARGUMENTS[1];
            assert_eq!(ran, if fits && approver { 2 } else { 0 }, "{arguments}");
            log.assert_clean(arguments);
        }
    }
}

// H07
#[test]
fn a_secret_that_a_hook_inserts_is_hidden() {
    for rewritten in ["pin", "password", "pln"] {
        let log = Log::default();
        let rewritten = json!({ "user": "ada", rewritten: SECRET });
        let executor = executor(&log, true, Some(rewritten.clone()));
        crate::run(run_observed(&log, &executor, r#"{"user":"ada","pin":"-"}"#));
        log.assert_clean(&rewritten.to_string());
    }
}

// I15
#[test]
fn an_approval_shows_the_other_arguments_beside_a_secret() {
    let log = Log::default();
    let executor = executor(&log, false, None);
    let outcomes = crate::run(run_observed(&log, &executor, ARGUMENTS[1]));
    let CallOutcome::Pending(pending) = &outcomes[0] else { panic!() };
    let tool_runtime::call::Operation::Confirmation(request) = &pending.operation else { panic!() };
    assert_eq!(request.call.arguments.to_value().unwrap(), json!({ "user": "ada", "pin": "***" }));
}

/// Sends.
#[tool(register = false, confirm)]
fn send(to: u128, amount: Value, #[arg(secret)] pin: String) -> String {
    format!("{to} {amount} {pin}")
}

// I15: beside a secret, a person still sees the exact digits that the tool receives.
#[test]
fn numbers_beside_a_secret_keep_all_digits() {
    let executor = crate::executor(Registry::builder().tool::<send>());
    let arguments =
        r#"{"to":340282366920938463463374607431768211455,"amount":3.00000000000000000001,"pin":"hunter2"}"#;
    let outcomes = crate::run(executor.run(super::one("send", arguments)));
    let CallOutcome::Pending(pending) = &outcomes[0] else { panic!() };
    let tool_runtime::call::Operation::Confirmation(request) = &pending.operation else { panic!() };
    assert_eq!(request.call.arguments.as_str(), arguments.replace(SECRET, "***"));
}

/// Logs in.
#[tool(register = false)]
fn log_in(user: String, tries: u8, #[arg(secret)] password: String) -> String {
    drop((tries, password));
    user
}

// E07: a hidden tool is an unknown tool.
#[test]
fn secrets_for_a_hidden_tool_are_hidden_in_events() {
    let executor = building(Registry::builder().tool::<log_in>()).build().unwrap();
    let hidden = RunSettings::new().show(Visibility::all().except(["log_in"]));
    let executor = executor.with_settings(&RunContext::new(), hidden).unwrap();
    let mut listener = executor.subscribe();
    let call = r#"{"user":"u","tries":1,"password":"hunter2"}"#;
    assert_eq!(texts(&crate::run(executor.run(one("log_in", call)))), ["Tool not found: log_in"]);
    let mut events = 0;
    while let Some(event) = listener.try_next() {
        events += 1;
        let event = serde_json::to_string(&event.unwrap()).unwrap();
        assert!(!event.contains("hunter2"), "{event}");
    }
    assert_eq!(events, 2);
}

// X01: outcomes contain no secret, even of an invalid call.
#[test]
fn the_json_of_a_refused_call_contains_no_secret() {
    let executor = building(Registry::builder().tool::<log_in>()).build().unwrap();
    for call in [
        r#"{"user":"u","tries":"many","password":"hunter2"}"#,
        r#"{"user":"u","tries":1,"password":["hunter2"]}"#,
        r#"{"user":"u","tries":1,"pasword":"hunter2"}"#,
        r#"{"user":"u","tries":1,"password":"hunter2""#,
    ] {
        let outcomes = crate::run(executor.run(one("log_in", call)));
        let json = serde_json::to_string(&outcomes).unwrap();
        assert!(json.contains("invalid_arguments") && !json.contains("hunter2"), "{json}");
    }
}
