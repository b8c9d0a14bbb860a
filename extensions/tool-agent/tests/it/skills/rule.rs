//! The tools that active skills allow.

use std::sync::Arc;

use tool_agent::{
    Agent, AgentTool, AgentTools, Answers, EndReason, OutputType, Runner, ScriptedModel,
    model::Reply,
    skills::{AgentSkills, AllowedTools, SkillRule},
};
use tool_runtime::{
    Executor, RunContext, ToolCall, Toolbox,
    executor::RunSettings,
    policy::{Rule, Rules},
    prelude::*,
    toolbox::Visibility,
};

use super::{results, skill, skills_of};

/// Finds an order.
#[tool(register = false, read_only)]
fn find(id: u32) -> String {
    format!("order {id}")
}

/// Cancels an order.
#[tool(register = false, destructive)]
fn cancel(id: u32) -> String {
    format!("{id} is cancelled")
}

/// Runs a command.
#[tool(register = false)]
fn bash(command: String) -> String {
    command
}

/// Refunds an order.
#[tool(register = false, confirm)]
fn refund(id: u32) -> String {
    format!("{id} is refunded")
}

fn tools() -> Registry {
    let tools = Registry::builder().tool::<find>().tool::<cancel>().tool::<bash>().tool::<refund>();
    tools.build().unwrap()
}

fn clerk(
    replies: impl IntoIterator<Item = Reply>,
    skills: AgentSkills,
    tools: impl Into<AgentTools>,
) -> (Runner, ScriptedModel) {
    let model = ScriptedModel::new(replies);
    let agent = Agent::builder("clerk", model.clone()).skills(skills).tools(tools).build().unwrap();
    (Runner::new(agent), model)
}

fn load(name: &str) -> Reply {
    Reply::call("skill_load", json!({ "name": name }))
}

#[tokio::test]
async fn calls_of_other_tools_are_refused_while_a_skill_is_active() {
    let skills = skills_of([skill("orders", Some("find bash(git:*)"))]);
    let replies = [
        Reply::call("cancel", json!({ "id": 1 })),
        load("orders"),
        Reply::call("find", json!({ "id": 2 })),
        Reply::call("cancel", json!({ "id": 3 })),
        Reply::call("bash", json!({ "command": "git log" })),
        Reply::call("bash", json!({ "command": "rm -r x" })),
        Reply::call("skill_list", json!({})),
        Reply::text("Done."),
        Reply::call("cancel", json!({ "id": 4 })),
        Reply::text("Done."),
    ];
    let (runner, model) = clerk(replies, skills, tools());
    let run = || RunContext::new().with_session("s-1");
    runner.run_with(run(), "Go.").answer().await.unwrap();
    let texts = results(&model);
    assert_eq!(texts[0], "1 is cancelled");
    assert!(
        texts[1].contains("Until you answer, you can call `find`, `bash(git:*)`, and the tools of skills.")
    );
    assert_eq!(texts[2], "order 2");
    let refusal = "the skill `orders` is active and allows only `find`, `bash(git:*)`; make the call without the tool `cancel`";
    assert!(texts[3].contains(refusal), "{}", texts[3]);
    assert_eq!(texts[4], "git log");
    assert!(texts[5].contains("the skill `orders` is active"), "{}", texts[5]);
    assert_eq!(texts[6], "- `orders`: How to do orders.");
    // The next message of the user begins without active skills.
    runner.run_with(run(), "Cancel 4.").answer().await.unwrap();
    assert_eq!(results(&model).last().unwrap(), "4 is cancelled");
}

#[tokio::test]
async fn a_second_skill_gives_no_tool_back() {
    let skills = skills_of([skill("a", Some("find")), skill("b", Some("find cancel")), skill("c", None)]);
    let cancel = || Reply::call("cancel", json!({ "id": 1 }));
    let replies = [
        load("a"),
        load("b"),
        cancel(),
        load("c"),
        cancel(),
        Reply::call("find", json!({ "id": 2 })),
        Reply::text(""),
    ];
    let (runner, model) = clerk(replies.into_iter().chain([Reply::text("Done.")]), skills, tools());
    runner.run("Go.").answer().await.unwrap();
    let texts = results(&model);
    assert!(texts[2].contains("the skill `a` is active"), "{}", texts[2]);
    assert!(texts[4].contains("the skill `a` is active"), "{}", texts[4]);
    assert_eq!(texts[5], "order 2");
}

#[tokio::test]
async fn allowed_tools_widen_nothing() {
    let skills = skills_of([skill("orders", Some("cancel refund unknown"))]);
    let executor = Executor::builder(tools()).rules(Rules::new([Rule::deny("cancel")])).build().unwrap();
    let replies = [
        load("orders"),
        Reply::call("cancel", json!({ "id": 1 })),
        Reply::call("unknown", json!({})),
        Reply::call("refund", json!({ "id": 2 })),
    ];
    let (runner, model) = clerk(replies, skills, executor);
    let end = runner.run("Go.").end().await;
    assert_eq!(end.reason, EndReason::OpenCalls); // The confirmation is asked for as before.
    let texts = results(&model);
    assert_eq!(texts[1], "Denied: a rule denies it: cancel");
    assert!(texts[2].contains("not found"), "{}", texts[2]);
}

#[tokio::test]
async fn no_person_is_asked_about_a_call_that_a_skill_refuses() {
    let skills = skills_of([skill("orders", Some("find"))]);
    let replies = [load("orders"), Reply::call("refund", json!({ "id": 2 })), Reply::text("Done.")];
    let (runner, model) = clerk(replies, skills, tools());
    assert_eq!(runner.run("Go.").answer().await.unwrap(), "Done.");
    assert!(results(&model)[1].contains("the skill `orders` is active"), "{}", results(&model)[1]);
}

#[tokio::test]
async fn a_run_continues_with_its_skills_after_open_calls() {
    let skills = skills_of([skill("orders", Some("refund"))]);
    let replies = [
        load("orders"),
        Reply::call("refund", json!({ "id": 2 })),
        Reply::call("cancel", json!({ "id": 3 })),
        Reply::text("Done."),
    ];
    let (runner, model) = clerk(replies, skills, tools());
    let run = || RunContext::new().with_session("s-1");
    let end = runner.run_with(run(), "Go.").end().await;
    let call = end.open[0].address().unwrap();
    runner.resume(run(), Answers::new().approve(call)).answer().await.unwrap();
    let texts = results(&model);
    assert_eq!(texts[1], "2 is refunded");
    assert!(texts[2].contains("the skill `orders` is active and allows only `refund`"), "{}", texts[2]);
}

#[tokio::test]
async fn a_skill_of_the_batch_with_open_calls_is_active_afterwards() {
    // Over a session in memory, and over stores, each as another process has it.
    let folder = tempfile::tempdir().unwrap();
    let database = tool_session::SqliteStore::open(folder.path().join("sessions.db")).await.unwrap();
    let database = tool_session::SharedSessionStore::new(database);
    for store in [None, Some(store()), Some(database)] {
        let calls = [
            ToolCall::new("skill_load", json!({ "name": "orders" })).with_id("call_1"),
            ToolCall::new("refund", json!({ "id": 2 })).with_id("call_2"),
        ];
        let cancel = Reply::call("cancel", json!({ "id": 3 }));
        let replies = [Reply::calls(calls), cancel, Reply::text("Done.")];
        let (runner, model) = clerk(replies, skills_of([skill("orders", Some("find"))]), tools());
        let runner = match store {
            Some(store) => runner.with_app("shop").with_store(store),
            None => runner,
        };
        let run = || RunContext::new().with_user("u-7").with_session("s-1");
        let end = runner.run_with(run(), "Go.").end().await;
        let call = end.open[0].address().unwrap();
        runner.resume(run(), Answers::new().reject(call, "no")).answer().await.unwrap();
        let texts = results(&model);
        assert!(texts[2].contains("the skill `orders` is active and allows only `find`"), "{}", texts[2]);
    }
}

#[tokio::test]
async fn a_skill_that_is_gone_when_its_run_continues_allows_no_tool() {
    let model = ScriptedModel::new([
        load("orders"),
        Reply::call("refund", json!({ "id": 2 })),
        Reply::call("find", json!({ "id": 3 })),
        Reply::text("Done."),
    ]);
    let sessions = store();
    let runner = |skills| {
        let agent = Agent::builder("clerk", model.clone()).skills(skills).tools(tools());
        Runner::new(agent.build().unwrap()).with_store(sessions.clone())
    };
    let run = || RunContext::new().with_user("u-7").with_session("s-1");
    let before = runner(skills_of([skill("orders", Some("refund"))])).with_app("shop");
    let end = before.run_with(run(), "Go.").end().await;
    let address = end.open[0].address().unwrap();
    // As after a new release of the program, in another process.
    let after = runner(skills_of([])).with_app("shop");
    after.resume(run(), Answers::new().reject(address, "no")).answer().await.unwrap();
    let texts = results(&model);
    assert!(texts[2].contains("the skill `orders` is active and allows only no other tool"), "{}", texts[2]);
}

fn store() -> tool_session::SharedSessionStore {
    tool_session::SharedSessionStore::new(tool_session::InMemoryStore::new())
}

#[tokio::test]
async fn the_output_can_be_submitted_while_a_skill_is_active() {
    let skills = skills_of([skill("orders", Some(""))]);
    let replies = [
        load("orders"),
        Reply::call("find", json!({ "id": 1 })),
        Reply::call("submit_output", json!({ "output": 7 })),
    ];
    let (runner, model) = clerk(replies, skills, tools());
    let number: u32 = runner.with_output_type(OutputType::of::<u32>()).run("Go.").output().await.unwrap();
    assert_eq!(number, 7);
    assert!(results(&model)[1].contains("allows only no other tool"), "{}", results(&model)[1]);
}

#[tokio::test]
async fn the_skills_of_a_parent_do_not_narrow_an_agent_below_it_nor_the_other_way_round() {
    let inner = ScriptedModel::new([
        load("orders"),
        Reply::call("cancel", json!({ "id": 1 })),
        Reply::text("Found."),
    ]);
    let finder = Agent::builder("finder", inner.clone()).description("Finds.").tools(tools());
    let finder = finder.skills(skills_of([skill("orders", Some("find"))])).build().unwrap();
    let outer = Registry::builder().add(AgentTool::new(finder).unwrap()).tool::<cancel>().build().unwrap();
    let replies = [
        load("manage"),
        Reply::call("finder", json!({ "request": "Find it." })),
        Reply::call("cancel", json!({ "id": 2 })),
        Reply::text("Done."),
    ];
    let (runner, model) = clerk(replies, skills_of([skill("manage", Some("finder cancel"))]), outer);
    runner.run("Go.").answer().await.unwrap();
    assert!(results(&inner)[1].contains("the skill `orders` is active"), "{}", results(&inner)[1]);
    assert_eq!(results(&model)[1..], ["Found.", "2 is cancelled"]);
}

#[tokio::test]
async fn each_agent_of_a_sequence_has_its_own_active_skills() {
    let member = |name: &str, model: &ScriptedModel, skill| {
        let agent = Agent::builder(name, model.clone()).tools(tools());
        agent.skills(skills_of([skill])).build().unwrap()
    };
    let call = |tool: &str| Reply::call(tool, json!({ "id": 1 }));
    let one = ScriptedModel::new([load("a"), call("cancel"), Reply::text("One.")]);
    let two = ScriptedModel::new([call("cancel"), load("b"), call("find"), Reply::text("Two.")]);
    let agents =
        [member("one", &one, skill("a", Some("find"))), member("two", &two, skill("b", Some("cancel")))];
    let runner = Runner::new(Agent::sequence("both", agents).build().unwrap());
    assert!(runner.run("Go.").end().await.reason.is_success());
    assert!(results(&one)[1].contains("the skill `a` is active"), "{}", results(&one)[1]);
    let texts = results(&two);
    assert_eq!(texts[0], "1 is cancelled");
    assert!(texts.last().unwrap().contains("the skill `b` is active"), "{texts:?}");
}

#[tokio::test]
async fn the_rule_of_a_run_can_be_given_to_another_executor() {
    // The seam of runs that call the tools of their parent.
    let skills = skills_of([skill("orders", Some("find"))]);
    let model = ScriptedModel::new([load("orders"), Reply::text("Done.")]);
    let agent = Agent::builder("clerk", model).skills(skills).tools(tools()).build().unwrap();
    let mut stream = Runner::new(agent).run("Go.");
    let run = Arc::clone(stream.run());
    while stream.next().await.is_some() {}
    assert!(AgentSkills::of_run(&run).is_some());
    let executor = Executor::new(tools());
    let executor =
        executor.with_settings(&run, RunSettings::new().permission(SkillRule::of_run(&run))).unwrap();
    let call = |tool| ToolCall::new(tool, json!({ "id": 1 }));
    let outcomes = executor.batch(vec![call("find"), call("cancel")]).with_run(run).run().await;
    let is_error = |at: usize| outcomes[at].result().unwrap().is_error();
    assert_eq!((is_error(0), is_error(1)), (false, true));
}

#[tokio::test]
async fn the_tools_of_skills_are_never_hidden_and_keep_their_names() {
    /// Another tool of this name.
    #[tool(register = false)]
    fn skill_list() -> String {
        "forged".to_owned()
    }

    let toolbox = Toolbox::from_registry(&Registry::builder().tool::<skill_list>().build().unwrap());
    let executor = Executor::new(Registry::default());
    let (runner, model) = clerk(
        [Reply::call("skill_list", json!({})), Reply::text("Done.")],
        skills_of([skill("orders", None)]),
        (toolbox, executor),
    );
    let mut events = runner.run("Go.");
    let mut notices = Vec::new();
    while let Some(event) = events.next().await {
        if let tool_agent::AgentEventKind::Notice { text } = event.kind {
            notices.push(text);
        }
    }
    assert_eq!(results(&model), ["- `orders`: How to do orders."]);
    assert!(notices[0].contains("skill_list"), "{notices:?}");
    let tools = model.requests()[0].tools.clone();
    let run = RunContext::new();
    let hidden =
        Executor::new(tools).with_settings(&run, RunSettings::new().show(Visibility::all().only(["x"])));
    assert!(hidden.unwrap().tools().get("skill_load").is_some());
}

#[test]
fn entries_of_allowed_tools_are_read_or_refused() {
    let entries = |text: &str| AllowedTools::parse(text).map(|it| it.entries().to_vec());
    assert_eq!(
        entries("Read, Bash(git add:*)  mcp__x__*").unwrap(),
        ["Read", "Bash(git add:*)", "mcp__x__*"]
    );
    assert_eq!(entries("  ").unwrap(), [""; 0]);
    for wrong in ["Bash(git", "Bash)", "(git)", "a:b", "Bash(a) b(", "na me(x)y"] {
        assert!(entries(wrong).is_err(), "{wrong}");
    }
    assert!(entries(&"a ".repeat(257)).unwrap_err().to_string().contains("more than 256 entries"));
    let allows =
        |text: &str, tool: &str| AllowedTools::parse(text).unwrap().allows(tool, &json!({ "command": "x" }));
    assert!(allows("*", "any") && allows("mcp__x__*", "mcp__x__y") && allows("Bash(*)", "Bash"));
    assert!(!allows("Bash", "bash") && !allows("mcp__x__*", "mcp__y__y") && !allows("", "any"));
    assert!(!allows("bash(git:*)", "bash"));
    let git = AllowedTools::parse("bash(git:*)").unwrap();
    let git = |command: &str| git.allows("bash", &json!({ "command": command }));
    assert!(git("git") && git("git log") && !git("github") && !git("rm; git log"));
}

#[test]
fn allowed_tools_are_shown_up_to_a_number() {
    let shown = |count: usize| {
        let entries = (1..=count).map(|at| format!("t{at}"));
        AllowedTools::new(entries).unwrap().to_string()
    };
    let names = |count: usize| (1..=count).map(|at| format!("`t{at}`")).collect::<Vec<_>>().join(", ");
    assert_eq!(shown(0), "no other tool");
    assert_eq!(shown(1), "`t1`");
    assert_eq!(shown(40), names(40));
    assert_eq!(shown(41), format!("{} and 1 more", names(40)));
    assert_eq!(shown(256), format!("{} and 216 more", names(40)));
    let problem = AllowedTools::new((0..257).map(|at| format!("t{at}"))).unwrap_err().to_string();
    assert_eq!(problem, "`allowed-tools` has more than 256 entries; use patterns with `*`");
}

#[test]
fn entries_are_separated_by_blanks_and_commas_outside_of_parentheses() {
    for (text, expected) in [
        ("a,b", &["a", "b"][..]),
        (" a ,, b\t\nc ", &["a", "b", "c"]),
        ("a(b, c) d", &["a(b, c)", "d"]),
        ("a(b (c), d)", &["a(b (c), d)"]),
        ("a() b(*) c( )", &["a()", "b(*)", "c( )"]),
        ("a.b-c_d/e*", &["a.b-c_d/e*"]),
    ] {
        assert_eq!(AllowedTools::parse(text).unwrap().entries(), expected, "{text}");
    }
    let unbalanced =
        |text: &str| format!("a parenthesis of `allowed-tools` has no counterpart in `{text}`; close it");
    let unnamed = |entry: &str| {
        format!("`{entry}` of `allowed-tools` is no name of a tool; write one such as `read_file`")
    };
    for (text, problem) in [
        ("a(", unbalanced("a(")),
        ("a)", unbalanced("a)")),
        ("a (b", unbalanced("a (b")),
        ("a(b)c", unbalanced("a(b)c")),
        ("(b)", unnamed("(b)")),
        ("a b:c", unnamed("b:c")),
    ] {
        assert_eq!(AllowedTools::parse(text).unwrap_err().to_string(), problem, "{text}");
    }
    // A pattern of nothing or of everything is none.
    let allows = |text: &str, command: &str| {
        AllowedTools::parse(text).unwrap().allows("bash", &json!({ "command": command }))
    };
    for (text, command, expected) in [
        ("bash()", "ls", true),
        ("bash( * )", "ls", true),
        ("bash(ls)", "ls", true),
        ("bash(ls)", "ls -l", false),
        ("bash(ls:*)", "ls -l", true),
        ("bash(ls:*)", "lsof", false),
        ("bash(ls*)", "lsof", true),
        ("other", "ls", false),
    ] {
        assert_eq!(allows(text, command), expected, "{text} {command}");
    }
}
