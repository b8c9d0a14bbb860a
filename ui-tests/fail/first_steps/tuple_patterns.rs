//! Patterns that are not structs, in places where more could be said of them.

use tool_runtime::prelude::*;

/// Adds.
#[tool]
fn add(
    /// Two numbers.
    (a, b): (i64, i64),
) -> i64 {
    a + b
}

struct Point(i64, i64);

/// Moves.
#[tool]
async fn go(Point(x, y): Point, #[schemars(range(min = 1))] [a, b]: [u8; 2]) -> i64 {
    x + y + i64::from(a + b)
}

struct Set;

#[toolset]
impl Set {
    /// Adds.
    #[tool]
    fn add(&self, (a, b): (i64, i64)) -> i64 {
        a + b
    }
}

/// Adds.
#[tool]
fn two((a, b): (i64, i64), (c, d): (i64, i64)) -> i64 {
    a + b + c + d
}

fn main() {}
