use tool_runtime::{Run, ToolContext, tool};

/// Adds.
#[tool]
struct Add(u8, u8);

impl Run for Add {
    type Output = u8;

    async fn run(self, _: &ToolContext) -> u8 {
        self.0 + self.1
    }
}

fn main() {
    let _ = Add(1, 2);
}
