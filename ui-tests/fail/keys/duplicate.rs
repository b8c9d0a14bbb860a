//! Duplicate keys (B10).
#![allow(unused_variables)]

use tool_runtime::{tool, toolset};

/// The same twice.
#[tool(name = "add", name = "plus")]
fn the_same_twice(a: i64) -> i64 {
    a
}

/// In lists.
#[tool(retry(attempts = 1, attempts = 2), tags("a", "b", "a"), meta(a = 1, b = 2, a = 3))]
fn in_lists() {}

/// On a parameter, in one attribute or in two.
#[tool]
fn on_a_parameter(
    #[arg(default = 1, default = 2)] a: u8,
    #[serde(rename = "x")]
    #[serde(rename = "y")]
    b: u8,
    #[schemars(range(min = 1), range(max = 2), extend("a" = 1, "a" = 2))] c: u8,
) {
}

struct Set;

#[toolset(name = "a", name = "b")]
impl Set {
    /// In a set.
    #[tool(read_only, read_only = false)]
    fn in_a_set(&self) {}
}

fn main() {
    the_same_twice(1);
    in_lists();
    on_a_parameter(1, 2, 3);
    Set.in_a_set();
}
