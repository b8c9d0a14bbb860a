//! Readers of streams that wait for events.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tokio::sync::Notify;

use super::event_log::StreamKey;

/// The streams that are kept before those without a reader are removed.
const MIN_KEPT: usize = 64;

/// The readers that wait, by their stream.
#[derive(Default)]
pub(super) struct StreamWakes(Mutex<WaitingReaders>);

#[derive(Default)]
struct WaitingReaders {
    streams: HashMap<String, Vec<Weak<Notify>>>,
    /// The number of streams at which those without a reader are removed.
    next_removal: usize,
}

impl WaitingReaders {
    fn wake_and_drop_gone(readers: &mut Vec<Weak<Notify>>) {
        readers.retain(|reader| reader.upgrade().inspect(|reader| reader.notify_one()).is_some());
    }
}

impl StreamWakes {
    fn lock_readers(&self) -> MutexGuard<'_, WaitingReaders> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what is notified when there may be new events of one of `streams`, as long as it is held. It has one waiting reader.
    pub(super) fn subscribe<'a>(&self, streams: impl IntoIterator<Item = &'a StreamKey>) -> Arc<Notify> {
        let notify = Arc::new(Notify::new());
        let mut readers = self.lock_readers();
        if readers.streams.len() >= readers.next_removal {
            readers.streams.retain(|_, readers| readers.iter().any(|reader| reader.strong_count() > 0));
            readers.next_removal = MIN_KEPT.max(2 * readers.streams.len());
        }
        for stream in streams {
            readers.streams.entry(stream.0.clone()).or_default().push(Arc::downgrade(&notify));
        }
        notify
    }

    /// Wakes the readers of the stream of this key.
    pub(super) fn wake(&self, stream: &str) {
        if let Some(readers) = self.lock_readers().streams.get_mut(stream) {
            WaitingReaders::wake_and_drop_gone(readers);
        }
    }

    /// Wakes all readers.
    pub(super) fn wake_all(&self) {
        self.lock_readers().streams.values_mut().for_each(WaitingReaders::wake_and_drop_gone);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn the_readers_of_a_stream_are_woken_and_those_that_left_are_forgotten() {
        let [a, b, c] = ["a", "b", "c"].map(|name| StreamKey(name.to_owned()));
        let wakes = StreamWakes::default();
        let [first, both] = [wakes.subscribe([&a]), wakes.subscribe([&a, &b])];
        let woken = || [&first, &both].map(|it| it.notified().now_or_never().is_some());
        assert_eq!(woken(), [false, false]);
        wakes.wake(&a.0);
        assert_eq!(woken(), [true, true]);
        wakes.wake(&b.0);
        wakes.wake(&c.0);
        assert_eq!(woken(), [false, true]);
        wakes.wake_all();
        assert_eq!(woken(), [true, true]);
        for number in 0..10 * MIN_KEPT {
            drop(wakes.subscribe([&StreamKey(number.to_string())]));
        }
        assert!(wakes.lock_readers().streams.len() <= MIN_KEPT);
        drop(first);
        wakes.wake(&a.0);
        assert_eq!(wakes.lock_readers().streams[&a.0].len(), 1);
    }

    #[test]
    fn streams_without_a_reader_are_removed_when_twice_as_many_are_kept_as_were_left() {
        let wakes = StreamWakes::default();
        let subscribe = |number: usize| wakes.subscribe([&StreamKey(number.to_string())]);
        let kept = || wakes.lock_readers().streams.len();
        // All have readers when they are looked at.
        let readers: Vec<_> = (0..=MIN_KEPT).map(subscribe).collect();
        assert_eq!(kept(), MIN_KEPT + 1);
        drop(readers);
        (MIN_KEPT + 1..2 * MIN_KEPT).for_each(|number| drop(subscribe(number)));
        assert_eq!(kept(), 2 * MIN_KEPT);
        let last = subscribe(2 * MIN_KEPT);
        assert_eq!(kept(), 1);
        drop(last);
    }
}
