//! A mistake in a tool causes no further errors where the tool is used.
use tool_runtime::{Registry, Run, ToolContext, tool, tool_args, toolset};

#[tool_args(serialise)]
struct Arguments {
    a: u8,
}

#[tool]
fn f(#[args] arguments: Arguments) -> u8 {
    arguments.a
}

/// Misspelt.
#[tool(handle = Named, nam = "x")]
pub async fn g(#[arg(default = 1)] a: u8) -> u8 {
    a
}

/// Misspelt.
#[tool(tmeout = "1s")]
struct Act {
    a: u8,
}

impl Run for Act {
    type Output = u8;

    async fn run(self, _: &ToolContext) -> u8 {
        self.a
    }
}

struct Set;

#[toolset]
impl Set {
    #[tool]
    fn h(&self) {}
}

fn main() {
    f(Arguments { a: 1 });
    let _ = g(1);
    Set.h();
    let _ = Registry::builder().tool::<f>().tool::<Named>().tool::<Act>().toolset(Set);
}
