//! Wrappers of tools with another name or an additional confirmation.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;
use tool_core::{
    Arguments, BoxFuture, Checks, Confirmation, Dependency, ModelRequest, PrepareArguments, Prepared,
    Redirect, SourceLocation, Tool, ToolContext, ToolDefinition, ToolError, ToolName, internals::RemoteSteps,
};

use super::identity;
use crate::guard::discard;

/// A predicate for calls that require confirmation, by tool name and arguments.
pub(super) type Asks = dyn Fn(&str, &Value) -> bool + Send + Sync;

/// A tool with another name or an additional confirmation; everything else is the tool's own. Its definition is
/// read once.
struct Wrapped {
    tool: Arc<dyn Tool>,
    /// The tool's own name.
    name: ToolName,
    definition: ToolDefinition,
    asks: Option<Arc<Asks>>,
    /// Set if only the wrapper requires confirmations, and the tool itself does not.
    claims_alone: bool,
}

/// Wraps `tool` unchanged.
pub(super) fn wrap_unchanged(tool: &Arc<dyn Tool>) -> Arc<dyn Tool> {
    let definition = tool.definition().clone();
    wrap_tool(tool, &definition, definition.clone(), None)
}

fn wrap_tool(
    tool: &Arc<dyn Tool>,
    own: &ToolDefinition,
    definition: ToolDefinition,
    asks: Option<Arc<Asks>>,
) -> Arc<dyn Tool> {
    let claims_alone = asks.is_some() && own.metadata().confirmation == Confirmation::Never;
    let (tool, name) = (Arc::clone(tool), own.name().clone());
    Arc::new(Wrapped { tool, name, definition, asks, claims_alone })
}

/// Wraps `tool` with the name that `rename` returns for its own; `None` keeps the name.
pub(super) fn wrap_with_name(
    tool: &Arc<dyn Tool>,
    rename: impl FnOnce(&ToolName) -> Result<Option<ToolName>, ToolError>,
) -> Result<Arc<dyn Tool>, ToolError> {
    let own = tool.definition().clone();
    let definition = match rename(own.name())? {
        Some(name) => own.clone().with_name(name),
        None => own.clone(),
    };
    Ok(wrap_tool(tool, &own, definition, None))
}

/// Wraps `tool` with a confirmation of the calls for which `asks` returns `true`.
pub(super) fn wrap_with_confirmation(tool: &Arc<dyn Tool>, asks: &Arc<Asks>) -> Arc<dyn Tool> {
    let own = tool.definition().clone();
    let mut metadata = own.metadata().clone();
    if metadata.confirmation == Confirmation::Never {
        metadata.confirmation = Confirmation::Sometimes;
    }
    let definition = own.clone().with_metadata(metadata);
    wrap_tool(tool, &own, definition, Some(Arc::clone(asks)))
}

impl Wrapped {
    /// Replaces the tool's own name in one of its errors.
    fn with_wrapped_name(&self, error: ToolError) -> ToolError {
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
        let prepared = self.tool.prepare(arguments).map_err(|error| self.with_wrapped_name(error))?;
        let asks = self.asks.as_ref().is_some_and(|asks| {
            // Arguments that cannot be read require confirmation.
            let arguments = prepared.arguments().to_value();
            arguments.map_or(true, |arguments| asks(&self.name, &arguments))
        });
        // The wrapper answers the confirmation check only for a tool that does not answer it itself.
        Ok(if asks || self.claims_alone { prepared.with_confirmation(move |_| Ok(asks)) } else { prepared })
    }

    fn start<'a>(
        &'a self,
        arguments: Arguments<'a>,
        cx: &'a ToolContext,
    ) -> Result<BoxFuture<'a>, ToolError> {
        self.tool.start(arguments, cx).map_err(|error| self.with_wrapped_name(error))
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

    fn redirect(&self) -> Option<Redirect> {
        self.tool.redirect()
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

    fn adds_to_requests(&self) -> bool {
        self.tool.adds_to_requests()
    }

    fn remote_steps(&self) -> Option<&dyn RemoteSteps> {
        self.tool.remote_steps()
    }
}

/// The wrappers of the last listing, so that unchanged tools keep their wrappers.
#[derive(Default)]
pub(super) struct WrappedTools(Mutex<Arc<ByTool>>);

/// Holds both tools, so that their identities stay unique.
type ByTool = HashMap<usize, (Arc<dyn Tool>, Arc<dyn Tool>)>;

impl WrappedTools {
    /// Wraps each of `tools` that is new.
    pub(super) fn wrap_all(
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
        // Tools are dropped outside the lock.
        discard(before);
        Ok(wrapped)
    }
}
