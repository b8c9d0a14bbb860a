//! The invariants of a run, by the lines of its bodies and callers.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use crate::{bodies::Kind, caller::CALLS_FILE, lines::Lines};

/// A process, or a task in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Worker(String),
    Caller(String),
    Broker,
}

/// A time in which something was killed, stopped or away, in milliseconds.
#[derive(Debug, Clone)]
pub(crate) struct Disturbance {
    pub(crate) target: Target,
    pub(crate) from: u64,
    pub(crate) until: u64,
}

/// The time for which a disturbance may have consequences, in milliseconds: a worker counts as lost, connections to a broker come back (within 4 s
/// over NATS), and the receivers of a process that was killed count as present (6 s over Postgres).
const CONSEQUENCES_MILLIS: u64 = 10_000;

/// A call of a caller.
#[derive(Debug)]
struct Call {
    kind: Kind,
    begun: u64,
    /// The times and texts of its outcomes.
    outcomes: Vec<(u64, String)>,
}

/// The bodies of a call: the workers of those that started, and the number of those that ended.
#[derive(Debug, Default)]
struct CallBodies {
    workers: Vec<String>,
    ended: usize,
}

/// The ends that a call may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CallEnd {
    Result,
    /// Interrupted after its start was given.
    Started,
    /// Interrupted by workers that ended, without effects.
    Interrupted,
    /// There is no worker, as far as the caller knows.
    NoWorker,
    /// The connection to the broker was lost.
    NoBroker,
}

impl CallEnd {
    fn from_text(text: &str) -> Option<Self> {
        const NO_BROKER: [&str; 6] = [
            "the call was not prepared, and did not run",
            "the worker was not asked",
            "the connection to the broker of the pool",
            "the broker failed",
            "a report of a worker was not sent",
            "the call was not started, since it could not be recorded",
        ];
        match text {
            "ok" => Some(Self::Result),
            text if text.contains("it may have taken effect, and is not run again") => Some(Self::Started),
            text if text.contains("the call was interrupted") => Some(Self::Interrupted),
            text if text.contains("no worker of the pool") => Some(Self::NoWorker),
            text if NO_BROKER.iter().any(|part| text.contains(part)) => Some(Self::NoBroker),
            _ => None,
        }
    }
}

/// The lines of a run.
pub(crate) struct Run {
    calls: BTreeMap<String, Call>,
    bodies: HashMap<(Kind, String), CallBodies>,
    disturbances: Vec<Disturbance>,
}

impl Run {
    pub(crate) fn read(folder: &Path, disturbances: Vec<Disturbance>) -> Self {
        let mut run = Self { calls: BTreeMap::new(), bodies: HashMap::new(), disturbances };
        for line in Lines::read(folder, CALLS_FILE) {
            let parts: Vec<_> = line.splitn(4, ' ').collect();
            match parts[..] {
                ["begin", id, kind, millis] => {
                    let call = Call {
                        kind: kind.parse().unwrap(),
                        begun: millis.parse().unwrap(),
                        outcomes: Vec::new(),
                    };
                    assert!(run.calls.insert(id.to_owned(), call).is_none(), "{line}");
                }
                ["end", id, millis, text] => {
                    let outcomes = &mut run.calls.get_mut(id).unwrap().outcomes;
                    outcomes.push((millis.parse().unwrap(), text.to_owned()));
                }
                _ => panic!("{line}"),
            }
        }
        for kind in Kind::ALL {
            for line in Lines::read(folder, kind.tool()) {
                let parts: Vec<_> = line.split(' ').collect();
                let [event, id, worker, _] = parts[..] else { panic!("{line}") };
                let bodies = run.bodies.entry((kind, id.to_owned())).or_default();
                match event {
                    "start" => bodies.workers.push(worker.to_owned()),
                    _ => bodies.ended += 1,
                }
            }
        }
        run
    }

    /// Checks all calls; `is_alive` tells the callers that lived to the end. Returns the number of each end.
    pub(crate) fn check(&self, is_alive: impl Fn(&str) -> bool) -> String {
        let mut ends: BTreeMap<(Kind, CallEnd), usize> = BTreeMap::new();
        let mut problems = Vec::new();
        for (id, call) in &self.calls {
            let caller = id.split('.').next().unwrap();
            let bodies = self.bodies.get(&(call.kind, id.clone()));
            let started = bodies.map_or(0, |bodies| bodies.workers.len());
            if call.kind.has_effects() && started > 1 {
                problems.push(format!("{id}: {started} executions: {bodies:?}"));
            }
            let expected = if is_alive(caller) { 1..=1 } else { 0..=1 };
            if !expected.contains(&call.outcomes.len()) {
                problems.push(format!("{id}: {} outcomes: {call:?}", call.outcomes.len()));
            }
            for (ended, text) in &call.outcomes {
                match CallEnd::from_text(text) {
                    Some(CallEnd::Result) if bodies.is_none_or(|bodies| bodies.ended == 0) => {
                        problems.push(format!("{id}: a result without a body: {bodies:?}"));
                    }
                    Some(end)
                        if end == CallEnd::Result || self.has_reason(call, caller, *ended, end, bodies) =>
                    {
                        *ends.entry((call.kind, end)).or_default() += 1;
                    }
                    _ => problems.push(format!("{id}: an end without a reason: {call:?} {bodies:?}")),
                }
            }
        }
        assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
        let ends: Vec<_> =
            ends.iter().map(|((kind, end), count)| format!("{kind} {end:?} {count}")).collect();
        format!("{} calls: {}", self.calls.len(), ends.join(", "))
    }

    /// Returns `true` if a disturbance explains that a call has no result.
    fn has_reason(
        &self,
        call: &Call,
        caller: &str,
        ended: u64,
        end: CallEnd,
        bodies: Option<&CallBodies>,
    ) -> bool {
        self.disturbances.iter().any(|it| {
            let consequences = match &it.target {
                // Its worker had the call: the disturbance came while it ran.
                Target::Worker(worker) if end == CallEnd::Started => {
                    if bodies.is_some_and(|bodies| !bodies.workers.contains(worker)) {
                        return false;
                    }
                    0
                }
                Target::Caller(name) if name != caller => return false,
                Target::Caller(_) => 0,
                Target::Worker(_) | Target::Broker => CONSEQUENCES_MILLIS,
            };
            it.from <= ended && call.begun <= it.until + consequences
        })
    }
}
