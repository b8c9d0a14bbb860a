//! Open calls as an executor lists them, and references to them.

use std::fmt;

use serde::{Deserialize, Serialize};
use tool_core::{CallAddress, CallId, ContentHash};

use crate::{ToolCall, policy::ApprovalRequest};

/// A call that is not answered yet. Values of secret parameters are replaced;
/// [`Executor::open_arguments`](crate::Executor::open_arguments) returns them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum OpenCall {
    /// The call is left to the caller.
    External(ToolCall, CallAddress),
    /// The tool started work that continues after the batch.
    LongRunning(ToolCall, CallAddress),
    /// The call waits for an approval.
    Confirmation(ToolCall, Box<ApprovalRequest>),
}

impl OpenCall {
    /// Returns the call.
    #[must_use]
    pub fn call(&self) -> &ToolCall {
        match self {
            Self::External(call, _) | Self::LongRunning(call, _) | Self::Confirmation(call, _) => call,
        }
    }

    /// Returns the address under which the call is answered.
    #[must_use]
    pub fn address(&self) -> &CallAddress {
        match self {
            Self::External(_, address) | Self::LongRunning(_, address) => address,
            Self::Confirmation(_, request) => &request.address,
        }
    }
}

/// A reference to an open call: by one question about it, by its address, or by its id.
///
/// Methods accept every type that converts into it: an [`ApprovalRequest`], an id as text or [`CallId`], or a
/// [`CallAddress`]. An answer by id or address is valid for the first question about a call only, so that a duplicate
/// of it cannot answer a later question that the person has not seen. An answer by an [`ApprovalRequest`] is valid only
/// if the request is the stored one: if its call, hint, payload, cause or expiry was changed, the person answered
/// another question.
///
/// Use ids only with an executor of a single run. An id is refused if several open calls have it, or if the executor
/// has a [store](crate::executor::ExecutorBuilder::open_calls): models repeat ids, and the call could belong to another
/// run or user. An executor without a store that runs the calls of several runs cannot detect this; such a program
/// should use addresses, or an [executor for each run](crate::Executor::with_tools).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallRef {
    /// By its id.
    Id(CallId),
    /// By its address.
    Address(CallAddress),
    /// By its address, and only while it waits for the answer to the question with this hash.
    Question(CallAddress, ContentHash),
    /// By the request that a person answered: as [`Question`](Self::Question), and only if the request is unchanged.
    /// Made from an [`ApprovalRequest`].
    Request {
        /// The address of the call.
        address: CallAddress,
        /// The hash of the question.
        hash: ContentHash,
        /// The hash of what the person was shown: the call, the cause, the hint, the payload and the expiry. Boxed, since
        /// references are part of errors.
        shown: Box<ContentHash>,
    },
}

impl fmt::Display for CallRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Address(address) | Self::Question(address, _) | Self::Request { address, .. } => {
                address.fmt(f)
            }
        }
    }
}

/// Implements the conversion from each type that refers to an open call.
macro_rules! converts {
    ($($given:ty => $variant:ident, $convert:expr;)*) => { $(
        impl From<$given> for CallRef {
            fn from(given: $given) -> Self {
                Self::$variant($convert(given))
            }
        }
    )* };
}

converts! {
    CallId => Id, std::convert::identity;
    &CallId => Id, CallId::clone;
    &str => Id, CallId::from;
    String => Id, CallId::from;
    CallAddress => Address, std::convert::identity;
    &CallAddress => Address, CallAddress::clone;
}

impl From<&ApprovalRequest> for CallRef {
    fn from(request: &ApprovalRequest) -> Self {
        Self::Request {
            address: request.address.clone(),
            hash: request.hash,
            shown: Box::new(request.shown_hash()),
        }
    }
}
