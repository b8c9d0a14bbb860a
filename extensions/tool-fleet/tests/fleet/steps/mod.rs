//! Steps of tools before their calls are judged, with workers that do not answer, lie, are full, or have another version.

mod additions;
mod lies;
mod versions;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::Map;
use tokio::time::Instant;
use tool_fleet::{MemoryTransport, Transport as _, Worker};
use tool_runtime::{
    CancellationToken, Executor, RunContext, ToolCall, ToolDefinition, ToolName, ToolResult,
    context::Budget,
    definition::{Permission, Prepared, Redirect, Redirection},
    policy::{Rule, Rules},
    prelude::*,
    request::{ModelRequest, RequestAdditions},
    schema::{Arguments, InputSchema},
};

use super::{
    Probe,
    broker::{Forger, Sent, TestBroker},
    connect, program_key, serve,
};

/// The bodies that ran, with their arguments.
#[derive(Default)]
struct Ran(Mutex<Vec<String>>);

impl Ran {
    fn list(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

fn in_capitals(arguments: &mut Map<String, Value>) -> Result<(), ToolError> {
    if let Some(Value::String(city)) = arguments.get_mut("city") {
        *city = city.to_uppercase();
    }
    Ok(())
}

fn may_stay(city: &String, days: &u32, _: &Ran) -> Permission {
    match days {
        0 => Permission::deny("not at all"),
        1..8 => Permission::Allow,
        _ => Permission::ask(format!("{days} days in {city}?")),
    }
}

fn stay_in(city: &str, days: u32, ran: &Ran) -> String {
    let stayed = format!("{days} days in {city}");
    ran.0.lock().unwrap().push(stayed.clone());
    stayed
}

/// Stays somewhere.
#[tool(register = false, prepare = in_capitals, permission = may_stay)]
fn stay(city: String, days: u32, ran: &Ran) -> String {
    stay_in(&city, days, ran)
}

/// Waits for the test.
#[tool(read_only, register = false)]
async fn wait(probe: &Probe, cx: &ToolContext) -> usize {
    probe.pass(cx).await
}

async fn advise(request: ModelRequest) -> Result<(), ToolError> {
    request.instruct("Stay at home.");
    request.set("temperature", json!(2));
    Ok(())
}

/// Advises.
#[tool(read_only, register = false, on_request = advise)]
fn advice() {}

/// Advises again.
#[tool(read_only, register = false, on_request = advise)]
fn more_advice() {}

/// A tool whose calls are calls of `pay`.
struct Relay(ToolDefinition);

impl Tool for Relay {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, |_, _| {
            Box::pin(async { Err(ToolError::failed("it was not redirected")) })
        }))
    }

    fn redirect(&self) -> Option<Redirect> {
        Some(|_| Ok(Redirection::new("stay", r#"{ "city": "rome", "days": 2 }"#.to_owned())))
    }

    fn adds_to_requests(&self) -> bool {
        false
    }
}

fn relay() -> Relay {
    let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
    Relay(ToolDefinition::new(ToolName::new("relay").unwrap(), "Stays in Rome.", schema))
}

fn tools(ran: &Arc<Ran>, probe: &Arc<Probe>) -> Registry {
    let tools = Registry::builder().tool::<stay>().tool::<wait>().tool::<advice>().tool::<more_advice>();
    tools.add(relay()).provide_shared(Arc::clone(ran)).provide_shared(Arc::clone(probe)).build().unwrap()
}

/// A pool whose broker forges or drops the answers to steps, while `is_lying`.
struct StepPool {
    ran: Arc<Ran>,
    executor: Executor,
    is_lying: Arc<AtomicBool>,
    broker: TestBroker,
    worker: tokio::task::JoinHandle<Result<(), tool_fleet::FleetError>>,
    _toolbox: tool_runtime::Toolbox,
}

impl Drop for StepPool {
    fn drop(&mut self) {
        self.worker.abort();
    }
}

/// The kind and the body of an answer to a step in place of the worker's; `None` for no answer.
type Lie = Option<(&'static str, Value)>;

impl StepPool {
    async fn start(lie: Lie) -> Self {
        let is_lying = Arc::new(AtomicBool::new(false));
        let lying = Arc::clone(&is_lying);
        let broker = TestBroker::tampering(move |inner, sent: Sent| {
            let lie = lie.clone();
            let is_lie = lying.load(Ordering::Relaxed) && sent.subject.contains(".definitions.");
            async move {
                match (is_lie, lie, &sent.reply) {
                    (true, Some((kind, body)), Some(reply)) => {
                        Forger::new(&inner, "trip").send(reply, None, kind, body).await;
                    }
                    (true, ..) => {}
                    (false, ..) => sent.deliver(&inner).await,
                }
            }
        });
        let (ran, probe) = <(Arc<Ran>, Arc<Probe>)>::default();
        let worker = serve(&broker, "trip", Executor::new(tools(&ran, &probe)));
        let (executor, _toolbox) = connect(&broker, "trip").await;
        is_lying.store(true, Ordering::Relaxed);
        Self { ran, executor, is_lying, broker, worker, _toolbox }
    }

    async fn honest() -> Self {
        let pool = Self::start(None).await;
        pool.is_lying.store(false, Ordering::Relaxed);
        pool
    }

    async fn stay(&self, city: &str, days: u32) -> ToolResult {
        run_one(&self.executor, "trip__stay", json!({ "city": city, "days": days })).await
    }

    fn calls(&self) -> usize {
        self.broker.seen(Sent::is_call).len()
    }
}

async fn run_one(executor: &Executor, name: &str, arguments: Value) -> ToolResult {
    executor.run(vec![ToolCall::new(name, arguments)]).await[0].result().cloned().unwrap()
}

async fn additions(tools: &Registry) -> RequestAdditions {
    let request = ModelRequest::new("neutral", json!({}), Arc::new(RunContext::new()));
    tools.request_additions(request).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_no_worker_prepares_is_unavailable_and_does_not_run() {
    let pool = StepPool::start(None).await;
    let begin = Instant::now();
    for call in [
        ToolCall::new("trip__stay", json!({ "city": "oslo", "days": 2 })),
        ToolCall::new("trip__relay", "{}"),
    ] {
        let outcomes = pool.executor.run(vec![call]).await;
        let error = outcomes[0].result().unwrap().outcome.clone().unwrap_err();
        assert!(error.kind() == ErrorKind::Unavailable && error.is_retryable(), "{error:?}");
        assert!(
            error.to_string().contains("did not run: no worker of the pool `trip` answered within 2s"),
            "{error}"
        );
    }
    assert_eq!(begin.elapsed().as_secs(), 4);
    assert_eq!((pool.ran.list().len(), pool.calls()), (0, 0));
    pool.is_lying.store(false, Ordering::Relaxed);
    assert_eq!(pool.stay("oslo", 2).await.text(), "2 days in OSLO");
}

/// The broker was away, and the worker is back after its caller; or the notices are forged.
#[tokio::test(start_paused = true)]
async fn a_question_that_no_worker_receives_waits_for_its_worker_as_long_as_for_an_answer() {
    let left = Arc::new(AtomicUsize::new(0));
    let unreceived = Arc::clone(&left);
    let broker = TestBroker::tampering(move |inner, sent: Sent| {
        let is_step = sent.subject.contains(".definitions.");
        let lose = |left: usize| left.checked_sub(1);
        let is_lost = is_step && unreceived.fetch_update(Ordering::SeqCst, Ordering::SeqCst, lose).is_ok();
        async move {
            match is_lost {
                true => inner.send("nowhere", sent.reply.as_deref(), sent.body).await.unwrap(),
                false => sent.deliver(&inner).await,
            }
        }
    });
    let (ran, probe) = <(Arc<Ran>, Arc<Probe>)>::default();
    let worker = serve(&broker, "trip", Executor::new(tools(&ran, &probe)));
    let (executor, _toolbox) = connect(&broker, "trip").await;
    let stay = || run_one(&executor, "trip__stay", json!({ "city": "oslo", "days": 2 }));
    left.store(3, Ordering::SeqCst);
    assert_eq!(stay().await.text(), "2 days in OSLO");
    left.store(usize::MAX, Ordering::SeqCst);
    let begin = Instant::now();
    let result = stay().await;
    assert!(result.text().contains("did not run: no worker of the pool `trip`"), "{}", result.text());
    assert_eq!((begin.elapsed().as_secs(), ran.list().len()), (2, 1));
    worker.abort();
}

#[tokio::test(start_paused = true)]
async fn a_call_is_cancelled_while_it_is_prepared() {
    let pool = StepPool::start(None).await;
    let stop = CancellationToken::new();
    let run = RunContext::new().with_cancellation(stop.clone());
    let call = ToolCall::new("trip__stay", json!({ "city": "oslo", "days": 2 }));
    let begin = Instant::now();
    let running = pool.executor.batch(vec![call]).with_run(run).run();
    let cancelling = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        stop.cancel();
    };
    let (outcomes, ()) = tokio::join!(running, cancelling);
    assert_eq!(outcomes[0].result().unwrap().text(), "Cancelled");
    assert!(begin.elapsed() < Duration::from_secs(1));
}

/// A recorded message is delivered again by a client of the broker.
#[tokio::test(start_paused = true)]
async fn a_repeated_question_is_not_answered_again() {
    let pool = StepPool::honest().await;
    let question = |sent: &Sent| sent.subject.contains(".definitions.");
    let before = pool.broker.seen(question).len();
    assert_eq!(pool.stay("oslo", 0).await.text(), "Denied: not at all");
    let questions = pool.broker.seen(question).split_off(before);
    let [asked] = &questions[..] else { panic!("{questions:?}") };
    let sent = |sent: &Sent| Some(&sent.subject) == asked.reply.as_ref();
    assert_eq!(pool.broker.seen(sent).len(), 1);
    for _ in 0..3 {
        asked.deliver(&pool.broker.inner).await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(pool.broker.seen(sent).len(), 1);
}

/// Its arguments stay here.
#[tokio::test(start_paused = true)]
async fn a_redirect_that_is_denied_by_name_or_over_budget_is_not_asked_of_a_worker() {
    let pool = StepPool::honest().await;
    let question = |sent: &Sent| sent.subject.contains(".definitions.");
    let before = pool.broker.seen(question).len();
    let rules = Rules::new([Rule::deny("trip__relay")]);
    let denying = Executor::builder(pool.executor.tools().clone()).rules(rules).build().unwrap();
    let text = run_one(&denying, "trip__relay", json!({})).await.text().into_owned();
    assert!(text.starts_with("Denied: a rule denies it"), "{text}");
    let run = RunContext::new().with_budget(Budget { calls: Some(0), rounds: None, tokens: None });
    let batch = pool.executor.batch(vec![ToolCall::new("trip__relay", "{}")]).with_run(run);
    assert!(batch.run().await[0].result().unwrap().is_error());
    assert_eq!(pool.broker.seen(question).len(), before);
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_remote_tool_that_redirects_is_judged_as_the_one_for_which_it_stands() {
    let pool = StepPool::honest().await;
    assert_eq!(run_one(&pool.executor, "trip__relay", json!({})).await.text(), "2 days in ROME");
    let rules = Rules::new([Rule::deny("trip__stay")]);
    let executor = Executor::builder(pool.executor.tools().clone()).rules(rules).build().unwrap();
    let text = run_one(&executor, "trip__relay", json!({})).await.text().into_owned();
    assert!(text.starts_with("Denied: a rule denies it"), "{text}");
    assert_eq!(pool.ran.list(), ["2 days in ROME"]);
}

/// Its only slot is taken.
#[tokio::test(start_paused = true)]
async fn a_worker_without_a_free_slot_prepares_calls() {
    let transport = MemoryTransport::new();
    let (ran, probe) = <(Arc<Ran>, Arc<Probe>)>::default();
    let executor = Executor::new(tools(&ran, &probe));
    let worker = Worker::new(executor, program_key().pool_key("trip")).slots(1);
    let worker = tokio::spawn(worker.serve(transport.clone(), CancellationToken::new()));
    let (executor, _toolbox) = connect(&transport, "trip").await;
    let waiting = executor.clone();
    let waiting = tokio::spawn(async move { run_one(&waiting, "trip__wait", json!({})).await });
    probe.entered.notified().await;
    let result = run_one(&executor, "trip__stay", json!({ "city": "oslo", "days": 0 })).await;
    assert_eq!((result.text().as_ref(), result.attempts), ("Denied: not at all", 0));
    probe.released.cancel();
    assert_eq!(waiting.await.unwrap().text(), "1");
    worker.abort();
}

/// Never ready.
async fn hang(_: ModelRequest) -> Result<(), ToolError> {
    std::future::pending().await
}

/// Hangs before each request.
#[tool(read_only, register = false, on_request = hang)]
fn hanging() {}

#[tokio::test(start_paused = true)]
async fn a_worker_takes_a_bounded_number_of_steps_at_once() {
    let transport = MemoryTransport::new();
    let ran = Arc::new(Ran::default());
    let tools = Registry::builder().tool::<hanging>().tool::<stay>().provide_shared(Arc::clone(&ran));
    let worker = serve(&transport, "trip", Executor::new(tools.build().unwrap()));
    let (executor, _toolbox) = connect(&transport, "trip").await;
    let asking: Vec<_> = (0..64)
        .map(|_| {
            let tools = executor.tools().clone();
            tokio::spawn(async move { additions(&tools).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let stay = || run_one(&executor, "trip__stay", json!({ "city": "oslo", "days": 2 }));
    let result = stay().await;
    assert!(result.text().contains("prepares 64 calls at once"), "{}", result.text());
    for asked in asking {
        assert_eq!(asked.await.unwrap().notices.len(), 1);
    }
    assert_eq!(stay().await.text(), "2 days in OSLO");
    worker.abort();
}

fn twice(arguments: &mut Map<String, Value>) -> Result<(), ToolError> {
    if let Some(days) = arguments.get("days").and_then(Value::as_u64) {
        arguments.insert("days".to_owned(), json!(days * 2));
    }
    Ok(())
}

/// Doubles.
#[tool(register = false, prepare = twice)]
fn double(days: u32) -> u32 {
    days
}

#[tokio::test(start_paused = true)]
async fn a_prepare_function_that_changes_its_own_result_is_an_error_that_says_so() {
    let transport = MemoryTransport::new();
    let worker =
        serve(&transport, "trip", Executor::new(Registry::builder().tool::<double>().build().unwrap()));
    let (executor, _toolbox) = connect(&transport, "trip").await;
    let result = run_one(&executor, "trip__double", json!({ "days": 2 })).await;
    assert!(result.text().contains("must return its own result unchanged"), "{}", result.text());
    assert_eq!(result.attempts, 0);
    worker.abort();
}
