//! Annotate a function, and a model can call it.
//!
//! ```standalone_crate
//! use tool_runtime::prelude::*;
//!
//! /// Says hello.
//! #[tool(read_only)]
//! async fn greet(
//!     /// Whom to greet.
//!     name: String,
//! ) -> String {
//!     format!("Hello, {name}!")
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let tools = Registry::builder().discover().build()?;
//! let reply = tools.call("greet", json!({ "name": "Ada" })).await?;
//! assert_eq!(reply.text(), "Hello, Ada!");
//! # Ok::<(), anyhow::Error>(())
//! # })?;
//! # Ok::<(), anyhow::Error>(())
//! ```
//!
//! The [guide] has a short page for each task. [`macro@tool`] documents the attribute, [`Registry`] collects the tools
//! of a program and calls them, [`Executor`] runs the calls of a model, and [`ToolContext`] describes one call. No other
//! dependency is needed: expansions refer to this crate only, and [`serde`], [`schemars`] and [`serde_json`] are
//! re-exported for derives written by hand.
//!
//! # Features
//!
//! | feature | gives |
//! | --- | --- |
//! | `chrono`, `jiff`, `url`, `uuid` | the types of these crates as parameters and results |
//! | `foreign-schemas` | schemas from elsewhere that the built-in check does not cover |
//! | `url-rules` | rules that compare URLs (`policy::UrlPattern`, for [`Rule::at`](policy::Rule::at)) |
//! | `sealed-calls` | secret arguments of open calls in stores that outlive the process, encrypted |
//! | `testing` | tools that do as they are told, a record of events, and time that does not pass, for tests |
//! | `opentelemetry` | traces that go on from that of a caller (`traceparent`), and into other programs (`trace_context`) |
//!
//! None is on by default.
//!
//! # Schemas from elsewhere
//!
//! A schema that is written by hand or received from another program is JSON Schema 2020-12, unless
//! its `$schema` names draft 4, 6, 7 or 2019-09. The built-in check covers 2020-12 but for a few
//! keywords, and of drafts 7 and 2019-09 what means the same. What it does not cover is an error of
//! [`RegistryBuilder::build`](registry::RegistryBuilder::build) that names the keyword and its place, or, with the feature
//! `foreign-schemas`, is left to the crate `jsonschema`, with the same reports. Then:
//!
//! - A tool with arguments of a Rust type is held to the schema first and to the type second.
//! - Values are checked as they come: nothing is corrected, `null` is not absence, a property has no
//!   aliases, and `3.0` is an integer to the check but stays as it is written.
//! - `format`, `contentEncoding` and `contentMediaType` are annotations, in every draft.
//! - A pattern with look-around or a back-reference may give up after 100,000 steps back; then the
//!   text is refused, and the report says why.
//! - Values are nested at most 128 levels deep, and less deep where many schemas apply to one value.
//!
//! With it or without, nothing is fetched: a `$ref` that leaves the schema is an error of `build()`,
//! and so is a `$schema` that is not known.

pub mod registry;

mod arguments;
mod blocking;
pub mod builder;
pub mod call;
pub mod context;
pub mod definition;
pub mod dialect;
pub mod event;
pub mod executor;
#[cfg(any(doc, doctest))]
pub mod guide;
pub mod hook;
mod millis;
pub mod open_calls;
pub mod output;
mod panic_barrier;
pub mod pin;
pub mod policy;
pub mod request;
pub mod schema;
mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
pub mod toolbox;
pub mod toolset;

#[cfg(feature = "opentelemetry")]
pub use self::telemetry::trace_context;
pub use schemars;
pub use serde;
pub use serde_json;
pub use tokio_util::sync::CancellationToken;
#[doc(inline)]
pub use tool_core::{
    BoxFuture, Content, ErrorKind, Run, RunContext, State, Tool, ToolContext, ToolDefinition, ToolError,
    ToolName, ToolOutput,
};
#[doc = include_str!("docs/tool.md")]
pub use tool_macros::tool;
#[doc = include_str!("docs/tool_args.md")]
pub use tool_macros::tool_args;
#[doc = include_str!("docs/toolset.md")]
pub use tool_macros::toolset;

#[doc(inline)]
pub use self::{
    builder::ToolBuilder,
    call::{CallOutcome, ToolCall, ToolResult},
    dialect::Dialect,
    executor::Executor,
    registry::Registry,
    toolbox::Toolbox,
    toolset::ToolSet,
};

/// What most programs need; nothing else is in it.
pub mod prelude {
    pub use serde_json::{Value, json};

    pub use crate::{
        Registry, Run, Tool, ToolBuilder, ToolContext, ToolError, ToolOutput, tool, tool_args, tool_body,
        toolset,
    };
}

/// Links a crate of which nothing else is used, so that its tools are discovered.
///
/// The compiler leaves out a crate that nothing refers to, and its tools with it.
///
/// # Examples
///
/// ```
/// // In place of `serde_json`, a library of yours with tools in it.
/// tool_runtime::link!(serde_json);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! link {
    ($($krate:ident),+ $(,)?) => { $(
        #[allow(unused_extern_crates, reason = "named for the sake of its tools")]
        extern crate $krate as _;
    )+ };
}

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// What the attributes expand to; not for use by hand.
#[doc(hidden)]
pub mod __private {
    pub use tool_core::__private::*;

    pub use crate::{
        blocking::blocking,
        builder::{body, one, output_of_one, output_of_two, two},
    };
}
