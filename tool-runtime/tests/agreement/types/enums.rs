//! Enums in all representations.

use tool_runtime::tool_args;

use crate::{In, agree};

#[tool_args]
#[derive(Debug, PartialEq)]
struct Point {
    x: i8,
    y: Option<i8>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
enum Units {
    Celsius,
    OldFahrenheit,
    #[serde(rename = "°K")]
    Kelvin,
}

#[tool_args]
#[derive(Debug, PartialEq)]
enum Documented {
    /// One.
    One,
    /// Two,
    /// said twice.
    Two,
    #[serde(alias = "Three_too")]
    Three,
}

#[tool_args]
#[derive(Debug, PartialEq)]
enum External {
    Unit,
    Newtype(u8),
    Boxed(Box<Point>),
    Tuple(u8, String),
    Struct { a: u8, b: Option<String> },
    Nothing(()),
    Maybe(Option<u8>),
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Renamed {
    FirstOne {
        the_size: u8,
        #[serde(alias = "theName_too")]
        the_name: Option<String>,
    },
    #[serde(rename = "2nd")]
    Second { the_size: i8 },
    #[serde(skip)]
    Hidden,
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Internal {
    Unit,
    Struct {
        a: u8,
        #[serde(default)]
        b: String,
    },
    Newtype(Point),
    Number {
        n: f64,
        list: Vec<i64>,
    },
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(tag = "kind", deny_unknown_fields)]
enum InternalDenying {
    Unit,
    Struct { a: u8 },
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Unit,
    Newtype(u8),
    Tuple(u8, bool),
    Struct { a: u8, b: Option<u8> },
    Point(Point),
    Text(String),
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(untagged)]
enum Untagged {
    Number(u8),
    Text(String),
    Pair(u8, bool),
    Struct { a: u8, b: Option<String> },
    List(Vec<bool>),
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(untagged)]
enum UntaggedStructs {
    Narrow { a: u8 },
    Wide { a: i32, b: String },
    Other(Point),
}

/// Forms that overlap when their values are coerced.
#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(untagged)]
enum Ambiguous {
    Whole { n: u8, list: Option<Vec<u8>> },
    Float { n: f64 },
    Maybe { n: Option<String>, m: Option<i64> },
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(rename_all = "lowercase")]
enum WithOther {
    Known,
    Also(u8),
    #[serde(untagged)]
    Text(String),
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Fallback {
    Known {
        a: u8,
    },
    #[serde(other)]
    Unknown,
}

#[tool_args]
#[derive(Debug, PartialEq)]
enum Nested {
    Outer(Internal),
    Listed(Vec<Adjacent>),
    Maybe { inner: Option<External> },
}

agree! {
    a_list_of_names: In<Units>;
    documented_names: In<Documented>;
    names_that_may_be_left_out: In<Vec<Option<Units>>>;
    tagged_from_outside: In<External>;
    renamed_variants_and_fields: In<Renamed>;
    the_arguments_are_an_enum_tagged_from_outside: Renamed;
    tagged_from_inside: In<Internal>;
    the_arguments_are_an_enum_tagged_from_inside: Internal;
    tagged_from_inside_without_other_fields: InternalDenying;
    tagged_beside_the_content: In<Adjacent>;
    the_arguments_are_an_enum_tagged_beside_the_content: Adjacent;
    not_tagged: In<Untagged>;
    the_arguments_are_an_enum_that_is_not_tagged: UntaggedStructs;
    the_first_of_several_forms: Ambiguous;
    a_variant_that_is_not_tagged: In<WithOther>;
    a_variant_for_all_other_tags: In<Fallback>;
    an_enum_in_an_enum: In<Nested>;
    an_enum_that_may_be_left_out: In<Option<Internal>>;
}
