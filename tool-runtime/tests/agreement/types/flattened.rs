//! Flattened fields of structs.

use std::collections::BTreeMap;

use serde_json::Value;
use tool_runtime::tool_args;

use crate::agree;

#[tool_args]
#[derive(Debug, PartialEq)]
struct Page {
    #[schemars(range(min = 1, max = 100))]
    limit: u8,
    offset: Option<u64>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Tagged {
    Circle { radius: u8 },
    Empty,
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(rename_all = "lowercase")]
enum External {
    Circle { radius: u8 },
    Label(String),
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(untagged)]
enum Untagged {
    Circle { radius: u8 },
    Name { name: String },
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct WithStruct {
    name: String,
    #[serde(flatten)]
    page: Page,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct WithMap {
    name: u8,
    #[serde(flatten)]
    rest: BTreeMap<String, u8>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct WithValues {
    name: u8,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct WithTagged {
    name: String,
    #[serde(flatten)]
    shape: Tagged,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct WithExternal {
    name: u8,
    #[serde(flatten)]
    shape: External,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct WithUntagged {
    size: u8,
    #[serde(flatten)]
    shape: Untagged,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct WithOptional {
    name: u8,
    #[serde(flatten)]
    page: Option<Page>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct WithTwo {
    #[serde(flatten)]
    page: Page,
    #[serde(flatten)]
    shape: Tagged,
    extra: Option<f64>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Deep {
    #[serde(flatten)]
    outer: WithStruct,
    #[serde(alias = "more_too")]
    more: Option<Vec<WithTagged>>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct WithOptionalEnum {
    name: u8,
    #[serde(flatten)]
    shape: Option<Tagged>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct WithTwoEnums {
    #[serde(flatten)]
    shape: Tagged,
    #[serde(flatten)]
    name: UntaggedName,
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(untagged)]
enum UntaggedName {
    Text { name: String },
    Number { number: u8 },
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct WithEnumAndMap {
    #[serde(flatten)]
    shape: Tagged,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct WithOptionAndEnum {
    #[serde(flatten)]
    page: Option<Page>,
    #[serde(flatten)]
    shape: Tagged,
}

agree! {
    a_flattened_struct: WithStruct;
    a_flattened_map: WithMap;
    a_flattened_map_of_any_values: WithValues;
    a_flattened_enum_with_a_tag: WithTagged;
    a_flattened_enum_tagged_from_outside: WithExternal;
    a_flattened_enum_without_a_tag: WithUntagged;
    a_flattened_option: WithOptional;
    a_flattened_struct_and_a_flattened_enum: WithTwo;
    flattened_within_flattened: Deep;
    a_flattened_enum_that_may_be_left_out: WithOptionalEnum;
    two_flattened_enums_one_of_them_without_a_tag: WithTwoEnums;
    a_flattened_enum_and_a_flattened_map: WithEnumAndMap;
    a_flattened_option_and_a_flattened_enum: WithOptionAndEnum;
}
