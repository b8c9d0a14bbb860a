//! Functions that return a stream (B26).

#![deny(warnings)]

use futures_util::stream::{self, Stream};
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
    let _ = (lines(""), texts(String::new()), boxed(), late(), set.names(1));
}
