//! `build()` is missing.

use tool_runtime::prelude::*;

fn main() {
    let _ = Executor::new(Registry::builder().discover());
}
