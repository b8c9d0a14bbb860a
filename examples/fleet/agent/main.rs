//! An agent with the tools of a fleet, whose approvals outlive its process: one process asks, another one takes the answer, and the payment is
//! made once, by a worker.
//!
//! ```sh
//! mkdir -m 700 pay
//! cargo run --bin fleet-payments -- fleet key --program-key pay/program.key --save pay/payments.key
//! cargo run --bin fleet-payments -- work --nats nats://127.0.0.1:4222 --key pay/payments.key     # in another terminal
//! cargo run --bin fleet-agent -- nats://127.0.0.1:4222 pay message "pay the baker 12"
//! cargo run --bin fleet-agent -- nats://127.0.0.1:4222 pay approve
//! ```
//!
//! The folder has the key of the program, and a database with the session and the calls that wait. `reject` refuses them. The model is a
//! script; `MODEL=anthropic:claude-sonnet-4-5` and the key of the provider ask a model.

mod clerk;

use std::{env, path::Path};

use anyhow::bail;
use tool_agent::{Agent, AgentStream, Answers, End, EndReason, HttpModel, Runner, model::SharedModel};
use tool_fleet::{FleetToolSet, NatsTransport};
use tool_runtime::{
    Executor, RunContext, Toolbox,
    context::ConfirmationAnswer,
    open_calls::{CallRef, OpenCall, OpenCallStore, OpenFilter, ProgramKey},
    policy::Escape,
    prelude::*,
};
use tool_session::SqliteStore;

use self::clerk::Clerk;

const APP: &str = "fleet-agent";
const USER: &str = "ada";
const SESSION: &str = "s-1";
const POOL: &str = "payments";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [url, folder, order @ ..] = &arguments[..] else { return usage() };
    let folder = Path::new(folder);
    // Makes the folder, which no other user of the machine can read.
    let store = SqliteStore::open(folder.join("sessions.sqlite")).await?;
    let key = ProgramKey::load_or_create(folder.join("program.key"))?;
    let toolbox = Toolbox::new();
    // Without a worker, the list is an error.
    toolbox.strict_listing(true);
    let transport = NatsTransport::connect(url).await?;
    toolbox.add_toolset(FleetToolSet::connect(transport, key.pool_key(POOL)).await?)?;
    let tools = toolbox.snapshot(&RunContext::new()).await?.into_tools();
    let executor = Executor::builder(tools).open_calls(store.clone()).program_key(key.clone()).build()?;

    let model: SharedModel = match env::var("MODEL") {
        Ok(name) => HttpModel::from_text(&name)?.into(),
        Err(_) => Clerk.into(),
    };
    let instruction = "You are an accountant. Pay bills by your tools.";
    let agent =
        Agent::builder("accountant", model).instruction(instruction).tools(executor.clone()).build()?;
    let runner = Runner::new(agent).with_app(APP).with_store(store.clone()).with_program_key(key);
    let run = RunContext::new().with_app(APP).with_user(USER).with_session(SESSION);
    let events = match order {
        ["message", text] => runner.run_with(run, (*text).to_owned()),
        ["approve"] => runner.resume(run, answers(&executor, &store, true).await?),
        ["reject"] => runner.resume(run, answers(&executor, &store, false).await?),
        _ => return usage(),
    };
    let shown = show_end(events, &executor, &store).await;
    store.close().await;
    shown
}

fn usage() -> anyhow::Result<()> {
    bail!("usage: fleet-agent NATS_URL FOLDER message TEXT | approve | reject")
}

/// Returns the questions of the session that wait for an answer.
async fn questions(executor: &Executor, store: &SqliteStore) -> anyhow::Result<Vec<OpenCall>> {
    let mut filter = OpenFilter::default();
    filter.app = Some(APP.to_owned());
    filter.user = Some(USER.to_owned());
    filter.session = Some(SESSION.to_owned());
    let records = store.list(&filter).await?;
    // A record that has expired, or that another program wrote, waits for no answer.
    Ok(records.iter().filter_map(|record| executor.open_call(record).ok()).collect())
}

/// Answers each question alike. An answer is bound to the question, so that no other call runs by it.
async fn answers(executor: &Executor, store: &SqliteStore, confirmed: bool) -> anyhow::Result<Answers> {
    let mut answers = Answers::new();
    for open in questions(executor, store).await? {
        if let OpenCall::Confirmation(_, request) = &open {
            let answer = ConfirmationAnswer { confirmed, payload: Value::Null };
            answers = answers.decide(CallRef::from(&**request), answer);
        }
    }
    Ok(answers)
}

/// Prints the agent's text, or the questions for which it waits.
async fn show_end(events: AgentStream, executor: &Executor, store: &SqliteStore) -> anyhow::Result<()> {
    let End { text, reason, .. } = events.end().await;
    match reason {
        EndReason::OpenCalls => {
            for open in questions(executor, store).await? {
                let call = open.call();
                // A model chose both: characters that would show something else are escaped.
                let (name, arguments) =
                    (Escape::LINE.text(&call.name), Escape::LINE.text(call.arguments.as_str()));
                println!("waiting for an answer: {name} {arguments}");
            }
        }
        reason if reason.is_success() => println!("{}", Escape::LINES.text(&text)),
        reason => bail!("the run failed: {reason}"),
    }
    Ok(())
}
