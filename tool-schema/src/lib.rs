//! JSON text to a valid, typed value by a JSON Schema, or a report of all violations.
//!
//! The text comes from a program that makes mistakes, usually a language model. One pass validates it, coerces values that are almost
//! right, and decodes it into a type of the program; text that is not quite JSON is repaired first, if the caller wants that. Errors are
//! written so that their author can correct the text: each names a location, the expected value and the received one.
//!
//! | type or function | purpose |
//! | --- | --- |
//! | [`Arguments`], [`Correction`] | JSON text as received, and the changes that were made to it |
//! | [`Plan`], [`SchemaProblem`] | a compiled schema of draft 2020-12, and a mistake in a schema |
//! | [`Validator`] | a compiled schema of any supported draft |
//! | [`ArgumentError`], [`Violations`], [`Violation`] | the error of a text, and its mismatches with the schema |
//! | [`recover`], [`RepairOutcome`] | the repair of text that is not valid JSON |
//! | [`InputSchema`], [`OutputSchema`], [`SchemaError`] | schemas that are compiled on first use, by hand or from Rust types |
//! | [`closest`], [`nearest`], [`Names`] | similar names, for suggestions |
//!
//! # Examples
//!
//! Text with mistakes that are corrected:
//!
//! ```
//! use serde::Deserialize;
//! use serde_json::json;
//! use tool_schema::{Arguments, Plan};
//!
//! #[derive(Debug, PartialEq, Deserialize)]
//! struct Forecast {
//!     city: String,
//!     days: u8,
//! }
//!
//! let schema = json!({
//!     "type": "object",
//!     "properties": {
//!         "city": { "type": "string", "minLength": 1 },
//!         "days": { "type": "integer", "minimum": 1, "maximum": 14 },
//!     },
//!     "required": ["city", "days"],
//! });
//! let plan = Plan::compile(&schema).unwrap();
//!
//! // No JSON: keys without quotes. No integer: `"3"`.
//! let mut arguments = Arguments::from("{city: 'Oslo', days: '3'}").repaired()?.lenient(true);
//! let forecast: Forecast = plan.decode(&mut arguments)?;
//! assert_eq!(forecast, Forecast { city: "Oslo".to_owned(), days: 3 });
//! assert_eq!(arguments.as_str(), r#"{"city":"Oslo","days":3}"#);
//! assert_eq!(arguments.corrections().len(), 2);
//! # Ok::<(), tool_schema::ArgumentError>(())
//! ```
//!
//! A report of all violations at once:
//!
//! ```
//! # use serde_json::json;
//! # use tool_schema::Plan;
//! # let schema = json!({
//! #     "type": "object",
//! #     "properties": { "city": { "type": "string", "minLength": 1 }, "days": { "type": "integer", "maximum": 14 } },
//! #     "required": ["city", "days"],
//! # });
//! # let plan = Plan::compile(&schema).unwrap();
//! let error = plan.fit(r#"{"city":"","days":15}"#.into()).unwrap_err();
//! let violations: Vec<_> = error.violations().iter().map(ToString::to_string).collect();
//! assert_eq!(
//!     violations,
//!     ["/city: expected at least 1 character, got \"\"", "/days: expected at most 14, got 15"],
//! );
//! ```
//!
//! # Features
//!
//! None is on by default.
//!
//! - `schemars`: schemas from Rust types, [`InputSchema::of`](InputSchema) and [`OutputSchema::of`](OutputSchema).
//! - `foreign-schemas`: schemas of earlier drafts, and keywords that a [`Plan`] does not support, by the crate `jsonschema`.
//!
//! # Limits
//!
//! No text, value or schema causes a panic, or exhausts the stack or the time. A value may be nested 128 levels deep, a report lists
//! [20](Violations::LISTED) violations, and a text that is repaired has at most [1 MiB](MAX_REPAIR_BYTES). References never leave the
//! schema, and `format` is an annotation. Integers are compared exactly. A number with a fraction is compared as its nearest 64-bit
//! float, the value that a decoder reads: with `"maximum": 0.3`, `0.30000000000000001` is valid, since it is read as 0.3.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr, reason = "a library does not print"))]

mod arguments;
#[cfg_attr(not(feature = "foreign-schemas"), path = "no_foreign.rs")]
mod foreign;
pub mod guard;
mod internal_keywords;
mod json;
mod nearest;
mod pointer;
mod repair;
mod schema;
mod serialize;
mod stored_format;
mod validator;

#[doc(hidden)]
pub mod __private;
#[doc(hidden)]
pub use self::schema::{Misfit, Purpose};

pub use self::{
    arguments::{
        ArgumentError, Arguments, IntoArguments, Violation, Violations,
        plan::{Correction, CorrectionRule, Plan, SchemaProblem},
    },
    nearest::{Names, closest, nearest},
    repair::{MAX_REPAIR_BYTES, RepairOutcome, recover},
    schema::{InputSchema, OutputSchema, SchemaError},
    validator::Validator,
};
