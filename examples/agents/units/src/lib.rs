//! Tools that convert units. A program that links this crate discovers them.

use tool_runtime::prelude::*;

/// Converts a length from inches to centimetres.
#[tool(read_only)]
pub fn inches_to_centimetres(
    /// The length in inches.
    inches: f64,
) -> f64 {
    inches * 2.54
}
