//! The function of `permission` looks at all arguments, so it borrows them.

use tool_runtime::{definition::Permission, prelude::*};

fn check(city: String, days: u8, units: &Option<String>) -> Permission {
    let _ = (city, days, units);
    Permission::Allow
}

/// Forecasts the weather.
#[tool(permission = check)]
fn forecast(city: String, days: u8, units: Option<String>) -> String {
    format!("{city} {days} {units:?}")
}

fn main() {}
