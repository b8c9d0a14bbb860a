//! Workers and callers as tasks on a paused clock, behind a broker and a queue in memory that are away at times, and that have faults.

use std::{sync::Arc, time::Duration};

use fastrand::Rng;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};
use tool_fleet::{FleetError, MemoryCallQueue, Worker};
use tool_runtime::{CancellationToken, Executor};

use crate::{
    Connections, HEARTBEAT, POOL,
    bodies::{Bodies, registry},
    caller::Caller,
    checks::{Disturbance, Run, Target},
    collector::collect_ends,
    faults::Faults,
    lines::{Clock, Folder},
    pool_key,
    queue::ChaosQueue,
    run_time, seeds,
};

const WORKERS: usize = 4;
const CALLERS: usize = 3;

/// The time in which all is quiet after the end of a run.
const QUIET_AFTER: Duration = Duration::from_secs(10);

struct WorkerTask {
    name: String,
    bodies: Arc<Bodies>,
    stop: CancellationToken,
    serving: JoinHandle<Result<(), FleetError>>,
}

impl WorkerTask {
    async fn check_end(self) {
        timeout(QUIET_AFTER, self.serving).await.unwrap().unwrap().unwrap();
        assert_eq!(self.bodies.running(), 0);
    }
}

struct CallerTask {
    name: String,
    calling: JoinHandle<()>,
}

/// The tasks of a run.
struct Tasks {
    rng: Rng,
    folder: Folder,
    clock: Clock,
    faults: Faults,
    connections: Connections,
    stop: CancellationToken,
    workers: Vec<WorkerTask>,
    callers: Vec<CallerTask>,
    started: usize,
    /// The workers that leave.
    leaving: Vec<WorkerTask>,
    /// The bodies of workers that ended without a word, if they may still run.
    ended: Vec<Arc<Bodies>>,
    disturbances: Vec<Disturbance>,
}

impl Tasks {
    fn start(seed: u64, per_mille: u16) -> Self {
        // The choices of the transport and of callers.
        fastrand::seed(seed);
        let mut rng = Rng::with_seed(seed);
        let faults = Faults::new(rng.fork(), per_mille);
        let (transport, queue) = (Arc::new(faults.broker()), Arc::new(MemoryCallQueue::new(POOL)));
        let clock = Clock(Some(Instant::now()));
        let mut tasks = Self {
            rng,
            folder: Folder::new(&format!("memory-{seed}")),
            clock,
            faults,
            connections: Connections { transport, queue },
            stop: CancellationToken::new(),
            workers: Vec::new(),
            callers: Vec::new(),
            started: 0,
            leaving: Vec::new(),
            ended: Vec::new(),
            disturbances: Vec::new(),
        };
        tasks.workers = (0..WORKERS).map(|_| tasks.start_worker()).collect();
        tasks.callers = (0..CALLERS).map(|_| tasks.start_caller()).collect();
        tasks
    }

    fn start_worker(&mut self) -> WorkerTask {
        self.started += 1;
        let name = format!("worker{}", self.started);
        let bodies = Bodies::new(self.folder.path(), name.clone(), self.clock);
        let worker = Worker::new(Executor::new(registry(&bodies)), pool_key()).heartbeat(HEARTBEAT);
        let queue = ChaosQueue::new(self.connections.queue.clone()).with_faults(self.faults.clone());
        let (worker, stop) = (worker.drain(QUIET_AFTER).queue(queue), CancellationToken::new());
        let serving = tokio::spawn(worker.serve(self.connections.transport.clone(), stop.clone()));
        WorkerTask { name, bodies, stop, serving }
    }

    fn start_caller(&mut self) -> CallerTask {
        self.started += 1;
        let name = format!("caller{}", self.started);
        let (connections, faults) = (self.connections.clone(), self.faults.clone());
        let folder = self.folder.path().to_owned();
        let (clock, stop, mut rng) = (self.clock, self.stop.clone(), self.rng.fork());
        let caller_name = name.clone();
        let calling = tokio::spawn(async move {
            let make_queue = || {
                let queue = ChaosQueue::new(connections.queue.clone()).with_faults(faults.clone());
                queue.noting_removals(&folder, &caller_name)
            };
            let (connections, name) = (connections.clone(), caller_name.clone());
            let caller = Caller::connect(connections, make_queue, &folder, name, clock).await;
            caller.run(&stop, &mut rng).await;
        });
        CallerTask { name, calling }
    }

    fn note_disturbance(&mut self, target: Target, from: u64) {
        let until = self.clock.millis();
        self.disturbances.push(Disturbance { target, from, until });
    }

    async fn disturb_until(&mut self, end: Instant) {
        while Instant::now() < end {
            sleep(Duration::from_millis(self.rng.u64(..1500))).await;
            let from = self.clock.millis();
            match self.rng.u8(..10) {
                0 => {
                    // No call has another end because of it.
                    let worker = self.workers.swap_remove(self.rng.usize(..WORKERS));
                    worker.stop.cancel();
                    self.leaving.push(worker);
                    for left in self.leaving.extract_if(.., |worker| worker.serving.is_finished()) {
                        left.check_end().await;
                    }
                    let new = self.start_worker();
                    self.workers.push(new);
                }
                1..6 => {
                    let worker = self.workers.swap_remove(self.rng.usize(..WORKERS));
                    worker.serving.abort();
                    assert!(worker.serving.await.unwrap_err().is_cancelled());
                    // Each has open files.
                    self.ended.retain(|bodies| bodies.running() > 0);
                    self.ended.push(worker.bodies);
                    self.note_disturbance(Target::Worker(worker.name), from);
                    sleep(Duration::from_millis(self.rng.u64(..1000))).await;
                    let new = self.start_worker();
                    self.workers.push(new);
                }
                6..8 => {
                    let caller = self.callers.swap_remove(self.rng.usize(..CALLERS));
                    caller.calling.abort();
                    let _ = caller.calling.await;
                    self.note_disturbance(Target::Caller(caller.name), from);
                    let new = self.start_caller();
                    self.callers.push(new);
                }
                _ => {
                    self.faults.set_away(true);
                    sleep(Duration::from_millis(self.rng.u64(..3000))).await;
                    self.faults.set_away(false);
                    self.note_disturbance(Target::Broker, from);
                }
            }
        }
    }

    /// Ends the callers and the workers, which have ten seconds, and checks the lines of the run.
    async fn end(self) -> String {
        self.faults.end();
        self.stop.cancel();
        let alive: Vec<_> = self.callers.iter().map(|caller| caller.name.clone()).collect();
        for caller in self.callers {
            caller.calling.await.unwrap();
        }
        collect_ends(self.connections.queue, self.folder.path(), self.clock, QUIET_AFTER).await;
        let ending = Instant::now();
        for worker in &self.workers {
            worker.stop.cancel();
        }
        for worker in self.workers.into_iter().chain(self.leaving) {
            worker.check_end().await;
        }
        assert!(ending.elapsed() <= QUIET_AFTER);
        assert!(self.ended.iter().all(|bodies| bodies.running() == 0));
        Run::read(self.folder.path(), self.disturbances).check(|caller| alive.iter().any(|it| it == caller))
    }
}

/// Runs each seed on a paused clock.
fn run_seeds(default: &[u64], default_seconds: u64, per_mille: u16) {
    for seed in seeds(default) {
        println!("CHAOS_SEED={seed}");
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let ends = runtime.block_on(async {
            let mut tasks = Tasks::start(seed, per_mille);
            tasks.disturb_until(Instant::now() + run_time(default_seconds)).await;
            if per_mille > 0 {
                let until = tasks.clock.millis();
                tasks.disturbances.push(Disturbance { target: Target::Broker, from: 0, until });
            }
            tasks.end().await
        });
        println!("{ends}");
    }
}

#[test]
fn workers_and_callers_that_end_at_random_double_and_lose_no_call() {
    run_seeds(&[1, 2, 3], 60, 0);
}

#[test]
fn messages_that_are_lost_repeated_and_late_double_and_lose_no_call() {
    run_seeds(&[1, 2, 3], 60, 20);
}
