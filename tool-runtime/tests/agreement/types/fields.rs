//! Attributes of `serde` and `schemars` on fields and containers.

use std::{collections::BTreeMap, fmt::Display, str::FromStr};

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Value, value::RawValue};
use tool_runtime::tool_args;

use crate::{In, agree};

fn three() -> u8 {
    3
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Defaults {
    #[serde(default)]
    a: u8,
    #[serde(default = "three")]
    b: u8,
    #[serde(default)]
    list: Vec<String>,
    #[serde(default)]
    maybe: Option<u8>,
    needed: bool,
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(default)]
struct DefaultOfAll {
    a: u8,
    b: String,
    c: Option<bool>,
}

impl Default for DefaultOfAll {
    fn default() -> Self {
        Self { a: 7, b: "b".to_owned(), c: Some(true) }
    }
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Aliases {
    #[serde(alias = "a_too", alias = "A")]
    a: u8,
    #[serde(alias = "b_too", default)]
    b: Option<u8>,
    #[serde(rename = "sea", alias = "sea_too")]
    c: String,
    #[serde(default)]
    inner: Vec<InnerAliases>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct InnerAliases {
    #[serde(alias = "n_too")]
    n: u8,
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Renamed {
    first_name: String,
    #[serde(rename = "a/b~c")]
    odd_name: u8,
    #[serde(rename(deserialize = "in", serialize = "out"))]
    one_way: Option<u8>,
    r#type: Option<bool>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Skipped {
    a: u8,
    #[serde(skip)]
    never: u16,
    #[serde(skip_deserializing, default = "three")]
    only_written: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<u8>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Options {
    a: Option<u8>,
    b: Option<Option<u8>>,
    c: Vec<Option<String>>,
    d: Option<Vec<Option<u8>>>,
    e: BTreeMap<String, Option<bool>>,
    f: (Option<u8>, Option<String>),
    g: Option<()>,
    #[schemars(required)]
    h: Option<u8>,
}

fn from_text<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(source: D) -> Result<T, D::Error> {
    String::deserialize(source)?.parse().map_err(D::Error::custom)
}

mod lowercase {
    use serde::{Deserialize as _, Deserializer};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(source: D) -> Result<String, D::Error> {
        String::deserialize(source).map(|text| text.to_lowercase())
    }
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct With {
    // The pattern matches the texts that can be parsed.
    #[serde(deserialize_with = "from_text")]
    #[schemars(with = "String", regex(pattern = r"^[0-9]{1,2}$"))]
    number: u8,
    #[serde(with = "lowercase")]
    #[schemars(with = "String")]
    text: String,
    #[serde(deserialize_with = "lowercase::deserialize", default)]
    #[schemars(with = "Option<String>")]
    maybe: String,
}

#[tool_args]
#[derive(Debug)]
struct Raw {
    #[schemars(with = "Value")]
    raw: Box<RawValue>,
    #[schemars(with = "Vec<Value>")]
    list: Vec<Box<RawValue>>,
    n: u8,
}

impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        // An integer that no float represents is passed on as an integer.
        let text = |raw: &RawValue| raw.get().replace([' ', '\n', '\t', '\r'], "").replace("993.0", "993");
        let texts = |it: &Self| it.list.iter().map(|raw| text(raw)).collect::<Vec<_>>();
        text(&self.raw) == text(&other.raw) && texts(self) == texts(other) && self.n == other.n
    }
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(from = "u8")]
struct From8(u16);

impl From<u8> for From8 {
    fn from(value: u8) -> Self {
        Self(value.into())
    }
}

agree! {
    fields_with_defaults: Defaults;
    a_struct_with_defaults: DefaultOfAll;
    fields_with_other_names: Aliases;
    renamed_fields: Renamed;
    fields_that_are_skipped: Skipped;
    options_everywhere: Options;
    decoders_of_ones_own: With;
    a_part_that_stays_text: Raw;
    a_type_from_another: In<Vec<From8>>;
}
