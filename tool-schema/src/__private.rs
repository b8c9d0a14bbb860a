//! Parts of this crate for the other crates of its workspace. Not a public API; it may change at any time.

pub use crate::{
    arguments::{
        Corrections, ExactValue,
        canonical::sorted,
        canonical_number,
        plan::{Checked, DecodeError, DecodeFn, Object},
    },
    foreign::Foreign,
    pointer::push_step,
    schema::{
        ALIASES, Closing, Example, FILLS, Flat, Limits, Plain, Purpose, ResolvedPointer, Row, ValueTypes,
        WrittenValue, canonical_output, pointer_steps,
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
        pointer::push_step,
        schema::percent_decoded,
    };
}
