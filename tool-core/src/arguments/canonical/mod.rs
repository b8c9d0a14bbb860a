//! Canonical JSON: one text for all texts of one value, and one text for all texts of one call.
//!
//! What judges, hashes, shows, stores or logs a call, and what runs it, are given the same text
//! ([`Plan::canonical`](super::plan::Plan)): otherwise a name or a number that the one reads in its own
//! way passes the other. Three things are decided here:
//!
//! - Numbers keep all of their digits and have one spelling ([`exact`]), whatever their schema.
//! - The text of a call keeps the order of its properties ([`spelled`]): a tool may see it. A hash does
//!   not depend on it ([`sorted`]).
//! - No walk calls itself, so that depth is bounded by whoever admits the text, and not by the stack.

mod number;
mod sorted;
mod text;

pub(crate) use self::{
    number::exact,
    sorted::{quote, sorted},
    text::spelled,
};
