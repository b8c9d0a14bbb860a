//! A set of which the program keeps a handle, and a boxed tool.

use std::sync::Arc;

use tool_runtime::prelude::*;

struct Files;

#[toolset]
impl Files {
    /// Reads a file.
    #[tool]
    fn read(&self, path: String) -> String {
        path
    }
}

#[tool_args]
struct None {}

fn main() {
    let files = Arc::new(Files);
    let tools = Registry::builder().toolset(Arc::clone(&files)).build().unwrap();
    assert_eq!(tools.len(), 1);
    let boxed: Box<dyn Tool> = Box::new(tool_runtime::ToolBuilder::new("none").body(tool_body!(|_: None| "none")).unwrap());
    assert_eq!(Registry::builder().add(boxed).build().unwrap().len(), 1);
}
