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

/// The bytes that an end takes beside its texts.
const END_BYTES: usize = 512;

/// The end of a call, as it was sent.
#[derive(Clone)]
pub(super) struct SentEnd {
    /// The subject of the caller.
    pub(super) to: String,
    /// The subject of this worker for controls of the call.
    pub(super) control: String,
    pub(super) sealed: Bytes,
}

/// An end, and the time at which it was sent again.
struct KeptEnd {
    end: SentEnd,
    sent_again: Option<Instant>,
}

#[derive(Default)]
pub(super) struct EndedCalls(Mutex<KeptEnds>);

#[derive(Default)]
struct KeptEnds {
    ends: HashMap<CallEpoch, KeptEnd>,
    /// The calls in the order of their ends.
    order: VecDeque<(Instant, CallEpoch)>,
    bytes: usize,
}

impl KeptEnds {
    fn forget_old(&mut self) {
        let is_old = |(at, _): &mut (Instant, CallEpoch)| at.elapsed() >= KEPT_FOR;
        while self.bytes > MAX_KEPT_BYTES || self.order.front_mut().is_some_and(is_old) {
            let Some((_, call)) = self.order.pop_front() else { return };
            if let Some(kept) = self.ends.remove(&call) {
                self.bytes -= kept_bytes(&call, &kept.end);
            }
        }
    }
}

/// Returns the bytes that an end takes.
fn kept_bytes(call: &CallEpoch, end: &SentEnd) -> usize {
    END_BYTES + 2 * call.call.len() + end.to.len() + end.control.len() + end.sealed.len()
}

impl EndedCalls {
    /// Keeps the end of a call; its first one, if there are several.
    pub(super) fn keep_end(&self, call: &CallEpoch, end: SentEnd) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.ends.contains_key(call) {
            kept.bytes += kept_bytes(call, &end);
            kept.ends.insert(call.clone(), KeptEnd { end, sent_again: None });
            kept.order.push_back((Instant::now(), call.clone()));
        }
        kept.forget_old();
    }

    /// Returns `true` if the end of a call of the caller with the subject `to` is kept.
    pub(super) fn has_end(&self, call: &CallEpoch, to: &str) -> bool {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.forget_old();
        kept.ends.get(call).is_some_and(|kept| kept.end.to == to)
    }

    /// Returns the end of a call of the caller with the subject `to`, to be sent again; `None` if it was within `interval`: questions may be
    /// repeated messages.
    fn take_turn(&self, call: &CallEpoch, to: &str, interval: Duration) -> Option<SentEnd> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.forget_old();
        let kept = kept.ends.get_mut(call).filter(|kept| kept.end.to == to)?;
        if kept.sent_again.is_some_and(|at| at.elapsed() < interval) {
            return None;
        }
        kept.sent_again = Some(Instant::now());
        Some(kept.end.clone())
    }
}

impl Server {
    /// Sends the end of a call again. A caller that has it ignores it.
    pub(super) async fn repeat_end(&self, call: &CallEpoch, caller: &str) {
        let to = self.channel.process_subject(caller, &call.call);
        // A caller asks each second, if the worker's heartbeat is one of 2 s.
        let turn = self.ended.take_turn(call, &to, self.worker.heartbeat / 4);
        let Some(SentEnd { to, control, sealed }) = turn else { return };
        // Sealed anew, it is valid for a minute from now.
        if let Some(sealed) = self.channel.seal_again(&to, Some(&control), &sealed) {
            self.warn_if_unsent(self.channel.send_sealed(&to, Some(&control), sealed).await);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(500);

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
        assert_eq!(ended.take_turn(&call(1), "to", INTERVAL).map(|end| end.sealed.len()), Some(10));
        assert!(!ended.has_end(&call(1), "other") && !ended.has_end(&call(2), "to"));
        assert!(ended.take_turn(&call(1), "other", INTERVAL).is_none());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!ended.has_end(&call(1), "to"));
        let bytes = ended.0.lock().unwrap_or_else(PoisonError::into_inner).bytes;
        assert_eq!(bytes, 0);
    }

    #[test]
    fn an_end_takes_the_bytes_of_its_texts_and_of_two_names() {
        let sent = SentEnd { to: "t".repeat(10), control: "c".repeat(100), sealed: vec![0; 1_000].into() };
        let call = CallEpoch { call: "n".repeat(30), epoch: 1 };
        assert_eq!(kept_bytes(&call, &sent), END_BYTES + 60 + 10 + 100 + 1_000);
        let ended = EndedCalls::default();
        ended.keep_end(&call, sent.clone());
        ended.keep_end(&call, sent);
        assert_eq!(ended.0.lock().unwrap_or_else(PoisonError::into_inner).bytes, END_BYTES + 1_170);
    }

    #[tokio::test(start_paused = true)]
    async fn ends_are_kept_up_to_the_limit_of_their_bytes() {
        let room = MAX_KEPT_BYTES - kept_bytes(&call(1), &end(0)) - kept_bytes(&call(2), &end(0));
        for (bytes, is_kept) in [(room, true), (room + 1, false)] {
            let ended = EndedCalls::default();
            ended.keep_end(&call(1), end(0));
            ended.keep_end(&call(2), end(bytes));
            assert_eq!((ended.has_end(&call(1), "to"), ended.has_end(&call(2), "to")), (is_kept, true));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_is_sent_again_once_the_interval_is_over() {
        let ended = EndedCalls::default();
        ended.keep_end(&call(1), end(10));
        let is_sent = || ended.take_turn(&call(1), "to", INTERVAL).is_some();
        assert!(is_sent());
        tokio::time::advance(INTERVAL - Duration::from_millis(1)).await;
        assert!(!is_sent());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(is_sent());
        tokio::time::advance(KEPT_FOR - INTERVAL - Duration::from_millis(1)).await;
        assert!(ended.has_end(&call(1), "to"));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!ended.has_end(&call(1), "to") && !is_sent());
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_is_sent_again_twice_in_a_second_at_most() {
        let ended = EndedCalls::default();
        ended.keep_end(&call(1), end(10));
        let mut turns = 0;
        for _ in 0..100 {
            turns += usize::from(ended.take_turn(&call(1), "to", INTERVAL).is_some());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(turns, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn the_bytes_of_ends_are_limited() {
        let ended = EndedCalls::default();
        for number in 1..=3 {
            ended.keep_end(&call(number), end(MAX_KEPT_BYTES / 2 - 1024));
        }
        let kept = [1, 2, 3].map(|number| ended.has_end(&call(number), "to"));
        assert_eq!(kept, [false, true, true]);
    }
}
