//! Lists, sets, maps and tuples.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};

use serde_json::Value;
use tool_runtime::tool_args;

use crate::{In, agree};

#[tool_args]
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[serde(rename_all = "kebab-case")]
enum Unit {
    Celsius,
    OldFahrenheit,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Lists {
    list: Vec<u8>,
    queue: VecDeque<bool>,
    linked: LinkedList<String>,
    nested: Vec<Vec<i8>>,
    holes: Vec<Option<u8>>,
    boxed: Box<[Option<String>]>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Arrays {
    none: [u8; 0],
    three: [u8; 3],
    pairs: [(String, bool); 2],
    holes: [Option<u8>; 2],
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Tuples {
    one: (u8,),
    two: (u8, String),
    mixed: (Option<u8>, Vec<bool>, (char, f64)),
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Sets {
    hashed: HashSet<u8>,
    sorted: BTreeSet<String>,
    units: BTreeSet<Unit>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Point {
    x: u8,
    y: Option<u8>,
}

agree! {
    lists: Lists;
    arrays: Arrays;
    tuples: Tuples;
    sets: Sets;
    a_map_from_texts: In<HashMap<String, u8>>;
    a_map_to_structs: In<BTreeMap<String, Point>>;
    a_map_to_what_may_be_null: In<BTreeMap<String, Option<u8>>>;
    a_map_of_any_values: In<BTreeMap<String, Value>>;
    a_map_from_variants: In<HashMap<Unit, u8>>;
    a_list_of_maps: In<Vec<HashMap<String, (u8, bool)>>>;
    the_arguments_are_a_map: BTreeMap<String, u8>;
}
