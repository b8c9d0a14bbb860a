//! The prompts of several sources.

use std::{collections::BTreeMap, sync::Arc};

use rmcp::model::{GetPromptResult, Prompt};
use tool_runtime::{BoxFuture, RunContext, ToolError, diagnostic::Diagnostic};

use super::{
    ChangeSignal, Completing, Page, Paging, Prompts,
    collection::unknown_item_error,
    sources::{DiagnosticNotes, MergedList, UnknownItem, list_source},
};

/// The prompts of several sources, in their order: of one name, the first counts.
pub(in crate::server) struct PromptSources {
    sources: Vec<Arc<dyn Prompts>>,
    changes: Option<ChangeSignal>,
    notes: DiagnosticNotes,
}

impl PromptSources {
    /// Returns the prompts of all sources; one alone as it is.
    pub(in crate::server) fn joined(mut sources: Vec<Arc<dyn Prompts>>) -> Option<Arc<dyn Prompts>> {
        if sources.len() < 2 {
            return sources.pop();
        }
        let signals: Vec<_> = sources.iter().filter_map(|it| it.changes().cloned()).collect();
        let changes = (!signals.is_empty()).then(|| ChangeSignal::of_all(signals));
        Some(Arc::new(Self { sources, changes, notes: DiagnosticNotes::default() }))
    }
}

impl Prompts for PromptSources {
    fn list<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        page: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<Prompt>, ToolError>> {
        Box::pin(async move {
            let mut merged = MergedList::new("prompt");
            for source in &self.sources {
                merged.add_source(list_source!(source, list, run).await, |prompt: &Prompt| &prompt.name);
            }
            Ok(page.of(merged.into_items_unless_all_failed(self.sources.len(), &self.notes)?, |prompt| {
                &prompt.name
            }))
        })
    }

    fn get<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        name: &'a str,
        arguments: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<GetPromptResult, ToolError>> {
        Box::pin(async move {
            let mut unknown = UnknownItem::default();
            for source in &self.sources {
                if let Some(result) = unknown.note_if_not_found(source.get(run, name, arguments).await) {
                    return result;
                }
            }
            Err(unknown.into_error("prompt", name))
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
                true => Err(unknown_item_error("prompt", completing)),
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
        of_sources.chain(self.notes.take()).collect()
    }
}
