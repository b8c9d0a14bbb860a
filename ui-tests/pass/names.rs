//! Names that are taken or reserved.

#![deny(warnings)]

use tool_runtime::{tool, toolset};

/// Raw.
#[tool]
fn r#match(r#type: u8, r#fn: &str) -> usize {
    r#fn.len() + usize::from(r#type)
}

mod search {
    pub const LIMIT: u8 = 3;
}

/// Like a module.
#[tool(handle = Search)]
fn search(#[arg(default = search::LIMIT)] limit: u8) -> u8 {
    limit
}

/// Like a primitive, which the body still uses.
#[tool(handle = Str)]
fn str(text: &str) -> usize {
    text.len()
}

/// Like a primitive, and without a handle.
#[tool(handle = none)]
fn u8(value: u8) -> u8 {
    value
}

/// Like the crate.
#[tool(handle = Crate)]
fn tool_runtime() {}

/// Like what an expansion calls.
#[tool]
fn boxed(invocation: u8, slots: u8, call: u8) -> u8 {
    invocation + slots + call
}

/// Like a parameter.
#[tool]
fn value(value: u8, error: u8) -> u8 {
    value + error
}

struct Set;

#[toolset]
impl Set {
    /// Like the trait's method.
    #[tool]
    fn tools(&self, this: u8) -> u8 {
        this
    }

    /// Raw.
    #[tool]
    fn r#loop(&self) {}
}

fn main() {
    let builder = ::tool_runtime::Registry::builder();
    let _ = builder.tool::<r#match>().tool::<Search>().tool::<Str>().tool::<Crate>().tool::<value>();
    let _ = (r#match(1, ""), search(1), str(""), u8(1), boxed(1, 2, 3), value(1, 2), Set.tools(1), Set.r#loop());
}
