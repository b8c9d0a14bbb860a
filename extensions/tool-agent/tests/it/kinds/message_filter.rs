//! The messages of a conversation that the model of an agent receives.

use tool_agent::MessageFilter;
use tool_runtime::RunContext;

use super::*;

fn texts(model: &ScriptedModel, request: usize) -> Vec<String> {
    model.requests()[request].messages.iter().map(|message| message.text()).collect()
}

// Q20
#[tokio::test]
async fn an_agent_with_a_filter_by_author_sees_the_user_itself_and_those_agents() {
    let (judge, model) = builder("judge", [product(), Reply::text("Yes."), Reply::text("Still yes.")]);
    let judge = judge.message_filter(MessageFilter::all().only_agents(["buyer"])).build().unwrap();
    let lawyer = agent("lawyer", [product(), Reply::text("No."), Reply::text("Never.")]);
    let buyer = agent("buyer", [Reply::text("I want it."), Reply::text("I still want it.")]);
    let court = Agent::sequence("court", [lawyer, buyer, judge]).build().unwrap();
    let runner = Runner::new(court);
    let run = || RunContext::new().with_session("s");
    runner.run_with(run(), "Decide.").answer().await.unwrap();
    assert_eq!(texts(&model, 0), ["Decide.", "[buyer] said:\nI want it."]);
    // Its own calls and their results.
    assert_eq!(texts(&model, 1).len(), 4);
    runner.run_with(run(), "Again.").answer().await.unwrap();
    let expected =
        ["Decide.", "[buyer] said:\nI want it.", "", "", "Yes.", "Again.", "[buyer] said:\nI still want it."];
    assert_eq!(texts(&model, 2), expected);
    // The conversation is stored whole.
    assert_eq!(runner.history(&run()).await.len(), 12);
}

// Q20
#[tokio::test]
async fn an_agent_with_a_filter_by_run_sees_no_message_of_an_earlier_one() {
    let (clerk, model) = builder("clerk", [Reply::text("One."), product(), Reply::text("Two.")]);
    let clerk = clerk.message_filter(MessageFilter::all().only_this_run()).build().unwrap();
    let runner = Runner::new(clerk);
    let run = || RunContext::new().with_session("s");
    runner.run_with(run(), "First.").answer().await.unwrap();
    runner.run_with(run(), "Second.").answer().await.unwrap();
    assert_eq!(texts(&model, 1), ["Second."]);
    // What the run added itself remains, in pairs of calls and results.
    assert_eq!(texts(&model, 2), ["Second.", "", ""]);
    assert_eq!(runner.history(&run()).await.len(), 6);
}

// Q20
#[tokio::test]
async fn a_request_does_not_end_with_an_answer_of_its_agent_if_those_of_others_are_hidden() {
    let (writer, model) = builder("writer", [Reply::text("Draft."), Reply::text("Second draft.")]);
    let writer = writer.message_filter(MessageFilter::all().only_agents([""; 0])).build().unwrap();
    let critic = agent("critic", [Reply::text("Shorter."), exit()]);
    let review = Agent::repeat("review", [writer, critic], 5).build().unwrap();
    Runner::new(review).run("Write.").end().await;
    assert_eq!(texts(&model, 1), ["Write.", "Draft.", "Continue."]);
}

/// Removes a file.
#[tool(register = false, destructive, confirm)]
fn remove(path: String) -> String {
    path
}

// Q20
#[tokio::test]
async fn a_filter_by_run_shows_the_question_of_the_run_in_each_turn_of_a_member() {
    let (writer, model) = builder("writer", [Reply::text("Draft."), Reply::text("Second draft.")]);
    let writer = writer.message_filter(MessageFilter::all().only_this_run()).build().unwrap();
    let review = Agent::repeat("review", [writer], 2).build().unwrap();
    Runner::new(review).run("Write.").end().await;
    assert_eq!(texts(&model, 1), ["Write.", "Draft.", "Continue."]);
}

// Q20
#[tokio::test]
async fn a_filter_by_run_shows_the_question_of_the_run_that_is_continued() {
    let replies = || {
        [
            Reply::text("One."),
            product(),
            Reply::call("remove", json!({ "path": "a.txt" })),
            Reply::text("Two."),
        ]
    };
    for is_member in [false, true] {
        let model = ScriptedModel::new(replies());
        let tools = Registry::builder().tool::<multiply>().tool::<remove>().build().unwrap();
        let clerk = Agent::builder("clerk", model.clone()).tools(tools);
        let clerk = clerk.message_filter(MessageFilter::all().only_this_run()).build().unwrap();
        let agent = if is_member { Agent::sequence("team", [clerk]).build().unwrap() } else { clerk };
        let runner = Runner::new(agent);
        let run = || RunContext::new().with_session("s");
        runner.run_with(run(), "First.").answer().await.unwrap();
        let mut events = runner.run_with(run(), "Second.");
        let (handle, mut end) = (events.handle(), None);
        while let Some(event) = events.next().await {
            match event.kind {
                AgentEventKind::Tool { .. } if model.requests().len() == 2 => handle.steer("And remove it."),
                AgentEventKind::Ended { end: reached } => end = Some(reached),
                _ => {}
            }
        }
        let call = end.unwrap().open[0].address().unwrap().clone();
        runner.resume(run(), tool_agent::Answers::new().approve(call)).answer().await.unwrap();
        let shown = texts(&model, 3);
        assert_eq!(shown[0], "Second.", "{shown:?}");
        assert!(shown.iter().any(|text| text == "And remove it."), "{shown:?}");
    }
}

// Q18, Q20
#[tokio::test]
async fn an_agent_with_a_filter_by_branch_sees_the_agents_of_that_branch_and_below_it() {
    for (branch, is_seen) in
        [("court.council", true), ("court", true), ("court.coun", false), ("council", false)]
    {
        let [lawyer, buyer] =
            ["lawyer", "buyer"].map(|name| agent(name, vec![Reply::text(format!("I am {name}.")); 2]));
        let council = Agent::sequence("council", [lawyer, buyer]).build().unwrap();
        let critic = agent("critic", [Reply::text("No."), Reply::text("Never.")]);
        let (judge, model) = builder("judge", [Reply::text("Yes."), Reply::text("Still yes.")]);
        let judge = judge.message_filter(MessageFilter::all().only_branches([branch])).build().unwrap();
        let runner = Runner::new(Agent::sequence("court", [council, critic, judge]).build().unwrap());
        let run = || RunContext::new().with_session("s");
        runner.run_with(run(), "Decide.").answer().await.unwrap();
        // The messages of the first run come from the session.
        runner.run_with(run(), "Again.").answer().await.unwrap();
        let council = |is_seen: bool| match is_seen {
            true => vec!["[lawyer] said:\nI am lawyer.", "[buyer] said:\nI am buyer."],
            false => Vec::new(),
        };
        let critic = |text: &'static str| if branch == "court" { vec![text] } else { Vec::new() };
        let first = [vec!["Decide."], council(is_seen), critic("[critic] said:\nNo.")].concat();
        let second = [vec!["Yes.", "Again."], council(is_seen), critic("[critic] said:\nNever.")].concat();
        assert_eq!(texts(&model, 0), first, "{branch}");
        assert_eq!(texts(&model, 1), [first, second].concat(), "{branch}");
    }
}

#[tokio::test]
async fn messages_of_a_run_have_the_times_at_which_they_were_made() {
    let before = std::time::SystemTime::now();
    let runner = Runner::new(agent("clerk", [product(), Reply::text("12.")]));
    let run = || RunContext::new().with_session("s");
    runner.run_with(run(), "3 times 4?").answer().await.unwrap();
    let history = runner.history(&run()).await;
    let times: Vec<_> = history.iter().map(|message| message.time().unwrap()).collect();
    let millisecond = std::time::Duration::from_millis(1);
    assert!(times.len() == 4 && times.is_sorted(), "{times:?}");
    assert!(times[0] + millisecond >= before && times[3] <= std::time::SystemTime::now(), "{times:?}");
}
