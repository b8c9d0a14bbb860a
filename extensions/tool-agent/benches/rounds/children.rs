//! Runs below calls, of agents whose models are answered by hooks: their instructions, and their memory.

use std::{
    env, fs,
    process::{Command, Stdio},
};

use tool_agent::{
    Agent, AgentHook, AgentTool, EndReason, Limits, Message, Part, Runner, ScriptedModel, Step,
    model::Response,
};
use tool_runtime::{ToolCall, prelude::*};

use crate::{Outcome, ROUNDS, add, check, counted};

/// The number of calls of one response, in the measurement of the memory.
const PARALLEL_CALLS: usize = 100;

/// The bars: the instructions of a run below a call, against the same run at the top; and the memory of the runs below all calls, in MB.
const MAX_INSTRUCTION_RATIO: f64 = 1.3;
const MAX_MEGABYTES: f64 = 20.0;

const ANSWER: &str = crate::server::ANSWER;

/// A model: as many rounds of calls as it has, and an answer.
struct Answering {
    rounds: usize,
    calls: Vec<ToolCall>,
}

impl AgentHook for Answering {
    async fn before_model(&self, step: &mut Step) -> Result<Option<Response>, ToolError> {
        // Other runs of the task take their turn, so that they are alive at the same time.
        tokio::task::yield_now().await;
        let parts = match usize::try_from(step.number).is_ok_and(|number| number <= self.rounds) {
            true => self.calls.iter().cloned().map(Part::Call).collect(),
            false => vec![Part::Text(ANSWER.to_owned())],
        };
        Ok(Some(Response::new(Message::assistant(parts))))
    }
}

/// Has the arguments of an agent as a tool, and does nothing.
#[tool(register = false, name = "worker", read_only)]
async fn no_work(request: String) -> &'static str {
    drop(request);
    ANSWER
}

fn agent(name: &str, tools: Registry, rounds: usize, calls: Vec<ToolCall>) -> Outcome<Agent> {
    let limits = Limits { repeated_calls: None, ..Limits::default() };
    let agent = Agent::builder(name.to_owned(), ScriptedModel::new([])).tools(tools).limits(limits);
    Ok(agent.hook(Answering { rounds, calls }).build()?)
}

/// Returns a worker with this number of rounds of three calls.
fn worker(rounds: usize) -> Outcome<Agent> {
    let call = |b| ToolCall::new("add", json!({ "a": 1, "b": b }));
    agent("worker", Registry::builder().tool::<add>().build()?, rounds, [1, 2, 3].map(call).into())
}

/// Returns an agent that calls the tool `worker`.
fn manager(tools: Registry, rounds: usize, calls: usize) -> Outcome<Runner> {
    let call = ToolCall::new("worker", json!({ "request": "Add up." }));
    Ok(Runner::new(agent("manager", tools, rounds, vec![call; calls])?))
}

/// Returns the tools of the manager: the agent `worker`, or a tool of the same name.
fn tools(worker: Option<Agent>) -> Outcome<Registry> {
    Ok(match worker {
        Some(worker) => Registry::builder().add(AgentTool::new(worker)?).build()?,
        None => Registry::builder().tool::<no_work>().build()?,
    })
}

/// Runs one side of the measurement of instructions: `calls` runs of a worker at the top, or below the calls of a manager, or as many calls of a tool
/// that does nothing.
pub(crate) async fn client(side: &str, calls: usize) -> Outcome<()> {
    if side == "top" {
        let runner = Runner::new(worker(0)?);
        for _ in 0..calls {
            check(&runner.run("Add up.").answer().await?)?;
        }
        return Ok(());
    }
    let worker = if side == "below" { Some(worker(0)?) } else { None };
    let runner = manager(tools(worker)?, ROUNDS, 1)?;
    for _ in 0..calls / ROUNDS {
        check(&runner.run("Add up.").answer().await?)?;
    }
    Ok(())
}

/// Makes one run with a batch of calls, each of which is a run of a worker, or does nothing; prints the largest memory of the process.
pub(crate) async fn print_peak(side: &str) -> Outcome<()> {
    let worker = if side == "below" { Some(worker(ROUNDS)?) } else { None };
    let runner = manager(tools(worker)?, 1, PARALLEL_CALLS)?;
    let end = runner.run("Add up.").end().await;
    let runs = if side == "below" { PARALLEL_CALLS } else { 0 };
    if end.reason != EndReason::Answered || usize::try_from(end.usage.children.runs)? != runs {
        return Err(format!("{end}, with {} runs below", end.usage.children.runs).into());
    }
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no peak")?;
    println!("{}", peak.trim().trim_end_matches(" kB"));
    Ok(())
}

/// Prints both measurements beside their bars.
pub(crate) fn print_figures() -> Outcome<()> {
    let (few, many) = (2 * ROUNDS, 12 * ROUNDS);
    let each = |side: &str| -> Outcome<f64> {
        let counted = |calls: usize| counted(&["children", side, &calls.to_string()]);
        Ok((counted(many)? - counted(few)?) as f64 / (many - few) as f64)
    };
    let (top, below, nothing) = (each("top")?, each("below")?, each("nothing")?);
    let ratio = (below - nothing) / top;
    println!(
        "| instructions of a run of one request | at the top | below a call, without the call | ratio | bar |"
    );
    println!("| --- | --- | --- | --- | --- |");
    println!(
        "| answered by a hook | {top:.0} | {:.0} | {ratio:.2} | {MAX_INSTRUCTION_RATIO} |",
        below - nothing
    );

    let megabytes = (peak("below")? - peak("nothing")?) / 1024.0;
    println!("| memory | added by the runs below | bar |");
    println!("| --- | --- | --- |");
    println!("| {PARALLEL_CALLS} runs of {ROUNDS} rounds at once | {megabytes:.1} MB | {MAX_MEGABYTES} MB |");
    Ok(())
}

/// Returns the largest memory of a process, in KiB.
fn peak(side: &str) -> Outcome<f64> {
    let mut command = Command::new(env::current_exe()?);
    let output = command.args(["peak", side]).stderr(Stdio::inherit()).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}
