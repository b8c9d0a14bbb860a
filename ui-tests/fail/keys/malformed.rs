//! Keys with values of the wrong form (B10).
#![allow(unused_variables)]

use tool_runtime::tool;

/// Texts.
#[tool(name = 3, title, group("x"), toolset = NAME)]
fn texts() {}

/// Switches.
#[tool(read_only = "yes", strict = 1, sequential(true))]
fn switches() {}

/// Lists.
#[tool(tags = "a", meta = "a", examples = 3, needs = Db)]
fn lists() {}

/// Items of lists.
#[tool(tags("a", b), meta(a))]
fn items_of_lists() {}

/// Paths.
#[tool(permission = "path", prepare = 3, confirm = "yes", crate = 3)]
fn paths() {}

/// Choices.
#[tool(unknown_fields = "allow", rename_all = "Camel", output_schema = true, handle = "Name")]
fn choices() {}

/// Numbers.
#[tool(retry = "3", max_result_size)]
fn numbers() {}

/// No key at all.
#[tool("weather")]
fn no_key() {}

/// On a parameter.
#[tool]
fn on_a_parameter(
    #[arg(default(3))] a: u8,
    #[serde(default = 3)] b: u8,
    #[schemars(range = 3)] c: u8,
    #[schemars(regex = "a")] d: String,
) {
}

/// On an argument struct.
#[tool]
fn on_an_argument_struct(#[args(x)] a: u8) {}

fn main() {
    texts();
    switches();
    lists();
    items_of_lists();
    paths();
    choices();
    numbers();
    no_key();
}
