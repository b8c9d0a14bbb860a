//! Behaviour of tools and hooks within the run of an agent.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    sync::{Arc, Mutex},
};

use tool_agent::{
    Agent, AgentHook, EndReason, Runner, ScriptedModel, Step, StepEnd,
    model::{Reply, Response},
};
use tool_runtime::{
    ToolCall,
    hook::{Before, BeforeCall, Hook},
    output::stream,
    prelude::*,
};

/// Notes of the ids of calls, by the place that was asked.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    /// Notes the call of the current task, as code does that has no context.
    fn note(&self, place: &str) {
        let id = ToolContext::current_call_id().map_or_else(|| "none".to_owned(), |id| id.to_string());
        self.0.lock().unwrap().push(format!("{place} {id}"));
    }

    async fn nested(&self, place: &str) {
        tokio::task::yield_now().await;
        self.note(place);
    }
}

/// Notes its call.
#[tool(register = false)]
async fn plain(notes: &Notes) -> &'static str {
    notes.nested("plain").await;
    "noted"
}

/// Notes its call before each item.
#[tool(register = false)]
fn streaming(notes: &Notes) -> impl Stream<Item = u8> + use<> {
    let notes = notes.clone();
    stream::unfold(0, move |count| {
        let notes = notes.clone();
        async move {
            notes.nested("item").await;
            (count < 1).then_some((count, count + 1))
        }
    })
}

impl Hook for Notes {
    async fn before(&self, _: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        self.note("hook");
        Ok(Before::Continue)
    }
}

impl AgentHook for Notes {
    async fn before_model(&self, _: &mut Step) -> Result<Option<Response>, ToolError> {
        self.note("model");
        Ok(None)
    }

    async fn after_step(&self, _: &StepEnd) -> Result<ControlFlow<()>, ToolError> {
        self.note("step");
        Ok(ControlFlow::Continue(()))
    }
}

// C05
#[tokio::test]
async fn code_within_a_call_of_a_run_knows_its_id_and_code_outside_has_none() {
    let notes = Notes::default();
    let tools =
        Registry::builder().tool::<plain>().tool::<streaming>().provide(notes.clone()).build().unwrap();
    let executor = Executor::builder(tools).hook(notes.clone()).build().unwrap();
    let calls = [ToolCall::new("plain", "{}").with_id("1"), ToolCall::new("streaming", "{}").with_id("2")];
    let model = ScriptedModel::new([Reply::calls(calls), Reply::text("Done.")]);
    let agent = Agent::builder("noter", model).tools(executor).hook(notes.clone()).build().unwrap();
    Runner::new(agent).run("Note.").answer().await.unwrap();
    let mut all = notes.0.lock().unwrap().clone();
    all.sort();
    let expected =
        ["hook 1", "hook 2", "item 2", "item 2", "model none", "model none", "plain 1", "step none"];
    assert_eq!(all, expected);
    assert_eq!(ToolContext::current_call_id(), None);
}

/// Returns a value that JSON cannot represent.
#[tool(register = false, output_schema = false)]
fn odd() -> BTreeMap<Vec<u8>, u8> {
    [(vec![1], 2)].into()
}

// D10
#[tokio::test]
async fn a_result_that_is_not_json_is_an_error_for_the_model_and_the_run_continues() {
    let model = ScriptedModel::new([Reply::call("odd", "{}"), Reply::text("It failed.")]);
    let tools = Registry::builder().tool::<odd>().build().unwrap();
    let end = Runner::new(Agent::builder("odd", model.clone()).tools(tools).build().unwrap())
        .run("Go.")
        .end()
        .await;
    assert_eq!((end.reason, &*end.text), (EndReason::Answered, "It failed."));
    let requests = model.requests();
    let result = requests[1].messages[2].tool_results().next().unwrap();
    assert!(result.is_error() && result.text().contains("key must be a string"), "{}", result.text());
}
