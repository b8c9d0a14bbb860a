//! Limits of a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The limits of a run. A run that reaches one ends with [`EndReason::Limit`](crate::EndReason::Limit).
///
/// An agent that works [beside others](crate::Agent::parallel) and waits for answers, or is interrupted, goes on with its usage until then, also in
/// another process.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use tool_agent::Limits;
///
/// let limits = Limits { rounds: Some(10), time: Some(Duration::from_secs(60)), ..Limits::default() };
/// assert_eq!(limits.calls, None);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// The maximum number of requests to the model. Default: 50.
    pub rounds: Option<u64>,
    /// The maximum number of calls that the model makes. Default: none.
    pub calls: Option<u64>,
    /// The maximum number of calls in one response. Default: 128.
    pub calls_per_response: Option<u64>,
    /// The maximum number of tokens in all requests and responses. Default: none.
    pub tokens: Option<u64>,
    /// The maximum cost, by the [prices](crate::AgentBuilder::price) of the models. A model without a price, or a response
    /// without token counts, ends the run. Default: none.
    pub cost: Option<f64>,
    /// The maximum running time. Default: none.
    pub time: Option<Duration>,
    /// The maximum number of consecutive rounds in which the model makes the same calls with the same arguments.
    /// Default: 5.
    pub repeated_calls: Option<u64>,
    /// The maximum number of [transfers](crate::AgentBuilder::sub_agent) without a message of the user; for a tree of agents,
    /// the limit of the root. Default: 10.
    pub transfers: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rounds: Some(50),
            calls: None,
            calls_per_response: Some(128),
            tokens: None,
            cost: None,
            time: None,
            repeated_calls: Some(5),
            transfers: Some(10),
        }
    }
}

/// A limit that a run reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Limit {
    /// The number of requests to the model.
    Rounds,
    /// The number of calls.
    Calls,
    /// The number of tokens.
    Tokens,
    /// The running time.
    Time,
    /// The number of consecutive rounds with the same calls.
    RepeatedCalls,
    /// The cost.
    Cost,
    /// The number of transfers without a message of the user.
    Transfers,
    /// The [budget](tool_runtime::context::Budget) of the run.
    Budget,
}
