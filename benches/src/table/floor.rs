//! The floor: what one writes by hand without a framework.

use std::{collections::HashMap, future::Future, pin::Pin};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, Contender};
use crate::{FLOOR, workload_arguments, workload_bodies, workload_types};

workload_types! {
    input: { #[derive(Deserialize, JsonSchema)] #[allow(dead_code, reason = "decoded like those that are read")] }
    output: { #[derive(Serialize)] }
    ranges
}
workload_arguments! { input: { #[derive(Deserialize, JsonSchema)] } }
workload_bodies! {}

type Entry = for<'a> fn(&'a str) -> Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// A `HashMap` from names to functions that return boxed futures: `from_str` into typed arguments, a direct call,
/// and `to_string` of the typed result.
#[derive(Debug)]
pub struct Floor(HashMap<&'static str, Entry>);

async fn forecast(city: String, days: u32) -> Weather {
    forecast_body(city, days)
}

async fn create_order(args: OrderArgs) -> Receipt {
    create_order_body(
        args.order_id,
        args.customer,
        args.items,
        args.shipping,
        args.priority,
        args.discount_percent,
        args.coupon,
        args.gift,
    )
}

async fn write_file(path: String, content: String) -> Written {
    write_file_body(path, content)
}

fn arguments<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

fn text<T: Serialize>(value: &T) -> Answer {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

impl Floor {
    /// Creates the table of tools.
    #[must_use]
    pub fn new() -> Self {
        let mut tools: HashMap<&'static str, Entry> = HashMap::new();
        tools.insert("forecast", |json| {
            Box::pin(async move {
                let ForecastArgs { city, days } = arguments(json)?;
                text(&forecast(city, days).await)
            })
        });
        tools.insert("create_order", |json| {
            Box::pin(async move { text(&create_order(arguments(json)?).await) })
        });
        tools.insert("write_file", |json| {
            Box::pin(async move {
                let WriteArgs { path, content } = arguments(json)?;
                text(&write_file(path, content).await)
            })
        });
        Self(tools)
    }
}

impl Default for Floor {
    fn default() -> Self {
        Self::new()
    }
}

impl Contender for Floor {
    const NAME: &'static str = FLOOR;

    async fn call(&self, tool: &str, arguments: &str) -> Answer {
        match self.0.get(tool) {
            Some(entry) => entry(arguments).await,
            None => Err(format!("no tool named {tool}")),
        }
    }
}
