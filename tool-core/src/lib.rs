//! Traits and values of the tools that a language model calls.
//!
//! Programs use this crate through `tool-runtime`, which adds the registry and the attributes. It contains no I/O, no
//! async runtime and no wire format of a provider.
//!
//! Start with [`Tool`]: it has a [`ToolDefinition`], takes [`Arguments`] and a [`ToolContext`], and returns a
//! [`ToolOutput`] or a [`ToolError`].

mod name;
mod tool;

mod arguments;
pub mod constraint;
mod context;
mod definition;
mod error;
mod function;
mod guarded;
mod hash;
mod merge;
mod metadata;
mod nearest;
mod output;
mod pointer;
mod registration;
mod request;
mod schema;
mod state;
mod stored;

pub use futures_core::Stream;

#[doc(hidden)]
pub mod __private;
#[doc(hidden)]
pub use self::schema::{Misfit, Purpose};

pub use self::{
    arguments::{
        ArgumentError, Arguments, IntoArguments, Violation, Violations,
        plan::{Correction, CorrectionRule, Plan, SchemaProblem},
    },
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
    nearest::{Names, closest, nearest},
    output::{Actions, Blob, Bytes, Content, Resource, ResourceBody, ToolOutput},
    registration::{Method, Registration, SourceLocation},
    request::{
        AddedMessage, ModelRequest, RequestAdditions, RequestFn, RequestHook, SharedRequestHook, request_fn,
    },
    schema::{InputSchema, OutputSchema, SchemaError},
    state::{State, StateScope},
    tool::{BoxFuture, Checks, OnRequest, PrepareArguments, Prepared, Run, StaticToolSet, Tool},
};
