use tool_runtime::{Run, ToolContext, tool};

/// Turns the robot.
#[tool]
enum Turn {
    Left,
    By { degrees: u16 },
}

impl Run for Turn {
    type Output = ();

    async fn run(self, _: &ToolContext) {}
}

fn main() {
    let _ = [Turn::Left, Turn::By { degrees: 90 }];
}
