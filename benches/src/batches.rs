//! Calls through an executor, compared with the same calls joined by hand.

use std::{
    error::Error,
    future::Future,
    hint::black_box,
    sync::{Mutex, PoisonError},
};

use futures_util::{StreamExt, future::join_all};
use tool_runtime::{
    CallOutcome, Executor, Registry, ToolCall,
    executor::StreamItem,
    hook::Hook,
    policy::{Approval, ApprovalRequest, Rule, Rules},
    registry::BuildError,
};

use crate::{Workload, calls, now, order};

const ADD: &str = r#"{"a": 2, "b": 3}"#;

/// Returns the batches to measure. The floor is the same calls on the registry.
///
/// # Errors
///
/// Returns an error if the registry cannot be built.
pub fn workloads() -> Result<Vec<Workload>, Box<dyn Error>> {
    Ok(vec![
        batch("one call of two integers", 1, "add", ADD)?,
        batch("one call of a struct of 1 kB", 1, "total", order::text().leak())?,
        batch("64 calls of two integers", 64, "add", ADD)?,
        watched("two integers, rule and listener")?,
        streamed("20,000 streamed calls, to 5,000")?,
    ])
}

fn batch(
    name: &'static str,
    size: usize,
    tool: &'static str,
    arguments: &'static str,
) -> Result<Workload, BuildError> {
    let tools = calls::tools()?;
    let executor = Executor::new(tools.clone());
    let asked = vec![ToolCall::new(tool, arguments); size];
    Ok(Workload::new(
        name,
        move |show| by_hand(&tools, tool, arguments, size, show),
        move |show| {
            shown(now(executor.run(black_box(&asked).clone())), show);
        },
    ))
}

/// A streamed batch of 20,000 calls, whose floor is a batch of 5,000: it may cost at most 5 times as much.
fn streamed(name: &'static str) -> Result<Workload, BuildError> {
    let executor = Executor::new(calls::tools()?);
    let few = executor.clone();
    let read = |executor: &Executor, size: usize, show: &mut dyn FnMut(&[u8])| {
        let asked = (0..size).map(|at| ToolCall::new("add", ADD).with_id(at.to_string())).collect();
        let items = runtime_of_one(executor.stream(asked).collect::<Vec<_>>());
        for item in items.into_iter().flatten() {
            if let StreamItem::Outcomes(outcomes) = item {
                shown(Some(outcomes), show);
            }
        }
    };
    Ok(Workload::new(name, move |show| read(&few, 5_000, show), move |show| read(&executor, 20_000, show)))
}

/// Returns the output of `future`, which may have to wait for the reader of its events.
fn runtime_of_one<F: Future>(future: F) -> Option<F::Output> {
    tokio::runtime::Builder::new_current_thread().build().ok().map(|runtime| runtime.block_on(future))
}

/// Shows the texts of `outcomes`.
fn shown(outcomes: Option<Vec<CallOutcome>>, show: &mut dyn FnMut(&[u8])) {
    for outcome in outcomes.unwrap_or_default() {
        if let CallOutcome::Finished(result) = outcome {
            show(result.text().as_bytes());
        }
    }
}

/// A hook that changes nothing.
struct NoHook;

impl Hook for NoHook {}

/// One call with a rule that compares an argument, a hook, an approver, and a listener that reads all events.
fn watched(name: &'static str) -> Result<Workload, Box<dyn Error>> {
    let tools = calls::tools()?;
    let executor = Executor::builder(tools.clone())
        .rules(Rules::new([Rule::deny("add").at("/a", "100")]))
        .hook(NoHook)
        .approver(|_: &ApprovalRequest| Approval::Approved)
        .build()?;
    let listener = Mutex::new(executor.subscribe());
    let asked = vec![ToolCall::new("add", ADD)];
    Ok(Workload::new(
        name,
        move |show| by_hand(&tools, "add", ADD, 1, show),
        move |show| {
            shown(now(executor.run(black_box(&asked).clone())), show);
            let mut listener = listener.lock().unwrap_or_else(PoisonError::into_inner);
            while let Some(event) = listener.try_next() {
                black_box(event.is_ok());
            }
        },
    ))
}

fn by_hand(tools: &Registry, tool: &str, arguments: &str, size: usize, show: &mut dyn FnMut(&[u8])) {
    let mut told = |answer: Result<tool_runtime::ToolOutput, tool_runtime::ToolError>| match answer {
        Ok(answer) => show(answer.text().as_bytes()),
        Err(error) => show(error.feedback().as_bytes()),
    };
    if size == 1 {
        now(tools.call(black_box(tool), black_box(arguments))).into_iter().for_each(told);
        return;
    }
    let calls = (0..size).map(|_| tools.call(black_box(tool), black_box(arguments)));
    now(join_all(calls)).unwrap_or_default().into_iter().for_each(&mut told);
}
