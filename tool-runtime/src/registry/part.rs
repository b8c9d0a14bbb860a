//! Registries that share compiled tools with another one.

use std::{collections::BTreeMap, sync::Arc};

use tool_core::{ProvidedValues, SharedRequestHook, Tool, ToolError};

use super::{
    BuildDiagnostic, BuildError, Deferral, Entry, OUTPUT_TOOL, Origin, Origins, Registry, RegistrySettings,
    ToolFacts,
    reserved::{refuse_misnamed_output_tool, refuse_reserved_tool},
};
use crate::{
    arguments::{Lenience, Repair},
    guard::catch,
    toolset::NamedTools,
};

impl Registry {
    /// Returns a registry with the tools of these names, and an error with close names for each unknown name.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::prelude::*;
    ///
    /// /// Runs a command.
    /// #[tool]
    /// fn bash(command: String) -> String {
    ///     command
    /// }
    ///
    /// let tools = Registry::builder().tool::<bash>().build()?;
    /// let (some, unknown) = tools.resolve(["bash", "bush"]);
    /// assert_eq!(some.len(), 1);
    /// assert_eq!(unknown[0].feedback(), "Tool not found: bush\nDid you mean `bash`?");
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    #[must_use]
    pub fn resolve<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> (Self, Vec<ToolError>) {
        let (mut found, mut unknown) = (BTreeMap::new(), Vec::new());
        for name in names {
            let name = name.as_ref();
            match self.inner.by_name.get(name).and_then(|at| self.inner.entries.get(*at)) {
                Some(entry) => drop(found.insert(entry.definition().name(), Arc::clone(entry))),
                None => unknown.push(self.unknown_tool_error(name)),
            }
        }
        (self.with_entries_of_this(found.into_values().collect()), unknown)
    }

    /// Returns the tools that belong to a toolset, as one registry per toolset: those of
    /// `#[tool(toolset = "..")]`, and the methods of a `#[toolset]`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{ToolSet, prelude::*};
    ///
    /// /// Adds two numbers.
    /// #[tool(toolset = "math")]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// let sets = Registry::builder().tool::<add>().build()?.toolsets();
    /// assert_eq!(sets[0].name(), "math");
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    #[must_use]
    pub fn toolsets(&self) -> Vec<NamedTools> {
        let mut sets: BTreeMap<&str, Vec<Arc<dyn Tool>>> = BTreeMap::new();
        for entry in self.entries() {
            if let Some(set) = &entry.definition().metadata().toolset {
                sets.entry(set).or_default().push(Arc::clone(entry.tool()));
            }
        }
        sets.into_iter().map(|(name, tools)| NamedTools::new(name, tools)).collect()
    }

    /// Returns a registry with the same tools, and with `tool` as the tool by which a model submits its final output,
    /// in place of a previous one. Its name must be [`OUTPUT_TOOL`], which is reserved for it.
    ///
    /// # Errors
    ///
    /// Returns an error if the tool has another name or is invalid.
    pub fn with_output_tool(&self, tool: impl Tool + 'static) -> Result<Self, BuildError> {
        let output = self.compile_output_tool(&(Arc::new(tool) as Arc<dyn Tool>))?;
        let others = self.inner.entries.iter().filter(|entry| *entry.definition().name() != *OUTPUT_TOOL);
        let mut entries: Vec<_> = others.cloned().collect();
        let at = entries.partition_point(|entry| entry.definition().name().as_str() < OUTPUT_TOOL);
        entries.insert(at, output);
        Ok(self.with_entries_of_this(entries))
    }

    /// Returns a registry with the same tools, and with `tool` as a tool that an agent needs to work, such as a transfer to another
    /// agent: no [`Visibility`](crate::toolbox::Visibility) hides it. It takes the place of a tool of its name.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{
    ///     Executor, RunContext, executor::RunSettings, prelude::*, schema::InputSchema,
    ///     toolbox::{Origin, Visibility},
    /// };
    ///
    /// /// Adds two numbers.
    /// #[tool(register = false)]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// let schema = InputSchema::new(json!({ "type": "object" }))?;
    /// let leave = ToolBuilder::new("leave").description("Ends the conversation.").input_schema(schema).external()?;
    /// let tools = Registry::builder().tool::<add>().build()?.with_framework_tool(leave)?;
    /// assert_eq!(tools.origin("leave"), Some(&Origin::Framework));
    /// let settings = RunSettings::new().show(Visibility::all().only(["nothing"]));
    /// let executor = Executor::new(tools).with_settings(&RunContext::new(), settings)?;
    /// let names: Vec<_> = executor.tools().definitions().iter().map(|it| it.name().as_str()).collect();
    /// assert_eq!(names, ["leave"]);
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the name of the tool is reserved, or if it is invalid.
    pub fn with_framework_tool(&self, tool: impl Tool + 'static) -> Result<Self, BuildError> {
        let entry = self.compile(&(Arc::new(tool) as Arc<dyn Tool>))?;
        let name = entry.definition().name().clone();
        let mut entries: Vec<_> =
            self.inner.entries.iter().filter(|it| *it.definition().name() != name).cloned().collect();
        let at = entries.partition_point(|it| it.definition().name() < &name);
        entries.insert(at, entry);
        let mut origins = self.inner.available.origins().map(|it| Origins::clone(it)).unwrap_or_default();
        origins.insert(name, Origin::Framework);
        Ok(self.with_entries_and_hooks(entries, &[], origins, false))
    }

    /// Returns a registry with the tools and request hooks of this one and of `other`. Provided values and other settings are those of
    /// this one; the tools of `other` keep their strictness and repair. A tool that both share is kept once.
    ///
    /// # Errors
    ///
    /// Returns an error if two tools have one name, or if this registry does not provide a value that a tool of `other` requires.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::prelude::*;
    ///
    /// /// Adds two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// /// Multiplies two numbers.
    /// #[tool]
    /// fn multiply(a: i64, b: i64) -> i64 {
    ///     a * b
    /// }
    ///
    /// let sums = Registry::builder().tool::<add>().build()?;
    /// let products = Registry::builder().tool::<multiply>().build()?;
    /// let both = sums.with_tools_of(&products)?;
    /// assert_eq!(both.len(), 2);
    /// let error = both.with_tools_of(&Registry::builder().tool::<add>().build()?).unwrap_err();
    /// assert!(error.to_string().contains("`add`"));
    /// # Ok::<(), tool_runtime::registry::BuildError>(())
    /// ```
    pub fn with_tools_of(&self, other: &Self) -> Result<Self, BuildError> {
        let mut diagnostics = Vec::new();
        let mut entries = self.inner.entries.to_vec();
        for entry in other.inner.entries.iter() {
            let name = entry.definition().name();
            match self.inner.by_name.get(name).and_then(|index| self.inner.entries.get(*index)) {
                Some(own) if Arc::ptr_eq(own, entry) => {}
                Some(own) => {
                    let sites = vec![own.facts().site, entry.facts().site];
                    diagnostics.push(BuildDiagnostic::Duplicate { name: name.to_string(), sites });
                }
                None => entries.push(Arc::clone(entry)),
            }
            // The values of a toolbox's tools may come with each run.
            if !self.is_live() {
                diagnostics.extend(self.missing_values(entry, &ProvidedValues::default()));
            }
        }
        if !diagnostics.is_empty() {
            return Err(BuildError { diagnostics });
        }
        entries.sort_unstable_by(|one, other| one.definition().name().cmp(other.definition().name()));
        let (settings, origins) = (Arc::clone(&self.inner.settings), self.inner.available.origins().cloned());
        let hooks = [self.request_hooks(), other.request_hooks()].concat();
        let hides_secret = self.has_secret() || other.has_secret();
        let deferral = Deferral::union(self.inner.deferral.as_deref(), other.inner.deferral.as_deref());
        Ok(Self::from_entries(entries, settings, hooks, origins, hides_secret, deferral.as_ref()))
    }

    /// Returns a registry of some `entries` of this one, sorted by name.
    pub(crate) fn with_entries_of_this(&self, entries: Vec<Arc<Entry>>) -> Self {
        self.with_entries(entries, Arc::clone(&self.inner.settings))
    }

    fn with_entries(&self, entries: Vec<Arc<Entry>>, settings: Arc<RegistrySettings>) -> Self {
        self.with_settings(entries, settings, self.inner.deferral.as_deref())
    }

    /// Returns a registry of some `entries` of this one, sorted by name, of which `deferral` defers some.
    pub(super) fn with_entries_and_deferral(
        &self,
        entries: Vec<Arc<Entry>>,
        deferral: Option<&Deferral>,
    ) -> Self {
        self.with_settings(entries, Arc::clone(&self.inner.settings), deferral)
    }

    fn with_settings(
        &self,
        entries: Vec<Arc<Entry>>,
        settings: Arc<RegistrySettings>,
        deferral: Option<&Deferral>,
    ) -> Self {
        let (hooks, origins) = (self.request_hooks().to_vec(), self.inner.available.origins().cloned());
        Self::from_entries(entries, settings, hooks, origins, self.has_secret(), deferral)
    }

    /// Returns a registry of `entries`, sorted by name, with the settings of this one and more request hooks;
    /// `hides_secret` is `true` if a tool that was filtered out has a secret parameter.
    pub(crate) fn with_entries_and_hooks(
        &self,
        entries: Vec<Arc<Entry>>,
        hooks: &[SharedRequestHook],
        origins: Origins,
        hides_secret: bool,
    ) -> Self {
        self.with_origins(entries, hooks, origins, hides_secret, self.inner.deferral.as_deref())
    }

    pub(super) fn with_origins(
        &self,
        entries: Vec<Arc<Entry>>,
        hooks: &[SharedRequestHook],
        origins: Origins,
        hides_secret: bool,
        deferral: Option<&Deferral>,
    ) -> Self {
        let hooks = [self.request_hooks(), hooks].concat();
        let (settings, hides_secret) = (Arc::clone(&self.inner.settings), hides_secret || self.has_secret());
        Self::from_entries(entries, settings, hooks, Some(Arc::new(origins)), hides_secret, deferral)
    }

    /// Returns the same tools with another lenience, where they have none of their own.
    pub(crate) fn with_lenience(&self, coercion: Option<bool>, repair: Option<Repair>) -> Self {
        let RegistrySettings { provided, per_run, lenience, nothing_discovered } = &*self.inner.settings;
        let lenience = Lenience {
            coercion: coercion.unwrap_or(lenience.coercion),
            repair: repair.unwrap_or(lenience.repair),
        };
        let settings = RegistrySettings {
            provided: Arc::clone(provided),
            per_run: per_run.clone(),
            lenience,
            nothing_discovered: *nothing_discovered,
        };
        let entries = self.inner.entries.iter().map(|it| Arc::new(it.with_lenience(coercion, repair)));
        self.with_entries(entries.collect(), Arc::new(settings))
    }

    pub(crate) fn entries(&self) -> &[Arc<Entry>] {
        &self.inner.entries
    }

    /// Compiles `tool` with the settings of this registry.
    pub(crate) fn compile(&self, tool: &Arc<dyn Tool>) -> Result<Arc<Entry>, BuildError> {
        self.compile_unless(tool, refuse_reserved_tool, Entry::new)
    }

    /// Compiles the output tool, as [`compile`](Self::compile).
    pub(crate) fn compile_output_tool(&self, tool: &Arc<dyn Tool>) -> Result<Arc<Entry>, BuildError> {
        self.compile_unless(tool, |facts| refuse_misnamed_output_tool(facts.definition.name()), Entry::new)
    }

    pub(super) fn compile_unless(
        &self,
        tool: &Arc<dyn Tool>,
        refuse: impl FnOnce(&ToolFacts) -> Option<BuildDiagnostic>,
        create: impl FnOnce(Arc<dyn Tool>, ToolFacts, Lenience, &mut Vec<BuildDiagnostic>) -> Option<Entry>,
    ) -> Result<Arc<Entry>, BuildError> {
        let unusable = |diagnostic| BuildError { diagnostics: vec![diagnostic] };
        let facts =
            ToolFacts::of(&**tool).map_err(|message| unusable(BuildDiagnostic::of_unnamed_tool(message)))?;
        if let Some(diagnostic) = refuse(&facts) {
            return Err(unusable(diagnostic));
        }
        let (name, site) = (facts.definition.name().clone(), facts.site);
        let mut diagnostics = Vec::new();
        let lenience = self.inner.settings.lenience;
        match catch(|| create(Arc::clone(tool), facts, lenience, &mut diagnostics)) {
            Ok(Some(entry)) if diagnostics.is_empty() => return Ok(Arc::new(entry)),
            Ok(_) => {}
            Err(panic) => {
                let (tool, message) = (name.to_string(), panic.into_message());
                diagnostics.push(BuildDiagnostic::Panicked { tool, site, message });
            }
        }
        Err(BuildError { diagnostics })
    }

    /// Returns a diagnostic for each dependency of `entry` that neither the program nor the run's `provided`
    /// values satisfy.
    pub(crate) fn missing_values(&self, entry: &Entry, provided: &ProvidedValues) -> Vec<BuildDiagnostic> {
        let mut diagnostics = Vec::new();
        entry.facts().report_missing_values(
            &[self.provided(), provided],
            &self.inner.settings.per_run,
            &mut diagnostics,
        );
        diagnostics
    }
}
