//! A toolset in a toolbox, with its last listing.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tool_core::{ReadonlyContext, Tool, ToolError};

use super::ToolboxDeferral;
use crate::{
    Registry, ToolSet,
    guard::discard,
    panics::run_component,
    registry::{BuildDiagnostic, BuildError, Entry},
    toolset::identity,
};

pub(super) struct AttachedSet {
    /// Read when the toolset was added: it is not called while a lock is held.
    pub(super) name: String,
    pub(super) set: Arc<dyn ToolSet>,
    last: Mutex<Option<Arc<SetListing>>>,
}

/// The compiled listing of a toolset.
#[derive(Default)]
pub(super) struct SetListing {
    user: Option<String>,
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) diagnostics: Vec<BuildDiagnostic>,
}

/// The result of listing a toolset.
pub(super) struct ListingOutcome {
    pub(super) listing: Arc<SetListing>,
    /// The reason why the listing is not current.
    pub(super) error: Option<ToolError>,
}

impl AttachedSet {
    pub(super) fn new(set: Arc<dyn ToolSet>) -> Self {
        Self { name: set.name().to_owned(), set, last: Mutex::default() }
    }

    /// Creates a toolset with compiled `entries`.
    pub(super) fn compiled(set: Arc<dyn ToolSet>, entries: Vec<Arc<Entry>>) -> Self {
        let listing = SetListing { entries, ..SetListing::default() };
        Self { last: Mutex::new(Some(Arc::new(listing))), ..Self::new(set) }
    }

    fn last(&self) -> Option<Arc<SetListing>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lists the tools for this run; if the toolset fails, returns its last listing for the same user.
    pub(super) async fn list(
        &self,
        cx: ReadonlyContext<'_>,
        base: &Registry,
        deferral: &ToolboxDeferral,
    ) -> ListingOutcome {
        match run_component("the set", || self.set.tools(cx)).await.and_then(|result| result) {
            Ok(tools) => {
                let last = self.last();
                let listing = SetListing::new(cx.user(), tools, last.as_deref(), |tool| {
                    base.compile_unless_deferred(tool, |name| deferral.is_deferred(name))
                });
                let listing = Arc::new(listing);
                // Tools are dropped outside the lock.
                let _before =
                    self.last.lock().unwrap_or_else(PoisonError::into_inner).replace(Arc::clone(&listing));
                ListingOutcome { listing, error: None }
            }
            Err(error) => {
                let last = self.last().filter(|last| last.user.as_deref() == cx.user());
                ListingOutcome { listing: last.unwrap_or_default(), error: Some(error) }
            }
        }
    }
}

impl SetListing {
    /// Compiles the `tools` that are not among the `last` ones.
    fn new(
        user: Option<&str>,
        tools: Vec<Arc<dyn Tool>>,
        last: Option<&Self>,
        compile: impl Fn(&Arc<dyn Tool>) -> Result<Arc<Entry>, BuildError>,
    ) -> Self {
        let last = last.map(|last| last.entries.as_slice()).unwrap_or_default();
        let known: HashMap<_, _> = last.iter().map(|entry| (identity(entry.tool()), entry)).collect();
        let mut listing = Self { user: user.map(str::to_owned), ..Self::default() };
        for tool in tools {
            match known.get(&identity(&tool)) {
                Some(entry) => listing.entries.push(Arc::clone(entry)),
                None => match compile(&tool) {
                    Ok(entry) => listing.entries.push(entry),
                    Err(error) => listing.diagnostics.extend(error.diagnostics),
                },
            }
            discard(tool);
        }
        listing
    }
}
