//! Mistakes in agents.

use std::{error::Error, fmt, sync::Arc};

/// A mistake in an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentError {
    /// The agent has no name.
    MissingName,
    /// The type of the output has no valid schema.
    InvalidOutputType {
        /// The reason.
        message: String,
    },
    /// The agents below the agent cannot be told apart or take over, or a tool has the name of one: see
    /// [`AgentBuilder::sub_agent`](crate::AgentBuilder::sub_agent).
    InvalidSubAgent {
        /// The reason.
        message: String,
    },
    /// A [sequence](crate::Agent::sequence), [parallel team](crate::Agent::parallel) or [loop](crate::Agent::repeat) has no agents.
    NoMembers {
        /// The name of the team.
        team: Arc<str>,
    },
    /// Two agents of one tree have the same name, or one agent has two places in it.
    DuplicateAgent {
        /// The name.
        name: Arc<str>,
    },
    /// A [loop](crate::Agent::repeat) has no iterations.
    NoIterations {
        /// The name of the loop.
        team: Arc<str>,
    },
    /// The agent cannot be a tool: see [`AgentTool::new`](crate::AgentTool::new).
    InvalidTool {
        /// The reason.
        message: String,
    },
    /// A [part](crate::AgentBuilder::with) cannot be added, for instance since the agent has a tool of the same name.
    InvalidPart {
        /// The name of the part.
        part: String,
        /// The reason.
        message: String,
    },
    /// A sub-agent has a tool that is one too: see [`SubAgentTool`](crate::SubAgentTool).
    NestedSubAgent {
        /// The name of the tool.
        name: String,
    },
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingName => {
                f.write_str("the agent has no name; give `Agent::builder` a name that is not empty")
            }
            Self::InvalidOutputType { message } => {
                write!(f, "the type of the output has no valid schema: {message}")
            }
            Self::InvalidSubAgent { message } => write!(f, "the agent cannot have its sub-agents: {message}"),
            Self::NoMembers { team } => {
                write!(f, "the agent `{team}` has no agents; give it at least one")
            }
            Self::DuplicateAgent { name } => {
                write!(
                    f,
                    "the name `{name}` has two places in one tree of agents; give each agent another name"
                )
            }
            Self::NoIterations { team } => {
                write!(f, "the loop `{team}` has 0 iterations; give it at least 1")
            }
            Self::NestedSubAgent { name } => write!(
                f,
                "the tool `{name}` is a sub-agent, and a sub-agent may not have another one; remove it from its tools"
            ),
            Self::InvalidTool { message } => write!(f, "the agent cannot be a tool: {message}"),
            Self::InvalidPart { part, message } => {
                write!(f, "the part `{part}` cannot be added to the agent: {message}")
            }
        }
    }
}

impl Error for AgentError {}
