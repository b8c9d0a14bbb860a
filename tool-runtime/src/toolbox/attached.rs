//! A set in a toolbox, and what it listed last.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tool_core::{ReadonlyContext, Tool, ToolError};

use crate::{
    Registry, ToolSet,
    panic_barrier::{discard, guarded},
    registry::{Entry, Problem},
    toolset::identity,
};

pub(super) struct Attached {
    /// As it was when the set was added: the set is not asked again while a lock is held.
    pub(super) name: String,
    pub(super) set: Arc<dyn ToolSet>,
    last: Mutex<Option<Arc<Listing>>>,
}

/// What a set listed, compiled.
#[derive(Default)]
pub(super) struct Listing {
    user: Option<String>,
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) problems: Vec<Problem>,
}

/// What became of a question for tools.
pub(super) struct Listed {
    pub(super) listing: Arc<Listing>,
    /// Why they are not what the set has now.
    pub(super) error: Option<ToolError>,
}

impl Attached {
    pub(super) fn new(set: Arc<dyn ToolSet>) -> Self {
        Self { name: set.name().to_owned(), set, last: Mutex::default() }
    }

    /// A set of which `entries` are compiled already.
    pub(super) fn compiled(set: Arc<dyn ToolSet>, entries: Vec<Arc<Entry>>) -> Self {
        let listing = Listing { entries, ..Listing::default() };
        Self { last: Mutex::new(Some(Arc::new(listing))), ..Self::new(set) }
    }

    fn last(&self) -> Option<Arc<Listing>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The tools for this run; where the set fails, what it listed last for the same user.
    pub(super) async fn list(&self, cx: ReadonlyContext<'_>, base: &Registry) -> Listed {
        match guarded("the set", || self.set.tools(cx)).await.flatten() {
            Ok(tools) => {
                let last = self.last();
                let listing = Arc::new(Listing::new(cx.user(), tools, last.as_deref(), base));
                // What a tool does when it is dropped, it does outside the lock.
                let _before =
                    self.last.lock().unwrap_or_else(PoisonError::into_inner).replace(Arc::clone(&listing));
                Listed { listing, error: None }
            }
            Err(error) => {
                let last = self.last().filter(|last| last.user.as_deref() == cx.user());
                Listed { listing: last.unwrap_or_default(), error: Some(error) }
            }
        }
    }
}

impl Listing {
    /// Compiles those of `tools` that were not among the `last` ones.
    fn new(user: Option<&str>, tools: Vec<Arc<dyn Tool>>, last: Option<&Self>, base: &Registry) -> Self {
        let last = last.map(|last| last.entries.as_slice()).unwrap_or_default();
        let known: HashMap<_, _> = last.iter().map(|entry| (identity(entry.tool()), entry)).collect();
        let mut listing = Self { user: user.map(str::to_owned), ..Self::default() };
        for tool in tools {
            match known.get(&identity(&tool)) {
                Some(entry) => listing.entries.push(Arc::clone(entry)),
                None => match base.compile(&tool) {
                    Ok(entry) => listing.entries.push(entry),
                    Err(error) => listing.problems.extend(error.problems),
                },
            }
            discard(tool);
        }
        listing
    }
}
