//! The items of all sources, in the order of look-up.

use std::{collections::HashSet, sync::Arc};

use futures_util::future::{join, join_all};
use tool_runtime::{
    RunContext, ToolError, ToolSet,
    guard::{catch, catch_async},
    policy::Escape,
    registry::Origin,
    toolbox::Snapshot,
};

use super::{
    Attached, BUILTIN, CatalogueItem, CatalogueSnapshot, ItemObject, ListingProblem, State, key::item_key,
};
use crate::{prompt::Prompt, resource::ReadableResource};

/// The separator between the names of a toolset and its tool, for models.
const TOOL_SEPARATOR: &str = "__";

/// The characters of a problem of a connector.
const MAX_PROBLEM_CHARS: usize = 500;

/// The items of one namespace, in the order of look-up.
struct NamespaceItems {
    namespace: Arc<str>,
    items: Vec<CatalogueItem>,
    names: HashSet<(super::ItemKind, Arc<str>)>,
    problems: Vec<ListingProblem>,
}

/// Gathers the items of a catalogue, with the tools of a snapshot of its toolbox, whose sets are `sets`.
pub(super) async fn gather_items(
    state: &State,
    tools: Snapshot,
    sets: &[Arc<dyn ToolSet>],
    run: &Arc<RunContext>,
) -> CatalogueSnapshot {
    let listed = join_all(state.connectors.iter().map(|attached| list_connector(attached, run))).await;
    let mut builtin = NamespaceItems::new(BUILTIN.into());
    for (name, prompt) in &state.prompts {
        builtin.add(name, ItemObject::Prompt(Arc::clone(prompt)));
    }
    for (uri, resource) in &state.resources {
        builtin.add(uri, ItemObject::Resource(Arc::clone(resource)));
    }
    let mut all = vec![builtin];
    all.extend(listed);
    for set in sets {
        let name = catch(|| set.name().to_owned()).unwrap_or_default();
        if !name.is_empty() && !all.iter().any(|it| *it.namespace == *name) {
            all.push(NamespaceItems::new(name.into()));
        }
    }
    for definition in tools.tools().all_definitions() {
        let name = definition.name();
        let namespace = match tools.origin(name) {
            Some(Origin::ToolSet(set)) if !set.is_empty() => &**set,
            Some(Origin::Framework) | None => continue,
            Some(_) => BUILTIN,
        };
        let of_namespace = all.iter_mut().find(|it| *it.namespace == *namespace);
        if let (Some(of_namespace), Some(tool)) = (of_namespace, tools.tools().get(name)) {
            let raw = name.strip_prefix(namespace).and_then(|rest| rest.strip_prefix(TOOL_SEPARATOR));
            let raw = raw.filter(|_| namespace != BUILTIN).unwrap_or(name);
            of_namespace.add(raw, ItemObject::Tool(Arc::clone(tool)));
        }
    }
    let problems = all.iter_mut().flat_map(|it| std::mem::take(&mut it.problems)).collect();
    let items = all.into_iter().flat_map(|it| it.items).collect();
    CatalogueSnapshot::new(tools, items, problems)
}

async fn list_connector(attached: &Attached, run: &Arc<RunContext>) -> NamespaceItems {
    let connector = &attached.connector;
    let mut listed = NamespaceItems::new(Arc::clone(&attached.namespace));
    let (prompts, resources) =
        join(catch_async(|| connector.prompts(run)), catch_async(|| connector.resources(run))).await;
    for prompt in listed.listed_or_none("prompts", prompts) {
        match catch(|| prompt.definition().name().to_owned()) {
            Ok(name) => listed.add(&name, ItemObject::Prompt(prompt)),
            Err(panic) => listed.add_problem(format!("a prompt panicked: {}", panic.message())),
        }
    }
    for resource in listed.listed_or_none("resources", resources) {
        match catch(|| resource.uri().normalized().to_owned()) {
            Ok(uri) => listed.add(&uri, ItemObject::Resource(resource)),
            Err(panic) => listed.add_problem(format!("a resource panicked: {}", panic.message())),
        }
    }
    listed
}

impl NamespaceItems {
    fn new(namespace: Arc<str>) -> Self {
        Self { namespace, items: Vec::new(), names: HashSet::new(), problems: Vec::new() }
    }

    /// Adds an item; of several of one kind and name, the first.
    fn add(&mut self, name: &str, object: ItemObject) {
        let is_uri = matches!(object, ItemObject::Resource(_));
        let key: Arc<str> = item_key(&self.namespace, name, is_uri).into();
        let name = if *key == *name { Arc::clone(&key) } else { name.into() };
        let item = CatalogueItem::new(Arc::clone(&self.namespace), key, Arc::clone(&name), object);
        match self.names.insert((item.kind(), name)) {
            true => self.items.push(item),
            false => {
                self.add_problem(format!("`{}` is listed more than once; the first one counts", item.name()))
            }
        }
    }

    /// Returns what was listed, or nothing, with a problem.
    fn listed_or_none<T>(
        &mut self,
        items: &str,
        listed: Result<Result<Vec<T>, ToolError>, tool_runtime::guard::Panic>,
    ) -> Vec<T> {
        let problem = match listed {
            Ok(Ok(listed)) => return listed,
            Ok(Err(error)) => error.to_string(),
            Err(panic) => format!("the connector panicked: {}", panic.message()),
        };
        self.add_problem(format!("its {items} cannot be listed: {problem}"));
        Vec::new()
    }

    fn add_problem(&mut self, problem: String) {
        let problem = Escape::LINE.at_most(MAX_PROBLEM_CHARS).text(&problem);
        self.problems.push(ListingProblem { namespace: self.namespace.to_string(), problem });
    }
}
