use futures_util::stream::{self, Stream};
use tool_runtime::tool;

/// Does.
#[tool(blocking)]
fn f() -> impl Stream<Item = u8> {
    stream::iter([1])
}

fn main() {
    let _ = f();
}
