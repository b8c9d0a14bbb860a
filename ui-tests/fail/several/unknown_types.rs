//! Each invalid type is reported once, at its place.
#![allow(unused_variables)]

use tool_runtime::tool;

struct Units;
struct City;

/// Does.
#[tool]
fn f(units: Units, days: u8, cities: Vec<City>, cell: &std::cell::Cell<u8>) -> Units {
    units
}

fn main() {
    f(Units, 1, Vec::new(), &1.into());
}
