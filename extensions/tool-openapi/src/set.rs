//! The tools of a document as a toolset.

use std::{fmt, sync::Arc};

use tool_runtime::{
    BoxFuture, Tool, ToolError, ToolSet, context::ReadonlyContext, diagnostic::Diagnostic, pin::Pins,
};

use crate::{
    Document, OpenApiError, OpenApiToolSetBuilder, OperationTool, SkippedOperation,
    client::OperationClient,
    import::{ImportedDocument, import_document},
    tool::SharedApi,
};

/// The operations of an OpenAPI document as tools. Cheap to clone.
///
/// Its [raw name](tool_runtime::ToolDefinition::raw_name) is the id of the operation, or its method and path.
/// [Adapters](tool_runtime::toolset::ToolSetExt) prefix, rename, filter and confirm.
///
/// # Examples
///
/// ```
/// use tool_openapi::{Document, OpenApiToolSet};
/// use tool_runtime::{Executor, RunContext, Toolbox, toolset::ToolSetExt};
///
/// # async fn example() -> anyhow::Result<()> {
/// let pets = OpenApiToolSet::import(Document::from_file("petstore.yaml")?)?;
/// for skipped in pets.skipped() {
///     println!("{}: {}", skipped.operation, skipped.reason);
/// }
/// let toolbox = Toolbox::new();
/// toolbox.add_toolset(pets.prefixed())?;
/// let executor = Executor::new(toolbox.snapshot(&RunContext::new()).await?.into_tools());
/// # let _ = executor;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OpenApiToolSet {
    inner: Arc<ToolSetInner>,
}

struct ToolSetInner {
    name: String,
    tools: Vec<Arc<OperationTool>>,
    skipped: Vec<SkippedOperation>,
    diagnostics: Vec<Diagnostic>,
}

impl OpenApiToolSet {
    /// Imports all operations of `document` with default settings.
    ///
    /// # Errors
    ///
    /// As [`OpenApiToolSetBuilder::build`].
    pub fn import(document: Document) -> Result<Self, OpenApiError> {
        Self::builder(document).build()
    }

    /// Creates a builder, for the base URL, credentials and filters.
    pub fn builder(document: Document) -> OpenApiToolSetBuilder {
        OpenApiToolSetBuilder::new(document)
    }

    /// Returns the tools, in the order of the document.
    #[must_use]
    pub fn tools(&self) -> &[Arc<OperationTool>] {
        &self.inner.tools
    }

    /// Returns the operations that are no tools, and why.
    #[must_use]
    pub fn skipped(&self) -> &[SkippedOperation] {
        &self.inner.skipped
    }

    /// Returns what an operation has that is carried in another form, or not at all. The location has the JSON pointer into the
    /// document.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.inner.diagnostics
    }

    /// Returns pins of the tools, for a file that a person reviews. They also notice another method, path or server of the document;
    /// a configured base URL and security schemes are no part of them.
    #[must_use]
    pub fn pins(&self) -> Pins {
        let definitions: Vec<_> = self.tools().iter().map(|tool| tool.definition().clone()).collect();
        Pins::of_definitions(&definitions)
    }
}

impl OpenApiToolSetBuilder {
    /// Imports the document.
    ///
    /// # Errors
    ///
    /// If a setting is invalid, or no operation has a base URL: neither a server in the document nor
    /// [`base_url`](Self::base_url). An operation that cannot be a tool, as one without a base URL beside others that have one, is
    /// [skipped](OpenApiToolSet::skipped).
    pub fn build(self) -> Result<OpenApiToolSet, OpenApiError> {
        if let Some(error) = self.invalid {
            return Err(error);
        }
        let title = self.document.title().to_owned();
        let name = self.settings.name.clone().unwrap_or(title);
        let settings = self.settings;
        let client = OperationClient::new(&settings, self.document.fetched_from().is_some())?;
        let imported = import_document(self.document, &settings, client.unguarded_client())?;
        let ImportedDocument { operations, skipped, diagnostics } = imported;
        let api = Arc::new(SharedApi { client, settings });
        let tools = operations.into_iter().map(|it| Arc::new(OperationTool::new(it, Arc::clone(&api))));
        let inner = ToolSetInner { name, tools: tools.collect(), skipped, diagnostics };
        Ok(OpenApiToolSet { inner: Arc::new(inner) })
    }
}

impl ToolSet for OpenApiToolSet {
    fn name(&self) -> &str {
        &self.inner.name
    }

    fn tools<'a>(&'a self, _: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        let tools = self.inner.tools.iter().map(|tool| Arc::clone(tool) as Arc<dyn Tool>);
        Box::pin(std::future::ready(Ok(tools.collect())))
    }
}

impl fmt::Debug for OpenApiToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenApiToolSet")
            .field("name", &self.inner.name)
            .field("tools", &self.tools().len())
            .field("skipped", &self.skipped().len())
            .finish_non_exhaustive()
    }
}
