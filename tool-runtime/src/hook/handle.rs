use std::{fmt, sync::Arc};

use super::NOTHING_CLAIMED;
use serde_json::Value;
use tool_core::{
    Arguments, CallId, Metadata, ProvidedValues, RunContext, ToolContext, ToolDefinition, ToolError, ToolName,
};

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
pub struct CallHandle(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    id: CallId,
    /// Where there is no such tool.
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
        Self(Arc::new(Inner {
            id: id.clone(),
            name: None,
            arguments: Arguments::from(arguments.as_str().to_owned()),
            definition: definition.cloned(),
            run: run.cloned(),
            provided: None,
            attempt: 1,
        }))
    }

    /// The same call, which runs in `cx`.
    pub(crate) fn with_context(self, cx: &ToolContext) -> Self {
        self.with(|inner| {
            inner.provided = Some(Arc::clone(cx.provided()));
            inner.attempt = cx.attempt();
        })
    }

    /// The same call, of a tool that may not be known.
    pub(crate) fn named(self, name: &Arc<str>) -> Self {
        match self.0.definition {
            Some(_) => self,
            None => self.with(|inner| inner.name = Some(Arc::clone(name))),
        }
    }

    /// The same call, after attempt `number`.
    pub(crate) fn of_attempt(self, number: u32) -> Self {
        self.with(|inner| inner.attempt = number)
    }

    fn with(mut self, set: impl FnOnce(&mut Inner)) -> Self {
        set(Arc::make_mut(&mut self.0));
        self
    }

    /// The id of the call.
    #[must_use]
    pub fn id(&self) -> &CallId {
        &self.0.id
    }

    /// The name of the tool, as the model wrote it.
    #[must_use]
    pub fn tool(&self) -> &str {
        let known = self.0.definition.as_ref().map(|definition| ToolName::as_str(definition.name()));
        known.or(self.0.name.as_deref()).unwrap_or_default()
    }

    /// The arguments as they are at this step: as the model sent them, or, once they were found to fit, in
    /// [canonical form](crate::hook::BeforeCall::arguments).
    #[must_use]
    pub fn arguments(&self) -> &Arguments<'static> {
        &self.0.arguments
    }

    /// The arguments as a value.
    ///
    /// # Errors
    ///
    /// If they are not JSON, or have what no value can hold.
    pub fn arguments_value(&self) -> Result<Value, ToolError> {
        self.0.arguments.to_value()
    }

    /// The definition of the tool; `None` where there is no such tool.
    #[must_use]
    pub fn definition(&self) -> Option<&ToolDefinition> {
        self.0.definition.as_ref()
    }

    /// The metadata of the tool; nothing is claimed of a tool that is not known.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        self.0.definition.as_ref().map_or(&NOTHING_CLAIMED, ToolDefinition::metadata)
    }

    /// The run that the call belongs to.
    #[must_use]
    pub fn run(&self) -> Option<&Arc<RunContext>> {
        self.0.run.as_ref()
    }

    /// The number of the attempt, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    /// The value that the run or the program provides for `T`, which may be a trait object; `None` also about an update.
    #[must_use]
    pub fn get<T: ?Sized + Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.provided.as_ref()?.get()
    }
}

/// Without the arguments: there may be a secret among them.
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
