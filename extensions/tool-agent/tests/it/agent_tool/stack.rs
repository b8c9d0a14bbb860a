//! Runs below runs on the stack of a thread.

use std::time::Duration;

use tool_agent::hook;
use tool_runtime::{
    definition::Retry,
    hook::{Before, CallHandle},
    policy::RetryPolicy,
};

use super::*;

/// The stack of a thread of the runtime.
pub(super) const STACK_BYTES: usize = 2 << 20;

/// The stack that 16 levels take at most, without optimisation. They take 1.0 MB.
const MAX_BYTES: usize = 1_200_000;

/// The addresses of the stack at which models are asked.
type Addresses = Arc<Mutex<Vec<usize>>>;

/// Agents within agents down to `levels`, whose calls run in executors that `configure` makes.
fn nested(levels: usize, addresses: &Addresses, configure: fn(Registry) -> Executor) -> Agent {
    let name = format!("agent_{levels}");
    let model = match levels {
        0 => ScriptedModel::new([Reply::text("bottom")]),
        _ => ScriptedModel::new([
            Reply::call(format!("agent_{}", levels - 1), json!({ "request": "Go on." })),
            Reply::text(format!("level {levels}")),
        ]),
    };
    let mut tools = Registry::builder();
    if levels > 0 {
        tools = tools.add(AgentTool::new(nested(levels - 1, addresses, configure)).unwrap());
    }
    let noted = Arc::clone(addresses);
    let note = hook::before_model(move |step| {
        let on_stack = 0_u8;
        noted.lock().unwrap().push(std::ptr::from_ref(&on_stack).addr());
        async move {
            // As a model that answers later: the calls of all levels are polled again.
            tokio::task::yield_now().await;
            Ok(step.into())
        }
    });
    Agent::builder(name, model).tools(configure(tools.build().unwrap())).hook(note).build().unwrap()
}

/// Runs agents that nest on the stack of a thread; returns the end, and the bytes between the highest and the lowest model.
fn run_nested(levels: usize, configure: fn(Registry) -> Executor) -> (tool_agent::End, usize) {
    let run = move || {
        let addresses = Addresses::default();
        let runner = Runner::new(nested(levels, &addresses, configure));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let end = runtime.block_on(runner.run_with(RunContext::new().with_session("s"), "Go on.").end());
        let addresses = addresses.lock().unwrap();
        (end, addresses.iter().max().unwrap() - addresses.iter().min().unwrap())
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run).unwrap().join().unwrap()
}

#[test]
fn agents_nest_down_to_the_maximum_depth_and_one_more_is_an_error() {
    let (end, bytes) = run_nested(16, Executor::new);
    assert_eq!((end.text.as_str(), end.usage.children.runs), ("level 16", 16));
    assert!(bytes < MAX_BYTES, "{bytes}");
    let (end, _) = run_nested(17, Executor::new);
    assert_eq!((end.text.as_str(), end.usage.children.runs), ("level 17", 16));
}

#[test]
fn agents_nest_down_to_the_maximum_depth_with_timeouts_retries_and_hooks() {
    let configure = |tools| {
        let goes_on = |_: CallHandle| async { Ok(Before::Continue) };
        let executor = Executor::builder(tools).timeout(Duration::from_secs(600)).before(goes_on);
        executor.retry(RetryPolicy::new(Retry::DEFAULT).any_tool()).build().unwrap()
    };
    let (end, bytes) = run_nested(16, configure);
    assert_eq!((end.text.as_str(), end.usage.children.runs), ("level 16", 16));
    assert!(bytes < STACK_BYTES * 3 / 4, "{bytes}");
}
