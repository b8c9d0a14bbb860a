//! The budget of a run, which its caller keeps.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::oneshot;
use tool_runtime::{
    BoxFuture, ErrorKind, ToolError,
    context::{BudgetItem, BudgetSource},
};

use super::{call::Reporter, state::RunningCall};
use crate::message::Report;

type Grant = Result<(), ToolError>;

/// The requests of a call that have no answer yet.
#[derive(Default)]
pub(super) struct BudgetRequests(Mutex<OpenRequests>);

#[derive(Default)]
struct OpenRequests {
    last_number: u64,
    open: HashMap<u64, oneshot::Sender<Grant>>,
}

impl BudgetRequests {
    fn lock(&self) -> MutexGuard<'_, OpenRequests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_request(&self) -> (u64, oneshot::Receiver<Grant>) {
        let (sender, receiver) = oneshot::channel();
        let mut requests = self.lock();
        requests.last_number += 1;
        let number = requests.last_number;
        requests.open.insert(number, sender);
        (number, receiver)
    }

    /// Answers a request, unless it was answered before.
    pub(super) fn answer_request(&self, number: u64, grant: Grant) {
        let request = self.lock().open.remove(&number);
        if let Some(request) = request {
            // Without a receiver, the call was cancelled.
            let _ = request.send(grant);
        }
    }
}

/// Requests each call and round of child runs from the caller, which counts it in its budget.
pub(super) struct CallerBudget {
    pub(super) reporter: Arc<Reporter>,
    pub(super) running: Arc<RunningCall>,
    pub(super) heartbeat: Duration,
}

impl CallerBudget {
    /// Requests an item each heartbeat, since messages may be lost, for as long as the caller is there: it may read slowly.
    async fn request_item(&self, item: BudgetItem) -> Grant {
        let (number, mut answer) = self.running.budget.add_request();
        loop {
            self.reporter.send_report(Report::Budget { number, item }).await?;
            tokio::select! {
                grant = &mut answer => return grant.unwrap_or_else(|_| Err(unanswered_error())),
                () = self.running.token.cancelled() => return Err(ToolError::cancelled()),
                () = self.running.caller_left().cancelled() => return Err(unanswered_error()),
                () = tokio::time::sleep(self.heartbeat) => {}
            }
        }
    }
}

fn unanswered_error() -> ToolError {
    let problem = "the caller left before it answered a request for its budget; nothing was executed";
    ToolError::new(ErrorKind::Unavailable, problem)
}

impl BudgetSource for CallerBudget {
    fn request(&self, item: BudgetItem) -> BoxFuture<'_, Grant> {
        Box::pin(self.request_item(item))
    }

    fn count_tokens(&self, tokens: u64) {
        self.reporter.count_tokens(tokens);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_goes_to_its_request_once() {
        let requests = BudgetRequests::default();
        let [(first, first_grant), (second, second_grant)] = [(); 2].map(|()| requests.add_request());
        assert_eq!((first, second), (1, 2));
        requests.answer_request(2, Err(unanswered_error()));
        requests.answer_request(2, Ok(()));
        requests.answer_request(3, Ok(()));
        requests.answer_request(1, Ok(()));
        assert_eq!(second_grant.await.unwrap().unwrap_err().feedback(), unanswered_error().feedback());
        assert!(first_grant.await.unwrap().is_ok());
        assert!(requests.lock().open.is_empty());
    }
}
