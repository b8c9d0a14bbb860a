//! Lists of items: filters and pages.

use super::{CatalogueItem, CatalogueSnapshot, ItemKind};

/// The maximum number of items of a page.
const MAX_PAGE_ITEMS: usize = 100;

/// A filter of items, and the part of them that is listed. Filters that are empty let all pass.
///
/// # Examples
///
/// ```
/// use tool_kit::catalogue::{ItemKind, ItemQuery};
///
/// let query = ItemQuery::all().in_namespace("library").of_kind(ItemKind::Prompt).at(100);
/// # drop(query);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct ItemQuery {
    namespaces: Vec<String>,
    kinds: Vec<ItemKind>,
    names: Vec<String>,
    offset: usize,
    limit: Option<usize>,
}

/// A part of a list of items: tools, then prompts, then resources, each by key.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ItemPage {
    /// The items.
    pub items: Vec<CatalogueItem>,
    /// The number of all items that pass the filters.
    pub count: usize,
    /// The number of items before those of the page.
    pub offset: usize,
    /// The number of items that a page has at most: the requested one, but no more than 100 and than there are.
    pub limit: usize,
}

impl ItemQuery {
    /// Creates a query without filters, of the first page.
    pub fn all() -> Self {
        Self::default()
    }

    /// Adds a namespace to those that pass.
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespaces.push(namespace.into());
        self
    }

    /// Adds a kind to those that pass.
    pub fn of_kind(mut self, kind: ItemKind) -> Self {
        self.kinds.push(kind);
        self
    }

    /// Adds a name or a URI to those that pass, with its namespace or without it.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// Leaves out the first `offset` items.
    pub fn at(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// Sets the maximum number of items, up to 100. Default: 100.
    pub fn at_most(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    fn has_no_condition(&self) -> bool {
        self.namespaces.is_empty() && self.kinds.is_empty() && self.names.is_empty()
    }

    fn matches_item(&self, item: &CatalogueItem) -> bool {
        let has = |names: &[String], name: &str| names.iter().any(|it| it == name);
        (self.namespaces.is_empty() || has(&self.namespaces, item.namespace()))
            && (self.kinds.is_empty() || self.kinds.contains(&item.kind()))
            && (self.names.is_empty() || has(&self.names, item.key()) || has(&self.names, item.name()))
    }
}

impl CatalogueSnapshot {
    /// Lists items. An unknown namespace or name has none.
    #[must_use]
    pub fn list(&self, query: &ItemQuery) -> ItemPage {
        let all = self.items();
        let passing: Vec<&CatalogueItem>;
        let (count, offset) = match query.has_no_condition() {
            true => {
                passing = all.iter().skip(query.offset).take(MAX_PAGE_ITEMS).collect();
                (all.len(), 0)
            }
            false => {
                passing = all.iter().filter(|item| query.matches_item(item)).collect();
                (passing.len(), query.offset)
            }
        };
        let limit = query.limit.unwrap_or(MAX_PAGE_ITEMS).min(MAX_PAGE_ITEMS).min(count);
        let items = passing.into_iter().skip(offset).take(limit).cloned().collect();
        ItemPage { items, count, offset: query.offset, limit }
    }
}
