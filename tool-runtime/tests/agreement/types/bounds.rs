//! Limits of every kind.

use std::collections::{BTreeMap, HashSet};

use serde_json::json;
use tool_runtime::tool_args;

use crate::agree;

#[tool_args]
#[derive(Debug, PartialEq)]
struct Ranges {
    #[schemars(range(min = 1, max = 14))]
    days: u8,
    #[schemars(range(min = -90, max = 90))]
    latitude: f64,
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1))]
    share: Option<f64>,
    #[schemars(range(min = -5))]
    wide: Option<i64>,
    #[schemars(range(max = 9007199254740993_u64))]
    large: Option<u64>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Lengths {
    #[schemars(length(min = 1, max = 3))]
    text: String,
    #[schemars(length(equal = 2))]
    pair: Vec<u8>,
    #[schemars(length(max = 2), inner(length(min = 1), regex(pattern = "^[a-z]{2,3}$")))]
    tags: Option<Vec<String>>,
    #[schemars(inner(range(min = 1, max = 5)))]
    stars: Vec<u8>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Patterns {
    #[schemars(regex(pattern = "^[a-z]{2,3}$"))]
    code: String,
    #[schemars(regex(pattern = "^v[0-9]"))]
    version: Option<String>,
    #[schemars(contains(pattern = "é"))]
    accent: Option<String>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Extended {
    #[schemars(extend("multipleOf" = 5))]
    fives: u8,
    #[schemars(extend("multipleOf" = 0.1))]
    tenths: f64,
    #[schemars(extend("enum" = ["red", "blue"]))]
    color: Option<String>,
    #[schemars(extend("enum" = [1, 2.5, 100]))]
    listed: Option<f64>,
    #[schemars(extend("const" = 3))]
    only: Option<u8>,
    #[schemars(extend("uniqueItems" = true))]
    different: Option<Vec<f64>>,
    #[schemars(extend("contains" = { "const": 7 }))]
    lucky: Option<Vec<u8>>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[schemars(extend("minProperties" = 2, "dependentRequired" = json!({ "a": ["b"] })))]
struct Counted {
    a: Option<u8>,
    b: Option<u8>,
    c: Option<u8>,
    #[schemars(extend("maxProperties" = 2, "propertyNames" = { "maxLength": 2 }))]
    map: Option<BTreeMap<String, u8>>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Combined {
    #[schemars(extend("anyOf" = [{ "maximum": 3 }, { "minimum": 250 }]))]
    ends: u8,
    #[schemars(extend("not" = { "const": 0 }))]
    not_zero: Option<i8>,
    #[schemars(extend("oneOf" = [{ "multipleOf": 2 }, { "multipleOf": 3 }]))]
    either: Option<u8>,
    set: Option<HashSet<u8>>,
}

agree! {
    ranges: Ranges;
    lengths: Lengths;
    patterns: Patterns;
    keywords_by_hand: Extended;
    counts_of_properties: Counted;
    limits_that_are_combined: Combined;
}
