//! This crate contains only tests.
