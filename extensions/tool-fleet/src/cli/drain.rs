//! `fleet drain`: workers take themselves out, as by a signal.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, time::Duration};

use futures_util::StreamExt as _;
use serde::Serialize;
use tokio::time::{Instant, MissedTickBehavior};
use tool_cli::{
    Exit, Failure,
    clap::{Arg, ArgAction, ArgGroup, value_parser},
};

use super::{
    calls::{counted, require_confirmation},
    connection::connection_failure,
    fleet::FleetRequest,
    workers::{ListedWorker, find_workers, no_worker_failure, open_answer},
};
use crate::{
    Delivery, FleetError,
    channel::{Channel, Received},
    message::{Message, WorkerStatus},
};

/// The time in which workers answer before any is drained.
const FIND_TIMEOUT: Duration = Duration::from_secs(2);

/// The interval in which the message is repeated to workers that have not left; they answer with their state.
const REPEAT_INTERVAL: Duration = Duration::from_secs(1);

/// The time without an answer after which a worker counts as lost: three heartbeats. A notice of the broker that the worker does not receive changes
/// nothing: it is no proof, and a worker that has lost its connection is back some seconds after the broker.
const LOST_AFTER: Duration = Duration::from_secs(6);

pub(super) fn drain_options() -> [Arg; 5] {
    [
        Arg::new("worker")
            .value_name("WORKER")
            .num_args(1..)
            .help("The workers to drain, as `fleet workers` lists them"),
        Arg::new("all")
            .long("all")
            .action(ArgAction::SetTrue)
            .help("Drain all workers of the pool that answer within 2 seconds"),
        Arg::new("wait")
            .long("wait")
            .value_name("SECONDS")
            .default_value("60")
            .value_parser(value_parser!(u32).range(1..=86400))
            .help("The time to wait until they have left, longer than `work --drain`; then the command fails, and they still leave"),
        Arg::new("yes")
            .long("yes")
            .action(ArgAction::SetTrue)
            .help("Do not ask before all workers are drained"),
        Arg::new("json").long("json").action(ArgAction::SetTrue).help("Write JSON"),
    ]
}

pub(super) fn drain_group() -> ArgGroup {
    ArgGroup::new("workers").args(["worker", "all"]).required(true)
}

/// A worker, as far as it came in time.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct DrainedWorker {
    worker: String,
    state: DrainEnd,
    /// The calls that it dropped, or still runs, as far as is known.
    calls: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum DrainEnd {
    Left,
    /// It has left, and its calls had not ended in its time to drain.
    Dropped,
    Draining,
    /// It was not heard any more, and did not say that it has left.
    Lost,
}

impl DrainEnd {
    fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Dropped => "left, with calls dropped",
            Self::Draining => "draining",
            Self::Lost => "lost",
        }
    }
}

impl DrainedWorker {
    /// Returns what went wrong.
    fn problem(&self) -> Option<String> {
        let Self { worker, state, calls } = self;
        let calls = counted(*calls, "call");
        match state {
            DrainEnd::Left => None,
            DrainEnd::Dropped => Some(format!(
                "`{worker}` has left, and dropped {calls} that did not end in its time to drain: read-only and idempotent ones run \
                 elsewhere, others may have taken effect; give workers more time by `work --drain`"
            )),
            DrainEnd::Draining => Some(format!(
                "`{worker}` still runs {calls}; it takes no other one, and ends by itself; wait for longer by `--wait`, or look by \
                 `fleet workers`"
            )),
            DrainEnd::Lost => Some(format!(
                "`{worker}` no longer answers, and did not say that it has left: it was killed, or its connection is lost; {calls} ran as it \
                 answered last, of which read-only and idempotent ones run elsewhere, and others may have taken effect"
            )),
        }
    }
}

/// Drains workers of a pool, and waits until they have left.
pub(super) fn drain_workers(request: &FleetRequest<'_>) -> Result<Exit, Failure> {
    let (program, matches) = (request.program, request.matches);
    let channel = request.connection.channel().map_err(|error| connection_failure(&error))?;
    let names: Vec<&str> =
        matches.get_many::<String>("worker").into_iter().flatten().map(String::as_str).collect();
    let found = program.block_on(find_workers(&channel, FIND_TIMEOUT, &names))?;
    let found = found.map_err(|error| connection_failure(&error))?;
    if found.is_empty() {
        return Err(no_worker_failure(channel.pool()));
    }
    let chosen = choose_workers(channel.pool(), &found, &names)?;
    if names.is_empty() {
        let question =
            format!("drain all workers of the pool `{}` that answer ({})?", channel.pool(), chosen.len());
        require_confirmation(request, &question, "drained")?;
    }
    let wait = matches.get_one::<u32>("wait").copied().unwrap_or_default();
    program.note(&format!(
        "draining {}: no new calls, and those that run end; this goes on if the command is stopped",
        counted(chosen.len(), "worker")
    ));
    let drained = program.block_on(wait_for_workers(&channel, chosen, Duration::from_secs(wait.into())))?;
    let drained = drained.map_err(|error| connection_failure(&error))?;
    let problems: Vec<_> = drained.iter().filter_map(DrainedWorker::problem).collect();
    if request.has_json_output() {
        request.print_json(&drained)?;
    } else {
        let row = |it: DrainedWorker| [it.worker, it.state.name().to_owned(), it.calls.to_string()];
        program.print_table(["Worker", "State", "Calls"], drained.into_iter().map(row))?;
    }
    match problems.is_empty() {
        true => Ok(Exit::Done),
        false => Err(Failure::quoting(Exit::Failed, problems.join("\n"))),
    }
}

/// Returns the calls that run at each of the workers that are named; without a name, of all.
///
/// # Errors
///
/// If one is not among those that were found: then none is drained.
fn choose_workers(
    pool: &str,
    found: &[ListedWorker],
    names: &[&str],
) -> Result<BTreeMap<String, usize>, Failure> {
    let unknown: Vec<_> = names
        .iter()
        .filter(|name| !found.iter().any(|it| it.worker == **name))
        .map(|name| {
            let meant = similar_worker(name, found).map(|it| format!("; did you mean `{it}`?"));
            format!("no worker `{name}` of the pool `{pool}` answers{}", meant.unwrap_or_default())
        })
        .collect();
    if !unknown.is_empty() {
        let problem = format!(
            "{}\nnothing was drained; `fleet workers` lists those that answer, and a worker of another pool is reached by `--pool` and the key \
             of that pool",
            unknown.join("\n")
        );
        return Err(Failure::quoting(Exit::Failed, problem));
    }
    let is_chosen = |it: &&ListedWorker| names.is_empty() || names.contains(&&*it.worker);
    Ok(found.iter().filter(is_chosen).map(|it| (it.worker.clone(), it.calls)).collect())
}

/// Returns the only worker of which `name` is a part, or from which it differs in two characters at most.
fn similar_worker<'w>(name: &str, workers: &'w [ListedWorker]) -> Option<&'w str> {
    let name = name.to_ascii_lowercase();
    let is_similar = |worker: &&str| {
        let differing = worker.bytes().zip(name.bytes()).filter(|(own, other)| own != other).count();
        name.len() >= 3 && worker.contains(&name) || worker.len() == name.len() && differing <= 2
    };
    let mut similar = workers.iter().map(|it| &*it.worker).filter(is_similar);
    similar.next().filter(|_| similar.next().is_none())
}

/// A worker that was told to leave.
struct LeavingWorker {
    calls: usize,
    lost_at: Instant,
    end: Option<DrainEnd>,
}

/// Tells the workers to leave, and waits until they have, or `wait` is over. `chosen` has the calls that run at each of them.
async fn wait_for_workers(
    channel: &Channel,
    chosen: BTreeMap<String, usize>,
    wait: Duration,
) -> Result<Vec<DrainedWorker>, FleetError> {
    let deadline = Instant::now() + wait;
    let mut answers = channel.listen(&channel.own_subject(">"), None).await?;
    let mut repeat = tokio::time::interval(REPEAT_INTERVAL);
    repeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let lost_at = Instant::now() + LOST_AFTER;
    let leaving = |(worker, calls)| (worker, LeavingWorker { calls, lost_at, end: None });
    let mut workers: BTreeMap<String, LeavingWorker> = chosen.into_iter().map(leaving).collect();
    while let Some(next_lost) = next_lost_at(&workers) {
        tokio::select! {
            () = tokio::time::sleep_until(deadline) => break,
            () = tokio::time::sleep_until(next_lost) => mark_lost(&mut workers),
            _ = repeat.tick() => for (worker, _) in workers.iter().filter(|(_, it)| it.end.is_none()) {
                let (subject, reply) = (channel.process_subject(worker, "drain"), channel.own_subject(worker));
                channel.send_message(&subject, Some(&reply), Message::Drain).await?;
            },
            answer = answers.next() => match answer {
                Some(delivery) => note_answer(channel, &delivery, &mut workers),
                None => return Err(FleetError::Transport("the connection is closed".to_owned())),
            },
        }
    }
    Ok(workers
        .into_iter()
        .map(|(worker, it)| {
            let (state, calls) = (it.end.unwrap_or(DrainEnd::Draining), it.calls);
            DrainedWorker { worker, state, calls }
        })
        .collect())
}

/// The time at which the first of the workers that have not left counts as lost; `None` if all have left.
fn next_lost_at(workers: &BTreeMap<String, LeavingWorker>) -> Option<Instant> {
    workers.values().filter(|it| it.end.is_none()).map(|it| it.lost_at).min()
}

fn mark_lost(workers: &mut BTreeMap<String, LeavingWorker>) {
    let now = Instant::now();
    for worker in workers.values_mut().filter(|it| it.end.is_none() && it.lost_at <= now) {
        worker.end = Some(DrainEnd::Lost);
    }
}

/// Notes the answer of a worker, at the subject that ends with its name.
fn note_answer(channel: &Channel, delivery: &Delivery, workers: &mut BTreeMap<String, LeavingWorker>) {
    let name = delivery.subject.rsplit('.').next().unwrap_or_default();
    let Some(worker) = workers.get_mut(name).filter(|it| it.end.is_none()) else { return };
    match open_answer(channel, delivery) {
        Some(Received { sender, message: Message::Status(status), .. }) if sender == name => {
            let WorkerStatus { calls, .. } = status;
            (worker.calls, worker.lost_at) = (calls, Instant::now() + LOST_AFTER);
        }
        Some(Received { sender, message: Message::Left { dropped }, .. }) if sender == name => {
            worker.calls = dropped;
            worker.end = Some(if dropped == 0 { DrainEnd::Left } else { DrainEnd::Dropped });
        }
        _ => {}
    }
}
