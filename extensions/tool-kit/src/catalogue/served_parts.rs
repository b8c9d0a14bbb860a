//! The parts of a catalogue that a server of it uses.

use std::sync::Arc;

use tool_runtime::{Executor, Toolbox};

use super::Catalogue;
use crate::{
    prompt::Prompt,
    resource::{ReadableResource, ResourceUri},
};

impl Catalogue {
    /// Returns the tools, and the executor whose settings their calls have.
    pub(crate) fn tools_and_executor(&self) -> (Toolbox, Executor) {
        (self.inner.tools.clone(), self.callers.executor.clone())
    }

    /// Returns a prompt of the program. It is the first of its name in the order of look-up, whatever connectors list.
    pub(crate) fn builtin_prompt(&self, name: &str) -> Option<Arc<dyn Prompt>> {
        self.state().prompts.get(name).cloned()
    }

    /// Returns a resource of the program, as [`builtin_prompt`](Self::builtin_prompt).
    pub(crate) fn builtin_resource(&self, uri: &ResourceUri) -> Option<Arc<dyn ReadableResource>> {
        self.state().resources.get(uri.normalized()).cloned()
    }
}
