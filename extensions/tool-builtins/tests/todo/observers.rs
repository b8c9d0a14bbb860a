//! The settings of the enforcer, and its observers.

use std::sync::Mutex;

use tool_agent::{Agent, Runner, ScriptedModel};
use tool_builtins::todo::{TodoEnforcer, TodoEvent};
use tool_runtime::ToolName;

use super::*;

/// Returns the requests of a coder that always answers, after it wrote an open task.
async fn requests(name: &str, enforcer: TodoEnforcer) -> Vec<tool_agent::model::Request> {
    let script = [write(&[("a", "pending")])].into_iter().chain((0..9).map(|_| Reply::text("Done.")));
    let model = ScriptedModel::new(script);
    let agent = Agent::builder(name.to_owned(), model.clone()).with(enforcer).build().unwrap();
    Runner::new(agent).run("Go.").answer().await.unwrap();
    model.requests()
}

#[tokio::test]
async fn agents_are_chosen_or_left_out() {
    let cases = [
        (TodoEnforcer::new().except_agents(["coder"]), 2),
        (TodoEnforcer::new().except_agents(["other"]), 5),
        (TodoEnforcer::new().only_agents(["coder"]), 5),
        (TodoEnforcer::new().only_agents(["other"]), 2),
        (TodoEnforcer::new().only_agents(["coder"]).except_agents(["coder"]), 2),
    ];
    for (enforcer, expected) in cases {
        assert_eq!(requests("coder", enforcer).await.len(), expected); // S20
    }
}

#[tokio::test]
async fn the_blocker_has_another_name_and_text() {
    let name = ToolName::new("give_up").unwrap();
    let enforcer = TodoEnforcer::new().blocker(name, "Gives up.");
    let requests = requests("coder", enforcer).await;
    let definitions = requests[0].tools.definitions();
    assert_eq!((definitions[0].name().as_str(), definitions[0].description()), ("give_up", "Gives up.")); // S20
    assert!(requests[0].instruction.contains("`give_up`")); // S20
    assert!(requests[2].messages.last().unwrap().text().contains("`give_up`")); // S20
}

#[tokio::test]
async fn the_reminder_and_the_instruction_have_another_text() {
    let enforcer =
        TodoEnforcer::new().instruction("Use the list.").reminder(|reminder| match reminder.number {
            1 => format!(
                "{}: {} open, {} of {}",
                reminder.agent,
                reminder.open.len(),
                reminder.number,
                reminder.max
            ),
            _ => " ".to_owned(),
        });
    let requests = requests("coder", enforcer).await;
    assert_eq!(&*requests[0].instruction, "Use the list."); // S20
    assert_eq!(requests[2].messages.last().unwrap().text(), "coder: 1 open, 1 of 3"); // S20
    assert!(requests[3].messages.last().unwrap().text().contains("was not accepted")); // S20
}

#[tokio::test]
async fn observers_see_each_decision_and_their_panics_have_no_effect() {
    let events = Arc::new(Mutex::new(Vec::new()));
    let of_observer = Arc::clone(&events);
    let enforcer = || {
        let events = Arc::clone(&of_observer);
        TodoEnforcer::new().max_reminders(1).observer(|_| panic!("no ink")).observer(move |event| {
            events.lock().unwrap().push(match event {
                TodoEvent::Blocked { agent, branch, open, number, max } => {
                    format!("blocked {agent} {branch} {} {number}/{max}", open.len())
                }
                TodoEvent::Exhausted { agent, open, max, .. } => {
                    format!("exhausted {agent} {} {max}", open.len())
                }
                TodoEvent::BlockerDeclared { agent, branch, reason } => format!("{agent} {branch} {reason}"),
                _ => "other".to_owned(),
            });
        })
    };
    assert_eq!(requests("coder", enforcer()).await.len(), 3); // S20
    let script = [Reply::call("todo_declare_blocker", json!({ "reason": "rock" })), Reply::text("Blocked.")];
    let agent = Agent::builder("digger", ScriptedModel::new(script)).with(enforcer()).build().unwrap();
    Runner::new(agent).run("Dig.").answer().await.unwrap();
    assert_eq!(
        *events.lock().unwrap(),
        ["blocked coder coder 1 1/1", "exhausted coder 1 1", "digger digger rock"]
    ); // S20
}
