//! A set without `#[toolset]`.

use tool_runtime::prelude::*;

struct Files;

impl Files {
    fn read(&self, path: String) -> String {
        path
    }
}

fn main() {
    let _ = Registry::builder().toolset(Files).build();
    let _ = Registry::builder().tool::<Files>().build();
    let _ = Registry::builder().add(Files).build();
}
