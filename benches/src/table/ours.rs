//! The same tools through the framework.

use serde::Serialize;
use tool_runtime::{
    CallOutcome, Executor, Registry, ToolCall, ToolError, ToolOutput, registry::BuildError, tool, tool_args,
};

use super::{Answer, Contender};
use crate::{OURS, workload_bodies, workload_types};

workload_types! {
    input: { #[tool_args] #[allow(dead_code, reason = "decoded like those that are read")] }
    output: { #[derive(Serialize)] }
    ranges
}
workload_bodies! {}

/// Forecasts the weather.
#[tool]
async fn forecast(
    /// City to forecast, e.g. "Paris"
    city: String,
    /// Number of days, 1 to 14
    #[schemars(range(min = 1, max = 14))]
    days: u32,
) -> Weather {
    forecast_body(city, days)
}

/// Creates an order.
#[tool]
#[allow(clippy::too_many_arguments, reason = "the arguments of the tool")]
async fn create_order(
    /// Order number
    order_id: String,
    /// The customer
    customer: Customer,
    /// The ordered items
    items: Vec<Item>,
    /// The method and the address of the delivery
    shipping: Shipping,
    /// 1 (low) to 5 (high)
    #[schemars(range(min = 1, max = 5))]
    priority: u8,
    /// Discount in percent, 0 to 100
    #[schemars(range(min = 0.0, max = 100.0))]
    discount_percent: Option<f64>,
    /// Coupon code
    coupon: Option<String>,
    /// Is it a gift
    gift: Option<bool>,
) -> Receipt {
    create_order_body(order_id, customer, items, shipping, priority, discount_percent, coupon, gift)
}

/// Writes a file.
#[tool]
async fn write_file(
    /// Path relative to the workspace root
    path: String,
    /// The file's full new content
    content: String,
) -> Written {
    write_file_body(path, content)
}

/// A registry for single calls, and an executor for batches.
#[derive(Debug)]
pub struct Ours {
    tools: Registry,
    executor: Executor,
}

impl Ours {
    /// Builds the registry and the executor.
    ///
    /// # Errors
    ///
    /// Returns an error if the registry cannot be built.
    pub fn new() -> Result<Self, BuildError> {
        let tools =
            Registry::builder().tool::<forecast>().tool::<create_order>().tool::<write_file>().build()?;
        Ok(Self { executor: Executor::new(tools.clone()), tools })
    }
}

fn answer(outcome: Result<ToolOutput, ToolError>) -> Answer {
    match outcome {
        Ok(output) => Ok(output.into_text()),
        Err(error) => Err(error.feedback().to_string()),
    }
}

impl Contender for Ours {
    const NAME: &'static str = OURS;

    async fn call(&self, tool: &str, arguments: &str) -> Answer {
        answer(self.tools.call(tool, arguments).await)
    }

    async fn batch(&self, calls: Vec<(String, String)>) -> Vec<Answer> {
        let calls = calls.into_iter().map(|(tool, arguments)| ToolCall::new(tool, arguments));
        let outcomes = self.executor.run(calls.collect::<Vec<_>>()).await;
        outcomes
            .into_iter()
            .map(|outcome| match outcome {
                CallOutcome::Finished(result) => answer(result.outcome),
                other => Err(format!("{other:?}")),
            })
            .collect()
    }
}
