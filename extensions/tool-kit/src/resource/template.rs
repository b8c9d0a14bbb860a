//! Resources whose URIs have the form of a template.

use std::{collections::BTreeMap, fmt, sync::Arc};

use tool_runtime::{BoxFuture, RunContext, ToolError, output};

use super::{ReadableResource, ResourceUri, UriTemplate};

/// Resources whose URIs have one form. A function with [`#[resource]`](macro@crate::resource) whose URI has variables is one.
///
/// A [`Catalogue`](crate::catalogue::Catalogue::add_template) reads a URI that no resource has by the template that matches it.
///
/// # Examples
///
/// ```
/// use std::{collections::BTreeMap, sync::Arc};
/// use tool_kit::{catalogue::Catalogue, resource::{ReadableResource, ResourceTemplate, UriTemplate}};
/// use tool_runtime::{BoxFuture, RunContext, ToolError, output::{Resource, ResourceBody}};
///
/// struct Notes(UriTemplate);
///
/// impl ResourceTemplate for Notes {
///     fn uri_template(&self) -> &UriTemplate {
///         &self.0
///     }
///
///     fn name(&self) -> &str {
///         "notes"
///     }
///
///     fn read<'a>(
///         &'a self,
///         _: &'a Arc<RunContext>,
///         variables: &'a BTreeMap<String, String>,
///     ) -> BoxFuture<'a, Result<Resource, ToolError>> {
///         let body = ResourceBody::Text(format!("Notes of {}.", variables["day"]));
///         Box::pin(async { Ok(Resource { uri: String::new(), mime_type: "text/plain".to_owned(), body }) })
///     }
/// }
///
/// # #[tokio::main] async fn main() -> anyhow::Result<()> {
/// let catalogue = Catalogue::new();
/// catalogue.add_template(Notes(UriTemplate::parse("notes://{day}")?))?;
/// let run = Arc::new(RunContext::new());
/// let read = catalogue.snapshot(&run).await?.resource("notes://monday")?.read(&run).await?;
/// assert_eq!((&*read.uri, read.body), ("notes://monday", ResourceBody::Text("Notes of monday.".to_owned())));
/// # Ok(())
/// # }
/// ```
pub trait ResourceTemplate: Send + Sync + 'static {
    /// Returns the form of the URIs.
    fn uri_template(&self) -> &UriTemplate;

    /// Returns the name, an identifier.
    fn name(&self) -> &str;

    /// Returns the description. Default: none.
    fn description(&self) -> Option<&str> {
        None
    }

    /// Returns the MIME type of all contents; empty if they have several, or it is known only when one is read. Default: empty.
    fn mime_type(&self) -> &str {
        ""
    }

    /// Returns the values that a variable may have and that begin with `text`, for a user who types one. Default: none.
    fn candidates(&self, variable: &str, text: &str) -> Vec<String> {
        let _ = (variable, text);
        Vec::new()
    }

    /// Reads the content of the URI with these decoded values. An empty `uri` of the content stands for that URI.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read; of kind [`NotFound`](tool_runtime::ErrorKind::NotFound) if there is none for the values.
    fn read<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        variables: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<output::Resource, ToolError>>;
}

/// The resource of one URI that a template matches.
#[derive(Clone)]
pub(crate) struct MatchedResource {
    template: Arc<dyn ResourceTemplate>,
    uri: ResourceUri,
    variables: BTreeMap<String, String>,
}

impl MatchedResource {
    /// Returns the resource of a URI, if the template matches it.
    pub(crate) fn of(template: &Arc<dyn ResourceTemplate>, uri: &ResourceUri) -> Option<Self> {
        let variables = template.uri_template().matched_variables(uri)?;
        Some(Self { template: Arc::clone(template), uri: uri.clone(), variables })
    }
}

impl ReadableResource for MatchedResource {
    fn uri(&self) -> &ResourceUri {
        &self.uri
    }

    fn name(&self) -> &str {
        self.template.name()
    }

    fn description(&self) -> Option<&str> {
        self.template.description()
    }

    fn mime_type(&self) -> &str {
        self.template.mime_type()
    }

    fn read<'a>(&'a self, run: &'a Arc<RunContext>) -> BoxFuture<'a, Result<output::Resource, ToolError>> {
        Box::pin(async move {
            let mut content = self.template.read(run, &self.variables).await?;
            if content.uri.is_empty() {
                content.uri = self.uri.to_string();
            }
            Ok(content)
        })
    }
}

impl fmt::Debug for MatchedResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MatchedResource")
            .field("uri", &self.uri)
            .field("template", self.template.uri_template())
            .finish_non_exhaustive()
    }
}
