//! Hooks, rules, policies and approvers see the canonical text that the tool receives.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use tool_runtime::{
    Tool, ToolDefinition, ToolName, ToolResult,
    definition::{Permission, Prepared, Retry},
    executor::ExecutorBuilder,
    hook::{Before, BeforeCall, CallView, Hook},
    policy::{Approval, ApprovalRequest, PermissionRequest, RetryInfo, RetryPolicy, Rule, Rules},
    prelude::*,
    schema::{Arguments, InputSchema},
    serde_json,
};

use super::{building, executor, one, texts};

/// The texts that were seen, and by which stage.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn note(&self, who: &str, text: &str) {
        self.0.lock().unwrap().push(format!("{who} {text}"));
    }

    fn all(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

#[tool_args]
#[derive(Debug)]
struct Place {
    #[serde(alias = "file")]
    path: String,
    #[serde(default, alias = "n")]
    lines: Option<u64>,
}

#[tool_args]
#[derive(Debug)]
struct Outer {
    #[serde(flatten)]
    place: Place,
    #[serde(default)]
    more: Vec<Place>,
    #[serde(default)]
    by_name: std::collections::BTreeMap<String, Place>,
    #[serde(default)]
    target: Option<Target>,
}

#[tool_args]
#[derive(Debug)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Target {
    Local {
        #[serde(alias = "file")]
        path: String,
    },
    Remote(Url),
}

#[tool_args]
#[derive(Debug)]
struct Url {
    #[serde(alias = "address")]
    url: String,
}

/// Reads.
#[tool(register = false)]
fn read(seen: &Seen, #[serde(alias = "file")] path: String) -> String {
    seen.note("body", &path);
    path
}

/// Reads a lot.
#[tool(register = false)]
fn collect(#[args] all: Outer) -> String {
    format!("{all:?}")
}

/// Pays.
#[tool(register = false)]
fn pay(amount: f64) -> String {
    amount.to_string()
}

/// Opens a file, and ignores unknown properties.
#[tool(register = false, unknown_fields = "ignore")]
fn open(#[args] hidden: Hidden) -> String {
    format!("{hidden:?}")
}

/// Derived, so that the schema does not contain the alias.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Hidden {
    name: String,
    #[serde(alias = "file", default)]
    path: Option<String>,
}

fn tools() -> tool_runtime::registry::RegistryBuilder {
    Registry::builder().tool::<read>().tool::<collect>().tool::<pay>().tool::<open>().provide(Seen::default())
}

/// Returns the result of a call under `rule`.
fn ruled(rule: Rule, name: &str, arguments: &str) -> String {
    let executor = building(tools()).rules(Rules::new([rule])).build().unwrap();
    texts(&crate::run(executor.run(one(name, arguments)))).remove(0)
}

/// Decodes its arguments by a narrower schema than the one that it shows.
struct Narrow(ToolDefinition, ToolDefinition);

impl Narrow {
    fn new() -> Self {
        let definition = |count: Value| {
            let schema =
                InputSchema::new(json!({ "type": "object", "properties": { "count": count } })).unwrap();
            ToolDefinition::new(ToolName::new("narrow").unwrap(), "Counts.", schema)
        };
        Self(definition(json!({})), definition(json!({ "type": "integer" })))
    }
}

impl Tool for Narrow {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, mut arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let read: Value = self.1.decode(&mut arguments)?;
        Ok(Prepared::new(arguments, move |_, _| Box::pin(async move { Ok(read.to_string().into()) })))
    }
}

// F20: also by a decoder of the tool's own.
#[test]
fn arguments_that_were_judged_are_not_corrected_afterwards() {
    let tools = || Registry::builder().add(Narrow::new());
    let refused = crate::run(executor(tools()).run(one("narrow", r#"{"count":"3"}"#)));
    assert_eq!(texts(&refused), [r#"{"count":3}"#]);
    let rule = Rule::deny("narrow").at("/count", "4").reason("no");
    let judged = building(tools()).rules(Rules::new([rule])).build().unwrap();
    let outcomes = crate::run(judged.run(one("narrow", r#"{"count":"3"}"#)));
    assert!(texts(&outcomes)[0].starts_with("Invalid arguments"), "{:?}", texts(&outcomes));
}

// F20, I01: an alias does not bypass a rule.
#[test]
fn rules_apply_to_aliases_of_a_property() {
    let rule = || Rule::deny("read").at("/path", "/etc/*").reason("no");
    for arguments in
        [r#"{"path":"/etc/shadow"}"#, r#"{"file":"/etc/shadow"}"#, r#"{"file":"/etc/\u0073hadow"}"#]
    {
        assert_eq!(ruled(rule(), "read", arguments), "Denied: no", "{arguments}");
    }
    assert_eq!(ruled(rule(), "read", r#"{"file":"/tmp/a"}"#), "/tmp/a");
}

// F20: in nested and flattened structs, maps and variants.
#[test]
fn rules_apply_to_aliases_at_any_depth() {
    let denied = [
        ("/path", r#"{"file":"/etc/a"}"#),
        ("/more/0/path", r#"{"path":"b","more":[{"file":"/etc/a"}]}"#),
        ("/by_name/x/path", r#"{"path":"b","by_name":{"x":{"file":"/etc/a"}}}"#),
        ("/target/path", r#"{"path":"b","target":{"kind":"local","file":"/etc/a"}}"#),
        ("/target/url", r#"{"path":"b","target":{"kind":"remote","address":"/etc/a"}}"#),
    ];
    for (pointer, arguments) in denied {
        let rule = Rule::deny("collect").at(pointer, "/etc/*").reason("no");
        assert_eq!(ruled(rule, "collect", arguments), "Denied: no", "{arguments}");
    }
}

// F10
#[test]
fn rules_compare_numbers_by_value() {
    for amount in ["100", "100.0", "1e2", "1E+2", "1000e-1", "100.000"] {
        let rule = Rule::deny("pay").at("/amount", "100").reason("no");
        assert_eq!(ruled(rule, "pay", &format!(r#"{{"amount":{amount}}}"#)), "Denied: no", "{amount}");
    }
    assert_eq!(ruled(Rule::deny("pay").at("/amount", "100"), "pay", r#"{"amount":1e3}"#), "1000");
}

// F10: neither hooks nor the tool see properties that the decoder ignores.
#[test]
fn ignored_properties_are_removed_from_the_call() {
    let rule = || Rule::deny("open").at("/path", "/etc/*");
    let opened = ruled(rule(), "open", r#"{"name":"a","file":"/etc/shadow","other":1}"#);
    assert_eq!(opened, r#"Hidden { name: "a", path: None }"#);
    let opened = ruled(Rule::deny("open:*shadow"), "open", r#"{"name":"a","other":"shadow"}"#);
    assert_eq!(opened, r#"Hidden { name: "a", path: None }"#);
}

/// Records the arguments that it sees.
struct Watching(Seen);

impl Hook for Watching {
    async fn admit(&self, call: &CallView<'_>) -> bool {
        self.0.note("gate", call.arguments().as_str());
        true
    }

    async fn before(&self, call: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        self.0.note("before", call.arguments().as_str());
        Ok(Before::Continue)
    }

    async fn finished(&self, call: &CallView<'_>, _: &ToolResult) {
        self.0.note("finished", call.arguments().as_str());
    }
}

/// Moves.
#[tool(register = false, confirm, retry(attempts = 2, initial = "1ms", jitter = false))]
fn transfer(
    seen: &Seen,
    #[serde(alias = "file")] path: &str,
    n: f64,
    cx: &ToolContext,
) -> Result<String, ToolError> {
    seen.note("body", &format!("{path} {n}"));
    if cx.attempt() == 1 { Err(ToolError::failed("again").retryable(true)) } else { Ok("moved".to_owned()) }
}

fn watched(seen: &Seen) -> ExecutorBuilder {
    let registry = Registry::builder().tool::<transfer>().provide(seen.clone()).build().unwrap();
    let (policy, rule) = (seen.clone(), seen.clone());
    tool_runtime::Executor::builder(registry)
        .hook(Watching(seen.clone()))
        .permission(move |request: &PermissionRequest<'_>| {
            policy.note("policy", request.arguments.as_str());
            Permission::Allow
        })
        .retry(RetryPolicy::new(Retry::DEFAULT).rule(move |info: &RetryInfo<'_>| {
            rule.note("retry", info.arguments.as_str());
            true
        }))
}

const CANONICAL: &str = r#"{"path":"a","n":100}"#;

// F10, F20, I16, J01: from the first hook to the last attempt.
#[test]
fn every_stage_of_a_call_sees_the_same_text() {
    let seen = Seen::default();
    let person = seen.clone();
    let executor = watched(&seen).approver(move |request: &ApprovalRequest| {
        person.note("approver", request.call.arguments.as_str());
        Approval::Approved
    });
    let executor = executor.build().unwrap();
    let sent = r#"{"file":"\u0061","n":1.00e2}"#;
    let mut events = executor.subscribe();
    assert_eq!(texts(&crate::run(executor.run(one("transfer", sent)))), ["moved"]);
    let all = seen.all();
    assert_eq!(all[0], format!("gate {sent}"), "the text of the model");
    let judges = ["before", "policy", "approver"].map(|who| format!("{who} {CANONICAL}"));
    assert_eq!(all[1..4], judges);
    let runs = ["body a 100".to_owned(), format!("retry {CANONICAL}"), "body a 100".to_owned()];
    assert_eq!(all[4..7], runs);
    assert_eq!(all[7..], [format!("finished {CANONICAL}")]);
    let started = events.try_next().unwrap().unwrap();
    match started.kind {
        tool_runtime::event::EventKind::Started { call } => assert_eq!(call.arguments.as_str(), sent),
        other => panic!("{other:?}"),
    }
}

// I17: an answer is bound to the canonical text of the call.
#[test]
fn a_later_answer_applies_to_the_text_that_was_shown() {
    let seen = Seen::default();
    let executor = watched(&seen).build().unwrap();
    let ask = |arguments: &str| {
        let outcomes = crate::run(executor.run(one("transfer", arguments)));
        match &outcomes[0] {
            tool_runtime::CallOutcome::Pending(pending) => match &pending.operation {
                tool_runtime::call::Operation::Confirmation(request) => (**request).clone(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    };
    let request = ask(r#"{"file":"a","n":1e2}"#);
    assert_eq!(request.call.arguments.as_str(), CANONICAL);
    seen.all();
    let yes = tool_runtime::context::ConfirmationAnswer { confirmed: true, payload: Value::Null };
    let outcomes = crate::run(async { executor.resume([("0", yes)]).await.unwrap().run().await });
    assert_eq!(texts(&outcomes), ["moved"]);
    assert!(seen.all().contains(&"body a 100".to_owned()));
    // All spellings of the arguments are shown as the same text.
    assert_eq!(ask(r#"{"path":"a","n":100.0}"#).call.arguments, request.call.arguments);
    assert_ne!(ask(r#"{"path":"a","n":100.5}"#).call.arguments, request.call.arguments);
}

// Without observers, the original text is decoded directly, to the same values.
#[test]
fn a_call_without_observers_has_the_same_result() {
    let sent = r#"{"file":"a","more":[{"file":"b","n":1e1}]}"#;
    let plain = executor(tools());
    let watching = building(tools()).hook(Watching(Seen::default())).build().unwrap();
    let run = |executor: &tool_runtime::Executor| texts(&crate::run(executor.run(one("collect", sent))));
    assert_eq!(run(&plain), run(&watching));
}

fn counted() -> u32 {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

/// A value that is serialized only in part.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Partial {
    #[serde(skip_serializing, default)]
    token: Option<String>,
}

fn partial() -> Partial {
    Partial { token: Some("t".to_owned()) }
}

/// Lists.
#[tool(register = false)]
fn list(
    #[arg(default = "/etc")] path: &str,
    #[arg(default = 100)] most: u32,
    #[arg(default = counted())] odd: u32,
    #[arg(default = partial())] partial: Partial,
    other: Option<bool>,
) -> String {
    let _ = odd;
    format!("{path} {most} {partial:?} {other:?}")
}

// F10: rules apply to defaults as to arguments of the model.
#[test]
fn defaults_are_part_of_the_canonical_text() {
    let seen = Seen::default();
    let executor = building(Registry::builder().tool::<list>()).hook(Watching(seen.clone())).build().unwrap();
    let plain = self::executor(Registry::builder().tool::<list>());
    for sent in ["{}", r#"{"path":null}"#, r#"{"most":1e2}"#] {
        let texts = texts(&crate::run(executor.run(one("list", sent))));
        assert_eq!(texts, [r#"/etc 100 Partial { token: Some("t") } None"#], "{sent}");
        assert_eq!(super::texts(&crate::run(plain.run(one("list", sent)))), texts, "{sent}");
        let before = &seen.all()[1];
        assert!(before.contains(r#""path":"/etc""#) && before.contains(r#""most":100"#), "{before}");
        // A default that varies, or that JSON does not represent completely, is not filled in.
        assert!(!before.contains("odd") && !before.contains("partial"), "{before}");
    }
    let tools = Registry::builder().tool::<list>().build().unwrap();
    let schema = tools.definitions()[0].input_schema().as_value().to_string();
    assert!(!schema.contains("x-tool"), "{schema}");
    let rules = Rules::new([Rule::deny("list").at("/path", "/etc*").reason("no")]);
    let executor = building(Registry::builder().tool::<list>()).rules(rules).build().unwrap();
    assert_eq!(super::texts(&crate::run(executor.run(one("list", "{}")))), ["Denied: no"]);
}

// I17, I21: the question of a body and its answer refer to the same text.
#[test]
fn the_question_of_a_body_shows_the_text_that_its_answer_is_bound_to() {
    /// Requests a confirmation.
    #[tool(register = false)]
    fn remove(#[serde(alias = "file")] path: &str, n: f64, cx: &ToolContext) -> Result<String, ToolError> {
        match cx.confirmation() {
            None => Err(cx.request_confirmation("Really?", Value::Null)),
            Some(_) => Ok(format!("removed {path} {n}")),
        }
    }
    super::ways::each_way(async |way| {
        let executor = way.executor(Registry::builder().tool::<remove>());
        let outcomes = executor.run(one("remove", r#"{ "file": "a", "n": 1e2 }"#)).await;
        let tool_runtime::CallOutcome::Pending(pending) = &outcomes[0] else { panic!("{outcomes:?}") };
        let tool_runtime::call::Operation::Confirmation(request) = &pending.operation else { panic!() };
        assert_eq!(request.call.arguments.as_str(), CANONICAL);
        let yes = tool_runtime::context::ConfirmationAnswer { confirmed: true, payload: Value::Null };
        let outcomes = executor.drive(executor.resume([("0", yes)]).await.unwrap()).await;
        assert_eq!(texts(&outcomes), ["removed a 100"]);
    });
}

// F10, I17: a tool prepares the arguments of a call once, even if each time would give others.
#[test]
fn a_question_shows_the_arguments_that_the_body_which_asks_received() {
    static PREPARED: AtomicU64 = AtomicU64::new(0);
    fn number(arguments: &mut serde_json::Map<String, Value>) -> Result<(), ToolError> {
        arguments.insert("id".to_owned(), json!(PREPARED.fetch_add(1, Ordering::Relaxed)));
        Ok(())
    }
    /// Requests a confirmation.
    #[tool(register = false, prepare = number)]
    fn send(#[serde(default)] id: u64, cx: &ToolContext) -> Result<String, ToolError> {
        match cx.confirmation() {
            None => Err(cx.request_confirmation(format!("Send {id}?"), Value::Null)),
            Some(_) => Ok(format!("sent {id}")),
        }
    }
    super::ways::each_way(async |way| {
        let seen = Seen::default();
        let notes = seen.clone();
        let executor = way.of(building(Registry::builder().tool::<send>()).approver(
            move |request: &ApprovalRequest| {
                notes.note(&request.hint, request.call.arguments.as_str());
                Approval::Approved
            },
        ));
        let outcomes = executor.run(one("send", "{}")).await;
        let id = texts(&outcomes)[0].replace("sent ", "");
        assert_eq!(seen.all(), [format!(r#"Send {id}? {{"id":{id}}}"#)]);
    });
}

// H03, F10
#[test]
fn update_hooks_see_the_arguments_of_the_body() {
    /// A hook that records updates with the arguments of their call.
    struct Reads(Seen);
    impl Hook for Reads {
        async fn admit(&self, call: &CallView<'_>) -> bool {
            if let Some(cx) = call.context() {
                cx.update("early").await;
            }
            true
        }
        async fn before_update(&self, call: &CallView<'_>, text: &str) -> bool {
            self.0.note(text, call.arguments().as_str());
            true
        }
        async fn after_update(&self, call: &CallView<'_>, text: &str) {
            self.0.note(text, call.arguments().as_str());
        }
    }
    /// Reports.
    #[tool(register = false)]
    async fn report(#[serde(alias = "file")] path: String, n: f64, cx: &ToolContext) {
        cx.update(format!("{path} {n}")).await;
    }
    let (seen, sent) = (Seen::default(), r#"{"file":"a","n":1e2}"#);
    let executor = building(Registry::builder().tool::<report>()).hook(Reads(seen.clone())).build().unwrap();
    crate::run(executor.run(one("report", sent)));
    let (early, late) = (format!("early {sent}"), format!("a 100 {CANONICAL}"));
    assert_eq!(seen.all(), [early.clone(), early, late.clone(), late]);
}
