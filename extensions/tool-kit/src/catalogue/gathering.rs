//! The items of all sources, in the order of look-up.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use futures_util::future::{join, join_all};
use tool_runtime::{
    RunContext, ToolError,
    diagnostic::{Diagnostic, Severity},
    guard::{Panic, catch, catch_async},
    policy::Escape,
    registry::Origin,
    toolbox::Snapshot,
};

use super::{
    BUILTIN, CatalogueItem, CatalogueSnapshot, ItemKind, ItemObject, NAMESPACE_SEPARATOR, State, USER,
    UserItemList, UserItems,
    connectors::{AttachedConnector, VisibleNamespaces},
    key::item_key,
};
use crate::{problem::problem_text, prompt::Prompt, resource::ReadableResource};

/// The characters of a problem of a connector.
const MAX_PROBLEM_CHARS: usize = 500;

/// The items of one namespace, in the order of look-up.
pub(super) struct NamespaceItems {
    namespace: Arc<str>,
    items: Vec<CatalogueItem>,
    names: HashSet<(ItemKind, Arc<str>)>,
    diagnostics: Vec<Diagnostic>,
}

/// Lists the prompts and resources of connectors, each in its namespace.
pub(super) async fn list_items_of_connectors(
    connectors: &[AttachedConnector],
    run: &Arc<RunContext>,
) -> Vec<NamespaceItems> {
    join_all(connectors.iter().map(|attached| list_items_of_connector(attached, run))).await
}

/// Adds the diagnostics of connectors, after all lists.
pub(super) fn add_diagnostics(connectors: &[AttachedConnector], listed: &mut [NamespaceItems]) {
    for (attached, listed) in connectors.iter().zip(listed) {
        for diagnostic in catch(|| attached.connector.diagnostics()).unwrap_or_default() {
            listed.add_diagnostic(diagnostic.severity, diagnostic.code, &diagnostic.message);
        }
    }
}

/// Lists the items of the user of a run.
pub(super) async fn list_user_items(
    items: Option<Arc<dyn UserItems>>,
    run: &Arc<RunContext>,
) -> Option<NamespaceItems> {
    let items = items?;
    let mut listed = NamespaceItems::new(USER.into());
    let list = catch_async(|| items.list(run)).await.map(|list| list.map(|list| vec![list]));
    for UserItemList { prompts, resources, diagnostics } in listed.listed_items_or_report("items", list) {
        listed.add_prompts(prompts);
        listed.add_resources(resources);
        listed.diagnostics.extend(diagnostics);
    }
    Some(listed)
}

/// Gathers the items of a catalogue: those of the program, those that connectors listed, the tools of a snapshot of its toolbox, and those of
/// the user.
pub(super) fn gather_items(
    state: &State,
    listed: Vec<NamespaceItems>,
    tools: Snapshot,
    user: Option<NamespaceItems>,
    visible: &VisibleNamespaces,
) -> CatalogueSnapshot {
    let mut builtin = NamespaceItems::new(BUILTIN.into());
    for (name, prompt) in &*state.prompts {
        builtin.add_unless_duplicate(name, ItemObject::Prompt(Arc::clone(prompt)));
    }
    for (uri, resource) in &*state.resources {
        builtin.add_unless_duplicate(uri, ItemObject::Resource(Arc::clone(resource)));
    }
    let listed = listed.into_iter().filter(|it| visible.contains(&it.namespace));
    let mut all: Vec<_> = std::iter::once(builtin).chain(listed).collect();
    let mut places: HashMap<Arc<str>, usize> =
        all.iter().enumerate().map(|(place, it)| (Arc::clone(&it.namespace), place)).collect();
    for definition in tools.tools().all_definitions() {
        let name = definition.name();
        let namespace = match tools.origin(name) {
            Some(Origin::ToolSet(set)) if !set.is_empty() && !visible.contains(set) => continue,
            Some(Origin::ToolSet(set)) if !set.is_empty() => &**set,
            Some(Origin::Framework) | None => continue,
            Some(_) => BUILTIN,
        };
        let Some(tool) = tools.tools().get(name) else { continue };
        let place = places.get(namespace).copied().unwrap_or_else(|| {
            let namespace: Arc<str> = namespace.into();
            all.push(NamespaceItems::new(Arc::clone(&namespace)));
            places.insert(namespace, all.len() - 1);
            all.len() - 1
        });
        let raw = name.strip_prefix(namespace).and_then(|rest| rest.strip_prefix(NAMESPACE_SEPARATOR));
        let raw = raw.filter(|_| namespace != BUILTIN).unwrap_or(name);
        all[place].add_unless_duplicate(raw, ItemObject::Tool(Arc::clone(tool)));
    }
    all.extend(user);
    let diagnostics = all.iter_mut().flat_map(|it| std::mem::take(&mut it.diagnostics)).collect();
    let items: Vec<_> = all.into_iter().flat_map(|it| it.items).collect();
    CatalogueSnapshot::new(tools, &items, diagnostics)
}

async fn list_items_of_connector(attached: &AttachedConnector, run: &Arc<RunContext>) -> NamespaceItems {
    let connector = &attached.connector;
    let mut listed = NamespaceItems::new(Arc::clone(&attached.namespace));
    let (prompts, resources) =
        join(catch_async(|| connector.prompts(run)), catch_async(|| connector.resources(run))).await;
    let prompts = listed.listed_items_or_report("prompts", prompts);
    listed.add_prompts(prompts);
    let resources = listed.listed_items_or_report("resources", resources);
    listed.add_resources(resources);
    listed
}

impl NamespaceItems {
    fn new(namespace: Arc<str>) -> Self {
        Self { namespace, items: Vec::new(), names: HashSet::new(), diagnostics: Vec::new() }
    }

    fn add_prompts(&mut self, prompts: Vec<Arc<dyn Prompt>>) {
        for prompt in prompts {
            match catch(|| prompt.definition().name().to_owned()) {
                Ok(name) => self.add_unless_duplicate(&name, ItemObject::Prompt(prompt)),
                Err(panic) => self.report_panicked_item("prompt", &panic),
            }
        }
    }

    fn add_resources(&mut self, resources: Vec<Arc<dyn ReadableResource>>) {
        for resource in resources {
            match catch(|| resource.uri().normalized().to_owned()) {
                Ok(uri) => self.add_unless_duplicate(&uri, ItemObject::Resource(resource)),
                Err(panic) => self.report_panicked_item("resource", &panic),
            }
        }
    }

    /// Adds an item; of several of one kind and name, the first.
    fn add_unless_duplicate(&mut self, name: &str, object: ItemObject) {
        let is_uri = matches!(object, ItemObject::Resource(_));
        let key: Arc<str> = item_key(&self.namespace, name, is_uri).into();
        let name = if *key == *name { Arc::clone(&key) } else { name.into() };
        let item = CatalogueItem::new(Arc::clone(&self.namespace), key, Arc::clone(&name), object);
        if self.names.insert((item.kind(), name)) {
            self.items.push(item);
            return;
        }
        let problem = format!("`{}` is listed more than once; the first one counts", item.name());
        self.add_diagnostic(Severity::Warning, "duplicate_item", &problem);
    }

    /// Returns what was listed, or nothing, with a diagnostic.
    fn listed_items_or_report<T>(
        &mut self,
        noun: &str,
        listed: Result<Result<Vec<T>, ToolError>, Panic>,
    ) -> Vec<T> {
        let problem = match listed {
            Ok(Ok(listed)) => return listed,
            Ok(Err(error)) => problem_text(&error).into_owned(),
            Err(panic) => format!("it panicked: {}", panic.message()),
        };
        let problem = format!("its {noun} cannot be listed: {problem}");
        self.add_diagnostic(Severity::Error, "unlisted_items", &problem);
        Vec::new()
    }

    fn report_panicked_item(&mut self, item: &str, panic: &Panic) {
        let problem = format!("a {item} is left out, because it panicked: {}", panic.message());
        self.add_diagnostic(Severity::Error, "unusable_item", &problem);
    }

    fn add_diagnostic(&mut self, severity: Severity, code: &'static str, problem: &str) {
        let problem = Escape::LINE.at_most(MAX_PROBLEM_CHARS).text(problem);
        let message = format!("the connector `{}`: {problem}", self.namespace);
        self.diagnostics.push(Diagnostic::new(severity, code, message));
    }
}
