//! The check of the user's message, beside the first request to the model.

use std::{
    pin::pin,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    time::Instant,
};

use futures_util::future::{Either, select};
use tool_runtime::{ErrorKind, ToolError};

use super::{AgentEventKind, ask::Failure, drive::Drive};
use crate::{InputDecision, Message, agent::CheckFuture, guard::guarded, hook::Step, model::Response};

impl Drive {
    /// Starts the check of a message, if the agent has one.
    pub(super) fn check_of(&self, message: &Message) -> Option<CheckFuture> {
        self.agent().0.input_check.as_ref()?;
        let (agent, run, message) = (self.agent().clone(), Arc::clone(&self.run), message.clone());
        Some(Box::pin(async move {
            let Some(check) = &agent.0.input_check else { return Ok(InputDecision::Accept) };
            let panicked = |message| ToolError::new(ErrorKind::Panicked, message);
            guarded(|| check(run, message), panicked).await
        }))
    }

    /// Asks for the response of `step`, which is returned once the check accepted the message of the user.
    pub(super) async fn checked(&mut self, step: &mut Step) -> Result<Response, Failure> {
        let waiting = std::mem::take(&mut self.check).into_inner();
        let Some(check) = waiting.unwrap_or_else(PoisonError::into_inner) else {
            return self.asked(step).await;
        };
        let (answered, waiting) = {
            let asked = pin!(self.asked(step));
            match select(check, asked).await {
                Either::Left((decision, asked)) => {
                    accepted(decision)?;
                    self.turn.unchecked.store(false, Ordering::Release);
                    (asked.await, None)
                }
                Either::Right((answered, check)) => (answered, Some(check)),
            }
        };
        match (answered, waiting) {
            (Ok(response), Some(check)) => {
                accepted(self.unless_over(check).await?)?;
                self.turn.unchecked.store(false, Ordering::Release);
                Ok(response)
            }
            (answered, waiting) => {
                self.check = Mutex::new(waiting);
                answered
            }
        }
    }

    /// Removes a refused message of the user, and everything that was shown of the answer.
    pub(super) async fn withdraw_input(&mut self, reason: &str) {
        if self.turn.forget_unchecked() {
            self.view.pop();
        }
        self.emit(AgentEventKind::Withdrawn { reason: format!("the input was refused: {reason}") }).await;
    }

    /// Awaits `future`, until the run is cancelled or its time is over.
    pub(super) async fn unless_over<T>(&self, future: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::select! {
            biased;
            () = self.run.cancellation().cancelled() => Err(Failure::Cancelled),
            result = future => Ok(result),
            () = self.late() => Err(Failure::Late),
        }
    }

    /// Waits for the deadline of the run.
    pub(super) async fn late(&self) {
        match self.run.deadline() {
            Some(end) => tokio::time::sleep(end.saturating_duration_since(Instant::now())).await,
            None => std::future::pending().await,
        }
    }
}

fn accepted(decision: Result<InputDecision, ToolError>) -> Result<(), Failure> {
    match decision {
        Ok(InputDecision::Accept) => Ok(()),
        Ok(InputDecision::Refuse(reason)) => Err(Failure::Refused(reason)),
        Err(error) if error.is_stop() => Err(Failure::Hook(error)),
        Err(error) => {
            Err(Failure::Hook(ToolError::failed(format!("the input check failed: {}", error.reason()))))
        }
    }
}
