//! Flattened fields of argument structs: the schema admits the objects that `serde` decodes.
//!
//! All objects over a small vocabulary are generated for each type. Admitted objects must decode, and
//! decodable objects must be admitted, except for properties that `serde` ignores: a refused object that
//! decodes must decode to the same value as an admitted object with fewer properties.

mod beside;
mod levels;

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tool_runtime::{
    builder::{ClosureTool, InvalidTool},
    prelude::*,
    schemars::JsonSchema,
};

/// The numbers of admitted, decoded and generated objects.
#[derive(Debug, PartialEq)]
struct Counts {
    admitted: usize,
    decoded: usize,
    all: usize,
}

/// A tool that takes a `T`.
fn tool<T: JsonSchema + DeserializeOwned + fmt::Debug + Send + 'static>() -> Result<ClosureTool, InvalidTool>
{
    ToolBuilder::new("tool")
        .description("Shows what it was given.")
        .handler(|args: T, _cx| async move { Ok::<_, ToolError>(format!("{args:?}")) })
}

fn registry<T: JsonSchema + DeserializeOwned + fmt::Debug + Send + 'static>() -> Registry {
    Registry::builder().add(tool::<T>().unwrap()).build().unwrap()
}

/// Returns all objects in which each name is absent or has one of its values.
fn objects(words: &[(&str, Value)]) -> Vec<Map<String, Value>> {
    let mut all = vec![Map::new()];
    for (name, values) in words {
        let values = values.as_array().unwrap();
        let with = |object: &Map<String, Value>, value: &Value| {
            let mut object = object.clone();
            object.insert((*name).to_owned(), value.clone());
            object
        };
        let more: Vec<_> =
            all.iter().flat_map(|object| values.iter().map(move |value| with(object, value))).collect();
        all.extend(more);
    }
    all
}

/// Returns `object` without the properties that do not affect its decoded value.
fn without_ignored<T: DeserializeOwned + fmt::Debug>(mut object: Map<String, Value>) -> Value {
    let decoded = |object: &Map<String, Value>| {
        serde_json::from_value::<T>(object.clone().into()).ok().map(|it| format!("{it:?}"))
    };
    let whole = decoded(&object);
    let without = |object: &Map<String, Value>, name: &String| {
        let mut fewer = object.clone();
        fewer.shift_remove(name);
        (decoded(&fewer) == whole).then_some(fewer)
    };
    while let Some(fewer) = object.keys().find_map(|name| without(&object, name)) {
        object = fewer;
    }
    object.into()
}

fn agree<T: JsonSchema + DeserializeOwned + fmt::Debug + Send + 'static>(words: &[(&str, Value)]) -> Counts {
    let tools = registry::<T>();
    let mut counts = Counts { admitted: 0, decoded: 0, all: 0 };
    crate::run(async {
        for object in objects(words) {
            let value = Value::Object(object.clone());
            let decoded = serde_json::from_value::<T>(value.clone()).map(|it| format!("{it:?}")).ok();
            let called = tools.call("tool", value.clone()).await;
            counts.all += 1;
            counts.admitted += usize::from(tools.check("tool", value.clone()).is_ok());
            counts.decoded += usize::from(decoded.is_some());
            match (called, decoded) {
                (Ok(output), decoded) => assert_eq!(Some(&*output.text()), decoded.as_deref(), "{value}"),
                (Err(error), Some(_)) => {
                    let fewer = without_ignored::<T>(object);
                    assert!(fewer != value && tools.check("tool", &fewer).is_ok(), "{value} {error}");
                }
                (Err(error), None) => assert!(tools.check("tool", &value).is_err(), "{value} {error}"),
            }
        }
    });
    counts
}

#[tool_args]
#[derive(Debug)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Tagged {
    /// A round one.
    Circle {
        #[schemars(range(max = 9))]
        radius: u8,
    },
    Empty,
    At(Place),
}

#[tool_args]
#[derive(Debug)]
struct Place {
    street: String,
    zip: Option<String>,
}

#[tool_args]
#[derive(Debug)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Number(u8),
    Nothing,
}

#[tool_args]
#[derive(Debug)]
enum External {
    Unit,
    One(u8),
    Two { w: u8 },
}

#[tool_args]
#[derive(Debug)]
#[serde(untagged)]
enum Untagged {
    Both { a: u8, b: u8 },
    One { a: u8, c: Option<u8> },
    Number(u8),
    Nothing,
    Text { text: String },
}

#[tool_args]
#[derive(Debug)]
#[serde(untagged)]
enum OrNothing {
    X { x: u8 },
    Not {},
}

fn tagged() -> Vec<(&'static str, Value)> {
    vec![
        ("kind", json!(["circle", "empty", "at", "other"])),
        ("radius", json!([1, "x"])),
        ("street", json!(["s"])),
    ]
}

fn untagged() -> Vec<(&'static str, Value)> {
    vec![("a", json!([1, "x"])), ("b", json!([2])), ("c", json!([3])), ("text", json!(["t"]))]
}

fn external() -> Vec<(&'static str, Value)> {
    vec![("Unit", json!([null])), ("One", json!([1, "x"])), ("Two", json!([{ "w": 1 }]))]
}

fn x() -> Vec<(&'static str, Value)> {
    vec![("x", json!([1]))]
}

fn unknown() -> Vec<(&'static str, Value)> {
    vec![("unknown", json!([1]))]
}

fn id() -> Vec<(&'static str, Value)> {
    vec![("id", json!([7]))]
}
