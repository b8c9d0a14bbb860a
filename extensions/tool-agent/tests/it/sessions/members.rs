//! Several agents of one run, whose session is in a store: another process continues where the run stands.

use tool_agent::{
    Agent, AgentBuilder, AgentEventKind, Answers, Compaction, EndReason, InputDecision, Message, Role,
    Runner, ScriptedModel, exit_loop, hook, model::Reply,
};
use tool_runtime::{open_calls::ProgramKey, prelude::*};
use tool_session::{Entry, EntryContent};

use super::{
    open_calls::tests,
    world::{Gate, StoreFactory, World, run},
};
use crate::runner::open::assert_valid;

/// Removes a file.
#[tool(register = false, destructive, confirm)]
fn remove(path: String) -> String {
    format!("{path} is removed")
}

/// Sets a value of the state.
#[tool(register = false)]
fn note(state: &State, key: String, value: String) -> Result<String, ToolError> {
    state.set(&key, value)?;
    Ok("noted".to_owned())
}

impl World {
    fn member(&self, name: &str, replies: impl IntoIterator<Item = Reply>) -> (Agent, ScriptedModel) {
        let (builder, model) = self.member_builder(name, replies);
        (builder.build().unwrap(), model)
    }

    fn member_builder(
        &self,
        name: &str,
        replies: impl IntoIterator<Item = Reply>,
    ) -> (AgentBuilder, ScriptedModel) {
        let model = ScriptedModel::new(replies);
        let tools = Registry::builder().tool::<remove>().tool::<note>().add(exit_loop()).build().unwrap();
        let executor = self.executor(tools).build().unwrap();
        (Agent::builder(name, model.clone()).tools(executor), model)
    }

    fn runner_of_agent(&self, agent: Agent) -> Runner {
        Runner::new(agent).with_app("shop").with_store(self.store.clone())
    }
}

fn agents(entries: &[Entry], kind: &str) -> Vec<String> {
    let of_kind = entries.iter().filter(|entry| &*entry.content.kind == kind);
    of_kind.map(|entry| entry.content.agent.as_deref().unwrap_or_default().to_owned()).collect()
}

fn removal(path: &str) -> Reply {
    Reply::call("remove", json!({ "path": path }))
}

fn texts(messages: &[Message]) -> Vec<String> {
    messages.iter().map(Message::text).collect()
}

async fn a_sequence_is_one_conversation_of_its_session<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (writer, writer_model) = world.member("writer", [Reply::text("Tea."), Reply::text("Coffee.")]);
    let (critic, critic_model) = world.member("critic", [Reply::text("Good."), Reply::text("Bad.")]);
    let runner = world.runner_of_agent(Agent::sequence("team", [writer, critic]).build().unwrap());
    assert_eq!(runner.run_with(run("s"), "A drink?").answer().await.unwrap(), "Good.");
    // The second member sees what came before, under the name of the first one.
    let request = &critic_model.requests()[0];
    assert_eq!(texts(&request.messages), ["A drink?", "[writer] said:\nTea."]);
    assert!(request.messages.iter().all(|message| message.role() == Role::User));
    let entries = world.entries("s").await;
    assert_eq!(agents(&entries, EntryContent::MESSAGE), ["team", "writer", "critic"]);
    assert_eq!(entries[2].content.branch.as_deref(), Some("team.writer"));
    let runs: std::collections::HashSet<_> = entries.iter().map(|entry| entry.content.run.clone()).collect();
    assert_eq!(runs.len(), 1);
    // The next message continues the conversation, from the first member on.
    assert_eq!(runner.run_with(run("s"), "Another one?").answer().await.unwrap(), "Bad.");
    let request = &writer_model.requests()[1];
    assert_eq!(texts(&request.messages), ["A drink?", "Tea.", "[critic] said:\nGood.", "Another one?"]);
    assert_eq!(request.messages[1].role(), Role::Assistant);
    let history = runner.history(&run("s")).await;
    let authors: Vec<_> = history.iter().map(|message| message.agent().unwrap_or("")).collect();
    assert_eq!(authors, ["", "writer", "critic", "", "writer", "critic"]);
    assert_valid(&history);
}

/// A team of three, in one process, of which each member has these replies.
fn team(world: &World, replies: [Vec<Reply>; 3]) -> (Runner, [ScriptedModel; 3]) {
    let [first, second, third] = replies;
    let (first, first_model) = world.member("first", first);
    let (second, second_model) = world.member("second", second);
    let (third, third_model) = world.member("third", third);
    let team = Agent::sequence("team", [first, second, third]).build().unwrap();
    (world.runner_of_agent(team), [first_model, second_model, third_model])
}

async fn open_calls_of_a_member_are_answered_in_another_process_and_the_others_follow<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (runner, _) = team(&world, [vec![Reply::text("One.")], vec![removal("a.txt")], vec![]]);
    let end = runner.run_with(run("s"), "Go.").end().await;
    assert_eq!((end.reason, end.open.len(), end.usage.rounds), (EndReason::OpenCalls, 1, 2));
    let call = end.open[0].address().unwrap().clone();

    let (runner, models) = team(&world, [vec![], vec![Reply::text("Two.")], vec![Reply::text("Three.")]]);
    let answer = runner.resume(run("s"), Answers::new().approve(&call)).answer().await.unwrap();
    assert_eq!(answer, "Three.");
    let [first, second, third] = models.map(|model| model.requests());
    assert!(first.is_empty());
    assert_eq!(second[0].messages.last().unwrap().tool_results().next().unwrap().text(), "a.txt is removed");
    assert_eq!(
        texts(&third[0].messages)[2..],
        [
            "[second] called `remove`.",
            "[second] `remove` returned:\na.txt is removed",
            "[second] said:\nTwo."
        ]
    );
    assert_valid(&runner.history(&run("s")).await);
    let entries = world.entries("s").await;
    assert_eq!(agents(&entries, EntryContent::OPEN_BATCH), ["second"]);
    let agents = agents(&entries, EntryContent::MESSAGE);
    assert_eq!(agents, ["team", "first", "second", "second", "second", "third"]);
}

async fn a_message_in_place_of_an_answer_begins_with_the_first_member<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (runner, _) = team(&world, [vec![Reply::text("One.")], vec![removal("a.txt")], vec![]]);
    assert_eq!(runner.run_with(run("s"), "Go.").end().await.reason, EndReason::OpenCalls);
    let again = || vec![Reply::text("Again.")];
    let (runner, models) = team(&world, [again(), again(), again()]);
    assert_eq!(runner.run_with(run("s"), "Stop.").answer().await.unwrap(), "Again.");
    assert_eq!(models.map(|model| model.requests().len()), [1, 1, 1]);
    let history = runner.history(&run("s")).await;
    assert_valid(&history);
    let result = history[3].tool_results().next().unwrap().text();
    assert!(result.contains("not answered: the user sent another message"), "{result}");
}

async fn a_crash_is_continued_at_the_member_that_had_its_turn<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (first, _) = world.member("first", [Reply::text("One.")]);
    let (second, _) =
        world.member_builder("second", [Reply::call("note", json!({ "key": "k", "value": "v" }))]);
    // The process ends while the second round of the second member waits.
    let waits = hook::before_model(|step| {
        let is_first = step.number == 1;
        async move {
            if !is_first {
                std::future::pending::<()>().await;
            }
            Ok(step.into())
        }
    });
    let (third, _) = world.member("third", []);
    let members = [first, second.hook(waits).build().unwrap(), third];
    let runner = world.runner_of_agent(Agent::sequence("team", members).build().unwrap());
    let mut events = runner.run_with(run("s"), "Go.");
    while let Some(event) = events.next().await {
        if matches!(&event.kind, AgentEventKind::Message { message } if message.role() == Role::Tool) {
            break;
        }
    }
    drop(events);
    world.pass(60);

    let (runner, models) = team(&world, [vec![], vec![Reply::text("Two.")], vec![Reply::text("Three.")]]);
    let end = runner.recover(run("s")).end().await;
    assert_eq!((end.text.as_str(), &end.reason), ("Three.", &EndReason::Answered));
    // The rounds before the interruption count: one of the first member, and one of the second.
    assert_eq!((models.map(|model| model.requests().len()), end.usage.rounds), ([0, 1, 1], 4));
    assert_eq!(world.state("s").await, json!({ "k": "v" }));
    assert_valid(&runner.history(&run("s")).await);
    let reason = runner.recover(run("s")).end().await.reason;
    assert!(reason.to_string().contains("nothing to continue"), "{reason}");
}

async fn a_loop_is_continued_in_its_iteration<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let team = |writer: Vec<Reply>, critic: Vec<Reply>| {
        let (writer, writer_model) = world.member("writer", writer);
        let (critic, critic_model) = world.member("critic", critic);
        let review = Agent::repeat("review", [writer, critic], 3).build().unwrap();
        let (closer, closer_model) = world.member("closer", [Reply::text("Bye.")]);
        let team = Agent::sequence("team", [review, closer]).build().unwrap();
        (world.runner_of_agent(team), [writer_model, critic_model, closer_model])
    };
    let text = |text: &str| Reply::text(text);
    let (runner, _) = team(vec![text("1"), text("2")], vec![text("Again."), removal("a.txt")]);
    let end = runner.run_with(run("s"), "Go.").end().await;
    assert_eq!(end.reason, EndReason::OpenCalls);
    let (runner, models) = team(vec![text("3")], vec![text("Again."), text("Enough.")]);
    let answers = Answers::new().approve(end.open[0].address().unwrap());
    assert_eq!(runner.resume(run("s"), answers).answer().await.unwrap(), "Bye.");
    assert_eq!(models.map(|model| model.requests().len()), [1, 2, 1]);

    // A member that ends the loop without a text leaves the answer that was given before the interruption.
    let review = |writer: Vec<Reply>, critic: Vec<Reply>| {
        let members = [world.member("writer", writer).0, world.member("critic", critic).0];
        world.runner_of_agent(Agent::repeat("review", members, 3).build().unwrap())
    };
    let end = review(vec![text("Draft.")], vec![removal("b.txt")]).run_with(run("t"), "Go.").end().await;
    let answers = Answers::new().approve(end.open[0].address().unwrap());
    let exit = Reply::call("exit_loop", json!({}));
    let end = review(vec![], vec![exit]).resume(run("t"), answers).end().await;
    assert_eq!((end.text.as_str(), end.reason), ("Draft.", EndReason::Escalated));
}

async fn members_in_parallel_store_their_messages_beside_the_conversation<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let noting = |name: &str| {
        let note = |key: &str| Reply::call("note", json!({ "key": key, "value": name }));
        world.member(name, [note("last"), note(name), Reply::text(format!("I am {name}."))])
    };
    let ((a, a_model), (b, _), (c, c_model)) =
        (noting("a"), noting("b"), world.member("c", [Reply::text("All.")]));
    let panel = Agent::parallel("panel", [a, b]).build().unwrap();
    let runner = world.runner_of_agent(Agent::sequence("team", [panel, c]).build().unwrap());
    let end = runner.run_with(run("s"), "Who?").end().await;
    assert_eq!((end.text.as_str(), end.usage.rounds, end.usage.calls), ("All.", 7, 4));
    // Each member sees the history as it was at the start, and what follows sees the answers of all.
    assert!(a_model.requests().iter().all(|request| request.messages[0].text() == "Who?"));
    assert_eq!(a_model.requests()[2].messages.len(), 5);
    let request = &c_model.requests()[0];
    assert_eq!(texts(&request.messages), ["Who?", "[panel] said:\na:\nI am a.\n\nb:\nI am b."]);
    assert_eq!(texts(&runner.history(&run("s")).await), ["Who?", "a:\nI am a.\n\nb:\nI am b.", "All."]);
    // Changes of state are merged in the order of the members, whatever the order of the calls was.
    assert_eq!(world.state("s").await, json!({ "last": "b", "a": "a", "b": "b" }));
    let entries = world.entries("s").await;
    let of_view = |agent: &str| {
        let is_own =
            |entry: &&Entry| entry.content.agent.as_deref() == Some(agent) && entry.content.view.is_some();
        let own: Vec<_> = entries.iter().filter(is_own).collect();
        let messages = own.iter().filter(|entry| &*entry.content.kind == EntryContent::MESSAGE).count();
        let views: std::collections::HashSet<_> =
            own.iter().map(|entry| entry.content.view.clone()).collect();
        (messages, views.len(), own[0].content.parent_run.clone())
    };
    let parent = Some(entries[0].content.run.clone());
    assert_eq!([of_view("a"), of_view("b")], [(5, 1, parent.clone()), (5, 1, parent)]);
    // Another process continues the conversation.
    let (d, d_model) = world.member("d", [Reply::text("Yes.")]);
    world.runner_of_agent(d).run_with(run("s"), "And?").answer().await.unwrap();
    assert_eq!(d_model.requests()[0].messages.len(), 4);
}

async fn a_crash_after_a_message_that_followed_the_answer_begins_with_the_first_member<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let team = |first: &[&str], second: &[&str], waits: bool| {
        let texts = |texts: &[&str]| texts.iter().map(|text| Reply::text(*text)).collect::<Vec<_>>();
        let (builder, first_model) = world.member_builder("first", texts(first));
        let (second, second_model) = world.member("second", texts(second));
        // The request for the message that follows.
        let waiting = hook::before_model(|step| async move {
            if step.request.messages.len() > 1 {
                std::future::pending::<()>().await;
            }
            Ok(step.into())
        });
        let builder = if waits { builder.hook(waiting) } else { builder };
        let team = Agent::sequence("team", [builder.build().unwrap(), second]).build().unwrap();
        (world.runner_of_agent(team), first_model, second_model)
    };
    let (runner, ..) = team(&["One."], &["Two."], true);
    let mut events = runner.run_with(run("s"), "Go.");
    events.handle().follow_up("Again.");
    while let Some(event) = events.next().await {
        if matches!(&event.kind, AgentEventKind::Message { message } if message.text() == "Again.") {
            break;
        }
    }
    drop(events);
    world.pass(60);
    let (runner, first, second) = team(&["Three."], &["Four."], false);
    let end = runner.recover(run("s")).end().await;
    assert_eq!((end.text.as_str(), first.requests().len(), second.requests().len()), ("Four.", 1, 1));
    assert_eq!(end.usage.rounds, 4, "those of the answer before count");
}

async fn a_session_of_other_agents_is_not_continued<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (runner, _) = team(&world, [vec![Reply::text("One.")], vec![removal("a.txt")], vec![]]);
    let end = runner.run_with(run("s"), "Go.").end().await;
    let answers = || Answers::new().approve(end.open[0].address().unwrap());
    let (first, _) = world.member("first", []);
    let (other, _) = world.member("other", []);
    let changed = Agent::sequence("team", [first, other]).build().unwrap();
    let reason = world.runner_of_agent(changed).resume(run("s"), answers()).end().await.reason;
    assert!(reason.to_string().contains("the agents of `team` are not those that it began with"), "{reason}");
    // A session of one agent has no position.
    let (solo, _) = world.member("solo", [removal("b.txt")]);
    assert_eq!(
        world.runner_of_agent(solo).run_with(run("t"), "Go.").end().await.reason,
        EndReason::OpenCalls
    );
    let (runner, _) = team(&world, [vec![], vec![], vec![]]);
    let reason = runner.resume(run("t"), Answers::new()).end().await.reason;
    assert!(reason.to_string().contains("are not those"), "{reason}");
}

async fn a_refused_message_reaches_no_member_and_is_not_stored<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (first, first_model) = world.member("first", [Reply::text("One.")]);
    let (second, _) = world.member_builder("second", [Reply::text("Two.")]);
    let second = second.input_check(|_, message| async move {
        let is_secret = message.text().contains("secret");
        Ok(if is_secret { InputDecision::Refuse("no secrets".to_owned()) } else { InputDecision::Accept })
    });
    let members = [first, second.build().unwrap()];
    let runner = world.runner_of_agent(Agent::sequence("team", members).build().unwrap());
    let end = runner.run_with(run("s"), "A secret.").end().await;
    assert_eq!(end.reason, EndReason::Refused { message: "no secrets".to_owned() });
    assert!(first_model.requests().is_empty() && runner.history(&run("s")).await.is_empty());
    assert_eq!(runner.run_with(run("s"), "Hello.").answer().await.unwrap(), "Two.");
    assert_eq!(runner.history(&run("s")).await.len(), 3);
}

async fn a_run_that_is_continued_does_not_stand_where_an_earlier_one_did<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let gate = Gate::closed();
    // The request of this number, and those after it, wait for ever.
    let team = |replies: [Vec<Reply>; 2], stuck: u64| {
        let [first, second] = replies;
        let (first, first_model) = world.member_builder("first", first);
        let (second, second_model) = world.member_builder("second", second);
        let members = [first, second].map(|it| it.hook(gate.hook_from(stuck)).build().unwrap());
        let team = Agent::sequence("team", members).build().unwrap();
        (world.runner_of_agent(team), [first_model, second_model])
    };
    let noted = Reply::call("note", json!({ "key": "a", "value": "b" }));
    let (runner, _) = team([vec![Reply::text("One.")], vec![noted]], 3);
    let mut events = runner.run_with(run("s"), "Go.");
    while let Some(event) = events.next().await {
        if matches!(&event.kind, AgentEventKind::Message { message } if message.role() == Role::Tool) {
            break;
        }
    }
    drop(events);
    world.pass(60);
    // Nothing of an agent is stored after the message of the next run.
    let (runner, _) = team([vec![], vec![]], 1);
    let mut events = runner.run_with(run("s"), "Again.");
    while let Some(event) = events.next().await {
        if matches!(&event.kind, AgentEventKind::Message { message } if message.text() == "Again.") {
            break;
        }
    }
    drop(events);
    world.pass(60);
    let (runner, models) = team([vec![Reply::text("Three.")], vec![Reply::text("Four.")]], u64::MAX);
    assert_eq!(runner.recover(run("s")).answer().await.unwrap(), "Four.");
    assert_eq!(models.map(|model| model.requests().len()), [1, 1]);
}

async fn a_position_follows_the_compaction_of_a_member<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let noted = |key: &str| Reply::call("note", json!({ "key": key, "value": "x".repeat(400) }));
    let (first, _) = world.member("first", [noted("a"), noted("b"), Reply::text("One.")]);
    let (second, model) = world.member_builder("second", [Reply::text("Two.")]);
    let second = second.context_window(100).compaction(Compaction::new().with_last_messages(1));
    let team = Agent::sequence("team", [first, second.build().unwrap()]).build().unwrap();
    let runner = world.runner_of_agent(team).with_program_key(ProgramKey::new([2; 32]));
    assert_eq!(runner.run_with(run("s"), "Go.").answer().await.unwrap(), "Two.");
    let note = "[Earlier messages of this conversation were left out here.]";
    assert_eq!(texts(&model.requests()[0].messages), ["Go.", note, "[first] said:\nOne."]);
    let entries = world.entries("s").await;
    let compaction = entries.iter().position(|it| &*it.content.kind == EntryContent::COMPACTION).unwrap();
    let position = &entries[compaction + 1].content;
    assert_eq!((&*position.kind, position.agent.as_deref()), ("position", Some("second")));
    // It has no secret, and is readable without the key.
    assert_eq!(position.body.read::<Value>().unwrap()["path"][0]["agent"], "second");
}

async fn open_calls_of_agents_in_parallel_are_no_run_that_was_interrupted<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let panel = |replies: [Vec<Reply>; 2]| {
        let [a, b] = replies;
        let ((a, a_model), (b, b_model)) = (world.member("a", a), world.member("b", b));
        let panel = Agent::parallel("panel", [a, b]).build().unwrap();
        (world.runner_of_agent(panel), [a_model, b_model])
    };
    let (runner, _) = panel([vec![removal("a.txt")], vec![Reply::text("B.")]]);
    assert_eq!(runner.run_with(run("s"), "Go.").end().await.reason, EndReason::OpenCalls);
    let (runner, models) = panel([vec![], vec![]]);
    let reason = runner.recover(run("s")).end().await.reason;
    assert!(reason.to_string().starts_with("the session has nothing to continue: "), "{reason}");
    assert_eq!(models.map(|model| model.requests().len()), [0, 0]);
}

async fn only_the_message_with_which_a_run_began_is_its_input<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let replies = ["One.", "Two.", "Three."].map(Reply::text);
    let (builder, _) = world.member_builder("solo", replies);
    let runner = world.runner_of_agent(builder.build().unwrap());
    let events = runner.run_with(run("s"), "Go.");
    events.handle().steer("Wait.");
    // A message with which an earlier run began.
    let (earlier, _) = world.member("earlier", [Reply::text("Hello.")]);
    let earlier = world.runner_of_agent(earlier);
    earlier.run_with(run("t"), "Again.").answer().await.unwrap();
    events.handle().follow_up(earlier.history(&run("t")).await.remove(0));
    assert_eq!(events.answer().await.unwrap(), "Three.");
    let bodies = world.entries("s").await.into_iter().map(|it| it.content);
    let bodies = bodies.filter(|it| &*it.kind == EntryContent::MESSAGE).map(|it| it.body);
    let inputs: Vec<_> = bodies.map(|it| it.read::<Value>().unwrap()["input"].clone()).collect();
    let none = Value::Null;
    assert_eq!(inputs, [json!(true), none.clone(), none.clone(), none.clone(), none.clone(), none]);
}

tests! {
    a_sequence_is_one_conversation_of_its_session,
    open_calls_of_a_member_are_answered_in_another_process_and_the_others_follow,
    a_message_in_place_of_an_answer_begins_with_the_first_member,
    a_crash_is_continued_at_the_member_that_had_its_turn, a_loop_is_continued_in_its_iteration,
    a_crash_after_a_message_that_followed_the_answer_begins_with_the_first_member,
    members_in_parallel_store_their_messages_beside_the_conversation,
    a_session_of_other_agents_is_not_continued,
    a_refused_message_reaches_no_member_and_is_not_stored,
    a_run_that_is_continued_does_not_stand_where_an_earlier_one_did,
    a_position_follows_the_compaction_of_a_member,
    open_calls_of_agents_in_parallel_are_no_run_that_was_interrupted,
    only_the_message_with_which_a_run_began_is_its_input,
}
