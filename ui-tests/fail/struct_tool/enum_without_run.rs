use tool_runtime::prelude::*;

/// Moves the robot.
#[tool]
enum Move {
    Forward { steps: u8 },
    Stop {},
}

fn main() {
    let _ = [Move::Forward { steps: 1 }, Move::Stop {}];
}
