//! Errors of answers to open calls.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use tool_core::{CallAddress, CallId, ErrorKind, ToolError};

use super::{CallRef, OpenStoreError};

/// An error of an operation on an open call. Nothing was run or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenCallError {
    /// No such call is open: there was none, or it was answered before.
    NotOpen(CallRef),
    /// Several open calls have this id; refer to each by its address.
    Ambiguous {
        /// The id.
        id: CallId,
        /// The addresses of the calls, in the order in which they came.
        addresses: Vec<CallAddress>,
    },
    /// The call is given by an id, but the executor has a [store](crate::executor::ExecutorBuilder::open_calls) that
    /// may contain calls of other executors with the same id; refer to it by its address or its question.
    NeedsAddress(CallId),
    /// The call waits for an approval; answer it with [`Executor::resume`](crate::Executor::resume).
    WaitsForPerson(CallRef),
    /// The call does not wait for an approval; answer it with
    /// [`Executor::submit_result`](crate::Executor::submit_result).
    AsksNobody(CallRef),
    /// The call is left to the caller, and has a single result; give it to
    /// [`Executor::submit_result`](crate::Executor::submit_result).
    NotLongRunning(CallRef),
    /// The call waits for the answer to a second or later question; refer to that question by its
    /// [`ApprovalRequest`](crate::policy::ApprovalRequest).
    NeedsQuestion(CallRef),
    /// The same call is answered twice in one request.
    AnsweredTwice(CallRef),
    /// The time for the answer is over.
    Expired {
        /// The call.
        call: CallRef,
        /// The time from which answers are refused.
        at: SystemTime,
    },
    /// The stored call was altered, or stored under another key.
    Altered(CallRef),
    /// The [`ApprovalRequest`](crate::policy::ApprovalRequest) that was answered is not the stored one: its call, hint,
    /// payload, cause or expiry was changed.
    RequestChanged(CallRef),
    /// The secret arguments of the call cannot be read: its tool was replaced, or another process kept them.
    SecretsUnavailable(CallRef),
    /// The store of open calls failed.
    Store(OpenStoreError),
}

/// The maximum number of addresses in a message.
const MAX_LISTED_ADDRESSES: usize = 8;

impl fmt::Display for OpenCallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpen(call) => {
                let of_that = if matches!(call, CallRef::Id(_)) { "with this id" } else { "at this address" };
                write!(f, "no call {call} is open: there was none {of_that}, or it was answered before")
            }
            Self::Ambiguous { id, addresses } => {
                write!(f, "{} open calls have the id {id}; answer each by its address: ", addresses.len())?;
                for (at, address) in addresses.iter().take(MAX_LISTED_ADDRESSES).enumerate() {
                    write!(f, "{}{address}", if at == 0 { "" } else { ", " })?;
                }
                match addresses.len().saturating_sub(MAX_LISTED_ADDRESSES) {
                    0 => Ok(()),
                    more => write!(f, ", and {more} more"),
                }
            }
            Self::NeedsAddress(id) => write!(
                f,
                "the id {id} does not identify a call in a shared store; refer to the call by its \
                 `CallAddress` or its `ApprovalRequest`"
            ),
            Self::WaitsForPerson(call) => {
                write!(f, "the call {call} waits for an approval; answer it by `resume`")
            }
            Self::AsksNobody(call) => {
                write!(f, "the call {call} does not wait for an approval; answer it by `submit_result`")
            }
            Self::NotLongRunning(call) => {
                write!(f, "the call {call} is not long-running; give its only result to `submit_result`")
            }
            Self::NeedsQuestion(call) => {
                write!(
                    f,
                    "the call {call} waits for the answer to another question; answer that by its `ApprovalRequest`"
                )
            }
            Self::AnsweredTwice(call) => write!(f, "the call {call} was answered twice at once"),
            Self::Expired { call, at } => {
                let ago = SystemTime::now().duration_since(*at).unwrap_or_default();
                let ago = Duration::from_secs(ago.as_secs());
                write!(f, "the call {call} expired {ago:?} ago; let the model make it again")
            }
            Self::Altered(call) => write!(
                f,
                "the stored call {call} was altered, or stored under another key; it is not run; discard it"
            ),
            Self::RequestChanged(call) => write!(
                f,
                "the request about the call {call} was changed since it was made: its call, hint, payload, cause or \
                 expiry differs from the stored one; show the person the request of `open_calls`"
            ),
            Self::SecretsUnavailable(call) => write!(
                f,
                "the secret arguments of the call {call} cannot be read: its tool was changed, or they were kept by \
                 another process; let the model make it again"
            ),
            Self::Store(error) => write!(f, "the store of open calls failed: {error}"),
        }
    }
}

impl std::error::Error for OpenCallError {}

impl From<OpenStoreError> for OpenCallError {
    fn from(error: OpenStoreError) -> Self {
        Self::Store(error)
    }
}

/// The answer to a call that was about to run but is no longer open.
impl From<OpenCallError> for ToolError {
    fn from(error: OpenCallError) -> Self {
        match &error {
            // The message of a store, which may include its location, is for logs only.
            OpenCallError::Store(_) => Self::new(ErrorKind::Unavailable, error.to_string())
                .with_feedback("Tool unavailable: the store of open calls failed"),
            _ => Self::new(ErrorKind::Denied, error.to_string()),
        }
    }
}
