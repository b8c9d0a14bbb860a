//! The namespaces whose items a snapshot has.

use std::{collections::HashSet, sync::Arc};

use tool_runtime::guard::catch;

use super::table::TableState;
use crate::catalogue::CatalogueInner;

/// Tells which connectors were listed from before the items of a snapshot were listed until after it. One that came or went meanwhile may have tools
/// and no prompts, and is left out: it is announced after it has come, and after it has gone.
pub(in crate::catalogue) struct VisibleNamespaces {
    stable: HashSet<Arc<str>>,
    /// Of connectors that came or went.
    hidden: HashSet<Arc<str>>,
    /// The toolsets that there are now, if a connector came or went.
    toolsets: Option<HashSet<String>>,
}

impl VisibleNamespaces {
    /// Compares the state before the listing with the present one.
    pub(in crate::catalogue) fn new(before: &TableState, inner: &CatalogueInner) -> Self {
        let mut now = inner.connectors.state();
        // One that came and went during the listing is in neither state, and its toolset is gone by now.
        let mut toolsets = None;
        while before.attachments != now.attachments {
            toolsets = Some(inner.tools.toolsets());
            let after = inner.connectors.state();
            if Arc::ptr_eq(&now, &after) {
                break;
            }
            // One of these toolsets may be of a connector that came after that state.
            now = after;
        }
        let listed: HashSet<u64> = now.listed_connectors().map(|attached| attached.id).collect();
        let stable: HashSet<_> = before
            .listed_connectors()
            .filter(|attached| listed.contains(&attached.id))
            .map(|attached| Arc::clone(&attached.namespace))
            .collect();
        let all =
            before.attached_connectors().chain(now.attached_connectors()).map(|attached| &attached.namespace);
        let hidden: HashSet<_> = all.filter(|namespace| !stable.contains(*namespace)).cloned().collect();
        let toolsets =
            toolsets.map(|sets| sets.iter().filter_map(|set| catch(|| set.name().to_owned()).ok()).collect());
        Self { stable, hidden, toolsets }
    }

    /// Returns `true` if a snapshot has the items of the namespace.
    pub(in crate::catalogue) fn contains(&self, namespace: &str) -> bool {
        let is_toolset = || self.toolsets.as_ref().is_none_or(|toolsets| toolsets.contains(namespace));
        self.stable.contains(namespace) || (!self.hidden.contains(namespace) && is_toolset())
    }
}
