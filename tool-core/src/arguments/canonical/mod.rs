//! Canonical JSON: one text for all texts of one value.

mod number;
mod sorted;

pub(crate) use self::{number::exact, sorted::sorted};
