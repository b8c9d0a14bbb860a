//! The registration of tools, and of other items that are functions, by the linker.
//!
//! `inventory` collects one [`Registration`] for each annotated tool at link time, and one [`ItemRegistration`] for each
//! function that is an item of another kind. They are constants: no code runs before `main`, and items are created on
//! demand.

use std::{any::Any, fmt, sync::Arc};

use crate::{
    __private::{InvocationMode, Invoked, Spec},
    FunctionTool, SchemaError,
};

/// The source location of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLocation {
    /// The file, as passed to the compiler.
    pub file: &'static str,
    /// The line, from 1.
    pub line: u32,
    /// The module.
    pub module: &'static str,
    /// The name of the package, as Cargo has it.
    pub package: Option<&'static str>,
    /// The version of the package.
    pub version: Option<&'static str>,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A function that prepares or runs a call.
pub(crate) type InvokeFn = for<'u, 'a> fn(InvocationMode<'u, 'a>) -> Invoked<'a>;

/// The same for a method, which owns its value.
pub(crate) type InvokeMethodFn = dyn for<'u, 'a> Fn(InvocationMode<'u, 'a>) -> Invoked<'a> + Send + Sync;

/// The linker's entry for one annotated function.
#[derive(Clone, Copy)]
pub struct Registration {
    spec: &'static Spec,
    invocation: InvokeFn,
}

impl Registration {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(spec: &'static Spec, invocation: InvokeFn) -> Self {
        Self { spec, invocation }
    }

    /// Returns all registrations in this program, in no particular order.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        inventory::iter::<Self>.into_iter()
    }

    /// Returns the name of the tool.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// Returns the source location of the tool.
    #[must_use]
    pub fn site(&self) -> SourceLocation {
        self.spec.site
    }

    /// Returns `true` if both are the same definition.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.spec, other.spec)
    }

    /// Creates the tool with its schemas.
    ///
    /// # Errors
    ///
    /// Returns an error if its name or one of its schemas is invalid.
    pub fn tool(&self) -> Result<FunctionTool, SchemaError> {
        FunctionTool::from_function(self.spec, self.invocation)
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("name", &self.name()).field("site", &self.site()).finish()
    }
}

inventory::collect!(Registration);

/// The linker's entry for one annotated function that is an item of another kind, such as a prompt: the constant data of
/// its kind, and the function with its arguments, in the form of a tool that no registry of tools lists.
#[derive(Clone, Copy)]
pub struct ItemRegistration {
    data: &'static (dyn Any + Send + Sync),
    function: Registration,
}

impl ItemRegistration {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(
        data: &'static (dyn Any + Send + Sync),
        spec: &'static Spec,
        invocation: InvokeFn,
    ) -> Self {
        Self { data, function: Registration::new(spec, invocation) }
    }

    /// Returns the items of this program whose data is a `T`, in no particular order.
    pub fn all_of<T: Any>() -> impl Iterator<Item = &'static Self> {
        inventory::iter::<Self>.into_iter().filter(|item| item.data::<T>().is_some())
    }

    /// Returns the constant data, if it is a `T`.
    #[must_use]
    pub fn data<T: Any>(&self) -> Option<&'static T> {
        self.data.downcast_ref()
    }

    /// Returns the function.
    #[must_use]
    pub fn function(&self) -> &Registration {
        &self.function
    }
}

impl fmt::Debug for ItemRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemRegistration").field("function", &self.function).finish_non_exhaustive()
    }
}

inventory::collect!(ItemRegistration);

/// The names of the tools of an `impl` block with `#[toolset]`, collected by the linker: for the error of a call to a
/// toolset that was not added.
pub struct DeclaredToolset {
    type_name: &'static str,
    tools: &'static [&'static str],
}

impl DeclaredToolset {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(type_name: &'static str, tools: &'static [&'static str]) -> Self {
        Self { type_name, tools }
    }

    /// Returns the type whose methods include the tool `name`, as it is written at the `impl` block.
    #[must_use]
    pub fn with_tool(name: &str) -> Option<&'static str> {
        let mut with_it = inventory::iter::<Self>.into_iter().filter(|it| it.tools.contains(&name));
        with_it.next().map(|it| it.type_name)
    }
}

inventory::collect!(DeclaredToolset);

/// A method with `#[tool]`, bound to the value of its set; the counterpart of a [`Registration`] for methods.
#[derive(Clone)]
pub struct Method {
    spec: &'static Spec,
    invocation: Arc<InvokeMethodFn>,
}

impl Method {
    #[doc(hidden)]
    pub fn new(
        spec: &'static Spec,
        invocation: impl for<'u, 'a> Fn(InvocationMode<'u, 'a>) -> Invoked<'a> + Send + Sync + 'static,
    ) -> Self {
        Self { spec, invocation: Arc::new(invocation) }
    }

    /// Returns the name of the tool.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// Returns the source location of the tool.
    #[must_use]
    pub fn site(&self) -> SourceLocation {
        self.spec.site
    }

    /// Creates the tool with its schemas.
    ///
    /// # Errors
    ///
    /// Returns an error if its name or one of its schemas is invalid.
    pub fn tool(&self) -> Result<FunctionTool, SchemaError> {
        FunctionTool::from_method(self.spec, Arc::clone(&self.invocation))
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Method").field("name", &self.name()).field("site", &self.site()).finish()
    }
}
