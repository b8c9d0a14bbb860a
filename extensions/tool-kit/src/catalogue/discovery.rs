//! A catalogue of all items that are linked into the program.

use std::sync::Arc;

use tool_runtime::{
    Registry, ToolError, Toolbox,
    diagnostic::{Diagnostic, Severity},
    registry::RegistryBuilder,
};

use super::Catalogue;
use crate::{
    function::{DiscoveryError, FunctionPrompt, FunctionResource, FunctionTemplate},
    prompt::Prompt,
    resource::{ReadableResource, ResourceTemplate},
};

impl Catalogue {
    /// Creates a catalogue of all annotated functions that are linked into this program: tools, prompts and resources.
    ///
    /// A crate without any reference to it is not linked; see [`link!`](tool_runtime::link).
    ///
    /// # Errors
    ///
    /// Returns an error with all mistakes of all items: names and URIs that several of one kind have, schemas that are not valid, and values that no
    /// item may require here; [`discover_with`](Self::discover_with) provides them.
    ///
    /// # Examples
    ///
    /// ```standalone_crate
    /// use std::sync::Arc;
    /// use tool_kit::{catalogue::{Catalogue, ItemQuery}, prompt};
    /// use tool_runtime::prelude::*;
    ///
    /// /// Adds two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// /// Explains a topic.
    /// #[prompt]
    /// fn explain(topic: String) -> String {
    ///     format!("Explain {topic}.")
    /// }
    ///
    /// # #[tokio::main] async fn main() -> anyhow::Result<()> {
    /// let catalogue = Catalogue::discover()?;
    /// let snapshot = catalogue.snapshot(&Arc::new(RunContext::new())).await?;
    /// let keys: Vec<_> = snapshot.list(&ItemQuery::all()).items.iter().map(|item| item.key().to_owned()).collect();
    /// assert_eq!(keys, ["add", "explain"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn discover() -> Result<Self, DiscoveryError> {
        Self::discover_with(Registry::builder())
    }

    /// Creates a catalogue of all annotated functions, with the tools, settings and provided values of `builder`.
    ///
    /// # Errors
    ///
    /// As [`discover`](Self::discover); also for the mistakes of `builder`.
    ///
    /// # Examples
    ///
    /// ```standalone_crate
    /// use tool_kit::{catalogue::Catalogue, prompt};
    /// use tool_runtime::prelude::*;
    ///
    /// struct Library(&'static str);
    ///
    /// /// Recommends a book.
    /// #[prompt]
    /// fn recommend(library: &Library) -> String {
    ///     format!("Recommend a book of {}.", library.0)
    /// }
    ///
    /// assert!(Catalogue::discover().unwrap_err().to_string().contains("takes a `&"));
    /// let catalogue = Catalogue::discover_with(Registry::builder().provide(Library("Turku")))?;
    /// # drop(catalogue);
    /// # Ok::<(), tool_kit::function::DiscoveryError>(())
    /// ```
    pub fn discover_with(builder: RegistryBuilder) -> Result<Self, DiscoveryError> {
        let (registry, mut diagnostics) = match builder.discover().build() {
            Ok(registry) => (Some(registry), Vec::new()),
            Err(error) => (None, error.diagnostics().iter().map(Diagnostic::from).collect()),
        };
        let (items, mistakes) = DiscoveredItems::of_registry(registry.as_ref());
        diagnostics.extend(mistakes);
        let registry = DiscoveryError::unless_none(registry.unwrap_or_default(), diagnostics)?;
        let catalogue = Self::of_tools(Toolbox::from_registry(&registry));
        catalogue.add_discovered_items(items)?;
        Ok(catalogue)
    }

    /// Adds all annotated prompts, resources and templates that are linked into this program, with the settings and provided values of `registry`.
    ///
    /// # Errors
    ///
    /// As [`discover`](Self::discover), but for the mistakes of tools; also if one has the name or URI of an item that is there. Nothing of their
    /// kind is added then.
    #[cfg(feature = "cli")]
    pub(crate) fn add_linked_items(&self, registry: &Registry) -> Result<(), DiscoveryError> {
        let (items, mistakes) = DiscoveredItems::of_registry(Some(registry));
        self.add_discovered_items(DiscoveryError::unless_none(items, mistakes)?)
    }

    fn add_discovered_items(&self, items: DiscoveredItems) -> Result<(), DiscoveryError> {
        let prompts = items.prompts.into_iter().map(|prompt| Arc::new(prompt) as Arc<dyn Prompt>);
        self.add_prompts(prompts).map_err(unaddable_items)?;
        let resources =
            items.resources.into_iter().map(|resource| Arc::new(resource) as Arc<dyn ReadableResource>);
        self.add_resources(resources).map_err(unaddable_items)?;
        let templates =
            items.templates.into_iter().map(|template| Arc::new(template) as Arc<dyn ResourceTemplate>);
        self.add_templates(templates).map_err(unaddable_items)
    }
}

/// The functions of one program that are prompts, resources and templates.
struct DiscoveredItems {
    prompts: Vec<FunctionPrompt>,
    resources: Vec<FunctionResource>,
    templates: Vec<FunctionTemplate>,
}

impl DiscoveredItems {
    /// Makes all items that are linked into this program, and returns the mistakes of those that cannot be made. Without a registry, it is not known
    /// which values are provided.
    fn of_registry(registry: Option<&Registry>) -> (Self, Vec<Diagnostic>) {
        let (prompts, mut mistakes) = FunctionPrompt::discover_all(registry);
        let (resources, of_resources) = FunctionResource::discover_all(registry);
        let (templates, of_templates) = FunctionTemplate::discover_all(registry);
        mistakes.extend(of_resources);
        mistakes.extend(of_templates);
        (Self { prompts, resources, templates }, mistakes)
    }
}

/// Returns the error of discovered items that cannot be added.
fn unaddable_items(error: ToolError) -> DiscoveryError {
    DiscoveryError::of(Diagnostic::new(Severity::Error, "unusable_item", error.feedback()))
}
