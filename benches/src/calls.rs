//! Calls of several sizes, written by hand and through the framework.

use std::{collections::HashMap, future::Future, hint::black_box, pin::Pin};

use serde::{Deserialize, de::DeserializeOwned};
use tool_runtime::{Registry, registry::BuildError, tool};

use crate::{
    Side, Workload, now,
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

/// Returns the price of an order.
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

/// Counts the bytes of a text with escapes, which cannot be borrowed.
#[derive(Deserialize)]
struct OwnedLengthArgs {
    text: String,
}

type Answer<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, serde_json::Error>> + Send + 'a>>;

/// A hand-written table of tools.
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

/// Returns JSON arguments with a text of 100 kB that ends with `ending`.
#[must_use]
pub fn long_text(ending: &str) -> String {
    let words = "many words, one after the other, and no end of them; ".repeat(2_000);
    format!(r#"{{"text": "{}{ending}"}}"#, words.get(..100_000).unwrap_or(&words))
}

/// Builds the registry of the measured tools.
///
/// # Errors
///
/// Returns an error if the registry cannot be built.
pub fn tools() -> Result<Registry, BuildError> {
    Registry::builder().tool::<add>().tool::<length>().tool::<total>().build()
}

/// Returns the calls to measure.
///
/// # Errors
///
/// Returns an error if the registry cannot be built.
pub fn workloads() -> Result<Vec<Workload>, BuildError> {
    const ADD: &str = r#"{"a": 2, "b": 3}"#;
    let order = order::text();
    let without_field = order.replace(r#""shipping": "Courier", "#, "");
    let wrong_type = order.replace(r#""age": 36"#, r#""age": "old""#);
    Ok(vec![
        one::<AddArgs>("two integers", "add", "add", ADD.to_owned())?,
        one::<Order>("a struct of 1 kB", "total", "total", order)?,
        one::<OwnedLengthArgs>("a text of 100 kB", "length", "length", long_text(""))?,
        one::<OwnedLengthArgs>("the same with an escape", "length_owned", "length", long_text(r"\n"))?,
        refused::<Order>("a field missing, to its report", without_field)?,
        refused::<Order>("a wrong type, to its report", wrong_type)?,
        value("two integers, as a `Value`", "add", ADD)?,
        value("a struct of 1 kB, as a `Value`", "total", &order::text())?,
        batch("64 calls of two integers", ADD)?,
    ])
}

/// A hand-written tool that validates with `jsonschema` what its types do not check: arguments are
/// parsed to a value, validated, and decoded. If they are invalid, all violations are listed.
fn validated<T: ByType>(tool: &'static str, arguments: String) -> Result<Side, BuildError> {
    let tools = tools()?;
    let schema = tools.get(tool).map(|tool| tool.definition().input_schema().as_value().clone());
    let validator = schema.and_then(|schema| jsonschema::validator_for(&schema).ok());
    Ok(Box::new(move |show| {
        let Some(validator) = &validator else { return };
        let Ok(value) = serde_json::from_str::<serde_json::Value>(black_box(&arguments)) else { return };
        if validator.is_valid(&value) {
            let answer = serde_json::from_value(value).and_then(T::run);
            show(&answer.unwrap_or_else(|error| error.to_string().into_bytes()));
            return;
        }
        let why: Vec<_> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        show(why.join("; ").as_bytes());
    }))
}

/// The body of a hand-written tool.
trait ByType: DeserializeOwned + 'static {
    fn run(self) -> Result<Vec<u8>, serde_json::Error>;
}

impl ByType for AddArgs {
    fn run(self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&(self.a + self.b))
    }
}

impl ByType for OwnedLengthArgs {
    fn run(self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&self.text.len())
    }
}

impl ByType for Order {
    fn run(self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&self.total())
    }
}

fn one<T: ByType>(
    name: &'static str,
    by_hand: &'static str,
    tool: &'static str,
    arguments: String,
) -> Result<Workload, BuildError> {
    let (floor, ours, same) = (ByHand::new(), tools()?, arguments.clone());
    let validated = validated::<T>(tool, arguments.clone())?;
    let workload = Workload::new(
        name,
        move |show| floor.call(by_hand, &arguments, show),
        move |show| call(&ours, tool, &same, show),
    );
    Ok(workload.validated(validated))
}

/// Invalid arguments. The floor fails to decode them, and then lists all violations.
fn refused<T: ByType>(name: &'static str, arguments: String) -> Result<Workload, BuildError> {
    let (ours, same) = (tools()?, arguments.clone());
    let validated = validated::<T>("total", arguments.clone())?;
    let workload = Workload::new(
        name,
        move |show| {
            if serde_json::from_str::<T>(black_box(&arguments)).is_err() {
                validated(show);
            }
        },
        move |show| call(&ours, "total", &same, show),
    );
    Ok(workload)
}

/// Arguments as a `Value`, the form in which some client libraries return them.
fn value(name: &'static str, tool: &'static str, arguments: &str) -> Result<Workload, BuildError> {
    let tools = tools()?;
    let value: serde_json::Value = serde_json::from_str(arguments).unwrap_or_default();
    let same = value.clone();
    let floor = move |show: &mut dyn FnMut(&[u8])| {
        let value = black_box(&same).clone();
        let answer = match tool {
            "add" => serde_json::from_value::<AddArgs>(value).and_then(ByType::run),
            _ => serde_json::from_value::<Order>(value).and_then(ByType::run),
        };
        show(&answer.unwrap_or_else(|error| error.to_string().into_bytes()));
    };
    Ok(Workload::new(name, floor, move |show| match now(tools.call(black_box(tool), black_box(&value))) {
        Some(Ok(answer)) => show(answer.text().as_bytes()),
        Some(Err(error)) => show(error.feedback().as_bytes()),
        None => {}
    }))
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
