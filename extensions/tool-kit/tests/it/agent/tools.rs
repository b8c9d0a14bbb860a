//! The tools of a run, and the rules for them.

use std::sync::{Arc, Mutex};

use tool_agent::{
    Agent, AgentEventKind, Answers, EndReason, RunOptions, Runner, ScriptedModel, model::Reply,
};
use tool_kit::{
    agent::{AgentDelegate, Models},
    catalogue::Catalogue,
};
use tool_runtime::{
    ErrorKind, Executor, RunContext,
    executor::RunSettings,
    policy::{Approval, ApprovalRequest, Rule, Rules},
    prelude::*,
};

use super::{answer, catalogue_of, model, results_of, run, tools, tools_of_requests};
use crate::catalogue::Fixed;

/// A prompt with these tools.
fn prompt_with(name: &str, tools: &str) -> String {
    format!("---\nname: {name}\n{tools}---\nGo.")
}

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test]
async fn a_run_has_the_tools_that_its_prompt_names() {
    for (named, expected) in [
        ("tools: [add]\n", vec!["add"]), // U37
        ("tools: [builtin.multiply, library.search]\n", vec!["library__search", "multiply"]), // U37
        ("tools: [library__search]\n", vec!["library__search"]),
        ("tools: [search]\n", vec!["library__search"]),
        ("tools: [library.greet]\n", vec!["library__greet"]),
        ("tools: [library__greet, add]\n", vec!["add", "library__greet"]),
        ("tools: []\n", vec![]),                                    // U37
        ("", vec!["add", "library__search", "multiply", "remove"]), // U37 U44
    ] {
        let model = model([Reply::text("Done.")]);
        let catalogue = catalogue_of(&model, &[&prompt_with("ask", named)]);
        catalogue.connect(Fixed::named("library")).unwrap();
        answer(&catalogue, "ask", json!({})).await.unwrap_or_else(|error| panic!("{named}: {error}"));
        assert_eq!(tools_of_requests(&model), [texts(&expected)], "{named}");
    }
}

#[tokio::test]
async fn unknown_tools_are_an_error_that_names_them_and_no_model_is_asked() {
    let model = model([]);
    let catalogue =
        catalogue_of(&model, &[&prompt_with("ask", "tools: [add, bush, 'a b', 'notes://today']\n")]);
    catalogue.connect(Fixed::named("library")).unwrap();
    let error = answer(&catalogue, "ask", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound); // U37
    let expected = "the tools of the prompt `ask`: the catalogue has no tool and no prompt `bush`, `a b`, `notes://today`;";
    assert!(error.to_string().contains(expected), "{error}"); // U37
    assert!(model.requests().is_empty());
}

/// Replies that call a tool, and answer.
fn calling(tool: &str, arguments: Value) -> [Reply; 2] {
    [Reply::call(tool, arguments), Reply::text("Done.")]
}

fn denying(tool: &str) -> Rules {
    Rules::new([Rule::deny(tool)])
}

#[tokio::test]
async fn rules_of_the_catalogue_and_of_the_delegate_hold_for_calls_of_prompts() {
    let sum = || calling("add", json!({ "a": 2, "b": 3 }));
    let of_catalogue = model(sum());
    let executor = Executor::builder(tools()).rules(denying("add")).build().unwrap();
    let catalogue =
        catalogue_of(&of_catalogue, &[&prompt_with("ask", "tools: [add]\n")]).with_executor(executor);
    answer(&catalogue, "ask", json!({})).await.unwrap();
    assert_eq!(results_of(&of_catalogue), ["Denied: a rule denies it: add"]);

    let of_delegate = model(sum());
    // A rule about an argument of a tool that the prompt does not have is no mistake.
    let rules = Rules::new([Rule::deny("add"), Rule::deny("remove").at("/path", "/etc/*")]);
    let delegate = AgentDelegate::new(Models::new(of_delegate.clone()).unwrap())
        .with_settings(RunSettings::new().rules(rules));
    let catalogue =
        catalogue_of(&model([]), &[&prompt_with("ask", "tools: [add]\n")]).with_delegate(delegate);
    answer(&catalogue, "ask", json!({})).await.unwrap();
    assert_eq!(results_of(&of_delegate), ["Denied: a rule denies it: add"]);
    assert!(
        catalogue
            .call(&run(), "add", vec![tool_kit::catalogue::json_input(&json!({ "a": 1, "b": 1 }))])
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn an_approver_of_the_catalogue_decides_about_calls_of_prompts() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let executor = Executor::builder(tools())
        .approver(move |request: &ApprovalRequest| {
            log.lock().unwrap().push(request.call.name.to_string());
            Approval::Approved
        })
        .build()
        .unwrap();
    let approved = model(calling("remove", json!({ "path": "a.txt" })));
    let catalogue = catalogue_of(&approved, &[&prompt_with("ask", "")]).with_executor(executor);
    answer(&catalogue, "ask", json!({})).await.unwrap();
    assert_eq!(
        (&asked.lock().unwrap()[..], &results_of(&approved)[..]),
        (&texts(&["remove"])[..], &texts(&["a.txt is removed"])[..])
    );

    let open = model(calling("remove", json!({ "path": "a.txt" })));
    answer(&catalogue_of(&open, &[&prompt_with("ask", "")]), "ask", json!({})).await.unwrap();
    assert_eq!(results_of(&open), ["not answered: the run ends with the call of its parent"]);
}

/// An agent whose one tool is the prompt `ask` of a catalogue.
async fn agent_above(catalogue: &Catalogue, above: &ScriptedModel, rules: Rules) -> Agent {
    let items = catalogue.snapshot(&run()).await.unwrap();
    let tools = catalogue.tools_of(&items, ["ask"]).unwrap();
    let executor = Executor::builder(tools).rules(rules).build().unwrap();
    Agent::builder("clerk", above.clone()).tools(executor).build().unwrap()
}

#[tokio::test]
async fn a_prompt_is_no_way_around_the_rules_of_the_run_that_calls_it() {
    let sum = || calling("add", json!({ "a": 2, "b": 3 }));
    for (of_agent, of_run) in [(denying("add"), Rules::default()), (Rules::default(), denying("add"))] {
        let below = model(sum());
        let catalogue = catalogue_of(&below, &[&prompt_with("ask", "tools: [add]\n")]);
        let above = model(calling("ask", json!({})));
        let runner = Runner::new(agent_above(&catalogue, &above, of_agent).await);
        let options = RunOptions::new(RunContext::new()).settings(RunSettings::new().rules(of_run));
        assert_eq!(runner.run_with(options, "Go.").answer().await.unwrap(), "Done.");
        assert_eq!(results_of(&below), ["Denied: a rule denies it: add"]); // U37
        assert_eq!(results_of(&above), ["Done."]);
    }
    let below = model(sum());
    let catalogue = catalogue_of(&below, &[&prompt_with("ask", "tools: [add]\n")]);
    let above = model(calling("ask", json!({})));
    let runner = Runner::new(agent_above(&catalogue, &above, Rules::default()).await);
    let mut stream = runner.run("Go.");
    let (mut from_below, mut end) = (0, None);
    while let Some(event) = stream.next().await {
        match event.kind {
            AgentEventKind::Child { .. } => from_below += 1,
            AgentEventKind::Ended { end: reached } => end = Some(reached),
            _ => {}
        }
    }
    assert_eq!(results_of(&below), ["5"]);
    assert!(from_below > 2);
    assert_eq!(end.unwrap().usage.children.runs, 1);
}

#[tokio::test]
async fn a_question_of_a_prompt_that_a_model_calls_is_answered_in_the_run_above() {
    let submitted = Reply::call("submit_output", json!({ "output": "It is removed." }));
    let below = model([Reply::call("remove", json!({ "path": "a.txt" })), submitted]);
    let prompt = prompt_with("ask", "tools: [remove]\noutput: { type: string }\n");
    let catalogue = catalogue_of(&below, &[&prompt]);
    let above = model(calling("ask", json!({})));
    let runner = Runner::new(agent_above(&catalogue, &above, Rules::default()).await);
    let of_session = || RunContext::new().with_session("s-1");
    let end = runner.run_with(of_session(), "Go.").end().await;
    assert_eq!(end.reason, EndReason::OpenCalls, "{end}");
    assert_eq!(below.requests().len(), 1);
    let answers = Answers::new().approve(end.open[0].address().unwrap());
    assert_eq!(runner.resume(of_session(), answers).answer().await.unwrap(), "Done.");
    assert_eq!(
        (results_of(&below), results_of(&above)),
        (texts(&["a.txt is removed"]), texts(&["It is removed."]))
    );
}

#[tokio::test]
async fn a_prompt_that_calls_itself_ends_at_the_maximum_depth() {
    let replies =
        [Reply::call("ask", json!({})), Reply::call("ask", json!({})), Reply::call("ask", json!({}))];
    let model = model(replies.into_iter().chain((0..3).map(|_| Reply::text("Done."))));
    let catalogue = catalogue_of(&model, &[&prompt_with("ask", "tools: [ask]\n")]);
    let caller = Arc::new(RunContext::new().with_max_depth(3));
    let resource = catalogue.call(&caller, "ask", Vec::new()).await.unwrap();
    assert!(resource.is_some());
    let requests = model.requests();
    assert_eq!(requests.len(), 6); // U29: three levels, each with an answer.
    let results: Vec<_> =
        requests[3].messages.iter().flat_map(|it| it.tool_results()).map(|it| it.text()).collect();
    assert!(
        results[0].contains("a run below this call would be on level 4, and 3 are allowed"),
        "{results:?}"
    ); // U29
}

#[tokio::test]
async fn an_agent_has_the_whole_catalogue_or_single_items_as_its_tools() {
    let catalogue = catalogue_of(&model([]), &[&prompt_with("ask", "")]);
    catalogue.connect(Fixed::named("library")).unwrap();
    let whole = model(calling("library__search", json!({})));
    let agent = Agent::builder("clerk", whole.clone()).tools(catalogue.tools().clone()).build().unwrap();
    Runner::new(agent).run("Go.").answer().await.unwrap();
    assert_eq!(tools_of_requests(&whole)[0], ["add", "library__search", "multiply", "remove"]); // U44
    assert_eq!(results_of(&whole), ["5"]); // U44

    let single = model(calling("library__search", json!({})));
    let items = catalogue.snapshot(&run()).await.unwrap();
    let tools = catalogue.tools_of(&items, ["library.search", "ask"]).unwrap();
    let agent = Agent::builder("clerk", single.clone()).tools(tools).build().unwrap();
    Runner::new(agent).run("Go.").answer().await.unwrap();
    assert_eq!(tools_of_requests(&single)[0], ["ask", "library__search"]); // U44
    assert_eq!(results_of(&single), ["5"]); // U44
}

/// Asks the prompt `ask` of the catalogue.
#[tool(register = false)]
async fn consult(cx: &ToolContext, catalogue: &Catalogue) -> Result<String, ToolError> {
    let run = cx.run().cloned().unwrap_or_default();
    let answer = catalogue.call(&run, "ask", Vec::new()).await?;
    Ok(format!("{:?}", answer.unwrap().body))
}

#[tokio::test]
async fn a_prompt_that_a_tool_calls_is_below_the_run_of_the_tool() {
    let below = model(calling("add", json!({ "a": 2, "b": 3 })));
    let catalogue = catalogue_of(&below, &[&prompt_with("ask", "tools: [add]\n")]);
    let above = model(calling("consult", json!({})));
    let tools = Registry::builder().tool::<consult>().provide(catalogue).build().unwrap();
    let runner = Runner::new(Agent::builder("clerk", above.clone()).tools(tools).build().unwrap());
    let options = RunOptions::new(RunContext::new()).settings(RunSettings::new().rules(denying("add")));
    let end = runner.run_with(options, "Go.").end().await;
    assert_eq!((&*end.text, end.usage.children.runs), ("Done.", 1));
    assert_eq!(results_of(&below), ["Denied: a rule denies it: add"]); // U37
    assert_eq!(results_of(&above), [r#"Text("Done.")"#]);
    let [of_prompt, _] = &below.requests()[..] else { panic!("two requests") };
    assert_eq!((of_prompt.run.depth(), of_prompt.run.branch()), (1, Some("ask")));
}
