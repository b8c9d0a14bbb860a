//! Open calls: external, long-running and pending calls that are answered later.

use std::sync::{Arc, Mutex, OnceLock};

use tool_runtime::{
    CallOutcome, Executor, Tool, ToolCall, ToolDefinition, ToolName,
    builder::ExternalTool,
    call::Operation,
    definition::{Permission, Prepared},
    event::EventKind,
    hook::CallView,
    open_calls::{OpenCall, OpenCallError},
    policy::{PermissionRequest, ResultBudget},
    prelude::*,
    schema::{Arguments, InputSchema},
};

use super::{
    Counter, Noting, On, Timeline, building, calls, echo, one, texts,
    ways::{Watch, each_way},
};

fn is_echo(call: &CallView<'_>) -> bool {
    call.tool() == "echo"
}

const ECHO: &str = r#"{"text":"a"}"#;

/// Echoes in this program.
#[tool(register = false)]
fn local() -> &'static str {
    "done here"
}

// X01, X12
#[test]
fn an_external_call_is_neither_validated_nor_judged_nor_run() {
    each_way(async |way| {
        let (counter, asked, timeline) = (Counter::default(), Counter::default(), Timeline::default());
        let asking = asked.clone();
        let executor = way.of(building(Registry::builder().tool::<echo>().provide(counter.clone()))
            .external(is_echo)
            .hook(Noting(timeline.clone(), ""))
            .permission(move |_: &PermissionRequest<'_>| {
                asking.count();
                Permission::deny("no")
            }));
        // Neither are the arguments those of the tool, nor would the policy permit them.
        let outcomes = executor.run(one("echo", r#"{ "text": 1, "tone": 2 }"#)).await;
        let CallOutcome::External(call, _) = &outcomes[0] else { panic!() };
        assert_eq!(**call, one("echo", r#"{ "text": 1, "tone": 2 }"#)[0]); // X12
        assert!(outcomes[0].result().is_none() && !outcomes[0].is_finished());
        assert_eq!((counter.get(), asked.get()), (0, 0));
        assert!(timeline.all().is_empty());
        executor.assert_told(["external 0"]);
        // The tool is still in the definitions.
        assert!(executor.tools().get("echo").is_some());
    });
}

// X05, X06, X07, X08
#[test]
fn an_external_call_is_answered_once() {
    each_way(async |way| {
        let tools = Registry::builder().tool::<echo>().tool::<local>().provide(Counter::default());
        let executor = way.of(building(tools).external(is_echo));
        let mut calls = calls(&["local", "unknown"]);
        calls.push(ToolCall::new("echo", ECHO).with_id("2"));
        let outcomes = executor.run(calls).await;
        assert_eq!(texts(&outcomes), ["done here", "Tool not found: unknown", "-"]);
        if let Some(told) = &mut executor.texts() {
            told.retain(|event| event != "external 2");
            let mut expected = ["started 0", "finished 0", "started 1", "finished 1"];
            told.sort();
            expected.sort_unstable();
            assert_eq!(*told, expected);
        }
        let [OpenCall::External(open, _)] = &executor.open_calls().await.unwrap()[..] else { panic!() };
        assert_eq!((open.id.to_string(), open.arguments.as_str()), ("2".to_owned(), ECHO));

        let wrong = executor.submit_result("7", Ok("lost".into())).await.unwrap_err();
        assert_eq!(wrong, OpenCallError::NotOpen("7".into()));
        let answer = executor.submit_result("2", Ok("done there".into())).await.unwrap();
        assert_eq!((answer.id.to_string(), &*answer.name), ("2".to_owned(), "echo"));
        assert_eq!(answer.text(), "done there");
        assert_eq!((answer.attempts, answer.duration), (0, std::time::Duration::ZERO));
        assert!(executor.open_calls().await.unwrap().is_empty());
        let again = executor.submit_result("2", Ok("done again".into())).await.unwrap_err();
        assert_eq!(
            again.to_string(),
            "no call 2 is open: there was none with this id, or it was answered before"
        );
        // The call has no start event, hence no end event.
        executor.assert_told::<&str>([]);
    });
}

// X05
#[test]
fn the_caller_may_answer_with_an_error() {
    each_way(async |way| {
        let tools = Registry::builder().tool::<echo>().provide(Counter::default());
        let executor = way.of(building(tools).external(is_echo));
        executor.run(one("echo", ECHO)).await;
        let answer =
            executor.submit_result("0", Err(ToolError::failed("the browser is closed"))).await.unwrap();
        assert!(answer.is_error());
        assert_eq!(answer.text(), "the browser is closed");
        assert_eq!(answer.outcome.unwrap_err().tool(), Some("echo"));
    });
}

// X01, G08
#[test]
fn a_call_does_not_run_if_the_filter_of_external_calls_panics() {
    each_way(async |way| {
        let counter = Counter::default();
        let tools = Registry::builder().tool::<echo>().provide(counter.clone());
        let executor = way.of(building(tools).external(|_| panic!("boom")));
        let outcomes = executor.run(one("echo", ECHO)).await;
        assert_eq!(texts(&outcomes), ["the selection of external calls panicked: boom"]);
        assert_eq!(counter.get(), 0);
        executor.assert_told(["started 0", "finished 0"]);
    });
}

/// Starts a job.
#[tool(register = false, long_running)]
fn start(quiet: bool) -> ToolOutput {
    let output = if quiet { ToolOutput::empty() } else { ToolOutput::from("started job-7") };
    output.with_operation_id("job-7")
}

fn starting(quiet: bool) -> Vec<ToolCall> {
    vec![ToolCall::new("start", json!({ "quiet": quiet })).with_id("0")]
}

// X10, X11
#[test]
fn a_long_running_call_has_an_intermediate_result_and_is_answered_by_its_id() {
    each_way(async |way| {
        let executor = way.executor(Registry::builder().tool::<start>());
        let outcomes = executor.run(starting(false)).await;
        let CallOutcome::Pending(pending) = &outcomes[0] else { panic!() };
        assert!(matches!(&pending.operation, Operation::LongRunning(Some(id)) if id == "job-7"));
        assert_eq!(texts(&outcomes), ["started job-7"]);
        executor.assert_told(["started 0", "finished 0"]);
        assert_eq!(executor.update("0", "half".into()).await.unwrap().text(), "half");
        for event in executor.events().into_iter().flatten() {
            let EventKind::Updated { attempt, update } = &event.kind else { panic!("{event:?}") };
            assert_eq!((*attempt, update.text().as_ref()), (1, "half"));
        }
        let [OpenCall::LongRunning(call, _)] = &executor.open_calls().await.unwrap()[..] else { panic!() };
        assert_eq!(call.id.to_string(), "0");
        let answer = executor.submit_result("0", Ok("built".into())).await.unwrap();
        assert_eq!((answer.id.to_string(), answer.text().as_ref()), ("0".to_owned(), "built"));
        // Its end event had the intermediate result.
        executor.assert_told::<&str>([]);
        assert!(executor.open_calls().await.unwrap().is_empty());
    });
}

// X10, X11, H14
#[test]
fn a_long_running_call_without_an_intermediate_result_ends_with_its_answer() {
    each_way(async |way| {
        let executor = way.executor(Registry::builder().tool::<start>());
        let outcomes = executor.run(starting(true)).await;
        assert_eq!(texts(&outcomes), ["-"]);
        executor.assert_told(["started 0"]);
        executor.submit_result("0", Ok("built".into())).await.unwrap();
        // The stream of the batch has ended.
        if let (Watch::Listener, Some(events)) = (way.watch, executor.events()) {
            let [event] = &events[..] else { panic!("{events:?}") };
            let EventKind::Finished { result } = &event.kind else { panic!("{event:?}") };
            assert_eq!((result.text(), Some(&event.address)), ("built".into(), outcomes[0].address()));
        }
        assert_eq!(
            executor.submit_result("0", Ok("built".into())).await.unwrap_err(),
            OpenCallError::NotOpen("0".into())
        );
    });
}

// X05, X11: texts for the model are truncated, whatever their source.
#[test]
fn answers_and_intermediate_results_are_limited_in_size() {
    /// Runs externally.
    #[tool(register = false, max_result_size = 20)]
    fn elsewhere() {}
    /// Starts a job, whose result a person reads.
    #[tool(register = false, long_running, skip_summarization)]
    fn begin() -> &'static str {
        "started"
    }
    each_way(async |way| {
        let builder = building(Registry::builder().tool::<elsewhere>().tool::<begin>());
        let builder = builder.budget(ResultBudget::new(40)).external(|call| call.tool() == "elsewhere");
        let executor = way.of(builder);
        let cut = |most: usize| {
            let half = "x".repeat(most / 2);
            format!("{half}\n[.. {} of 1000 bytes left out ..]\n{half}", 1000 - most)
        };
        let long = || ToolOutput::from("x".repeat(1000));
        let outcomes = executor.run(calls(&["elsewhere", "begin", "elsewhere"])).await;
        let [external, begun, failed] = [0, 1, 2].map(|n: usize| outcomes[n].address().unwrap());
        assert_eq!(executor.submit_result(external, Ok(long())).await.unwrap().text(), cut(20));
        let error = ToolError::failed("x".repeat(1000));
        assert_eq!(executor.submit_result(failed, Err(error)).await.unwrap().text(), cut(20));
        executor.events();
        assert_eq!(executor.update(begun, long()).await.unwrap().text(), cut(40));
        // Listeners receive the full text.
        if let (Watch::Listener, Some(events)) = (way.watch, executor.events()) {
            let [event] = &events[..] else { panic!("{events:?}") };
            let EventKind::Updated { update, .. } = &event.kind else { panic!("{event:?}") };
            assert_eq!(update, &long());
        }
        let end = executor.submit_result(begun, Ok(long())).await.unwrap();
        assert_eq!(end.text(), cut(40));
        assert!(end.outcome.unwrap().actions().unwrap().skip_summarization);
    });
}

// X05, H09: the answer is not the result of a tool of this executor.
#[test]
fn hooks_do_not_see_external_answers() {
    each_way(async |way| {
        let timeline = Timeline::default();
        let tools = Registry::builder().tool::<echo>().provide(Counter::default());
        let executor = way.of(building(tools).external(is_echo).hook(Noting(timeline.clone(), "")));
        executor.run(one("echo", ECHO)).await;
        assert_eq!(executor.submit_result("0", Ok("done there".into())).await.unwrap().text(), "done there");
        assert!(timeline.all().is_empty());
    });
}

// X10
#[test]
fn a_long_running_tool_that_fails_at_once_has_a_final_error() {
    each_way(async |way| {
        /// Starts nothing.
        #[tool(register = false, long_running)]
        fn refuse() -> Result<(), String> {
            Err("no machine is free".to_owned())
        }
        let executor = way.executor(Registry::builder().tool::<refuse>());
        let outcomes = executor.run(calls(&["refuse"])).await;
        assert_eq!(texts(&outcomes), ["no machine is free"]);
        assert!(outcomes[0].is_finished() && executor.open_calls().await.unwrap().is_empty());
    });
}

// C06
#[test]
fn calls_without_an_id_get_a_unique_id() {
    each_way(async |way| {
        /// Returns its call id.
        #[tool(register = false)]
        fn which(cx: &ToolContext) -> String {
            cx.call_id().to_string()
        }
        let written = [
            json!({ "name": "which" }),
            json!({ "name": "which", "id": null, "arguments": {} }),
            json!({ "name": "which", "id": "", "arguments": "{}" }),
        ];
        let mut calls: Vec<ToolCall> =
            written.into_iter().map(|call| serde_json::from_value(call).unwrap()).collect();
        calls.push(ToolCall::new("which", "{}").with_id(""));
        let executor = way.executor(Registry::builder().tool::<which>());
        let outcomes = executor.run(calls.clone()).await;
        let told = executor.texts();
        let mut ids = std::collections::BTreeSet::new();
        for (outcome, call) in outcomes.iter().zip(&calls) {
            let result = outcome.result().unwrap();
            assert_eq!((&result.id, result.text().as_ref()), (&call.id, &*call.id.to_string()));
            for what in ["started", "finished"] {
                let event = format!("{what} {}", call.id);
                assert!(told.as_ref().is_none_or(|told| told.contains(&event)));
            }
            ids.insert(result.id.to_string());
        }
        assert_eq!((ids.len(), ids.contains("")), (4, false));
    });
}

// X10, H10
#[test]
fn a_long_running_tool_that_a_hook_recovers_has_a_final_result() {
    each_way(async |way| {
        /// Starts nothing.
        #[tool(register = false, long_running)]
        fn refuse() -> Result<(), String> {
            Err("no machine is free".to_owned())
        }
        let recovers = On::recover(|_| Ok(Some("try tomorrow".into())));
        let executor = way.of(building(Registry::builder().tool::<refuse>()).hook(recovers));
        let outcomes = executor.run(calls(&["refuse"])).await;
        assert_eq!(texts(&outcomes), ["try tomorrow"]);
        assert!(outcomes[0].is_finished() && executor.open_calls().await.unwrap().is_empty());
    });
}

// X07, I15
#[test]
fn a_listener_may_answer_a_pending_call_at_once() {
    /// Removes something.
    #[tool(register = false, confirm)]
    fn remove() {}
    let open = Arc::new(Mutex::new(Vec::new()));
    let executor = Arc::new(OnceLock::<Executor>::new());
    let (seen, asked) = (Arc::clone(&open), Arc::clone(&executor));
    let looks = On::finished(move |call, _| {
        let all = crate::now(asked.get().unwrap().open_calls()).unwrap();
        seen.lock().unwrap().push(all.iter().any(|open| open.call().id == *call.id()));
    });
    let tools = Registry::builder().tool::<remove>().tool::<start>();
    let made = executor.get_or_init(|| building(tools).hook(looks).build().unwrap());
    crate::run(made.run(calls(&["remove"])));
    crate::run(made.run(vec![ToolCall::new("start", r#"{"quiet":false}"#).with_id("1")]));
    assert_eq!(*open.lock().unwrap(), [true, true]);
}

// X01, G08
#[test]
fn a_tool_whose_external_check_panics_does_not_run() {
    each_way(async |way| {
        struct Unsure(ExternalTool);
        impl Tool for Unsure {
            fn definition(&self) -> &ToolDefinition {
                self.0.definition()
            }

            fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
                self.0.prepare(arguments)
            }

            fn is_external(&self) -> bool {
                panic!("boom")
            }
        }
        let name = ToolName::new("unsure").unwrap();
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        let unsure = Unsure(ExternalTool::new(ToolDefinition::new(name, "Is unsure.", schema)));
        let executor = way.executor(Registry::builder().add(unsure).tool::<local>());
        let outcomes = executor.run(calls(&["unsure", "local"])).await;
        let why = "the selection of external calls panicked: boom";
        assert_eq!(texts(&outcomes), [why, "done here"]);
    });
}

// X01, G08: what takes part in a call is decided when its wave begins.
#[test]
fn a_call_is_external_if_its_tool_says_so_after_the_waves_before() {
    /// External once another tool has run.
    struct Switched(ExternalTool, Counter);
    impl Tool for Switched {
        fn definition(&self) -> &ToolDefinition {
            self.0.definition()
        }

        fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
            self.0.prepare(arguments)
        }

        fn is_external(&self) -> bool {
            self.1.get() > 0
        }
    }
    /// Counts its calls.
    #[tool(register = false)]
    fn switch(runs: &Counter) {
        runs.count();
    }
    each_way(async |way| {
        let runs = Counter::default();
        let name = ToolName::new("switched").unwrap();
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        let tool = ExternalTool::new(ToolDefinition::new(name, "Is external later.", schema));
        let tools = Registry::builder().tool::<switch>().add(Switched(tool, runs.clone())).provide(runs);
        let outcomes = way.executor(tools).run(calls(&["switch", "switched"])).await;
        let is_external = matches!(outcomes[1], CallOutcome::External(..));
        assert_eq!(is_external, way.size() == 1, "{outcomes:?}");
    });
}

/// A tool whose calls are all external.
fn leaving() -> Executor {
    let tools = Registry::builder().tool::<echo>().provide(Counter::default());
    building(tools).external(is_echo).build().unwrap()
}

// X08, I20: calls with the same id in two runs.
#[test]
fn an_executor_of_a_run_answers_only_its_own_calls() {
    let shared = leaving();
    let of_run = || shared.with_tools(shared.tools().clone()).unwrap();
    let (one_run, other) = (of_run(), of_run());
    for executor in [&one_run, &other] {
        crate::run(executor.run(one("echo", ECHO)));
        assert_eq!(crate::now(executor.open_calls()).unwrap().len(), 1);
    }
    assert!(crate::now(one_run.submit_result("0", Ok("mine".into()))).is_ok());
    assert!(crate::now(one_run.submit_result("0", Ok("mine again".into()))).is_err());
    assert_eq!(crate::now(other.open_calls()).unwrap().len(), 1);
    assert!(crate::now(shared.open_calls()).unwrap().is_empty());
}

#[test]
fn an_open_call_can_be_removed() {
    let executor = leaving();
    crate::run(executor.run(one("echo", ECHO)));
    crate::now(executor.discard("0")).unwrap();
    assert!(crate::now(executor.open_calls()).unwrap().is_empty());
    assert_eq!(crate::now(executor.discard("0")).unwrap_err(), OpenCallError::NotOpen("0".into()));
}
