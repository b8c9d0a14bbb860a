//! Structs in all forms, and recursive types.

use std::{collections::BTreeMap, marker::PhantomData};

use tool_runtime::tool_args;

use crate::{In, agree};

#[tool_args]
#[derive(Debug, PartialEq)]
struct Address {
    street: String,
    zip: Option<String>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Person {
    name: String,
    home: Address,
    work: Option<Address>,
    others: Vec<Address>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Unit;

#[tool_args]
#[derive(Debug, PartialEq)]
struct Empty {}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Newtype(u8);

#[tool_args]
#[derive(Debug, PartialEq)]
struct Pair(u8, Option<String>);

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(transparent)]
struct Transparent {
    inner: Vec<u8>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Shapes {
    unit: Unit,
    empty: Empty,
    newtype: Newtype,
    pair: Pair,
    transparent: Transparent,
    phantom: PhantomData<u8>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Whole(Address);

#[tool_args]
#[derive(Debug, PartialEq)]
struct Tree {
    value: i8,
    #[serde(default)]
    children: Vec<Tree>,
    left: Option<Box<Tree>>,
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Expression {
    Number { value: f64 },
    Not { of: Box<Expression> },
    Sum { of: Vec<Expression> },
    Named { by: BTreeMap<String, Expression> },
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(untagged)]
enum Json {
    Null,
    Bool(bool),
    Text(String),
    List(Vec<Json>),
    Map(BTreeMap<String, Json>),
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Odd {
    even: Option<Box<Even>>,
    n: u8,
}

#[tool_args]
#[derive(Debug, PartialEq)]
enum Even {
    Odd(Odd),
    End,
}

agree! {
    structs_in_structs: Person;
    structs_of_all_forms: Shapes;
    the_arguments_are_empty: Empty;
    the_arguments_are_in_a_newtype: Whole;
    a_tree: Tree;
    an_expression: In<Expression>;
    the_arguments_are_an_expression: Expression;
    any_json: In<Json>;
    two_types_that_contain_each_other: Odd;
}
