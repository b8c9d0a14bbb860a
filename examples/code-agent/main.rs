//! A coding agent for the terminal, out of ready parts: files and a shell below the present folder, a task list that is enforced, an
//! explorer that only reads, a search for the tools that few tasks need, questions before each change and command, and sessions that a
//! later process continues.
//!
//! ```sh
//! ANTHROPIC_API_KEY=.. cargo run -p code-agent --features program -- chat --model anthropic:claude-sonnet-4-5 --session greeting
//! ```
//!
//! Without a key, scripts take the place of the model; tools, questions and the session are real:
//!
//! ```sh
//! cd "$(mktemp -d)" && cp REPOSITORY/examples/code-agent/project/* .
//! code-agent chat --script REPOSITORY/examples/code-agent/scripts/begin.jsonl --session greeting \
//!     --prompt 'The greeting has no name. Fix it, and run the tests.'     # Ctrl-C at the second question
//! code-agent chat --script REPOSITORY/examples/code-agent/scripts/continue.jsonl --session greeting --prompt 'Go on, and add NEWS.md.'
//! ```

mod todo_view;

use std::process::ExitCode;

use tool_agent::{Agent, AgentBuilder, AgentPart, AgentTool, Limits, cli::Chat, model::SharedModel};
use tool_builtins::{FileTools, ShellTools, TodoTools, ToolSearch, conservative, todo::TodoEnforcer};
use tool_cli::Cli;
use tool_runtime::{Executor, Registry, policy::Rule};

use crate::todo_view::TodoView;

const INSTRUCTION: &str = "You are a coding agent in the folder of a project. Ask the explorer where something is before you read files \
yourself. Read a file before you change it, make the smallest change that does what the user asks, and run the tests after it. `search_tools` \
finds more tools, such as those for new files, notebooks and background tasks. A person approves changes and commands; if one is rejected, ask what to do instead.";

const EXPLORER_INSTRUCTION: &str = "You look for something in the files of a project, and change nothing. Answer with paths and line \
numbers, and the lines themselves if they are few.";

/// The tools of each request; the model finds the others by `search_tools`.
const DAILY_TOOLS: [&str; 8] =
    ["bash", "edit_file", "explorer", "glob", "grep", "read_file", "todo_declare_blocker", "todo_write"];

/// The tools of the explorer.
const READING_TOOLS: [&str; 4] = ["read_file", "grep", "list_files", "glob"];

fn main() -> ExitCode {
    let (files, shell) = match (FileTools::new("."), ShellTools::new(".")) {
        (Ok(files), Ok(shell)) => (files, shell),
        (Err(error), _) | (_, Err(error)) => {
            eprintln!("code-agent: the present folder cannot be used: {error}");
            return ExitCode::FAILURE;
        }
    };
    let explored = files.clone();
    let search = ToolSearch::new().always(DAILY_TOOLS);
    let search_of_agent = search.clone();
    let chat = Chat::new().configure(move |agent| configure(agent, &explored, &search_of_agent));
    Cli::new()
        .about("Changes and tests the project in the present folder, with a model.")
        .tools(move |tools| {
            let tools = tools.toolset(files.clone()).toolset(shell.clone());
            tools.add(search.search_tools()).add(search.call_tool())
        })
        // Reading runs without a question, but for what looks like a secret; the rest asks.
        .executor(|executor| executor.permission(conservative().rules([Rule::allow("explorer")])))
        .command(chat)
        .main()
}

/// Adds the task list, the explorer and the search for tools to the agent of a conversation.
fn configure(agent: AgentBuilder, files: &FileTools, search: &ToolSearch) -> anyhow::Result<AgentBuilder> {
    let explorer = AgentTool::new(explorer(agent.model().clone(), files.clone())?)?;
    let todos = TodoTools::new();
    let view = TodoView::new(todos.clone());
    Ok(agent
        .instruction(INSTRUCTION)
        .with(TodoEnforcer::new().tools(todos))
        .with(AgentPart::new("explorer").tools(Registry::builder().add(explorer)))
        .hook(search.clone())
        .hook(view))
}

/// Returns the agent that only reads. A question of it is answered with no, since no one approves its calls.
fn explorer(model: SharedModel, files: FileTools) -> anyhow::Result<Agent> {
    let (tools, _) = Registry::builder().toolset(files).build()?.resolve(READING_TOOLS);
    let explorer = Agent::builder("explorer", model)
        .description("Finds something in the project, and says where it is.")
        .instruction(EXPLORER_INSTRUCTION)
        .tools(Executor::builder(tools).permission(conservative()).build()?)
        .limits(Limits { rounds: Some(20), ..Limits::default() });
    Ok(explorer.build()?)
}
