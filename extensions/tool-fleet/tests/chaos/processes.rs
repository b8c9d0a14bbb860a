//! Workers and callers in processes of their own, behind a broker of the test alone: all of them are killed, stopped and continued, and workers receive SIGTERM.

use std::{
    env,
    io::Read as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use fastrand::Rng;
use tokio::signal::unix::{SignalKind, signal};
use tool_fleet::Worker;
use tool_runtime::{CancellationToken, Executor};

use crate::{
    Connections, HEARTBEAT,
    bodies::{Bodies, registry},
    broker::{Broker, Files, connect},
    caller::Caller,
    checks::{Disturbance, Run, Target},
    collector::collect_ends,
    lines::{Clock, Folder},
    pool_key,
    process::{BROKER_VARIABLE, Process, ROLE_VARIABLE},
    queue::ChaosQueue,
    run_time, seeds,
};

/// The clock of the machine.
const SYSTEM_CLOCK: Clock = Clock(None);

const WORKERS: usize = 4;
const CALLERS: usize = 3;

/// The longest time that a broker takes to answer again.
const BROKER_START: Duration = Duration::from_secs(10);

/// The time after the end of a run in which all is quiet: calls that were begun have ended, and workers have no more.
const QUIET_AFTER: Duration = Duration::from_secs(10);

/// A process of this file's tests; without the variable, nothing.
#[tokio::test]
async fn process_of_a_run() {
    let Ok(role) = env::var(ROLE_VARIABLE) else { return };
    // It ends with the process that started it.
    thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(3);
    });
    let stop = CancellationToken::new();
    let mut terminated = signal(SignalKind::terminate()).unwrap();
    let stopping = stop.clone();
    tokio::spawn(async move {
        terminated.recv().await;
        stopping.cancel();
    });
    let [role, name, seed, folder] = role.split(' ').collect::<Vec<_>>()[..] else { panic!("{role}") };
    let folder = PathBuf::from(folder);
    let connected = connect_until_stopped(&env::var(BROKER_VARIABLE).unwrap(), &stop).await;
    let Some(connections) = connected else { return };
    match role {
        "worker" => serve(connections, (&folder, name), stop).await,
        _ => call(connections, (&folder, name), stop, seed.parse().unwrap()).await,
    }
}

/// Connects once the broker is there.
async fn connect_until_stopped(address: &str, stop: &CancellationToken) -> Option<Connections> {
    while !stop.is_cancelled() {
        if let Ok(connections) = connect(address).await {
            return Some(connections);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    None
}

async fn serve(
    Connections { transport, queue }: Connections,
    (folder, name): (&Path, &str),
    stop: CancellationToken,
) {
    let bodies = Bodies::new(folder, name.to_owned(), SYSTEM_CLOCK);
    while !stop.is_cancelled() {
        let worker = Worker::new(Executor::new(registry(&bodies)), pool_key());
        let worker = worker.heartbeat(HEARTBEAT).drain(QUIET_AFTER).queue(queue.clone());
        // A worker that starts while the broker is away ends, and its supervisor starts it again.
        match worker.serve(transport.clone(), stop.clone()).await {
            Ok(()) => break,
            Err(error) => eprintln!("a worker has ended: {error}"),
        }
    }
    assert_eq!(bodies.running(), 0);
}

async fn call(connections: Connections, (folder, name): (&Path, &str), stop: CancellationToken, seed: u64) {
    let queue = connections.queue.clone();
    let make_queue = || ChaosQueue::new(queue.clone()).noting_removals(folder, name);
    let connecting = Caller::connect(connections, make_queue, folder, name.to_owned(), SYSTEM_CLOCK);
    let caller = tokio::select! { caller = connecting => caller, () = stop.cancelled() => return };
    caller.run(&stop, &mut Rng::with_seed(seed)).await;
}

/// The end of a disturbance.
enum Undo {
    /// Starts another process in place of one that was killed.
    Start {
        role: &'static str,
    },
    /// Continues a process, unless it was killed meanwhile.
    Continue {
        process: u32,
        from: u64,
    },
    StartBroker {
        from: u64,
    },
    ContinueBroker {
        from: u64,
    },
}

/// The processes of a run.
struct Processes {
    rng: Rng,
    folder: Folder,
    address: String,
    broker: Broker,
    files: Files,
    /// `false` while the broker is away or stopped.
    has_broker: bool,
    processes: Vec<Process>,
    /// The workers that leave.
    leaving: Vec<Process>,
    undo: Vec<(Instant, Undo)>,
    disturbances: Vec<Disturbance>,
}

impl Processes {
    fn start(seed: u64, broker: Broker, files: Files) -> Self {
        let mut run = Self {
            rng: Rng::with_seed(seed),
            folder: Folder::new(&format!("{}-{seed}", broker.name())),
            address: broker.address(),
            broker,
            files,
            has_broker: true,
            processes: Vec::new(),
            leaving: Vec::new(),
            undo: Vec::new(),
            disturbances: Vec::new(),
        };
        (0..WORKERS).for_each(|_| run.start_process("worker"));
        (0..CALLERS).for_each(|_| run.start_process("caller"));
        run
    }

    fn start_process(&mut self, role: &str) {
        let seed = self.rng.u64(..);
        self.processes.push(Process::start(role, seed, self.folder.path(), &self.address));
    }

    fn note_disturbance(&mut self, target: Target, from: u64) {
        self.disturbances.push(Disturbance { target, from, until: SYSTEM_CLOCK.millis() });
    }

    fn undo_in(&mut self, max_millis: u64, undo: Undo) {
        let time = Duration::from_millis(self.rng.u64(100..max_millis));
        self.undo.push((Instant::now() + time, undo));
    }

    fn disturb_until(&mut self, end: Instant) {
        while Instant::now() < end {
            let pause = Instant::now() + Duration::from_millis(self.rng.u64(100..1200));
            while Instant::now() < pause {
                thread::sleep(Duration::from_millis(20));
                self.undo_due(Instant::now());
            }
            self.disturb();
        }
        // All goes on, and nothing is disturbed any more.
        while let Some((last, _)) = self.undo.iter().max_by_key(|it| it.0) {
            let last = *last;
            self.undo_due(last);
        }
        self.wait_for_broker();
    }

    /// Waits until the broker answers a new connection. One that does not (seen of NATS 2.9.10 after its files were deleted) is killed and started
    /// again, which is a line of the run.
    fn wait_for_broker(&mut self) {
        let from = SYSTEM_CLOCK.millis();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let is_connected = |address: &str| {
            runtime.block_on(async {
                let never = CancellationToken::new();
                tokio::time::timeout(BROKER_START, connect_until_stopped(address, &never)).await.is_ok()
            })
        };
        if !is_connected(&self.address) {
            println!("{} hangs, and is started again", self.broker.name());
            self.broker.kill();
            self.broker.start(self.files);
            assert!(
                is_connected(&self.address),
                "the broker does not answer within {BROKER_START:?} of its start"
            );
            if self.files == Files::Deleted {
                self.note_disturbance(Target::BrokerFiles, from);
            }
            self.note_disturbance(Target::Broker, from);
        }
    }

    fn disturb(&mut self) {
        let from = SYSTEM_CLOCK.millis();
        let draw = self.rng.u8(..10);
        if draw >= 8 {
            if self.has_broker {
                self.disturb_broker(draw == 8, from);
            }
            return;
        }
        if self.processes.is_empty() {
            return;
        }
        let chosen = self.rng.usize(..self.processes.len());
        let process = &self.processes[chosen];
        let stopped_since = self.undo.iter().find_map(|(_, it)| match it {
            Undo::Continue { process: id, from } if *id == process.id() => Some(*from),
            _ => None,
        });
        // Of callers that are killed, few outcomes are seen.
        let is_ended = draw < 4 && (process.is_worker || self.rng.bool());
        if is_ended {
            let ended = self.processes.swap_remove(chosen);
            let role = if ended.is_worker { "worker" } else { "caller" };
            self.undo_in(1000, Undo::Start { role });
            if draw == 3 && ended.is_worker && stopped_since.is_none() {
                // No call has another end because of it.
                ended.send_signal("-TERM");
                self.leaving.push(ended);
            } else {
                let target = ended.target();
                drop(ended);
                // One that was stopped was away since then.
                self.note_disturbance(target, stopped_since.unwrap_or(from));
            }
        } else if stopped_since.is_none() {
            process.send_signal("-STOP");
            let process = process.id();
            self.undo_in(4000, Undo::Continue { process, from });
        }
    }

    fn disturb_broker(&mut self, is_killed: bool, from: u64) {
        self.has_broker = false;
        if is_killed {
            self.broker.kill();
            self.undo_in(3000, Undo::StartBroker { from });
        } else {
            self.broker.pause();
            self.undo_in(3000, Undo::ContinueBroker { from });
        }
    }

    /// Ends the disturbances whose time is over.
    fn undo_due(&mut self, now: Instant) {
        let undo = std::mem::take(&mut self.undo);
        let (due, later) = undo.into_iter().partition(|(time, _)| *time <= now);
        self.undo = later;
        let due: Vec<(Instant, Undo)> = due;
        for (_, undo) in due {
            match undo {
                Undo::Start { role } => self.start_process(role),
                Undo::Continue { process, from } => {
                    let stopped = self.processes.iter().find(|it| it.id() == process);
                    if let Some(target) = stopped.map(Process::target) {
                        stopped.into_iter().for_each(|it| it.send_signal("-CONT"));
                        self.note_disturbance(target, from);
                    }
                }
                Undo::StartBroker { from } => {
                    self.broker.start(self.files);
                    self.has_broker = true;
                    self.note_disturbance(Target::Broker, from);
                    if self.files == Files::Deleted {
                        self.note_disturbance(Target::BrokerFiles, from);
                    }
                }
                Undo::ContinueBroker { from } => {
                    self.broker.resume();
                    self.has_broker = true;
                    self.note_disturbance(Target::Broker, from);
                }
            }
        }
    }

    /// Reads and removes the ends of durable calls that no caller has taken.
    fn collect_ends(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let Connections { queue, .. } = connect(&self.address).await.unwrap();
            collect_ends(queue, self.folder.path(), SYSTEM_CLOCK, QUIET_AFTER).await;
        });
    }

    /// Ends the callers, then the workers, and checks the lines of the run.
    fn end(mut self) -> String {
        let (mut workers, mut callers): (Vec<_>, Vec<_>) =
            self.processes.drain(..).partition(|process| process.is_worker);
        callers.iter().for_each(|caller| caller.send_signal("-TERM"));
        let alive: Vec<_> = callers.iter().map(|caller| caller.name.clone()).collect();
        // A call may go to three workers, and the last ones have their time, too.
        let deadline = Instant::now() + 3 * QUIET_AFTER;
        callers.iter_mut().for_each(|caller| caller.wait_until(deadline));
        self.collect_ends();
        workers.iter().for_each(|worker| worker.send_signal("-TERM"));
        workers.append(&mut self.leaving);
        let deadline = Instant::now() + QUIET_AFTER;
        workers.iter_mut().for_each(|worker| worker.wait_until(deadline));
        self.broker.check_empty();
        Run::read(self.folder.path(), self.disturbances).check(|caller| alive.iter().any(|it| it == caller))
    }
}

/// The time of a run, in seconds.
const SECONDS: u64 = 20;

/// Runs the seeds beside each other, each with a broker of its own.
fn run_seeds(default: &[u64], files: Files, start: impl Fn() -> Option<Broker> + Sync) {
    let run_seed = |seed: u64| {
        let Some(broker) = start() else { return };
        let name = broker.name();
        println!("{name}, files {files:?}: CHAOS_SEED={seed}");
        let mut run = Processes::start(seed, broker, files);
        run.disturb_until(Instant::now() + run_time(SECONDS));
        println!("{name}, files {files:?}, seed {seed}: {}", run.end());
    };
    thread::scope(|scope| {
        seeds(default).into_iter().for_each(|seed| drop(scope.spawn(move || run_seed(seed))))
    });
}

fn start_nats() -> Option<Broker> {
    test_support::nats::reported(test_support::nats::Server::start_with_jetstream()).map(Broker::Nats)
}

fn start_postgres() -> Option<Broker> {
    test_support::postgres::reported(test_support::postgres::Server::start()).map(Broker::Postgres)
}

#[test]
#[ignore = "it takes half a minute"]
fn processes_that_end_and_stop_at_random_double_and_lose_no_call_over_nats() {
    run_seeds(&[1, 2, 3], Files::Kept, start_nats);
}

#[test]
#[ignore = "it takes half a minute"]
fn processes_that_end_and_stop_at_random_double_and_lose_no_call_over_postgres() {
    run_seeds(&[1, 2, 3], Files::Kept, start_postgres);
}

#[test]
#[ignore = "it takes half a minute"]
fn calls_of_which_the_broker_has_lost_all_are_interrupted_and_not_doubled_over_postgres() {
    run_seeds(&[4, 5], Files::Deleted, start_postgres);
}

#[test]
#[ignore = "it takes half a minute"]
fn calls_of_which_the_broker_has_lost_all_are_interrupted_and_not_doubled_over_nats() {
    run_seeds(&[4, 5], Files::Deleted, start_nats);
}
