//! The time of a call of two integers by a worker in another process: over NATS as against a request and its reply by hand, of the same bytes, and
//! over Postgres.
//!
//! Prints what it measures, and fails beyond a bar: `cargo bench -p tool-fleet --features nats,postgres --bench calls`. Needs a server of NATS and
//! Postgres, as the tests do. `SESSION_FSYNC=on` makes the database wait for the disk.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a measurement fails by panicking")]

use std::{
    env, fmt, fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, Command, ExitCode, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::StreamExt as _;
use test_support::{
    nats::Server as Nats,
    postgres::{Server as Postgres, new_schema, reported},
};
use tokio::{runtime::Runtime, task::JoinSet};
use tool_fleet::{
    Deliveries, FleetError, FleetToolSet, NatsTransport, PostgresOptions, PostgresTransport, Transport,
    Worker,
};
use tool_runtime::{
    BoxFuture, CancellationToken, Executor, RunContext, ToolCall, Toolbox, open_calls::ProgramKey, prelude::*,
};

const POOL: &str = "sums";
const SUBJECT_BY_HAND: &str = "by-hand";

/// The calls of one measurement, of which the rounds alternate.
const CALLS: usize = 1_000;
const ROUNDS: usize = 9;

/// The most that a call over NATS takes, as against a request by hand, by the number of calls in flight.
const MAX_RATIOS: [(usize, f64); 2] = [(1, 1.3), (64, 2.0)];
/// The longest median of a call over Postgres.
const MAX_POSTGRES_TIME: Duration = Duration::from_millis(3);
/// The least number of calls in a second over Postgres, with 64 in flight.
const MIN_POSTGRES_CALLS: f64 = 1_000.0;

/// Adds two numbers.
#[tool(read_only, register = false)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Adds two numbers, with an effect for all that a worker knows.
#[tool(register = false)]
fn add_once(a: i64, b: i64) -> i64 {
    a + b
}

/// A process that answers until it is dropped.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl Peer {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        let mut child = command.args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n");
        Self(child)
    }

    /// Returns the time that the process has used of the processor; `None` where the system does not say.
    fn cpu_time(&self) -> Option<Duration> {
        cpu_time_of(&self.0.id().to_string())
    }
}

/// Reads the clock ticks of a process, of which a second has 100.
fn cpu_time_of(process: &str) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // After the name of the program, which may have blanks.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}

/// A transport that notes the sizes of messages.
#[derive(Clone)]
struct MeasuringTransport {
    inner: NatsTransport,
    /// The size of the last message that was sent.
    sent: Arc<AtomicUsize>,
    /// The size of the largest one that was received, since it was set to 0.
    received: Arc<AtomicUsize>,
}

impl Transport for MeasuringTransport {
    fn send<'a>(
        &'a self,
        subject: &'a str,
        reply: Option<&'a str>,
        body: Bytes,
    ) -> BoxFuture<'a, Result<(), FleetError>> {
        self.sent.store(body.len(), Ordering::Relaxed);
        self.inner.send(subject, reply, body)
    }

    fn listen<'a>(
        &'a self,
        pattern: &'a str,
        group: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Deliveries, FleetError>> {
        let received = Arc::clone(&self.received);
        Box::pin(async move {
            let deliveries = self.inner.listen(pattern, group).await?;
            let note = move |delivery: tool_fleet::Delivery| {
                if let tool_fleet::Payload::Body(body) = &delivery.payload {
                    received.fetch_max(body.len(), Ordering::Relaxed);
                }
                delivery
            };
            Ok(deliveries.map(note).boxed())
        })
    }

    fn max_bytes(&self) -> usize {
        self.inner.max_bytes()
    }
}

/// The tools of the worker, in this process.
struct Caller {
    executor: Executor,
    _toolbox: Toolbox,
}

impl Caller {
    async fn connect(transport: impl Transport) -> Self {
        let key = ProgramKey::new([7; 32]).pool_key(POOL);
        let toolbox = Toolbox::new();
        toolbox.add_toolset(FleetToolSet::connect(transport, key).await.unwrap()).unwrap();
        let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
        Self { executor: Executor::new(tools), _toolbox: toolbox }
    }

    async fn add(&self, tool: &str, number: usize) {
        let call = ToolCall::new(format!("{POOL}__{tool}"), json!({ "a": number, "b": 1 }));
        let outcomes = self.executor.run(vec![call]).await;
        assert_eq!(outcomes[0].result().unwrap().text(), (number + 1).to_string());
    }
}

/// Returns the mean time of an operation, of which `in_flight` go on at once.
async fn time_of<F: Future<Output = ()> + Send + 'static>(
    in_flight: usize,
    operation: impl Fn(usize) -> F + Clone + Send + 'static,
) -> Duration {
    let (mut tasks, start) = (JoinSet::new(), Instant::now());
    for _ in 0..in_flight {
        let operation = operation.clone();
        tasks.spawn(async move {
            for number in 0..CALLS / in_flight {
                operation(number).await;
            }
        });
    }
    tasks.join_all().await;
    start.elapsed() / u32::try_from(CALLS / in_flight * in_flight).unwrap()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The time of both processes.
#[derive(Clone, Copy)]
struct CpuTimes {
    caller: Option<Duration>,
    peer: Option<Duration>,
}

impl CpuTimes {
    fn now(peer: &Peer) -> Self {
        Self { caller: cpu_time_of("self"), peer: peer.cpu_time() }
    }

    const ZERO: Self = Self { caller: Some(Duration::ZERO), peer: Some(Duration::ZERO) };

    /// Adds the time since `before`: one round has few ticks.
    fn add_since(&mut self, before: &Self, peer: &Peer) {
        let now = Self::now(peer);
        let add = |sum: Option<Duration>, before: Option<Duration>, now: Option<Duration>| {
            Some(sum? + now?.saturating_sub(before?))
        };
        self.caller = add(self.caller, before.caller, now.caller);
        self.peer = add(self.peer, before.peer, now.peer);
    }

    fn of_each_call(self, calls: usize) -> Self {
        let calls = u32::try_from(calls).unwrap();
        Self { caller: self.caller.map(|it| it / calls), peer: self.peer.map(|it| it / calls) }
    }
}

impl fmt::Display for CpuTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.caller, self.peer) {
            (Some(caller), Some(peer)) => {
                write!(f, "processor: {caller:.1?} a call here, {peer:.1?} at the other side")
            }
            _ => f.write_str("processor: not known here"),
        }
    }
}

/// Measures calls over NATS, and returns `false` beyond the bar.
async fn measure_nats(url: &str) -> bool {
    let worker = Peer::start(&["worker", "nats", url]);
    let (sent, received) = (Arc::default(), Arc::default());
    let inner = NatsTransport::connect(url).await.unwrap();
    let transport = MeasuringTransport { inner, sent, received };
    let caller = Arc::new(Caller::connect(transport.clone()).await);
    caller.add("add", 1).await;
    transport.received.store(0, Ordering::Relaxed);
    caller.add("add", 1).await;
    let bytes = (transport.sent.load(Ordering::Relaxed), transport.received.load(Ordering::Relaxed));
    println!("over NATS: a call of {} bytes, and a result of {}", bytes.0, bytes.1);
    let hand = Peer::start(&["hand", url, &bytes.1.to_string()]);
    let client = async_nats::connect(url).await.unwrap();
    let request = Bytes::from(vec![7; bytes.0]);
    let by_hand = move |_: usize| {
        let (client, request) = (client.clone(), request.clone());
        async move {
            let reply = client.request(SUBJECT_BY_HAND, request).await.unwrap();
            assert_eq!(reply.payload.len(), bytes.1);
        }
    };
    let call = |tool: &'static str| {
        let caller = Arc::clone(&caller);
        move |number| {
            let caller = Arc::clone(&caller);
            async move { caller.add(tool, number).await }
        }
    };
    let mut is_within = true;
    for (in_flight, max_ratio) in MAX_RATIOS {
        let (mut by_hand_times, mut times, mut effect_times) = (Vec::new(), Vec::new(), Vec::new());
        let (mut by_hand_cpu, mut cpu) = (CpuTimes::ZERO, CpuTimes::ZERO);
        for _ in 0..ROUNDS {
            let before = CpuTimes::now(&hand);
            by_hand_times.push(time_of(in_flight, by_hand.clone()).await);
            by_hand_cpu.add_since(&before, &hand);
            let before = CpuTimes::now(&worker);
            times.push(time_of(in_flight, call("add")).await);
            cpu.add_since(&before, &worker);
            effect_times.push(time_of(in_flight, call("add_once")).await);
        }
        let (by_hand, time, with_effect) = (median(by_hand_times), median(times), median(effect_times));
        let ratio = time.as_secs_f64() / by_hand.as_secs_f64();
        println!(
            "{in_flight:>2} in flight: {by_hand:.1?} by hand, {time:.1?} a call: {ratio:.2} (bar {max_ratio}); {with_effect:.1?} with an effect"
        );
        let [by_hand_cpu, cpu] = [by_hand_cpu, cpu].map(|cpu| cpu.of_each_call(ROUNDS * CALLS));
        println!("   by hand, {by_hand_cpu}; a call, {cpu}");
        is_within &= ratio <= max_ratio;
    }
    is_within
}

async fn postgres(url: &str, schema: &str) -> PostgresTransport {
    PostgresOptions::new(url).unwrap().schema(schema).unwrap().connect().await.unwrap()
}

/// Measures calls over Postgres, and returns `false` beyond a bar.
async fn measure_postgres(url: &str) -> bool {
    let schema = new_schema();
    let worker = Peer::start(&["worker", "postgres", url, &schema]);
    let caller = Arc::new(Caller::connect(postgres(url, &schema).await).await);
    let call = move |number| {
        let caller = Arc::clone(&caller);
        async move { caller.add("add", number).await }
    };
    let before = CpuTimes::now(&worker);
    let (mut one, mut many) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        one.push(time_of(1, call.clone()).await);
        many.push(time_of(64, call.clone()).await);
    }
    let mut cpu = CpuTimes::ZERO;
    cpu.add_since(&before, &worker);
    let cpu = cpu.of_each_call(2 * ROUNDS * CALLS);
    let (one, many) = (median(one), median(many));
    let rate = 1.0 / many.as_secs_f64();
    println!(
        "over Postgres: {one:.1?} a call with 1 in flight (bar {MAX_POSTGRES_TIME:?}), {rate:.0} calls a second with 64 (bar {MIN_POSTGRES_CALLS}); {cpu}"
    );
    one <= MAX_POSTGRES_TIME && rate >= MIN_POSTGRES_CALLS
}

fn report_ready() {
    println!("ready");
    std::io::stdout().flush().unwrap();
}

async fn work(transport: impl Transport) {
    let tools = Registry::builder().tool::<add>().tool::<add_once>().build().unwrap();
    let worker = Worker::new(Executor::new(tools), ProgramKey::new([7; 32]).pool_key(POOL)).slots(64);
    let mut state = worker.watch_state();
    let serving = tokio::spawn(worker.serve(transport, CancellationToken::new()));
    state.wait_for(|state| *state == tool_fleet::WorkerState::Serving).await.unwrap();
    report_ready();
    serving.await.unwrap().unwrap();
}

async fn answer_by_hand(url: &str, bytes: usize) {
    let client = async_nats::connect(url).await.unwrap();
    let mut requests = client.queue_subscribe(SUBJECT_BY_HAND, "workers".to_owned()).await.unwrap();
    client.flush().await.unwrap();
    report_ready();
    let answer = Bytes::from(vec![7; bytes]);
    while let Some(request) = requests.next().await {
        client.publish(request.reply.unwrap(), answer.clone()).await.unwrap();
    }
}

fn main() -> ExitCode {
    let runtime = Runtime::new().unwrap();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["hand", url, bytes] => runtime.block_on(answer_by_hand(url, bytes.parse().unwrap())),
        ["worker", "nats", url] => {
            runtime.block_on(async { work(NatsTransport::connect(url).await.unwrap()).await });
        }
        ["worker", "postgres", url, schema] => {
            runtime.block_on(async { work(postgres(url, schema).await).await });
        }
        _ => {
            let nats = Nats::start().is_none_or(|nats| runtime.block_on(measure_nats(nats.url())));
            let postgres = reported(Postgres::start())
                .is_none_or(|postgres| runtime.block_on(measure_postgres(&postgres.url())));
            if !(nats && postgres) {
                println!("a figure is beyond its bar");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
