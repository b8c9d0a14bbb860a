//! A catalogue of all items that are linked into the program.

use std::sync::Arc;

use tool_runtime::{
    Registry, ToolError, Toolbox,
    diagnostic::{Diagnostic, Severity},
    registry::RegistryBuilder,
};

use super::{
    Catalogue, CatalogueChange, CatalogueEvent, key::shown_key, templates::lookup_order_of_template,
};
use crate::{
    function::{DiscoveryError, FunctionPrompt, FunctionResource, FunctionTemplate, discover_items},
    prompt::Prompt as _,
    resource::ReadableResource as _,
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
        // Without a registry, it is not known which values are provided.
        let (items, mistakes) = DiscoveredItems::of_program(registry.as_ref());
        diagnostics.extend(mistakes);
        let registry = DiscoveryError::items_or_error(registry.unwrap_or_default(), diagnostics)?;
        let catalogue = Self::of_tools(Toolbox::from_registry(&registry));
        catalogue.add_items(items)?;
        Ok(catalogue)
    }

    /// Adds the annotated prompts and resources that are linked into this program, all or none; for a catalogue whose tools are there already, such
    /// as the one of a command line. `values` provides the values that they take by reference.
    ///
    /// # Errors
    ///
    /// As [`discover`](Self::discover); also if the catalogue has an item of one of these names or URIs. Nothing is changed then.
    ///
    /// # Examples
    ///
    /// ```standalone_crate
    /// use tool_kit::{catalogue::Catalogue, prompt};
    /// use tool_runtime::prelude::*;
    ///
    /// /// Greets everyone.
    /// #[prompt]
    /// fn greet() -> &'static str {
    ///     "Hello."
    /// }
    ///
    /// let catalogue = Catalogue::new();
    /// catalogue.add_discovered(&Registry::default())?;
    /// let again = catalogue.add_discovered(&Registry::default()).unwrap_err();
    /// assert!(again.to_string().contains("there is a prompt `greet`"), "{again}");
    /// # Ok::<(), tool_kit::function::DiscoveryError>(())
    /// ```
    pub fn add_discovered(&self, values: &Registry) -> Result<(), DiscoveryError> {
        let (items, mistakes) = DiscoveredItems::of_program(Some(values));
        self.add_items(DiscoveryError::items_or_error(items, mistakes)?)
    }

    fn add_items(&self, items: DiscoveredItems) -> Result<(), DiscoveryError> {
        let DiscoveredItems { prompts, resources, templates } = items;
        let prompts: Vec<(Arc<str>, _)> =
            prompts.into_iter().map(|prompt| (prompt.definition().name().into(), prompt)).collect();
        let resources: Vec<(Arc<str>, _)> =
            resources.into_iter().map(|resource| (resource.uri().normalized().into(), resource)).collect();
        let templates: Vec<_> =
            templates.into_iter().map(|template| (lookup_order_of_template(&template), template)).collect();
        let added = self.change_state(|state| {
            let mut changes = Vec::new();
            if !prompts.is_empty() {
                changes.push(CatalogueChange::Prompts);
            }
            if !resources.is_empty() || !templates.is_empty() {
                changes.push(CatalogueChange::Resources);
            }
            for (name, prompt) in prompts {
                if Arc::make_mut(&mut state.prompts).insert(Arc::clone(&name), Arc::new(prompt)).is_some() {
                    return Err(name_taken_error("prompt", &name));
                }
            }
            for (uri, resource) in resources {
                if Arc::make_mut(&mut state.resources).insert(Arc::clone(&uri), Arc::new(resource)).is_some()
                {
                    return Err(name_taken_error("resource", &uri));
                }
            }
            for (key, template) in templates {
                let uri = Arc::clone(&key.1);
                if state.templates.insert(key, Arc::new(template)).is_some() {
                    return Err(name_taken_error("template", &uri));
                }
            }
            let event = |change| CatalogueEvent::new(None, change);
            Ok(((), changes.into_iter().map(event).collect()))
        });
        added.map_err(unaddable_items_error)
    }
}

/// The annotated functions of the program that are no tools.
struct DiscoveredItems {
    prompts: Vec<FunctionPrompt>,
    resources: Vec<FunctionResource>,
    templates: Vec<FunctionTemplate>,
}

impl DiscoveredItems {
    /// Returns the items, and the mistakes of those that cannot be used.
    fn of_program(values: Option<&Registry>) -> (Self, Vec<Diagnostic>) {
        let (prompts, mut diagnostics) = discover_items(values);
        let (resources, mistakes) = discover_items(values);
        diagnostics.extend(mistakes);
        let (templates, mistakes) = discover_items(values);
        diagnostics.extend(mistakes);
        (Self { prompts, resources, templates }, diagnostics)
    }
}

fn name_taken_error(kind: &str, name: &str) -> ToolError {
    ToolError::conflict(format!("there is a {kind} `{}`; remove it, or rename this one", shown_key(name)))
}

/// Returns the error of discovered items that cannot be added.
fn unaddable_items_error(error: ToolError) -> DiscoveryError {
    DiscoveryError::of(Diagnostic::new(Severity::Error, "unusable_item", error.feedback()))
}
