//! The ends of calls with effects, which are kept for a minute: one that is lost with the broker, or on its way, is sent again when its caller asks. Other
//! calls are repeated at another worker.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use tokio::time::Instant;

use super::Server;
use crate::message::CallEpoch;

/// The time for which an end is kept: its message is valid for as long.
const KEPT_FOR: Duration = Duration::from_secs(60);

/// The bytes of all ends that are kept; beyond, the oldest are forgotten.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// The end of a call, as it was sent.
#[derive(Clone)]
pub(super) struct SentEnd {
    /// The subject of the caller.
    pub(super) to: String,
    /// The subject of this worker for controls of the call.
    pub(super) control: String,
    pub(super) sealed: Bytes,
}

#[derive(Default)]
pub(super) struct EndedCalls(Mutex<KeptEnds>);

#[derive(Default)]
struct KeptEnds {
    ends: HashMap<CallEpoch, SentEnd>,
    /// The calls in the order of their ends.
    order: VecDeque<(Instant, CallEpoch)>,
    bytes: usize,
}

impl KeptEnds {
    fn forget_old(&mut self) {
        let is_old = |(at, _): &mut (Instant, CallEpoch)| at.elapsed() >= KEPT_FOR;
        while self.bytes > MAX_KEPT_BYTES || self.order.front_mut().is_some_and(is_old) {
            let Some((_, call)) = self.order.pop_front() else { return };
            if let Some(end) = self.ends.remove(&call) {
                self.bytes -= end.sealed.len();
            }
        }
    }
}

impl EndedCalls {
    /// Keeps the end of a call; its first one, if there are several.
    pub(super) fn keep_end(&self, call: &CallEpoch, end: SentEnd) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.ends.contains_key(call) {
            kept.bytes += end.sealed.len();
            kept.ends.insert(call.clone(), end);
            kept.order.push_back((Instant::now(), call.clone()));
        }
        kept.forget_old();
    }

    /// Returns the end of a call of the caller with the subject `to`.
    pub(super) fn find_end(&self, call: &CallEpoch, to: &str) -> Option<SentEnd> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.forget_old();
        kept.ends.get(call).filter(|end| end.to == to).cloned()
    }
}

impl Server {
    /// Sends the end of a call again. A caller that has it ignores it.
    pub(super) async fn repeat_end(&self, call: &CallEpoch, caller: &str) {
        let to = self.channel.process_subject(caller, &call.call);
        if let Some(SentEnd { to, control, sealed }) = self.ended.find_end(call, &to) {
            self.warn_if_unsent(self.channel.send_sealed(&to, Some(&control), sealed).await);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: u32) -> CallEpoch {
        CallEpoch { call: "call".to_owned(), epoch: number }
    }

    fn end(bytes: usize) -> SentEnd {
        SentEnd { to: "to".to_owned(), control: "control".to_owned(), sealed: vec![0; bytes].into() }
    }

    #[tokio::test(start_paused = true)]
    async fn ends_are_kept_for_a_minute_and_for_their_caller() {
        let ended = EndedCalls::default();
        ended.keep_end(&call(1), end(10));
        tokio::time::sleep(Duration::from_secs(59)).await;
        ended.keep_end(&call(1), end(20));
        assert_eq!(ended.find_end(&call(1), "to").map(|end| end.sealed.len()), Some(10));
        assert!(ended.find_end(&call(1), "other").is_none() && ended.find_end(&call(2), "to").is_none());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(ended.find_end(&call(1), "to").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn the_bytes_of_ends_are_limited() {
        let ended = EndedCalls::default();
        for number in 1..=3 {
            ended.keep_end(&call(number), end(MAX_KEPT_BYTES / 2));
        }
        let kept = [1, 2, 3].map(|number| ended.find_end(&call(number), "to").is_some());
        assert_eq!(kept, [false, true, true]);
    }
}
