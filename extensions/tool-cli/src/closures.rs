//! The closures that a program gives its command line.

use std::error::Error;

use tool_runtime::{executor::ExecutorBuilder, registry::RegistryBuilder};

/// A closure that adds tools.
pub(crate) type ToolsClosure = Box<dyn Fn(RegistryBuilder) -> RegistryBuilder>;
/// A closure that provides the values that tools need.
pub(crate) type ValuesClosure = Box<dyn FnOnce(RegistryBuilder) -> Result<RegistryBuilder, Box<dyn Error>>>;

/// A closure that configures the executor.
pub(crate) type ExecutorClosure = Box<dyn FnOnce(ExecutorBuilder) -> Result<ExecutorBuilder, Box<dyn Error>>>;

/// The return type of a closure that receives a builder: the builder, or a `Result` of it.
pub trait Provides<B = RegistryBuilder> {
    /// Returns the builder.
    ///
    /// # Errors
    ///
    /// If the closure failed, for example because a value could not be created.
    fn provided(self) -> Result<B, Box<dyn Error>>;
}

impl Provides for RegistryBuilder {
    fn provided(self) -> Result<Self, Box<dyn Error>> {
        Ok(self)
    }
}

impl Provides<Self> for ExecutorBuilder {
    fn provided(self) -> Result<Self, Box<dyn Error>> {
        Ok(self)
    }
}

impl<B, E: Into<Box<dyn Error>>> Provides<B> for Result<B, E> {
    fn provided(self) -> Result<B, Box<dyn Error>> {
        self.map_err(Into::into)
    }
}

/// The closures that a program gave.
#[derive(Default)]
pub(crate) struct ProgramClosures {
    pub(crate) tools: Vec<ToolsClosure>,
    pub(crate) provide: Option<ValuesClosure>,
    pub(crate) guard: Option<ExecutorClosure>,
}
