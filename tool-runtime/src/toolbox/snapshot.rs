//! The tools of one run, taken from the current state of a toolbox.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use futures_util::future::join_all;
use tool_core::{RunContext, SharedRequestHook, ToolError, ToolName};

use super::{Origin, RunDiagnostic, RunTools, State, attached::ListingOutcome};
use crate::{
    Registry,
    guard::catch,
    panics::component_panic,
    registry::{BuildDiagnostic, BuildError, Entry, Origins},
};

/// The tools of one run at the time of the snapshot.
#[derive(Debug, Clone)]
pub struct Snapshot {
    tools: Registry,
    diagnostics: Vec<RunDiagnostic>,
}

impl Snapshot {
    /// Returns the tools.
    #[must_use]
    pub fn tools(&self) -> &Registry {
        &self.tools
    }

    /// Returns the tools, with their origins.
    #[must_use]
    pub fn into_tools(self) -> Registry {
        self.tools
    }

    /// Returns the diagnostics of the snapshot.
    #[must_use]
    pub fn diagnostics(&self) -> &[RunDiagnostic] {
        &self.diagnostics
    }

    /// Returns the origin of the tool with that name.
    #[must_use]
    pub fn origin(&self, name: &str) -> Option<&Origin> {
        self.tools.origin(name)
    }
}

/// Takes the tools of `state` and of `additions` for `run`.
pub(super) async fn snapshot(
    state: &State,
    base: &Registry,
    run: &RunContext,
    additions: &RunTools,
) -> Result<Snapshot, BuildError> {
    let cx = run.read_only();
    let listed = join_all(state.toolsets.iter().map(|set| set.list(cx, base, &state.deferral))).await;
    let mut gathering = SnapshotGathering {
        state,
        base,
        run,
        additions,
        taken: HashMap::new(),
        hidden: HashMap::new(),
        has_secret: false,
        shown: BTreeMap::new(),
        deferred: HashSet::new(),
        clashes: BTreeMap::new(),
        errors: Vec::new(),
        diagnostics: Vec::new(),
        request_hooks: state.request_hooks.clone(),
    };
    for direct in state.tools.values() {
        let origin = if direct.framework { Origin::Framework } else { Origin::Direct };
        gathering.add_if_visible_and_valid(&direct.entry, &origin);
    }
    for (set, listed) in state.toolsets.iter().zip(listed) {
        gathering.add_listing(&set.name, &listed);
        match catch(|| set.set.request_hooks()) {
            Ok(hooks) => gathering.request_hooks.extend(hooks),
            Err(panic) => gathering.add_listing_failure(&set.name, &component_panic("the set", &panic), 0),
        }
    }
    for (tools, origin) in
        [(&additions.additional, Origin::Additional), (&additions.external, Origin::External)]
    {
        for tool in tools {
            let entry = base.compile_unless_deferred(tool, |name| state.deferral.is_deferred(name));
            match entry {
                Ok(entry) => gathering.add_if_visible_and_valid(&entry, &origin),
                Err(error) => gathering.report_unusable_tool(error.diagnostics, &origin),
            }
        }
    }
    gathering.into_snapshot()
}

struct SnapshotGathering<'a> {
    state: &'a State,
    base: &'a Registry,
    run: &'a RunContext,
    additions: &'a RunTools,
    /// All names, including those of hidden tools.
    taken: HashMap<ToolName, Origin>,
    /// The names of hidden tools.
    hidden: HashMap<ToolName, Origin>,
    /// Set if some tool, visible or hidden, has a secret parameter.
    has_secret: bool,
    shown: BTreeMap<ToolName, (Arc<Entry>, Origin)>,
    deferred: HashSet<ToolName>,
    clashes: BTreeMap<ToolName, Vec<Origin>>,
    errors: Vec<BuildDiagnostic>,
    diagnostics: Vec<RunDiagnostic>,
    request_hooks: Vec<SharedRequestHook>,
}

impl SnapshotGathering<'_> {
    fn add_listing(&mut self, name: &str, listed: &ListingOutcome) {
        let listing = &listed.listing;
        if let Some(error) = &listed.error {
            self.add_listing_failure(name, error, listing.entries.len());
        }
        let origin = Origin::ToolSet(name.to_owned());
        self.report_unusable_tool(listing.diagnostics.clone(), &origin);
        for entry in &listing.entries {
            self.add_if_visible_and_valid(entry, &origin);
        }
    }

    fn add_listing_failure(&mut self, name: &str, error: &ToolError, listed_last: usize) {
        let (toolset, error) = (name.to_owned(), error.clone());
        match self.state.strict_listing {
            true => self.errors.push(BuildDiagnostic::NotListed { toolset, message: error.feedback() }),
            false => self.diagnostics.push(RunDiagnostic::NotListed { toolset, error, listed_last }),
        }
    }

    /// Adds one tool, if it is visible and valid.
    fn add_if_visible_and_valid(&mut self, entry: &Arc<Entry>, origin: &Origin) {
        let name = entry.definition().name();
        self.has_secret |= entry.has_secret();
        let taken = match self.taken.get(name) {
            Some(taken_by) if !origin.is_of_toolbox() => Some(taken_by.clone()),
            _ => None,
        };
        if let Some(taken_by) = taken {
            return self.report_dropped_tool(name, origin, taken_by);
        }
        self.taken.entry(name.clone()).or_insert_with(|| origin.clone());
        if origin.is_user_tool() && !self.is_visible(entry) {
            self.hidden.entry(name.clone()).or_insert_with(|| origin.clone());
            return;
        }
        if let Some((shown, first)) = self.shown.get(name) {
            let (shown, first) = (shown.definition().raw_name(), first.clone());
            match self.state.strict_names {
                true => {
                    let raw = entry.definition().raw_name();
                    if shown != raw {
                        let (name, raw_names) = (name.to_string(), vec![shown.to_owned(), raw.to_owned()]);
                        self.errors.push(BuildDiagnostic::ForeignClash { name, raw_names });
                    }
                    let clash = self.clashes.entry(name.clone()).or_insert_with(|| vec![first]);
                    clash.push(origin.clone());
                }
                false => self.report_dropped_tool(name, origin, first),
            }
            return;
        }
        let missing = self.base.missing_values(entry, self.run.provided());
        if !missing.is_empty() {
            return self.report_unusable_tool(missing, origin);
        }
        let is_deferred = self.state.deferral.defers(entry, origin);
        // A deferred tool that was not called yet stays as it is.
        if (!is_deferred || entry.is_compiled())
            && let Err(mistakes) = entry.compiled()
        {
            return self.drop_with_diagnostics(mistakes.to_vec(), origin);
        }
        if is_deferred {
            self.deferred.insert(name.clone());
        }
        self.shown.insert(name.clone(), (Arc::clone(entry), origin.clone()));
    }

    fn report_dropped_tool(&mut self, name: &ToolName, origin: &Origin, taken_by: Origin) {
        self.diagnostics.push(RunDiagnostic::Dropped {
            name: name.clone(),
            origin: origin.clone(),
            taken_by,
        });
    }

    /// Reports invalid direct tools as errors, and drops other invalid tools with a diagnostic.
    fn report_unusable_tool(&mut self, errors: Vec<BuildDiagnostic>, origin: &Origin) {
        match origin {
            Origin::Direct | Origin::Framework => self.errors.extend(errors),
            _ => self.drop_with_diagnostics(errors, origin),
        }
    }

    /// Reports mistakes that were not known when the tool was added: other tools of the run are not affected.
    fn drop_with_diagnostics(&mut self, mistakes: Vec<BuildDiagnostic>, origin: &Origin) {
        let diagnostic = |cause| RunDiagnostic::Unusable { origin: origin.clone(), cause };
        match self.state.strict_listing {
            true => self.errors.extend(mistakes),
            false => self.diagnostics.extend(mistakes.into_iter().map(diagnostic)),
        }
    }

    fn is_visible(&mut self, entry: &Entry) -> bool {
        let (cx, definition) = (self.run.read_only(), entry.definition());
        let shows =
            || [&self.state.visibility, &self.additions.visibility].iter().all(|it| it.shows(cx, definition));
        catch(shows).unwrap_or_else(|panic| {
            let (name, message) = (definition.name().clone(), panic.into_message());
            self.diagnostics.push(RunDiagnostic::Hidden { name, message });
            false
        })
    }

    /// Adds diagnostics for tools with the name of a hidden tool: rules for the hidden one apply to them.
    fn report_names_of_hidden_tools(&mut self) {
        for (name, (_, origin)) in &self.shown {
            if let Some(hidden) = self.hidden.get(name) {
                let (name, origin, hidden) = (name.clone(), origin.clone(), hidden.clone());
                self.diagnostics.push(RunDiagnostic::NameOfHidden { name, origin, hidden });
            }
        }
    }

    fn into_snapshot(mut self) -> Result<Snapshot, BuildError> {
        self.report_names_of_hidden_tools();
        let clash =
            |(name, origins): (ToolName, _)| BuildDiagnostic::SameName { name: name.to_string(), origins };
        self.errors.extend(self.clashes.into_iter().map(clash));
        if !self.errors.is_empty() {
            return Err(BuildError { diagnostics: self.errors });
        }
        let mut entries = Vec::with_capacity(self.shown.len());
        let mut origins = Origins::with_capacity(self.shown.len());
        for (name, (entry, origin)) in self.shown {
            entries.push(entry);
            origins.insert(name, origin);
        }
        let tools =
            self.base.of_snapshot(entries, &self.request_hooks, origins, self.has_secret, self.deferred);
        Ok(Snapshot { tools, diagnostics: self.diagnostics })
    }
}
