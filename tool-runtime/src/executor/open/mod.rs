//! Calls that are answered later.
//!
//! A call is open under its address, by which it is answered. Its id is enough where the executor keeps its open calls
//! by itself and no other one has the same id: models repeat ids, and an answer must not reach another call than was meant.

mod answers;
mod calls;
mod confirmed;
mod error;
mod settings;

use std::fmt;

use serde::{Deserialize, Serialize};
use tool_core::{CallAddress, CallId, ContentHash};

use self::calls::Found;
pub use self::error::OpenCallError;
pub(super) use self::{
    calls::{OpenCalls, Opening},
    confirmed::Confirmed,
    settings::OpenSettings,
};
use crate::{ToolCall, policy::ApprovalRequest};

/// A call that is not answered yet. Values of secret parameters are replaced;
/// [`Executor::open_arguments`](crate::Executor::open_arguments) returns them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum OpenCall {
    /// It is left to the caller.
    External(ToolCall, CallAddress),
    /// Its tool started something that goes on.
    LongRunning(ToolCall, CallAddress),
    /// It waits for a person.
    Confirmation(ToolCall, Box<ApprovalRequest>),
}

impl OpenCall {
    /// The call.
    #[must_use]
    pub fn call(&self) -> &ToolCall {
        match self {
            Self::External(call, _) | Self::LongRunning(call, _) | Self::Confirmation(call, _) => call,
        }
    }

    /// The address by which the call is answered.
    #[must_use]
    pub fn address(&self) -> &CallAddress {
        match self {
            Self::External(_, address) | Self::LongRunning(_, address) => address,
            Self::Confirmation(_, request) => &request.address,
        }
    }
}

/// An open call: one question about it, or the call by its address or by its id.
///
/// Methods that take an open call take anything that converts into this: an [`ApprovalRequest`], an id, as text or
/// [`CallId`], or a [`CallAddress`]. An answer by id or address counts for the first question about a call alone: one that
/// arrives twice must not answer a question that nobody has seen.
///
/// An id is for an executor of one run. It is refused where several open calls have it, and by an executor that was given
/// a [store](crate::executor::ExecutorBuilder::open_calls): models repeat ids, so that the call may be that of another run or user.
/// An executor without a store that runs the calls of several runs cannot tell them apart by an id either; such a program
/// uses addresses, or an [executor for each run](crate::Executor::with_tools).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallRef {
    /// By its id.
    Id(CallId),
    /// By its address.
    Address(CallAddress),
    /// By its address, as long as it waits for the answer to the question that has this hash.
    Question(CallAddress, ContentHash),
}

impl fmt::Display for CallRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Address(address) | Self::Question(address, _) => address.fmt(f),
        }
    }
}

/// A conversion for each type that stands for an open call.
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
        Self::Question(request.address.clone(), request.hash)
    }
}
