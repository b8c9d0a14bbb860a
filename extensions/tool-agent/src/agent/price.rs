//! Prices of models.

use tool_runtime::dialect::Usage;

/// The price of a model, each for a million tokens, in a currency of the program's choice.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, Limits, Price, ScriptedModel};
///
/// let price = Price { input: 3.0, cached_input: 0.3, cache_write: 3.75, output: 15.0 };
/// let agent = Agent::builder("clerk", ScriptedModel::new([]))
///     .price("scripted", price)
///     .limits(Limits { cost: Some(0.5), ..Limits::default() })
///     .build()?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Price {
    /// The price of tokens of requests that are neither read from a cache nor written to one.
    pub input: f64,
    /// The price of tokens of requests that are read from a cache.
    pub cached_input: f64,
    /// The price of tokens of requests that are written to a cache.
    pub cache_write: f64,
    /// The price of tokens of responses.
    pub output: f64,
}

impl Price {
    /// Returns the cost of a request and its response.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
    pub fn cost(&self, usage: &Usage) -> f64 {
        let [input, cached, written, output] =
            [usage.input, usage.cached, usage.cache_written, usage.output].map(Option::unwrap_or_default);
        let full = input.saturating_sub(cached).saturating_sub(written);
        let cost = full as f64 * self.input
            + cached as f64 * self.cached_input
            + written as f64 * self.cache_write
            + output as f64 * self.output;
        cost / 1e6
    }
}
