//! `fleet calls`, `fleet cancel` and `fleet purge`: the durable calls of a pool.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tool_cli::{
    Exit, Failure,
    clap::{Arg, ArgAction},
};
use tool_runtime::definition::ContentHash;

use super::{connection::connection_failure, fleet::FleetRequest};
use crate::{CallQueue, CallState, FleetError, QueuedCall, queue::delete_values_of};

/// A call, as `--json` writes it. It has neither its arguments nor its result.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedCall {
    call: String,
    state: CallState,
    /// The hash of the definition.
    definition: ContentHash,
    /// The number of workers that took it.
    workers: u32,
    /// The body of a tool with effects was started.
    was_started: bool,
    cancel_requested: bool,
    /// Milliseconds since the Unix epoch.
    created_ms: u64,
    changed_ms: u64,
    bytes: u64,
}

impl ListedCall {
    fn new(call: QueuedCall) -> Self {
        let millis = |time: SystemTime| {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        };
        Self {
            created_ms: millis(call.created),
            changed_ms: millis(call.changed),
            call: call.id,
            state: call.state,
            definition: call.key,
            workers: call.workers,
            was_started: call.was_started,
            cancel_requested: call.cancel_requested,
            bytes: call.bytes,
        }
    }
}

pub(super) fn dead_option() -> Arg {
    Arg::new("dead")
        .long("dead")
        .action(ArgAction::SetTrue)
        .help("List only interrupted calls, whose workers ended during them")
}

pub(super) fn cancel_options() -> [Arg; 1] {
    [Arg::new("call").value_name("CALL").required(true).help("The call, as `fleet calls` lists it")]
}

pub(super) fn purge_options() -> [Arg; 2] {
    [
        Arg::new("queued")
            .long("queued")
            .action(ArgAction::SetTrue)
            .help("Also cancel the calls that wait for a worker; they have room in the queue until their callers have the answer, or the next purge"),
        Arg::new("yes").long("yes").action(ArgAction::SetTrue).help("Remove without a question"),
    ]
}

fn block_on<T>(
    request: &FleetRequest<'_>,
    operation: impl Future<Output = Result<T, FleetError>>,
) -> Result<T, Failure> {
    request.program.block_on(operation)?.map_err(|error| connection_failure(&error))
}

/// Settles the queue, and deletes the values of calls that were removed by their age.
async fn settle_calls(queue: &dyn CallQueue, request: &FleetRequest<'_>) -> Result<(), FleetError> {
    let removed = queue.settle_calls().await?;
    delete_values_of(request.values.as_ref(), &removed).await;
    Ok(())
}

/// Lists the calls of the queue as they are: those whose leases or ages are over end by others.
pub(super) fn list_calls(request: &FleetRequest<'_>) -> Result<Exit, Failure> {
    let queue = request.open_listed_queue()?;
    let states: &[CallState] =
        if request.matches.get_flag("dead") { &[CallState::Interrupted] } else { &CallState::ALL };
    let calls = block_on(request, queue.list_calls(states))?;
    let calls = request.limit_rows(calls);
    if request.has_json_output() {
        let calls: Vec<_> = calls.into_iter().map(ListedCall::new).collect();
        request.print_json(&calls)?;
    } else if calls.is_empty() {
        let kind = if request.matches.get_flag("dead") { "interrupted calls" } else { "calls" };
        request.program.print(&format!("The queue of the pool `{}` has no {kind}.\n", queue.pool()))?;
    } else {
        let now = SystemTime::now();
        let row = |call: QueuedCall| {
            let age = now.duration_since(call.created).unwrap_or_default();
            let (state, workers) = (state_text(&call), call.workers.to_string());
            [call.id, state, age_text(age), workers, FleetRequest::short_hash(&call.key)]
        };
        let header = ["Call", "State", "Age", "Workers", "Definition"];
        request.program.print_table(header, calls.into_iter().map(row))?;
    }
    Ok(Exit::Done)
}

/// Cancels a call.
pub(super) fn cancel_call(request: &FleetRequest<'_>) -> Result<Exit, Failure> {
    let queue = request.open_queue()?;
    let call = request.matches.get_one::<String>("call").map(String::as_str).unwrap_or_default();
    let state = block_on(request, queue.cancel_call(call))?;
    let text = match state {
        None => {
            let problem = format!(
                "the queue of the pool `{}` has no call `{call}`; `fleet calls` lists them",
                queue.pool()
            );
            return Err(Failure::quoting(Exit::Failed, problem));
        }
        Some(CallState::Queued) => "cancelled; it does not run\n",
        Some(CallState::Taken) => "its worker is to cancel it; `fleet calls` shows its end\n",
        Some(CallState::Started) => {
            let problem = "the call has started, and runs to its end, since it may have taken effect; `fleet calls` shows its end";
            return Err(Failure::new(Exit::Failed, problem));
        }
        Some(state) => {
            let problem = format!("the call has ended already, as {}; nothing was changed", state.name());
            return Err(Failure::new(Exit::Failed, problem));
        }
    };
    request.program.print(text)?;
    Ok(Exit::Done)
}

/// Removes the calls that have ended, and cancels those that wait.
pub(super) fn purge_calls(request: &FleetRequest<'_>) -> Result<Exit, Failure> {
    let queue = request.open_queue()?;
    let with_queued = request.matches.get_flag("queued");
    let (ended, queued) = block_on(request, async {
        settle_calls(&*queue, request).await?;
        let ended = queue.list_calls(&CallState::ENDED).await?;
        Ok((ended.len(), queue.list_calls(&[CallState::Queued]).await?))
    })?;
    if ended == 0 && (queued.is_empty() || !with_queued) {
        let waiting = match queued.len() {
            0 => String::new(),
            number => format!("; waiting for a worker: {number}, which `--queued` cancels"),
        };
        let pool = queue.pool();
        request
            .program
            .print(&format!("The queue of the pool `{pool}` has no calls that have ended{waiting}.\n"))?;
        return Ok(Exit::Done);
    }
    let mut question = format!(
        "remove {} from the queue of the pool `{}`, with results that were not taken",
        counted(ended, "ended call"),
        queue.pool()
    );
    if with_queued {
        question += &format!(", and cancel {}", counted(queued.len(), "queued call"));
    }
    require_confirmation(request, &(question + "?"), "removed")?;
    let (removed, cancelled) = block_on(request, async {
        let removed = queue.purge_calls(&CallState::ENDED).await?;
        delete_values_of(request.values.as_ref(), &removed).await;
        let mut cancelled = 0;
        // Their callers are answered.
        for call in queued.iter().filter(|_| with_queued) {
            cancelled += usize::from(queue.cancel_call(&call.id).await? == Some(CallState::Queued));
        }
        Ok((removed.len(), cancelled))
    })?;
    let mut text = format!("{} removed", counted(removed, "call"));
    if with_queued {
        text += &format!(", {cancelled} cancelled");
    }
    request.program.print(&(text + "\n"))?;
    Ok(Exit::Done)
}

/// Asks a question, unless `--yes` answers it. `done` is what then was not done.
///
/// # Errors
///
/// If it is not confirmed.
pub(super) fn require_confirmation(
    request: &FleetRequest<'_>,
    question: &str,
    done: &str,
) -> Result<(), Failure> {
    if request.matches.get_flag("yes") {
        return Ok(());
    }
    let problem = match request.program.confirm(question)? {
        Some(true) => return Ok(()),
        Some(false) => format!("nothing was {done}"),
        None => format!(
            "nothing was {done}: stdin is not a terminal, so that the question cannot be asked; `--yes` confirms it"
        ),
    };
    Err(Failure::new(Exit::Refused, problem))
}

pub(super) fn counted(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

fn state_text(call: &QueuedCall) -> String {
    match call.cancel_requested && !call.state.is_ended() {
        true => format!("{}, to be cancelled", call.state.name()),
        false => call.state.name().to_owned(),
    }
}

fn age_text(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;
    use tool_cli::clap::Command;

    use super::*;

    fn call(state: CallState, cancel_requested: bool) -> QueuedCall {
        let time = |millis| UNIX_EPOCH + Duration::from_millis(millis);
        QueuedCall {
            id: "a-1".to_owned(),
            key: ContentHash::of("tool"),
            request: ContentHash::of("request"),
            state,
            epoch: 3,
            workers: 2,
            was_started: true,
            cancel_requested,
            created: time(1_500),
            changed: time(2_750),
            bytes: 100,
        }
    }

    #[test]
    fn a_call_is_written_as_json_without_its_contents() {
        let expected = json!({
            "call": "a-1", "state": "started", "definition": ContentHash::of("tool"), "workers": 2, "wasStarted": true,
            "cancelRequested": false, "createdMs": 1500, "changedMs": 2750, "bytes": 100,
        });
        let listed = ListedCall::new(call(CallState::Started, false));
        assert_eq!(serde_json::to_value(listed).unwrap(), expected);
    }

    #[test]
    fn a_call_is_to_be_cancelled_until_it_has_ended() {
        for state in CallState::ALL {
            assert_eq!(state_text(&call(state, false)), state.name());
            let end = if state.is_ended() { "" } else { ", to be cancelled" };
            assert_eq!(state_text(&call(state, true)), format!("{}{end}", state.name()));
        }
    }

    #[test]
    fn an_age_is_in_seconds_minutes_or_hours() {
        for (seconds, expected) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (119, "1 min"),
            (120, "2 min"),
            (3_599, "59 min"),
            (3_600, "1 h"),
            (7_199, "1 h"),
            (7_200, "2 h"),
        ] {
            assert_eq!(age_text(Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn a_noun_has_the_number_of_its_count() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "call")), ["0 calls", "1 call", "2 calls"]);
    }

    #[test]
    fn commands_of_calls_have_these_options() {
        let flags = |arguments: &[&str]| {
            let grammar = Command::new("purge").args(purge_options()).arg(dead_option());
            let matches = grammar.try_get_matches_from(arguments).unwrap();
            ["queued", "yes", "dead"].map(|flag| matches.get_flag(flag))
        };
        assert_eq!(flags(&["purge"]), [false; 3]);
        assert_eq!(flags(&["purge", "--queued", "--dead"]), [true, false, true]);
        assert_eq!(flags(&["purge", "--yes"]), [false, true, false]);
        let cancel = |arguments: &[&str]| {
            let grammar = Command::new("cancel").args(cancel_options());
            grammar.try_get_matches_from(arguments).map(|matches| matches.get_one::<String>("call").cloned())
        };
        assert_eq!(cancel(&["cancel", "a-1"]).unwrap().as_deref(), Some("a-1"));
        assert!(cancel(&["cancel"]).is_err());
    }
}
