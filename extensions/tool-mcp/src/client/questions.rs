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
    pub(super) async fn admit_round_question(
        &self,
        allowance: &QuestionAllowance,
    ) -> Result<SemaphorePermit<'_>, ErrorData> {
        match allowance.take() {
            true => self.acquire_permit().await,
            false => Err(self.no_questions_left_error()),
        }
    }

    /// Admits a question that a server asks by itself, for which the allowance of a call was taken or not.
    pub(super) async fn admit_server_question(
        &self,
        taken: Result<(), QuestionRefusal>,
    ) -> Result<SemaphorePermit<'_>, ErrorData> {
        match taken {
            Ok(()) => self.acquire_permit().await,
            Err(QuestionRefusal::NoneLeft) => Err(self.no_questions_left_error()),
            Err(QuestionRefusal::NoCall) if self.limits.questions_outside_calls => {
                self.permits.try_acquire().map_err(|_| self.busy_error())
            }
            Err(QuestionRefusal::NoCall) => Err(self.refuse_with_warning(
                "the client answers no questions outside of calls".to_owned(),
                "it asked a question while no call was waiting (`questions_outside_calls`)",
            )),
        }
    }

    /// Admits a question about folders.
    pub(super) fn admit_roots_question(&self) -> Result<SemaphorePermit<'_>, ErrorData> {
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
        self.refuse_with_warning(
            format!("the client answers {limit} questions at once"),
            &format!("it asked more than {limit} questions at once (`max_concurrent_questions`)"),
        )
    }

    fn no_questions_left_error(&self) -> ErrorData {
        let limit = self.limits.max_questions_per_call;
        self.refuse_with_warning(
            format!("the client answers {limit} questions during a call"),
            &format!("it asked more than {limit} questions during a call (`max_questions_per_call`)"),
        )
    }

    /// Returns the refusal of a round with more questions than this.
    pub(super) fn too_many_in_round_error(&self, limit: usize) -> ErrorData {
        self.refuse_with_warning(
            format!("the client answers {limit} questions in one round"),
            &format!("it asked more than {limit} questions in one round"),
        )
    }

    fn refuse_with_warning(&self, message: String, problem: &str) -> ErrorData {
        self.notices.add_warning(
            "question_refused",
            None,
            &format!("a question of the server was refused: {problem}"),
        );
        ErrorData::invalid_request(message, None)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn limiter(at_once: u32, outside_calls: bool) -> (QuestionLimiter, Arc<Notices>) {
        let limits = ServerLimits {
            max_concurrent_questions: at_once,
            max_questions_per_call: 1,
            questions_outside_calls: outside_calls,
            ..ServerLimits::default()
        };
        let notices = Arc::new(Notices::new("s".into()));
        (QuestionLimiter::new(limits, Arc::clone(&notices)), notices)
    }

    /// The message for the server, and the diagnostic.
    fn refused(admitted: Result<SemaphorePermit<'_>, ErrorData>, notices: &Notices) -> (String, String) {
        let message = admitted.map(drop).unwrap_err().message.into_owned();
        (message, notices.diagnostics()[0].message.to_string())
    }

    #[test]
    fn an_allowance_is_taken_one_by_one() {
        let limits = ServerLimits { max_questions_per_call: 2, ..ServerLimits::default() };
        let allowance = QuestionAllowance::new(&limits);
        assert_eq!(allowance.questions_left(), 2);
        assert!(allowance.take() && allowance.take() && !allowance.take());
        assert_eq!(allowance.questions_left(), 0);
    }

    #[tokio::test]
    async fn a_question_of_a_round_takes_one_of_its_call() {
        let (limiter, notices) = limiter(1, false);
        let allowance = QuestionAllowance::new(&limiter.limits);
        drop(limiter.admit_round_question(&allowance).await.unwrap());
        let (message, diagnostic) = refused(limiter.admit_round_question(&allowance).await, &notices);
        assert_eq!(message, "the client answers 1 questions during a call");
        assert_eq!(
            diagnostic,
            "a question of the server was refused: it asked more than 1 questions during a call \
             (`max_questions_per_call`)"
        );
        let (message, _) =
            refused(limiter.admit_server_question(Err(QuestionRefusal::NoneLeft)).await, &notices);
        assert_eq!(message, "the client answers 1 questions during a call");
    }

    #[tokio::test]
    async fn a_question_outside_of_calls_needs_a_permission_and_does_not_wait() {
        let (closed, notices) = limiter(1, false);
        let (message, diagnostic) =
            refused(closed.admit_server_question(Err(QuestionRefusal::NoCall)).await, &notices);
        assert_eq!(message, "the client answers no questions outside of calls");
        assert!(
            diagnostic.ends_with("while no call was waiting (`questions_outside_calls`)"),
            "{diagnostic}"
        );
        let (open, notices) = limiter(1, true);
        let permit = open.admit_server_question(Err(QuestionRefusal::NoCall)).await.unwrap();
        let (message, diagnostic) =
            refused(open.admit_server_question(Err(QuestionRefusal::NoCall)).await, &notices);
        assert_eq!(message, "the client answers 1 questions at once");
        assert!(
            diagnostic.ends_with("more than 1 questions at once (`max_concurrent_questions`)"),
            "{diagnostic}"
        );
        drop(permit);
        assert!(open.admit_server_question(Err(QuestionRefusal::NoCall)).await.is_ok());
    }

    #[tokio::test]
    async fn questions_about_folders_have_permits_of_their_own() {
        let (limiter, notices) = limiter(1, false);
        let question = limiter.admit_server_question(Ok(())).await.unwrap();
        let folders = limiter.admit_roots_question().unwrap();
        assert_eq!(
            refused(limiter.admit_roots_question(), &notices).0,
            "the client answers 1 questions at once"
        );
        drop((question, folders));
        assert!(
            limiter.admit_roots_question().is_ok() && limiter.admit_server_question(Ok(())).await.is_ok()
        );
    }

    #[tokio::test]
    async fn a_client_that_answers_none_at_once_refuses_in_place_of_waiting() {
        let (limiter, notices) = limiter(0, true);
        let (message, _) = refused(limiter.admit_server_question(Ok(())).await, &notices);
        assert_eq!(message, "the client answers 0 questions at once");
        assert_eq!(limiter.too_many_in_round_error(7).message, "the client answers 7 questions in one round");
    }
}
