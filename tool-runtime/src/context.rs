//! The context of a call and of its run: identity, cancellation, provided values, state, progress and log lines.
//!
//! A tool receives its context by a parameter of type [`&ToolContext`](crate::ToolContext); the program makes a
//! [`RunContext`](crate::RunContext) for each run of a model.

#[doc(inline)]
pub use tool_core::{
    Budget, BudgetUsage, CallSink, ClientInfo, ConfirmationAnswer, Dependency, LogLevel, LogLine, Progress,
    ProvidedValues, ReadonlyContext, RunContext, State, StateScope, ToolContext, Trigger, WithCallId,
};
