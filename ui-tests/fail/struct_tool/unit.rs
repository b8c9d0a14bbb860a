use tool_runtime::{Run, ToolContext, tool};

/// Pings.
#[tool]
struct Ping;

impl Run for Ping {
    type Output = ();

    async fn run(self, _: &ToolContext) {}
}

fn main() {
    let _ = Ping;
}
