//! Traits and values of the tools that a language model calls.
//!
//! Programs use this crate through `tool-runtime`, which adds the registry and the attributes. It contains no I/O, no
//! async runtime and no wire format of a provider.
//!
//! Start with [`Tool`]: it has a [`ToolDefinition`], takes [`Arguments`] and a [`ToolContext`], and returns a
//! [`ToolOutput`] or a [`ToolError`].

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr, reason = "a library does not print"))]

mod name;
mod tool;

pub mod constraint;
mod context;
mod definition;
mod error;
mod function;
mod hash;
mod merge;
mod metadata;
mod output;
mod registration;
mod request;
mod state;

pub use futures_core::Stream;
#[doc(inline)]
pub use tool_schema::guard;
pub use tool_schema::{
    ArgumentError, Arguments, Correction, CorrectionRule, InputSchema, IntoArguments, Names, OutputSchema,
    Plan, SchemaError, SchemaProblem, Violation, Violations, closest, nearest,
};

#[doc(hidden)]
pub mod __private;
#[doc(hidden)]
pub mod internals;
#[doc(hidden)]
pub use tool_schema::{Misfit, Purpose};

#[doc(hidden)]
pub use self::context::{BudgetItem, BudgetSource};

pub use self::{
    context::{
        Budget, BudgetUsage, CallAddress, CallId, CallSink, ClientInfo, ConfirmationAnswer, Dependency,
        LogLevel, LogLine, Progress, ProvidedValues, ReadonlyContext, RunContext, ToolContext, Trigger,
        WithCallId,
    },
    definition::ToolDefinition,
    error::{ErrorKind, IntoToolError, OrToolError, ToolError},
    function::FunctionTool,
    hash::{ContentHash, InvalidHash},
    merge::Merge,
    metadata::{Confirmation, Metadata, Permission, Retry},
    name::{InvalidName, ToolName},
    output::{Actions, Blob, Bytes, Content, Resource, ResourceBody, ToolOutput},
    registration::{Method, Registration, SourceLocation},
    request::{
        AddedMessage, ModelRequest, RequestAdditions, RequestFn, RequestHook, RequestMessage,
        RequestMessages, RequestResult, RequestRole, SharedRequestHook, request_fn,
    },
    state::{State, StateScope, patch::merge_patch},
    tool::{
        BoxFuture, Checks, OnRequest, PrepareArguments, Prepared, Redirect, Redirection, Run, StaticToolSet,
        Tool,
    },
};
