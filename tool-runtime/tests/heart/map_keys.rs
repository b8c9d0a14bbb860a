//! Maps whose keys the property names of a JSON object can or cannot represent.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Value, json};
use tool_runtime::{Tool as _, prelude::*, registry::BuildDiagnostic};

use crate::run;

type Cell = (u8, u8);

#[tool_args]
#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Point {
    x: u8,
}

#[tool_args]
#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Nothing;

/// All variants have content.
#[tool_args]
#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Id {
    #[serde(rename = "x")]
    Number(u8),
    Names {
        first: String,
    },
}

/// Some variants are names.
#[tool_args]
#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Target {
    Room(u8),
    All,
}

#[tool_args]
#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Wrapped(Option<String>);

/// Reads `1/2`.
#[derive(PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
struct Fraction(u8, u8);

impl<'de> Deserialize<'de> for Fraction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = Fraction;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a fraction")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Fraction, E> {
                let parts =
                    text.split_once('/').and_then(|(a, b)| Some(Fraction(a.parse().ok()?, b.parse().ok()?)));
                parts.ok_or_else(|| E::custom("not a fraction"))
            }
        }

        deserializer.deserialize_tuple_struct("Fraction", 2, Visitor)
    }
}

struct Explosive;

impl<'de> Deserialize<'de> for Explosive {
    #[expect(clippy::panic, reason = "tests a panic")]
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("boom")
    }
}

impl JsonSchema for Explosive {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Explosive".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        BTreeMap::<String, u8>::json_schema(generator)
    }
}

/// Returns the message of the error of a registry with one tool.
fn refused(tools: tool_runtime::registry::RegistryBuilder) -> String {
    let error = tools.build().unwrap_err();
    let [BuildDiagnostic::Schema { message, .. }] = error.diagnostics() else { panic!("{error}") };
    message.clone()
}

fn expected(pointer: &str, key: &str) -> String {
    format!(
        "`{pointer}` is a map with keys of type `{key}`, which the property names of a JSON object cannot \
         represent; use a list of pairs, `Vec<({key}, ..)>`, or keys that are read from strings"
    )
}

macro_rules! refused {
    ($($ty:ty => $pointer:expr, $key:expr;)*) => { $({
        /// Takes a value.
        #[tool(register = false)]
        fn take(before: u8, at: $ty) {
            let _ = (before, at);
        }
        assert_eq!(refused(Registry::builder().tool::<take>()), expected($pointer, $key), stringify!($ty));
    })* };
}

macro_rules! accepted {
    ($($ty:ty)*) => { $({
        /// Takes a value.
        #[tool(register = false)]
        fn take(before: u8, at: $ty) {
            let _ = (before, at);
        }
        let built = Registry::builder().tool::<take>().build();
        assert!(built.is_ok(), "{}: {built:?}", stringify!($ty));
    })* };
}

#[test]
fn map_whose_keys_no_property_name_can_represent_is_an_error_of_build() {
    refused! {
        HashMap<(u8, u8), u8> => "/at", "(u8, u8)";
        HashMap<Cell, Value> => "/at", "(u8, u8)";
        BTreeMap<Vec<u8>, String> => "/at", "alloc::vec::Vec<u8>";
        BTreeMap<[u8; 2], String> => "/at", "[u8; 2]";
        BTreeMap<Point, String> => "/at", "heart::map_keys::Point";
        BTreeMap<Nothing, String> => "/at", "heart::map_keys::Nothing";
        BTreeMap<(), String> => "/at", "()";
        BTreeMap<BTreeMap<u8, u8>, u8> => "/at", "alloc::collections::btree::map::BTreeMap<u8, u8>";
        BTreeMap<Option<(u8, u8)>, u8> => "/at", "(u8, u8)";
        BTreeMap<Id, u8> => "/at", "heart::map_keys::Id";
        Option<HashMap<Cell, u8>> => "/at", "(u8, u8)";
        Vec<Option<HashMap<Cell, u8>>> => "/at/0", "(u8, u8)";
        (String, Point, HashMap<Cell, u8>) => "/at/2", "(u8, u8)";
        BTreeMap<String, HashMap<Cell, u8>> => "/at/x", "(u8, u8)";
        BTreeMap<u64, HashMap<Cell, u8>> => "/at/1", "(u8, u8)";
    }
    let error = Registry::builder().tool::<paint>().build().unwrap_err().to_string();
    assert!(error.starts_with("the tools cannot be used: tool `paint` ("), "{error}");
    assert!(error.ends_with(&expected("/scene/layers/0/Grid/cells", "(u8, u8)")), "{error}");
}

#[tool_args]
struct Scene {
    /// Is read after `layers` and has no value in the probe.
    name: String,
    layers: Vec<Layer>,
    below: Option<Box<Scene>>,
}

#[tool_args]
enum Layer {
    Empty,
    Grid {
        #[schemars(length(min = 1))]
        title: String,
        cells: HashMap<Cell, u8>,
    },
}

/// Paints a scene.
#[tool(register = false)]
fn paint(scene: Scene) {
    let Scene { name, below, layers } = scene;
    let layers = layers.iter().map(|layer| match layer {
        Layer::Empty => 0,
        Layer::Grid { title, cells } => title.len() + cells.len(),
    });
    let _ = (name, below.is_some(), layers.sum::<usize>());
}

#[tool_args]
struct Whole {
    cells: HashMap<Cell, u8>,
}

#[test]
fn argument_structs_and_tools_of_a_builder_are_checked() {
    /// Takes an argument struct.
    #[tool(register = false)]
    fn take(#[args] whole: Whole) -> usize {
        whole.cells.len()
    }

    assert_eq!(refused(Registry::builder().tool::<take>()), expected("/cells", "(u8, u8)"));
    let body = |whole: Whole, _| async move { Ok::<_, ToolError>(whole.cells.len()) };
    let error = ToolBuilder::new("take").description("Takes.").handler(body).unwrap_err();
    assert_eq!(error.to_string(), format!("tool \"take\": {}", expected("/cells", "(u8, u8)")));
}

#[test]
fn map_that_can_have_an_entry_is_accepted() {
    accepted! {
        BTreeMap<String, u8>
        BTreeMap<char, u8>
        BTreeMap<bool, u8>
        BTreeMap<i64, u8>
        BTreeMap<std::net::IpAddr, u8>
        BTreeMap<Wrapped, u8>
        BTreeMap<Target, u8>
        BTreeMap<Fraction, u8>
        BTreeMap<String, Option<Value>>
        Vec<((u8, u8), u8)>
        Value
        Explosive
    }
}

#[test]
fn schema_that_is_written_by_hand_is_not_checked() {
    /// Takes a map.
    #[tool(register = false, input_schema = json!({ "properties": { "at": { "additionalProperties": true } } }))]
    fn take(at: HashMap<Cell, u8>) -> usize {
        at.len()
    }

    let tools = Registry::builder().tool::<take>().build().unwrap();
    assert_eq!(tools.get("take").unwrap().definition().name().as_str(), "take");
}

#[test]
fn fraction_as_a_key_is_decoded() {
    /// Adds.
    #[tool(register = false)]
    fn add(parts: BTreeMap<Fraction, u8>) -> u8 {
        parts.iter().map(|(Fraction(a, b), n)| a + b + n).sum()
    }

    let tools = Registry::builder().tool::<add>().build().unwrap();
    assert_eq!(run(tools.call("add", r#"{"parts":{"1/2":3}}"#)).unwrap().text(), "6");
}
