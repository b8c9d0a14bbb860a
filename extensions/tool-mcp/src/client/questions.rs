//! The limits of the questions of a server: each costs the program a request to a model, or its user an interruption.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use rmcp::ErrorData;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{limits::ServerLimits, notices::Notices};

/// The number of questions that a call has left.
#[derive(Debug)]
pub(super) struct QuestionAllowance(AtomicU32);

impl QuestionAllowance {
    pub(super) fn new(limits: &ServerLimits) -> Arc<Self> {
        Arc::new(Self(AtomicU32::new(limits.max_questions_per_call)))
    }

    pub(super) fn questions_left(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// Takes a question; `false` if there is none left.
    pub(super) fn take(&self) -> bool {
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1)).is_ok()
    }
}

/// The reason why a question has no allowance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuestionRefusal {
    /// No call waits for its result.
    NoCall,
    /// The calls that wait have none left.
    NoneLeft,
}

/// The questions of a server that are answered at once.
pub(super) struct QuestionLimiter {
    limits: ServerLimits,
    notices: Arc<Notices>,
    permits: Semaphore,
    /// Those about folders, which cost nothing, and are asked outside of calls, too.
    root_permits: Semaphore,
}

impl QuestionLimiter {
    pub(super) fn new(limits: ServerLimits, notices: Arc<Notices>) -> Self {
        let permits = usize::try_from(limits.max_concurrent_questions).unwrap_or(usize::MAX);
        let permits = permits.min(Semaphore::MAX_PERMITS);
        Self { limits, notices, permits: Semaphore::new(permits), root_permits: Semaphore::new(permits) }
    }

    /// Admits a question of a round of a call that has this allowance.
    pub(super) async fn admit_in_round(
        &self,
        allowance: &QuestionAllowance,
    ) -> Result<SemaphorePermit<'_>, ErrorData> {
        match allowance.take() {
            true => self.acquire_permit().await,
            false => Err(self.none_left_error()),
        }
    }

    /// Admits a question that a server asks by itself, for which the allowance of a call was taken or not.
    pub(super) async fn admit_request(
        &self,
        taken: Result<(), QuestionRefusal>,
    ) -> Result<SemaphorePermit<'_>, ErrorData> {
        match taken {
            Ok(()) => self.acquire_permit().await,
            Err(QuestionRefusal::NoneLeft) => Err(self.none_left_error()),
            Err(QuestionRefusal::NoCall) if self.limits.questions_outside_calls => {
                self.permits.try_acquire().map_err(|_| self.busy_error())
            }
            Err(QuestionRefusal::NoCall) => Err(self.refusal_error(
                "the client answers no questions outside of calls".to_owned(),
                "it asked a question while no call was waiting (`questions_outside_calls`)",
            )),
        }
    }

    /// Admits a question about folders.
    pub(super) fn admit_roots(&self) -> Result<SemaphorePermit<'_>, ErrorData> {
        self.root_permits.try_acquire().map_err(|_| self.busy_error())
    }

    async fn acquire_permit(&self) -> Result<SemaphorePermit<'_>, ErrorData> {
        if self.limits.max_concurrent_questions == 0 {
            return Err(self.busy_error());
        }
        self.permits.acquire().await.map_err(|_| self.busy_error())
    }

    fn busy_error(&self) -> ErrorData {
        let limit = self.limits.max_concurrent_questions;
        self.refusal_error(
            format!("the client answers {limit} questions at once"),
            &format!("it asked more than {limit} questions at once (`max_concurrent_questions`)"),
        )
    }

    fn none_left_error(&self) -> ErrorData {
        let limit = self.limits.max_questions_per_call;
        self.refusal_error(
            format!("the client answers {limit} questions during a call"),
            &format!("it asked more than {limit} questions during a call (`max_questions_per_call`)"),
        )
    }

    /// Returns the refusal of a round with more questions than this.
    pub(super) fn too_many_in_round(&self, limit: usize) -> ErrorData {
        self.refusal_error(
            format!("the client answers {limit} questions in one round"),
            &format!("it asked more than {limit} questions in one round"),
        )
    }

    fn refusal_error(&self, message: String, problem: &str) -> ErrorData {
        self.notices.add_warning(
            "question_refused",
            None,
            &format!("a question of the server was refused: {problem}"),
        );
        ErrorData::invalid_request(message, None)
    }
}
