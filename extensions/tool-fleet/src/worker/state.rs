//! The calls of a worker: those that run, and those that it has seen.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    hash::{BuildHasher as _, BuildHasherDefault, Hasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    time::Instant,
};
use tool_runtime::CancellationToken;

use super::budget::BudgetRequests;
use crate::message::{BodyAnswer, CallControl, CallEpoch, Control};

/// The heartbeats without a receiver after which a caller has left.
const NOTICED_HEARTBEATS: u32 = 3;

/// The time for which a call is remembered: longer than any message of it is valid.
const REMEMBERED: Duration = Duration::from_secs(180);

#[derive(Default)]
pub(super) struct RunningCalls {
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    running: HashMap<CallEpoch, Arc<RunningCall>>,
    /// Hashes of the calls that were seen, of which those that run are never forgotten: of two calls with one hash, the later one is lost, as a
    /// message may be.
    seen: HashSet<u64, BuildHasherDefault<HashOfHash>>,
    /// The same in the order in which they were seen.
    seen_at: VecDeque<(Instant, u64)>,
    hasher: RandomState,
}

/// The hash of a hash, which its key makes unpredictable: itself.
#[derive(Default)]
struct HashOfHash(u64);

impl Hasher for HashOfHash {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Calls {
    fn has_seen(&self, call: &CallEpoch) -> bool {
        self.seen.contains(&self.hasher.hash_one(call))
    }

    /// Returns `false` if the question with this reply subject was seen before.
    fn note_question(&mut self, reply: &str) -> bool {
        let hash = self.hasher.hash_one(reply);
        let is_new = self.seen.insert(hash);
        if is_new {
            self.seen_at.push_back((Instant::now(), hash));
        }
        is_new
    }

    /// Returns `false` if the call was seen before.
    fn note_seen(&mut self, call: &CallEpoch) -> bool {
        let hash = self.hasher.hash_one(call);
        if !self.seen.insert(hash) {
            return false;
        }
        self.seen_at.push_back((Instant::now(), hash));
        true
    }
}

/// A call that runs.
pub(super) struct RunningCall {
    pub(super) token: CancellationToken,
    /// Told when the start is given.
    pub(super) started: Notify,
    /// The number of reports that the caller has read; made once it counts, as the parts below.
    read: OnceLock<watch::Sender<u64>>,
    /// The answers to questions of the body.
    answers: OnceLock<watch::Sender<Vec<BodyAnswer>>>,
    /// The requests for parts of the caller's budget.
    pub(super) budget: BudgetRequests,
    /// Cancelled once reports have no reader, for a call that goes on.
    caller_left: OnceLock<CancellationToken>,
    /// Cancelled once the caller has said so. That there is no receiver may be a forged message, which must not cost a result.
    abandoned: OnceLock<CancellationToken>,
    /// The process of the caller, which alone controls the call.
    caller: String,
    is_harmless: bool,
    /// The notices that reports had no receiver.
    missing: Mutex<MissingCaller>,
}

impl RunningCall {
    pub(super) fn read(&self) -> &watch::Sender<u64> {
        self.read.get_or_init(|| watch::Sender::new(0))
    }

    pub(super) fn answers(&self) -> &watch::Sender<Vec<BodyAnswer>> {
        self.answers.get_or_init(watch::Sender::default)
    }

    pub(super) fn caller_left(&self) -> &CancellationToken {
        self.caller_left.get_or_init(CancellationToken::new)
    }

    pub(super) fn abandoned(&self) -> &CancellationToken {
        self.abandoned.get_or_init(CancellationToken::new)
    }
}

/// The notices that the reports of a call had no receiver. A caller whose connection is lost with the broker is back soon: it has left once
/// there are notices for three heartbeats.
#[derive(Default)]
struct MissingCaller {
    /// The times of the first notice and of the last one, between which no heartbeat was received.
    notices: Option<(Instant, Instant)>,
}

impl MissingCaller {
    /// Notes that a report had no receiver; returns `true` if the caller has left.
    fn note_notice(&mut self, heartbeat: Duration) -> bool {
        let now = Instant::now();
        let first = match self.notices {
            // Each report of a caller that has left has a notice, and there is one in each heartbeat.
            Some((first, last)) if now.duration_since(last) < 2 * heartbeat => first,
            _ => now,
        };
        self.notices = Some((first, now));
        now.duration_since(first) >= NOTICED_HEARTBEATS * heartbeat
    }
}

impl RunningCalls {
    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn running_calls(&self) -> usize {
        self.lock().running.len()
    }

    /// Returns `true` if the call was added before.
    pub(super) fn has_seen(&self, call: &CallEpoch) -> bool {
        self.lock().has_seen(call)
    }

    /// Returns `false` if a question with this reply subject, which is random, was answered before: the message is a repeated one.
    pub(super) fn note_question(&self, reply: &str) -> bool {
        self.lock().note_question(reply)
    }

    /// Adds a call; `None` if it was added before.
    pub(super) fn add_call(
        &self,
        call: &CallEpoch,
        caller: String,
        is_harmless: bool,
    ) -> Option<Arc<RunningCall>> {
        let mut calls = self.lock();
        if !calls.note_seen(call) {
            return None;
        }
        let added = Arc::new(RunningCall {
            token: CancellationToken::new(),
            started: Notify::new(),
            read: OnceLock::new(),
            answers: OnceLock::new(),
            budget: BudgetRequests::default(),
            caller_left: OnceLock::new(),
            abandoned: OnceLock::new(),
            caller,
            is_harmless,
            missing: Mutex::default(),
        });
        calls.running.insert(call.clone(), Arc::clone(&added));
        Some(added)
    }

    pub(super) fn remove_call(&self, call: &CallEpoch) {
        self.lock().running.remove(call);
    }

    /// Passes on what the process `sender` says about its call.
    pub(super) fn control_call(&self, CallControl { call, control }: CallControl, sender: &str) {
        let running = self.lock().running.get(&call).cloned();
        let Some(running) = running.filter(|running| running.caller == sender) else { return };
        match control {
            // It is about a call that has ended.
            Control::RepeatEnd => {}
            Control::Start => running.started.notify_one(),
            Control::Cancel => running.token.cancel(),
            Control::Abandon => {
                running.token.cancel();
                running.caller_left().cancel();
                running.abandoned().cancel();
            }
            Control::Read(number) => {
                running.read().send_if_modified(|read| {
                    let has_grown = number > *read;
                    *read = number.max(*read);
                    has_grown
                });
            }
            Control::Budget { number, denied } => {
                running.budget.answer_request(number, denied.map_or(Ok(()), |error| Err(*error)));
            }
            Control::Answer(answer) => running.answers().send_modify(|answers| {
                // A repeated message.
                if !answers.contains(&answer) {
                    answers.push(answer);
                }
            }),
        }
    }

    /// Notes that a report of a call had no receiver. Once its caller has left, a call without effects is cancelled; others go on, and are not
    /// delayed by unread reports.
    pub(super) fn note_no_receiver(&self, name: &str, heartbeat: Duration) {
        let calls = self.lock();
        let of_caller: Vec<_> =
            calls.running.iter().filter(|(call, _)| call.call == name).map(|(_, it)| it.clone()).collect();
        drop(calls);
        for running in of_caller {
            let mut missing = running.missing.lock().unwrap_or_else(PoisonError::into_inner);
            if !missing.note_notice(heartbeat) {
                continue;
            }
            drop(missing);
            if running.is_harmless {
                running.token.cancel();
            }
            running.caller_left().cancel();
        }
    }

    /// Forgets calls of which no valid message is left.
    pub(super) fn forget_expired(&self) {
        let mut calls = self.lock();
        let Calls { running, seen, seen_at, hasher } = &mut *calls;
        let expired = seen_at.partition_point(|(at, _)| at.elapsed() >= REMEMBERED);
        if expired == 0 {
            return;
        }
        let running: HashSet<_> = running.keys().map(|call| hasher.hash_one(call)).collect();
        let mut kept = Vec::new();
        for (_, hash) in seen_at.drain(..expired) {
            match running.contains(&hash) {
                true => kept.push((Instant::now(), hash)),
                false => {
                    seen.remove(&hash);
                }
            }
        }
        seen_at.extend(kept);
    }
}

#[cfg(test)]
mod tests;
