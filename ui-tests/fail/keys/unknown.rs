//! Unknown keys (B10).
#![allow(unused_variables)]

use tool_runtime::{tool, tool_args, toolset};

/// Misspelt.
#[tool(read_onyl)]
fn misspelt() {}

/// Like nothing there is.
#[tool(colour = "red")]
fn like_nothing() {}

/// In a list.
#[tool(retry(attempt = 3))]
fn in_a_list() {}

/// On a parameter.
#[tool]
fn on_a_parameter(
    #[arg(defualt = 3)] a: u8,
    #[serde(alais = "x")] b: u8,
    #[schemars(rnage(min = 1))] c: u8,
    #[schemars(range(minimum = 1))] d: u8,
) {
}

struct Set;

#[toolset(nmae = "set")]
impl Set {
    /// In a set.
    #[tool(timout = "1s")]
    fn in_a_set(&self) {}
}

#[tool_args(serialise)]
struct Arguments {}

fn main() {
    misspelt();
    like_nothing();
    in_a_list();
    on_a_parameter(1, 2, 3, 4);
    Set.in_a_set();
    let _ = Arguments {};
}
