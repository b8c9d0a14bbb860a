//! The cost of a round, against the same loop by hand, and many runs at once.
//!
//! ```sh
//! cargo bench -p tool-agent --bench rounds -- --instructions
//! cargo bench -p tool-agent --bench rounds -- --children
//! cargo bench -p tool-agent --bench rounds -- --load        # or with a smaller number of runs behind it
//! ```
//!
//! Without an option, it prints the first two, which need `valgrind`. `--instructions` and `--load` talk to a local server in another process
//! (`server.rs`), which asks for three calls of two integers in each of 20 rounds and answers then. `--instructions` counts those of the client
//! by `callgrind`: with the loop of `examples/agent` (`by_hand.rs`), with a `Runner` without sessions, and with one whose sessions are in memory,
//! in SQLite and in Postgres. `--children` prints the instructions and the memory of runs below calls, each beside its bar (`children.rs`).
//! `--load` makes 1,000 runs at once, which needs as many open files (`ulimit -n`): without a store, and each in a session of its own in memory,
//! SQLite and Postgres, with tools that only read and with tools that have effects. Postgres is the server that the tests find.

mod by_hand;
mod children;
mod load;
mod server;
mod stores;

use std::{
    env,
    error::Error,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use tool_agent::{Agent, HttpModel, Runner};
use tool_runtime::{Executor, prelude::*};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The rounds with calls of one run.
const ROUNDS: usize = 20;

/// Adds two integers.
#[tool(register = false, read_only)]
async fn add(
    /// The first number.
    a: i64,
    /// The second number.
    b: i64,
) -> i64 {
    a + b
}

/// Adds two integers.
#[tool(register = false, name = "add")]
async fn add_with_effect(
    /// The first number.
    a: i64,
    /// The second number.
    b: i64,
) -> i64 {
    a + b
}

fn main() -> Outcome<()> {
    let words: Vec<_> = env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match words[..] {
        ["serve"] => runtime.block_on(server::serve()),
        ["client", "children", side, calls] => runtime.block_on(children::client(side, calls.parse()?)),
        ["peak", side] => runtime.block_on(children::print_peak(side)),
        ["client", side, url, runs] => runtime.block_on(client(side, url, runs.parse()?)),
        ["load", url, store, tool, runs] => runtime.block_on(load::load(url, store, tool, runs.parse()?)),
        ["--load"] => load::print_loads(load::RUNS),
        ["--load", runs] => load::print_loads(runs.parse()?),
        ["--instructions"] => instructions(),
        ["--children"] => children::print_figures(),
        _ => instructions().and_then(|()| children::print_figures()),
    }
}

/// Runs the agent, or the loop by hand, `runs` times.
async fn client(side: &str, url: &str, runs: usize) -> Outcome<()> {
    let tools = Registry::builder().tool::<add>().build()?;
    if side == "hand" {
        let client = by_hand::Client::new(url, Executor::new(tools));
        for _ in 0..runs {
            check(&client.answer("Add up.").await?)?;
        }
        return Ok(());
    }
    let runner = Runner::new(agent(url, tools)?);
    if side == "runner" {
        for _ in 0..runs {
            check(&runner.run("Add up.").answer().await?)?;
        }
        return Ok(());
    }
    let (_database, runner) = stores::Database::open(side, runner).await?;
    for number in 0..runs {
        check(&runner.run_with(stores::session_run(number), "Add up.").answer().await?)?;
    }
    Ok(())
}

fn agent(url: &str, tools: Registry) -> Outcome<Agent> {
    let model = HttpModel::openai_chat("local")?.with_base_url(format!("{url}/v1"));
    let limits = tool_agent::Limits { repeated_calls: None, ..Default::default() };
    Ok(Agent::builder("adder", model).tools(tools).limits(limits).build()?)
}

fn check(answer: &str) -> Outcome<()> {
    if answer == server::ANSWER { Ok(()) } else { Err(format!("unexpected answer `{answer}`").into()) }
}

/// A server process, which ends with this value.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start() -> Outcome<Self> {
        let mut child = Command::new(env::current_exe()?).arg("serve").stdout(Stdio::piped()).spawn()?;
        let mut url = String::new();
        BufReader::new(child.stdout.take().ok_or("no standard output")?).read_line(&mut url)?;
        Ok(Self { child, url: url.trim().to_owned() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Prints the instructions of the client for one round.
fn instructions() -> Outcome<()> {
    let server = Server::start()?;
    let (few, many) = (2, 12);
    let per_round = |side: &str| -> Outcome<f64> {
        let counted = |runs| counted(&[side, &server.url, &format!("{runs}")]);
        let requests = (ROUNDS + 1) * (many - few);
        Ok((counted(many)? - counted(few)?) as f64 / requests as f64)
    };
    println!("instructions of the client per round with three calls of two integers, streamed");
    println!("| client | instructions | ratio to by hand | ratio to `Runner` | bar |");
    println!("| --- | --- | --- | --- | --- |");
    let (hand, runner) = (per_round("hand")?, per_round("runner")?);
    println!("| by hand | {hand:.0} | 1.00 | | |");
    println!("| `Runner` | {runner:.0} | {:.2} | 1.00 | within 1 % of the release before |", runner / hand);
    for (side, name, bar) in [
        ("memory", "a session in memory", "none"),
        ("sqlite", "a session in SQLite", "at most 2.00 times `Runner`"),
        ("postgres", "a session in Postgres", "none"),
    ] {
        match per_round(side) {
            Ok(count) => {
                println!("| {name} | {count:.0} | {:.2} | {:.2} | {bar} |", count / hand, count / runner);
            }
            Err(_) if side == "postgres" => {
                println!("| {name} | not counted: there is no server | | | {bar} |")
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the instructions of a client process.
fn counted(words: &[&str]) -> Outcome<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(env::current_exe()?);
    let output = command.arg("client").args(words).output()?;
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    let line =
        report.lines().find_map(|line| line.split_once("Collected :")).ok_or_else(|| report.clone())?;
    Ok(line.1.trim().parse()?)
}
