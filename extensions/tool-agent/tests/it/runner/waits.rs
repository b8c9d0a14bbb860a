//! The waits of a run for code of the program: each ends with the run, also at its deadline.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::stream;
use tokio::task::yield_now;
use tool_agent::{
    Agent, AgentBuilder, Compaction, EndReason, InputDecision, Limit, Limits, Message, Runner, ScriptedModel,
    hook,
    model::{Model, ModelErrorKind, ModelEvent, Reply, Request, ResponseStream},
};
use tool_runtime::{BoxFuture, Tool, ToolSet, Toolbox, context::ReadonlyContext, prelude::*};

/// Multiplies two numbers.
#[tool(read_only)]
fn multiply(a: f64, b: f64) -> f64 {
    a * b
}

/// A wait that never ends. Its future panics when it is dropped.
#[derive(Clone, Default)]
struct Wait(Arc<AtomicBool>);

impl Wait {
    async fn forever<T>(self) -> T {
        let _bomb = Bomb;
        self.0.store(true, Ordering::SeqCst);
        std::future::pending().await
    }
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

struct StuckSet(Wait);

impl ToolSet for StuckSet {
    fn name(&self) -> &str {
        "stuck"
    }

    fn tools<'a>(&'a self, _: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        Box::pin(self.0.clone().forever())
    }
}

struct StuckModel(Wait);

impl Model for StuckModel {
    fn name(&self) -> &str {
        "stuck"
    }

    fn respond(&self, _: Request) -> ResponseStream {
        ResponseStream::of_future(self.0.clone().forever())
    }
}

fn agent(replies: impl IntoIterator<Item = Reply>) -> AgentBuilder {
    let tools = Registry::builder().tool::<multiply>().build().unwrap();
    Agent::builder("calculator", ScriptedModel::new(replies)).tools(tools)
}

fn answering() -> AgentBuilder {
    agent([Reply::call("multiply", json!({ "a": 25, "b": 4 })), Reply::text("100")])
}

/// Agents, each of which waits at another place.
fn stuck(wait: &Wait) -> Vec<(&'static str, AgentBuilder)> {
    let toolbox = Toolbox::new();
    toolbox.add_toolset(StuckSet(wait.clone())).unwrap();
    let [w1, w2, w3, w4, w5, w6, w7, w8] = [(); 8].map(|()| wait.clone());
    let failing = agent([Reply::error(ModelErrorKind::Other, "down")]);
    vec![
        ("tools", answering().tools(toolbox)),
        ("instruction", answering().instruction_fn(move |_| w1.clone().forever())),
        (
            "compaction",
            answering().context_window(1).compaction(Compaction::by(move |_| w2.clone().forever())),
        ),
        ("check", answering().input_check(move |_, _| w3.clone().forever::<Result<InputDecision, _>>())),
        ("before_model", answering().hook(hook::before_model(move |_| w4.clone().forever()))),
        ("after_model", answering().hook(hook::after_model(move |_, _| w5.clone().forever()))),
        ("on_model_error", failing.hook(hook::on_model_error(move |_, _| w6.clone().forever()))),
        ("after_step", answering().hook(hook::after_step(move |_| w7.clone().forever()))),
        ("before_end", agent([Reply::text("100")]).hook(hook::before_end(move |_| w8.clone().forever()))),
        ("model", Agent::builder("stuck", StuckModel(wait.clone()))),
    ]
}

#[tokio::test]
async fn a_run_is_cancelled_wherever_it_waits_for_the_program() {
    for index in 0..10 {
        let wait = Wait::default();
        let (place, agent) = stuck(&wait).swap_remove(index);
        let events = Runner::new(agent.build().unwrap()).run("25 times 4?");
        let handle = events.handle();
        let cancel = async {
            while !wait.0.load(Ordering::SeqCst) {
                yield_now().await;
            }
            handle.cancel();
        };
        let (end, ()) = tokio::join!(events.end(), cancel);
        assert_eq!(end.reason, EndReason::Cancelled, "{place}"); // C03
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_at_its_deadline_wherever_it_waits_for_the_program() {
    for index in 0..10 {
        let wait = Wait::default();
        let (place, agent) = stuck(&wait).swap_remove(index);
        let agent = agent.limits(Limits { time: Some(Duration::from_secs(60)), ..Limits::default() });
        let end = Runner::new(agent.build().unwrap()).run("25 times 4?").end().await;
        assert!(
            matches!(end.reason, EndReason::Limit { limit: Limit::Time, .. }),
            "{place}: {:?}",
            end.reason
        );
        assert!(wait.0.load(Ordering::SeqCst), "{place}");
    }
}

#[tokio::test]
async fn a_model_whose_events_are_always_ready_does_not_outlive_the_deadline_of_its_run() {
    struct Endless;
    impl Model for Endless {
        fn name(&self) -> &str {
            "endless"
        }
        fn respond(&self, _: Request) -> ResponseStream {
            ResponseStream::new(stream::repeat_with(|| Ok(ModelEvent::Notice("more".to_owned()))))
        }
    }
    let limits = Limits { time: Some(Duration::from_millis(5)), ..Limits::default() };
    let agent = Agent::builder("endless", Endless).limits(limits).build().unwrap();
    let end = Runner::new(agent).run("Go.").end().await;
    assert!(matches!(end.reason, EndReason::Limit { limit: Limit::Time, .. }), "{:?}", end.reason);
}

#[tokio::test]
async fn an_error_of_a_hook_names_the_hook() {
    let failing = || async { Err(ToolError::failed("no disk")) };
    for agent in [
        answering().hook(hook::before_model(move |_| failing())),
        answering().hook(hook::after_step(move |_| async { Err(ToolError::failed("no disk")) })),
        answering().hook(hook::before_end(move |_| async { panic!("no disk") })),
    ] {
        let end = Runner::new(agent.build().unwrap()).run("25 times 4?").end().await;
        let EndReason::Failed { message } = end.reason else { panic!("{:?}", end.reason) };
        assert!(message.starts_with("the hook `tool_agent::hook::"), "{message}");
        assert!(message.ends_with("no disk"), "{message}");
    }
}

#[tokio::test]
async fn a_stop_of_a_hook_ends_the_run_on_purpose() {
    for agent in [
        answering().hook(hook::before_model(|_| async { Err(ToolError::stop("enough")) })),
        answering().hook(hook::after_step(|_| async { Err(ToolError::stop("enough")) })),
    ] {
        let end = Runner::new(agent.build().unwrap()).run("25 times 4?").end().await;
        assert_eq!(end.reason, EndReason::Stopped { message: "enough".to_owned() }); // E07
    }
}

#[tokio::test]
async fn closures_are_hooks_of_each_stage() {
    let asked = ScriptedModel::new([Reply::text("100"), Reply::text("Hundred.")]);
    let agent = Agent::builder("calculator", asked.clone())
        .hook(hook::before_model(|mut step| async move {
            step.request.instruction = format!("Step {}.", step.number).into();
            Ok(step.into())
        }))
        .hook(hook::before_end(
            |end| async move { Ok((end.number == 1).then(|| Message::user("In words."))) },
        ));
    // Those of the runner come first.
    let runner = Runner::new(agent.build().unwrap()).with_hook(hook::before_model(|mut step| async move {
        step.request.instruction = "Overridden.".into();
        Ok(step.into())
    }));
    assert_eq!(runner.run("25 times 4?").answer().await.unwrap(), "Hundred."); // H12, H18, H20
    let instructions: Vec<_> = asked.requests().iter().map(|it| it.instruction.to_string()).collect();
    assert_eq!(instructions, ["Step 1.", "Step 2."]); // H18
}

#[tokio::test]
async fn a_run_that_is_cancelled_between_two_rounds_does_not_count_the_second() {
    let agent = answering().hook(hook::after_step(|end| async move {
        end.run.cancellation().cancel();
        Ok(ControlFlow::Continue(()))
    }));
    let end = Runner::new(agent.build().unwrap()).run("25 times 4?").end().await;
    assert_eq!((end.reason, end.usage.rounds), (EndReason::Cancelled, 1));
}
