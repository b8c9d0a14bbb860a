use tool_runtime::{Run, ToolContext, tool};

/// Finds.
#[tool(handle = Finder)]
struct Find {
    what: u8,
}

impl Run for Find {
    type Output = u8;

    async fn run(self, _: &ToolContext) -> u8 {
        self.what
    }
}

fn main() {
    let _ = Find { what: 1 };
}
