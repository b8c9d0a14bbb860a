//! `Registry::new()` in place of `Registry::builder()`.

use tool_runtime::prelude::*;

fn main() {
    let _ = Registry::new();
}
