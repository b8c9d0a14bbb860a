//! How a tool gets from its definition site into a program.
//!
//! `inventory` collects one [`Registration`] for each annotated function at link time. It is a
//! constant: nothing runs before `main`, and nothing is made before somebody asks.

use std::{fmt, sync::Arc};

use crate::{
    __private::{Spec, Used, Using},
    FunctionTool, SchemaError,
};

/// Where a tool is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLocation {
    /// The file, as the compiler was given it.
    pub file: &'static str,
    /// The line, from 1.
    pub line: u32,
    /// The module.
    pub module: &'static str,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Calls a function in one of two ways.
pub(crate) type Invoke = for<'u, 'a> fn(Using<'u, 'a>) -> Used<'a>;

/// The same of a method, which holds its value.
pub(crate) type InvokeMethod = dyn for<'u, 'a> Fn(Using<'u, 'a>) -> Used<'a> + Send + Sync;

/// What the linker collects of one annotated function.
#[derive(Clone, Copy)]
pub struct Registration {
    spec: &'static Spec,
    invocation: Invoke,
}

impl Registration {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(spec: &'static Spec, invocation: Invoke) -> Self {
        Self { spec, invocation }
    }

    /// All that this program was linked with, in no particular order.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        inventory::iter::<Self>.into_iter()
    }

    /// The name of the tool.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// Where the tool is written.
    #[must_use]
    pub fn site(&self) -> SourceLocation {
        self.spec.site
    }

    /// Whether both stand for the same definition.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.spec, other.spec)
    }

    /// Makes the tool, with its schemas.
    ///
    /// # Errors
    ///
    /// If its name or one of its schemas cannot be used.
    pub fn tool(&self) -> Result<FunctionTool, SchemaError> {
        FunctionTool::function(self.spec, self.invocation)
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("name", &self.name()).field("site", &self.site()).finish()
    }
}

inventory::collect!(Registration);

/// A method with `#[tool]`, bound to the value of its set: what a [`Registration`] is for a
/// function.
#[derive(Clone)]
pub struct Method {
    spec: &'static Spec,
    invocation: Arc<InvokeMethod>,
}

impl Method {
    #[doc(hidden)]
    pub fn new(
        spec: &'static Spec,
        invocation: impl for<'u, 'a> Fn(Using<'u, 'a>) -> Used<'a> + Send + Sync + 'static,
    ) -> Self {
        Self { spec, invocation: Arc::new(invocation) }
    }

    /// The name of the tool.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// Where the tool is written.
    #[must_use]
    pub fn site(&self) -> SourceLocation {
        self.spec.site
    }

    /// Makes the tool, with its schemas.
    ///
    /// # Errors
    ///
    /// If its name or one of its schemas cannot be used.
    pub fn tool(&self) -> Result<FunctionTool, SchemaError> {
        FunctionTool::method(self.spec, Arc::clone(&self.invocation))
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Method").field("name", &self.name()).field("site", &self.site()).finish()
    }
}
