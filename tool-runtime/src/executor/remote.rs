//! The steps of calls that another process takes for a tool, before anything judges them: see `RemoteSteps` in `tool-core`.
//!
//! - Redirect: when a batch begins, before the calls are looked up. All are asked at once.
//! - Prepare: once a call was admitted, in place of the synchronous preparation of other tools, and once more for each rewrite by a hook.
//!   Answers count for the text that is judged next: the executor validates the arguments itself, with its own leniency, and asks
//!   again if that gives another text than the one that was answered for. After the second answer, a call whose text changes each time is refused.
//!
//! An error is the answer of the call, which has not run. The steps count in no budget. Cancellation and the deadline of the run end them. A process that
//! did not answer about one call of a batch is not asked about another one, so that it delays the others once.
//!
//! Nothing is asked about a redirect that a rule denies by its name, or for which the budget of the run has no call left. It leads to a tool of the same
//! process alone.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, OnceLock, PoisonError},
};

use futures_util::future::join_all;
use tool_core::{
    Arguments, ErrorKind, Prepared, Redirection, ToolContext, ToolError,
    internals::{RemotePreparation, RemoteSteps, StepError},
};

use super::{ExecutorParts, admission::denial_by_name, state::BatchState};
use crate::{
    ToolCall,
    panics::run_in_call,
    registry::{Entry, framework_target_error},
};

/// The component named in the report of a panic.
const REMOTE_COMPONENT: &str = "the connection to the tool";

/// The number of times that a call is prepared until its text stays the same.
const MAX_PREPARATIONS: u32 = 2;

/// Prepares a call at another process, which also answers the checks of its tool.
pub(super) async fn prepare_remotely<'a>(
    entry: &'a Entry,
    received: Arguments<'a>,
    cx: &ToolContext,
    batch: &BatchState,
) -> Result<Prepared<'a>, ToolError> {
    // Validation reports what is no object, as it does in this process.
    let is_rewritten =
        entry.steps().prepares_arguments && received.to_value().is_ok_and(|value| value.is_object());
    let mut arguments = if is_rewritten { received } else { entry.canonical_arguments(received)? };
    for _ in 0..MAX_PREPARATIONS {
        let mut preparation = ask_for_preparation(entry, &arguments, cx, batch).await?;
        let rewritten = match preparation.arguments.take() {
            Some(text) => arguments.corrected(text, Vec::new()),
            None => arguments,
        };
        let canonical = entry.canonical_arguments(rewritten)?;
        if preparation.canonical.as_deref() == Some(canonical.as_str()) {
            return Ok(answer_checks(entry.prepare_from_canonical(canonical)?, preparation));
        }
        arguments = canonical;
    }
    let message = "its process prepares the arguments in another way each time; its `prepare` function must return \
                   its own result unchanged";
    Err(ToolError::failed(message).of_tool(entry.definition().name().to_string()))
}

async fn ask_for_preparation(
    entry: &Entry,
    arguments: &Arguments<'_>,
    cx: &ToolContext,
    batch: &BatchState,
) -> Result<RemotePreparation, ToolError> {
    let steps = entry.remote_steps()?;
    let answer = match batch.unanswered.error_of(steps) {
        Some(error) => Err(error),
        None => {
            let ask = || steps.prepare_call(arguments.as_borrowed(), cx);
            let answer = run_in_call(cx.call_id(), REMOTE_COMPONENT, ask).await;
            answer.and_then(|result| result.map_err(|error| batch.unanswered.note_error(steps, error)))
        }
    };
    answer.map_err(|error| error.of_tool(entry.definition().name().to_string()))
}

/// The processes that did not answer about a call of a batch, by their owners.
#[derive(Default)]
pub(super) struct UnansweredSteps(OnceLock<Mutex<HashMap<usize, ToolError>>>);

impl UnansweredSteps {
    fn error_of(&self, steps: &dyn RemoteSteps) -> Option<ToolError> {
        let errors = self.0.get()?.lock().unwrap_or_else(PoisonError::into_inner);
        errors.get(&steps.owner()).cloned()
    }

    fn note_error(&self, steps: &dyn RemoteSteps, error: StepError) -> ToolError {
        match error {
            StepError::Refused(error) => error,
            StepError::Unanswered(error) => {
                let errors = self.0.get_or_init(Mutex::default);
                errors.lock().unwrap_or_else(PoisonError::into_inner).insert(steps.owner(), error.clone());
                error
            }
        }
    }
}

/// The error of a call that stands for none.
pub(super) struct RedirectError {
    pub(super) error: ToolError,
    /// Of this executor, and not a text of the other process, which may repeat arguments.
    pub(super) is_own: bool,
}

/// Gives `prepared` the answers of another process in place of checks of its own.
fn answer_checks(prepared: Prepared<'_>, preparation: RemotePreparation) -> Prepared<'_> {
    let RemotePreparation { confirmation, permission, .. } = preparation;
    // A check without an answer stays undecided: the call does not run.
    let prepared = match confirmation {
        Some(answer) => prepared.with_confirmation(move |_| answer.clone()),
        None => prepared,
    };
    match permission {
        Some(answer) => prepared.with_permission(move |_| answer.clone()),
        None => prepared,
    }
}

/// Asks for the call for which `call` stands; `None` if it stands for none that another process knows.
pub(super) async fn ask_for_redirection(
    executor: &ExecutorParts,
    call: &ToolCall,
    batch: &BatchState,
) -> Option<Result<Redirection, RedirectError>> {
    if call.incomplete.is_some() || call.redirected_from.is_some() {
        return None;
    }
    let entry = executor.tools.entry(&call.name).filter(|entry| entry.redirects_remotely())?;
    let own = |error| Some(Err(RedirectError { error, is_own: true }));
    if let Some(denied) = denial_by_name(executor, call, Some(entry.definition())) {
        return own(denied);
    }
    if let Some(over) = batch.run().and_then(|run| run.has_call_left().err()) {
        return own(over);
    }
    // Invalid arguments are reported when the call is prepared.
    let canonical = entry.canonical_arguments(call.arguments.as_borrowed()).ok()?;
    let name = entry.definition().name();
    let steps = match entry.remote_steps() {
        Ok(steps) => steps,
        Err(error) => return own(error),
    };
    let answer = run_in_call(&call.id, REMOTE_COMPONENT, || steps.redirect_call(canonical)).await;
    let target = match answer {
        Err(panic) => return own(panic),
        Ok(Err(error)) => {
            let is_own = matches!(error, StepError::Unanswered(_));
            let error = batch.unanswered.note_error(steps, error).of_tool(name.to_string());
            return Some(Err(RedirectError { error, is_own }));
        }
        Ok(Ok(target)) => target,
    };
    if !executor.tools.is_redirection_target(&target.name) {
        return own(framework_target_error(&target.name, name));
    }
    let is_of_other = executor.tools.entry(&target.name).is_some_and(|it| it.owner() != Some(steps.owner()));
    match is_of_other {
        true => own(foreign_target_error(&target.name, name)),
        false => Some(Ok(target)),
    }
}

/// The error of a call that another process redirected to a tool of this program, or of a third one.
#[cold]
fn foreign_target_error(target: &str, redirecting: &str) -> ToolError {
    let message = format!(
        "`{redirecting}` cannot call `{target}`, which is no tool of its process; call `{target}` itself"
    );
    ToolError::new(ErrorKind::InvalidArguments, message).of_tool(redirecting.to_owned())
}

impl BatchState {
    /// Replaces the calls that stand for others by what another process knows. The errors of calls that stand for none are kept until they are
    /// prepared.
    pub(super) async fn redirect_remotely(
        &self,
        executor: &ExecutorParts,
        calls: &mut [ToolCall],
        first: u64,
    ) {
        let questions = join_all(calls.iter().map(|call| ask_for_redirection(executor, call, self)));
        // Each call of a stopped batch is answered with the reason.
        let Ok(answers) = self.unless_stopped(questions).await else { return };
        let mut errors = BTreeMap::new();
        for ((serial, call), answer) in (first..).zip(calls).zip(answers) {
            match answer {
                Some(Ok(redirection)) => executor.replace_call(call, redirection),
                Some(Err(error)) => drop(errors.insert(serial, error)),
                None => {}
            }
        }
        // Set once.
        let _ = self.redirect_errors.set(errors);
    }

    /// Returns the error of a call that stands for none, as another process knows.
    pub(super) fn redirect_error(&self, serial: u64) -> Option<&RedirectError> {
        self.redirect_errors.get()?.get(&serial)
    }
}
