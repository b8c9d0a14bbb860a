//! B18, F01, F11: a value that a schema accepts, the tool decodes; a value that it rejects, the tool
//! never sees.
//!
//! For each type, texts are made of its schema, of which about two thirds fit. Reading them as the
//! type in one pass has to end as the check of the plan alone does, in the same report or in a value
//! that `serde_json` reads, too. Where that cannot be, since the type refuses by code of its own what
//! no schema says, the type is among the [`exceptions`]: there the report has to name the place.
//!
//! `PROPTEST_CASES` says how many texts are made of each type, as for all tests of this kind; the
//! more begin with the same as the fewer. The shares of what fits are shown with `--nocapture`.

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

/// How many texts are made of each type, if nobody asks for more.
const CASES: usize = 64;

/// Writes a test for each type: that decoder and plan agree on it.
macro_rules! agree {
    ($($name:ident: $of:ty;)*) => { $(
        #[test]
        fn $name() {
            $crate::agreement::hold::<$of>(stringify!($name));
        }
    )* };
}
use agree;

/// A value where no type alone would do: arguments are an object.
#[tool_runtime::tool_args]
#[derive(Debug, PartialEq)]
struct In<T> {
    value: T,
}

/// Holds decoder and plan to the same verdicts on a `T`.
fn hold<T: DeserializeOwned + JsonSchema + PartialEq + Debug>(name: &str) {
    let definition = definition(InputSchema::of::<T>().unwrap());
    let schema = definition.input_schema().as_value();
    let share = admitted(name, &definition, |text| {
        let verdict = verdict(text, definition.decode::<T>(&mut text.into()), &definition);
        verdict.unwrap_or_else(|why| panic!("{text}\n{why}\n{schema}"))
    });
    assert!(share.is_fair(), "{share:?} {schema}");
    // A few of the same, in the dialects of all providers.
    let texts: Vec<_> = (0..share.of / 8).map(|case| text(name, case, schema)).collect();
    crate::dialects::carried::carries::<T>(&definition, &texts);
}

fn definition(schema: InputSchema) -> ToolDefinition {
    ToolDefinition::new(ToolName::new("tool").unwrap(), "", schema)
}

/// How many of so many texts were admitted.
#[derive(Debug)]
struct Share {
    admitted: usize,
    of: usize,
}

impl Share {
    /// Whether there are enough that fit, and enough that do not.
    fn is_fair(&self) -> bool {
        // Of few texts the share says little.
        let least = self.of * if self.of < 1_000 { 5 } else { 15 } / 100;
        (least..=self.of - least).contains(&self.admitted)
    }
}

/// Makes texts of the schema of a tool, and asks of each whether it fits.
fn admitted(name: &str, definition: &ToolDefinition, admits: impl Fn(&str) -> bool) -> Share {
    let of = std::env::var("PROPTEST_CASES").map_or(CASES, |cases| cases.parse().unwrap());
    let schema = definition.input_schema().as_value();
    let admitted = (0..of).filter(|case| admits(&text(name, *case, schema))).count();
    println!("{name}: {} % of {of} texts fit", admitted * 100 / of);
    Share { admitted, of }
}

/// The `case`-th text for a schema.
fn text(name: &str, case: usize, schema: &Value) -> String {
    let mut dice = Dice::new(name, case);
    let mut instance = Instances { root: schema, dice: &mut dice }.of(schema, 0);
    for _ in 0..dice.pick(&[0, 0, 0, 0, 1, 1, 1, 1, 2, 3]) {
        changes::change(&mut instance, schema, &mut dice);
    }
    instance.written(&mut dice)
}

/// The verdict on `text`, which is that of the plan; an error where `decoded`, which is what came of
/// reading it, differs.
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

/// F10, F20: the canonical text fits, is its own canonical text, and is read as the same value.
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
    // A part that stays text is another text.
    if format!("{value:?}").contains("RawValue(") {
        return;
    }
    // A value of any kind knows how its numbers were written.
    let shown = |value: &T| format!("{value:?}").replace(".0", "").replace("-0", "0");
    assert!(read == *value || shown(&read) == shown(value), "{text}\n{written}\n{value:?}\n{read:?}");
}

/// Whether `serde_json` keeps all digits: then it reads no number of a tagged or a flattened type.
fn is_arbitrary() -> bool {
    serde_json::from_str::<Number>("1e400").is_ok()
}
