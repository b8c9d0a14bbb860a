//! Tools inside function bodies, with types of the same body.

#![deny(warnings)]

use tool_runtime::{Run, ToolContext, tool, tool_args, toolset};

fn registers() {
    #[tool_args]
    struct Arguments {
        text: String,
    }

    /// Inside.
    #[tool]
    fn inner(#[args] arguments: Arguments) -> usize {
        arguments.text.len()
    }

    struct Set;

    #[toolset]
    impl Set {
        /// Inside.
        #[tool]
        async fn method(&self, a: u8) -> u8 {
            a
        }
    }

    /// Inside.
    #[tool]
    struct Act {}

    impl Run for Act {
        type Output = ();

        async fn run(self, _: &ToolContext) {}
    }

    let _ = tool_runtime::Registry::builder().tool::<inner>().tool::<Act>();
    let _ = (inner(Arguments { text: String::new() }), Set.method(1));
}

fn main() {
    registers();
}
