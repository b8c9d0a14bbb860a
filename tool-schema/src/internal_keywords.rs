//! Internal keywords of schemas, such as aliases of properties, which `serde` reads and a model need not know.
//!
//! They are part of the schema from its derivation to the validation of arguments, and are removed from every schema
//! that is shown.

/// The key under which a property's schema lists its aliases.
pub const ALIASES: &str = "x-tool-aliases";

/// The key of an object whose decoder ignores unknown properties, so that they are not part of a call.
pub(crate) const IGNORES: &str = "x-tool-ignores";

/// The key of a property for which the decoder has a default: `true` if it is the `default` of the schema, `false` if
/// it is unknown or varies.
pub const FILLS: &str = "x-tool-fills";

/// The key of a number that the decoder reads as a 32-bit float.
pub(crate) const SINGLE: &str = "x-tool-single";
