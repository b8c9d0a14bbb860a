//! A tool as those around it show it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;
use tool_core::{
    Arguments, BoxFuture, Checks, Confirmation, Dependency, ModelRequest, PrepareArguments, Prepared,
    SourceLocation, Tool, ToolContext, ToolDefinition, ToolError, ToolName,
};

use super::identity;
use crate::panic_barrier::discard;

/// Whether a person is to be asked before a call of the tool, with arguments.
pub(super) type Asks = dyn Fn(&str, &Value) -> bool + Send + Sync;

/// A tool under another name, or with a person to be asked; all else is its own. Its definition is asked once,
/// here.
struct Wrapped {
    tool: Arc<dyn Tool>,
    /// Its own.
    name: ToolName,
    definition: ToolDefinition,
    asks: Option<Arc<Asks>>,
    /// Whether confirmations are the wrapper's matter alone: the tool claims none.
    claims_alone: bool,
}

/// `tool`, as it is.
pub(super) fn kept(tool: &Arc<dyn Tool>) -> Arc<dyn Tool> {
    let definition = tool.definition().clone();
    wrapped(tool, &definition, definition.clone(), None)
}

fn wrapped(
    tool: &Arc<dyn Tool>,
    own: &ToolDefinition,
    definition: ToolDefinition,
    asks: Option<Arc<Asks>>,
) -> Arc<dyn Tool> {
    let claims_alone = asks.is_some() && own.metadata().confirmation == Confirmation::Never;
    let (tool, name) = (Arc::clone(tool), own.name().clone());
    Arc::new(Wrapped { tool, name, definition, asks, claims_alone })
}

/// `tool`, as a model calls it by the name that `rename` gives for its own; by its own where that is `None`.
pub(super) fn named(
    tool: &Arc<dyn Tool>,
    rename: impl FnOnce(&ToolName) -> Result<Option<ToolName>, ToolError>,
) -> Result<Arc<dyn Tool>, ToolError> {
    let own = tool.definition().clone();
    let definition = match rename(own.name())? {
        Some(name) => own.clone().with_name(name),
        None => own.clone(),
    };
    Ok(wrapped(tool, &own, definition, None))
}

/// `tool`, with a person to be asked before the calls that `asks` picks.
pub(super) fn confirmed(tool: &Arc<dyn Tool>, asks: &Arc<Asks>) -> Arc<dyn Tool> {
    let own = tool.definition().clone();
    let mut metadata = own.metadata().clone();
    if metadata.confirmation == Confirmation::Never {
        metadata.confirmation = Confirmation::Sometimes;
    }
    let definition = own.clone().with_metadata(metadata);
    wrapped(tool, &own, definition, Some(Arc::clone(asks)))
}

impl Wrapped {
    /// An error that the tool gave under its own name.
    fn known(&self, error: ToolError) -> ToolError {
        match error.tool() == Some(self.name.as_str()) {
            true => error.with_tool(self.definition.name().to_string()),
            false => error,
        }
    }
}

impl Tool for Wrapped {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let prepared = self.tool.prepare(arguments).map_err(|error| self.known(error))?;
        let asks = self.asks.as_ref().is_some_and(|asks| {
            // Nobody can say that a call is harmless which nobody can read.
            let arguments = prepared.arguments().to_value();
            arguments.map_or(true, |arguments| asks(&self.name, &arguments))
        });
        // The wrapper answers for itself. It does not answer in the place of a tool that has claimed to.
        Ok(if asks || self.claims_alone { prepared.with_confirmation(move |_| Ok(asks)) } else { prepared })
    }

    fn start<'a>(
        &'a self,
        arguments: Arguments<'a>,
        cx: &'a ToolContext,
    ) -> Result<BoxFuture<'a>, ToolError> {
        self.tool.start(arguments, cx).map_err(|error| self.known(error))
    }

    fn holds_arguments(&self) -> bool {
        self.tool.holds_arguments()
    }

    fn needs(&self) -> &[Dependency] {
        self.tool.needs()
    }

    fn prepare_arguments(&self) -> Option<PrepareArguments> {
        self.tool.prepare_arguments()
    }

    fn site(&self) -> Option<SourceLocation> {
        self.tool.site()
    }

    fn is_external(&self) -> bool {
        self.tool.is_external()
    }

    fn checks(&self) -> Checks {
        let answers = self.tool.checks();
        Checks { confirmation: answers.confirmation || self.claims_alone, ..answers }
    }

    fn retries_blindly(&self) -> bool {
        self.tool.retries_blindly()
    }

    fn on_request(&self, request: ModelRequest) -> BoxFuture<'_, Result<(), ToolError>> {
        self.tool.on_request(request)
    }
}

/// What was put around the tools of the last listing, so that the same tools come in the same wrapping.
#[derive(Default)]
pub(super) struct Wrappings(Mutex<Arc<ByTool>>);

/// What is held on both sides, so that an identity stays one.
type ByTool = HashMap<usize, (Arc<dyn Tool>, Arc<dyn Tool>)>;

impl Wrappings {
    /// Puts `wrap` around each of `tools` that is new.
    pub(super) fn around(
        &self,
        tools: Vec<Arc<dyn Tool>>,
        wrap: impl Fn(&Arc<dyn Tool>) -> Result<Arc<dyn Tool>, ToolError>,
    ) -> Result<Vec<Arc<dyn Tool>>, ToolError> {
        let before = Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut wrapped = Vec::with_capacity(tools.len());
        let mut now = HashMap::with_capacity(tools.len());
        for tool in tools {
            let around = match before.get(&identity(&tool)) {
                Some((_, around)) => Arc::clone(around),
                None => wrap(&tool)?,
            };
            wrapped.push(Arc::clone(&around));
            now.insert(identity(&tool), (tool, around));
        }
        let before =
            std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), Arc::new(now));
        // What a tool does when it is dropped, it does outside the lock.
        discard(before);
        Ok(wrapped)
    }
}
