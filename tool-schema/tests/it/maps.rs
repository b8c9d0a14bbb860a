//! Schemas of maps and their keys.

use std::{collections::BTreeMap, num::NonZeroU8};

use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tool_schema::{InputSchema, Plan};

fn schema<T: JsonSchema>() -> Value {
    InputSchema::of::<T>().unwrap().as_value().clone()
}

/// Keys that some decoder might read as a number.
const KEYS: [&str; 24] = [
    "0", "7", "10", "100", "07", "00", "-7", "-0", "-07", "-", "+7", "+0", "7.0", "7e0", "7E0", "0x7", " 7",
    "7 ", "", "٧", "seven", "7_0", "--7", "1-1",
];

/// Checks that the schema admits a key if and only if `serde_json` reads it.
fn agree<K: JsonSchema + DeserializeOwned + Ord>() {
    let plan = Plan::compile(&schema::<BTreeMap<K, bool>>()).unwrap();
    for key in KEYS {
        let value = json!({ key: true });
        let decoded = serde_json::from_str::<BTreeMap<K, bool>>(&value.to_string());
        assert_eq!(plan.violations(&value).is_empty(), decoded.is_ok(), "{key:?}");
    }
}

// B18
#[test]
fn integer_keys_agree_with_the_decoder() {
    agree::<u8>();
    agree::<u64>();
    agree::<i8>();
    agree::<i64>();
    // The pattern does not limit the number, and does not exclude zero.
    let natural = json!({ r"^(0|[1-9]\d*)$": { "type": "boolean" } });
    let integer = json!({ r"^(0|-?[1-9]\d*)$": { "type": "boolean" } });
    assert_eq!(schema::<BTreeMap<u8, bool>>()["patternProperties"], natural);
    assert_eq!(schema::<BTreeMap<i64, bool>>()["patternProperties"], integer);
    assert_eq!(schema::<BTreeMap<NonZeroU8, bool>>()["patternProperties"], integer);
    assert_eq!(schema::<BTreeMap<u8, bool>>()["additionalProperties"], false);
}

// B18
#[test]
fn enum_keys_are_the_names_of_the_variants() {
    #[derive(Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
    enum Unit {
        Celsius,
        Fahrenheit,
    }
    let boolean = json!({ "type": "boolean" });
    assert_eq!(
        schema::<BTreeMap<Unit, bool>>(),
        json!({
            "type": "object",
            "properties": { "Celsius": boolean, "Fahrenheit": boolean },
            "additionalProperties": false,
        })
    );
}

// B18: a custom pattern is kept, unless it is the pattern that schemars writes for integers.
#[test]
fn a_custom_pattern_of_keys_is_kept() {
    #[derive(Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
    struct Code(#[schemars(regex(pattern = r"^[0-9]+$"))] String);
    let schema = schema::<BTreeMap<Code, bool>>();
    assert_eq!(schema["patternProperties"], json!({ "^[0-9]+$": { "type": "boolean" } }));
}

#[test]
fn a_map_whose_keys_no_name_can_represent_is_refused_with_its_location() {
    #[derive(Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
    enum Shape {
        Circle(u8),
        Square { side: u8 },
    }
    #[derive(Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
    enum Either {
        Circle(u8),
        Nothing,
    }
    #[derive(Deserialize, JsonSchema)]
    struct Args<T> {
        list: Vec<Inner<T>>,
    }
    #[derive(Deserialize, JsonSchema)]
    struct Inner<T> {
        #[serde(rename = "by/key")]
        by_key: T,
    }
    fn error<T: JsonSchema + DeserializeOwned>() -> Option<String> {
        InputSchema::of_decoded::<Args<T>>().err().map(|error| error.to_string())
    }
    let expected = |pointer: &str, key: &str| {
        Some(format!(
            "`{pointer}` is a map with keys of type `{key}`, which the property names of a JSON object cannot \
             represent; use a list of pairs, `Vec<({key}, ..)>`, or keys that are read from strings"
        ))
    };
    assert_eq!(error::<BTreeMap<(u8, u8), bool>>(), expected("/list/0/by~1key", "(u8, u8)"));
    assert_eq!(
        error::<BTreeMap<String, BTreeMap<(u8, u8), bool>>>(),
        expected("/list/0/by~1key/x", "(u8, u8)")
    );
    assert_eq!(error::<BTreeMap<Shape, bool>>(), expected("/list/0/by~1key", std::any::type_name::<Shape>()));
    assert_eq!(error::<BTreeMap<Either, bool>>(), None);
    assert_eq!(error::<BTreeMap<String, bool>>(), None);
    assert_eq!(error::<BTreeMap<u8, BTreeMap<bool, bool>>>(), None);
}
