//! Lists, maps, values of any type, and numbers of any size.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
    num::NonZeroU8,
    time::Duration,
};

use tool_runtime::{
    serde_json::{Map, Value, value::RawValue},
    tool, tool_args,
};

use super::{Case, ran};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        // The schema of a key requires an integer, but does not limit it.
        Case::new::<Maps>(b'n', "maps", |it| it.tool::<maps>()).narrow(),
        Case::new::<Tree>(b'o', "tree", |it| it.tool::<tree>()),
        Case::new::<Values>(b'p', "values", |it| it.tool::<values>()),
        Case::new::<Raw>(b'q', "raw", |it| it.tool::<raw>()).with_text(),
        Case::new::<Lists>(b'r', "lists", |it| it.tool::<lists>()),
        Case::new::<Numbers>(b's', "numbers", |it| it.tool::<numbers>())
            .narrow()
            .with_other_names(&[("s", "signed"), ("u", "unsigned")]),
        Case::new::<Options>(b't', "options", |it| it.tool::<options>()),
        Case::new::<Narrow>(b'u', "narrow", |it| it.tool::<narrow>()).narrow(),
    ]
}

#[tool_args]
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Color {
    Red,
    Green,
}

#[tool_args]
#[derive(Debug)]
struct Maps {
    small: BTreeMap<u8, i32>,
    #[serde(default)]
    large: BTreeMap<i64, String>,
    colors: Option<BTreeMap<Color, u8>>,
    #[serde(default)]
    nested: BTreeMap<String, BTreeMap<u32, Vec<bool>>>,
    #[serde(flatten)]
    rest: BTreeMap<String, i16>,
}

/// Takes maps from numbers, variants and names.
#[tool(register = false)]
fn maps(#[args] args: Maps) -> String {
    ran(&args)
}

#[tool_args]
#[derive(Debug)]
struct Tree {
    value: i32,
    #[serde(default)]
    children: Vec<Tree>,
    next: Option<Box<Tree>>,
    either: Option<Box<Either>>,
}

#[tool_args]
#[derive(Debug)]
#[serde(untagged)]
enum Either {
    Tree(Tree),
    Not { not: Box<Either> },
    Number(u8),
    All(Vec<Either>),
}

/// Takes a recursive type.
#[tool(register = false)]
fn tree(#[args] args: Tree) -> String {
    ran(&args)
}

#[tool_args]
#[derive(Debug)]
struct Values {
    anything: Value,
    list: Vec<Value>,
    object: Option<Map<String, Value>>,
}

/// Takes anything.
#[tool(register = false)]
fn values(anything: Value, list: Vec<Value>, object: Option<Map<String, Value>>) -> String {
    ran(&Values { anything, list, object })
}

#[tool_args]
#[derive(Debug)]
struct Raw {
    #[schemars(with = "Value")]
    text: Box<RawValue>,
    #[schemars(with = "Option<Value>")]
    #[serde(default)]
    more: Option<Box<RawValue>>,
    count: Option<u8>,
}

/// Takes JSON as it is written.
#[tool(register = false)]
fn raw(#[args] args: Raw) -> String {
    ran(&args)
}

#[tool_args]
#[derive(Debug)]
struct Lists {
    numbers: BTreeSet<i32>,
    #[serde(default)]
    names: BTreeSet<String>,
    sets: Option<BTreeSet<Vec<u8>>>,
    rgb: Option<[u8; 3]>,
    pair: Option<(i8, String)>,
    #[schemars(length(min = 1, max = 3), inner(range(min = 2)))]
    some: Option<Vec<i32>>,
}

/// Takes lists, of which some are sets.
#[tool(register = false)]
fn lists(#[args] args: Lists) -> String {
    ran(&args)
}

#[tool_args]
#[derive(Debug)]
struct Numbers {
    #[serde(alias = "s")]
    signed: i128,
    #[serde(alias = "u")]
    unsigned: Option<u128>,
    #[serde(default)]
    list: Vec<i128>,
    tiny: Option<i8>,
    huge: Option<i64>,
    count: Option<u64>,
    single: Option<f32>,
    double: Option<f64>,
    positive: Option<NonZeroU8>,
}

/// Takes numbers of every size.
#[tool(register = false)]
fn numbers(#[args] args: Numbers) -> String {
    ran(&args)
}

#[tool_args]
#[derive(Debug)]
struct Options {
    twice: Option<Option<u8>>,
    items: Vec<Option<u8>>,
    #[serde(default)]
    named: BTreeMap<String, Option<i32>>,
    nothing: Option<()>,
    any: Option<Value>,
    #[serde(default)]
    pair: (Option<u8>, Option<String>),
}

/// Takes optional and nullable values.
#[tool(register = false)]
fn options(#[args] args: Options) -> String {
    ran(&args)
}

#[tool_args]
#[derive(Debug)]
struct Narrow {
    #[serde(default)]
    address: Option<Ipv4Addr>,
    #[serde(default)]
    pause: Duration,
    #[schemars(with = "Vec<i64>")]
    #[serde(default)]
    bytes: Vec<u8>,
    #[schemars(with = "Option<String>")]
    letter: Option<char>,
}

/// Takes less than its schema says.
#[tool(register = false)]
fn narrow(#[args] args: Narrow) -> String {
    ran(&args)
}
