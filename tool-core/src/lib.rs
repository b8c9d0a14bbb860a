//! The vocabulary of tools that a language model calls: traits and values.
//!
//! Programs use it through `tool-runtime`, which adds the registry and the attributes; those who
//! write tools by hand, or carry them over a wire, find here all that they need. There is no IO, no
//! async runtime and no provider's wire format in this crate.
//!
//! Read in this order: a [`Tool`] has a [`ToolDefinition`] and answers [`Arguments`] with a
//! [`ToolOutput`] or a [`ToolError`], told of its surroundings by a [`ToolContext`].

mod name;
mod tool;

mod arguments;
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
        Arguments, Violation, Violations,
        plan::{Correction, CorrectionRule, Plan, SchemaProblem},
    },
    context::{
        Budget, BudgetUsage, CallAddress, CallId, CallSink, ClientInfo, ConfirmationAnswer, Dependency,
        LogLevel, LogLine, Progress, ProvidedValues, ReadonlyContext, RunContext, ToolContext, Trigger,
        WithCallId,
    },
    definition::ToolDefinition,
    error::{ErrorKind, ToolError},
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
    schema::{InputSchema, OutputSchema, SchemaError, constraint},
    state::{State, StateScope},
    tool::{BoxFuture, Checks, OnRequest, PrepareArguments, Prepared, Run, StaticToolSet, Tool},
};
