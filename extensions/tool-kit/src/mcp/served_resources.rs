//! The resources of a catalogue for the clients of a server.

use std::{collections::HashSet, sync::Arc};

use tool_mcp::{
    rmcp::model,
    server::{ChangeSignal, Completing, OfferChange, Page, Paging, ResourceSet, Resources},
};
use tool_runtime::{
    BoxFuture, RunContext, ToolError, diagnostic::Diagnostic, guard::catch, output, policy::Escape,
};

use super::{
    described_resource, described_template, offer_resource,
    serve::{ListDiagnostics, change_signal, hidden_item_diagnostic, unusable_item_diagnostic},
    served_prompts::snapshot_of,
};
use crate::{
    catalogue::{Catalogue, CatalogueChange, first_matching_resource},
    resource::{ReadableResource, ResourceUri},
};

/// The most characters of a URI that an error shows.
const MAX_SHOWN_CHARS: usize = 100;

/// The resources of a catalogue, under the one spelling of their URIs.
pub(super) struct ServedResources {
    catalogue: Catalogue,
    changes: ChangeSignal,
    diagnostics: ListDiagnostics,
}

impl ServedResources {
    pub(super) fn new(catalogue: Catalogue) -> Self {
        let changes = change_signal(&catalogue, |change| match change {
            CatalogueChange::Resources => Some(OfferChange::List),
            CatalogueChange::Resource { uri } => {
                let parsed = ResourceUri::parse(&uri);
                Some(OfferChange::Updated(parsed.map_or(uri, |parsed| parsed.normalized().to_owned())))
            }
            _ => None,
        });
        Self { catalogue, changes, diagnostics: ListDiagnostics::default() }
    }

    async fn list_page(
        &self,
        run: &Arc<RunContext>,
        page: Paging<'_>,
    ) -> Result<Page<model::Resource>, ToolError> {
        let items = snapshot_of(&self.catalogue, run).await?;
        let mut diagnostics = items.diagnostics().to_vec();
        let (mut uris, mut served) = (HashSet::new(), Vec::new());
        for item in items.in_lookup_order() {
            let Some(resource) = item.resource() else { continue };
            if !uris.insert(item.name()) {
                diagnostics.push(hidden_item_diagnostic(item, item.name()));
                continue;
            }
            match catch(|| described_resource(&**resource, item.name())) {
                Ok(described) => served.push(described),
                Err(panic) => diagnostics.push(unusable_item_diagnostic(item.key(), panic.message())),
            }
        }
        self.diagnostics.replace(diagnostics);
        Ok(page.of(served, |resource| &resource.uri))
    }

    async fn find_resource(
        &self,
        run: &Arc<RunContext>,
        uri: &ResourceUri,
    ) -> Result<Option<Arc<dyn ReadableResource>>, ToolError> {
        // A resource of the program does not wait for connectors.
        if let Some(resource) = self.catalogue.builtin_resource(uri) {
            return Ok(Some(resource));
        }
        let items = snapshot_of(&self.catalogue, run).await?;
        let mut resources = items.in_lookup_order().filter_map(|item| Some((item.name(), item.resource()?)));
        let found = resources.find(|(name, _)| *name == uri.normalized());
        let found = found.map(|(_, resource)| Arc::clone(resource));
        Ok(found.or_else(|| first_matching_resource(&self.catalogue.templates(), uri)))
    }

    fn list_templates(&self, page: Paging<'_>) -> Page<model::ResourceTemplate> {
        let (mut described, mut diagnostics) = (Vec::new(), Vec::new());
        for (place, template) in self.catalogue.templates().iter().enumerate() {
            match catch(|| described_template(&**template)) {
                Ok(template) => described.push(template),
                Err(panic) => {
                    let template = format!("template {} of the program", place + 1);
                    diagnostics.push(unusable_item_diagnostic(&template, panic.message()));
                }
            }
        }
        self.diagnostics.replace(diagnostics);
        page.of(described, |template| &template.uri_template)
    }

    fn complete_variable(&self, completing: Completing<'_>) -> Result<Vec<String>, ToolError> {
        let templates = self.catalogue.templates();
        let template = templates.iter().find(|it| it.uri_template().as_str() == completing.of);
        let template = template.ok_or_else(|| {
            let shown = Escape::LINE.at_most(MAX_SHOWN_CHARS).text(completing.of);
            ToolError::not_found(format!("there is no template `{shown}`; list the templates"))
        })?;
        catch(|| template.candidates(completing.argument, completing.value))
            .map_err(|panic| ToolError::failed(format!("the template panicked: {}", panic.message())))
    }

    async fn read_documents(
        &self,
        run: &Arc<RunContext>,
        uri: &str,
    ) -> Result<Vec<output::Resource>, ToolError> {
        let parsed = ResourceUri::parse(uri).map_err(|error| unknown_uri(uri, &error.to_string()))?;
        let found = self.find_resource(run, &parsed).await?;
        let resource =
            found.ok_or_else(|| unknown_uri(uri, "list the resources for those that there are"))?;
        let own_uri = resource.uri().as_str().to_owned();
        let mut documents = offer_resource(ResourceSet::new(), resource).read(run, &own_uri).await?;
        for document in documents.iter_mut().filter(|document| document.uri == own_uri) {
            // As the client spelled it.
            uri.clone_into(&mut document.uri);
        }
        Ok(documents)
    }
}

fn unknown_uri(uri: &str, problem: &str) -> ToolError {
    let shown = Escape::LINE.at_most(MAX_SHOWN_CHARS).text(uri);
    ToolError::not_found(format!("there is no resource `{shown}`; {problem}"))
}

impl Resources for ServedResources {
    fn list<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        page: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<model::Resource>, ToolError>> {
        Box::pin(self.list_page(run, page))
    }

    fn read<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Vec<output::Resource>, ToolError>> {
        Box::pin(self.read_documents(run, uri))
    }

    fn templates<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        page: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<model::ResourceTemplate>, ToolError>> {
        Box::pin(async move { Ok(self.list_templates(page)) })
    }

    fn complete<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        completing: Completing<'a>,
    ) -> BoxFuture<'a, Result<Vec<String>, ToolError>> {
        Box::pin(async move { self.complete_variable(completing) })
    }

    fn completes(&self) -> bool {
        // Templates with candidates come and go.
        true
    }

    fn changes(&self) -> Option<&ChangeSignal> {
        Some(&self.changes)
    }

    fn diagnostics(&self) -> Vec<Diagnostic> {
        self.diagnostics.take()
    }

    /// Accepts the spelling that is listed, which updates name.
    fn subscribe(&self, _: &Arc<RunContext>, uri: &str) -> Result<(), ToolError> {
        let parsed = ResourceUri::parse(uri).map_err(|error| unknown_uri(uri, &error.to_string()))?;
        if parsed.normalized() == uri {
            return Ok(());
        }
        let listed = Escape::LINE.at_most(MAX_SHOWN_CHARS).text(parsed.normalized());
        Err(unknown_uri(uri, &format!("the list would spell it `{listed}`; subscribe to that")))
    }
}
