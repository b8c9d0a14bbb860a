//! A researcher: it searches the web and the notes of the program, and calculates by a program in a sandbox, which a person approves.
//!
//! ```sh
//! cargo run -p code-agent --features program --bin researcher
//! SEARXNG=https://search.example.com MODEL=anthropic:claude-sonnet-4-5 ANTHROPIC_API_KEY=.. \
//!     cargo run -p code-agent --features program --bin researcher -- 'How fast is the night train from Paris to Rome?'
//! ```
//!
//! Without the variables, the model is a script, and the web is a search engine of this process: the searches and the program are real.

mod engine;
mod notes;

use std::{
    env,
    io::{self, BufRead, Write},
};

use agent_examples::{model, show};
use tool_agent::{Agent, AgentKnowledge, Runner, model::Reply};
use tool_builtins::{CodeTools, WebTools, web::search::SearXng};
use tool_runtime::{
    Executor,
    policy::{Approval, ApprovalRequest, Escape},
    prelude::*,
};

use self::{engine::LocalEngine, notes::Notes};

const INSTRUCTION: &str = "Answer with what your tools return, and name the sources. Look into the notes first, then search the web. \
Calculate with `run_code`, never in your head.";

const QUESTION: &str = "How fast is the night train from Paris to Rome, on average?";

/// The replies of the model without a key.
fn scripted_replies() -> [Reply; 4] {
    let code = "echo $((1446 * 60 / (14 * 60 + 5))) km/h";
    [
        Reply::call("knowledge_search", json!({ "query": "night train Paris Rome" })),
        Reply::call("web_search", json!({ "query": "length of the railway from Paris to Rome" })),
        Reply::call("run_code", json!({ "language": "bash", "code": code })),
        Reply::text("About 102 km/h: 1,446 km (rails.example/paris-rome) in 14 h 5 min (timetable)."),
    ]
}

/// Asks the person at the terminal whether a program may run; no answer is a no.
fn ask_person(request: &ApprovalRequest) -> Approval {
    let question = format!("{} {}", request.call.name, request.call.arguments.as_str());
    print!("{} [y/N] ", Escape::LINES.text(&question));
    let mut answer = String::new();
    let read = io::stdout().flush().and_then(|()| io::stdin().lock().read_line(&mut answer));
    println!();
    match (read, answer.trim()) {
        (Ok(_), "y" | "yes") => Approval::Approved,
        _ => Approval::Rejected("rejected by the user".to_owned()),
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // Ends with this function.
    let local = LocalEngine::start().await?;
    let engine = SearXng::new(env::var("SEARXNG").unwrap_or_else(|_| local.url()));
    let tools = Registry::builder()
        .toolset(WebTools::builder().search(engine).build()?)
        .toolset(CodeTools::new()?)
        .build()?;
    let executor = Executor::builder(tools).approver(|request: &ApprovalRequest| {
        // A person takes time, in which other tasks go on.
        tokio::task::block_in_place(|| ask_person(request))
    });
    let agent = Agent::builder("researcher", model(scripted_replies())?)
        .instruction(INSTRUCTION)
        .tools(executor.build()?)
        .knowledge(AgentKnowledge::new(Notes::of_the_program()))
        .build()?;

    let question = env::args().nth(1).unwrap_or_else(|| QUESTION.to_owned());
    println!("{}\n", Escape::LINES.text(&question));
    show(Runner::new(agent).run(question)).await?;
    Ok(())
}
