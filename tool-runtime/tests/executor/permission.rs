//! Permission policies.

use tokio::sync::{Mutex, oneshot};
use tool_runtime::{
    RunContext,
    call::merged_actions,
    definition::Permission,
    policy::{Approval, PermissionPolicy, PermissionRequest},
    prelude::*,
};

use super::{Counter, Noting, On, Timeline, building, echo, one, texts, ways::each_way};

const ECHO: &str = r#"{"text":"a"}"#;

fn echoing(counter: &Counter) -> tool_runtime::registry::RegistryBuilder {
    Registry::builder().tool::<echo>().provide(counter.clone())
}

// I01, I05
#[test]
fn a_policy_sees_the_call_that_would_run() {
    each_way(async |way| {
        let timeline = Timeline::default();
        let noting = timeline.clone();
        let policy = move |request: &PermissionRequest<'_>| {
            let tags = &request.metadata().tags;
            assert_eq!(request.definition.name().as_str(), request.tool());
            noting.note(format!(
                "{} {} {} {:?} {:?}",
                request.tool(),
                request.id(),
                request.arguments_value().unwrap(),
                request.run().and_then(RunContext::user),
                tags,
            ));
            Permission::Allow
        };
        /// Removes.
        #[tool(register = false, tags("files"))]
        fn remove(path: String, force: bool) -> String {
            format!("{path} {force}")
        }
        let executor = way.of(building(Registry::builder().tool::<remove>())
            .hook(On::before(|call| {
                call.rewrite(json!({ "force": "true", "path": "b" }));
                Ok(tool_runtime::hook::Before::Continue)
            }))
            .permission(policy));
        let batch = executor.batch(one("remove", r#"{"path":"a","force":false}"#));
        let outcomes = batch.with_run(RunContext::new().with_user("u-7")).run().await;
        assert_eq!(texts(&outcomes), ["b true"]);
        assert_eq!(timeline.all(), [r#"remove 0 {"force":true,"path":"b"} Some("u-7") ["files"]"#]);
    });
}

// I02
#[test]
fn calls_are_permitted_by_default() {
    each_way(async |way| {
        assert_eq!(Permission::default(), Permission::Allow);
        let counter = Counter::default();
        let outcomes = way.executor(echoing(&counter)).run(one("echo", ECHO)).await;
        assert_eq!(texts(&outcomes), ["a"]);
        let executor =
            building(echoing(&counter)).permission(|_: &PermissionRequest<'_>| Permission::default());
        assert_eq!(texts(&executor.build().unwrap().run(one("echo", ECHO)).await), ["a"]);
    });
}

// I03, I02
#[test]
fn a_denied_call_has_a_structured_error() {
    each_way(async |way| {
        let cases = [
            (
                Permission::deny("no"),
                "Denied: no",
                json!({ "status": "denied", "tool": "echo", "reason": "no" }),
            ),
            (Permission::deny(""), "Denied", json!({ "status": "denied", "tool": "echo" })),
            (
                Permission::ask("may it?"),
                "Approval required: may it?",
                json!({ "status": "approval_required", "tool": "echo", "reason": "may it?" }),
            ),
        ];
        for (permission, text, structured) in cases {
            let counter = Counter::default();
            let executor = way
                .of(building(echoing(&counter))
                    .permission(move |_: &PermissionRequest<'_>| permission.clone()));
            let outcomes = executor.run(one("echo", ECHO)).await;
            let result = outcomes[0].result().unwrap();
            assert_eq!((result.text().as_ref(), result.structured()), (text, Some(structured)));
            assert!(outcomes[0].is_finished() && result.is_error());
            assert_eq!((counter.get(), result.attempts), (0, 0));
            executor.assert_told(["started 0", "finished 0"]);
        }
    });
}

#[expect(clippy::ptr_arg, reason = "as the parameter is")]
fn own(path: &String) -> Permission {
    match path.as_str() {
        "deny" => Permission::deny("the tool says no"),
        "ask" => Permission::ask("the tool asks"),
        "panic" => panic!("boom"),
        _ => Permission::Allow,
    }
}

/// Has its own permission check.
#[tool(register = false, permission = own)]
fn guarded(path: String) -> String {
    path
}

// I04, I06
#[test]
fn the_permission_check_of_a_tool_runs_before_the_policy() {
    each_way(async |way| {
        let asked = Counter::default();
        let asking = asked.clone();
        let policy = move |_: &PermissionRequest<'_>| {
            asking.count();
            Permission::deny("the policy says no")
        };
        let executor = way.of(building(Registry::builder().tool::<guarded>()).permission(policy));
        let run = async |path: &str| {
            let calls = vec![tool_runtime::ToolCall::new("guarded", json!({ "path": path })).with_id("0")];
            texts(&executor.run(calls).await).concat()
        };
        assert_eq!(run("deny").await, "Denied: the tool says no");
        assert_eq!(run("ask").await, "Approval required: the tool asks");
        assert_eq!(run("panic").await, "The tool guarded panicked: boom");
        assert_eq!(asked.get(), 0);
        assert_eq!(run("a").await, "Denied: the policy says no");
        assert_eq!(asked.get(), 1);
    });
}

// I04
#[test]
fn a_call_that_a_rule_denies_does_not_reach_the_check_of_its_tool() {
    /// Has a check that counts.
    #[tool(register = false, permission = counted)]
    fn checked(counter: &Counter, path: String) -> String {
        counter.get().to_string() + &path
    }
    fn counted(counter: &Counter, _path: &String) -> Permission {
        counter.count();
        Permission::deny("the tool says no")
    }
    each_way(async |way| {
        let counter = Counter::default();
        let rules = serde_json::from_value(json!([
            { "deny": "checked", "where": { "/path": "no" }, "reason": "a rule says no" },
            { "ask": "checked", "where": { "/path": "perhaps" } },
        ]));
        let tools = Registry::builder().tool::<checked>().provide(counter.clone());
        let executor = way.of(building(tools).rules(rules.unwrap()));
        let run = async |path: &str| {
            texts(&executor.run(one("checked", &json!({ "path": path }).to_string())).await).concat()
        };
        assert_eq!((run("no").await, counter.get()), ("Denied: a rule says no".to_owned(), 0)); // I04
        // A rule that asks does not replace the check.
        assert_eq!((run("perhaps").await, counter.get()), ("Denied: the tool says no".to_owned(), 1)); // I04
    });
}

/// A policy that cannot decide.
struct Broken(bool);

impl PermissionPolicy for Broken {
    async fn decide(&self, _request: &PermissionRequest<'_>) -> Result<Permission, ToolError> {
        assert!(!self.0, "boom");
        Err(ToolError::failed("the directory is not there"))
    }
}

// I06
#[test]
fn a_call_does_not_run_if_the_policy_fails() {
    each_way(async |way| {
        for (panics, text) in
            [(false, "the directory is not there"), (true, "the permission policy panicked: boom")]
        {
            let counter = Counter::default();
            let executor = way.of(building(echoing(&counter)).permission(Broken(panics)));
            let outcomes = executor.run(one("echo", ECHO)).await;
            assert_eq!(texts(&outcomes), [text]);
            assert!(outcomes[0].result().unwrap().is_error());
            assert_eq!(counter.get(), 0);
            executor.assert_told(["started 0", "finished 0"]);
        }
    });
}

// I07, H11
#[test]
fn hooks_cannot_change_a_denial_and_a_denial_does_not_end_the_turn() {
    each_way(async |way| {
        /// Shows a picture.
        #[tool(register = false, skip_summarization)]
        fn show() {}
        let timeline = Timeline::default();
        let executor = way.of(building(Registry::builder().tool::<show>())
            .permission(|_: &PermissionRequest<'_>| Permission::deny("no"))
            .hook(Noting(timeline.clone(), ""))
            .after_answers(true));
        let outcomes = executor.run(one("show", "{}")).await;
        assert_eq!(texts(&outcomes), ["Denied: no"]);
        assert_eq!(timeline.all(), ["gate 0", "before 0", "failed 0"]);
        assert!(!merged_actions(&outcomes).skip_summarization);
    });
}

// I08
#[test]
fn a_policy_may_be_asynchronous() {
    each_way(async |way| {
        struct Asks(Mutex<Option<oneshot::Receiver<Permission>>>);
        impl PermissionPolicy for Asks {
            async fn decide(&self, _request: &PermissionRequest<'_>) -> Result<Permission, ToolError> {
                Ok(self.0.lock().await.take().unwrap().await.unwrap())
            }
        }
        let (answer, asked) = oneshot::channel();
        let counter = Counter::default();
        let policy = Asks(Mutex::new(Some(asked)));
        let executor = way.of(building(echoing(&counter)).permission(policy));
        let mut batch = Box::pin(executor.run(one("echo", ECHO)));
        assert!(futures_util::poll!(&mut batch).is_pending());
        assert_eq!(counter.get(), 0);
        answer.send(Permission::Allow).unwrap();
        assert_eq!(texts(&batch.await), ["a"]);
    });
}

// I01, I08: the policy of the program applies before the approval by a person.
#[test]
fn a_policy_denies_a_call_that_requires_confirmation() {
    each_way(async |way| {
        let runs = Counter::default();
        let counted = runs.clone();
        let wipe = ToolBuilder::new("wipe")
            .permission(|_: &Wipe, _| Permission::ask("Sure?"))
            .body(tool_body!(move |_: Wipe| counted.count()))
            .unwrap();
        let executor = way.of(building(Registry::builder().add(wipe))
            .permission_fn(|_| async { Ok(Permission::deny("not today")) })
            .approver_fn(|_| async { Ok(Approval::Approved) }));
        assert_eq!(texts(&executor.run(one("wipe", "{}")).await), ["Denied: not today"]);
        assert_eq!(runs.get(), 0);
    });
    #[tool_args]
    struct Wipe {}
}

// I08
#[test]
fn a_policy_that_allows_or_asks_leaves_the_approval_of_a_tool_that_asks() {
    #[tool_args]
    struct Wipe {}
    each_way(async |way| {
        for permission in [Permission::Allow, Permission::ask("Really?")] {
            let wipe = ToolBuilder::new("wipe")
                .permission(|_: &Wipe, _| Permission::ask("Sure?"))
                .body(tool_body!(|_: Wipe| "wiped"))
                .unwrap();
            let executor = way.of(building(Registry::builder().add(wipe))
                .permission(move |_: &PermissionRequest<'_>| permission.clone())
                .approver_fn(|_| async { Ok(Approval::Approved) }));
            assert_eq!(texts(&executor.run(one("wipe", "{}")).await), ["wiped"]);
        }
    });
}
