//! Agents for [`tool_runtime`]: a model, a loop, a typed answer.
//!
//! An [`Agent`] is a [`Model`] with an instruction and tools; a [`Runner`] runs it and yields one stream of
//! [events](AgentEvent): text as it arrives, calls, results, token counts, and the end with its reason.
//!
//! ```standalone_crate
//! use tool_agent::{Agent, AgentEventKind, Runner, ScriptedModel, model::Reply};
//! use tool_runtime::prelude::*;
//!
//! /// Multiplies two numbers.
//! #[tool(read_only)]
//! fn multiply(a: f64, b: f64) -> f64 {
//!     a * b
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! // In a program: `HttpModel::anthropic("claude-sonnet-4-5")?`.
//! let model = ScriptedModel::new([
//!     Reply::call("multiply", json!({ "a": 25, "b": 4 })),
//!     Reply::text("25 times 4 is 100."),
//! ]);
//! let agent = Agent::builder("calculator", model).tools(Registry::discover()?).build()?;
//! let mut events = Runner::new(agent).run("25 times 4?");
//! while let Some(event) = events.next().await {
//!     match event.kind {
//!         AgentEventKind::Text { delta } => print!("{delta}"),
//!         AgentEventKind::Ended { end } => assert_eq!(end.text, "25 times 4 is 100."),
//!         _ => {}
//!     }
//! }
//! # Ok::<(), anyhow::Error>(())
//! # })?;
//! # Ok::<(), anyhow::Error>(())
//! ```
//!
//! # Modules
//!
//! | module or type | contents |
//! | --- | --- |
//! | [`model`] | [`Model`], its requests and responses; [`ScriptedModel`] for tests, `HttpModel` for providers |
//! | [`Message`] | an entry of a conversation, independent of providers, which keeps the provider's JSON |
//! | [`Agent`] | a model with an instruction, tools, hooks and limits |
//! | [`Runner`], [`AgentStream`] | runs agents, with sessions in memory or in a [store](Runner::with_store); the events of one run |
//! | [`RunHandle`] | steers a run: messages, approvals, cancellation |
//! | [`AgentHook`], [`hook`] | observes and changes the rounds of a run; hooks from closures |
//! | [`skills`] | instructions for certain tasks, which a model loads when it needs them |
//! | [`knowledge`] | texts that a model searches |
//! | [`NativeTool`] | a tool that a provider runs itself |
//! | [`OutputType`], [`OutputTool`] | the type of an answer; the tool by which a model submits it |
//! | `cli` | the command `chat` for `tool-cli` (feature `cli`) |
//!
//! # The life of a run
//!
//! A round is a request to the model with the calls of its response; a [`Step`] is a round as hooks see it.
//!
//! 1. The message of the user is appended to the conversation of the session.
//! 2. A round begins: instruction, conversation, tools; hooks may change it or answer.
//! 3. The model answers. Its message is stored before any call is executed.
//! 4. The calls are executed as one batch by the [`Executor`](tool_runtime::Executor) of the agent. A call that the
//!    response cut off is answered with an error and never executed. The results are stored.
//! 5. Messages that [steer](RunHandle::steer) the run follow the results, and the next round begins.
//!
//! With an [output type](AgentBuilder::output), a response without calls is validated, where the provider guarantees
//! its format, or else answered with a reminder of `submit_output`; a valid call of that tool ends the run.
//!
//! Partial results of streaming tools are events. The model receives the final result only, since no request is made
//! while calls run.
//!
//! An agent may be several: [in sequence](Agent::sequence), [in parallel](Agent::parallel) or [in a loop](Agent::repeat). Their events have the
//! name of the member, and the usage of the run counts all of them.
//!
//! Open calls keep their batch in the session: [`Runner::resume`] continues it with [`Answers`], and a new message closes
//! it.
//!
//! The run ends with an [`EndReason`]: a response without calls, a tool that asks to end, a limit, a stop, an error,
//! cancellation, or open calls. Of a session in a store, also if another run does not end or has taken over, or the store fails.
//!
//! # Features
//!
//! | feature | adds |
//! | --- | --- |
//! | `http`, by default | `HttpModel` |
//! | `tls`, by default | HTTPS; without it, only servers at `http://` |
//! | `genai` | `model::GenaiModel`, the models of the crate `genai`; includes `http` |
//! | `cli` | the command `chat` for `tool-cli`; includes `http` |
//! | `skills` | [`skills`] from folders with a `SKILL.md`; needs Rust 1.89 |
//! | `opentelemetry` | the trace of a caller as the parent of a run |
//!
//! # Traces
//!
//! A run is a span `invoke_agent`, each request to a model a span `chat` below it, and each call a span `execute_tool`,
//! with the attributes of [OpenTelemetry's conventions](https://opentelemetry.io/docs/specs/semconv/gen-ai/): provider,
//! models, token counts, finish reasons, conversation and errors. Spans are those of the crate `tracing`. Messages,
//! arguments and results are recorded by [`AgentBuilder::trace_content`] only. With the feature `opentelemetry`, a
//! `traceparent` in the metadata of the run is the parent of its span.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr, reason = "a library does not print"))]

mod agent;
mod agent_tool;
mod citations;
#[cfg(feature = "cli")]
pub mod cli;
mod event_stream;
mod exit_loop;
mod format_version;
/// The examples of the guide about agents.
#[cfg(all(doctest, feature = "cli"))]
#[doc = include_str!("../../../tool-runtime/src/docs/guide/agents.md")]
pub mod guide {}
/// The examples of the guide about several agents.
#[cfg(doctest)]
#[doc = include_str!("../../../tool-runtime/src/docs/guide/several_agents.md")]
pub mod guide_of_several_agents {}
/// The examples of the guide about skills and knowledge.
#[cfg(doctest)]
#[doc = include_str!("../../../tool-runtime/src/docs/guide/skills_and_knowledge.md")]
pub mod guide_of_skills_and_knowledge {}
/// The examples of the guide about sessions.
#[cfg(all(doctest, feature = "http"))]
#[doc = include_str!("../../../tool-runtime/src/docs/guide/sessions.md")]
pub mod guide_of_sessions {}
pub mod hook;
pub mod knowledge;
mod message;
pub mod model;
mod native_tool;
mod output;
mod runner;
mod schema;
pub mod skills;
mod telemetry;

#[cfg(feature = "http")]
pub use self::model::HttpModel;
pub use self::{
    agent::{
        Agent, AgentBuilder, AgentError, AgentPart, AgentTools, Compaction, Conversation, InputDecision,
        Limit, Limits, MessageFilter, Price, QueueMode, TeamBuilder,
    },
    agent_tool::{
        AgentTool, ChildState, DynamicAgentBuilder, DynamicAgentTool, HistoryScope, RequestField,
        ResponseMode, SubAgentBuilder, SubAgentTool,
    },
    exit_loop::exit_loop,
    hook::{AgentHook, SharedAgentHook, Step, StepEnd},
    knowledge::AgentKnowledge,
    message::{Message, Original, Part, Role},
    model::{Model, ScriptedModel},
    native_tool::NativeTool,
    output::{OUTPUT_INSTRUCTION, OutputTool, OutputType},
    runner::{
        AgentEvent, AgentEventKind, AgentStream, Answers, CallAbove, ChildUsage, End, EndReason,
        MemoryPolicy, RunError, RunHandle, RunOptions, RunUsage, Runner,
    },
};
#[doc(no_inline)]
pub use tool_runtime::dialect::Thinking;

// Here, because its programs use this crate and `tool-runtime`.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
