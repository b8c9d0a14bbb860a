//! JSON Schemas of arguments and results, and the validation, repair and coercion of arguments.
//!
//! | type or function | purpose |
//! | --- | --- |
//! | [`InputSchema`], [`OutputSchema`], [`SchemaError`] | the schemas of a tool, and the error of an invalid one |
//! | [`Arguments`], [`ArgumentError`] | arguments as received: JSON text, undecoded; the error of unusable ones |
//! | [`Plan`], [`Violations`], [`Violation`] | a compiled schema, and the errors of a validation |
//! | [`OutputValidator`] | a compiled output schema |
//! | [`Correction`], [`CorrectionRule`] | a coercion of a value that was almost right |
//! | [`recover`], [`Repair`], [`RepairOutcome`] | the repair of text that is not valid JSON |
//! | [`constraint`] | the types that support a constraint of `#[schemars(..)]` |

pub use crate::arguments::{MAX_REPAIR_BYTES, OutputValidator, Repair, RepairOutcome, recover};
#[doc(inline)]
pub use tool_core::{
    ArgumentError, Arguments, Correction, CorrectionRule, InputSchema, IntoArguments, OutputSchema, Plan,
    SchemaError, SchemaProblem, Violation, Violations, constraint,
};
