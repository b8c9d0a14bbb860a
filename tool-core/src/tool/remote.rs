//! The steps of a tool whose code is in another process, before its call is judged.
//!
//! [`Tool::prepare`] is synchronous, and decodes arguments. A tool that stands for one of another process (a *remote* tool) knows neither the
//! tool's `prepare` function nor its checks: it can only ask for them, and must, before anything judges the call. It does so by [`RemoteSteps`],
//! for which an executor has a step of its own that waits:
//!
//! - A call of a tool that redirects is replaced by the call for which it stands, before anything else sees it.
//! - A call is prepared when it was admitted, and again when a hook has rewritten its arguments. The other process returns the arguments after the
//!   `prepare` function, and the answers of the checks for one canonical text. The executor validates the arguments itself, and regards the
//!   answers as those of the tool's own checks, if they were given for the text that it is about to judge. Rules, policies, hooks
//!   and people judge what runs.
//! - The tools of a request are announced before the first of them adds to it, so that one message asks for all.
//!
//! Registration notes which tools have these steps: nothing is awaited or allocated for the calls of others.

use serde::{Deserialize, Serialize};

use super::{BoxFuture, Redirection};
use crate::{Arguments, ModelRequest, Permission, ToolContext, ToolError};

/// The steps of a tool outside of its body that its definition does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolSteps {
    /// The tool changes arguments before they are validated: [`Tool::prepare_arguments`](super::Tool::prepare_arguments).
    pub prepares_arguments: bool,
    /// Its calls are calls of other tools: [`Tool::redirect`](super::Tool::redirect).
    pub redirects_calls: bool,
    /// It adds to requests: [`Tool::on_request`](super::Tool::on_request).
    pub adds_to_requests: bool,
}

impl ToolSteps {
    /// Returns `true` if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The steps that another process takes for a tool: see the module.
pub trait RemoteSteps: Send + Sync {
    /// Returns a number that the tools of one set share, and no tool of another one has. A call is redirected to a tool of the same owner alone: the
    /// other process chooses its arguments.
    fn owner(&self) -> usize;

    /// Returns the steps of the tool at the other process.
    fn steps(&self) -> ToolSteps;

    /// Returns `true` if the tool has checks at the other process, which [`prepare_call`](Self::prepare_call) answers.
    fn has_checks(&self) -> bool;

    /// Asks for the preparation of a call with `arguments`: as received if the tool prepares them, and otherwise their canonical text.
    ///
    /// # Errors
    ///
    /// Returns an error if the arguments are refused, or if there is no answer. The call does not run.
    fn prepare_call<'a>(
        &'a self,
        arguments: Arguments<'a>,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<RemotePreparation, StepError>>;

    /// Asks for the call for which a call with `arguments`, a canonical text, stands.
    ///
    /// # Errors
    ///
    /// Returns an error if it stands for none, or if there is no answer. Nothing runs.
    fn redirect_call<'a>(&'a self, arguments: Arguments<'a>)
    -> BoxFuture<'a, Result<Redirection, StepError>>;

    /// Announces that the tool will be asked to add to `request`, which has its name.
    fn announce_request(&self, request: &ModelRequest);
}

/// An error of a step.
#[derive(Debug, Clone)]
pub enum StepError {
    /// The other process, or the set of the tool, refused the call.
    Refused(ToolError),
    /// There was no answer. Other calls of the batch are not prepared by this owner.
    Unanswered(ToolError),
}

/// The preparation of a call at another process.
#[derive(Debug, Clone, Default)]
pub struct RemotePreparation {
    /// The arguments after the tool's `prepare` function, as JSON; `None` if it has none.
    pub arguments: Option<String>,
    /// The canonical text for which the checks were answered; `None` if the arguments are not valid there, and nothing was answered.
    pub canonical: Option<String>,
    /// The answer of [`Prepared::wants_confirmation`](super::Prepared::wants_confirmation), if the tool has this check.
    pub confirmation: Option<Result<bool, ToolError>>,
    /// The answer of [`Prepared::permission`](super::Prepared::permission), if the tool has this check.
    pub permission: Option<Result<Permission, ToolError>>,
}
