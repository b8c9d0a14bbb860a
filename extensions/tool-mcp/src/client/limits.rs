//! The limits of what a server may cause.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The limits of what one server may cause in this program. A server is another party: without limits, its answers decide
/// how much memory, time and model usage this program spends.
///
/// As JSON, the member `limits` of a configuration, with times in milliseconds and names in camel case.
///
/// # Examples
///
/// ```
/// use tool_mcp::client::{Process, ServerConfig, ServerLimits};
///
/// let mut limits = ServerLimits::default();
/// limits.max_listing_bytes = 64 * 1024 * 1024;
/// let config = ServerConfig::new("large", Process::new("large-server")).limits(limits);
/// assert_eq!(serde_json::to_value(&config)?["limits"]["maxListingBytes"], 67_108_864);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ServerLimits {
    /// The maximum size of one listing, all pages together, in bytes of JSON. Pages beyond it are left out, with the
    /// diagnostic `listing_cut`; a first page beyond it is an error. Default: 16 MiB.
    pub max_listing_bytes: usize,
    /// The maximum duration of one listing, all pages together. Pages beyond it are left out, with the diagnostic
    /// `listing_cut`; without any page, it is an error. Default: 60 seconds.
    #[serde(with = "millis")]
    pub listing_timeout: Duration,
    /// The maximum number of questions to a model (sampling) and to the user (elicitation) that a server may ask during
    /// one call, all rounds together. Further ones are refused. Default: 20.
    pub max_questions_per_call: u32,
    /// The maximum number of questions that are answered at once; further ones wait. Default: 4.
    pub max_concurrent_questions: u32,
    /// `true` answers sampling and elicitation also while no call waits for its result, where no more than
    /// [`max_concurrent_questions`](Self::max_concurrent_questions) at once are answered, and further ones refused.
    /// Default: `false`, such a question is refused.
    pub questions_outside_calls: bool,
    /// The lowest pause before an event stream is opened again, which doubles with each reconnection. The pause that a
    /// server asks for (`retry`) applies if it is longer. Default: 1 second.
    #[serde(with = "millis")]
    pub min_reconnect_pause: Duration,
    /// The highest pause before an event stream is opened again, also of those that a server asks for. Default: 60 seconds.
    #[serde(with = "millis")]
    pub max_reconnect_pause: Duration,
    /// The time after which an event stream counts as stable: the pause before its next reconnection is the
    /// [lowest](Self::min_reconnect_pause) again. Default: 60 seconds.
    #[serde(with = "millis")]
    pub stable_after: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            max_listing_bytes: 16 * 1024 * 1024,
            listing_timeout: Duration::from_secs(60),
            max_questions_per_call: 20,
            max_concurrent_questions: 4,
            questions_outside_calls: false,
            min_reconnect_pause: Duration::from_secs(1),
            max_reconnect_pause: Duration::from_secs(60),
            stable_after: Duration::from_secs(60),
        }
    }
}

/// Durations in milliseconds.
mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_default_limits_are_those_of_the_documentation() -> Result<(), serde_json::Error> {
        let limits = json!({
            "maxListingBytes": 16_777_216,
            "listingTimeout": 60_000,
            "maxQuestionsPerCall": 20,
            "maxConcurrentQuestions": 4,
            "questionsOutsideCalls": false,
            "minReconnectPause": 1_000,
            "maxReconnectPause": 60_000,
            "stableAfter": 60_000,
        });
        assert_eq!(serde_json::to_value(ServerLimits::default())?, limits);
        assert_eq!(serde_json::from_value::<ServerLimits>(limits)?, ServerLimits::default());
        assert_eq!(serde_json::from_value::<ServerLimits>(json!({}))?, ServerLimits::default());
        Ok(())
    }
}
