//! Tool calls, their results, and their outcomes in a batch.
//!
//! - [`ToolCall`] is one request of a model: an id, the name of a tool, and [arguments](tool_core::Arguments) as JSON
//!   text. A [`Dialect`](crate::Dialect) reads calls from a provider's response. [`Incomplete`] marks a call that the
//!   response cut off.
//! - [`ToolResult`] is the answer to one call: an output or an error, with the number of attempts and the duration.
//!   [`ResultStatus`] is its outcome as one word; hooks change a result by its setters or by [`ResultMessage`]s.
//! - [`CallOutcome`] is the outcome of one call of a batch: finished, external, or [`Pending`] on an [`Operation`].
//!   [`merged_actions`] combines the actions that the calls of a batch request.
//! - [`CallAddress`] identifies one call among calls of the same [`CallId`], since models reuse ids.
//!
//! Calls, results and outcomes have a JSON form (`serde`), in which programs store and exchange them.

pub(crate) mod content;
mod outcome;
mod replace;
mod result;
mod status;
mod wire;

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use tool_core::{Arguments, ErrorKind, IntoArguments, Resource, ToolError};

#[doc(inline)]
pub use tool_core::{CallAddress, CallId};

pub use self::{
    outcome::{CallOutcome, Operation, Pending, merged_actions},
    replace::ResultMessage,
    result::ToolResult,
    status::ResultStatus,
};

/// A call of one tool, requested by a model: the name of the tool, and arguments.
///
/// # Examples
///
/// ```
/// use tool_runtime::ToolCall;
///
/// let call = ToolCall::new("add", r#"{ "a": 2, "b": 3 }"#).with_id("call_1");
/// assert_eq!(call.id.to_string(), "call_1");
/// // The arguments may contain secrets.
/// assert_eq!(format!("{call:?}"), r#"ToolCall { id: "call_1", name: "add", arguments: 18 bytes }"#);
/// ```
#[derive(Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolCall {
    /// The id that the model gave the call, or a generated one.
    pub id: CallId,
    /// The name of the tool, as the model wrote it; for a [redirected](Self::redirected_from) call, the tool that it
    /// stands for.
    pub name: String,
    /// The arguments, as the model wrote them.
    #[serde(serialize_with = "as_text")]
    pub arguments: Arguments<'static>,
    /// Metadata that the caller sent with the call, outside of its arguments; the framework reads `traceparent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
    /// Documents that the caller sent with the call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Resource>,
    /// The mark of a call that was cut off; `None` for a complete call.
    ///
    /// An executor answers a marked call with [`ErrorKind::Incomplete`] and does not run it. A program that passes the
    /// arguments of a call to a [`Registry`](crate::Registry) itself checks [`completed`](Self::completed) first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<Incomplete>,
    /// The name of the tool that the model called, if that tool [redirects](tool_core::Tool::redirect) its calls to the
    /// tool of this call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirected_from: Option<Arc<str>>,
    /// See [`with_address`](Self::with_address).
    #[serde(skip)]
    pub(crate) address: Option<Box<CallAddress>>,
}

impl ToolCall {
    /// Creates a call of the tool `name`, with a generated id.
    pub fn new(name: impl Into<String>, arguments: impl IntoArguments<'static>) -> Self {
        Self {
            id: CallId::generate(),
            name: name.into(),
            arguments: arguments.into(),
            meta: None,
            resources: Vec::new(),
            incomplete: None,
            redirected_from: None,
            address: None,
        }
    }

    /// Sets the address that another process gave the call, so that its [idempotency
    /// key](tool_core::ToolContext::idempotency_key) is the same wherever it runs. Not stored. Default: the executor assigns one.
    #[must_use]
    pub fn with_address(mut self, address: CallAddress) -> Self {
        self.address = Some(Box::new(address));
        self
    }

    /// Sets the id that the model gave the call. Default: a generated id, which an empty `id` leaves unchanged.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        let id = id.into();
        if !id.is_empty() {
            self.id = CallId::from(id);
        }
        self
    }

    /// Sets the metadata that the caller sent with the call. Default: none.
    #[must_use]
    pub fn with_meta(mut self, meta: Map<String, Value>) -> Self {
        self.meta = Some(meta);
        self
    }

    /// Sets the documents that the caller sent with the call. Default: none.
    #[must_use]
    pub fn with_resources(mut self, resources: Vec<Resource>) -> Self {
        self.resources = resources;
        self
    }

    /// Marks the call as cut off. Default: complete.
    #[must_use]
    pub fn with_incomplete(mut self, incomplete: Incomplete) -> Self {
        self.incomplete = Some(incomplete);
        self
    }

    /// Checks that the call was not cut off.
    ///
    /// # Errors
    ///
    /// Returns an error of kind [`Incomplete`](ErrorKind::Incomplete), which answers the call, if the call is
    /// [marked](Self::incomplete).
    pub fn completed(&self) -> Result<(), ToolError> {
        match &self.incomplete {
            None => Ok(()),
            Some(mark) => Err(mark.incomplete_error().of_tool(self.name.to_string())),
        }
    }
}

/// Omits the arguments: they may contain secrets, which only the definition of the tool identifies.
impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ToolCall");
        debug
            .field("id", &self.id)
            .field("name", &self.name)
            .field("arguments", &format_args!("{} bytes", self.arguments.as_str().len()));
        if let Some(incomplete) = &self.incomplete {
            debug.field("incomplete", incomplete);
        }
        if let Some(name) = &self.redirected_from {
            debug.field("redirected_from", name);
        }
        debug.finish()
    }
}

/// The mark of a call that was cut off: the response ended before the model had completed the call.
///
/// # Examples
///
/// ```
/// use tool_runtime::{ToolCall, call::Incomplete};
///
/// let call = ToolCall::new("delete", "{}").with_incomplete(Incomplete::new("length"));
/// assert_eq!(
///     call.completed().unwrap_err().feedback(),
///     "Incomplete: the response ended (`length`) before this call did. Nothing was executed.",
/// );
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Incomplete {
    /// The stop reason, as the provider wrote it; `None` if the response ended without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
}

impl Incomplete {
    /// Creates the mark for a response that ended with the stop reason `reason`.
    pub fn new(reason: impl Into<Arc<str>>) -> Self {
        Self { reason: Some(reason.into()) }
    }

    /// Creates the mark for a response that ended without a stop reason.
    #[must_use]
    pub fn without_reason() -> Self {
        Self { reason: None }
    }

    /// Returns the answer to a marked call.
    fn incomplete_error(&self) -> ToolError {
        /// The maximum number of characters of a stop reason that the answer repeats.
        const MAX_REASON_CHARS: usize = 64;
        let plain = |reason: &Arc<str>| -> String {
            let is_plain = |letter: &char| letter.is_ascii_graphic() && *letter != '`';
            reason.chars().filter(is_plain).take(MAX_REASON_CHARS).collect()
        };
        let reason = self.reason.as_ref().map(plain).filter(|reason| !reason.is_empty());
        let reason = reason.map(|reason| format!(" (`{reason}`)")).unwrap_or_default();
        let message = format!("the response ended{reason} before this call did");
        ToolError::new(ErrorKind::Incomplete, message)
    }
}

fn as_text<S: Serializer>(arguments: &Arguments<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(arguments.as_str())
}
