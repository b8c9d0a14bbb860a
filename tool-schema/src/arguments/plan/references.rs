//! References, and properties of all nodes together.
//!
//! References are resolved last, so that a recursive definition finds its own node. They are URIs: a schema with an
//! `$id` is a resource, within which references are resolved and anchors are named. Resources outside the schema are
//! not fetched.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    MAX_VALUE_DEPTH, Plan, SchemaProblem,
    compile::{Compiler, combined_mut, unsupported_keyword_message},
    draft::Draft,
    location::Location,
    messages::quoted,
    node::{AdditionalRule, Node, NodeId},
    uri::resolve_reference,
};
use crate::pointer::percent_decoded;

/// The maximum recursion depth of the walk, limited by the stack of a thread.
const CALLS: usize = 2048;

/// A schema with its own URI, and all schemas below it without one.
#[derive(Debug)]
pub(super) struct Resource<'s> {
    /// The URI without a fragment; `""` for a root without `$id`.
    uri: String,
    root: &'s Value,
    /// The location, as a JSON pointer.
    pointer: String,
    draft: Draft,
}

/// A name of a schema within its resource.
#[derive(Debug)]
pub(super) struct Anchor<'s> {
    resource: usize,
    name: &'s str,
    schema: &'s Value,
    pointer: String,
    is_dynamic: bool,
}

/// A `$ref` or a `$dynamicRef`.
#[derive(Debug, Clone)]
pub(super) struct Reference<'s> {
    from: NodeId,
    key: &'s str,
    text: &'s str,
    /// The location.
    pointer: String,
    /// The resource that contains it.
    resource: usize,
}

impl Reference<'_> {
    pub(super) fn from(&self) -> NodeId {
        self.from
    }

    pub(super) fn pointer(&self) -> &str {
        &self.pointer
    }
}

impl<'s> Resource<'s> {
    pub(super) fn root(schema: &'s Value) -> Self {
        Self { uri: String::new(), root: schema, pointer: String::new(), draft: Draft::Draft2020 }
    }
}

/// The target of a reference.
struct Target<'s> {
    schema: &'s Value,
    pointer: String,
    resource: usize,
}

impl<'s> Compiler<'s> {
    /// Reads `$schema`, `$id` and the anchors of a schema before its other keywords.
    pub(super) fn read_identifiers(
        &mut self,
        schema: &'s Value,
        keywords: &'s Map<String, Value>,
        at: &Location<'_>,
    ) {
        // Fast path: most schemas have none of these keywords.
        if !keywords.keys().any(|key| key.starts_with('$')) {
            return;
        }
        let draft = keywords.get("$schema").map(|value| self.parse_draft(value, at));
        if let Some(id) = keywords.get("$id")
            && (draft != Some(Draft::Unsupported) || !std::ptr::eq(schema, self.root))
        {
            self.open_resource(id, schema, at);
        }
        if let (Some(draft), Some(resource)) = (draft, self.resources.get_mut(self.resource)) {
            if std::ptr::eq(resource.root, schema) {
                resource.draft = draft;
            } else if resource.draft != draft && draft != Draft::Unsupported {
                self.add_unsupported("`$schema` within a schema of another draft", at);
            }
        }
        if self.draft() == Draft::Unsupported {
            return;
        }
        for key in ["$anchor", "$dynamicAnchor"] {
            let Some(value) = keywords.get(key) else { continue };
            let Some(name) = value.as_str() else {
                self.add_malformed_problem(key, value, "a name", at);
                continue;
            };
            let (resource, is_dynamic) = (self.resource, key == "$dynamicAnchor");
            let is_taken = |it: &Anchor<'_>| {
                it.resource == resource && it.name == name && !std::ptr::eq(it.schema, schema)
            };
            if self.anchors.iter().any(is_taken) {
                self.add_keyword_problem(
                    key,
                    at,
                    format!("`{key}` {} is the name of two schemas", quoted(name)),
                );
            }
            self.anchors.push(Anchor { resource, name, schema, pointer: at.pointer(), is_dynamic });
        }
    }

    fn open_resource(&mut self, id: &'s Value, schema: &'s Value, at: &Location<'_>) {
        let Some(id) = id.as_str() else { return self.add_malformed_problem("$id", id, "a URI", at) };
        let id = id.strip_suffix('#').unwrap_or(id);
        if id.contains('#') {
            return self.add_unsupported(&format!("`$id` {} with a fragment", quoted(id)), at);
        }
        let uri = resolve_reference(self.base_uri(), id);
        if std::ptr::eq(schema, self.root) {
            self.resources = vec![Resource { uri, ..Resource::root(schema) }];
            return;
        }
        if self.resources.iter().any(|it| it.uri == uri) {
            self.add_keyword_problem("$id", at, format!("`$id` {} is the URI of two schemas", quoted(id)));
        }
        self.resource = self.resources.len();
        let (pointer, draft) = (at.pointer(), self.draft());
        self.resources.push(Resource { uri, root: schema, pointer, draft });
    }

    /// Returns the draft of the current resource.
    pub(super) fn draft(&self) -> Draft {
        self.resources.get(self.resource).map_or(Draft::Draft2020, |it| it.draft)
    }

    /// Returns the URI of the current resource.
    fn base_uri(&self) -> &str {
        self.resources.get(self.resource).map_or("", |it| &it.uri)
    }

    /// Reads a `$ref` or a `$dynamicRef`.
    pub(super) fn read_reference(&mut self, from: NodeId, key: &'s str, value: &'s Value, at: &Location<'_>) {
        match value.as_str() {
            Some(text) => {
                let (pointer, resource) = (at.pointer(), self.resource);
                self.references.push(Reference { from, key, text, pointer, resource });
            }
            None => self.add_malformed_problem(key, value, "a reference", at),
        }
    }

    /// Links all references; the last step of compilation.
    pub(super) fn finish(mut self) -> Result<Plan, Vec<SchemaProblem>> {
        self.follow_references();
        if self.evaluates {
            self.count_explicit_true_as_evaluating();
        }
        if self.has_mistake() {
            return Err(self.problems);
        }
        let chain = self.longest_chain();
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        for node in &mut self.nodes {
            node.derive_fields();
        }
        let mut plan = Plan {
            nodes: self.nodes.into(),
            deepest: MAX_VALUE_DEPTH.min(CALLS / chain),
            has_aliases: false,
            changes_root_alone: false,
        };
        plan.changes_root_alone = plan.find_changes_of_root_alone();
        plan.has_aliases = !plan.alias_pairs().is_empty();
        plan.find_branch_tags();
        Ok(plan)
    }

    pub(super) fn has_mistake(&self) -> bool {
        self.problems.iter().any(|it| !it.uncovered)
    }

    fn follow_references(&mut self) {
        let mut known = HashMap::new();
        let mut next = 0;
        while let Some(reference) = self.references.get(next).cloned() {
            next += 1;
            let target = match self.find_target(&reference) {
                Ok(target) => target,
                Err(problem) => {
                    self.problems.push(problem);
                    continue;
                }
            };
            // A target outside of the known keywords has no node yet and may add references.
            for at in known.len()..self.nodes.len() {
                self.index_node_source(at, &mut known);
            }
            let id = match known.get(&std::ptr::from_ref(target.schema)) {
                Some(&id) => id,
                None => {
                    self.resource = target.resource;
                    self.compile_node(target.schema, &Location::from_pointer(&target.pointer))
                }
            };
            self.link_nodes(reference.from, id);
        }
    }

    fn link_nodes(&mut self, from: NodeId, to: NodeId) {
        if let Some(node) = self.nodes.get_mut(to.0 as usize) {
            node.shared = true;
        }
        let Some(node) = self.nodes.get_mut(from.0 as usize) else { return };
        if node.is_anything() {
            node.alias = Some(to);
        } else {
            let earlier = node.alias.take();
            let all = &mut combined_mut(node).all;
            *all = std::mem::take(all).into_iter().chain(earlier).chain([to]).collect();
        }
    }

    fn find_target(&self, reference: &Reference<'s>) -> Result<Target<'s>, SchemaProblem> {
        let reference_text = format!("`{}` to {}", reference.key, quoted(reference.text));
        let problem = |message, uncovered| {
            let (pointer, keyword) = (reference.pointer.clone(), Some(reference.key.into()));
            SchemaProblem { pointer, keyword, message, uncovered }
        };
        let (uri, fragment) = reference.text.split_once('#').unwrap_or((reference.text, ""));
        let at = match uri {
            "" => reference.resource,
            _ => {
                let base = self.resources.get(reference.resource).map_or("", |it| &it.uri);
                let uri = resolve_reference(base, uri);
                let at = self.resources.iter().position(|it| it.uri == uri);
                at.ok_or_else(|| {
                    if uri.contains("://json-schema.org/") || has_id(self.root, "", &uri) {
                        return problem(unsupported_keyword_message(&reference_text), true);
                    }
                    problem(format!("{reference_text} leaves the schema; nothing is fetched"), false)
                })?
            }
        };
        let fragment = percent_decoded(fragment);
        let found = if fragment.is_empty() || fragment.starts_with('/') {
            self.resources
                .get(at)
                .and_then(|it| Some((it.root.pointer(&fragment)?, it.pointer.clone() + &fragment)))
        } else {
            let anchor = self.anchors.iter().find(|it| it.resource == at && it.name == fragment);
            if reference.key == "$dynamicRef" && anchor.is_some_and(|it| self.is_ambiguous(it)) {
                return Err(problem(
                    unsupported_keyword_message(&format!("{reference_text}, of which there are several,")),
                    true,
                ));
            }
            if anchor.is_none() && has_anchor(self.root, &fragment) {
                return Err(problem(unsupported_keyword_message(&reference_text), true));
            }
            anchor.map(|it| (it.schema, it.pointer.clone()))
        };
        let Some((schema, pointer)) = found else {
            return Err(match self.passes_unread_id(&reference.pointer) {
                true => problem(unsupported_keyword_message(&reference_text), true),
                false => problem(format!("{reference_text} leads nowhere"), false),
            });
        };
        // The target has another base, which is not known here.
        if self.passes_unread_id(&pointer) {
            return Err(problem(unsupported_keyword_message(&reference_text), true));
        }
        Ok(Target { schema, pointer, resource: at })
    }

    /// Returns `true` if a schema above `pointer` has an `$id` that was not read, since no compiled keyword contains it.
    fn passes_unread_id(&self, pointer: &str) -> bool {
        pointer.match_indices('/').filter_map(|(end, _)| pointer.get(..end)).any(|above| {
            let has_id = |it: &Value| it.get("$id").is_some_and(Value::is_string);
            let is_resource = || self.resources.iter().any(|it| it.pointer == above);
            self.root.pointer(above).is_some_and(has_id) && !is_resource()
        })
    }

    /// Returns `true` if a dynamic reference to the anchor may resolve to another anchor of the same name, depending
    /// on the path of the walk. Otherwise, it is an ordinary reference.
    fn is_ambiguous(&self, anchor: &Anchor<'_>) -> bool {
        let is_other =
            |it: &Anchor<'_>| it.is_dynamic && it.resource != anchor.resource && it.name == anchor.name;
        anchor.is_dynamic && self.anchors.iter().any(is_other)
    }

    fn index_node_source(&self, at: usize, known: &mut HashMap<*const Value, NodeId>) {
        if let (Some(source), Ok(id)) = (self.sources.get(at), u32::try_from(at)) {
            known.entry(std::ptr::from_ref(*source)).or_insert(NodeId(id));
        }
    }

    /// `"additionalProperties": true` and `"items": true` are not rules, but count as evaluating all properties or
    /// items for `unevaluated..`.
    fn count_explicit_true_as_evaluating(&mut self) {
        let anything = AdditionalRule::Schema(NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)));
        for (node, source) in self.nodes.iter_mut().zip(&self.sources) {
            let admits = |key: &str| source.get(key) == Some(&Value::Bool(true));
            if let Some(rules) = node.object.as_deref_mut().filter(|_| admits("additionalProperties")) {
                rules.rest = anything;
            }
            if let Some(rules) = node.list.as_deref_mut().filter(|_| admits("items")) {
                rules.rest = anything;
            }
        }
        self.nodes.push(Node::ANYTHING);
    }
}

/// Returns `true` if a part of a schema has this anchor in the form of drafts up to 7: the fragment of an `$id`.
fn has_anchor(schema: &Value, name: &str) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(|item| has_anchor(item, name)),
        Value::Object(map) => {
            let id = map.get("$id").and_then(Value::as_str).and_then(|id| id.split_once('#'));
            id.is_some_and(|(_, fragment)| percent_decoded(fragment) == name)
                || map.values().any(|value| has_anchor(value, name))
        }
        _ => false,
    }
}

/// Returns `true` if any part of a schema, compiled or not, has this URI; `base` is the URI of the schema around it.
fn has_id(schema: &Value, base: &str, uri: &str) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(|item| has_id(item, base, uri)),
        Value::Object(map) => {
            // An `$id` of draft 7 that is only a fragment names the schema in the resource around it.
            let id = map.get("$id").and_then(Value::as_str).and_then(|id| id.split('#').next());
            let own = id.filter(|id| !id.is_empty()).map(|id| resolve_reference(base, id));
            own.as_deref() == Some(uri)
                || map.values().any(|value| has_id(value, own.as_deref().unwrap_or(base), uri))
        }
        _ => false,
    }
}
