//! Numbers, texts, and types of the standard library that are serialized as such.

use std::{borrow::Cow, num, path::PathBuf, rc::Rc, sync::Arc};

use serde_json::{Map, Number, Value};
use tool_runtime::tool_args;

use crate::{In, agree};

#[tool_args]
#[derive(Debug, PartialEq)]
struct Signed {
    a: i8,
    b: Option<i16>,
    c: Option<i32>,
    d: i64,
    e: Option<isize>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Unsigned {
    a: u8,
    b: Option<u16>,
    c: Option<u32>,
    d: u64,
    e: Option<usize>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct NonZero {
    a: num::NonZeroU8,
    b: Option<num::NonZeroU64>,
    c: Option<num::NonZeroUsize>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Floats {
    double: f64,
    other: Option<f64>,
    list: Vec<f64>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Texts {
    character: char,
    string: String,
    boxed: Option<Box<str>>,
    path: Option<PathBuf>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Pointers {
    boxed: Box<u8>,
    counted: Rc<String>,
    shared: Arc<[u16]>,
    cow: Cow<'static, str>,
    cow_list: Option<Cow<'static, [bool]>>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Anything {
    value: Value,
    map: Map<String, Value>,
    maybe: Option<Value>,
    number: Option<Number>,
}

agree! {
    signed_integers_of_all_widths: Signed;
    unsigned_integers_of_all_widths: Unsigned;
    integers_that_are_not_zero: NonZero;
    floats: Floats;
    texts: Texts;
    what_points_to_a_value: Pointers;
    any_value: Anything;
    a_boolean_and_a_unit: In<(bool, ())>;
}
