use futures_util::stream::{self, Stream};
use tool_runtime::tool;

struct Units;

/// Does.
#[tool]
fn f() -> impl Stream<Item = Units> {
    stream::iter([Units])
}

fn main() {
    let _ = f();
}
