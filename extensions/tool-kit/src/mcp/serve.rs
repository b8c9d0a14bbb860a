//! A catalogue as an MCP server.

use std::sync::{Mutex, PoisonError};

use tool_mcp::server::{ChangeListener, ChangeSignal, McpServer, OfferChange};
use tool_runtime::{
    BoxFuture,
    diagnostic::{Diagnostic, Severity},
    policy::Escape,
};

use super::{served_prompts::ServedPrompts, served_resources::ServedResources};
use crate::catalogue::{
    BUILTIN, Catalogue, CatalogueChange, CatalogueItem, CatalogueListener, NAMESPACE_SEPARATOR,
};

/// The member of `_meta` by which a request `prompts/get` runs its prompt, with the value `true`, where the program
/// [allows](ServedCatalogue::allow_prompt_runs) it.
pub const RUN_PROMPT: &str = "tool-kit/run";

/// The most characters of a problem that a diagnostic has.
const MAX_PROBLEM_CHARS: usize = 500;

/// The items of a catalogue for the clients of an MCP server: [`serve_catalogue`], [`offer_catalogue`].
///
/// # Names
///
/// | item | name for clients |
/// | --- | --- |
/// | tool | the one that models see: `name`, or `<namespace>__<name>` |
/// | prompt | `name` for those of the program, and else `<namespace>__<name>` |
/// | resource | the one spelling of all equal URIs; other spellings, and URIs that a [template](Catalogue::add_template) matches, are read, too |
///
/// Of several prompts with one name, and of several resources with one URI, the first in the order of look-up is served; each other one is a
/// diagnostic `hidden_item` of [`McpServer::on_diagnostic`], which has the [diagnostics](crate::catalogue::CatalogueSnapshot::diagnostics) of the
/// snapshot, too.
///
/// # Requests
///
/// Each request is a run, and reads the catalogue as it is then, with the [items of its user](crate::catalogue::UserItems): the subject of its token, if
/// the server [requires](tool_mcp::server::HttpConfig::protect) tokens, and else the user without a name. The app has no name. Tools are called with the settings of the
/// [executor](Catalogue::with_executor) of the catalogue. Arguments of prompts are read, and candidates for them found, as
/// [`offer_prompt`](super::offer_prompt) says.
///
/// All changes of the catalogue reach each client. The change of a resource reaches those that subscribed to it; one of another server is
/// announced if the program [subscribed](tool_mcp::client::McpToolSet::subscribe) to it there.
#[derive(Debug, Clone)]
pub struct ServedCatalogue {
    catalogue: Catalogue,
    runs_prompts: bool,
}

impl ServedCatalogue {
    /// Creates the items of a catalogue for clients.
    #[must_use]
    pub fn new(catalogue: &Catalogue) -> Self {
        Self { catalogue: catalogue.clone(), runs_prompts: false }
    }

    /// Allows clients to run prompts by the [delegate](Catalogue::with_delegate): a request `prompts/get` whose `_meta` has [`RUN_PROMPT`]
    /// returns the result as one message of the model. Default: such a request is an error.
    ///
    /// From revision 2026-07-28 on, a run that asks the user of the client begins again with the answer: see
    /// [`Caller`](tool_mcp::server::Caller).
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_kit::{catalogue::Catalogue, mcp::{ServedCatalogue, serve_catalogue}};
    ///
    /// let catalogue = Catalogue::new();
    /// let server = serve_catalogue(ServedCatalogue::new(&catalogue).allow_prompt_runs());
    /// ```
    #[must_use]
    pub fn allow_prompt_runs(mut self) -> Self {
        self.runs_prompts = true;
        self
    }
}

impl From<&Catalogue> for ServedCatalogue {
    fn from(catalogue: &Catalogue) -> Self {
        Self::new(catalogue)
    }
}

impl From<Catalogue> for ServedCatalogue {
    fn from(catalogue: Catalogue) -> Self {
        Self::new(&catalogue)
    }
}

/// Creates a server of all tools, prompts and resources of a catalogue: see [`ServedCatalogue`].
///
/// # Examples
///
/// ```
/// use tool_kit::{catalogue::Catalogue, mcp::serve_catalogue, prompt::PromptFile, resource::StoredResource};
///
/// # fn example() -> anyhow::Result<()> {
/// let catalogue = Catalogue::new();
/// catalogue.add_prompt(PromptFile::parse("---\nname: greet\n---\nGreet me.")?)?;
/// catalogue.add_resource(StoredResource::text("notes", "Buy milk.")?);
/// let server = serve_catalogue(&catalogue).named("shop", "1.0.0");
/// // Later: its clients receive `notifications/prompts/list_changed`.
/// catalogue.remove("greet")?;
/// # drop(server);
/// # Ok(())
/// # }
/// ```
pub fn serve_catalogue(catalogue: impl Into<ServedCatalogue>) -> McpServer {
    let catalogue = catalogue.into();
    offer_items(McpServer::new(catalogue.catalogue.tools_and_executor()), catalogue)
}

/// Offers all items of a catalogue by a server that another part of the program created: its tools are those of the catalogue, and its prompts
/// and resources are those that it has and those of the catalogue. See [`ServedCatalogue`].
///
/// # Examples
///
/// ```
/// use tool_kit::{catalogue::Catalogue, mcp::offer_catalogue};
/// use tool_mcp::server::{McpServer, ResourceSet};
/// use tool_runtime::Registry;
///
/// let catalogue = Catalogue::new();
/// let manuals = ResourceSet::new().text("manuals://start", "start", "Turn it on.");
/// let server = offer_catalogue(McpServer::new(Registry::default()).resources(manuals), &catalogue);
/// # drop(server);
/// ```
pub fn offer_catalogue(server: McpServer, catalogue: impl Into<ServedCatalogue>) -> McpServer {
    let catalogue = catalogue.into();
    offer_items(server.tools(catalogue.catalogue.tools_and_executor()), catalogue)
}

fn offer_items(server: McpServer, served: ServedCatalogue) -> McpServer {
    let ServedCatalogue { catalogue, runs_prompts } = served;
    server
        .prompts(ServedPrompts::new(catalogue.clone(), runs_prompts))
        .resources(ServedResources::new(catalogue))
}

/// Returns the name of a prompt for clients.
pub(super) fn served_prompt_name(item: &CatalogueItem) -> String {
    match item.namespace() {
        BUILTIN => item.name().to_owned(),
        namespace => format!("{namespace}{NAMESPACE_SEPARATOR}{}", item.name()),
    }
}

/// Returns the signal of the changes that `change_of` selects.
pub(super) fn change_signal(
    catalogue: &Catalogue,
    change_of: fn(CatalogueChange) -> Option<OfferChange>,
) -> ChangeSignal {
    let catalogue = catalogue.clone();
    ChangeSignal::from_listeners(move || SelectedChanges { listener: catalogue.subscribe(), change_of })
}

/// The changes of a catalogue that concern one kind of items.
struct SelectedChanges {
    listener: CatalogueListener,
    change_of: fn(CatalogueChange) -> Option<OfferChange>,
}

impl ChangeListener for SelectedChanges {
    fn next(&mut self) -> BoxFuture<'_, OfferChange> {
        Box::pin(async {
            loop {
                match self.listener.next().await {
                    Some(Ok(event)) => {
                        if let Some(change) = (self.change_of)(event.change) {
                            return change;
                        }
                    }
                    Some(Err(_)) => return OfferChange::All,
                    None => std::future::pending().await,
                }
            }
        })
    }
}

/// The diagnostics of the last list.
#[derive(Default)]
pub(super) struct ListDiagnostics(Mutex<Vec<Diagnostic>>);

impl ListDiagnostics {
    pub(super) fn replace(&self, diagnostics: Vec<Diagnostic>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = diagnostics;
    }

    pub(super) fn take(&self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the diagnostic of an item whose name or URI an earlier one has.
pub(super) fn hidden_item_diagnostic(item: &CatalogueItem, name: &str) -> Diagnostic {
    let problem = format!(
        "the item `{}` is not served: an item before it in the order of look-up has `{name}`, too; rename one of them",
        item.key()
    );
    Diagnostic::new(Severity::Warning, "hidden_item", shown_problem(&problem))
}

/// Returns the diagnostic of an item whose description panicked.
pub(super) fn unusable_item_diagnostic(item: &str, problem: &str) -> Diagnostic {
    let problem = format!("the item `{item}` is not served, because it panicked: {problem}");
    Diagnostic::new(Severity::Error, "unusable_item", shown_problem(&problem))
}

fn shown_problem(problem: &str) -> String {
    Escape::LINE.at_most(MAX_PROBLEM_CHARS).text(problem)
}
