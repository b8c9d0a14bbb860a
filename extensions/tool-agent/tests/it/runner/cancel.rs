//! Cancellation at every await of a run, on both runtimes; sessions of concurrent runs.

use std::{
    future::poll_fn,
    pin::Pin,
    process::Stdio,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicU32, Ordering},
    },
    task::Poll,
};

use futures_util::{Stream as _, future::poll_immediate};
use tokio::{
    runtime::{Builder, Handle, Runtime},
    task::yield_now,
};
use tool_agent::{
    Agent, AgentEventKind, AgentHook, AgentStream, EndReason, InputDecision, Message, Part, Role, Runner,
    Step,
    model::{Model, Reply, Request, Response, ResponseStream},
};
use tool_runtime::{RunContext, ToolCall, ToolContext, prelude::*};

use super::open::assert_valid;

/// The number of requests and bodies that have started and not ended.
#[derive(Default)]
struct Alive(AtomicI64);

struct Guard(Arc<Alive>);

impl Guard {
    fn new(alive: &Arc<Alive>) -> Self {
        alive.0.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(alive))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn waits() {
    for _ in 0..3 {
        yield_now().await;
    }
}

/// Calls two tools, and answers once it has their results.
struct Calling(Arc<Alive>);

impl Model for Calling {
    fn name(&self) -> &str {
        "calling"
    }

    fn respond(&self, request: Request) -> ResponseStream {
        let alive = Arc::clone(&self.0);
        ResponseStream::of_future(async move {
            let _guard = Guard::new(&alive);
            waits().await;
            assert_valid(&request.messages);
            let last = request.messages.last().unwrap();
            let calls = ["plain", "polite"].map(|name| Part::Call(ToolCall::new(name, "{}")));
            Ok(Response::new(match last.role() == Role::User && last.text() != "Again." {
                true => Message::assistant(calls),
                false => Message::assistant([Part::Text("Done.".to_owned())]),
            }))
        })
    }
}

/// Waits.
#[tool]
async fn plain(alive: &Arc<Alive>) {
    let _guard = Guard::new(alive);
    waits().await;
}

/// Waits, and watches its cancellation.
#[tool]
async fn polite(cx: &ToolContext, alive: &Arc<Alive>) {
    let _guard = Guard::new(alive);
    let _ = cx.cancellation().run_until_cancelled(waits()).await;
}

/// Waits before each request.
struct Waiting;

impl AgentHook for Waiting {
    async fn before_model(&self, _: &mut Step) -> Result<Option<Response>, ToolError> {
        waits().await;
        Ok(None)
    }

    async fn before_end(&self, _: &tool_agent::StepEnd) -> Result<Option<Message>, ToolError> {
        waits().await;
        Ok(None)
    }
}

fn runner(alive: &Arc<Alive>) -> Runner {
    let tools = Registry::builder().tool::<plain>().tool::<polite>().provide(Arc::clone(alive));
    let agent = Agent::builder("clerk", Calling(Arc::clone(alive)))
        .tools(tools.build().unwrap())
        .hook(Waiting)
        .instruction_fn(|_| async {
            waits().await;
            Ok("Be brief.".to_owned())
        })
        .input_check(|_, _| async {
            waits().await;
            Ok(InputDecision::Accept)
        });
    Runner::new(agent.build().unwrap())
}

fn run() -> RunContext {
    RunContext::new().with_session("s")
}

/// Polls a run at most `most` times; returns `true` if it ended before.
async fn polled(events: &mut AgentStream, most: usize) -> bool {
    let mut polls = 0;
    poll_fn(|task| {
        if polls == most {
            return Poll::Ready(false);
        }
        polls += 1;
        match Pin::new(&mut *events).poll_next(task) {
            Poll::Ready(None) => Poll::Ready(true),
            Poll::Ready(Some(_)) => {
                task.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

fn runtimes() -> [Runtime; 2] {
    [
        Builder::new_current_thread().enable_all().build().unwrap(),
        Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap(),
    ]
}

/// Ends a run after each number of polls, by `end`; no child process is left.
#[cfg(target_os = "linux")]
fn each_poll_with_a_child(end: impl AsyncFn(AgentStream)) {
    for runtime in runtimes() {
        runtime.block_on(async {
            let (mut is_over, mut polls, mut killed) = (false, 0, 0);
            while !is_over {
                let pids = Arc::new(Mutex::new(Vec::new()));
                let tools =
                    Registry::builder().tool::<echo>().provide_shared(Arc::clone(&pids)).build().unwrap();
                let calls = ["1", "2"].map(|id| ToolCall::new("echo", "{}").with_id(id));
                let model = tool_agent::ScriptedModel::new([Reply::calls(calls), Reply::text("Done.")]);
                let runner = Runner::new(Agent::builder("clerk", model).tools(tools).build().unwrap());
                let mut events = runner.run("Go.");
                is_over = polled(&mut events, polls).await;
                killed += usize::from(pids.lock().unwrap().iter().any(|pid| is_alive(*pid)));
                end(events).await;
                let started = pids.lock().unwrap().clone();
                for pid in started {
                    gone(pid).await;
                }
                assert_eq!(Handle::current().metrics().num_alive_tasks(), 0, "after {polls} polls");
                polls += 1;
            }
            assert!(killed > 2, "children lived at {killed} of {polls} polls");
        });
    }
}

/// Starts two processes, and waits for their end.
#[tool]
async fn echo(pids: &Mutex<Vec<u32>>) -> Result<(), ToolError> {
    let error = |error: std::io::Error| ToolError::failed(error.to_string());
    let mut children = Vec::new();
    for _ in 0..2 {
        let mut command = tokio::process::Command::new("cat");
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::null()).kill_on_drop(true);
        let child = piped.spawn().map_err(error)?;
        pids.lock().unwrap().extend(child.id());
        children.push(child);
        waits().await;
    }
    for mut child in children {
        // The end of its input ends it.
        drop(child.stdin.take());
        child.wait().await.map_err(error)?;
    }
    Ok(())
}

/// Returns `true` if a process runs. One that was killed is gone, or a zombie until the runtime collects it.
#[cfg(target_os = "linux")]
fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
}

/// Waits until a killed process has ended.
#[cfg(target_os = "linux")]
async fn gone(pid: u32) {
    for _ in 0..100_000 {
        if !is_alive(pid) {
            return;
        }
        yield_now().await;
    }
    panic!("the child process {pid} is left");
}

#[cfg(target_os = "linux")]
#[test]
fn child_processes_of_tools_end_with_a_run_that_is_dropped_at_any_await() {
    each_poll_with_a_child(async |events| drop(events));
}

#[cfg(target_os = "linux")]
#[test]
fn child_processes_of_tools_end_with_a_run_that_is_cancelled_at_any_await() {
    each_poll_with_a_child(async |events| {
        events.handle().cancel();
        events.end().await; // C03
    });
}

/// Ends a run after each number of polls, by `end`; the session is valid and the next run works.
fn each_poll(end: impl AsyncFn(AgentStream)) {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut is_over = false;
            let mut polls = 0;
            while !is_over {
                let alive = Arc::new(Alive::default());
                let runner = runner(&alive);
                let mut events = runner.run_with(run(), "Go.");
                is_over = polled(&mut events, polls).await;
                end(events).await;
                assert_eq!(alive.0.load(Ordering::SeqCst), 0, "after {polls} polls");
                assert_eq!(Handle::current().metrics().num_alive_tasks(), 0, "after {polls} polls");
                assert_eq!(runner.run_with(run(), "Again.").answer().await.unwrap(), "Done.");
                assert_valid(&runner.history(&run()).await);
                polls += 1;
            }
            assert!(polls > 25, "the run ended after {polls} polls");
        });
    }
}

#[test]
fn a_run_that_is_dropped_at_any_await_leaves_nothing_and_a_valid_session() {
    each_poll(async |events| drop(events));
}

#[test]
fn a_run_that_is_cancelled_at_any_await_leaves_nothing_and_a_valid_session() {
    each_poll(async |events| {
        events.handle().cancel();
        events.end().await;
    });
}

/// Ends only when it is cancelled, and cleans up then.
#[tool]
async fn tidy(cx: &ToolContext, cleaned: &AtomicU32, started: &AtomicI64) {
    started.fetch_add(1, Ordering::SeqCst);
    cx.cancellation().cancelled().await;
    waits().await;
    cleaned.fetch_add(1, Ordering::SeqCst);
}

#[tokio::test]
async fn cleaning_up_is_awaited_after_a_cancellation_and_not_after_a_drop() {
    for (drops, expected) in [(false, 1), (true, 0)] {
        let (cleaned, started) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicI64::new(0)));
        let tools = Registry::builder().tool::<tidy>();
        let tools = tools.provide_shared(Arc::clone(&cleaned)).provide_shared(Arc::clone(&started));
        let model = tool_agent::ScriptedModel::new([Reply::call("tidy", "{}")]);
        let agent = Agent::builder("clerk", model).tools(tools.build().unwrap()).build().unwrap();
        let mut events = Runner::new(agent).run("Go.");
        while started.load(Ordering::SeqCst) == 0 {
            let _ = poll_immediate(events.next()).await;
            yield_now().await;
        }
        if drops {
            drop(events);
        } else {
            events.handle().cancel();
            assert_eq!(events.end().await.reason, EndReason::Cancelled); // C03: the cancellation reached the body
        }
        assert_eq!(cleaned.load(Ordering::SeqCst), expected);
    }
}

#[tokio::test]
async fn runs_of_one_session_wait_for_each_other_and_a_dropped_run_frees_its_session() {
    let alive = Arc::new(Alive::default());
    let runner = runner(&alive);
    let mut first = runner.run_with(run(), "Again.");
    assert!(first.next().await.is_some());
    let mut second = runner.run_with(run(), "Again.");
    for _ in 0..20 {
        assert!(poll_immediate(second.next()).await.is_none(), "the first run is not over");
    }
    let other = RunContext::new().with_session("other");
    assert_eq!(runner.run_with(other, "Again.").answer().await.unwrap(), "Done.");
    drop(first);
    assert_eq!(second.answer().await.unwrap(), "Done.");

    let runs = (0..20).map(|_| runner.run_with(run(), "Again.").answer());
    for answer in futures_util::future::join_all(runs).await {
        assert_eq!(answer.unwrap(), "Done.");
    }
    let history = runner.history(&run()).await;
    // The message of the dropped run, which its check had not accepted, is not stored.
    assert_eq!(history.len(), 42);
    for pair in history.chunks(2) {
        assert_eq!((pair[0].role(), pair[1].role()), (Role::User, Role::Assistant));
    }
}

#[tokio::test]
async fn a_run_that_waits_for_its_session_can_be_cancelled() {
    let alive = Arc::new(Alive::default());
    let runner = runner(&alive);
    let mut first = runner.run_with(run(), "Again.");
    assert!(first.next().await.is_some());
    let mut second = runner.run_with(run(), "Again.");
    second.handle().cancel();
    let event = second.next().await.unwrap();
    assert!(matches!(event.kind, AgentEventKind::Ended { end } if end.reason == EndReason::Cancelled));
}
