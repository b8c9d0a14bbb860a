//! User types named like the prelude's, and modules named like crates (B12).

#![allow(dead_code, unused_variables)]

use tool_runtime::{tool, tool_args, toolset};

mod std {}
mod core {}
mod alloc {}
mod serde {}
mod schemars {}
mod tool_core {}

#[tool_args(serialize)]
struct Result {
    text: ::std::string::String,
}

#[tool_args(serialize)]
struct Option {
    text: ::std::string::String,
}

#[tool_args(serialize)]
struct String {
    length: u8,
}

#[tool_args(serialize)]
struct Vec {
    length: u8,
}

#[tool_args(serialize)]
struct Box {
    width: u8,
}

#[tool_args(serialize)]
struct Value(u8);

struct Default;
struct Send;
struct Sync;
struct From;
struct Future;
struct Arc;

#[allow(non_snake_case)]
fn Some(_: u8) {}
#[allow(non_snake_case)]
fn Ok(_: u8) {}
#[allow(non_snake_case)]
fn Err(_: u8) {}
#[allow(non_snake_case)]
fn None() {}

/// Takes and gives types of the program's own.
#[tool(timeout = "1s", retry = 2, title = "T", tags("a"))]
async fn shadow(
    a: Result,
    b: Option,
    c: Vec,
    d: Box,
    e: Value,
    #[arg(default = String { length: 1 })] f: String,
    #[schemars(range(min = 1))]
    #[serde(default)]
    g: u8,
) -> String {
    f
}

/// Blocks.
#[tool(blocking)]
fn block(a: String) -> Result {
    Result { text: ::std::string::String::new() }
}

struct Set;

#[toolset]
impl Set {
    /// Gives an option.
    #[tool]
    async fn give(&self, a: Option) -> Option {
        a
    }
}

/// Runs.
#[tool]
struct Act {
    a: Value,
}

impl tool_runtime::Run for Act {
    type Output = Value;

    async fn run(self, _: &tool_runtime::ToolContext) -> Value {
        self.a
    }
}

fn main() {}
