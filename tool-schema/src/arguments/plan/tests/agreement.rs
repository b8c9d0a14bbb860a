//! A plan and the `jsonschema` crate return the same verdicts.
//!
//! Past differences are recorded in `disagreements`. For more pairs than a build has time for:
//!
//! ```sh
//! PLAN_PAIRS=1000000 cargo test --release -p tool-schema --lib plan_and_jsonschema -- --nocapture
//! ```

use std::cell::Cell;

use jsonschema::PatternOptions;
use proptest::{collection::vec, prelude::*, test_runner::TestRunner};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Plan,
    drawn::{config, root, value},
};
use crate::{Arguments, arguments::plan::decode::Source};

/// The default number of pairs of schema and value; `PLAN_PAIRS` overrides it.
const PAIRS: usize = 8_000;

/// The number of values for each schema.
const VALUES: usize = 8;

/// The numbers of accepting and rejecting verdicts.
#[derive(Default)]
pub(super) struct Tally {
    valid: Cell<usize>,
    invalid: Cell<usize>,
    left_out: Cell<usize>,
}

impl Tally {
    pub(super) fn add(&self, valid: bool) {
        let count = if valid { &self.valid } else { &self.invalid };
        count.set(count.get() + 1);
    }

    /// Counts pairs that cannot be compared.
    pub(super) fn leave_out(&self, pairs: usize) {
        self.left_out.set(self.left_out.get() + pairs);
    }

    fn pairs(&self) -> usize {
        self.valid.get() + self.invalid.get()
    }
}

/// Generates and compares pairs until there are enough, and checks that neither verdict is rare.
pub(super) fn compare<S: Strategy>(drawn: &S, agree: impl Fn(S::Value, &Tally) -> Result<(), TestCaseError>) {
    let wanted = std::env::var("PLAN_PAIRS").map_or(PAIRS, |pairs| pairs.parse().unwrap());
    let tally = Tally::default();
    while tally.pairs() < wanted {
        TestRunner::new(config(500))
            .run(drawn, |drawn| agree(drawn, &tally))
            .unwrap_or_else(|it| panic!("{it}"));
    }
    let (pairs, valid, left_out) = (tally.pairs(), tally.valid.get(), tally.left_out.get());
    println!(
        "{pairs} pairs agree: {valid} are valid, {} are not; {left_out} more were left out",
        pairs - valid
    );
    assert!((pairs / 5..=pairs - pairs / 5).contains(&valid), "{valid} of {pairs} pairs are valid");
    assert!(left_out < pairs / 5, "{left_out} pairs were left out beside {pairs}");
}

#[test]
fn plan_and_jsonschema_agree() {
    compare(&(root(), vec(value(), VALUES)), |(schema, values), tally| {
        let plan = match Plan::compile(&schema) {
            Ok(plan) => plan,
            Err(problems) => {
                let is_loop = |message: &str| message.starts_with("`$ref` leads back");
                prop_assert!(problems.iter().all(|it| is_loop(&it.message)), "{schema}: {problems:?}");
                tally.leave_out(values.len());
                return Ok(());
            }
        };
        let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).offline();
        let reference = options.with_pattern_options(PatternOptions::regex()).build(&schema).unwrap();
        for value in values {
            if is_rounded(&schema, &value) {
                tally.leave_out(1);
            } else {
                tally.add(agree(&schema, &plan, &reference, value)?);
            }
        }
        Ok(())
    });
}

/// Compares the verdicts of all implementations.
fn agree(
    schema: &Value,
    plan: &Plan,
    reference: &jsonschema::Validator,
    value: Value,
) -> Result<bool, TestCaseError> {
    let admits = plan.admits(&value);
    prop_assert_eq!(admits, reference.is_valid(&value), "{} {}", schema, value);
    let violations = plan.violations(&value);
    prop_assert_eq!(admits, violations.is_empty(), "{} {} {:?}", schema, value, violations);
    let mut settled = value.clone();
    let changed = plan.normalize_value(&mut settled).changed;
    let fits = plan.admits(&settled);
    prop_assert!(!admits || fits, "{} {} {}", schema, value, settled);
    prop_assert_eq!(changed, settled != value);
    // The decoder normalises `null` and `3.0` where it reads them; values normalised before parts are combined are
    // read again.
    let text = value.to_string();
    let decodes = Value::deserialize(Source::new(&text, plan).root_value()).is_ok();
    prop_assert!(!admits || changed || decodes, "{} {} is not decoded", schema, value);
    prop_assert!(!decodes || fits, "{} {} is decoded", schema, value);
    let read = plan
        .read(&mut Arguments::new(text.as_str().into()), |source, _| Value::deserialize(source).map(drop));
    prop_assert_eq!(fits, read.is_ok(), "{} {} {:?}", schema, value, read);
    Ok(admits)
}

/// Returns `true` where the reference rounds: an integer that no float represents, divided by a fraction.
fn is_rounded(schema: &Value, value: &Value) -> bool {
    let by_a_fraction =
        |key: &str, it: &Value| key == "multipleOf" && it.as_f64().is_some_and(|it| it.fract() != 0.0);
    let is_large = |_: &str, it: &Value| it.as_f64().is_some_and(|it| it.abs() >= 9_007_199_254_740_992.0);
    any(schema, &by_a_fraction) && (any(value, &is_large) || any(schema, &is_large))
}

/// Returns `true` if any part of `value`, with its key, satisfies `is_it`.
fn any(value: &Value, is_it: &dyn Fn(&str, &Value) -> bool) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| is_it("", item) || any(item, is_it)),
        Value::Object(map) => map.iter().any(|(key, value)| is_it(key, value) || any(value, is_it)),
        _ => is_it("", value),
    }
}
