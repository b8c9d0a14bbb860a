//! Structured output: by the tool `submit_output`, and by the format that a provider guarantees.

use std::{collections::BTreeMap, ops::ControlFlow};

use tool_agent::{
    Agent, AgentBuilder, AgentError, AgentEventKind, AgentHook, Answers, End, EndReason, Message, Model,
    OUTPUT_INSTRUCTION, OutputTool, OutputType, Part, Runner, ScriptedModel, Step,
    model::{Reply, Request, Response, ResponseStream, SharedModel},
};
use tool_runtime::{
    ToolCall, ToolResult,
    hook::{CallView, Hook},
    policy::{Rule, Rules},
    prelude::*,
    registry::OUTPUT_TOOL,
    schema::InputSchema,
};

/// An order.
#[tool_args]
#[derive(Debug, PartialEq)]
struct Order {
    /// The article.
    article: String,
    /// The number of pieces.
    count: u32,
    /// A note.
    note: Option<String>,
}

/// Looks up the price of an article.
#[tool(read_only, register = false)]
fn price(article: String) -> u32 {
    u32::try_from(article.len()).unwrap()
}

/// A scripted model whose provider guarantees the format of a response.
struct Strict(ScriptedModel);

impl Model for Strict {
    fn name(&self) -> &str {
        "strict"
    }

    fn has_strict_output(&self) -> bool {
        true
    }

    fn respond(&self, request: Request) -> ResponseStream {
        self.0.respond(request)
    }
}

fn submits(arguments: Value) -> Reply {
    Reply::call(OUTPUT_TOOL, arguments)
}

fn tea() -> Value {
    json!({ "article": "tea", "count": 2 })
}

fn order() -> Order {
    Order { article: "tea".to_owned(), count: 2, note: None }
}

fn agent(model: impl Into<SharedModel>) -> AgentBuilder {
    let tools = Registry::builder().tool::<price>().build().unwrap();
    Agent::builder("clerk", model).instruction("You are a clerk.").tools(tools)
}

async fn ended(agent: AgentBuilder) -> End {
    Runner::new(agent.build().unwrap()).run("Two teas, please.").end().await
}

fn names(request: &Request) -> Vec<&str> {
    request.tools.definitions().iter().map(|it| it.name().as_str()).collect()
}

#[tokio::test]
async fn the_arguments_of_the_output_tool_are_the_output() {
    let model = ScriptedModel::new([submits(tea())]);
    let mut events = Runner::new(agent(model.clone()).output::<Order>().build().unwrap()).run("Two teas.");
    let mut results = Vec::new();
    let mut end = None;
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Message { message } => results.extend(message.tool_results().cloned()),
            AgentEventKind::Ended { end: reached } => end = Some(reached),
            _ => {}
        }
    }
    let end = end.unwrap();
    assert_eq!((&end.reason, &end.output), (&EndReason::Submitted, &Some(tea()))); // Y01
    assert_eq!(results[0].text(), tea().to_string()); // Y01
    let schema = model.requests()[0].tools.get(OUTPUT_TOOL).unwrap().definition().input_schema().clone();
    assert_eq!(schema, InputSchema::of::<Order>().unwrap()); // Y01
}

#[tokio::test]
async fn without_a_schema_any_object_is_an_output() {
    let value = json!({ "anything": [1, { "at": "all" }] });
    let end = ended(agent(ScriptedModel::new([submits(value.clone())])).output_type(OutputType::any())).await;
    assert_eq!(end.output, Some(value)); // Y01
    let model = ScriptedModel::new([submits(json!([1])), submits(json!({}))]);
    let end = ended(agent(model.clone()).output_type(OutputType::any())).await;
    assert_eq!(end.output, Some(json!({})));
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn an_invalid_output_is_an_error_result_that_lists_the_problems() {
    let model =
        ScriptedModel::new([submits(json!({ "article": "tea", "count": -1, "size": "XL" })), submits(tea())]);
    let end = ended(agent(model.clone()).output::<Order>()).await;
    assert_eq!(end.output, Some(tea())); // Y02
    let requests = model.requests();
    assert_eq!(requests.len(), 2); // Y02
    let result = requests[1].messages[2].tool_results().next().unwrap().clone();
    assert!(result.is_error());
    let text = result.text().into_owned();
    assert!(text.contains("count") && text.contains("size"), "{text}"); // Y02
}

#[tokio::test]
async fn too_many_invalid_outputs_end_the_run() {
    let bad = || submits(json!({ "article": "tea" }));
    for repairs in [0, 1, 3] {
        let replies: Vec<_> = (0..=repairs).map(|_| bad()).chain([submits(tea())]).collect();
        let model = ScriptedModel::new(replies);
        let output = OutputType::of::<Order>();
        // 3 is the default.
        let output = if repairs == 3 { output } else { output.with_repairs(repairs) };
        let end = ended(agent(model.clone()).output_type(output)).await;
        let EndReason::InvalidOutput { message } = &end.reason else { panic!("{:?}", end.reason) };
        assert!(message.contains("count"), "{message}");
        assert_eq!((end.output, model.requests().len() as u64), (None, repairs + 1)); // Y02
    }
}

#[tokio::test]
async fn the_instruction_for_the_output_tool_is_added_only_with_the_tool() {
    assert!(OUTPUT_INSTRUCTION.contains(OUTPUT_TOOL)); // Y03
    let model = ScriptedModel::new([submits(tea())]);
    ended(agent(model.clone()).output::<Order>()).await;
    let request = &model.requests()[0];
    assert_eq!(&*request.instruction, format!("You are a clerk.\n\n{OUTPUT_INSTRUCTION}")); // Y03
    assert_eq!(names(request), ["price", OUTPUT_TOOL]);

    let model = ScriptedModel::new([Reply::text("Two teas.")]);
    ended(agent(model.clone())).await;
    assert_eq!(&*model.requests()[0].instruction, "You are a clerk."); // Y03
    assert_eq!(names(&model.requests()[0]), ["price"]);

    let model = ScriptedModel::new([Reply::text(tea().to_string())]);
    ended(agent(Strict(model.clone())).output::<Order>()).await;
    assert_eq!(&*model.requests()[0].instruction, "You are a clerk."); // Y03
}

#[tokio::test]
async fn the_output_tool_is_found_by_both_names_even_if_it_is_not_used() {
    let run = RunContext::new();
    for agent in [
        agent(ScriptedModel::new([])).build().unwrap(),
        agent(ScriptedModel::new([])).output::<Order>().build().unwrap(),
    ] {
        for name in ["submit_output", "builtin.submit_output"] {
            let tool = agent.lookup(&run, name).await.unwrap();
            assert_eq!(tool.definition().name().as_str(), OUTPUT_TOOL); // Y04
            let has_schema = tool.definition().input_schema().as_value().get("properties").is_some();
            assert_eq!(has_schema, agent.output_type().is_some());
        }
        assert_eq!(agent.lookup(&run, "price").await.unwrap().definition().name().as_str(), "price");
        let error = agent.lookup(&run, "prize").await.err().unwrap();
        assert!(error.feedback().contains("Did you mean `price`?"));
    }
}

#[tokio::test]
async fn a_text_in_place_of_the_output_gives_one_reminder() {
    let model = ScriptedModel::new([Reply::text("Two teas."), submits(tea())]);
    let runner = Runner::new(agent(model.clone()).output::<Order>().build().unwrap());
    let run = || RunContext::new().with_session("s");
    let mut events = runner.run_with(run(), "Two teas, please.");
    let (mut notices, mut end) = (0, None);
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Notice { text } if text.contains("submit_output") => notices += 1,
            AgentEventKind::Ended { end: reached } => end = Some(reached),
            _ => {}
        }
    }
    assert_eq!((notices, end.unwrap().output), (1, Some(tea()))); // Y05
    let requests = model.requests();
    assert!(requests[1].messages.last().unwrap().text().contains(OUTPUT_TOOL)); // Y05
    // The reminder is not stored.
    assert_eq!(runner.history(&run()).await.len(), 4);

    let model = ScriptedModel::new([Reply::text("Two teas."), Reply::text("Two teas."), submits(tea())]);
    let end = ended(agent(model.clone()).output::<Order>()).await;
    assert!(matches!(end.reason, EndReason::InvalidOutput { .. }), "{:?}", end.reason); // Y05
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn the_typed_helper_returns_the_value() {
    let model = ScriptedModel::new([Reply::call("price", json!({ "article": "tea" })), submits(tea())]);
    let runner = Runner::new(agent(model).build().unwrap());
    assert_eq!(runner.run_structured::<Order>("Two teas.").await.unwrap(), order()); // Y06

    let model = ScriptedModel::new([submits(tea()), submits(tea())]);
    let runner = Runner::new(agent(model).output::<Order>().build().unwrap());
    assert_eq!(runner.run("Two teas.").output::<Order>().await.unwrap(), order()); // Y06
    let error = runner.run("Two teas.").output::<Vec<u8>>().await.unwrap_err();
    assert!(error.to_string().contains("does not decode as `alloc::vec::Vec<u8>`"), "{error}");
    assert_eq!(error.end().output, Some(tea()));
}

#[tokio::test]
async fn a_run_without_an_output_is_an_error_of_the_typed_helper() {
    let runner = Runner::new(agent(ScriptedModel::new([Reply::text("Two teas.")])).build().unwrap());
    let error = runner.run("Two teas.").output::<Order>().await.unwrap_err();
    assert!(error.to_string().contains("set its type by `AgentBuilder::output`"), "{error}");
    let runner = Runner::new(agent(ScriptedModel::new([])).build().unwrap());
    let error = runner.run_structured::<Order>("Two teas.").await.unwrap_err();
    assert!(matches!(error.end().reason, EndReason::ModelFailed { .. }), "{error}");
}

/// A size.
#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Size {
    Small,
    Large,
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Shape {
    Circle { radius: u32 },
    Square { side: u32 },
}

#[tokio::test]
async fn types_that_are_not_objects_are_wrapped() {
    let model = |value| ScriptedModel::new([submits(json!({ "output": value }))]);
    let list = model(json!([tea()]));
    let runner = Runner::new(agent(list.clone()).build().unwrap());
    assert_eq!(runner.run_structured::<Vec<Order>>("Tea.").await.unwrap(), [order()]);
    let schema = list.requests()[0].tools.get(OUTPUT_TOOL).unwrap().definition().input_schema().clone();
    assert_eq!(schema.as_value()["required"], json!(["output"]));

    let runner = Runner::new(agent(model(json!("large"))).build().unwrap());
    assert_eq!(runner.run_structured::<Size>("Size?").await.unwrap(), Size::Large);
    let runner = Runner::new(agent(model(json!({ "kind": "circle", "radius": 2 }))).build().unwrap());
    assert_eq!(runner.run_structured::<Shape>("Shape?").await.unwrap(), Shape::Circle { radius: 2 });
    let runner = Runner::new(agent(model(json!("text"))).build().unwrap());
    assert_eq!(runner.run_structured::<String>("Text?").await.unwrap(), "text");
    // The output of the end is not wrapped.
    let end = ended(agent(model(json!(7))).output::<u8>()).await;
    assert_eq!(end.output, Some(json!(7)));
}

#[tokio::test]
async fn integers_of_an_output_are_exact() {
    let text = format!(r#"{{"output":{}}}"#, u128::MAX);
    let call = ToolCall::new(OUTPUT_TOOL, text);
    let runner = Runner::new(agent(ScriptedModel::new([Reply::calls([call])])).build().unwrap());
    assert_eq!(runner.run_structured::<u128>("How many?").await.unwrap(), u128::MAX);
}

#[tokio::test]
async fn a_strict_model_answers_with_json_which_is_validated_and_shown_as_text() {
    let text = json!({ "article": "tea", "count": 2, "note": null }).to_string();
    let model = ScriptedModel::new([Reply::text(text.clone())]);
    let mut events = Runner::new(agent(Strict(model.clone())).output::<Order>().build().unwrap()).run("Tea.");
    let (mut shown, mut end) = (String::new(), None);
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Text { delta } => shown += &delta,
            AgentEventKind::Ended { end: reached } => end = Some(reached),
            _ => {}
        }
    }
    let end = end.unwrap();
    assert_eq!((shown, end.reason), (text, EndReason::Submitted));
    // `null` means absent.
    assert_eq!(end.output, Some(tea()));
    let request = &model.requests()[0];
    let format = request.output.clone().unwrap();
    assert_eq!((&*format.name, &*format.schema), ("Order", InputSchema::of::<Order>().unwrap().as_value()));
    assert_eq!(names(request), ["price"]);
}

#[tokio::test]
async fn a_strict_model_that_breaks_its_format_may_repair_it() {
    let bad = || Reply::text(r#"{"article":"tea"}"#);
    let fenced = Reply::text(format!("```json\n{}\n```", tea()));
    let model = ScriptedModel::new([bad(), fenced]);
    let end = ended(agent(Strict(model.clone())).output::<Order>()).await;
    assert_eq!(end.output, Some(tea()));
    let request = model.requests()[1].messages.last().unwrap().text();
    assert!(request.contains("count"), "{request}");

    let model = ScriptedModel::new([bad(), bad()]);
    let end = ended(agent(Strict(model)).output_type(OutputType::of::<Order>().with_repairs(1))).await;
    assert!(matches!(end.reason, EndReason::InvalidOutput { message } if message.contains("count")));
}

#[tokio::test]
async fn a_strict_model_submits_by_the_tool_on_request() {
    let model = ScriptedModel::new([submits(tea())]);
    let output = OutputType::of::<Order>().by_tool(true);
    let end = ended(agent(Strict(model.clone())).output_type(output)).await;
    assert_eq!((end.output, &model.requests()[0].output), (Some(tea()), &None));
}

#[tokio::test]
async fn the_model_that_a_hook_chooses_decides_how_the_output_is_submitted() {
    struct Choose(ScriptedModel);
    impl AgentHook for Choose {
        async fn before_model(&self, step: &mut Step) -> Result<Option<Response>, ToolError> {
            step.model = SharedModel::new(Strict(self.0.clone()));
            Ok(None)
        }
    }
    let strict = ScriptedModel::new([Reply::text(tea().to_string())]);
    let end = ended(agent(ScriptedModel::new([])).output::<Order>().hook(Choose(strict.clone()))).await;
    assert_eq!(end.output, Some(tea()));
    assert!(strict.requests()[0].output.is_some());
}

#[tokio::test]
async fn a_response_of_a_hook_may_submit_the_output() {
    struct Answer;
    impl AgentHook for Answer {
        async fn before_model(&self, _: &mut Step) -> Result<Option<Response>, ToolError> {
            Ok(Some(Response::new(Message::assistant([Part::Call(ToolCall::new(OUTPUT_TOOL, tea()))]))))
        }
    }
    let end = ended(agent(ScriptedModel::new([])).output::<Order>().hook(Answer)).await;
    assert_eq!(end.output, Some(tea()));
}

#[tokio::test]
async fn a_hook_that_changes_the_result_of_the_output_tool_leaves_the_output() {
    struct Rewrite;
    impl Hook for Rewrite {
        async fn after(
            &self,
            _: &CallView<'_>,
            result: &mut ToolResult,
        ) -> Result<ControlFlow<()>, ToolError> {
            result.outcome = Ok("accepted".into());
            Ok(ControlFlow::Continue(()))
        }
    }
    let tools = Executor::builder(Registry::default()).hook(Rewrite).build().unwrap();
    let clerk = Agent::builder("clerk", ScriptedModel::new([submits(tea())])).tools(tools);
    assert_eq!(ended(clerk.output::<Order>()).await.output, Some(tea()));
}

#[tokio::test]
async fn the_last_valid_output_of_a_batch_counts_beside_other_calls() {
    let calls = [
        ToolCall::new("price", json!({ "article": "tea" })).with_id("1"),
        ToolCall::new(OUTPUT_TOOL, json!({ "article": "milk", "count": 1 })).with_id("2"),
        ToolCall::new(OUTPUT_TOOL, tea()).with_id("3"),
        ToolCall::new(OUTPUT_TOOL, json!({})).with_id("4"),
    ];
    let end = ended(agent(ScriptedModel::new([Reply::calls(calls)])).output::<Order>()).await;
    assert_eq!((end.output, end.usage.calls), (Some(tea()), 4));
}

#[tokio::test]
async fn calls_that_wait_for_an_answer_are_reported_beside_the_output() {
    let delete = ToolBuilder::new("delete").description("Deletes.").confirm();
    let delete = delete.expect_handler(|_: Order, _| async { Ok::<_, ToolError>(()) });
    let tools = Registry::builder().add(delete).build().unwrap();
    let calls = [ToolCall::new("delete", tea()), ToolCall::new(OUTPUT_TOOL, tea())];
    let agent = Agent::builder("clerk", ScriptedModel::new([Reply::calls(calls)])).tools(tools);
    let end = ended(agent.output::<Order>()).await;
    assert_eq!((end.reason, end.output, end.open.len()), (EndReason::Submitted, Some(tea()), 1));
}

#[tokio::test]
async fn an_output_that_is_approved_after_the_run_ends_the_next_one() {
    let tools = Registry::builder().tool::<price>().build().unwrap();
    let rules = Rules::new([Rule::ask(OUTPUT_TOOL).reason("a person reads it")]);
    let executor = Executor::builder(tools).rules(rules).pending_approvals(true).build().unwrap();
    let model = ScriptedModel::new([submits(tea())]);
    let agent = Agent::builder("clerk", model.clone()).tools(executor).output::<Order>();
    let runner = Runner::new(agent.build().unwrap());
    let run = || RunContext::new().with_session("s");
    let end = runner.run_with(run(), "Two teas.").end().await;
    assert_eq!((end.reason, end.output), (EndReason::OpenCalls, None));
    let answers = Answers::new().approve(end.open[0].address().unwrap());
    assert_eq!(runner.resume(run(), answers).output::<Order>().await.unwrap(), order());
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn a_type_without_a_valid_schema_is_an_error_of_the_builder() {
    let built = agent(ScriptedModel::new([])).output::<BTreeMap<(u8, u8), u8>>().build();
    let Err(AgentError::InvalidOutputType { message }) = built else { panic!("{built:?}") };
    assert!(message.contains("map with keys of type"), "{message}");
    let schema = InputSchema::new(json!({ "properties": { "a": { "type": "intager" } } })).unwrap();
    let built = agent(ScriptedModel::new([])).output_type(OutputType::schema(schema)).build();
    assert!(matches!(built, Err(AgentError::InvalidOutputType { .. })), "{built:?}");
}

#[tokio::test]
async fn a_handwritten_schema_is_the_schema_of_the_output_tool() {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer", "maximum": 3 } } });
    let output = OutputType::schema(InputSchema::new(schema.clone()).unwrap());
    let model = ScriptedModel::new([submits(json!({ "n": 4 })), submits(json!({ "n": 3 }))]);
    let end = ended(agent(model.clone()).output_type(output)).await;
    assert_eq!(end.output, Some(json!({ "n": 3 })));
    let tool = model.requests()[0].tools.get(OUTPUT_TOOL).unwrap().clone();
    assert_eq!(tool.definition().input_schema().as_value(), &schema); // Y01
}

#[tokio::test]
async fn runs_of_one_agent_have_outputs_of_their_own() {
    let reply = |count: u32| submits(json!({ "article": "tea", "count": count }));
    let runner =
        Runner::new(agent(ScriptedModel::new((1..=8).map(reply))).output::<Order>().build().unwrap());
    let runs = (1..=8).map(|_| runner.run("Tea.").output::<Order>());
    let counts: Vec<_> =
        futures_util::future::join_all(runs).await.into_iter().map(|it| it.unwrap().count).collect();
    assert_eq!(counts, (1..=8).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_output_tool_serves_a_loop_written_by_hand() {
    let output = OutputTool::new(OutputType::of::<Order>()).unwrap();
    let executor = Executor::new(Registry::builder().output_tool(output.clone()).build().unwrap());
    executor.run(vec![ToolCall::new(OUTPUT_TOOL, json!({}))]).await;
    assert_eq!(output.take(), None);
    executor.run(vec![ToolCall::new(OUTPUT_TOOL, tea())]).await;
    assert_eq!((output.take(), output.take()), (Some(tea()), None));
}
