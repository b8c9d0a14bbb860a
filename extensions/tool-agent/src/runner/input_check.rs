//! The check of the user's message, beside the first request to the model.

use std::{pin::pin, sync::Arc};

use futures_util::future::{Either, select};
use tool_runtime::{RunContext, ToolError};

use super::{
    flow::{RoundFailure, run_callback},
    scope::RunScope,
    session::Session,
};
use crate::{
    Agent, InputDecision, Message,
    agent::{AgentTree, CheckFuture},
    model::Response,
};

/// Starts the check of a message, if the agent has one.
pub(super) fn start_check(agent: &Agent, run: &Arc<RunContext>, message: &Message) -> Option<CheckFuture> {
    agent.0.input_check.as_ref()?;
    let (agent, run, message) = (agent.clone(), Arc::clone(run), message.clone());
    Some(Box::pin(async move {
        let Some(check) = &agent.0.input_check else { return Ok(InputDecision::Accept) };
        run_callback(|| check(run, message)).await
    }))
}

/// Returns the active agent, or the nearest one above it that has a check: a transfer removes no check.
pub(super) fn checking_agent(root: &Agent, active: &Agent) -> Option<Agent> {
    let mut agent = active;
    while agent.0.input_check.is_none() {
        agent = AgentTree(root).parent_of_agent(agent.name())?;
    }
    Some(agent.clone())
}

/// Returns the response that `asking` gives, once the check accepted the message of the user. The check remains in
/// `pending` as long as it has not decided and there is no response.
pub(super) async fn respond_after_check(
    scope: &RunScope,
    session: &mut Session,
    pending: &mut Option<CheckFuture>,
    asking: impl Future<Output = Result<Response, RoundFailure>>,
) -> Result<Response, RoundFailure> {
    let Some(check) = pending.take() else { return asking.await };
    let asking = pin!(asking);
    let (response, check) = match select(check, asking).await {
        Either::Left((decision, asking)) => {
            accept_or_refuse_message(session, decision)?;
            return asking.await;
        }
        Either::Right((response, check)) => (response, check),
    };
    match response {
        Ok(response) => {
            accept_or_refuse_message(session, scope.wait_unless_interrupted(check).await?)?;
            Ok(response)
        }
        Err(failure) => {
            *pending = Some(check);
            Err(failure)
        }
    }
}

/// Withdraws everything that was shown of the answer to a refused message of the user. The message remains unchecked: it is in no
/// history, and the next run removes it.
pub(super) async fn withdraw_answer(scope: &RunScope, reason: &str) {
    scope.emit_withdrawn(format!("the input was refused: {reason}")).await;
}

/// Marks the message of the user as checked if it is accepted.
pub(super) fn accept_or_refuse_message(
    session: &mut Session,
    decision: Result<InputDecision, ToolError>,
) -> Result<(), RoundFailure> {
    match decision {
        Ok(InputDecision::Accept) => {
            session.is_unchecked = false;
            Ok(())
        }
        Ok(InputDecision::Refuse(reason)) => Err(RoundFailure::InputRefused(reason)),
        Err(error) if error.is_stop() => Err(RoundFailure::Hook(error)),
        Err(error) => {
            let problem = format!("the input check failed: {}", error.reason());
            Err(RoundFailure::Hook(ToolError::failed(problem)))
        }
    }
}
