//! Histories whose keys are computed from the arguments of each call.

use tool_agent::HistoryScope;

use super::*;

/// The schema of a question about a topic.
fn schema() -> InputSchema {
    let text = json!({ "type": "string" });
    let properties = json!({ "topic": text, "question": text });
    InputSchema::new(json!({ "type": "object", "properties": properties, "required": ["topic", "question"] }))
        .unwrap()
}

/// Calls the agent in one session, once for each pair of a topic and a question. Returns the texts of the first request of each run, and the
/// results of the calls.
async fn ask_all(
    questions: &[(&str, &str)],
    set: impl Fn(AgentTool) -> AgentTool,
) -> (Vec<Vec<String>>, Vec<String>) {
    let child =
        ScriptedModel::new((1..=questions.len()).map(|number| Reply::text(format!("Answer {number}."))));
    let tool = AgentTool::new(Agent::builder("researcher", child.clone()).build().unwrap()).unwrap();
    let tool = set(tool.with_input_schema(schema()));
    let call = |(topic, question): &(&str, &str)| {
        [Reply::call("researcher", json!({ "topic": topic, "question": question })), Reply::text("Well.")]
    };
    let model = ScriptedModel::new(questions.iter().flat_map(call));
    let tools = Registry::builder().add(tool).build().unwrap();
    let runner = Runner::new(Agent::builder("manager", model.clone()).tools(tools).build().unwrap());
    for _ in questions {
        runner.run_with(RunContext::new().with_session("s"), "Ask.").answer().await.unwrap();
    }
    let texts = |messages: &[tool_agent::Message]| messages.iter().map(|it| it.text()).collect();
    let requests = child.requests().iter().map(|request| texts(&request.messages)).collect();
    let last = model.requests().pop().unwrap();
    let results =
        last.messages.iter().flat_map(|it| it.tool_results()).map(|it| it.text().into_owned()).collect();
    (requests, results)
}

fn topic(arguments: &Value) -> String {
    arguments["topic"].as_str().unwrap().to_owned()
}

// Q19
#[tokio::test]
async fn calls_with_the_same_computed_key_share_a_history_and_others_do_not_see_it() {
    let questions = [("tea", "One?"), ("milk", "Two?"), ("tea", "Three?"), ("", "Four?")];
    let (requests, results) = ask_all(&questions, |tool| tool.history_by(topic)).await;
    let question = |at: usize| json!({ "topic": questions[at].0, "question": questions[at].1 }).to_string();
    assert_eq!(requests[0], [question(0)]);
    assert_eq!(requests[1], [question(1)]);
    assert_eq!(requests[2], [question(0), "Answer 1.".to_owned(), question(2)]);
    assert_eq!(requests[3], [question(3)]);
    assert_eq!(results, ["Answer 1.", "Answer 2.", "Answer 3.", "Answer 4."]);
    // A scope that is set later counts.
    let isolated = |tool: AgentTool| tool.history_by(topic).history(HistoryScope::Isolated);
    let (requests, _) = ask_all(&questions, isolated).await;
    assert!(requests.iter().all(|texts| texts.len() == 1), "{requests:?}");
}

// Q19
#[tokio::test]
async fn a_computed_key_names_no_history_of_another_kind() {
    // With the key `agenttool:researcher:default`, the program means the history of an empty key.
    let forged = "agenttool:researcher:default";
    let questions = [("", "One?"), (forged, "Two?"), (forged, "Three?"), ("", "Four?")];
    let (requests, _) = ask_all(&questions, |tool| tool.history_by(topic)).await;
    let lengths: Vec<_> = requests.iter().map(Vec::len).collect();
    assert_eq!(lengths, [1, 1, 3, 3]);
}

#[tokio::test]
async fn a_key_that_is_too_long_and_a_function_that_panics_are_errors_of_the_call() {
    let [longest, long] = [256, 257].map(|bytes| "x".repeat(bytes));
    let (requests, _) = ask_all(&[(&longest, "One?")], |tool| tool.history_by(topic)).await;
    assert_eq!(requests.len(), 1);
    let (requests, results) = ask_all(&[(&long, "One?")], |tool| tool.history_by(topic)).await;
    assert!(requests.is_empty() && results[0].contains("has 257 bytes, and at most 256"), "{results:?}");
    let panics = |tool: AgentTool| tool.history_by(|_| panic!("no key"));
    let (requests, results) = ask_all(&[("tea", "One?")], panics).await;
    assert!(requests.is_empty() && results[0].contains("panicked"), "{results:?}");
}
