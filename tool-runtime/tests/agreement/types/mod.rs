//! The types on which decoder and plan agree.

mod bounds;
mod collections;
mod enums;
mod fields;
mod flattened;
mod scalars;
mod structs;
