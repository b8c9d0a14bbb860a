//! Credentials.

/// The credentials that the program gave.
#[derive(Debug, Clone, Default)]
pub(crate) struct Credentials {}
