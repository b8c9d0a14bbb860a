//! The context of a tool: its call and its run.

use std::sync::{Arc, Weak};

use serde_json::Map;
use tool_runtime::{
    RunContext, ToolCall,
    context::{ClientInfo, LogLevel, LogLine, Progress, ReadonlyContext},
    definition::Permission,
    executor::StreamItem,
    hook::Before,
    output::{Resource, ResourceBody},
    policy::{Approval, ApprovalHandle, Approver, PermissionPolicy, PermissionRequest},
    prelude::*,
};

use super::{On, Timeline, building, calls, executor, on_both_runtimes, one, texts};

/// Reads the call id in nested code.
fn here() -> String {
    ToolContext::current_call_id().map_or("nowhere".to_owned(), |id| id.to_string())
}

struct Seen(Timeline);

impl PermissionPolicy for Seen {
    async fn decide(&self, _: &PermissionRequest<'_>) -> Result<Permission, ToolError> {
        self.0.note(format!("policy {}", here()));
        tokio::task::yield_now().await;
        self.0.note(format!("policy later {}", here()));
        Ok(Permission::Allow)
    }
}

impl Approver for Seen {
    async fn ask(&self, _: &ApprovalHandle) -> Result<Approval, ToolError> {
        self.0.note(format!("approver {}", here()));
        Ok(Approval::Approved)
    }
}

fn confirms(_: &tokio::sync::Barrier, _: &Timeline, _: &ToolContext) -> bool {
    assert_ne!(here(), "nowhere");
    true
}

fn permits() -> Permission {
    Permission::deny(here())
}

/// Reports its call id while another call runs.
#[tool(register = false, confirm = confirms)]
async fn place(meeting: &tokio::sync::Barrier, timeline: &Timeline, cx: &ToolContext) -> String {
    meeting.wait().await;
    timeline.note(format!("tool {}", here()));
    cx.update("half").await;
    meeting.wait().await;
    here()
}

// C12
#[test]
fn a_call_knows_its_client_and_its_session_if_set() {
    /// Describes its session.
    #[tool(register = false)]
    fn describe(cx: &ToolContext) -> Result<Value, ToolError> {
        // Also without listeners.
        cx.log(LogLine::new(LogLevel::Info, "described"))?;
        cx.progress(Progress::new(1.0))?;
        let title = cx.client_info().and_then(|client| client.title.clone());
        Ok(json!([
            cx.session_id(),
            cx.client_info().map(|it| &*it.name),
            title,
            cx.client_capabilities(),
            cx.meta()
        ]))
    }
    assert!(describe(&ToolContext::for_test()).is_ok());
    let map = |value: Value| value.as_object().cloned().unwrap_or_default();
    super::ways::each_way(async |way| {
        let executor = way.executor(Registry::builder().tool::<describe>());
        let outcomes = executor.drive(executor.batch(calls(&["describe"]))).await;
        assert_eq!(texts(&outcomes), ["[null,null,null,null,null]"]);
        let client = ClientInfo::new("editor")
            .with_title("The Editor")
            .with_version("1.2")
            .with_capabilities(map(json!({ "sampling": {} })));
        let run = RunContext::new().with_session("s-1").with_client(client);
        // A child run has the same client.
        for run in [run.child("researcher"), run] {
            let call = ToolCall::new("describe", "{}").with_meta(map(json!({ "progressToken": 7 })));
            let outcomes = executor.drive(executor.batch(vec![call]).with_run(run)).await;
            let expected = json!(["s-1", "editor", "The Editor", { "sampling": {} }, { "progressToken": 7 }]);
            assert_eq!(texts(&outcomes), [expected.to_string()]);
        }
        executor.events();
    });
}

// C05, H17
#[test]
fn nested_code_knows_its_call_id_on_any_thread() {
    on_both_runtimes(async || {
        let timeline = Timeline::default();
        let noting = |stage: &'static str| {
            let timeline = timeline.clone();
            move || timeline.note(format!("{stage} {}", here()))
        };
        let (gate, before, update, after, finished) =
            (noting("gate"), noting("before"), noting("update"), noting("after"), noting("finished"));
        let hook = On {
            admit: Some(Box::new(move |_| {
                gate();
                true
            })),
            before: Some(Box::new(move |_| {
                before();
                Ok(Before::Continue)
            })),
            update: Some(Box::new(move |_, _| {
                update();
                true
            })),
            recover: None,
            after: Some(Box::new(move |_| {
                after();
                Ok(std::ops::ControlFlow::Continue(()))
            })),
            finished: Some(Box::new(move |_, _| finished())),
        };
        let tools = Registry::builder().tool::<place>().provide(tokio::sync::Barrier::new(2));
        let executor = building(tools.provide(timeline.clone()))
            .hook(hook)
            .permission(Seen(timeline.clone()))
            .approver(Seen(timeline.clone()))
            .build()
            .unwrap();
        let mut stream = executor.stream(calls(&["place"; 2]));
        while let Some(item) = stream.next().await {
            assert_eq!(here(), "nowhere");
            if let StreamItem::Outcomes(outcomes) = item {
                assert_eq!(texts(&outcomes), ["0", "1"]);
            }
        }
        let all = timeline.all();
        let stages =
            ["gate", "before", "policy", "policy later", "approver", "tool", "update", "after", "finished"];
        for stage in stages {
            for id in 0..2 {
                let note = format!("{stage} {id}");
                assert_eq!(all.iter().filter(|it| **it == note).count(), 1, "{note} in {all:?}");
            }
        }
        assert!(!all.iter().any(|it| it.ends_with("nowhere")), "{all:?}");
    });
    assert_eq!(here(), "nowhere");
}

// C05
#[test]
fn the_permission_check_of_a_tool_runs_within_its_call() {
    /// Is never permitted.
    #[tool(register = false, permission = permits)]
    fn never() {}
    let outcomes = crate::run(executor(Registry::builder().tool::<never>()).run(calls(&["never"])));
    assert_eq!(texts(&outcomes), ["Denied: 0"]);
}

// C01, C02
#[test]
fn a_context_describes_the_call_and_does_not_leak_into_its_arguments() {
    /// Returns the contents of its context.
    #[tool(register = false)]
    fn tell(cx: &ToolContext, text: String) -> String {
        format!("{} {} {} {text}", cx.tool_name(), cx.call_id(), cx.attempt())
    }
    let executor = executor(Registry::builder().tool::<tell>());
    let listener = executor.subscribe();
    let outcomes = crate::run(executor.run(one("tell", r#"{"text":"a"}"#)));
    assert_eq!(texts(&outcomes), ["tell 0 1 a"]);
    let schema = executor.tools().definitions()[0].input_schema().as_value().clone();
    assert_eq!(schema["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["text"]);
    drop(listener);
}

// C04
#[test]
fn a_tool_may_report_without_listeners() {
    /// Reports.
    #[tool(register = false)]
    async fn report(cx: &ToolContext) -> String {
        cx.update("half").await;
        cx.progress(tool_runtime::context::Progress::new(1.0)).unwrap();
        format!("{}", cx.has_sink())
    }
    let executor = executor(Registry::builder().tool::<report>());
    assert_eq!(texts(&crate::run(executor.run(calls(&["report"])))), ["false"]);
    let _listener = executor.subscribe();
    assert_eq!(texts(&crate::run(executor.run(calls(&["report"])))), ["true"]);
}

/// Returns the identity of its run.
#[tool(register = false)]
fn identity(cx: &ToolContext) -> Value {
    let Some(run) = cx.run() else { return Value::Null };
    json!([
        run.app(),
        run.agent(),
        run.user(),
        run.session(),
        run.id(),
        run.parent_id(),
        run.branch(),
        run.user_content(),
        run.meta(),
        run.state(),
    ])
}

// C08, C15
#[test]
fn a_tool_knows_its_run() {
    let map = |value: Value| serde_json::from_value::<Map<String, Value>>(value).unwrap();
    let run = RunContext::new()
        .with_id("r-1")
        .with_app("shop")
        .with_agent("clerk")
        .with_user("u-7")
        .with_session("s-1")
        .with_branch("root.clerk")
        .with_user_content("hello")
        .with_meta(map(json!({ "k": 1 })))
        .with_state(map(json!({ "n": 2 })));
    let executor = executor(Registry::builder().tool::<identity>());
    let outcomes = crate::run(executor.batch(calls(&["identity"])).with_run(run).run());
    assert_eq!(
        outcomes[0].result().unwrap().structured(),
        Some(json!([
            "shop", "clerk", "u-7", "s-1", "r-1", null, "root.clerk", "hello", { "k": 1, "id": "s-1" }, { "n": 2 },
        ]))
    );
    // In either order of the setters, and in a child run as well.
    let run = RunContext::new().with_meta(map(json!({ "k": 1, "id": "mine" }))).with_session("s-1");
    for run in [run.child("clerk"), run] {
        assert_eq!((run.session(), json!(run.meta())), (Some("s-1"), json!({ "k": 1, "id": "s-1" })));
    }
    let run = RunContext::new().with_meta(map(json!({ "id": "mine" })));
    assert_eq!((run.session(), json!(run.meta())), (None, json!({ "id": "mine" })));
    assert_eq!(texts(&crate::run(executor.run(calls(&["identity"])))), ["null"]);
}

// C09
#[test]
fn a_child_run_has_its_own_id_and_a_copy_of_the_values() {
    struct Token(u32);
    let parent = RunContext::new().with_app("shop").with_user("u-7").with_agent("root").provide(Token(7));
    parent.set("n", 3_u32);
    let child = parent.child("researcher");
    assert_eq!(child.parent_id(), Some(parent.id()));
    assert_ne!(child.id(), parent.id());
    assert_eq!((child.app(), child.user()), (Some("shop"), Some("u-7")));
    assert_eq!((child.agent(), child.branch()), (Some("researcher"), Some("researcher")));
    assert_eq!(child.child("writer").branch(), Some("researcher.writer"));
    assert_eq!(child.read_only().get::<Token>().map(|token| token.0), Some(7));
    child.set("n", 0_u32);
    assert_eq!(parent.value::<u32>("n").as_deref(), Some(&3));
    assert_eq!(child.value::<u32>("n").as_deref(), Some(&0));
    child.cancellation().cancel();
    assert!(!parent.cancellation().is_cancelled());
    let other = parent.child("other");
    parent.cancellation().cancel();
    assert!(other.cancellation().is_cancelled());
}

// C10
#[test]
fn a_value_of_the_run_is_found_by_its_key_and_type() {
    /// Counts its calls in a value of the run.
    #[tool(register = false)]
    fn count(cx: &ToolContext) -> u32 {
        let run = cx.run().unwrap();
        let count = run.value::<u32>("count").map_or(0, |count| *count) + 1;
        run.set("count", count);
        count
    }
    let executor = executor(Registry::builder().tool::<count>());
    let run = Arc::new(RunContext::new());
    let batch = || executor.batch(calls(&["count"])).with_run(Arc::clone(&run)).run();
    assert_eq!(texts(&crate::run(batch())), ["1"]);
    assert_eq!(texts(&crate::run(batch())), ["2"]);
    assert_eq!(run.value::<u32>("count").as_deref(), Some(&2));
    assert!(run.value::<u64>("count").is_none() && run.value::<u32>("other").is_none());
}

struct UserToken(&'static str);

// C11
#[test]
fn a_value_of_the_run_overrides_the_value_of_the_program() {
    /// Returns the user of its token.
    #[tool(register = false)]
    fn whose(token: &UserToken) -> &'static str {
        token.0
    }
    let timeline = Timeline::default();
    let noting = timeline.clone();
    let hook = On::before(move |call| {
        noting.note(call.context().get::<UserToken>().unwrap().0);
        Ok(Before::Continue)
    });
    let executor = building(Registry::builder().tool::<whose>().provide(UserToken("program")));
    let executor = executor.hook(hook).build().unwrap();
    let run = RunContext::new().provide(UserToken("run"));
    assert_eq!(texts(&crate::run(executor.batch(calls(&["whose"])).with_run(run).run())), ["run"]);
    assert_eq!(texts(&crate::run(executor.run(calls(&["whose"])))), ["program"]);
    assert_eq!(timeline.all(), ["run", "program"]);
}

// C11
#[test]
fn a_missing_value_of_the_run_is_an_error_of_the_call() {
    /// Depends on a value that each run provides.
    #[tool(register = false)]
    fn whose(token: &UserToken) -> &'static str {
        token.0
    }
    let executor = executor(Registry::builder().tool::<whose>().provide_per_run::<UserToken>());
    let outcomes = crate::run(executor.run(calls(&["whose"])));
    let text = outcomes[0].result().unwrap().text().into_owned();
    assert!(text.starts_with("Tool unavailable: no value of type `"), "{text}");
    assert!(text.ends_with("UserToken` was provided"), "{text}");
    let run = RunContext::new().provide(UserToken("run"));
    assert_eq!(texts(&crate::run(executor.batch(calls(&["whose"])).with_run(run).run())), ["run"]);
}

// C15, C16
#[test]
fn the_meta_of_a_call_reaches_the_tool() {
    /// Lists the meta of its call.
    #[tool(register = false)]
    fn list(cx: &ToolContext) -> Value {
        let uris: Vec<_> = cx.resources().iter().map(|resource| resource.uri.as_str()).collect();
        json!([uris, cx.meta()])
    }
    let resource = |uri: &str| Resource {
        uri: uri.to_owned(),
        mime_type: "text/plain".to_owned(),
        body: ResourceBody::Text("text".to_owned()),
    };
    let meta = |call: ToolCall| call.with_meta(serde_json::from_value(json!({ "k": 1 })).unwrap());
    let plain = || ToolCall::new("list", "{}");
    let with_resources = || plain().with_resources(vec![resource("a"), resource("b")]);
    let executor = executor(Registry::builder().tool::<list>());
    let calls = vec![meta(with_resources()), with_resources(), meta(plain()), plain()];
    let expected = [r#"[["a","b"],{"k":1}]"#, r#"[["a","b"],null]"#, r#"[[],{"k":1}]"#, "[[],null]"];
    assert_eq!(texts(&crate::run(executor.run(calls))), expected);
}

// C17
#[test]
fn policies_see_a_run_as_read_only() {
    fn may(run: ReadonlyContext<'_>) -> bool {
        run.user() == Some("u-7")
            && run.state()["plan"] == "pro"
            && run.value::<u32>("n").as_deref() == Some(&1)
    }
    let state = serde_json::from_value(json!({ "plan": "pro" })).unwrap();
    let run = RunContext::new().with_user("u-7").with_state(state);
    run.set("n", 1_u32);
    assert!(may(run.read_only()));
    run.set("n", 2_u32);
    assert!(!may(run.read_only()));
}

// C10
#[test]
fn values_of_a_run_may_read_the_run_when_they_are_created_and_dropped() {
    struct Looks(Weak<RunContext>);
    impl Drop for Looks {
        fn drop(&mut self) {
            let run = self.0.upgrade().unwrap();
            assert!(run.value::<Looks>("looks").is_none());
            run.set("dropped", run.value::<u32>("dropped").map_or(1, |times| *times + 1));
        }
    }
    let run = Arc::new(RunContext::new());
    run.set("one", 1_u32);
    let sum = run.value_or_insert_with("two", || *run.value::<u32>("one").unwrap() + 1);
    assert_eq!((*sum, *run.value_or_insert_with("two", || 7_u32)), (2, 2));
    run.set("looks", Looks(Arc::downgrade(&run)));
    run.set("looks", ());
    run.set("looks", Looks(Arc::downgrade(&run)));
    run.value_or_insert_with("looks", || ());
    assert_eq!(run.value::<u32>("dropped").as_deref(), Some(&2));
}

#[test]
fn values_of_a_run_are_not_in_its_debug_output() {
    let secrets = || Map::from_iter([("token".to_owned(), json!("s3cr3t"))]);
    let run = RunContext::new().with_id("r1").with_user("Ada").with_user_content("s3cr3t");
    let run = run.with_meta(secrets()).with_state(secrets());
    for written in [format!("{run:?}"), format!("{:?}", run.read_only())] {
        assert!(written.contains(r#"id: "r1""#) && written.contains(r#"user: Some("Ada")"#), "{written}");
        assert!(!written.contains("s3cr3t"), "{written}");
    }
}
