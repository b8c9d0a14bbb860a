//! Calls of all sizes, by hand and by the framework.

use std::{collections::HashMap, future::Future, hint::black_box, pin::Pin};

use serde::Deserialize;
use tool_runtime::{BuildError, Registry, tool};

use crate::{
    Workload, now,
    order::{self, Order},
};

/// Adds two numbers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Counts the bytes of a text.
#[tool]
async fn length(text: &str) -> usize {
    text.len()
}

/// Says what an order costs.
#[tool]
async fn total(#[args] order: Order) -> i64 {
    order.total()
}

#[derive(Deserialize)]
struct AddArgs {
    a: i64,
    b: i64,
}

#[derive(Deserialize)]
struct LengthArgs<'a> {
    text: &'a str,
}

/// For a text with escapes, which cannot be borrowed.
#[derive(Deserialize)]
struct OwnedLengthArgs {
    text: String,
}

type Answer<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, serde_json::Error>> + Send + 'a>>;

/// Tools as a person dispatches them who writes it all by hand.
struct ByHand(HashMap<&'static str, fn(&str) -> Answer<'_>>);

impl ByHand {
    fn new() -> Self {
        let mut tools: HashMap<&'static str, fn(&str) -> Answer<'_>> = HashMap::new();
        tools.insert("add", |text| {
            Box::pin(async move {
                let AddArgs { a, b } = serde_json::from_str(text)?;
                serde_json::to_vec(&add(a, b).await)
            })
        });
        tools.insert("length", |text| {
            Box::pin(async move {
                let LengthArgs { text } = serde_json::from_str(text)?;
                serde_json::to_vec(&length(text).await)
            })
        });
        tools.insert("length_owned", |text| {
            Box::pin(async move {
                let OwnedLengthArgs { text } = serde_json::from_str(text)?;
                serde_json::to_vec(&length(&text).await)
            })
        });
        tools.insert("total", |text| {
            Box::pin(async move { serde_json::to_vec(&total(serde_json::from_str(text)?).await) })
        });
        Self(tools)
    }

    fn call(&self, name: &str, arguments: &str, show: &mut dyn FnMut(&[u8])) {
        let Some(tool) = self.0.get(black_box(name)) else { return };
        match now(tool(black_box(arguments))) {
            Some(Ok(answer)) => show(&answer),
            Some(Err(error)) => show(error.to_string().as_bytes()),
            None => {}
        }
    }
}

fn call(tools: &Registry, name: &str, arguments: &str, show: &mut dyn FnMut(&[u8])) {
    match now(tools.call(black_box(name), black_box(arguments))) {
        Some(Ok(answer)) => show(answer.text().as_bytes()),
        Some(Err(error)) => show(error.feedback().as_bytes()),
        None => {}
    }
}

/// A text of 100 kB, as JSON arguments, with `ending` at its end.
#[must_use]
pub fn long_text(ending: &str) -> String {
    let words = "many words, one after the other, and no end of them; ".repeat(2_000);
    format!(r#"{{"text": "{}{ending}"}}"#, words.get(..100_000).unwrap_or(&words))
}

/// The tools that are called.
///
/// # Errors
///
/// If they cannot be used.
pub fn tools() -> Result<Registry, BuildError> {
    Registry::builder().tool::<add>().tool::<length>().tool::<total>().build()
}

/// All calls that are measured.
///
/// # Errors
///
/// If the tools cannot be used.
pub fn workloads() -> Result<Vec<Workload>, BuildError> {
    const ADD: &str = r#"{"a": 2, "b": 3}"#;
    Ok(vec![
        one("two integers", "add", "add", ADD.to_owned())?,
        one("a text of 100 kB", "length", "length", long_text(""))?,
        one("the same with an escape", "length_owned", "length", long_text(r"\n"))?,
        one("a struct of 1 kB", "total", "total", order::text())?,
        one("a field missing, to its report", "add", "add", r#"{"a": 2}"#.to_owned())?,
        batch("64 calls of two integers", ADD)?,
    ])
}

fn one(
    name: &'static str,
    by_hand: &'static str,
    tool: &'static str,
    arguments: String,
) -> Result<Workload, BuildError> {
    let (floor, ours, same) = (ByHand::new(), tools()?, arguments.clone());
    Ok(Workload::new(
        name,
        move |show| floor.call(by_hand, &arguments, show),
        move |show| call(&ours, tool, &same, show),
    ))
}

fn batch(name: &'static str, arguments: &'static str) -> Result<Workload, BuildError> {
    const SIZE: usize = 64;
    let (floor, ours) = (ByHand::new(), tools()?);
    Ok(Workload::new(
        name,
        move |show| (0..SIZE).for_each(|_| floor.call("add", arguments, show)),
        move |show| (0..SIZE).for_each(|_| call(&ours, "add", arguments, show)),
    ))
}
