//! Parts of this crate for the other crates of its workspace. Not a public API; it may change at any time.

pub use crate::{
    arguments::{
        Corrections, ExactValue,
        canonical::sorted,
        canonical_number,
        plan::{Checked, DecodeError, DecodeFn, ObjectDecoder},
    },
    foreign::Foreign,
    internal_keywords::{ALIASES, FILLS},
    pointer::{pointer_steps, push_step},
    schema::{
        Closing, Example, Flat, Limits, Plain, Purpose, ResolvedPointer, Row, ValueTypes, WrittenValue,
        canonical_output,
    },
    serialize::to_string as json_text,
    stored_format::{FormatVersion, present},
};

#[cfg(feature = "schemars")]
pub use crate::schema::{
    has_type, input_generator, list_of, output_generator, with_definitions, without_null,
};

/// Helpers for another validator than plans: texts of violations, locations, and resolution of references.
pub mod messages {
    pub use crate::{
        arguments::plan::messages::{
            beginning, counted, either, grouped, missing, one_of, quoted, received, unknown,
        },
        pointer::{percent_decoded, push_step},
    };
}
