//! Resources and prompts, which a server offers beside its tools.

mod changes;
mod collection;
mod page;
mod prompt_set;
mod prompt_sources;
mod prompts;
mod resource_set;
mod resource_sources;
mod resources;
mod sources;
mod template;

pub(super) use self::{
    changes::OfferChanges, prompt_sources::PromptSources, resource_sources::ResourceSources,
};
pub use self::{
    changes::{ChangeListener, ChangeSignal, OfferChange},
    page::{Page, Paging},
    prompt_set::PromptSet,
    prompts::Prompts,
    resource_set::ResourceSet,
    resources::Resources,
    template::TemplateError,
};

use std::{collections::HashMap, sync::Arc};

use super::McpServer;

impl McpServer {
    /// Offers resources beside the tools, and beside those of earlier calls. Default: none.
    ///
    /// Of several sources, the first that has a URI or a template counts. One that cannot be listed costs its own items, with a
    /// diagnostic. The changes of all reach the clients.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_mcp::server::{McpServer, ResourceSet};
    /// use tool_runtime::Registry;
    ///
    /// let notes = ResourceSet::new().text("notes://today", "today", "Buy milk.");
    /// let manuals = ResourceSet::new().text("manuals://start", "start", "Turn it on.");
    /// let server = McpServer::new(Registry::default()).resources(notes).resources(manuals);
    /// # drop(server);
    /// ```
    pub fn resources(mut self, resources: impl Resources) -> Self {
        self.resources.push(Arc::new(resources));
        self
    }

    /// Offers prompts beside the tools, and beside those of earlier calls, as [`resources`](Self::resources). Default: none.
    pub fn prompts(mut self, prompts: impl Prompts) -> Self {
        self.prompts.push(Arc::new(prompts));
        self
    }
}

/// An argument whose value a user types, for candidates: of a prompt, or a variable of a template's URI.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Completing<'a> {
    /// The name of the prompt, or the URI template.
    pub of: &'a str,
    /// The name of the argument.
    pub argument: &'a str,
    /// The text so far.
    pub value: &'a str,
    /// The other arguments, as far as they have a value.
    pub others: &'a HashMap<String, String>,
}
