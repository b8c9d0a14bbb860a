//! Canonical JSON: one text for all texts of a value, and one text for all texts of a call.
//!
//! All components that judge, hash, show, store, log or run a call receive the same text
//! ([`Plan::canonical`](super::plan::Plan)). Otherwise, a name or number that two components read differently could
//! bypass a check. The rules:
//!
//! - Numbers keep all digits and have one spelling ([`canonical_number`]), regardless of their schema.
//! - The text of a call keeps the order of its properties ([`canonical_text`]), which a tool may observe. A hash does not
//!   depend on it ([`sorted`]).
//! - No walk is recursive, so that the depth is limited by the validator and not by the stack.

mod number;
mod sorted;
mod text;
mod writer;

pub use self::sorted::sorted;
pub(crate) use self::{number::canonical_number, text::canonical_text};
