//! The invariants of a run, by the lines of its bodies and callers.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use crate::{
    bodies::Kind,
    caller::{CALLS_FILE, queue_id_prefix},
    lines::Lines,
    queue::REMOVALS_FILE,
};

/// A process, or a task in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Worker(String),
    Caller(String),
    Broker,
    /// The broker, whose files were deleted.
    BrokerFiles,
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
    /// It was left open.
    is_open: bool,
    /// The time at which its caller cancelled it.
    cancelled: Option<u64>,
    /// The times and texts of its outcomes.
    outcomes: Vec<(u64, String)>,
    /// Those that were left in the queue.
    kept: Vec<(u64, String)>,
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
    /// The queue failed: it is not known whether it has the call.
    MaybeQueued,
    /// The queue has lost the call.
    Lost,
    /// By its caller.
    Cancelled,
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
            text if text.contains("it is not known whether the call was queued") => Some(Self::MaybeQueued),
            text if text.contains("the call was removed from its queue") => Some(Self::Lost),
            text if text.contains("the call was cancelled, or another worker has it") => {
                Some(Self::Cancelled)
            }
            text if text.starts_with("Cancelled") || text.contains("was cancelled") => Some(Self::Cancelled),
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
    /// The processes that have removed a call from the queue, by the beginning of its id there.
    removals: HashMap<String, Vec<String>>,
}

impl Run {
    pub(crate) fn read(folder: &Path, disturbances: Vec<Disturbance>) -> Self {
        let (calls, bodies, removals) = (BTreeMap::new(), HashMap::new(), HashMap::new());
        let mut run = Self { calls, bodies, disturbances, removals };
        for line in Lines::read(folder, CALLS_FILE) {
            let parts: Vec<_> = line.splitn(4, ' ').collect();
            let [event, id, millis, text] = parts[..] else { panic!("{line}") };
            let millis = millis.parse().unwrap();
            if event == "begin" {
                let kind = text.parse().unwrap();
                let (outcomes, kept) = (Vec::new(), Vec::new());
                let call = Call { kind, begun: millis, is_open: false, cancelled: None, outcomes, kept };
                assert!(run.calls.insert(id.to_owned(), call).is_none(), "{line}");
                continue;
            }
            let call = run.calls.get_mut(id).unwrap();
            match event {
                "open" => call.is_open = true,
                "cancel" => call.cancelled = Some(millis),
                "end" => call.outcomes.push((millis, text.to_owned())),
                "kept" => call.kept.push((millis, text.to_owned())),
                _ => panic!("{line}"),
            }
        }
        for line in Lines::read(folder, REMOVALS_FILE) {
            let (id, process) = line.split_once(' ').unwrap();
            let prefix = id.split('-').next().unwrap();
            run.removals.entry(prefix.to_owned()).or_default().push(process.to_owned());
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
        assert!(!self.calls.is_empty(), "no call was made; is the machine too busy?");
        let mut ends: BTreeMap<(Kind, CallEnd), usize> = BTreeMap::new();
        let (mut problems, mut unseen) = (Vec::new(), 0);
        for (id, call) in &self.calls {
            let caller = id.split('.').next().unwrap();
            let bodies = self.bodies.get(&(call.kind, id.clone()));
            let started = bodies.map_or(0, |bodies| bodies.workers.len());
            if call.kind.has_effects() && started > 1 {
                problems.push(format!("{id}: {started} executions: {bodies:?}"));
            }
            match call.kind.is_durable() {
                true => problems.extend(self.problem_of_durable_call(id, call, &is_alive)),
                false => {
                    let expected = if is_alive(caller) { 1..=1 } else { 0..=1 };
                    if !expected.contains(&call.outcomes.len()) {
                        problems.push(format!("{id}: {} outcomes: {call:?}", call.outcomes.len()));
                    }
                }
            }
            unseen += usize::from(call.outcomes.is_empty() && call.kept.is_empty());
            for (ended, text) in call.outcomes.iter().chain(&call.kept) {
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
        let open = self.calls.values().filter(|call| call.is_open).count();
        let kept = self.calls.values().filter(|call| !call.kept.is_empty()).count();
        format!(
            "{} calls, {unseen} of them without an outcome, {open} left open, {kept} kept: {}",
            self.calls.len(),
            ends.join(", ")
        )
    }

    /// Checks that a durable call has one end, whether its caller lives or not.
    fn problem_of_durable_call(
        &self,
        id: &str,
        call: &Call,
        is_alive: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let caller = id.split('.').next().unwrap();
        let removals = self.removals.get(&queue_id_prefix(id)).map_or(&[][..], |it| it);
        let has_bodies = self.bodies.contains_key(&(call.kind, id.to_owned()));
        let is_fine = match (&call.outcomes[..], &call.kept[..]) {
            ([_], []) | ([], [_]) => true,
            // It was not removed after it was taken, or not withdrawn.
            ([(_, text)], [_]) => {
                let is_withdrawn = [CallEnd::MaybeQueued, CallEnd::Cancelled];
                !removals.is_empty()
                    || CallEnd::from_text(text).is_some_and(|end| is_withdrawn.contains(&end))
            }
            // A process took the end, and died before it wrote the outcome.
            ([], []) if removals.iter().any(|process| !is_alive(process)) => true,
            // Its caller died before the call was stored, or it is lost with the files.
            ([], []) => {
                let are_files_lost =
                    |it: &Disturbance| it.target == Target::BrokerFiles && call.begun <= it.until;
                !is_alive(caller) && (!has_bodies || self.disturbances.iter().any(are_files_lost))
            }
            _ => false,
        };
        (!is_fine).then(|| format!("{id}: not one end: {call:?}, removed by {removals:?}"))
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
        // The worker of a durable call may not be given its start any more.
        if matches!(end, CallEnd::Cancelled | CallEnd::NoBroker)
            && call.cancelled.is_some_and(|cancelled| cancelled <= ended)
        {
            return true;
        }
        // Its caller withdrew it.
        let is_withdrawn =
            call.outcomes.iter().any(|(_, text)| CallEnd::from_text(text) == Some(CallEnd::MaybeQueued));
        if is_withdrawn && end == CallEnd::Cancelled {
            return true;
        }
        let is_durable_end = call.kind.is_durable() && end != CallEnd::MaybeQueued;
        self.disturbances.iter().any(|it| {
            let consequences = match &it.target {
                // Its worker had the call: the disturbance came while it ran.
                Target::Worker(worker) if end == CallEnd::Started => {
                    if bodies.is_some_and(|bodies| !bodies.workers.contains(worker)) {
                        return false;
                    }
                    0
                }
                Target::BrokerFiles if end == CallEnd::Lost => 0,
                _ if matches!(end, CallEnd::Lost | CallEnd::Cancelled) => return false,
                // A durable call goes on without it.
                Target::Caller(name) if name != caller || is_durable_end => return false,
                Target::Caller(_) => 0,
                Target::Worker(_) | Target::Broker | Target::BrokerFiles => CONSEQUENCES_MILLIS,
            };
            it.from <= ended && call.begun <= it.until + consequences
        })
    }
}
