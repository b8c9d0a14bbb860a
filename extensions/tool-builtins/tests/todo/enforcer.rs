//! Runs that are not to end with open tasks.

use tool_agent::{
    Agent, AgentError, AgentTool, EndReason, Limits, Message, Part, Runner, ScriptedModel,
    model::{ModelErrorKind, Response},
};
use tool_builtins::todo::TodoEnforcer;
use tool_runtime::Toolbox;

use super::*;

fn coder(script: impl IntoIterator<Item = Reply>, enforcer: TodoEnforcer) -> (Agent, ScriptedModel) {
    let model = ScriptedModel::new(script);
    (Agent::builder("coder", model.clone()).with(enforcer).build().unwrap(), model)
}

#[tokio::test]
async fn an_answer_with_an_open_task_is_followed_by_a_reminder_that_is_not_stored() {
    let script = [
        write(&[("Run the tests", "pending")]),
        Reply::text("Done."),
        write(&[("Run the tests", "completed")]),
        Reply::text("Really done."),
    ];
    let (agent, model) = coder(script, TodoEnforcer::new());
    let runner = Runner::new(agent);
    let run = || RunContext::new().with_session("s-1");
    let answer = runner.run_with(run(), "Test it.").answer().await.unwrap();
    assert_eq!(answer, "Really done.");
    let requests = model.requests();
    assert_eq!(requests.len(), 4); // S17
    let reminder = requests[2].messages.last().unwrap().text();
    assert!(reminder.contains("1 task is open"), "{reminder}");
    assert!(reminder.contains("\"Run the tests\" (pending)"), "{reminder}"); // S17
    assert!(reminder.contains("`todo_declare_blocker`"), "{reminder}"); // S19
    let texts: Vec<_> = runner.history(&run()).await.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["Test it.", "", "", "Done.", "", "", "Really done."]); // S17
}

#[tokio::test]
async fn a_run_without_a_list_or_with_a_cleared_one_ends() {
    let (agent, model) = coder([Reply::text("Hello.")], TodoEnforcer::new());
    Runner::new(agent).run("Hello?").answer().await.unwrap();
    assert_eq!(model.requests().len(), 1); // S17
    let (agent, model) =
        coder([write(&[("a", "pending")]), write(&[]), Reply::text("Done.")], TodoEnforcer::new());
    Runner::new(agent).run("Go.").answer().await.unwrap();
    assert_eq!(model.requests().len(), 3); // S17
}

#[tokio::test]
async fn an_answer_is_accepted_after_the_last_reminder() {
    for (max, requests) in [(None, 5), (Some(0), 5), (Some(1), 3)] {
        let script = [write(&[("a", "pending")])].into_iter().chain((0..9).map(|_| Reply::text("Done.")));
        let enforcer = max.map_or(TodoEnforcer::new(), |max| TodoEnforcer::new().max_reminders(max));
        let (agent, model) = coder(script, enforcer);
        let end = Runner::new(agent).run("Go.").end().await;
        assert_eq!((end.reason, model.requests().len()), (EndReason::Answered, requests)); // S18
    }
}

/// Returns a response that was cut off.
fn cut_off(text: &str) -> Reply {
    let mut response = Response::new(Message::assistant([Part::Text(text.to_owned())]));
    response.truncated = true;
    Reply::from(response)
}

#[tokio::test]
async fn calls_cut_off_answers_and_errors_are_never_blocked() {
    let open = || write(&[("a", "pending")]);
    // Calls: of ten rounds, none is followed by a reminder.
    let model = ScriptedModel::new((0..10).map(|_| open()));
    let limits = Limits { rounds: Some(4), ..Limits::default() };
    let agent =
        Agent::builder("coder", model.clone()).with(TodoEnforcer::new()).limits(limits).build().unwrap();
    Runner::new(agent).run("Go.").end().await;
    let messages = model.requests().last().unwrap().messages.clone();
    assert!(!messages.iter().any(|message| message.text().contains("was not accepted"))); // S18
    let (agent, model) = coder([open(), cut_off("Do")], TodoEnforcer::new());
    let end = Runner::new(agent).run("Go.").end().await;
    assert!(matches!(end.reason, EndReason::Truncated { .. }), "{end}"); // S18
    assert_eq!(model.requests().len(), 2); // S18
    let (agent, model) = coder([open(), Reply::error(ModelErrorKind::Refused, "no")], TodoEnforcer::new());
    let end = Runner::new(agent).run("Go.").end().await;
    assert!(!end.reason.is_success(), "{end}"); // S18
    assert_eq!(model.requests().len(), 2); // S18
}

#[tokio::test]
async fn the_part_brings_both_tools_and_a_second_list_is_a_conflict() {
    let (agent, model) = coder([Reply::text("Hello.")], TodoEnforcer::new());
    Runner::new(agent).run("Hello?").answer().await.unwrap();
    let request = &model.requests()[0];
    let names: Vec<_> = request.tools.definitions().iter().map(|it| it.name().as_str()).collect();
    assert_eq!(names, ["todo_declare_blocker", "todo_write"]); // S16
    assert!(
        request.instruction.contains("`todo_write`")
            && request.instruction.contains("`todo_declare_blocker`")
    ); // S14 S16

    let own = || Registry::builder().toolset(TodoTools::new()).build().unwrap();
    let builder = || Agent::builder("coder", ScriptedModel::new([Reply::text("Hello.")]));
    let conflicts = [
        builder().tools(own()).with(TodoEnforcer::new()),
        builder().with(TodoTools::new()).with(TodoEnforcer::new()),
    ];
    for conflict in conflicts {
        let error = conflict.build().unwrap_err();
        assert!(matches!(&error, AgentError::InvalidPart { part, .. } if part == "todo"), "{error}"); // S16
        assert!(error.to_string().contains("`todo_write`"), "{error}"); // S16
    }
    // The tools of a toolbox are known when it is listed.
    let agent = builder().tools(Toolbox::from_registry(&own())).with(TodoEnforcer::new()).build().unwrap();
    let end = Runner::new(agent).run("Hello?").end().await;
    assert!(!end.reason.is_success() && end.to_string().contains("`todo_write`"), "{end}"); // S16
}

#[tokio::test]
async fn the_key_of_a_tool_that_is_handed_in_is_used_everywhere() {
    let todos = TodoTools::new().with_key("user:plan").with_nudge("Go on.");
    let child = ScriptedModel::new([write(&[("dig", "pending")]), Reply::text("Dug.")]);
    let child = Agent::builder("digger", child).with(todos.clone()).build().unwrap();
    let script = [
        write(&[("a", "pending")]),
        Reply::text("Done."),
        Reply::call("digger", json!({ "request": "Dig." })),
        Reply::call("todo_declare_blocker", json!({ "reason": "rock" })),
        Reply::text("Blocked."),
    ];
    let model = ScriptedModel::new(script);
    let tools = Registry::builder().add(AgentTool::new(child).unwrap()).build().unwrap();
    let enforcer = TodoEnforcer::new().tools(todos.clone());
    let agent = Agent::builder("coder", model.clone()).tools(tools).with(enforcer).build().unwrap();
    let mut stream = Runner::new(agent).run("Go.");
    while stream.next().await.is_some() {}
    assert!(model.requests()[2].messages.last().unwrap().text().contains("\"a\" (pending)")); // S16
    assert_eq!(model.requests().len(), 5); // S16 S19
    let state = stream.run().state();
    assert_eq!(todos.read_values(&state, "coder").unwrap().unwrap().len(), 1); // S13 S16
    assert_eq!(todos.read_values(&state, "digger").unwrap().unwrap().len(), 1); // S08 S13
    assert_eq!(TodoTools::new().read_values(&state, "coder").unwrap(), None); // S13
}

#[tokio::test]
async fn a_declared_blocker_lets_answers_of_this_run_pass() {
    let declare = |reason: &str| Reply::call("todo_declare_blocker", json!({ "reason": reason }));
    let script = [
        write(&[("a", "pending")]),
        declare(" \n"),
        Reply::text("Done."),
        declare("the server is down"),
        Reply::text("The server is down."),
    ];
    let (agent, model) = coder(script, TodoEnforcer::new());
    let mut stream = Runner::new(agent.clone()).run("Go.");
    while stream.next().await.is_some() {}
    let requests = model.requests();
    let refused = requests[2].messages.last().unwrap().tool_results().next().unwrap().text().into_owned();
    assert!(refused.contains("reason is blank"), "{refused}"); // S19
    assert!(requests[3].messages.last().unwrap().text().contains("was not accepted")); // S19
    assert_eq!(requests.len(), 5); // S19
    let state = stream.run().state();
    assert_eq!(TodoTools::new().read_values(&state, "coder").unwrap().unwrap().len(), 1); // S19
    // The next turn, even with the whole state of this one, is enforced again.
    let (agent, model) =
        coder([Reply::text("Hm."), Reply::text("Hm.")], TodoEnforcer::new().max_reminders(1));
    let run = RunContext::new().with_state((*state).clone());
    Runner::new(agent).run_with(run, "And now?").answer().await.unwrap();
    assert_eq!(model.requests().len(), 2); // S19
}

#[tokio::test]
async fn reminders_of_a_child_run_are_its_own() {
    let blocked = |name: &str| {
        let script = [write(&[(name, "pending")]), Reply::text("1"), Reply::text("2")];
        let model = ScriptedModel::new(script);
        (Agent::builder(name.to_owned(), model.clone()).with(TodoEnforcer::new().max_reminders(1)), model)
    };
    let (child, child_model) = blocked("digger");
    let tools = Registry::builder().add(AgentTool::new(child.build().unwrap()).unwrap()).build().unwrap();
    let script = [
        write(&[("a", "pending")]),
        Reply::text("1"),
        Reply::call("digger", json!({ "request": "Dig." })),
        Reply::text("2"),
    ];
    let model = ScriptedModel::new(script);
    let enforcer = TodoEnforcer::new().max_reminders(1);
    let agent = Agent::builder("coder", model.clone()).tools(tools).with(enforcer).build().unwrap();
    Runner::new(agent).run("Go.").answer().await.unwrap();
    assert_eq!((child_model.requests().len(), model.requests().len()), (3, 4)); // S18
}
