//! JSON text to valid, typed values, or a report of what is wrong with it.
//!
//! Programs use this crate through `tool-runtime`.

mod arguments;
#[cfg_attr(not(feature = "foreign-schemas"), path = "no_foreign.rs")]
mod foreign;
pub mod guard;
mod nearest;
mod pointer;
mod repair;
mod schema;
mod serialize;
mod stored;
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
};
