//! Lifetime parameters need no `instantiate`, and results may be borrowed.

#![deny(warnings)]

use std::borrow::Cow;

use tool_runtime::{ToolContext, tool, toolset};

trait Store: Send + Sync {
    fn get(&self, key: &str) -> Option<String>;
}

/// The longer one.
#[tool]
fn longest<'a>(a: &'a str, b: &'a str) -> &'a str {
    if a.len() > b.len() { a } else { b }
}

/// Both.
#[tool]
async fn both<'a, 'b: 'a>(a: Cow<'a, str>, cx: &'b ToolContext, store: &'a (dyn Store + 'a)) -> Cow<'a, str>
where
    'b: 'a,
{
    let _ = (cx, store.get("a"));
    a
}

/// Early bound.
#[tool(instantiate(u8 as "early_byte", (u8, u8) as "early_pair"))]
fn early<'a: 'a, T: Clone>(list: &'a [T]) -> Option<T> {
    list.first().cloned()
}

/// Counts.
#[tool(instantiate((u8, 3) as "three_bytes", (String, { 1 + 1 }) as "two_words"))]
fn count<T, const N: usize>(list: Vec<T>) -> usize
where
    T: Clone,
{
    list.len().min(N)
}

struct Set {
    name: String,
}

#[toolset]
impl Set {
    /// Names it.
    #[tool]
    fn name<'a>(&'a self, prefix: &'a str) -> &'a str {
        if prefix.is_empty() { &self.name } else { prefix }
    }

    /// Names it twice.
    #[tool]
    async fn twice(self: &Self, times: u8) -> String {
        self.name.repeat(times.into())
    }
}

struct Borrowed<'a> {
    name: &'a str,
}

#[toolset]
impl Borrowed<'_> {
    /// Names it.
    #[tool]
    fn name(&self) -> String {
        self.name.to_owned()
    }
}

fn main() {
    let _ = Borrowed { name: "static" }.name();
    let set = Set { name: String::new() };
    let _ = (longest("a", "b"), early(&[1]), count::<u8, 1>(vec![1]), set.name(""), set.twice(2));
}
