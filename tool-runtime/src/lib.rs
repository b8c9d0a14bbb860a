//! Tools for language models: annotate a function with `#[tool]`, and a model can call it.
//!
//! The attribute derives a JSON Schema from the signature, validates and decodes the arguments, and returns errors that a
//! model can act on. The function stays an ordinary function.
//!
//! ```standalone_crate
//! use tool_runtime::prelude::*;
//!
//! /// Says hello.
//! #[tool(read_only)]
//! async fn greet(
//!     /// The name to greet.
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
//! [`tool`](macro@tool) registers a function: its name, doc comment, parameters and return type become a
//! [`ToolDefinition`] with JSON Schemas. A [`Registry`] collects the tools of a program, validates them at start-up and
//! calls them. [`ToolContext`] gives a tool access to its call: cancellation, progress, provided values and state. No other
//! dependency is needed: the code that the attributes generate refers to this crate only, and [`serde`], [`schemars`] and
//! [`serde_json`] are re-exported for handwritten derives.
//!
//! # First steps
//!
//! The [guide] has a short page for each task. In brief:
//!
//! 1. Annotate functions with [`#[tool]`](macro@tool), methods with [`#[toolset]`](macro@toolset), and argument types with
//!    [`#[tool_args]`](macro@tool_args); or make a tool from a closure with [`ToolBuilder`].
//! 2. Build a [`Registry`]: [`discover`](registry::RegistryBuilder::discover) finds all annotated functions. All mistakes
//!    are reported by [`build`](registry::RegistryBuilder::build).
//! 3. Bind the registry to a provider with a [`Dialect`]: it writes the definitions and reads the calls of a response.
//! 4. Run the calls of a response with an [`Executor`], which adds hooks, permissions, approval, retries, limits and
//!    events to [`Registry::call`], and append the results to the next request.
//!
//! # Modules
//!
//! The types that most programs use are in the crate root; the rest is in the module of its topic.
//!
//! | module | contents |
//! | --- | --- |
//! | [`guide`] | one page for each task |
//! | [`registry`] | [`Registry`], an immutable set of tools, and direct calls to them |
//! | [`builder`] | [`ToolBuilder`], which makes tools from closures, and tools without a body |
//! | [`toolset`](mod@toolset) | [`ToolSet`], a named group of tools that is listed at run time, and its adapters |
//! | [`toolbox`] | [`Toolbox`], a mutable collection of tools and toolsets; a [`Snapshot`](toolbox::Snapshot) for each run |
//! | [`dialect`] | [`Dialect`], the wire format of a provider; `lint` for definitions |
//! | [`request`] | additions to a request: instructions, native tools and messages |
//! | [`call`] | calls, results and outcomes |
//! | [`executor`] | [`Executor`], which runs batches of calls |
//! | [`hook`] | [`Hook`](hook::Hook), which observes and changes calls |
//! | [`policy`] | permissions, approval, rules, retries and limits |
//! | [`open_calls`] | storage of calls that are answered later |
//! | [`event`] | events of calls, and listeners |
//! | [`context`] | the context of a call and of its run |
//! | [`output`] | the output of a tool |
//! | [`guard`] | the panic barrier around code of the program |
//! | [`definition`] | the [`Tool`] trait, names, definitions and metadata |
//! | [`schema`] | schemas, and the validation, repair and coercion of arguments |
//! | [`pin`] | [`Pins`](pin::Pins), which compare definitions with a reviewed file |
//! | `testing` | scripted tools, an event recorder and a paused clock (feature `testing`) |
//!
//! # Features
//!
//! | feature | adds |
//! | --- | --- |
//! | `dialects` | [`dialect`] |
//! | `executor` | [`executor`], [`event`], [`hook`], [`open_calls`], [`output::stream`], [`toolbox`], and most of [`policy`] |
//! | `lint` | [`dialect::lint`]; includes `dialects` |
//! | `pins` | [`pin`] |
//! | `chrono`, `jiff`, `url`, `uuid` | the types of these crates as parameters and results |
//! | `foreign-schemas` | foreign schemas that the built-in validator does not cover |
//! | `url-rules` | rules that compare URLs (`policy::UrlPattern`, for [`Rule::at`](policy::Rule::at)) |
//! | `sealed-calls` | encrypted secret arguments for open calls in stores that outlive the process |
//! | `testing` | scripted tools, an event recorder and a paused clock, for tests |
//! | `opentelemetry` | trace propagation from the caller (`traceparent`, `follow_trace`) and to other programs (`trace_context`) |
//!
//! Default: the first four. With `default-features = false`, the attributes, tools, registries and direct calls
//! remain. `url-rules`, `sealed-calls`, `testing` and `opentelemetry` include `executor`.
//!
//! # Foreign schemas
//!
//! A schema that is handwritten or received from another program is JSON Schema 2020-12, unless its `$schema` names draft
//! 4, 6, 7 or 2019-09. The built-in validator covers 2020-12 except for a few keywords, and the keywords of drafts 7 and
//! 2019-09 that have the same meaning there. A keyword that it does not cover is an error of
//! [`RegistryBuilder::build`](registry::RegistryBuilder::build) with the keyword and its location, or, with the feature
//! `foreign-schemas`, the schema is validated by the crate `jsonschema`, with the same reports. In that case:
//!
//! - Arguments of a Rust type are validated by the schema first and decoded by the type second.
//! - Values are validated as received: they are not coerced, `null` does not mean absent, properties have no aliases, and
//!   `3.0` is a valid integer but keeps its spelling.
//! - `format`, `contentEncoding` and `contentMediaType` are annotations, in every draft.
//! - A pattern with look-around or a back-reference is limited to 100,000 backtracking steps. Beyond this limit the text is
//!   rejected, and the report gives the reason.
//! - Values are nested at most 128 levels deep; fewer levels where many schemas apply to one value.
//!
//! With or without the feature, no schema is fetched: a `$ref` to another document and an unknown `$schema` are errors of
//! `build()`.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr, reason = "a library does not print"))]
#![cfg_attr(
    not(all(feature = "dialects", feature = "executor", feature = "lint", feature = "pins")),
    allow(dead_code, unused_imports, reason = "parts of the heart serve one of these features alone")
)]

pub mod registry;

mod arguments;
mod blocking;
pub mod builder;
pub mod call;
#[cfg(feature = "executor")]
mod call_handle;
pub mod context;
pub mod definition;
pub mod diagnostic;
#[cfg(feature = "dialects")]
pub mod dialect;
#[cfg(feature = "executor")]
pub mod event;
#[cfg(feature = "executor")]
pub mod executor;
#[cfg(any(doc, doctest))]
pub mod guide;
#[cfg(feature = "executor")]
pub mod hook;
mod millis;
#[cfg(feature = "executor")]
pub mod open_calls;
pub mod output;
mod panics;
#[cfg(feature = "pins")]
pub mod pin;
pub mod policy;
pub mod request;
pub mod schema;
#[cfg(feature = "executor")]
mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "executor")]
pub mod toolbox;
pub mod toolset;

#[cfg(feature = "opentelemetry")]
pub use self::telemetry::{follow_trace, trace_context};
pub use schemars;
pub use serde;
pub use serde_json;
pub use tokio_util::sync::CancellationToken;
#[doc(inline)]
pub use tool_core::{
    BoxFuture, Content, ErrorKind, IntoToolError, OrToolError, Run, RunContext, State, Tool, ToolContext,
    ToolDefinition, ToolError, ToolName, ToolOutput, guard,
};
#[doc = include_str!("docs/tool.md")]
pub use tool_macros::tool;
#[doc = include_str!("docs/tool_args.md")]
pub use tool_macros::tool_args;
#[doc = include_str!("docs/toolset.md")]
pub use tool_macros::toolset;

#[cfg(feature = "dialects")]
#[doc(inline)]
pub use self::dialect::Dialect;
#[doc(inline)]
pub use self::{
    builder::ToolBuilder,
    call::{CallOutcome, ToolCall, ToolResult},
    registry::Registry,
    toolset::ToolSet,
};
#[cfg(feature = "executor")]
#[doc(inline)]
pub use self::{executor::Executor, toolbox::Toolbox};

/// The items that most programs need, for `use tool_runtime::prelude::*`.
///
/// | for | items |
/// | --- | --- |
/// | tools | [`tool`](macro@crate::tool), [`tool_args`](macro@crate::tool_args), [`toolset`](macro@crate::toolset), [`Tool`], [`Run`], [`ToolBuilder`], [`tool_body!`] |
/// | bodies of tools | [`ToolContext`], [`State`], [`ToolOutput`], [`Stream`](output::Stream), [`ToolError`], [`ErrorKind`], [`OrToolError`] |
/// | calls | [`Registry`], [`Executor`], [`ToolCall`], [`RunContext`] |
/// | JSON | [`json!`](serde_json::json), [`Value`](serde_json::Value) |
///
/// Everything else is imported by its name, from the root of the crate or from a [module](self#modules). An item of the
/// program with the same name takes precedence over the prelude.
///
/// # Examples
///
/// ```
/// use tool_runtime::prelude::*;
///
/// /// Counts the calls of a session.
/// #[tool]
/// fn count(state: &State) -> Result<u32, ToolError> {
///     let count = state.get("count")?.unwrap_or(0) + 1;
///     state.set("count", count)?;
///     Ok(count)
/// }
///
/// /// Lists the letters of a word.
/// #[tool]
/// fn letters(word: String) -> impl Stream<Item = char> {
///     tool_runtime::output::stream::iter(word.chars().collect::<Vec<_>>())
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let executor = Executor::new(Registry::builder().tool::<count>().tool::<letters>().build()?);
/// let calls = vec![ToolCall::new("count", "{}"), ToolCall::new("letters", json!({ "word": "abc" }))];
/// let outcomes = executor.batch(calls).with_run(RunContext::new()).run().await;
/// let texts: Vec<_> = outcomes.iter().map(|it| it.result().unwrap().text()).collect();
/// assert_eq!(texts, ["1", "abc"]);
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
pub mod prelude {
    pub use serde_json::{Value, json};

    #[cfg(feature = "executor")]
    pub use crate::Executor;
    pub use crate::{
        ErrorKind, OrToolError, Registry, Run, RunContext, State, Tool, ToolBuilder, ToolCall, ToolContext,
        ToolError, ToolOutput, output::Stream, tool, tool_args, tool_body, toolset,
    };
}

/// Links crates whose tools would otherwise not be discovered.
///
/// The compiler omits a crate without any reference to it, together with its tools.
///
/// # Examples
///
/// ```
/// // Replace `serde_json` with your own crate of tools.
/// tool_runtime::link!(serde_json);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! link {
    ($($krate:ident),+ $(,)?) => { $(
        #[allow(unused_extern_crates, reason = "links the tools of the crate")]
        extern crate $krate as _;
    )+ };
}

/// Support code for the expansions of the attributes; not public API.
#[doc(hidden)]
pub mod __private {
    pub use tool_core::__private::*;

    pub use crate::{
        blocking::blocking,
        builder::{body, one, output_of_one, output_of_two, two},
    };
}
