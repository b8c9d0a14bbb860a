//! `tools-rs`: a `ToolCollection`, which takes arguments as a `Value` and returns one.

use benches::{
    table::{Answer, Contender},
    workload_bodies, workload_types,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tools_rs::{FunctionCall, ToolCollection, ToolSchema, collect_tools, tool};

workload_types! {
    input: {
        #[derive(Deserialize, ToolSchema)]
        #[allow(dead_code, reason = "decoded like those that are read")]
    }
    enums: { #[derive(Deserialize)] }
    output: { #[derive(Serialize)] }
}
workload_bodies! {}

// There is no derive for enums.
impl ToolSchema for Tier {
    fn schema() -> Value {
        json!({ "type": "string", "enum": ["bronze", "silver", "gold"] })
    }
}

impl ToolSchema for Method {
    fn schema() -> Value {
        json!({ "type": "string", "enum": ["standard", "express", "pickup"] })
    }
}

/// Forecasts the weather.
#[tool]
async fn forecast(city: String, days: u32) -> Weather {
    forecast_body(city, days)
}

/// Creates an order.
#[tool]
#[allow(clippy::too_many_arguments, reason = "the arguments of the tool")]
async fn create_order(
    order_id: String,
    customer: Customer,
    items: Vec<Item>,
    shipping: Shipping,
    priority: u8,
    discount_percent: Option<f64>,
    coupon: Option<String>,
    gift: Option<bool>,
) -> Receipt {
    create_order_body(order_id, customer, items, shipping, priority, discount_percent, coupon, gift)
}

/// Writes a file.
#[tool]
async fn write_file(path: String, content: String) -> Written {
    write_file_body(path, content)
}

pub(crate) struct ToolsRs(ToolCollection);

impl ToolsRs {
    pub(crate) fn new() -> Self {
        Self(collect_tools())
    }
}

impl Contender for ToolsRs {
    const NAME: &'static str = "tools-rs";

    async fn call(&self, tool: &str, arguments: &str) -> Answer {
        let arguments = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
        // `FunctionCall::new` would generate an id from the system's source of randomness.
        let call = FunctionCall { id: None, name: tool.to_owned(), arguments };
        match self.0.call(call).await {
            Ok(response) => Ok(response.result.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }
}
