//! A boxed trait object as a parameter.

use tool_runtime::prelude::*;

trait Shop: Send + Sync {}

/// Lists the orders.
#[tool]
fn orders(shop: Box<dyn Shop>) -> String {
    let _ = shop;
    String::new()
}

fn main() {
    let _ = orders;
}
