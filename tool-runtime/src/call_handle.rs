//! Owned handles to calls.

use std::{
    fmt,
    sync::{Arc, LazyLock},
};

use serde_json::Value;
use tool_core::{
    Arguments, CallId, Metadata, ProvidedValues, RunContext, ToolContext, ToolDefinition, ToolError, ToolName,
};

/// The metadata of an unknown tool.
pub(crate) static NOTHING_CLAIMED: LazyLock<Metadata> = LazyLock::new(Metadata::default);

/// An owned handle to a call, for closures that decide about calls. Cheap to clone.
///
/// # Examples
///
/// ```standalone_crate
/// use tool_runtime::{Executor, Registry, definition::Permission};
///
/// let executor = Executor::builder(Registry::builder().build()?)
///     .permission_fn(|call| async move {
///         let is_guest = call.run().is_none_or(|run| run.user().is_none());
///         Ok(match call.metadata().is_read_only() || !is_guest {
///             true => Permission::Allow,
///             false => Permission::deny("guests only read"),
///         })
///     })
///     .build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct CallHandle(Arc<CallHandleParts>);

#[derive(Clone)]
struct CallHandleParts {
    id: CallId,
    /// The name of an unknown tool.
    name: Option<Arc<str>>,
    arguments: Arguments<'static>,
    definition: Option<ToolDefinition>,
    run: Option<Arc<RunContext>>,
    provided: Option<Arc<ProvidedValues>>,
    attempt: u32,
}

impl CallHandle {
    pub(crate) fn new(
        id: &CallId,
        definition: Option<&ToolDefinition>,
        arguments: &Arguments<'_>,
        run: Option<&Arc<RunContext>>,
    ) -> Self {
        Self(Arc::new(CallHandleParts {
            id: id.clone(),
            name: None,
            arguments: Arguments::from(arguments.as_str().to_owned()),
            definition: definition.cloned(),
            run: run.cloned(),
            provided: None,
            attempt: 1,
        }))
    }

    /// Returns a handle to the same call, which runs in `cx`.
    pub(crate) fn with_context(self, cx: &ToolContext) -> Self {
        self.with_changes(|inner| {
            inner.provided = Some(Arc::clone(cx.provided()));
            inner.attempt = cx.attempt();
        })
    }

    /// Returns a handle to the same call, of a tool that may be unknown.
    pub(crate) fn with_name_if_unknown(self, name: &str) -> Self {
        match self.0.definition {
            Some(_) => self,
            None => self.with_changes(|inner| inner.name = Some(name.into())),
        }
    }

    /// Returns a handle to the same call, after attempt `number`.
    pub(crate) fn with_attempt(self, number: u32) -> Self {
        self.with_changes(|inner| inner.attempt = number)
    }

    fn with_changes(mut self, set: impl FnOnce(&mut CallHandleParts)) -> Self {
        set(Arc::make_mut(&mut self.0));
        self
    }

    /// Returns the id of the call.
    #[must_use]
    pub fn id(&self) -> &CallId {
        &self.0.id
    }

    /// Returns the name of the tool, as the model wrote it.
    #[must_use]
    pub fn tool(&self) -> &str {
        let known = self.0.definition.as_ref().map(|definition| ToolName::as_str(definition.name()));
        known.or(self.0.name.as_deref()).unwrap_or_default()
    }

    /// Returns the arguments at this step: as the model sent them, or, after they were validated, in [canonical
    /// form](crate::hook::BeforeCall::arguments).
    #[must_use]
    pub fn arguments(&self) -> &Arguments<'static> {
        &self.0.arguments
    }

    /// Returns the arguments as a value.
    ///
    /// # Errors
    ///
    /// Returns an error if they are not valid JSON, or contain a number that no value can represent.
    pub fn arguments_value(&self) -> Result<Value, ToolError> {
        Ok(self.0.arguments.to_value()?)
    }

    /// Returns the definition of the tool; `None` if there is no such tool.
    #[must_use]
    pub fn definition(&self) -> Option<&ToolDefinition> {
        self.0.definition.as_ref()
    }

    /// Returns the metadata of the tool; the default metadata if the tool is unknown.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        self.0.definition.as_ref().map_or(&NOTHING_CLAIMED, ToolDefinition::metadata)
    }

    /// Returns the run that the call belongs to.
    #[must_use]
    pub fn run(&self) -> Option<&Arc<RunContext>> {
        self.0.run.as_ref()
    }

    /// Returns the number of the attempt, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    /// Returns the value that the run or the program provides for `T`, which may be a trait object. Always `None` in
    /// the update stages.
    #[must_use]
    pub fn get<T: ?Sized + Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.provided.as_ref()?.get()
    }
}

/// Omits the arguments, which may contain secrets.
impl fmt::Debug for CallHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallHandle")
            .field("id", self.id())
            .field("tool", &self.tool())
            .field("arguments", &format_args!("{} bytes", self.arguments().as_str().len()))
            .field("attempt", &self.attempt())
            .finish_non_exhaustive()
    }
}
