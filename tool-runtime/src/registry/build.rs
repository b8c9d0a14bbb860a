//! Builds a registry from the collected sources, or reports all problems.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    sync::Arc,
};

use tool_core::{Dependency, ProvidedValues, closest};

use super::{
    BuildDiagnostic, BuildError, OUTPUT_TOOL, Registry, RegistryBuilder, RegistrySettings, entry,
    reserved::refuse_reserved_tool, source::Source,
};
use crate::{arguments::Lenience, guard::catch};

/// Determines if missing provided values are problems.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    Required,
    Later,
}

impl RegistryBuilder {
    pub(super) fn build_with(self, values: Values) -> Result<Registry, BuildError> {
        let Self {
            sources,
            replacements,
            provided,
            per_run,
            expected,
            strict,
            repair,
            mut diagnostics,
            request_hooks,
            output_tool,
            nothing_discovered,
        } = self;
        let lenience = Lenience { coercion: !strict, repair };
        let mut by_name = group_by_name(sources);
        for (name, replacement) in group_by_name(replacements) {
            match by_name.entry(name) {
                Entry::Occupied(mut replaced) => drop(replaced.insert(replacement)),
                // A reserved name is reported instead of the absence of a tool with that name.
                Entry::Vacant(vacant) if vacant.key() == OUTPUT_TOOL => {
                    let site = replacement.first().and_then(Source::site);
                    diagnostics.push(BuildDiagnostic::ReservedName { name: vacant.into_key(), site });
                }
                Entry::Vacant(vacant) => {
                    diagnostics.push(BuildDiagnostic::NotReplaced { name: vacant.into_key() })
                }
            }
        }
        if let Some(tool) = output_tool {
            let others = by_name.insert(OUTPUT_TOOL.to_owned(), vec![Source::OutputTool(tool)]);
            for other in others.into_iter().flatten() {
                diagnostics
                    .push(BuildDiagnostic::ReservedName { name: OUTPUT_TOOL.to_owned(), site: other.site() });
            }
        }
        for name in expected.into_iter().filter(|name| !by_name.contains_key(name)) {
            let similar = closest(&name, by_name.keys().map(String::as_str)).map(str::to_owned);
            diagnostics.push(BuildDiagnostic::NotLinked { name, similar });
        }
        let mut entries = Vec::with_capacity(by_name.len());
        for (name, same_name) in by_name {
            let [source] = same_name.as_slice() else {
                // Sorted for deterministic output.
                let mut sites: Vec<_> = same_name.iter().map(Source::site).collect();
                sites.sort_unstable();
                let raw_names: BTreeSet<_> = same_name.iter().map(Source::raw_name).collect();
                diagnostics.push(match raw_names.len() {
                    0 | 1 => BuildDiagnostic::Duplicate { name, sites },
                    _ => BuildDiagnostic::ForeignClash { name, raw_names: raw_names.into_iter().collect() },
                });
                continue;
            };
            let values = (values == Values::Required).then_some((&provided, &*per_run));
            let outcome = catch(|| compile_source(&name, source, values, lenience, &mut diagnostics));
            match outcome {
                Ok(entry) => entries.extend(entry),
                Err(panic) => {
                    let (site, message) = (source.site(), panic.into_message());
                    diagnostics.push(BuildDiagnostic::Panicked { tool: name, site, message });
                }
            }
        }
        if !diagnostics.is_empty() {
            return Err(BuildError { diagnostics });
        }
        let settings =
            RegistrySettings { provided: Arc::new(provided), per_run, lenience, nothing_discovered };
        let entries = entries.into_iter().map(Arc::new).collect();
        Ok(Registry::from_entries(entries, Arc::new(settings), request_hooks, None, false, None))
    }
}

/// Groups the sources by name; a definition that was added several times is kept once.
fn group_by_name(sources: Vec<Source>) -> BTreeMap<String, Vec<Source>> {
    let mut by_name: BTreeMap<String, Vec<Source>> = BTreeMap::new();
    for source in sources {
        let same_name = by_name.entry(source.name()).or_default();
        if !same_name.iter().any(|other| other.is_same_definition(&source)) {
            same_name.push(source);
        }
    }
    by_name
}

/// Creates a tool and compiles its schemas; if `values` are given, its dependencies must be among them. All
/// diagnostics are added to `diagnostics`.
fn compile_source(
    name: &str,
    source: &Source,
    values: Option<(&ProvidedValues, &[Dependency])>,
    lenience: Lenience,
    diagnostics: &mut Vec<BuildDiagnostic>,
) -> Option<entry::Entry> {
    match source.tool() {
        Ok(tool) => {
            let facts = source.facts(&*tool);
            let facts = facts.map_err(|message| {
                let (tool, site) = (name.to_owned(), source.site());
                diagnostics.push(BuildDiagnostic::Panicked { tool, site, message });
            });
            let facts = facts.ok()?;
            if !matches!(source, Source::OutputTool(_)) {
                diagnostics.extend(refuse_reserved_tool(&facts));
            }
            if let Some((provided, per_run)) = values {
                facts.report_missing_values(&[provided], per_run, diagnostics);
            }
            entry::Entry::new(tool, facts, lenience, diagnostics)
        }
        Err(error) => {
            let (tool, message) = (name.to_owned(), error.to_string());
            diagnostics.push(BuildDiagnostic::Schema { tool, site: source.site(), message });
            None
        }
    }
}
