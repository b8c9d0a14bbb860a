use tool_runtime::{Run, ToolContext, tool};

/// Finds.
#[tool]
struct Find<T> {
    what: T,
}

impl<T: Send> Run for Find<T> {
    type Output = ();

    async fn run(self, _: &ToolContext) {}
}

fn main() {
    let _ = Find { what: 1 }.what;
}
