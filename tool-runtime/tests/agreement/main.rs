//! B18, F01, F11: a tool decodes every value that its schema admits, and never sees a value that the
//! schema refuses.
//!
//! For each type, texts are generated from its schema, of which about two thirds are valid. Decoding a
//! text to the type in one pass must have the same result as the check by the plan alone: the same
//! report, or a value on which `serde_json` agrees. Types whose code refuses more than a schema can
//! express are among the [`exceptions`]; there the report must contain the place.
//!
//! `PROPTEST_CASES` sets the number of texts for each type, as for all property tests; more texts
//! start with the same texts as fewer. `--nocapture` shows the shares of valid texts.

#![allow(missing_docs, dead_code, reason = "fixtures speak for themselves")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may")]

#[path = "../common/accepted.rs"]
mod accepted;
#[path = "../common/carried.rs"]
mod carried;

mod changes;
mod dice;
mod exceptions;
mod found;
mod instances;
mod json;
mod parameters;
mod types;

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde_json::{Number, Value};
use tool_runtime::{
    ToolDefinition, ToolError, ToolName,
    schema::{Arguments, InputSchema},
    schemars::JsonSchema,
};

use self::{dice::Dice, instances::Instances};

/// The default number of texts for each type.
const CASES: usize = 64;

/// Defines a test for each type: decoder and plan agree on it.
macro_rules! agree {
    ($($name:ident: $of:ty;)*) => { $(
        #[test]
        fn $name() {
            $crate::hold::<$of>(stringify!($name));
        }
    )* };
}
use agree;

/// A wrapper of the tested type, because arguments are an object.
#[tool_runtime::tool_args]
#[derive(Debug, PartialEq)]
struct In<T> {
    value: T,
}

/// Checks that decoder and plan agree on `T`.
fn hold<T: DeserializeOwned + JsonSchema + PartialEq + Debug>(name: &str) {
    let definition = definition(InputSchema::of::<T>().unwrap());
    let schema = definition.input_schema().as_value();
    let share = admitted(name, &definition, |text| {
        let verdict = verdict(text, definition.decode::<T>(&mut text.into()), &definition);
        verdict.unwrap_or_else(|why| panic!("{text}\n{why}\n{schema}"))
    });
    assert!(share.is_fair(), "{share:?} {schema}");
    // Some of the texts, in the dialects of all providers.
    let texts: Vec<_> = (0..share.of / 8).map(|case| text(name, case, schema)).collect();
    carried::carries::<T>(&definition, &texts);
}

fn definition(schema: InputSchema) -> ToolDefinition {
    ToolDefinition::new(ToolName::new("tool").unwrap(), "", schema)
}

/// The number of admitted texts, and of all texts.
#[derive(Debug)]
struct Share {
    admitted: usize,
    of: usize,
}

impl Share {
    /// Checks that there are enough valid and enough invalid texts.
    fn is_fair(&self) -> bool {
        // The share of few texts is not significant.
        let least = self.of * if self.of < 1_000 { 5 } else { 15 } / 100;
        (least..=self.of - least).contains(&self.admitted)
    }
}

/// Generates texts from the schema of a tool, and checks each.
fn admitted(name: &str, definition: &ToolDefinition, admits: impl Fn(&str) -> bool) -> Share {
    let of = std::env::var("PROPTEST_CASES").map_or(CASES, |cases| cases.parse().unwrap());
    let schema = definition.input_schema().as_value();
    let admitted = (0..of).filter(|case| admits(&text(name, *case, schema))).count();
    println!("{name}: {} % of {of} texts fit", admitted * 100 / of);
    Share { admitted, of }
}

/// Returns text number `case` for a schema.
fn text(name: &str, case: usize, schema: &Value) -> String {
    let mut dice = Dice::new(name, case);
    let mut instance = Instances { root: schema, dice: &mut dice }.of(schema, 0);
    for _ in 0..dice.pick(&[0, 0, 0, 0, 1, 1, 1, 1, 2, 3]) {
        changes::change(&mut instance, schema, &mut dice);
    }
    instance.written(&mut dice)
}

/// Returns the result of the plan for `text`; an error if `decoded`, the result of the decoder,
/// differs.
fn verdict<T: DeserializeOwned + PartialEq + Debug>(
    text: &str,
    decoded: Result<T, ToolError>,
    definition: &ToolDefinition,
) -> Result<bool, String> {
    let plan = definition.input_schema().plan().unwrap();
    match (decoded, definition.fit(text.into())) {
        (Ok(value), Ok(fitting)) => {
            assert!(plan.admits(&fitting.to_value().unwrap()), "{text}\n{fitting:?}");
            means_the_same(&value, fitting.clone(), definition);
            if !is_arbitrary() {
                let read = serde_json::from_str::<T>(fitting.as_str());
                let read = read.map_err(|error| format!("not read by `serde_json`: {fitting:?}\n{error}"))?;
                assert_eq!(value, read, "{text}");
            }
            Ok(true)
        }
        (Err(refused), Err(reported)) => {
            assert_eq!(refused.violations(), reported.violations(), "{text}");
            assert!(!refused.violations().is_empty(), "{text}");
            Ok(false)
        }
        (Ok(value), Err(error)) => Err(format!("decoded, not admitted: {value:?}\n{}", error.feedback())),
        (Err(error), Ok(_)) => Err(format!("admitted, not decoded\n{}", error.feedback())),
    }
}

/// F10, F20: the canonical text is valid, is its own canonical text, and decodes to the same value.
fn means_the_same<T: DeserializeOwned + PartialEq + Debug>(
    value: &T,
    fitting: Arguments<'_>,
    definition: &ToolDefinition,
) {
    let text = fitting.as_str().to_owned();
    let mut canonical = definition.canonical(fitting).unwrap();
    let written = canonical.as_str().to_owned();
    assert_eq!(definition.canonical(written.as_str().into()).unwrap().as_str(), written, "{text}");
    let read =
        definition.decode::<T>(&mut canonical).unwrap_or_else(|error| panic!("{text}\n{written}\n{error}"));
    assert_eq!(canonical.as_str(), written, "{text}");
    // A part that the type keeps as text has another spelling.
    if format!("{value:?}").contains("RawValue(") {
        return;
    }
    // A `Value` keeps the spelling of its numbers.
    let shown = |value: &T| format!("{value:?}").replace(".0", "").replace("-0", "0");
    assert!(read == *value || shown(&read) == shown(value), "{text}\n{written}\n{value:?}\n{read:?}");
}

/// Returns `true` if `serde_json` keeps all digits: then it cannot read numbers in tagged or flattened types.
fn is_arbitrary() -> bool {
    serde_json::from_str::<Number>("1e400").is_ok()
}
