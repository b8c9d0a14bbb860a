//! JSON Schemas of arguments and results, and the validation, repair and coercion of arguments.

pub use crate::arguments::{MAX_REPAIR_BYTES, Repair, RepairOutcome, recover};
#[doc(inline)]
pub use tool_core::{
    Arguments, Correction, CorrectionRule, InputSchema, OutputSchema, Plan, SchemaError, SchemaProblem,
    Violation, Violations, constraint,
};
