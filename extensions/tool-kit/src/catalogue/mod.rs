//! The catalogue: tools, prompts and resources of a program and of others, in one list.
//!
//! | type | purpose |
//! | --- | --- |
//! | [`Catalogue`] | the union of all items: add, remove, connect |
//! | [`Connector`] | the items of one namespace |
//! | [`ConnectorSource`], [`ConnectorFactory`] | connections that [`Catalogue::run`] makes, and makes again |
//! | [`ConnectorInfo`], [`ConnectorState`] | the connectors of a catalogue, connected or not |
//! | [`UserItems`] | the prompts and resources that a user stored: the namespace `user` |
//! | [`CatalogueSnapshot`], [`CatalogueItem`] | one consistent state: look-up and list |
//! | [`ItemQuery`], [`ItemPage`] | a filter, and a part of the list |
//! | [`Delegate`], [`PromptCall`] | the code that runs prompts when they are called |
//! | [`PromptTool`] | a prompt as a tool for a model |
//! | [`CatalogueListener`], [`CatalogueEvent`] | notification of changes |

mod call;
mod connector;
mod connectors;
mod discovery;
mod edit;
mod event;
mod gathering;
mod item_json;
mod key;
mod object_schema;
mod prompt_call;
mod prompt_tool;
mod query;
#[cfg(feature = "mcp")]
mod served_parts;
mod snapshot;
mod templates;
mod user_items;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use futures_util::future::join3;
use tool_runtime::{RunContext, Toolbox, registry::BuildError};

use self::connectors::VisibleNamespaces;
#[cfg(feature = "mcp")]
pub(crate) use self::templates::first_matching_resource;
pub use self::{
    call::json_input,
    connector::{Connector, ConnectorNotifier},
    connectors::{ConnectorFactory, ConnectorInfo, ConnectorSource, ConnectorState},
    event::{CatalogueChange, CatalogueEvent, CatalogueListener},
    prompt_call::{Delegate, PromptCall},
    prompt_tool::PromptTool,
    query::{ItemPage, ItemQuery},
    snapshot::{CatalogueItem, CatalogueSnapshot, ItemKind, ItemObject},
    user_items::{UserItemList, UserItems},
};
#[cfg(feature = "agent")]
pub(crate) use self::{
    call::require_json_text,
    object_schema::{ObjectSchema, unwrapped_text},
};
use crate::{prompt::Prompt, resource::ReadableResource};

/// The namespace of the items of the program itself.
pub const BUILTIN: &str = "builtin";

/// The namespace of the items that the user of a run stored.
pub const USER: &str = "user";

/// The separator between the namespace and the name of an item, for models and other programs.
pub(crate) const NAMESPACE_SEPARATOR: &str = "__";

/// Tools, prompts and resources from the program and from [connectors](Connector). Cheap to clone; clones are the same catalogue.
///
/// The items of the program are those of the namespace `builtin`, each connector has a namespace of its own, and `user` has those that the
/// [user of a run](UserItems) stored. Tools live in a
/// [`Toolbox`], so that rules, approval, pins and dialects work as everywhere: a model sees the tools of a connector as
/// `<namespace>__<name>`. Look-up and list read a [snapshot](Self::snapshot).
///
/// # Keys
///
/// | key | item |
/// | --- | --- |
/// | `search` | a tool, or else a prompt: of the program, or else of the first connector that has one, or else of the user |
/// | `library.search` | the one of the namespace `library`; `builtin.search`: of the program |
/// | `notes://today` | a resource; other spellings of an equal URI find it, too; [`CatalogueSnapshot::resource`] also reads by [templates](Self::add_template) |
/// | `notes://today#library` | the one of the namespace `library` |
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tool_kit::{catalogue::{Catalogue, ItemQuery}, prompt::PromptFile, resource::StoredResource};
/// use tool_runtime::{RunContext, Toolbox, prelude::*};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main] async fn main() -> anyhow::Result<()> {
/// let catalogue = Catalogue::of_tools(Toolbox::from_registry(&Registry::builder().tool::<add>().build()?));
/// catalogue.add_prompt(PromptFile::parse("---\nname: explain\n---\nExplain {{ .topic }}.")?)?;
/// catalogue.add_resource(StoredResource::text("notes", "Buy milk.")?);
///
/// let snapshot = catalogue.snapshot(&Arc::new(RunContext::new())).await?;
/// let keys: Vec<_> = snapshot.list(&ItemQuery::all()).items.iter().map(|item| item.key().to_owned()).collect();
/// assert_eq!(keys, ["add", "explain", "text:notes"]);
/// let tool = snapshot.lookup("add")?.tool().unwrap().definition().name();
/// assert_eq!(snapshot.tools().call(tool, r#"{ "a": 2, "b": 3 }"#).await?.text(), "5");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Catalogue {
    inner: Arc<CatalogueInner>,
    callers: call::Callers,
}

struct CatalogueInner {
    tools: Toolbox,
    state: RwLock<Arc<State>>,
    connectors: connectors::ConnectorTable,
    user_items: RwLock<Option<Arc<dyn UserItems>>>,
    events: event::EventHub,
}

/// The items beside the tools. Both maps are shared with the snapshots that are being made.
#[derive(Clone, Default)]
struct State {
    /// By name.
    prompts: Arc<BTreeMap<Arc<str>, Arc<dyn Prompt>>>,
    /// By the one spelling of equal URIs.
    resources: Arc<BTreeMap<Arc<str>, Arc<dyn ReadableResource>>>,
    templates: templates::Templates,
}

impl Default for Catalogue {
    fn default() -> Self {
        Self::of_tools(Toolbox::new())
    }
}

impl Catalogue {
    /// Creates an empty catalogue.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a catalogue with the tools of a toolbox. Its toolsets are namespaces.
    #[must_use]
    pub fn of_tools(tools: Toolbox) -> Self {
        let inner = CatalogueInner {
            tools,
            state: RwLock::default(),
            connectors: connectors::ConnectorTable::default(),
            user_items: RwLock::default(),
            events: event::EventHub::default(),
        };
        Self { inner: Arc::new(inner), callers: call::Callers::default() }
    }

    /// Returns the toolbox of the catalogue, by which tools are added and removed.
    #[must_use]
    pub fn tools(&self) -> &Toolbox {
        &self.inner.tools
    }

    /// Takes a snapshot of all items for `run`.
    ///
    /// All connectors, toolsets and the items of the user are listed concurrently, without a timeout: each limits its own time. One that fails or panics costs its
    /// own items, with a [diagnostic](CatalogueSnapshot::diagnostics). Dropping the future cancels the listing.
    ///
    /// # Errors
    ///
    /// As [`Toolbox::snapshot`].
    pub async fn snapshot(&self, run: &Arc<RunContext>) -> Result<CatalogueSnapshot, BuildError> {
        let (state, before) = (self.state(), self.inner.connectors.state());
        let connectors: Vec<_> = before.listed_connectors().cloned().collect();
        let (tools, mut listed, user) = join3(
            self.inner.tools.snapshot(run),
            gathering::list_items_of_connectors(&connectors, run),
            gathering::list_user_items(self.user_items(), run),
        )
        .await;
        gathering::add_diagnostics(&connectors, &mut listed);
        let visible = VisibleNamespaces::new(&before, &self.inner);
        Ok(gathering::gather_items(&state, listed, tools?, user, &visible).with_templates(&state.templates))
    }

    /// Creates a listener for later changes.
    #[must_use]
    pub fn subscribe(&self) -> CatalogueListener {
        self.inner.events.subscribe(self.inner.tools.subscribe())
    }

    fn state(&self) -> Arc<State> {
        Arc::clone(&self.inner.state.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        let connectors = self.connectors();
        let connectors: Vec<_> = connectors.iter().map(|it| (&it.key, it.state)).collect();
        f.debug_struct("Catalogue")
            .field("tools", &self.inner.tools)
            .field("prompts", &state.prompts.keys().collect::<Vec<_>>())
            .field("resources", &state.resources.keys().collect::<Vec<_>>())
            .field("connectors", &connectors)
            .finish()
    }
}
