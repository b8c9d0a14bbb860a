//! The choice of operations, and what the program says about them.

use std::{collections::BTreeSet, sync::Arc};

use tool_runtime::{ToolDefinition, ToolName, definition::Metadata};

use crate::{OpenApiToolSetBuilder, OperationInfo};

/// A filter of operations.
type OperationFilter = Arc<dyn Fn(&OperationInfo<'_>) -> bool + Send + Sync>;

/// A closure that changes what a model reads.
type DescribeFn = Arc<dyn Fn(&OperationInfo<'_>, &mut ToolText) + Send + Sync>;

/// The operations that the program chose, and its changes to them.
#[derive(Clone, Default)]
pub(crate) struct OperationChoice {
    filters: Vec<OperationFilter>,
    /// Ids that the document must have.
    pub(crate) ids: BTreeSet<String>,
    describe: Vec<DescribeFn>,
}

/// The text of a tool, which a program may change: see [`OpenApiToolSetBuilder::describe`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolText {
    /// The name by which a model calls the tool.
    pub name: String,
    /// The display name.
    pub title: String,
    /// The description.
    pub description: String,
    /// Hints, limits and labels.
    pub metadata: Metadata,
}

impl OperationChoice {
    /// Returns `true` if all filters keep the operation.
    pub(crate) fn selects_operation(&self, operation: &OperationInfo<'_>) -> bool {
        self.filters.iter().all(|keeps| keeps(operation))
    }

    /// Returns the definition with the changes of the program.
    ///
    /// # Errors
    ///
    /// The reason why the new name is not one.
    pub(crate) fn customized_definition(
        &self,
        operation: &OperationInfo<'_>,
        definition: ToolDefinition,
    ) -> Result<ToolDefinition, String> {
        let mut text = ToolText {
            name: definition.name().to_string(),
            title: definition.title().to_owned(),
            description: definition.description().to_owned(),
            metadata: definition.metadata().clone(),
        };
        for describe in &self.describe {
            describe(operation, &mut text);
        }
        let ToolText { name, title, description, metadata } = text;
        let mut new =
            ToolDefinition::new(definition.name().clone(), description, definition.input_schema().clone());
        if name != **definition.name() {
            new = new.with_name(ToolName::new(name).map_err(|error| error.to_string())?);
        }
        if let Some(schema) = definition.output_schema() {
            new = new.with_output_schema(schema.clone());
        }
        // Without a title, the name is the title, also a new one.
        let new = if title == **definition.name() { new } else { new.with_title(title) };
        Ok(new.with_metadata(metadata))
    }
}

impl OpenApiToolSetBuilder {
    /// Imports only operations for which `keeps` returns `true`; several filters must all keep an operation. Default: all.
    pub fn filter(mut self, keeps: impl Fn(&OperationInfo<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.settings.choice.filters.push(Arc::new(keeps));
        self
    }

    /// Imports only operations with these ids. An id that no operation has is a
    /// [diagnostic](crate::OpenApiToolSet::diagnostics) with the code `unknown_operation`.
    pub fn ids<I: Into<String>>(mut self, ids: impl IntoIterator<Item = I>) -> Self {
        let ids: BTreeSet<String> = ids.into_iter().map(Into::into).collect();
        self.settings.choice.ids.extend(ids.iter().cloned());
        self.filter(move |operation| operation.id.is_some_and(|id| ids.contains(id)))
    }

    /// Imports only operations that have at least one of these tags.
    pub fn tags<I: Into<String>>(self, tags: impl IntoIterator<Item = I>) -> Self {
        let tags: BTreeSet<String> = tags.into_iter().map(Into::into).collect();
        self.filter(move |operation| operation.tags.iter().any(|tag| tags.contains(*tag)))
    }

    /// Imports only operations whose path begins with `prefix`. Segments are compared as a whole: `/pets` keeps `/pets` and
    /// `/pets/{petId}`, and not `/petstore`.
    pub fn path_prefix(self, prefix: impl Into<String>) -> Self {
        let prefix = prefix.into();
        self.filter(move |operation| {
            let rest = operation.path.strip_prefix(prefix.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Imports only operations with one of these methods, in capital or small letters.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_openapi::{Document, OpenApiToolSet};
    ///
    /// # let text = r#"{"openapi":"3.1.0","info":{"title":"Pets","version":"1"},"servers":[{"url":"https://pets.example"}],
    /// #   "paths":{"/pets":{"get":{},"post":{}}}}"#;
    /// // Only what reads.
    /// let pets = OpenApiToolSet::builder(Document::from_text(text)?).methods(["GET", "HEAD"]).build()?;
    /// assert_eq!(pets.tools().len(), 1);
    /// # Ok::<(), tool_openapi::OpenApiError>(())
    /// ```
    pub fn methods<I: Into<String>>(self, methods: impl IntoIterator<Item = I>) -> Self {
        let methods: BTreeSet<String> =
            methods.into_iter().map(|it| it.into().to_ascii_uppercase()).collect();
        self.filter(move |operation| methods.contains(&operation.method.to_ascii_uppercase()))
    }

    /// Changes what a model reads of a tool: its name, title, description and hints. Several closures apply in their order. A
    /// prefix of all names is an [adapter](tool_runtime::toolset::ToolSetExt::prefixed) of the toolset.
    ///
    /// An operation whose new name is not valid, or is the one of another tool, is
    /// [skipped](crate::OpenApiToolSet::skipped).
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_openapi::{Document, OpenApiToolSet};
    /// use tool_runtime::Tool;
    ///
    /// # let text = r#"{"openapi":"3.1.0","info":{"title":"Pets","version":"1"},"servers":[{"url":"https://pets.example"}],
    /// #   "paths":{"/pets":{"get":{"operationId":"petsListV2"}}}}"#;
    /// let pets = OpenApiToolSet::builder(Document::from_text(text)?)
    ///     .describe(|operation, text| {
    ///         if operation.id == Some("petsListV2") {
    ///             text.name = "list_pets".to_owned();
    ///             text.description = "Lists all pets of the shop.".to_owned();
    ///         }
    ///     })
    ///     .build()?;
    /// assert_eq!(pets.tools()[0].definition().name().as_str(), "list_pets");
    /// assert_eq!(pets.tools()[0].definition().raw_name(), "petsListV2");
    /// # Ok::<(), tool_openapi::OpenApiError>(())
    /// ```
    pub fn describe(
        mut self,
        describe: impl Fn(&OperationInfo<'_>, &mut ToolText) + Send + Sync + 'static,
    ) -> Self {
        self.settings.choice.describe.push(Arc::new(describe));
        self
    }
}
