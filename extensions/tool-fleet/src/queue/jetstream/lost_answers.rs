//! The attempts of this process whose answers were lost.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::QueueEpoch;

/// The time for which an attempt whose answer was lost is known: longer than a worker asks for a start, and than a lease.
const ATTEMPT_AGE: Duration = Duration::from_secs(120);

/// The attempts, by their calls, with what each of them stores and no other one does.
pub(super) struct LostAnswers<T>(Mutex<HashMap<QueueEpoch, (T, Instant)>>);

impl<T> Default for LostAnswers<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> LostAnswers<T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<QueueEpoch, (T, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note(&self, call: &QueueEpoch, stored: T) {
        let mut answers = self.lock();
        answers.retain(|_, (_, since)| since.elapsed() < ATTEMPT_AGE);
        answers.insert(call.clone(), (stored, Instant::now()));
    }

    /// Takes an attempt at a call, which no other one repeats then.
    pub(super) fn take(&self, call: &QueueEpoch) -> Option<T> {
        self.lock().remove(call).map(|(stored, _)| stored)
    }

    /// Returns all attempts.
    pub(super) fn all(&self) -> Vec<(QueueEpoch, T)>
    where
        T: Clone,
    {
        let mut answers = self.lock();
        answers.retain(|_, (_, since)| since.elapsed() < ATTEMPT_AGE);
        answers.iter().map(|(call, (stored, _))| (call.clone(), stored.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;
    use tool_runtime::definition::ContentHash;

    use super::*;

    fn call(epoch: u32) -> QueueEpoch {
        QueueEpoch { id: "a-1".to_owned(), request: ContentHash::of("request"), epoch }
    }

    #[test]
    fn an_attempt_is_taken_once_and_for_its_epoch_alone() {
        let answers = LostAnswers::default();
        answers.note(&call(1), 7);
        answers.note(&call(2), 8);
        assert_eq!(answers.take(&call(3)), None);
        assert_eq!((answers.take(&call(1)), answers.take(&call(1))), (Some(7), None));
        assert_eq!(answers.all(), [(call(2), 8)]);
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_are_known_for_two_minutes() {
        let answers = LostAnswers::default();
        answers.note(&call(1), 7);
        advance(ATTEMPT_AGE - Duration::from_millis(1)).await;
        assert_eq!(answers.all(), [(call(1), 7)]);
        answers.note(&call(2), 8);
        assert_eq!(answers.lock().len(), 2);
        advance(Duration::from_millis(1)).await;
        answers.note(&call(3), 9);
        assert_eq!(answers.lock().len(), 2);
        assert_eq!(answers.take(&call(1)), None);
        advance(ATTEMPT_AGE).await;
        assert_eq!(answers.all(), []);
    }
}
