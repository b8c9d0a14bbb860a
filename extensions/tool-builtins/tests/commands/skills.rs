//! Skills with scripts, which an agent runs by `run_code`.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use tool_agent::{
    Agent, Runner, ScriptedModel,
    model::Reply,
    skills::{AgentSkills, AllowedTools, CodeExecutor as _, InMemorySkills, Skill},
};
use tool_builtins::CodeTools;
use tool_runtime::{
    Executor,
    policy::{Approval, ApprovalRequest},
    prelude::*,
};

use super::bubblewrap;

/// An agent with one skill, `report`, whose script has `script` as its text, and what its model received.
struct SkilledAgent {
    model: ScriptedModel,
    agent: Agent,
    /// The tools about which a person was asked.
    questions: Arc<Mutex<Vec<String>>>,
}

impl SkilledAgent {
    /// Creates an agent that loads the skill, reads its script and runs it.
    fn new(code: CodeTools, script: &str, allowed: Option<&str>, approval: Approval) -> Self {
        let skill = Skill::new("report", "Makes the report.", "Run `scripts/report.sh`.").unwrap();
        let skill = match allowed {
            Some(allowed) => skill.with_allowed_tools(AllowedTools::parse(allowed).unwrap()),
            None => skill,
        };
        let store = InMemorySkills::new([skill]).unwrap();
        let store = store.with_file("report", "scripts/report.sh", script).unwrap();
        let model = ScriptedModel::new([
            Reply::call("skill_load", json!({ "name": "report" })),
            Reply::call("skill_read", json!({ "name": "report", "path": "scripts/report.sh" })),
            Reply::call("run_code", json!({ "language": "bash", "code": script })),
            Reply::text("Done."),
        ]);
        let questions = Arc::new(Mutex::new(Vec::new()));
        let asked = Arc::clone(&questions);
        let approve = move |request: &ApprovalRequest| {
            asked.lock().unwrap().push(request.call.name.to_string());
            approval.clone()
        };
        let tools = Registry::builder().toolset(code.clone()).build().unwrap();
        let agent = Agent::builder("clerk", model.clone())
            .tools(Executor::builder(tools).approver(approve).build().unwrap())
            .skills(AgentSkills::new(store).with_code_executor(code))
            .build()
            .unwrap();
        Self { model, agent, questions }
    }

    /// Runs the agent; returns the results of the three calls.
    async fn results(&self) -> Vec<String> {
        assert_eq!(Runner::new(self.agent.clone()).run("The report.").answer().await.unwrap(), "Done.");
        let requests = self.model.requests();
        let messages = &requests.last().unwrap().messages;
        messages.iter().flat_map(|it| it.tool_results()).map(|it| it.text().into_owned()).collect()
    }
}

/// The tools with each mechanism, and a sandbox that is required.
fn code_of_each_mechanism() -> Vec<CodeTools> {
    let programs = [None, bubblewrap()];
    let count = if programs[1].is_some() { 2 } else { 1 };
    programs.into_iter().take(count).map(|program| CodeTools::new().unwrap().bubblewrap(program)).collect()
}

#[tokio::test]
async fn an_agent_runs_the_script_of_a_skill_in_the_sandbox() {
    for code in code_of_each_mechanism() {
        let script = "echo $((6 * 7)) | tee sum.txt";
        let agent = SkilledAgent::new(code, script, None, Approval::Approved);
        let results = agent.results().await;
        // Q30: the agent has a tool for the script.
        assert!(results[0].contains("- scripts/report.sh"), "{}", results[0]);
        assert!(!results[0].contains("Warning"), "{}", results[0]); // Q30
        assert_eq!(results[1], script);
        assert_eq!(results[2], "42\n[sum.txt, 3 bytes]\n42\n");
        assert_eq!(*agent.questions.lock().unwrap(), ["run_code"]);
    }
}

#[tokio::test]
async fn a_skill_widens_neither_the_sandbox_nor_the_approval_of_its_script() {
    let folder = tempfile::tempdir().unwrap();
    let (secret, mark) = (folder.path().join("secret.txt"), folder.path().join("mark.txt"));
    fs::write(&secret, "the secret").unwrap();
    let script = format!(
        "cat {}; echo x > {}; exec 3<>/dev/tcp/127.0.0.1/1 || echo no network",
        secret.display(),
        mark.display()
    );
    // Also one that claims all tools.
    for allowed in [None, Some("*"), Some("run_code bash write_file")] {
        for code in code_of_each_mechanism() {
            let agent = SkilledAgent::new(code.clone(), &script, allowed, Approval::Approved);
            let result = agent.results().await.remove(2);
            assert!(result.contains("no network"), "{allowed:?}: {result}");
            assert!(!result.contains("the secret"), "{allowed:?}: {result}");
            assert!(!mark.exists(), "{allowed:?}: {result}");

            let agent =
                SkilledAgent::new(code, "echo ran", allowed, Approval::Rejected("not now".to_owned()));
            let result = agent.results().await.remove(2);
            assert!(result.contains("not now") && !result.contains("ran\n"), "{allowed:?}: {result}");
            assert_eq!(*agent.questions.lock().unwrap(), ["run_code"]);
        }
    }
}

#[tokio::test]
async fn a_skill_that_does_not_allow_the_tool_has_a_warning_and_runs_nothing() {
    let code = CodeTools::new().unwrap();
    let agent = SkilledAgent::new(code, "echo ran", Some("grep"), Approval::Approved);
    let results = agent.results().await;
    assert!(
        results[0].contains("scripts that no tool of this agent runs: `scripts/report.sh`"),
        "{results:?}"
    );
    assert!(!results[2].contains("ran\n") && agent.questions.lock().unwrap().is_empty(), "{results:?}");
}

#[test]
fn scripts_of_installed_languages_are_run_by_the_ends_of_their_names() {
    let code = CodeTools::new().unwrap();
    assert_eq!(code.tool(), "run_code");
    for (path, program) in [
        ("scripts/a.sh", "bash"),
        ("a.bash", "bash"),
        ("a.b.py", "python3"),
        ("a.js", "node"),
        ("a.cjs", "node"),
    ] {
        let is_installed = ["/usr/bin", "/bin", "/usr/local/bin"]
            .iter()
            .any(|folder| std::path::Path::new(folder).join(program).exists());
        assert_eq!(code.runs(path), is_installed, "{path}");
    }
    for path in ["", "sh", ".sh", "a.rb", "a.ts", "a.mjs", "a.PY", "sh/a", "a.sh\0", "a.sh/b.txt"] {
        assert!(!code.runs(path), "{path:?}");
    }
}
