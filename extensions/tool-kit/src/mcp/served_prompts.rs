//! The prompts of a catalogue for the clients of a server.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use tool_mcp::{
    rmcp::model::{self, GetPromptResult},
    server::{ChangeSignal, Completing, OfferChange, Page, Paging, PromptSet, Prompts},
};
use tool_runtime::{
    BoxFuture, RunContext, ToolError, diagnostic::Diagnostic, guard::catch, policy::Escape, serde_json::Value,
};

use super::{
    add_prompt_with_messages, described_prompt, offer_prompt,
    serve::{
        ListDiagnostics, RUN_PROMPT, change_signal, hidden_item_diagnostic, served_prompt_name,
        unusable_item_diagnostic,
    },
};
use crate::{
    catalogue::{Catalogue, CatalogueChange, CatalogueItem, CatalogueSnapshot, json_input},
    prompt::Prompt,
};

/// The most characters of a name that an error shows.
const MAX_SHOWN_CHARS: usize = 100;

/// The prompts of a catalogue, under their names for clients.
pub(super) struct ServedPrompts {
    catalogue: Catalogue,
    /// Clients may run prompts.
    runs_prompts: bool,
    changes: ChangeSignal,
    diagnostics: ListDiagnostics,
}

impl ServedPrompts {
    pub(super) fn new(catalogue: Catalogue, runs_prompts: bool) -> Self {
        let changes = change_signal(&catalogue, |change| match change {
            CatalogueChange::Prompts => Some(OfferChange::List),
            _ => None,
        });
        Self { catalogue, runs_prompts, changes, diagnostics: ListDiagnostics::default() }
    }

    async fn list_page(
        &self,
        run: &Arc<RunContext>,
        page: Paging<'_>,
    ) -> Result<Page<model::Prompt>, ToolError> {
        let items = snapshot_of(&self.catalogue, run).await?;
        let mut diagnostics = items.diagnostics().to_vec();
        let (mut names, mut served) = (HashSet::new(), Vec::new());
        for item in items.in_lookup_order() {
            let Some(prompt) = item.prompt() else { continue };
            let name = served_prompt_name(item);
            if !names.insert(name.clone()) {
                diagnostics.push(hidden_item_diagnostic(item, &name));
                continue;
            }
            match catch(|| described_prompt(prompt.definition())) {
                Ok(mut described) => {
                    described.name = name;
                    served.push(described);
                }
                Err(panic) => diagnostics.push(unusable_item_diagnostic(item.key(), panic.message())),
            }
        }
        self.diagnostics.replace(diagnostics);
        Ok(page.of(served, |prompt| &prompt.name))
    }

    /// Returns the prompt of a name for clients.
    async fn find_prompt(&self, run: &Arc<RunContext>, name: &str) -> Result<Arc<dyn Prompt>, ToolError> {
        // A prompt of the program does not wait for connectors.
        if let Some(prompt) = self.catalogue.builtin_prompt(name) {
            return Ok(prompt);
        }
        let items = snapshot_of(&self.catalogue, run).await?;
        let (_, prompt) = find_item(&items, name)?;
        Ok(Arc::clone(prompt))
    }

    async fn get_messages(
        &self,
        run: &Arc<RunContext>,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<GetPromptResult, ToolError> {
        if !self.is_run_requested(run)? {
            let prompt = self.find_prompt(run, name).await?;
            let own_name = prompt.definition().name().to_owned();
            return offer_prompt(PromptSet::new(), prompt).get(run, &own_name, arguments).await;
        }
        let items = snapshot_of(&self.catalogue, run).await?;
        let (item, prompt) = find_item(&items, name)?;
        let own_name = prompt.definition().name();
        let (catalogue, item, items, called) =
            (self.catalogue.clone(), item.clone(), items.clone(), Arc::clone(prompt));
        let offered = add_prompt_with_messages(PromptSet::new(), Arc::clone(prompt), move |run, input| {
            let (catalogue, item, items, prompt) =
                (catalogue.clone(), item.clone(), items.clone(), Arc::clone(&called));
            async move {
                let output =
                    catalogue.call_prompt(&item, &prompt, &items, &run, vec![json_input(&input)]).await?;
                let content = output.content();
                Ok(content.iter().map(|content| (model::Role::Assistant, content.clone())).collect())
            }
        });
        let mut result = offered.get(run, own_name, arguments).await?;
        result.meta.get_or_insert_default().0.insert(RUN_PROMPT.to_owned(), Value::Bool(true));
        Ok(result)
    }

    /// Returns `true` if the request runs its prompt.
    fn is_run_requested(&self, run: &RunContext) -> Result<bool, ToolError> {
        match run.meta().get(RUN_PROMPT) {
            None | Some(Value::Bool(false)) => Ok(false),
            Some(Value::Bool(true)) if self.runs_prompts => Ok(true),
            Some(Value::Bool(true)) => Err(ToolError::bad_parameter(format!(
                "this server runs no prompts; send the request without `{RUN_PROMPT}` in its `_meta`"
            ))),
            Some(_) => Err(ToolError::bad_parameter(format!(
                "`{RUN_PROMPT}` in the `_meta` of the request is no boolean; send `true` or `false`"
            ))),
        }
    }
}

pub(super) async fn snapshot_of(
    catalogue: &Catalogue,
    run: &Arc<RunContext>,
) -> Result<CatalogueSnapshot, ToolError> {
    catalogue.snapshot(run).await.map_err(|error| ToolError::failed(error.to_string()))
}

fn find_item<'a>(
    items: &'a CatalogueSnapshot,
    name: &str,
) -> Result<(&'a CatalogueItem, &'a Arc<dyn Prompt>), ToolError> {
    let mut prompts = items.in_lookup_order().filter_map(|item| Some((item, item.prompt()?)));
    prompts.find(|(item, _)| served_prompt_name(item) == name).ok_or_else(|| {
        let shown = Escape::LINE.at_most(MAX_SHOWN_CHARS).text(name);
        ToolError::not_found(format!(
            "there is no prompt `{shown}`; list the prompts for those that there are"
        ))
    })
}

impl Prompts for ServedPrompts {
    fn list<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        page: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<model::Prompt>, ToolError>> {
        Box::pin(self.list_page(run, page))
    }

    fn get<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        name: &'a str,
        arguments: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<GetPromptResult, ToolError>> {
        Box::pin(self.get_messages(run, name, arguments))
    }

    fn complete<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        completing: Completing<'a>,
    ) -> BoxFuture<'a, Result<Vec<String>, ToolError>> {
        Box::pin(async move {
            let prompt = self.find_prompt(run, completing.of).await?;
            Ok(super::candidates_of(prompt.definition(), completing.argument, completing.value))
        })
    }

    fn completes(&self) -> bool {
        // Prompts with candidates come and go.
        true
    }

    fn changes(&self) -> Option<&ChangeSignal> {
        Some(&self.changes)
    }

    fn diagnostics(&self) -> Vec<Diagnostic> {
        self.diagnostics.take()
    }
}
