//! Handles to runs: messages, approvals, cancellation.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Notify, oneshot};
use tool_runtime::{
    CancellationToken, ToolError,
    call::CallAddress,
    policy::{Approval, ApprovalHandle},
};

use super::Answers;
use crate::Message;

/// Steers a run while it takes place. Cheap to clone.
#[derive(Clone)]
pub struct RunHandle {
    inbox: Arc<Inbox>,
    token: CancellationToken,
}

/// Messages and answers for a run.
#[derive(Default)]
pub(crate) struct Inbox {
    waiting: Mutex<Waiting>,
    /// Notified of answers to open calls.
    answered: Notify,
}

#[derive(Default)]
struct Waiting {
    steering: VecDeque<Message>,
    follow_ups: VecDeque<Message>,
    answers: VecDeque<Answers>,
    approvals: HashMap<CallAddress, oneshot::Sender<Approval>>,
    /// `true` once the run has ended: no one answers any more.
    is_ended: bool,
}

/// Ends the inbox of a run with the run.
pub(super) struct InboxEnd(Arc<Inbox>);

impl Drop for InboxEnd {
    fn drop(&mut self) {
        let mut waiting = self.0.lock();
        waiting.is_ended = true;
        waiting.approvals.clear();
    }
}

impl RunHandle {
    pub(super) fn new(token: CancellationToken) -> Self {
        Self { inbox: Arc::default(), token }
    }

    pub(super) fn inbox(&self) -> Arc<Inbox> {
        Arc::clone(&self.inbox)
    }

    /// Sends a message that interrupts the run: calls that have not started are skipped, and the model receives the
    /// message after the results of the others.
    pub fn steer(&self, message: impl Into<Message>) {
        self.inbox.lock().steering.push_back(message.into());
    }

    /// Sends a message that follows the answer: the run continues with it in place of its end.
    pub fn follow_up(&self, message: impl Into<Message>) {
        self.inbox.lock().follow_ups.push_back(message.into());
    }

    /// Answers the request for an approval of the call at `address`; returns `false` if none waits for an answer. See
    /// [`AgentBuilder::approvals_by_handle`](crate::AgentBuilder::approvals_by_handle).
    pub fn approve(&self, address: &CallAddress, approval: Approval) -> bool {
        let waiting = self.inbox.lock().approvals.remove(address);
        waiting.is_some_and(|waiting| waiting.send(approval).is_ok())
    }

    /// Answers open calls of the run: at the end of their batch, or while the run [waits for
    /// answers](crate::AgentBuilder::wait_for_answers). An answer that names no open call is reported as a
    /// [notice](crate::AgentEventKind::Notice).
    pub fn answer(&self, answers: Answers) {
        self.inbox.lock().answers.push_back(answers);
        self.inbox.answered.notify_one();
    }

    /// Cancels the run.
    pub fn cancel(&self) {
        self.token.cancel();
    }
}

impl Inbox {
    /// No user code runs under the lock.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn next_steering(&self) -> Option<Message> {
        self.lock().steering.pop_front()
    }

    pub(super) fn next_follow_up(&self) -> Option<Message> {
        self.lock().follow_ups.pop_front()
    }

    pub(super) fn next_answers(&self) -> Option<Answers> {
        self.lock().answers.pop_front()
    }

    /// Waits for answers to open calls.
    pub(super) async fn wait_for_answers(&self) {
        self.answered.notified().await;
    }

    /// Returns a value that ends the inbox when it is dropped.
    pub(super) fn guard_until_run_end(self: &Arc<Self>) -> InboxEnd {
        InboxEnd(Arc::clone(self))
    }

    /// Waits for the answer to a request. One of the handle of a run that has ended is not decided: guards of that run may be those of calls that
    /// a later run continues.
    pub(super) async fn wait_for_approval(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
        let (sender, answer) = oneshot::channel();
        {
            let mut waiting = self.lock();
            if waiting.is_ended {
                return Ok(Approval::Pending);
            }
            waiting.approvals.insert(request.address.clone(), sender);
        }
        answer.await.map_err(|_| ToolError::cancelled())
    }
}

impl fmt::Debug for RunHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunHandle")
    }
}
