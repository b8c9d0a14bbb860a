//! Calls of tools: parameter lists, which are decoded without a type of their own, and settings of a
//! tool.

use std::{borrow::Cow, collections::BTreeMap, path::Path};

use tool_runtime::{prelude::*, registry::RegistryBuilder};

use super::admitted;

/// Defines a test for each function: it runs if and only if its plan admits the arguments.
macro_rules! agree {
    ($($name:ident: $tool:ty;)*) => { $(
        #[test]
        fn $name() {
            runs_for_what_is_admitted(stringify!($name), Registry::builder().tool::<$tool>());
        }
    )* };
}

fn runs_for_what_is_admitted(name: &str, tools: RegistryBuilder) {
    // Coerced arguments are not compared.
    let tools = tools.strict(true).build().unwrap();
    let definition = &tools.definitions()[0];
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let call = |text: &str| runtime.block_on(tools.call(definition.name(), text));
    let share = admitted(name, definition, |text| match (call(text), tools.check(definition.name(), text)) {
        (Ok(output), Ok(fitting)) => {
            // The same arguments in any spelling.
            assert_eq!(output, call(fitting.as_str()).unwrap(), "{text}");
            true
        }
        (Err(refused), Err(reported)) => {
            assert_eq!(refused.feedback(), reported.feedback(), "{text}");
            false
        }
        (called, checked) => panic!("{text}\ncalled: {called:?}\nchecked: {checked:?}"),
    });
    assert!(share.is_fair(), "{share:?}");
}

#[tool_args]
#[derive(Debug)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Shape {
    Circle { radius: f64 },
    Empty,
}

#[tool_args]
#[derive(Debug)]
struct Query {
    text: String,
    #[serde(alias = "limit_too", default)]
    limit: Option<u8>,
    #[serde(default)]
    shapes: Vec<Shape>,
}

#[tool_args]
#[derive(Debug)]
struct Flattened {
    id: u32,
    #[serde(flatten)]
    query: Query,
}

/// Borrows.
#[tool(register = false)]
fn borrowed(
    text: &str,
    maybe: Option<&str>,
    path: &Path,
    either: Cow<'_, str>,
    list: &[u32],
    other: Option<&[Option<bool>]>,
) -> String {
    format!("{text:?} {maybe:?} {path:?} {either:?} {list:?} {other:?}")
}

/// Limits.
#[tool(register = false)]
fn limited(
    #[schemars(range(min = 1, max = 14))] days: u8,
    #[schemars(length(min = 1, max = 3))] text: &str,
    #[schemars(length(max = 2), inner(range(max = 9)))] list: Vec<u8>,
    #[schemars(regex(pattern = "^[a-z]{2,3}$"))] code: Option<String>,
) -> String {
    format!("{days} {text:?} {list:?} {code:?}")
}

/// Renames.
#[tool(register = false, rename_all = "camelCase")]
fn renamed(
    #[serde(alias = "theCity_too", alias = "town")] the_city: String,
    #[serde(rename = "no/of~days", default)] days: u8,
    #[arg(default = 3)] last_one: i8,
    #[serde(alias = "maybe_too")] maybe: Option<f64>,
) -> String {
    format!("{the_city:?} {days} {last_one} {maybe:?}")
}

/// Takes everything.
#[tool(register = false)]
fn nested(
    value: Value,
    shape: Option<Shape>,
    map: BTreeMap<String, Option<Shape>>,
    twice: Option<Option<u8>>,
    tuple: (u8, Option<bool>),
) -> String {
    format!("{value} {shape:?} {map:?} {twice:?} {tuple:?}")
}

/// Takes nothing.
#[tool(register = false)]
fn nothing() -> u8 {
    7
}

/// Takes a struct.
#[tool(register = false)]
fn whole(#[args] query: Query) -> String {
    format!("{query:?}")
}

/// Takes a struct with another in it.
#[tool(register = false)]
fn flattened(#[args] query: Flattened) -> String {
    format!("{query:?}")
}

/// Ignores what it does not know.
#[tool(register = false, unknown_fields = "ignore")]
fn open(#[args] query: Query) -> String {
    format!("{query:?}")
}

/// Ignores what it does not know.
#[tool(register = false, unknown_fields = "ignore")]
fn open_list(#[serde(alias = "n_too")] n: u8, text: Option<&str>, shape: Option<Shape>) -> String {
    format!("{n} {text:?} {shape:?}")
}

/// Is a struct.
#[tool(register = false)]
#[derive(Debug)]
struct AsStruct {
    #[serde(alias = "n_too")]
    n: u8,
    text: Option<String>,
}

impl Run for AsStruct {
    type Output = String;

    async fn run(self, _cx: &ToolContext) -> String {
        format!("{self:?}")
    }
}

agree! {
    borrowed_parameters: borrowed;
    parameters_with_limits: limited;
    parameters_with_other_names: renamed;
    parameters_of_many_kinds: nested;
    no_parameters: nothing;
    an_argument_struct: whole;
    an_argument_struct_with_another_in_it: flattened;
    an_argument_struct_that_is_open: open;
    parameters_that_are_open: open_list;
    a_struct_that_is_a_tool: AsStruct;
}
