//! The histories of runs below calls: what they see, and who sees them.

use std::time::{Duration, SystemTime};

use tool_agent::{
    Agent, AgentTool, Answers, HistoryScope, Message, MessageFilter, Part, Runner, ScriptedModel,
    model::Reply,
};
use tool_runtime::{RunContext, ToolResult, prelude::*};
use tool_session::{EntryContent, JsonText, LeaseRequest, SessionWrite};

use super::{
    below::{Office, address, ask, over_stores, paths, removal},
    world::{StoreFactory, key, run},
};

over_stores! {
    an_isolated_child_sees_its_arguments_alone,
    a_child_of_the_parent_branch_sees_its_ancestors_and_they_see_it,
    a_persistent_history_has_the_earlier_calls_with_its_key,
    an_entry_without_a_view_is_seen_in_every_view_with_a_history,
    a_child_of_the_parent_branch_continues_with_the_history_above_in_another_process,
    an_agent_with_a_filter_by_time_sees_what_is_not_older_and_its_own_run,
}

/// A program whose manager asks a clerk with this history, in sessions of a store.
struct Desk {
    office: Office,
    scope: HistoryScope,
}

impl Desk {
    async fn new<F: StoreFactory>(scope: HistoryScope) -> Self {
        Self { office: Office::new::<F>().await, scope }
    }

    /// Returns the runner of another process, and the models of clerk and manager.
    fn process(
        &self,
        child_replies: impl IntoIterator<Item = Reply>,
        replies: impl IntoIterator<Item = Reply>,
    ) -> (Runner, ScriptedModel, ScriptedModel) {
        let (clerk, child_model) = self.office.leaf("clerk", child_replies);
        let tool = AgentTool::new(clerk.build().unwrap()).unwrap().history(self.scope.clone());
        let (manager, model) = self.office.agent("manager", Registry::builder().add(tool), replies);
        (self.office.runner(manager), child_model, model)
    }

    /// Returns the view keys of the session, each once.
    async fn views(&self) -> Vec<String> {
        let entries = self.office.world.entries("s").await;
        let mut views: Vec<_> =
            entries.iter().filter_map(|it| it.content.view.as_deref()).map(str::to_owned).collect();
        views.dedup();
        views
    }
}

fn texts(model: &ScriptedModel, request: usize) -> Vec<String> {
    model.requests()[request].messages.iter().map(Message::text).collect()
}

fn asks() -> Vec<Reply> {
    vec![Reply::calls([ask("clerk", "c1")]), Reply::text("Done.")]
}

// Q17
async fn an_isolated_child_sees_its_arguments_alone<F: StoreFactory>() {
    let desk = Desk::new::<F>(HistoryScope::Isolated).await;
    let (runner, child_model, model) =
        desk.process([Reply::text("One."), Reply::text("Two.")], [asks(), asks()].concat());
    for _ in 0..2 {
        runner.run_with(run("s"), "The secret is 7.").answer().await.unwrap();
    }
    for request in 0..2 {
        assert_eq!(texts(&child_model, request), ["Clean up."]);
    }
    let views = desk.views().await;
    assert!(views.len() == 2 && views[0] != views[1] && views[0].starts_with("clerk-"), "{views:?}");
    // The manager does not see it either, also not in its next run.
    assert_eq!(texts(&model, 3).len(), 7);
}

// Q18
async fn a_child_of_the_parent_branch_sees_its_ancestors_and_they_see_it<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let (worker, worker_model) = office.leaf("worker", [Reply::text("Worked.")]);
    let worker = AgentTool::new(worker.build().unwrap()).unwrap().history(HistoryScope::ParentBranch);
    let replies = [Reply::calls([ask("worker", "w1")]), Reply::text("Led.")];
    let (lead, lead_model) = office.agent("lead", Registry::builder().add(worker), replies);
    let lead = AgentTool::new(lead.build().unwrap()).unwrap().history(HistoryScope::ParentBranch);
    let (loner, loner_model) = office.leaf("loner", [Reply::text("Alone.")]);
    let tools = Registry::builder().add(lead).add(AgentTool::new(loner.build().unwrap()).unwrap());
    let replies =
        [Reply::calls([ask("lead", "l1")]), Reply::calls([ask("loner", "o1")]), Reply::text("Done.")];
    let (root, model) = office.agent("root", tools, replies);
    let runner = office.runner(root);
    runner.run_with(run("s"), "The secret is 7.").answer().await.unwrap();
    // Descendants see their ancestors.
    let (lead, worker) = (texts(&lead_model, 0), texts(&worker_model, 0));
    assert_eq!((lead.len(), &*lead[1]), (2, "Clean up."));
    assert!(lead[0].contains("user: The secret is 7."), "{lead:?}");
    assert!(worker[0].contains("The secret is 7.") && worker.len() == 2, "{worker:?}");
    assert_eq!(texts(&loner_model, 0), ["Clean up."]);
    // Ancestors see their descendants: at once, and in the next run of another process.
    let (root, next) = office.above("root", [], [Reply::text("Again.")]);
    office.runner(root).run_with(run("s"), "And?").answer().await.unwrap();
    for (texts, is_next) in [(texts(&model, 1), false), (texts(&next, 0), true)] {
        let notes: Vec<_> = texts.iter().filter(|it| it.starts_with("For context")).collect();
        assert_eq!(notes.len(), 2, "{texts:?}");
        let all = texts.join("\n");
        assert!(all.contains("lead: Led.") && all.contains("worker: Worked."), "{all}");
        assert!(all.contains("lead called the tool `worker`"), "{all}");
        assert!(!(is_next && all.contains("loner: Alone.")), "{all}");
        // The results follow their calls.
        assert_eq!(
            (&*texts[0], texts[3].starts_with("For context")),
            ("The secret is 7.", true),
            "{texts:?}"
        );
    }
    let entries = office.world.entries("s").await;
    let views: Vec<_> = entries.iter().filter_map(|it| it.content.view.as_deref()).collect();
    assert!(views.iter().any(|it| it.starts_with("/lead-") && it.contains("/worker-")), "{views:?}");
    assert_eq!(runner.history(&run("s")).await.len(), 8);
}

// Q19
async fn a_persistent_history_has_the_earlier_calls_with_its_key<F: StoreFactory>() {
    for (key, view) in [("", "agenttool:clerk:default"), ("a/b", "a%2Fb")] {
        let desk = Desk::new::<F>(HistoryScope::Persistent(key.to_owned())).await;
        let (runner, child_model, _) = desk.process([Reply::text("One.")], asks());
        runner.run_with(run("s"), "First.").answer().await.unwrap();
        assert_eq!(texts(&child_model, 0), ["Clean up."]);
        // Another process.
        let (runner, child_model, _) = desk.process([Reply::text("Two.")], asks());
        runner.run_with(run("s"), "Second.").answer().await.unwrap();
        assert_eq!(texts(&child_model, 0), ["Clean up.", "One.", "Clean up."]);
        let other = Desk { office: desk.office, scope: HistoryScope::Persistent("other".to_owned()) };
        let (runner, child_model, _) = other.process([Reply::text("Three.")], asks());
        runner.run_with(run("s"), "Third.").answer().await.unwrap();
        assert_eq!(texts(&child_model, 0), ["Clean up."]);
        // Another session.
        let same = Desk { office: other.office, scope: HistoryScope::Persistent(key.to_owned()) };
        let (runner, child_model, _) = same.process([Reply::text("Four.")], asks());
        runner.run_with(run("t"), "Fourth.").answer().await.unwrap();
        assert_eq!(
            (texts(&child_model, 0), same.views().await),
            (vec!["Clean up.".to_owned()], vec![view.to_owned(), "other".to_owned()])
        );
    }
}

// Q20
async fn an_entry_without_a_view_is_seen_in_every_view_with_a_history<F: StoreFactory>() {
    let desk = Desk::new::<F>(HistoryScope::Persistent("p".to_owned())).await;
    let store = &desk.office.world.store;
    let grant = store.acquire(&key("s"), &LeaseRequest::new("import", "test")).await.unwrap();
    let body = json!({ "v": 1, "message": { "role": "user", "parts": [{ "text": "The shop is closed." }] } });
    let entry = EntryContent::new("import", EntryContent::MESSAGE, JsonText::of(&body).unwrap());
    store
        .write(&grant.lease, &SessionWrite::new(grant.session.revision).entry(entry).end_of_run())
        .await
        .unwrap();
    let (runner, child_model, model) = desk.process([Reply::text("One.")], asks());
    runner.run_with(run("s"), "First.").answer().await.unwrap();
    assert_eq!(texts(&child_model, 0), ["The shop is closed.", "Clean up."]);
    assert_eq!(texts(&model, 0), ["The shop is closed.", "First."]);
    let isolated = Desk { office: desk.office, scope: HistoryScope::Isolated };
    let (runner, child_model, _) = isolated.process([Reply::text("Two.")], asks());
    runner.run_with(run("s"), "Second.").answer().await.unwrap();
    assert_eq!(texts(&child_model, 0), ["Clean up."]);
}

async fn a_child_of_the_parent_branch_continues_with_the_history_above_in_another_process<F: StoreFactory>() {
    let desk = Desk::new::<F>(HistoryScope::ParentBranch).await;
    let (runner, ..) = desk.process([Reply::calls([removal("a.txt", "r1")])], asks());
    let end = runner.run_with(run("s"), "The secret is 7.").end().await;
    let (runner, child_model, model) = desk.process([Reply::text("It is clean.")], [Reply::text("Done.")]);
    runner.resume(run("s"), Answers::new().approve(address(&end, 0))).answer().await.unwrap();
    let child = texts(&child_model, 0);
    assert_eq!(child.len(), 4);
    assert!(child[0].contains("The secret is 7."), "{child:?}");
    let all = texts(&model, 0);
    assert!(all.len() == 4 && all[3].contains("clerk: It is clean."), "{all:?}");
    assert!(all[3].contains("the tool `remove` returned: a.txt is removed"), "{all:?}");
}

// Q20
async fn an_agent_with_a_filter_by_time_sees_what_is_not_older_and_its_own_run<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let store = &office.world.store;
    let grant = store.acquire(&key("s"), &LeaseRequest::new("import", "test")).await.unwrap();
    let call = removal("a.txt", "r1");
    let result = ToolResult::new(call.id.clone(), "remove", Ok(ToolOutput::from("a.txt is removed")));
    let messages = [
        (180, Message::user("Three hours ago.")),
        (179, Message::assistant([Part::Text("Yes.".to_owned())])),
        (150, Message::user("Remove it.")),
        (130, Message::assistant([Part::Call(call)])),
        (70, Message::results([result])),
        (60, Message::assistant([Part::Text("It is removed.".to_owned())])),
    ];
    let entries = messages.map(|(age, message)| {
        let body = JsonText::of(&json!({ "v": 1, "message": message })).unwrap();
        let time = SystemTime::now() - minutes(age);
        EntryContent::new("import", EntryContent::MESSAGE, body).with_time(time)
    });
    let write = SessionWrite::new(grant.session.revision).entries(entries).end_of_run();
    store.write(&grant.lease, &write).await.unwrap();

    // An answer is not separated from its question, nor a result from its call, and the message of the run is shown in any case.
    let half_a_minute = Duration::from_secs(30);
    let ages = [(200, 7), (179, 7), (140, 5), (100, 5), (65, 5), (30, 1), (0, 1), (u64::MAX / 120, 7)];
    for (age, count) in ages {
        let filter = MessageFilter::all().only_newer_than(minutes(age) + half_a_minute);
        let (clerk, model) = office.leaf("clerk", [Reply::text("Fine.")]);
        let fork = format!("fork {age}");
        store.fork(&key("s"), 6, &fork).await.unwrap();
        office.runner(clerk.message_filter(filter)).run_with(run(&fork), "Now?").answer().await.unwrap();
        let messages = &model.requests()[0].messages;
        assert_eq!((messages.len(), messages[count - 1].text().as_str()), (count, "Now?"), "{age}");
    }
}

#[tokio::test]
async fn histories_and_questions_are_in_memory_without_a_store() {
    let scopes = [
        HistoryScope::Isolated,
        HistoryScope::ParentBranch,
        HistoryScope::Persistent("p".to_owned()),
        HistoryScope::Fresh,
    ];
    for scope in scopes {
        let office = Office::new::<super::InMemory>().await;
        let replies = [
            Reply::calls([removal("a.txt", "r1"), removal("b.txt", "r2")]),
            Reply::text("One."),
            Reply::text("Two."),
        ];
        let (clerk, child_model) = office.leaf("clerk", replies);
        let tool = AgentTool::new(clerk.build().unwrap()).unwrap().history(scope.clone());
        let (manager, model) =
            office.agent("manager", Registry::builder().add(tool), [asks(), asks()].concat());
        let runner = Runner::new(manager.build().unwrap());
        let run = || RunContext::new().with_session("s");
        let end = runner.run_with(run(), "First.").end().await;
        assert_eq!(paths(&end), ["c1:clerk > r1", "c1:clerk > r2"]);
        let end = runner.resume(run(), Answers::new().approve(address(&end, 1))).end().await;
        assert_eq!(
            (paths(&end), office.effects()),
            (vec!["c1:clerk > r1".to_owned()], vec!["b.txt".to_owned()])
        );
        let end = runner.resume(run(), Answers::new().reject(address(&end, 0), "no")).end().await;
        assert_eq!(end.text, "Done.", "{end}");
        assert_eq!(runner.run_with(run(), "Second.").answer().await.unwrap(), "Done.");
        let second = texts(&child_model, 2);
        match &scope {
            HistoryScope::Persistent(_) => assert_eq!(second, ["Clean up.", "", "", "One.", "Clean up."]),
            HistoryScope::ParentBranch => assert!(second[0].contains("clerk: One."), "{second:?}"),
            _ => assert_eq!(second, ["Clean up."]),
        }
        let notes = texts(&model, 3).iter().filter(|it| it.starts_with("For context")).count();
        assert_eq!(notes, if scope == HistoryScope::ParentBranch { 2 } else { 0 });
    }
}

#[tokio::test]
async fn a_message_closes_questions_below_in_memory_and_a_persistent_history_goes_on() {
    let office = Office::new::<super::InMemory>().await;
    let (clerk, child_model) =
        office.leaf("clerk", [Reply::calls([removal("a.txt", "r1")]), Reply::text("Two.")]);
    let tool = AgentTool::new(clerk.build().unwrap()).unwrap();
    let tool = tool.history(HistoryScope::Persistent(String::new()));
    let replies = [vec![Reply::calls([ask("clerk", "c1")])], asks()].concat();
    let (manager, _) = office.agent("manager", Registry::builder().add(tool), replies);
    let runner = Runner::new(manager.build().unwrap());
    let run = || RunContext::new().with_session("s");
    runner.run_with(run(), "First.").end().await;
    assert_eq!(runner.run_with(run(), "Second.").answer().await.unwrap(), "Done.");
    let results: Vec<_> =
        child_model.requests()[1].messages.iter().flat_map(Message::tool_results).cloned().collect();
    assert_eq!((results.len(), &*results[0].text()), (1, "not answered: the run was not continued"));
    assert!(office.effects().is_empty());
}

#[tokio::test]
async fn an_agent_below_itself_cannot_have_its_own_history() {
    let scope = || HistoryScope::Persistent("p".to_owned());
    let inner = Agent::builder("inner", ScriptedModel::new([])).build().unwrap();
    let inner = AgentTool::new(inner).unwrap().history(scope());
    let model = ScriptedModel::new([Reply::calls([ask("inner", "i1")]), Reply::text("Asked.")]);
    let tools = Registry::builder().add(inner).build().unwrap();
    let outer = Agent::builder("outer", model.clone()).tools(tools).build().unwrap();
    let outer = AgentTool::new(outer).unwrap().history(scope());
    let tools = Registry::builder().add(outer).build().unwrap();
    let root = ScriptedModel::new([Reply::calls([ask("outer", "o1")]), Reply::text("Done.")]);
    let runner = Runner::new(Agent::builder("root", root).tools(tools).build().unwrap());
    assert_eq!(runner.run("Go.").answer().await.unwrap(), "Done.");
    let result = model.requests()[1].messages[2].tool_results().next().unwrap().clone();
    assert!(result.text().contains("a run above has the history `p`"), "{}", result.text());
    // Q04: also a run that failed has its id.
    assert!(result.child_run_id().is_some());
}
