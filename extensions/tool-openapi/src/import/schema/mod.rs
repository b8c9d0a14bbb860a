//! Schemas of a document as JSON Schema 2020-12.
//!
//! Every component is translated once, for requests or for responses, with its references as `#/$defs/NAME`; the names are unique in the
//! document. [`assemble_schema`] then makes one small schema that stands alone: a component with one use is inlined, any other (and
//! so each recursive one) is a definition. A large input schema has all its components as definitions, which it shares with others.

mod assemble;
mod component;
mod direction;
mod discriminator;
mod keyword;
mod readable;

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::Arc,
};

use serde_json::{Map, Value, json};
use tool_runtime::definition::ContentHash;

pub(crate) use self::assemble::assemble_schema;
use self::{
    assemble::visit_references,
    component::Component,
    direction::MAX_ALL_OF_PARTS,
    keyword::{KeywordKind, keyword_kind},
    readable::CompiledPatterns,
};
pub(super) use self::{assemble::weighted_value_count, component::ReachedComponents, direction::Direction};
use super::{ImportProblem, ImportReport};
use crate::document::{DocumentPlace, Documents, OpenApiVersion};

/// The maximum number of references from one to the next.
const MAX_REFERENCE_CHAIN: usize = 32;

/// The number of values above which the schema of a body, a response or a parameter is a component if other operations may have it.
const MIN_COMPONENT_VALUES: usize = 64;

const PREFIX: &str = "#/$defs/";

/// The translated components of a document, for one direction.
pub(super) struct Components<'d> {
    documents: &'d Documents,
    direction: Direction,
    names: HashMap<DocumentPlace, Arc<str>>,
    translated: BTreeMap<Arc<str>, Component>,
    waiting: VecDeque<(DocumentPlace, &'d Value)>,
    /// The beginning of all pointers into the path item of the operation.
    own: String,
    /// The components that are schemas of bodies, responses and parameters.
    roots: HashSet<Arc<str>>,
    patterns: CompiledPatterns,
    /// The size of the translated components, in bytes of JSON, and its maximum: references into one another repeat what is below them.
    bytes: usize,
    limit: usize,
}

impl<'d> Components<'d> {
    pub(super) fn new(documents: &'d Documents, direction: Direction, limit: usize) -> Self {
        let (names, translated, waiting) = Default::default();
        let (own, roots, patterns) = Default::default();
        Self { documents, direction, names, translated, waiting, own, roots, patterns, bytes: 0, limit }
    }

    /// Begins an operation of the path item at `own`.
    pub(super) fn set_current_path_item(&mut self, own: &DocumentPlace) {
        self.own = format!("{}/", own.pointer);
    }

    /// Translates the schema at `place`, and all components that it refers to. A large schema that other operations may have, as by a
    /// reference to a body, is a component itself. That depends on its place alone, so that no definition depends on other operations.
    pub(super) fn translate_root(
        &mut self,
        tool: &str,
        place: &DocumentPlace,
        schema: &'d Value,
        report: &mut ImportReport,
    ) -> Result<Value, ImportProblem> {
        if place.file == 0 && place.pointer.starts_with(&self.own) || !schema.is_object() {
            let translated = self.translate_schema(tool, place, schema, report)?;
            self.translate_queued_components(tool, report);
            return Ok(translated);
        }
        let name = self.register_component(place.clone(), schema);
        self.translate_queued_components(tool, report);
        let component = self.translated.get(&name).map(|it| &*it.value).unwrap_or(&Value::Bool(true));
        if let Some(Value::String(reason)) = component.get(BROKEN) {
            return Err(ImportProblem::new(place, reason));
        }
        if weighted_value_count(component) <= MIN_COMPONENT_VALUES {
            return Ok(component.clone());
        }
        let reference = json!({ "$ref": format!("{PREFIX}{name}") });
        self.roots.insert(name);
        Ok(reference)
    }

    /// Translates the components that were referred to.
    fn translate_queued_components(&mut self, tool: &str, report: &mut ImportReport) {
        while let Some((place, value)) = self.waiting.pop_front() {
            let name = self.names.get(&place).cloned().unwrap_or_else(|| "".into());
            let value = match self.bytes > self.limit {
                true => Err(self.size_limit_problem(&place)),
                false => self.translate_schema(tool, &place, value, report),
            };
            // Every operation whose arguments refer to a component that cannot be translated is skipped.
            let value = value.unwrap_or_else(|problem| {
                if self.direction == Direction::Response {
                    let message = format!("output schemas with `{name}` are left out: {}", problem.reason);
                    report.warn("output_schema", tool, &problem.place, message);
                }
                json!({ BROKEN: problem.reason })
            });
            let component = Component::new(value);
            self.bytes = self.bytes.saturating_add(component.bytes);
            self.translated.insert(name, component);
        }
    }

    fn size_limit_problem(&self, place: &DocumentPlace) -> ImportProblem {
        let reason = format!(
            "the schemas that the document refers to exceed {} bytes in all; set `definitions_limit`",
            self.limit
        );
        ImportProblem::new(place, reason)
    }

    /// Returns a component by its name.
    pub(super) fn get(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.translated.get(name).map(|it| Cow::Borrowed(&*it.value))
    }

    /// Returns the translated components as text.
    pub(super) fn into_component_texts(self) -> HashMap<Box<str>, Box<str>> {
        let text =
            |(name, component): (Arc<str>, Component)| ((&*name).into(), component.value.to_string().into());
        self.translated.into_iter().map(text).collect()
    }

    fn translate_schema(
        &mut self,
        tool: &str,
        place: &DocumentPlace,
        schema: &'d Value,
        report: &mut ImportReport,
    ) -> Result<Value, ImportProblem> {
        let members = match schema {
            Value::Bool(_) => return Ok(schema.clone()),
            Value::Object(members) => members,
            other => {
                let message =
                    format!("a schema is an object or a boolean, not {}; it is ignored", kind_name(other));
                report.warn(MALFORMED, tool, place, message);
                return Ok(Value::Bool(true));
            }
        };
        let mut new = Map::new();
        let reference = self.translate_reference(tool, place, members, report)?;
        // Before version 3.1, a reference has no siblings; those that only describe are kept.
        let is_alone = reference.is_some() && self.documents.version() < OpenApiVersion::V3_1;
        new.extend(reference.map(|it| ("$ref".to_owned(), Value::from(it))));
        for (key, value) in members {
            if is_alone && !ANNOTATIONS.contains(&key.as_str()) {
                continue;
            }
            if let Some(value) = self.translate_keyword(tool, place, (key, value), report)? {
                new.insert(key.clone(), value);
            }
        }
        self.remove_excluded_from_required(place, members, &mut new);
        self.add_discriminator_values(place, members, &mut new);
        self.patterns.modernize_schema(members, &mut new, tool, place, report);
        Ok(Value::Object(new))
    }

    /// Translates a member of the schema at `place`; `None` if it is left out.
    fn translate_keyword(
        &mut self,
        tool: &str,
        place: &DocumentPlace,
        (key, value): (&str, &'d Value),
        report: &mut ImportReport,
    ) -> Result<Option<Value>, ImportProblem> {
        let at = || place.at(key);
        Ok(match (keyword_kind(key), value) {
            (KeywordKind::Dropped, _) => None,
            (KeywordKind::Plain, value) => Some(value.clone()),
            // An absent keyword.
            (KeywordKind::Schema | KeywordKind::List | KeywordKind::Map, Value::Null) => None,
            (KeywordKind::Schema, value) => self.translate_subschema(tool, &at(), value, report)?,
            (KeywordKind::List, Value::Array(items)) => {
                let (at, mut new) = (at(), Vec::with_capacity(items.len()));
                for (n, item) in items.iter().enumerate() {
                    let item = self.translate_subschema(tool, &at.at(&n.to_string()), item, report)?;
                    // An item of a list keeps its place.
                    let is_tuple = matches!(key, "items" | "prefixItems");
                    new.extend(item.or_else(|| is_tuple.then_some(Value::Bool(true))));
                }
                (!new.is_empty() || items.is_empty()).then_some(Value::Array(new))
            }
            (KeywordKind::List, value) => {
                let one = self.translate_subschema(tool, &at(), value, report)?;
                // `items` is one schema, or a list in earlier versions.
                if key == "items" { one } else { one.map(|it| json!([it])) }
            }
            (KeywordKind::Map, Value::Object(all)) => {
                let (at, mut new) = (at(), Map::new());
                for (name, value) in all {
                    if key == "properties" && self.is_excluded_by_direction(place, value) {
                        continue;
                    }
                    let value = self.translate_subschema(tool, &at.at(name), value, report)?;
                    // The name of a property is known without its schema.
                    let value = value.or_else(|| (key == "properties").then_some(Value::Bool(true)));
                    new.extend(value.map(|it| (name.clone(), it)));
                }
                Some(Value::Object(new))
            }
            (KeywordKind::Map, value) => {
                let message = format!("`{key}` is an object, not {}; it is ignored", kind_name(value));
                report.warn(MALFORMED, tool, &at(), message);
                None
            }
        })
    }

    /// Translates a schema below another one; `None` if it is null or cannot be read. A schema that accepts everything is not the same:
    /// `not` of it accepts nothing.
    fn translate_subschema(
        &mut self,
        tool: &str,
        place: &DocumentPlace,
        value: &'d Value,
        report: &mut ImportReport,
    ) -> Result<Option<Value>, ImportProblem> {
        if value.is_null() {
            return Ok(None);
        }
        let schema = self.translate_schema(tool, place, value, report)?;
        Ok((value.is_object() || value.is_boolean()).then_some(schema))
    }

    /// Translates the reference that a schema may be.
    fn translate_reference(
        &mut self,
        tool: &str,
        place: &DocumentPlace,
        members: &'d Map<String, Value>,
        report: &mut ImportReport,
    ) -> Result<Option<String>, ImportProblem> {
        let to = |key: &str| members.get(key).and_then(Value::as_str);
        if members.get("$ref").is_some_and(|it| !it.is_string()) {
            report.warn(MALFORMED, tool, &place.at("$ref"), "`$ref` is not a string, and is ignored");
        }
        let target = match (to("$ref"), to("$dynamicRef")) {
            (Some(reference), _) => self.follow_bare_references(place, reference)?,
            (None, Some(reference)) => match self.documents.reference_target(place, reference) {
                Ok(target) => target,
                Err(reason) => {
                    let message = format!("every value is accepted here: {reason}");
                    report.warn("dynamic_reference", tool, place, message);
                    return Ok(None);
                }
            },
            (None, None) => return Ok(None),
        };
        Ok(Some(format!("{PREFIX}{}", self.register_component(target.0, target.1))))
    }

    /// Follows references that are nothing else.
    fn follow_bare_references(
        &self,
        from: &DocumentPlace,
        reference: &str,
    ) -> Result<(DocumentPlace, &'d Value), ImportProblem> {
        let problem = |reason: String| ImportProblem::new(from, reason);
        let documents = self.documents;
        let (mut place, mut value) =
            documents.reference_target(from, reference).map_err(|it| problem(it.to_string()))?;
        for _ in 0..=MAX_REFERENCE_CHAIN {
            let Some(next) = value.get("$ref").and_then(Value::as_str) else { return Ok((place, value)) };
            if value.as_object().is_some_and(|it| it.len() > 1) {
                return Ok((place, value));
            }
            (place, value) =
                documents.reference_target(&place, next).map_err(|it| problem(it.to_string()))?;
        }
        Err(problem(format!(
            "the reference `{reference}` leads to itself, or over more than {MAX_REFERENCE_CHAIN} others"
        )))
    }

    /// The name of the component at `place`, which is translated if it is new. It depends on the place alone.
    fn register_component(&mut self, place: DocumentPlace, value: &'d Value) -> Arc<str> {
        if let Some(name) = self.names.get(&place) {
            return Arc::clone(name);
        }
        let shown = self.documents.pointer_in_source(&place);
        let (parent, last) = shown.rsplit_once('/').unwrap_or(("", &shown));
        let clean = |it: char| if it.is_ascii_alphanumeric() || "_-.".contains(it) { it } else { '_' };
        let mut name: String = last.chars().take(MAX_COMPONENT_NAME_CHARS).map(clean).collect();
        let is_usual = matches!(parent, "/components/schemas" | "/definitions");
        if !is_usual || name != last || name.is_empty() {
            let hash = ContentHash::of(&shown).to_string();
            name = format!("{name}_{}", hash.get(..10).unwrap_or(&hash));
        }
        while self.translated.contains_key(&*name) {
            name.push('_');
        }
        let name: Arc<str> = name.into();
        self.translated.insert(Arc::clone(&name), Component::default());
        self.names.insert(place.clone(), Arc::clone(&name));
        self.waiting.push_back((place, value));
        name
    }
}

/// The maximum length of the name of a component without its hash, in characters.
const MAX_COMPONENT_NAME_CHARS: usize = 64;

/// The member of a component that could not be translated.
const BROKEN: &str = "x-broken";

/// The diagnostic of a keyword whose value cannot be used.
const MALFORMED: &str = "malformed_keyword";

/// Siblings of a reference that are also kept where a reference has none.
const ANNOTATIONS: [&str; 7] =
    ["title", "description", "default", "deprecated", "example", "nullable", "x-nullable"];

/// The JSON type of `value`, with its article.
pub(super) fn kind_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
