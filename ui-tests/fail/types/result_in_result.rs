use futures_util::stream::{self, Stream};
use tool_runtime::tool;

/// Does.
#[tool]
fn f() -> Result<Result<u8, String>, u8> {
    Ok(Ok(1))
}

/// Does.
#[tool(blocking)]
fn g() -> Result<Option<Result<u8, String>>, u8> {
    Ok(None)
}

/// Does.
#[tool]
fn h() -> impl Stream<Item = Result<Result<u8, String>, u8>> {
    stream::iter([Ok(Ok(1))])
}

fn main() {
    let _ = (f(), g(), h());
}
