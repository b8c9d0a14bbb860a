//! An approval below a call, over two processes: one asks and ends, and another one takes the answer.
//!
//! ```sh
//! cargo run --bin payment -- /tmp/payment            # ends with a question
//! cargo run --bin payment -- /tmp/payment approve    # or `reject`, in another process
//! ```
//!
//! A manager asks an archivist for a bill, and an accountant to pay it. The tool `pay` of the accountant needs an approval: both runs end, and the
//! answer continues both. The folder has one database with the session and the call that waits, the key of the program, and the payments.

use std::{
    env,
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use agent_examples::{model, show};
use anyhow::Context as _;
use tool_agent::{Agent, AgentTool, Answers, End, Runner, model::Reply};
use tool_runtime::{
    CallOutcome,
    open_calls::{OpenCallStore, OpenFilter, OpenKind, ProgramKey},
    policy::Escape,
    prelude::*,
};
use tool_session::SqliteStore;

/// Returns a bill.
#[tool(read_only)]
fn bill(from: String) -> Result<String, ToolError> {
    match from.as_str() {
        "the baker" => Ok("12 EUR for bread".to_owned()),
        _ => Err(ToolError::not_found(format!("there is no bill from {from}"))),
    }
}

/// The file with the payments.
struct Payments(PathBuf);

/// Pays a bill.
#[tool(destructive, confirm)]
fn pay(to: String, amount: u32, payments: &Payments) -> anyhow::Result<String> {
    let mut file = OpenOptions::new().create(true).append(true).open(&payments.0)?;
    writeln!(file, "{amount} EUR to {to:?}")?;
    Ok(format!("paid {amount} EUR to {to}"))
}

/// The parts that all processes share.
struct Office {
    folder: PathBuf,
    store: SqliteStore,
    key: ProgramKey,
}

impl Office {
    async fn open(folder: &Path) -> anyhow::Result<Self> {
        // Makes the folder, which no other user of the machine can read.
        let store = SqliteStore::open(folder.join("office.sqlite")).await?;
        let key = ProgramKey::load_or_create(folder.join("program.key"))?;
        Ok(Self { folder: folder.to_owned(), store, key })
    }

    fn payments(&self) -> PathBuf {
        self.folder.join("payments.txt")
    }

    /// Creates the agents. Their scripts go on after the question if `is_answered`.
    fn runner(&self, is_answered: bool) -> anyhow::Result<Runner> {
        let script = |replies: Vec<Reply>, before: usize| {
            model(replies.into_iter().skip(if is_answered { before } else { 0 }))
        };
        let replies =
            vec![Reply::call("bill", json!({ "from": "the baker" })), Reply::text("12 EUR, for bread.")];
        let archivist = Agent::builder("archivist", script(replies, 2)?)
            .description("Finds bills.")
            .tools(Registry::builder().tool::<bill>().build()?)
            .build()?;

        let replies = vec![
            Reply::call("pay", json!({ "to": "the baker", "amount": 12 })),
            Reply::text("The payment has its answer."),
        ];
        let tools = Registry::builder().tool::<pay>().provide(Payments(self.payments())).build()?;
        let accountant = Agent::builder("accountant", script(replies, 1)?)
            .description("Pays bills.")
            .tools(self.executor(tools)?)
            .build()?;

        let ask = |agent: &str, request: &str| Reply::call(agent, json!({ "request": request }));
        let replies = vec![
            ask("archivist", "Which bill is there from the baker?"),
            ask("accountant", "Pay 12 EUR to the baker."),
            Reply::text("That is all for the baker."),
        ];
        let tools =
            Registry::builder().add(AgentTool::new(archivist)?).add(AgentTool::new(accountant)?).build()?;
        let manager = Agent::builder("manager", script(replies, 2)?).tools(self.executor(tools)?).build()?;
        Ok(Runner::new(manager)
            .with_app("office")
            .with_store(self.store.clone())
            .with_program_key(self.key.clone()))
    }

    /// Returns the executor of an agent, whose open calls are in the store.
    fn executor(&self, tools: Registry) -> anyhow::Result<Executor> {
        let executor = Executor::builder(tools).open_calls(self.store.clone());
        Ok(executor.program_key(self.key.clone()).build()?)
    }

    /// Returns the decision on each call that waits, in whichever process it was made.
    async fn answers(&self, is_approved: bool) -> anyhow::Result<Answers> {
        let mut filter = OpenFilter::default();
        filter.app = Some("office".to_owned());
        let mut answers = Answers::new();
        for record in self.store.list(&filter).await? {
            // The call of the accountant waits, too, but for its run.
            if record.kind != OpenKind::Confirmation {
                continue;
            }
            answers = match is_approved {
                true => answers.approve(record.address),
                false => answers.reject(record.address, "not this month"),
            };
        }
        Ok(answers)
    }
}

/// Prints the calls that wait, each with the agents above it.
fn print_questions(end: &End) {
    for (outcome, path) in end.open.iter().zip(&end.paths) {
        let CallOutcome::Pending(pending) = outcome else { continue };
        let agents: Vec<_> = path.iter().map(|above| &*above.agent).collect();
        let arguments = Escape::LINE.text(pending.call.arguments.as_str());
        println!("{} asks: {} {arguments}", agents.join(" > "), pending.call.name);
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = env::args().skip(1);
    let folder = PathBuf::from(arguments.next().context("the first argument is a folder")?);
    let decision = arguments.next();
    let office = Office::open(&folder).await?;
    let run = RunContext::new().with_user("ada").with_session("s-1");
    let events = match decision.as_deref() {
        None => office.runner(false)?.run_with(run, "Pay the bill of the baker."),
        Some(decision @ ("approve" | "reject")) => {
            let answers = office.answers(decision == "approve").await?;
            anyhow::ensure!(!answers.is_empty(), "no call waits for an answer");
            office.runner(true)?.resume(run, answers)
        }
        Some(other) => anyhow::bail!("unknown decision `{other}`; write `approve` or `reject`"),
    };
    let end = show(events).await?;
    print_questions(&end);
    print!("payments so far:\n{}", fs::read_to_string(office.payments()).unwrap_or_default());
    office.store.close().await;
    Ok(())
}
