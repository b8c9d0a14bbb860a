//! JSON text to valid, typed values, or a report of what is wrong with it.
//!
//! Programs use this crate through `tool-runtime`.

mod arguments;
mod guarded;
mod nearest;
mod pointer;
mod schema;
mod serialize;
mod stored;

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
    schema::{InputSchema, OutputSchema, SchemaError},
};
