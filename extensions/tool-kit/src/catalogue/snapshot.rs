//! One consistent state of a catalogue.

use std::{collections::HashMap, fmt, sync::Arc};

use serde::Serialize;
use tool_runtime::{Registry, Tool, ToolError, diagnostic::Diagnostic, toolbox::Snapshot};

use super::key::{canonical_key, shown_key};
use crate::{
    prompt::Prompt,
    resource::{ReadableResource, ResourceTemplate},
};

/// All items of a catalogue at one time. Cheap to clone.
#[derive(Clone)]
pub struct CatalogueSnapshot {
    inner: Arc<SnapshotInner>,
    pub(super) templates: Arc<[Arc<dyn ResourceTemplate>]>,
}

struct SnapshotInner {
    tools: Snapshot,
    /// Tools, then prompts, then resources, each by key.
    items: Vec<CatalogueItem>,
    /// The places of the items in the order of look-up.
    lookup_order: Vec<usize>,
    /// The items by the keys by which they are listed.
    by_key: HashMap<Arc<str>, ItemPlaces>,
    /// The items by names and URIs without their namespaces: the first of each kind in the order of look-up.
    by_name: HashMap<Arc<str>, ItemPlaces>,
    diagnostics: Vec<Diagnostic>,
}

/// The places of the items of one key, by their kinds.
type ItemPlaces = [Option<usize>; ItemKind::KINDS.len()];

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemKind {
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource.
    Resource,
}

/// An item of a catalogue.
#[derive(Clone)]
pub struct CatalogueItem {
    namespace: Arc<str>,
    key: Arc<str>,
    name: Arc<str>,
    object: ItemObject,
}

/// The object of an item.
#[derive(Clone)]
#[non_exhaustive]
pub enum ItemObject {
    /// A tool. The snapshot's [`tools`](CatalogueSnapshot::tools) call it, validated, by the name of its definition.
    Tool(Arc<dyn Tool>),
    /// A prompt.
    Prompt(Arc<dyn Prompt>),
    /// A resource.
    Resource(Arc<dyn ReadableResource>),
}

impl ItemKind {
    const KINDS: [Self; 3] = [Self::Tool, Self::Prompt, Self::Resource];
}

impl CatalogueItem {
    pub(super) fn new(namespace: Arc<str>, key: Arc<str>, name: Arc<str>, object: ItemObject) -> Self {
        Self { namespace, key, name, object }
    }

    /// Returns the namespace; `builtin` for the items of the program.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the key by which this item is found, whatever other items there are.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the name, or the URI of a resource in the one spelling of equal ones, without the namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> ItemKind {
        match self.object {
            ItemObject::Tool(_) => ItemKind::Tool,
            ItemObject::Prompt(_) => ItemKind::Prompt,
            ItemObject::Resource(_) => ItemKind::Resource,
        }
    }

    /// Returns what it is.
    #[must_use]
    pub fn object(&self) -> &ItemObject {
        &self.object
    }

    /// Returns the tool, if it is one.
    #[must_use]
    pub fn tool(&self) -> Option<&Arc<dyn Tool>> {
        match &self.object {
            ItemObject::Tool(tool) => Some(tool),
            _ => None,
        }
    }

    /// Returns the prompt, if it is one.
    #[must_use]
    pub fn prompt(&self) -> Option<&Arc<dyn Prompt>> {
        match &self.object {
            ItemObject::Prompt(prompt) => Some(prompt),
            _ => None,
        }
    }

    /// Returns the resource, if it is one.
    #[must_use]
    pub fn resource(&self) -> Option<&Arc<dyn ReadableResource>> {
        match &self.object {
            ItemObject::Resource(resource) => Some(resource),
            _ => None,
        }
    }
}

impl CatalogueSnapshot {
    /// Creates a snapshot of items in the order of look-up: those of an earlier place count more than later ones of the same name.
    pub(super) fn new(tools: Snapshot, found: &[CatalogueItem], diagnostics: Vec<Diagnostic>) -> Self {
        let mut listed: Vec<(usize, &CatalogueItem)> = found.iter().enumerate().collect();
        listed.sort_by_key(|(_, item)| (item.kind(), &item.key));
        let mut places = vec![0; found.len()];
        for (place, (lookup, _)) in listed.iter().enumerate() {
            places[*lookup] = place;
        }
        let (mut by_key, mut by_name) =
            (HashMap::with_capacity(found.len()), HashMap::with_capacity(found.len()));
        for (item, &place) in found.iter().zip(&places) {
            for (index, text) in [(&mut by_key, &item.key), (&mut by_name, &item.name)] {
                let places: &mut ItemPlaces = index.entry(Arc::clone(text)).or_default();
                places[item.kind() as usize].get_or_insert(place);
            }
        }
        let items = listed.into_iter().map(|(_, item)| item.clone()).collect();
        let inner =
            Arc::new(SnapshotInner { tools, items, lookup_order: places, by_key, by_name, diagnostics });
        Self { inner, templates: Arc::default() }
    }

    /// Returns the tools, which call them, and are those of an [`Executor`](tool_runtime::Executor).
    #[must_use]
    pub fn tools(&self) -> &Registry {
        self.inner.tools.tools()
    }

    /// Returns the snapshot of the toolbox, with its diagnostics.
    #[must_use]
    pub fn toolbox_snapshot(&self) -> &Snapshot {
        &self.inner.tools
    }

    /// Returns the diagnostics of the lists of prompts and resources, with the namespace in each; those of tools are of the
    /// [snapshot of the toolbox](Self::toolbox_snapshot).
    ///
    /// | code | severity | problem |
    /// | --- | --- | --- |
    /// | `unlisted_items` | error | a connector failed or panicked, and these items are missing |
    /// | `unusable_item` | error | an item is left out |
    /// | `duplicate_item` | warning | an item is listed more than once, and the first one counts |
    ///
    /// Those of a [connector](super::Connector::diagnostics) itself follow, such as tools of a server that are not as they were pinned.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.inner.diagnostics
    }

    /// Returns all items: tools, then prompts, then resources, each by key.
    pub(crate) fn items(&self) -> &[CatalogueItem] {
        &self.inner.items
    }

    /// Returns the items in the order of look-up: those of the program, then those of each connector, then those of the user.
    pub fn in_lookup_order(&self) -> impl Iterator<Item = &CatalogueItem> {
        self.inner.lookup_order.iter().filter_map(|place| self.inner.items.get(*place))
    }

    /// Finds an item by its [key](super::Catalogue#keys): of several kinds, a tool counts more than a prompt.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `BadParameter` for a text that is no key, and of kind `NotFound` if there is no such item.
    pub fn lookup(&self, key: &str) -> Result<&CatalogueItem, ToolError> {
        self.find_item_by_key_or_name(key, |places| places.iter().copied().flatten().next())
    }

    /// Finds an item of one kind by its key.
    ///
    /// # Errors
    ///
    /// As [`lookup`](Self::lookup).
    pub fn lookup_kind(&self, kind: ItemKind, key: &str) -> Result<&CatalogueItem, ToolError> {
        self.find_item_by_key_or_name(key, |places| places[kind as usize])
    }

    fn find_item_by_key_or_name(
        &self,
        key: &str,
        place_of: impl Fn(&ItemPlaces) -> Option<usize>,
    ) -> Result<&CatalogueItem, ToolError> {
        let find = |text: &str| {
            // A key with a namespace counts more than a name that looks like one.
            let places = [self.inner.by_key.get(text), self.inner.by_name.get(text)];
            let place = places.into_iter().flatten().find_map(&place_of)?;
            self.inner.items.get(place)
        };
        if let Some(item) = find(key) {
            return Ok(item);
        }
        let canonical = canonical_key(key)?;
        find(&canonical).ok_or_else(|| {
            ToolError::not_found(format!(
                "there is no item `{}`; list the catalogue for those that there are",
                shown_key(key)
            ))
        })
    }
}

impl fmt::Debug for CatalogueItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.kind(), self.key)
    }
}

impl fmt::Debug for CatalogueSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.inner.items).finish()
    }
}
