//! Functions that return a stream (B26).

#![deny(warnings)]

use futures_util::stream::{self, Stream, StreamExt as _};
use tool_runtime::{tool, tool_args, toolset};

#[tool_args(serialize)]
struct Line {
    text: String,
}

/// Lines.
#[tool]
fn lines(path: &str) -> impl Stream<Item = Line> + use<'_> {
    stream::iter(path.split('/').map(|text| Line { text: text.to_owned() }))
}

/// Texts, which may fail.
#[tool(merge)]
async fn texts(path: String) -> impl Stream<Item = Result<String, std::io::Error>> {
    stream::iter([Ok(path)])
}

type Boxed = std::pin::Pin<Box<dyn Stream<Item = u8> + Send>>;

/// Known by its traits.
#[tool(output_schema = false)]
fn boxed() -> Boxed {
    Box::pin(stream::iter([1]))
}

/// Fails before the first item.
#[tool]
async fn late() -> Result<Boxed, String> {
    Err(String::new())
}

/// Fails before the first item, or has no name.
#[tool]
fn nameless(path: &str) -> Result<impl Stream<Item = Result<&str, Box<dyn std::error::Error>>>, String> {
    Ok(stream::iter(path.split('/')).map(|part| if part.is_empty() { Err("empty")? } else { Ok(part) }))
}

/// Borrows what it counts.
#[tool]
async fn borrowed(#[serde(default)] names: &[String]) -> impl Stream<Item = Option<&str>> {
    stream::iter(names.iter().map(|name| name.get(1..)))
}

struct Set {
    name: String,
}

#[toolset]
impl Set {
    /// Borrows from the set.
    #[tool]
    fn names(&self, count: usize) -> impl Stream<Item = &str> {
        stream::iter(std::iter::repeat_n(self.name.as_str(), count))
    }
}

fn main() {
    let set = Set { name: String::new() };
    let _ = (lines(""), texts(String::new()), boxed(), late(), set.names(1), nameless(""), borrowed(&[]));
}
