//! The skills that a model chooses for an agent, inside a boundary.

use tool_agent::{
    AgentKnowledge, DynamicAgentBuilder,
    knowledge::MemoryKnowledge,
    skills::{AgentSkills, AllowedTools, CodeExecutor, InMemorySkills, Skill},
};
use tool_session::{InMemoryStore, SharedMemory};

use super::*;

/// The tool `run_code`, which runs Python.
struct Python;

impl CodeExecutor for Python {
    fn tool(&self) -> &str {
        "run_code"
    }

    fn runs(&self, path: &str) -> bool {
        path.ends_with(".py")
    }
}

/// The skills `look`, which allows one tool, and `fill`, which has a script.
fn skills() -> AgentSkills {
    let look = Skill::new("look", "How to look.", "Look it up.").unwrap();
    let look = look.with_allowed_tools(AllowedTools::parse("look_up shell").unwrap());
    let fill = Skill::new("fill", "How to fill a form.", "Run the script.").unwrap();
    let store = InMemorySkills::new([look, fill]).unwrap();
    AgentSkills::new(store.with_file("fill", "fill.py", "print()").unwrap()).with_code_executor(Python)
}

fn builder(child: &ScriptedModel) -> DynamicAgentBuilder {
    let template = Agent::builder("helper", child.clone()).build().unwrap();
    DynamicAgentTool::builder(template).show(RequestField::Skills)
}

/// Runs a clerk with [`skills`] that starts an agent with these replies. Returns the clerk and the result of its call.
async fn start_agent(arguments: Value, replies: impl IntoIterator<Item = Reply>) -> (Clerk, String) {
    let child = ScriptedModel::new(replies);
    let clerk = Clerk::with_tool(builder(&child).build().unwrap(), child, arguments);
    let text = result_with_skills(&clerk, skills()).await;
    (clerk, text)
}

/// Runs a clerk with skills, and returns the result of its call.
async fn result_with_skills(clerk: &Clerk, skills: AgentSkills) -> String {
    let agent = clerk.agent(Executor::new(clerk.tools.clone())).skills(skills).build().unwrap();
    let end = Runner::new(agent).run("Help me.").end().await;
    assert_eq!(end.text, "Done.", "{end}");
    clerk.result().text().into_owned()
}

/// Returns the names of the skills in the instruction of the agent.
fn offered_skills(clerk: &Clerk) -> Vec<&'static str> {
    let instruction = clerk.child.requests()[0].instruction.clone();
    ["fill", "look"].into_iter().filter(|name| instruction.contains(&format!("- `{name}`:"))).collect()
}

// Q29 Q30
#[tokio::test]
async fn skills_are_all_for_none_given_none_for_an_empty_list_and_exactly_those_that_are_named() {
    for (arguments, offered) in [
        (json!({ "request": "Go." }), vec!["fill", "look"]),
        (json!({ "request": "Go.", "skills": ["look"] }), vec!["look"]),
        (json!({ "request": "Go.", "skills": [] }), vec![]),
    ] {
        let (clerk, text) = start_agent(arguments, [Reply::text("Answer.")]).await;
        assert_eq!((offered_skills(&clerk), text.as_str()), (offered.clone(), "Answer."));
        let has_tools = clerk.offered().iter().any(|name| name == "skill_load");
        assert_eq!(has_tools, !offered.is_empty());
    }
}

// Q30
#[tokio::test]
async fn an_unknown_skill_is_an_error_before_any_run_and_a_script_that_no_tool_runs_is_a_warning() {
    let (clerk, text) = start_agent(json!({ "request": "Go.", "skills": ["look", "pay"] }), []).await;
    assert_eq!(text, "there is no skill `pay`; the skills are `fill`, `look`");
    assert!(clerk.child.requests().is_empty());

    let warning = "Warning: `fill`: the skill has scripts that no tool of this agent runs: `fill.py`. Read them as text, and do not claim \
        that they ran.\nAnswer.";
    let arguments = |tools: &[&str]| json!({ "request": "Go.", "skills": ["fill"], "tools": tools });
    let (_, text) = start_agent(arguments(&["look_up"]), [Reply::text("Answer.")]).await;
    assert_eq!(text, warning);
    // The tool of the executor is among those of the agent, or the model did not choose it.
    for (tools, expected) in [(vec!["run_code"], "Answer."), (vec!["look_up"], warning)] {
        let child = ScriptedModel::new([Reply::text("Answer.")]);
        let tool = builder(&child).build().unwrap();
        let mut clerk = Clerk::with_tool(tool, child, arguments(&tools));
        let added = Registry::builder().add(plain_tool("run_code")).build().unwrap();
        clerk.tools = clerk.tools.with_tools_of(&added).unwrap();
        assert_eq!(result_with_skills(&clerk, skills()).await, expected);
    }
}

// Q30
#[tokio::test]
async fn a_skill_narrows_the_tools_of_the_agent_and_never_widens_them() {
    let calls = || {
        let call =
            |id: &str, name: &str, arguments: Value| ToolCall::new(name, arguments).with_id(id.to_owned());
        [
            Reply::call("skill_load", json!({ "name": "look" })),
            Reply::calls([
                call("k1", "erase", json!({ "path": "a.txt" })),
                call("k2", "look_up", json!({ "name": "Oslo" })),
                call("k3", "shell", json!({})),
            ]),
            Reply::text("Answer."),
        ]
    };
    let (clerk, _) = start_agent(json!({ "request": "Go.", "skills": ["look"] }), calls()).await;
    let results = clerk.child_results();
    assert!(results[1].contains("the skill `look` is active and allows only"), "{results:?}");
    assert_eq!((results[2].as_str(), results[3].as_str()), ("Oslo: 717,710", "Tool not found: shell"));
    assert!(clerk.log.lock().unwrap().is_empty());
    // Without the tool, its name in `allowed-tools` brings none.
    let arguments = json!({ "request": "Go.", "skills": ["look"], "tools": ["erase"] });
    let (clerk, _) = start_agent(arguments, calls()).await;
    assert_eq!(clerk.child_results()[2], "Tool not found: look_up");
}

// Q27 Q29
#[tokio::test]
async fn skills_of_the_program_are_the_boundary_and_a_field_that_is_not_shown_has_no_effect() {
    let template = |child: &ScriptedModel| Agent::builder("helper", child.clone()).build().unwrap();
    let arguments = json!({ "request": "Go.", "skills": ["fill"] });
    let child = ScriptedModel::new([Reply::text("Answer.")]);
    let tool = DynamicAgentTool::builder(template(&child)).build().unwrap();
    assert!(tool.definition().input_schema().to_value()["properties"]["skills"].is_null());
    let clerk = Clerk::with_tool(tool, child, arguments.clone());
    assert_eq!(result_with_skills(&clerk, skills()).await, "Answer.");
    assert!(offered_skills(&clerk).is_empty());
    // All skills of the boundary.
    let child = ScriptedModel::new([Reply::text("Answer.")]);
    let tool = DynamicAgentTool::builder(template(&child)).skill_boundary(skills().only(["look"]));
    let clerk = Clerk::with_tool(tool.build().unwrap(), child, arguments.clone());
    clerk.run(Executor::new(clerk.tools.clone())).await;
    assert_eq!(offered_skills(&clerk), ["look"]);
    // A name of the run above that is not inside the boundary.
    let child = ScriptedModel::new([]);
    let tool = builder(&child).skill_boundary(skills().only(["look"])).build().unwrap();
    let clerk = Clerk::with_tool(tool, child, arguments);
    assert_eq!(result_with_skills(&clerk, skills()).await, "there is no skill `fill`; the skills are `look`");
}

// Q30
#[tokio::test]
async fn an_agent_of_a_run_without_skills_has_none_and_the_rule_above_applies_to_its_calls() {
    let child = ScriptedModel::new([]);
    let tool = builder(&child).build().unwrap();
    let clerk = Clerk::with_tool(tool, child, json!({ "request": "Go.", "skills": ["look"] }));
    let result = clerk.run(Executor::new(clerk.tools.clone())).await;
    assert_eq!(result.text(), "there is no skill `look`; this agent has none");

    // The clerk loads a skill that allows nothing but to start an agent.
    let strict = Skill::new("strict", "How to be strict.", "Ask.").unwrap();
    let strict = strict.with_allowed_tools(AllowedTools::parse("dynamic_agent").unwrap());
    let erase = Reply::call("erase", json!({ "path": "a.txt" }));
    let child = ScriptedModel::new([erase, Reply::text("Answer.")]);
    let mut clerk = Clerk::with_tool(builder(&child).build().unwrap(), child, json!({}));
    clerk.model = ScriptedModel::new([
        Reply::call("skill_load", json!({ "name": "strict" })),
        Reply::call("dynamic_agent", json!({ "request": "Erase it.", "skills": [] })),
        Reply::text("Done."),
    ]);
    let skills = AgentSkills::new(InMemorySkills::new([strict]).unwrap());
    let agent = clerk.agent(Executor::new(clerk.tools.clone())).skills(skills).build().unwrap();
    assert_eq!(Runner::new(agent).run("Help me.").end().await.text, "Done.");
    let results = clerk.child_results();
    assert!(
        results[0].contains("the skill `strict` is active and allows only `dynamic_agent`"),
        "{results:?}"
    );
    assert!(clerk.log.lock().unwrap().is_empty());
}

// Q30
#[tokio::test]
async fn the_skills_of_the_template_are_replaced_also_by_those_of_a_run_without_any() {
    for arguments in [json!({ "request": "Go.", "skills": [] }), json!({ "request": "Go." })] {
        let child = ScriptedModel::new([Reply::text("Answer.")]);
        let template = Agent::builder("helper", child.clone()).skills(skills()).build().unwrap();
        let tool = DynamicAgentTool::builder(template).show(RequestField::Skills).build().unwrap();
        let clerk = Clerk::with_tool(tool, child, arguments);
        assert_eq!(clerk.run(Executor::new(clerk.tools.clone())).await.text(), "Answer.");
        assert!(offered_skills(&clerk).is_empty());
        assert!(!clerk.offered().iter().any(|name| name.starts_with("skill_")), "{:?}", clerk.offered());
    }
}

#[tokio::test]
async fn the_members_of_a_template_keep_the_other_tools_of_their_settings_when_skills_are_chosen() {
    for (names, offers_skills) in [(vec!["look"], true), (vec![], false)] {
        let child = ScriptedModel::new([Reply::text("Answer.")]);
        let memory = SharedMemory::new(InMemoryStore::new());
        let knowledge = AgentKnowledge::new(MemoryKnowledge::new(memory));
        let member = Agent::builder("helper", child.clone()).knowledge(knowledge).build().unwrap();
        let template = Agent::sequence("team", [member]).build().unwrap();
        let tool = DynamicAgentTool::builder(template).show(RequestField::Skills).build().unwrap();
        let clerk = Clerk::with_tool(tool, child, json!({ "request": "Go.", "skills": names }));
        assert_eq!(result_with_skills(&clerk, skills()).await, "Answer.");
        let has = |name: &str| clerk.offered().iter().any(|offered| offered == name);
        assert_eq!(
            (has("knowledge_search"), has("skill_load")),
            (true, offers_skills),
            "{:?}",
            clerk.offered()
        );
    }
}
