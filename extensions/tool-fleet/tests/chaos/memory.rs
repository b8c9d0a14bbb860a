//! Workers and callers as tasks on a paused clock, behind a broker in memory that is away at times, and that loses, repeats and delays messages.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use fastrand::Rng;
use tokio::{
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep, timeout},
};
use tool_fleet::{Deliveries, FleetError, MemoryTransport, Transport, Worker};
use tool_runtime::{BoxFuture, CancellationToken, Executor};

use crate::{
    HEARTBEAT,
    bodies::{Bodies, registry},
    caller::Caller,
    checks::{Disturbance, Run, Target},
    lines::{Clock, Folder},
    pool_key, run_time, seeds,
};

const WORKERS: usize = 4;
const CALLERS: usize = 3;

/// The time in which all is quiet after the end of a run.
const QUIET_AFTER: Duration = Duration::from_secs(10);

/// The faults of a broker.
struct Faults {
    rng: Rng,
    /// Loses and repeats this number of messages in a thousand, and delays three times as many.
    per_mille: u16,
    /// The broker is away: it loses all messages.
    is_away: bool,
    /// The messages that are late.
    late: JoinSet<()>,
}

/// A broker with faults. Clones are the same one.
#[derive(Clone)]
struct FaultyTransport {
    inner: MemoryTransport,
    faults: Arc<Mutex<Faults>>,
}

impl FaultyTransport {
    fn new(rng: Rng, per_mille: u16) -> Self {
        let faults = Faults { rng, per_mille, is_away: false, late: JoinSet::new() };
        Self { inner: MemoryTransport::new(), faults: Arc::new(Mutex::new(faults)) }
    }

    fn set_away(&self, is_away: bool) {
        self.faults.lock().unwrap().is_away = is_away;
    }

    /// Delivers a message after its delays: none if it is lost, two if it is repeated.
    fn send_after(&self, subject: &str, reply: Option<&str>, body: &Bytes, delay: Duration) {
        let (inner, subject, reply, body) =
            (self.inner.clone(), subject.to_owned(), reply.map(str::to_owned), body.clone());
        let mut faults = self.faults.lock().unwrap();
        while faults.late.try_join_next().is_some() {}
        faults.late.spawn(async move {
            sleep(delay).await;
            inner.send(&subject, reply.as_deref(), body).await.unwrap();
        });
    }

    fn delays(&self) -> Vec<Duration> {
        let mut faults = self.faults.lock().unwrap();
        let per_mille = faults.per_mille;
        let is_late = faults.rng.u16(..1000) < 3 * per_mille;
        let delay = Duration::from_millis(if is_late { faults.rng.u64(..3000) } else { 0 });
        match faults.rng.u16(..1000) {
            _ if faults.is_away => Vec::new(),
            draw if draw < per_mille => Vec::new(),
            draw if draw < 2 * per_mille => vec![delay, Duration::from_millis(faults.rng.u64(..3000))],
            _ => vec![delay],
        }
    }
}

impl Transport for FaultyTransport {
    fn send<'a>(
        &'a self,
        subject: &'a str,
        reply: Option<&'a str>,
        body: Bytes,
    ) -> BoxFuture<'a, Result<(), FleetError>> {
        Box::pin(async move {
            for delay in self.delays() {
                match delay {
                    Duration::ZERO => self.inner.send(subject, reply, body.clone()).await?,
                    delay => self.send_after(subject, reply, &body, delay),
                }
            }
            Ok(())
        })
    }

    fn listen<'a>(
        &'a self,
        pattern: &'a str,
        group: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Deliveries, FleetError>> {
        self.inner.listen(pattern, group)
    }

    fn max_bytes(&self) -> usize {
        self.inner.max_bytes()
    }
}

struct WorkerTask {
    name: String,
    bodies: Arc<Bodies>,
    stop: CancellationToken,
    serving: JoinHandle<Result<(), FleetError>>,
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
    transport: FaultyTransport,
    stop: CancellationToken,
    workers: Vec<WorkerTask>,
    callers: Vec<CallerTask>,
    started: usize,
    /// The bodies of workers that ended without a word.
    ended: Vec<Arc<Bodies>>,
    disturbances: Vec<Disturbance>,
}

impl Tasks {
    fn start(seed: u64, per_mille: u16) -> Self {
        // The choices of the transport and of callers.
        fastrand::seed(seed);
        let mut rng = Rng::with_seed(seed);
        let transport = FaultyTransport::new(rng.fork(), per_mille);
        let clock = Clock(Some(Instant::now()));
        let mut tasks = Self {
            rng,
            folder: Folder::new(&format!("memory-{seed}")),
            clock,
            transport,
            stop: CancellationToken::new(),
            workers: Vec::new(),
            callers: Vec::new(),
            started: 0,
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
        let stop = CancellationToken::new();
        let serving = tokio::spawn(worker.drain(QUIET_AFTER).serve(self.transport.clone(), stop.clone()));
        WorkerTask { name, bodies, stop, serving }
    }

    fn start_caller(&mut self) -> CallerTask {
        self.started += 1;
        let name = format!("caller{}", self.started);
        let transport = Arc::new(self.transport.clone());
        let folder = self.folder.path().to_owned();
        let (clock, stop, mut rng) = (self.clock, self.stop.clone(), self.rng.fork());
        let caller_name = name.clone();
        let calling = tokio::spawn(async move {
            let caller = Caller::connect(transport, &folder, caller_name, clock).await;
            caller.call_until(&stop, &mut rng).await;
            caller.call_after_chaos().await;
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
                0..6 => {
                    let worker = self.workers.swap_remove(self.rng.usize(..WORKERS));
                    worker.serving.abort();
                    assert!(worker.serving.await.unwrap_err().is_cancelled());
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
                    self.transport.set_away(true);
                    sleep(Duration::from_millis(self.rng.u64(..3000))).await;
                    self.transport.set_away(false);
                    self.note_disturbance(Target::Broker, from);
                }
            }
        }
    }

    /// Ends the callers and the workers, which have ten seconds, and checks the lines of the run.
    async fn end(self) -> String {
        self.transport.faults.lock().unwrap().per_mille = 0;
        self.stop.cancel();
        let alive: Vec<_> = self.callers.iter().map(|caller| caller.name.clone()).collect();
        for caller in self.callers {
            caller.calling.await.unwrap();
        }
        let ending = Instant::now();
        for worker in &self.workers {
            worker.stop.cancel();
        }
        for worker in self.workers {
            timeout(QUIET_AFTER, worker.serving).await.unwrap().unwrap().unwrap();
            assert_eq!(worker.bodies.running(), 0);
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
