//! B10.
use tool_runtime::tool;

struct Files;

impl Files {
    /// Reads.
    #[tool]
    fn read(&self, path: String) -> String {
        path
    }
}

fn main() {
    Files.read(String::new());
}
