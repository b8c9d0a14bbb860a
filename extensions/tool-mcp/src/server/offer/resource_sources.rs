//! The resources of several sources.

use std::sync::Arc;

use rmcp::model::{Resource, ResourceTemplate};
use tool_runtime::{
    BoxFuture, ErrorKind, RunContext, ToolError, diagnostic::Diagnostic, guard::catch, output,
};

use super::{
    ChangeSignal, Completing, Page, Paging, Resources,
    collection::unknown_item_error,
    sources::{DiagnosticNotes, MergedList, UnknownItem, list_source},
};

/// The resources of several sources, in their order: of one URI, the first counts.
pub(in crate::server) struct ResourceSources {
    sources: Vec<Arc<dyn Resources>>,
    changes: Option<ChangeSignal>,
    notes: DiagnosticNotes,
    template_notes: DiagnosticNotes,
}

impl ResourceSources {
    /// Returns the resources of all sources; one alone as it is.
    pub(in crate::server) fn joined(mut sources: Vec<Arc<dyn Resources>>) -> Option<Arc<dyn Resources>> {
        if sources.len() < 2 {
            return sources.pop();
        }
        let signals: Vec<_> = sources.iter().filter_map(|it| it.changes().cloned()).collect();
        let changes = (!signals.is_empty()).then(|| ChangeSignal::of_all(signals));
        let (notes, template_notes) = Default::default();
        Some(Arc::new(Self { sources, changes, notes, template_notes }))
    }

    /// The sources whose changes reach clients.
    fn changing_sources(&self) -> impl Iterator<Item = &Arc<dyn Resources>> {
        self.sources.iter().filter(|source| source.changes().is_some())
    }
}

impl Resources for ResourceSources {
    fn list<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        page: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<Resource>, ToolError>> {
        Box::pin(async move {
            let mut merged = MergedList::new("resource");
            for source in &self.sources {
                merged.add_source(list_source!(source, list, run).await, |resource: &Resource| &resource.uri);
            }
            Ok(page.of(merged.into_items_unless_all_failed(self.sources.len(), &self.notes)?, |resource| {
                &resource.uri
            }))
        })
    }

    fn templates<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        page: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<ResourceTemplate>, ToolError>> {
        Box::pin(async move {
            let mut merged = MergedList::new("template");
            for source in &self.sources {
                let listed = list_source!(source, templates, run).await;
                merged.add_source(listed, |template: &ResourceTemplate| &template.uri_template);
            }
            let templates = merged.into_items_unless_all_failed(self.sources.len(), &self.template_notes)?;
            Ok(page.of(templates, |template| &template.uri_template))
        })
    }

    fn read<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Vec<output::Resource>, ToolError>> {
        Box::pin(async move {
            let mut unknown = UnknownItem::default();
            for source in &self.sources {
                if let Some(result) = unknown.note_if_not_found(source.read(run, uri).await) {
                    return result;
                }
            }
            Err(unknown.into_error("resource", uri))
        })
    }

    fn complete<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        completing: Completing<'a>,
    ) -> BoxFuture<'a, Result<Vec<String>, ToolError>> {
        Box::pin(async move {
            for source in self.sources.iter().filter(|source| source.completes()) {
                if let Ok(candidates) = source.complete(run, completing).await {
                    return Ok(candidates);
                }
            }
            match self.sources.iter().all(|source| source.completes()) {
                true => Err(unknown_item_error("template", completing)),
                // It may be one of a source without candidates.
                false => Ok(Vec::new()),
            }
        })
    }

    fn completes(&self) -> bool {
        self.sources.iter().any(|source| source.completes())
    }

    fn changes(&self) -> Option<&ChangeSignal> {
        self.changes.as_ref()
    }

    fn diagnostics(&self) -> Vec<Diagnostic> {
        let of_sources = self.sources.iter().flat_map(|source| source.diagnostics());
        of_sources.chain(self.notes.take()).chain(self.template_notes.take()).collect()
    }

    /// Subscribes at each source that has changes; fails if none has the resource, or one refuses it.
    fn subscribe(&self, run: &Arc<RunContext>, uri: &str) -> Result<(), ToolError> {
        let mut unknown = None;
        let mut accepted: Vec<&Arc<dyn Resources>> = Vec::new();
        for source in self.changing_sources() {
            match source.subscribe(run, uri) {
                Ok(()) => accepted.push(source),
                Err(error) if error.kind() == ErrorKind::NotFound => unknown = unknown.or(Some(error)),
                Err(error) => {
                    accepted.into_iter().for_each(|source| source.unsubscribe(uri));
                    return Err(error);
                }
            }
        }
        unknown.filter(|_| accepted.is_empty()).map_or(Ok(()), Err)
    }

    fn unsubscribe(&self, uri: &str) {
        for source in self.changing_sources() {
            if let Err(panic) = catch(|| source.unsubscribe(uri)) {
                tracing::error!(message = panic.message(), "the end of a subscription panicked");
            }
        }
    }
}
