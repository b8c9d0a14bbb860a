//! A hundred workers in ten processes, five thousand tools in twenty pools, and a process that is killed each two seconds, over NATS.
//!
//! Prints the figures, and fails beyond a bar: `cargo test --release -p tool-fleet --features nats --test scale -- --ignored --nocapture`.
//! `SCALE_CALLS` is the number of calls, by default 100,000.

#![cfg(all(feature = "nats", unix))]
#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use std::{
    collections::BTreeMap,
    env, fs,
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Command, Stdio},
    time::Duration,
};

use fastrand::Rng;
use futures_util::{StreamExt as _, future::join_all, stream};
use test_support::nats::{Server, reported};
use tokio::time::{Instant, sleep};
use tool_fleet::{FleetToolSet, NatsTransport, Worker};
use tool_runtime::{
    CancellationToken, Executor, RunContext, ToolBuilder, ToolCall, Toolbox,
    definition::Metadata,
    open_calls::{PoolKey, ProgramKey},
    prelude::*,
};

const POOLS: usize = 20;
const TOOLS_PER_POOL: usize = 250;
const WORKERS_PER_PROCESS: usize = 10;
const PROCESSES: usize = 10;
const CALLS: usize = 100_000;
const CALLS_IN_FLIGHT: usize = 64;
/// Of so many tools, one has effects, and the others are read-only.
const TOOLS_PER_EFFECT: usize = 10;

/// The time between two kills, and from a kill to the start of the next process.
const KILL_INTERVAL: Duration = Duration::from_secs(2);
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// The bars.
const MAX_LISTING_TIME: Duration = Duration::from_secs(2);
const MAX_RESIDENT_KILOBYTES: u64 = 200 * 1024;

/// The URL of the broker, and the number of a process.
const PROCESS_VARIABLE: &str = "TOOL_FLEET_SCALE_PROCESS";

/// The arguments of the tools.
#[tool_args]
struct Work {
    number: usize,
}

fn pool_name(pool: usize) -> String {
    format!("pool{pool}")
}

fn pool_key(pool: usize) -> PoolKey {
    ProgramKey::new([7; 32]).pool_key(&pool_name(pool))
}

fn has_effects(tool: usize) -> bool {
    tool.is_multiple_of(TOOLS_PER_EFFECT)
}

/// The tools of each worker, which take 1 ms.
fn registry() -> Registry {
    let tools = (0..TOOLS_PER_POOL).map(|tool| {
        let work = |work: Work, _| async move {
            sleep(Duration::from_millis(1)).await;
            Ok::<_, ToolError>(work.number)
        };
        let metadata = Metadata { read_only: Some(!has_effects(tool)), ..Metadata::default() };
        ToolBuilder::new(format!("work{tool}"))
            .description("Works for a millisecond.")
            .metadata(metadata)
            .expect_handler(work)
    });
    tools.fold(Registry::builder(), |builder, tool| builder.add(tool)).build().unwrap()
}

/// The workers of a process; without the variable, nothing.
#[tokio::test]
async fn workers_of_a_process() {
    let Ok(process) = env::var(PROCESS_VARIABLE) else { return };
    // It ends with the process that started it.
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(3);
    });
    let (url, process) = process.split_once(' ').unwrap();
    let process: usize = process.parse().unwrap();
    let transport = NatsTransport::connect(url).await.unwrap();
    let tools = registry();
    let workers = (0..WORKERS_PER_PROCESS).map(|worker| {
        // Those of one pool are in different processes.
        let pool = (process * WORKERS_PER_PROCESS + worker) % POOLS;
        let worker = Worker::new(Executor::new(tools.clone()), pool_key(pool));
        worker.serve(transport.clone(), CancellationToken::new())
    });
    println!("\nserving");
    for ended in join_all(workers).await {
        ended.unwrap();
    }
}

/// A process with workers, which is killed when it is dropped.
struct Process(Child);

impl Process {
    fn start(url: &str, number: usize) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["workers_of_a_process", "--exact", "--nocapture"]);
        command.env(PROCESS_VARIABLE, format!("{url} {number}"));
        Self(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap())
    }

    fn wait_until_serving(&mut self) {
        let mut output = BufReader::new(self.0.stdout.take().unwrap());
        let mut line = String::new();
        while line.trim() != "serving" {
            line.clear();
            assert_ne!(output.read_line(&mut line).unwrap(), 0, "a process with workers has ended");
        }
    }

    fn max_resident_kilobytes(&self) -> u64 {
        max_resident_kilobytes(&self.0.id().to_string())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The most memory that a process had so far; 0 where the system does not say.
fn max_resident_kilobytes(process: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse().unwrap())
}

/// The figures of the kills.
#[derive(Default)]
struct Kills {
    count: usize,
    max_resident_kilobytes: u64,
}

/// Kills a process after another until all calls have ended, and starts the next one in its place.
async fn kill_until(url: &str, mut processes: Vec<Process>, stop: &CancellationToken) -> Kills {
    let mut rng = Rng::with_seed(1);
    let mut kills = Kills::default();
    let mut next = Instant::now() + KILL_INTERVAL;
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(next) => {}
            () = stop.cancelled() => break,
        }
        let killed = rng.usize(..processes.len());
        kills.max_resident_kilobytes =
            kills.max_resident_kilobytes.max(processes[killed].max_resident_kilobytes());
        drop(processes[killed].0.kill());
        kills.count += 1;
        sleep(RESTART_PAUSE).await;
        processes[killed] = Process::start(url, killed);
        next += KILL_INTERVAL;
    }
    let resident = processes.iter().map(Process::max_resident_kilobytes).max();
    kills.max_resident_kilobytes = kills.max_resident_kilobytes.max(resident.unwrap_or_default());
    kills
}

/// Lists the tools of all pools; returns them with the time since the start of the caller.
async fn list_tools(url: &str) -> (Executor, Toolbox, Duration) {
    let start = Instant::now();
    let toolbox = Toolbox::new();
    toolbox.strict_listing(true);
    for pool in 0..POOLS {
        let transport = NatsTransport::connect(url).await.unwrap();
        toolbox.add_toolset(FleetToolSet::connect(transport, pool_key(pool)).await.unwrap()).unwrap();
    }
    let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
    assert_eq!(tools.len(), POOLS * TOOLS_PER_POOL);
    (Executor::new(tools), toolbox, start.elapsed())
}

/// Makes all calls; returns the number of each text that is no result, by whether their tool has effects.
async fn make_calls(executor: &Executor, calls: usize) -> BTreeMap<(bool, String), usize> {
    let mut rng = Rng::with_seed(2);
    let call = |number: usize| {
        let (pool, tool) = (rng.usize(..POOLS), rng.usize(..TOOLS_PER_POOL));
        let name = format!("{}__work{tool}", pool_name(pool));
        async move {
            let outcomes = executor.run(vec![ToolCall::new(name, json!({ "number": number }))]).await;
            let result = outcomes[0].result().unwrap();
            let text = result.text().to_string();
            (result.is_error() || text != number.to_string()).then_some((has_effects(tool), text))
        }
    };
    let mut failed = BTreeMap::new();
    let mut outcomes = stream::iter((0..calls).map(call)).buffer_unordered(CALLS_IN_FLIGHT);
    let mut count = 0;
    while let Some(failure) = outcomes.next().await {
        count += 1;
        if let Some(failure) = failure {
            *failed.entry(failure).or_default() += 1;
        }
    }
    assert_eq!(count, calls);
    failed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it takes some minutes"]
async fn a_hundred_workers_of_which_ten_are_killed_each_two_seconds_answer_all_calls() {
    let Some(server) = reported(Server::start()) else { return };
    let url = server.url();
    let calls = env::var("SCALE_CALLS").map_or(CALLS, |calls| calls.parse().unwrap());
    let mut processes: Vec<_> = (0..PROCESSES).map(|number| Process::start(url, number)).collect();
    processes.iter_mut().for_each(Process::wait_until_serving);
    let (executor, _toolbox, listing) = list_tools(url).await;
    println!("{} tools listed within {listing:?}", executor.tools().len());

    let (start, stop) = (Instant::now(), CancellationToken::new());
    let calling = async {
        let failed = make_calls(&executor, calls).await;
        stop.cancel();
        failed
    };
    let (failed, kills) = tokio::join!(calling, kill_until(url, processes, &stop));
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{calls} calls in {seconds:.1} s, {:.0} a second, {} kills",
        calls as f64 / seconds,
        kills.count
    );
    for ((has_effects, text), count) in &failed {
        println!("{count} without a result, with effects: {has_effects}: {text}");
    }
    let caller = max_resident_kilobytes("self");
    println!(
        "most memory of a worker process {} kB, of the caller {caller} kB",
        kills.max_resident_kilobytes
    );

    assert!(failed.keys().all(|(has_effects, _)| *has_effects), "a read-only tool has no result");
    assert!(
        failed.keys().all(|(_, text)| text.contains("may have taken effect")),
        "an outcome without a reason"
    );
    assert!(listing <= MAX_LISTING_TIME, "{listing:?}");
    assert!(kills.max_resident_kilobytes.max(caller) <= MAX_RESIDENT_KILOBYTES);
}
