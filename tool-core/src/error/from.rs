//! Conversions by `?` in the functions of tools.

use std::{error::Error, io};

use super::{ToolError, is_transient};

impl From<String> for ToolError {
    fn from(message: String) -> Self {
        Self::failed(message)
    }
}

impl From<&str> for ToolError {
    fn from(message: &str) -> Self {
        Self::failed(message.to_owned())
    }
}

impl From<Box<dyn Error + Send + Sync>> for ToolError {
    fn from(source: Box<dyn Error + Send + Sync>) -> Self {
        Self::from_source(source)
    }
}

/// An error that is not `Send` contributes its text and cannot be kept as source.
impl From<Box<dyn Error>> for ToolError {
    fn from(source: Box<dyn Error>) -> Self {
        match source.downcast::<Self>() {
            Ok(error) => *error,
            Err(source) => {
                Self::failed(source.to_string()).retryable(source.downcast_ref().is_some_and(is_transient))
            }
        }
    }
}

impl From<io::Error> for ToolError {
    fn from(source: io::Error) -> Self {
        Self::from_source(source)
    }
}

impl From<serde_json::Error> for ToolError {
    fn from(source: serde_json::Error) -> Self {
        Self::from_source(source)
    }
}
