//! The parts of an HTTP client that reaches permitted addresses and origins only.

pub mod address;
pub mod origin;
pub mod redirect;
