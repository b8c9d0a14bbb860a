//! Calls of agents whose runs wait for answers: questions inside child runs.
//!
//! **What crosses the call.** A run below a call that [may stay open](ChildPlace::stays_open) ends with its open calls. Its
//! [`AgentTool`](crate::AgentTool) tells the run above ([`ParentRun::note_open_child`]), and returns an output without content and with an operation
//! id: for the executor it is a long-running call, whose record is in the store of open calls of the run above. What the tool told is an
//! [`OpenChildRun`], which is kept beside the outcome in the [open batch](super::open_batch) and in the journal. An operation id alone opens nothing
//! below: another tool, or a server, cannot claim the questions of a run.
//!
//! **What the root shows.** An `OpenChildRun` has a copy of each innermost question, with the calls above it. A run lists them in place of the
//! call above ([`End::open`](crate::End::open), [`End::paths`](crate::End::paths)), so that each is listed once, on each level.
//!
//! **How an answer arrives.** A run [finds](super::open_batch::OpenBatch::find_open_call) the question that a [`CallRef`](tool_runtime::open_calls::CallRef) names among its own
//! open calls and these copies, and passes the answer down as the input of a [`Continuation`]. [`Executor::continue_calls`] runs the body of the call above again, which takes the
//! continuation and continues its run. That run checks the answer against its own open calls and their records, so that a stale copy decides nothing. The
//! record of the call above is consumed with its result, or replaced if its run waits again.
//!
//! **Where the history is.** A run below a call has a [place](ChildPlace): a view key, and the history of the run above. With a store, its entries are in the same session under this
//! key, written under the lease of the root; without, they are in the [session](super::session) of the root in memory.
//!
//! **A crash.** A call whose run had not ended counts as interrupted. One that was open, and whose run was continued, is continued again by
//! [`Runner::recover`](crate::Runner::recover), as a root run would be.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tool_runtime::{
    CallOutcome, Executor, ToolCall,
    call::{CallAddress, Operation},
    open_calls::OpenCallError,
};

use super::{
    AgentStream, End, RunOptions, RunUsage, Runner,
    answers::{Answers, Input},
    calls::run_batch_with_steering,
    child_history::{ChildPlace, RunHistory},
    flow::boxed,
    open_batch::{OpenBatch, approval_request, interrupted_result},
    parent_run::ParentRun,
    scope::RunScope,
    tools::with_run_settings,
};
use crate::Message;

/// A call of an agent above an open call, in [`End::paths`](crate::End::paths).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallAbove {
    /// The address of the call.
    pub call: CallAddress,
    /// The name of the agent that the call runs.
    pub agent: Arc<str>,
}

/// A call of an agent whose run ended with open calls.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenChildRun {
    /// The address of the call.
    pub(crate) call: CallAddress,
    /// The agent that the call runs.
    pub(crate) agent: Arc<str>,
    /// The view key of the run.
    pub(crate) view: Arc<str>,
    /// The open calls of the run and of the runs below it.
    pub(crate) questions: Vec<OpenQuestion>,
    /// The texts of the responses so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) texts: Vec<String>,
    /// The state with which the run started.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) initial_state: Map<String, Value>,
    /// The state with which the run ended.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) state: Map<String, Value>,
    /// The usage of the run.
    #[serde(default)]
    pub(crate) usage: RunUsage,
}

/// An open call of a run below.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenQuestion {
    pub(super) outcome: CallOutcome,
    /// The virtual call for an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) confirmation: Option<ToolCall>,
    /// The calls between the run and this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) path: Vec<CallAbove>,
}

/// The input with which a run below a call continues.
#[derive(Debug)]
pub(crate) enum ChildInput {
    Answers(Answers),
    /// The run may have been interrupted.
    Recovery,
}

/// The continuation of a run below a call.
#[derive(Debug)]
pub(crate) struct Continuation {
    pub(crate) below: OpenChildRun,
    pub(crate) input: ChildInput,
}

/// The way in which a call of an agent begins.
pub(crate) enum CallStart {
    /// It starts a run.
    New,
    Continued(Box<Continuation>),
    /// Its run was continued already, and ended: the body is run again.
    Repeated,
}

/// The calls of a run whose runs below wait, or are continued.
#[derive(Default)]
pub(super) struct CallsBelow {
    opened: HashMap<CallAddress, OpenChildRun>,
    /// The calls of the current batch that continue; `None` once their body has begun.
    continued: HashMap<CallAddress, Option<Continuation>>,
    /// The calls of the current batch that were approved, which another run of the session may have made.
    approved: HashSet<CallAddress>,
}

impl CallsBelow {
    fn is_resumed(&self, call: &CallAddress) -> bool {
        self.continued.contains_key(call) || self.approved.contains(call)
    }
}

impl OpenChildRun {
    /// Returns the address of the call that `outcome` would be about, if it still waits for the run below.
    fn is_awaited_by(&self, outcome: &CallOutcome) -> bool {
        is_long_running(outcome) && outcome.address() == Some(&self.call)
    }

    /// Returns the addresses of the questions, and of the calls between this call and them.
    pub(super) fn open_addresses(&self) -> impl Iterator<Item = &CallAddress> {
        self.questions.iter().flat_map(|question| {
            question.path.iter().map(|above| &above.call).chain(question.outcome.address())
        })
    }

    /// Returns the calls above a question of this call.
    pub(super) fn calls_to_question(&self, question: &OpenQuestion) -> Vec<CallAbove> {
        let own = CallAbove { call: self.call.clone(), agent: Arc::clone(&self.agent) };
        std::iter::once(own).chain(question.path.iter().cloned()).collect()
    }
}

impl OpenQuestion {
    /// Returns the open calls of a run that ended with them.
    pub(crate) fn all_of(end: &End) -> Vec<Self> {
        let mut confirmations = end.confirmations.iter();
        let questions = end.open.iter().enumerate().map(|(at, outcome)| Self {
            outcome: outcome.clone(),
            confirmation: approval_request(outcome).and_then(|_| confirmations.next().cloned()),
            path: end.paths.get(at).cloned().unwrap_or_default(),
        });
        questions.collect()
    }
}

pub(super) fn is_long_running(outcome: &CallOutcome) -> bool {
    matches!(outcome, CallOutcome::Pending(pending) if matches!(pending.operation, Operation::LongRunning(Some(_))))
}

impl Runner {
    /// Runs the agent below a call, for a message.
    pub(crate) fn run_below(&self, run: RunOptions, place: ChildPlace, message: Message) -> AgentStream {
        self.start_run_in(run, Some(place), Input::Message(message))
    }

    /// Continues a run below a call that ended with open calls.
    pub(crate) fn continue_below(
        &self,
        run: RunOptions,
        place: ChildPlace,
        input: ChildInput,
    ) -> AgentStream {
        let input = match input {
            ChildInput::Answers(answers) => Input::Answers(answers),
            ChildInput::Recovery => Input::Recovery,
        };
        self.start_run_in(run, Some(place), input)
    }
}

impl ParentRun {
    /// Returns the way in which the call at `call` of an agent begins.
    pub(crate) fn call_start(&self, call: &CallAddress) -> CallStart {
        match self.calls_below().continued.get_mut(call).map(Option::take) {
            None => CallStart::New,
            Some(Some(continuation)) => CallStart::Continued(Box::new(continuation)),
            Some(None) => CallStart::Repeated,
        }
    }

    /// Returns `true` if the call at `call` is one of this run, in a batch of the runner, and may stay open.
    pub(crate) fn may_stay_open(&self, call: &CallAddress) -> bool {
        let is_own = call.run.as_ref() == Some(self.run_id()) || self.calls_below().is_resumed(call);
        is_own && self.history().is_some_and(RunHistory::allows_open_calls)
    }

    /// Returns `true` if the call at `call` of the current batch continues, which another run of the session may have made.
    pub(super) fn is_resumed_call(&self, call: &CallAddress) -> bool {
        self.calls_below().is_resumed(call)
    }

    /// Notes the calls of the next batch that were approved.
    pub(super) fn note_approved(&self, calls: impl IntoIterator<Item = CallAddress>) {
        self.calls_below().approved.extend(calls);
    }

    /// Returns `true` if a run below another call of the batch waits for answers in the history `view`.
    pub(super) fn has_run_waiting_in(&self, view: &str) -> bool {
        self.calls_below().opened.values().any(|below| *below.view == *view)
    }

    /// Notes that the run below a call waits for answers.
    pub(crate) fn note_open_child(&self, below: OpenChildRun) {
        self.calls_below().opened.insert(below.call.clone(), below);
    }

    /// Returns the open run below a call, for the journal.
    pub(super) fn open_child_of_call(&self, call: &CallAddress) -> Option<OpenChildRun> {
        self.calls_below().opened.get(call).cloned()
    }
}

/// Takes the runs that wait below the calls of a batch that has run into its open batch. A run whose call was answered otherwise is closed.
pub(super) async fn settle_child_runs(scope: &RunScope, open: &mut OpenBatch) {
    let opened = {
        let mut calls = scope.parent.calls_below();
        calls.continued.clear();
        calls.approved.clear();
        std::mem::take(&mut calls.opened)
    };
    open.below.retain(|it| !opened.contains_key(&it.call));
    open.below.extend(opened.into_values());
    let is_open = |below: &OpenChildRun| open.outcomes.iter().any(|outcome| below.is_awaited_by(outcome));
    let (remaining, ended): (Vec<_>, Vec<_>) = open.below.iter().cloned().partition(is_open);
    open.below = remaining;
    for below in ended {
        close_child_run(scope, &open.executor, &below).await;
    }
}

/// Continues the runs below calls, as one batch. A call that cannot be continued is answered with an error.
pub(super) async fn continue_child_runs(
    scope: &RunScope,
    open: &mut OpenBatch,
    inputs: Vec<(CallAddress, ChildInput)>,
) -> Result<(), String> {
    let executor = with_run_settings(scope, open.executor.clone()).map_err(|error| error.to_string())?;
    let mut continued = Vec::new();
    for (call, input) in inputs {
        let Some(below) = open.below.iter().find(|it| it.call == call).cloned() else { continue };
        match executor.continue_calls([call.clone()]).await {
            Ok(_) => {
                let continuation = Continuation { below, input };
                scope.parent.calls_below().continued.insert(call.clone(), Some(continuation));
                continued.push(call);
            }
            Err(error @ OpenCallError::Store(_)) => scope.emit_notice(error.to_string()).await,
            Err(error) => {
                let Some(index) = open.index_of_open_call(&call) else { continue };
                let result = interrupted_result(&open.outcomes[index], &error.to_string());
                open.set_result(index, result);
            }
        }
    }
    let batch =
        executor.continue_calls(continued.iter().cloned()).await.map_err(|error| error.to_string())?;
    let (outcomes, after) = boxed(|| run_batch_with_steering(scope, batch)).await;
    for (call, outcome) in continued.iter().zip(outcomes) {
        if let Some(index) = open.index_of_open_call(call) {
            open.set_outcome(index, outcome);
        }
    }
    open.after.extend(after);
    settle_child_runs(scope, open).await;
    Ok(())
}

/// Closes a run that waits below a call: its questions can no longer be answered.
pub(super) async fn close_child_run(scope: &RunScope, executor: &Executor, below: &OpenChildRun) {
    discard_questions(executor, below).await;
    scope.parent.end_history(&below.view);
    if let Some(history) = scope.parent.history() {
        history.close_history(&below.view).await;
    }
}

/// Discards the questions of a run below, and the calls above them, as far as this executor knows their store.
pub(super) async fn discard_questions(executor: &Executor, below: &OpenChildRun) {
    for address in below.open_addresses() {
        // A call of another store is closed with the history of its run, or expires.
        drop(executor.discard(address).await);
    }
}
