//! The reasons for which an answer to an open call is refused.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use tool_core::{CallAddress, CallId, ErrorKind, ToolError};

use super::CallRef;
use crate::open_calls::OpenStoreError;

/// Why an answer was refused. Nothing was run or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenCallError {
    /// No such call is open: there was none, or it was answered before.
    NotOpen(CallRef),
    /// Several open calls have this id; each is answered by its address.
    Ambiguous {
        /// The id.
        id: CallId,
        /// The addresses of the calls, in the order in which they came.
        addresses: Vec<CallAddress>,
    },
    /// The executor was given a [store](crate::executor::ExecutorBuilder::open_calls), which others may share, and the call is
    /// named by an id, which calls of others may have; it is named by its address or its question.
    NeedsAddress(CallId),
    /// It waits for a person; see [`Executor::resume`](crate::Executor::resume).
    WaitsForPerson(CallRef),
    /// It does not wait for a person; see [`Executor::submit_result`](crate::Executor::submit_result).
    AsksNobody(CallRef),
    /// It is left to the caller, who gives one result; see [`Executor::submit_result`](crate::Executor::submit_result).
    NotLongRunning(CallRef),
    /// It waits for the answer to a second or later question, which the answer has to name: by its
    /// [`ApprovalRequest`](crate::policy::ApprovalRequest).
    NeedsQuestion(CallRef),
    /// The same call was answered twice at once.
    AnsweredTwice(CallRef),
    /// The time for the answer is over.
    Expired {
        /// The call.
        call: CallRef,
        /// The time from which answers were refused.
        at: SystemTime,
    },
    /// The stored call is not as it was stored, or was stored under another key.
    Altered(CallRef),
    /// The secret arguments of the call cannot be read: its tool is another one by now, or they were kept by another
    /// process.
    SecretsUnavailable(CallRef),
    /// The store of open calls failed.
    Store(OpenStoreError),
}

/// The number of addresses that a message shows.
const SHOWN: usize = 8;

impl fmt::Display for OpenCallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpen(call) => {
                let of_that = if matches!(call, CallRef::Id(_)) { "of that id" } else { "at that address" };
                write!(f, "no call {call} is open: there was none {of_that}, or it was answered before")
            }
            Self::Ambiguous { id, addresses } => {
                write!(f, "{} open calls have the id {id}; answer each by its address: ", addresses.len())?;
                for (at, address) in addresses.iter().take(SHOWN).enumerate() {
                    write!(f, "{}{address}", if at == 0 { "" } else { ", " })?;
                }
                match addresses.len().saturating_sub(SHOWN) {
                    0 => Ok(()),
                    more => write!(f, ", and {more} more"),
                }
            }
            Self::NeedsAddress(id) => write!(
                f,
                "the id {id} does not name a call in a store that others may share; name the call by its \
                 `CallAddress` or its `ApprovalRequest`"
            ),
            Self::WaitsForPerson(call) => {
                write!(f, "the call {call} waits for a person, and is answered by `resume`")
            }
            Self::AsksNobody(call) => {
                write!(f, "the call {call} does not wait for a person, and is answered by `answer`")
            }
            Self::NotLongRunning(call) => {
                write!(f, "the call {call} is not long-running, and has one result; give it by `answer`")
            }
            Self::NeedsQuestion(call) => {
                write!(
                    f,
                    "the call {call} waits for the answer to another question; answer it by its `ApprovalRequest`"
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
                "the stored call {call} was altered, or stored under another key; it is not run, and can be forgotten"
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

/// The answer to a call that was to run and may not, since it is not open any more.
impl From<OpenCallError> for ToolError {
    fn from(error: OpenCallError) -> Self {
        match &error {
            // What a store says of itself, such as where it is, is for logs.
            OpenCallError::Store(_) => Self::new(ErrorKind::Unavailable, error.to_string())
                .with_feedback("Tool unavailable: the store of open calls failed"),
            _ => Self::new(ErrorKind::Denied, error.to_string()),
        }
    }
}
