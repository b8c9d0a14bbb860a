//! F11, F07, F12, B16, B17, B20, B21: verdicts, violations, and mistakes in schemas.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod agreement;
mod branches;
mod coerce;
mod corrections;
mod depth;
mod disagreements;
mod drafts;
mod drawn;
mod keywords;
mod limits;
mod locations;
mod messages;
mod normalize;
mod numbers;
mod pattern_agreement;
mod patterns;
mod references;
mod report_from_text;
mod schemas;
mod suite;
mod values;

use serde_json::Value;

use super::{Correction, Plan, compile::Origin};
use crate::Arguments;

fn plan(schema: &Value) -> Plan {
    super::compile::compile(schema, Origin::Own).unwrap_or_else(|problems| panic!("{schema}: {problems:?}"))
}

/// Returns the violations of `value` as `pointer: expected, got received`.
fn said(schema: &Value, value: &Value) -> Vec<String> {
    let plan = plan(schema);
    let violations = plan.violations(value);
    assert_eq!(violations.is_empty(), plan.admits(value), "report and verdict differ: {schema} {value}");
    violations.iter().map(|it| format!("{}: {}, got {}", it.pointer, it.expected, it.received)).collect()
}

/// Returns the corrected text and its corrections.
fn correct(plan: &Plan, text: &str) -> Option<(String, Vec<Correction>)> {
    let arguments = Arguments::new(text.to_owned().into()).lenient(true);
    let (text, corrections) = plan.fit(arguments).ok()?.into_parts();
    Some((text.into_owned(), *corrections?))
}

/// Checks that `schema` admits all of `good` and none of `bad`.
fn check<const G: usize, const B: usize>(schema: Value, good: [Value; G], bad: [Value; B]) {
    for value in &good {
        assert_eq!(said(&schema, value), Vec::<String>::new(), "{schema} should admit {value}");
    }
    for value in &bad {
        assert!(!said(&schema, value).is_empty(), "{schema} should refuse {value}");
    }
}

/// Returns the formatted mistakes of a schema.
fn problems(schema: &Value) -> Vec<String> {
    Plan::compile(schema).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}
