//! The context of a call and of its run: identity, cancellation, provided values, state, progress and log lines.
//!
//! A tool receives its context by a parameter of type [`&ToolContext`](ToolContext); the program creates a [`RunContext`]
//! for each run of a model.
//!
//! | type | purpose |
//! | --- | --- |
//! | [`ToolContext`] | one call, as its tool sees it |
//! | [`RunContext`], [`ReadonlyContext`] | the run that calls belong to; a read-only view of it |
//! | [`State`], [`StateScope`], [`merge_patch`] | session data that a tool reads and changes; the rule of its changes |
//! | [`ProvidedValues`], [`Dependency`] | values that the program injects into tools |
//! | [`Budget`], [`BudgetUsage`] | limits of a run with its child runs, and their usage |
//! | [`CallSink`], [`Progress`], [`LogLine`], [`LogLevel`] | the receiver of a call's reports, and their types |
//! | [`ConfirmationAnswer`], [`ClientInfo`], [`Trigger`] | an answer of a person, the client of a run, the origin of a child run |

#[doc(inline)]
pub use tool_core::{
    Budget, BudgetUsage, CallSink, ClientInfo, ConfirmationAnswer, Dependency, LogLevel, LogLine, Progress,
    ProvidedValues, ReadonlyContext, RunContext, State, StateScope, ToolContext, Trigger, WithCallId,
    merge_patch,
};
#[doc(hidden)]
pub use tool_core::{BudgetItem, BudgetSource};
