//! A renamed runtime.

#![deny(warnings)]

mod deps {
    pub use tool_runtime as tools;
}

use deps::tools::{tool, tool_args, toolset};

#[tool_args(crate = crate::deps::tools)]
struct Arguments {
    #[schemars(range(min = 1))]
    a: u8,
}

/// By path.
#[tool(crate = crate::deps::tools)]
fn by_path(#[args] arguments: Arguments) -> u8 {
    arguments.a
}

struct Set;

#[toolset(crate = deps::tools)]
impl Set {
    /// By path.
    #[tool]
    fn by_path(&self) {}
}

/// By path.
#[tool(crate = deps::tools)]
struct Act {}

impl deps::tools::Run for Act {
    type Output = u8;

    async fn run(self, _: &deps::tools::ToolContext) -> u8 {
        1
    }
}

fn main() {
    let _ = (by_path(Arguments { a: 1 }), Set.by_path());
}
