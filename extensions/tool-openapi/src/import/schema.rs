//! Schemas of a document as JSON Schema 2020-12.
//!
//! Every component is translated once, for requests or for responses, with its references as `#/$defs/NAME`; the names are unique in the
//! document. [`assembled`] then makes one schema that stands alone: a component with one use is inlined, any other (and
//! so each recursive one) is a definition. The result is as large as what it refers to.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, VecDeque},
};

use serde_json::{Map, Value, json};

use super::{Problem, Report};
use crate::document::{Documents, Place};

/// The deepest schema that is translated; a text of JSON cannot be deeper.
const DEEPEST: usize = 160;

/// The deepest place at which a component is inlined.
const DEEPEST_INLINED: usize = 48;

const PREFIX: &str = "#/$defs/";

/// The direction that a schema is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// Without `readOnly` properties.
    Request,
    /// Without `writeOnly` properties.
    Response,
}

/// The translated components of a document, for one direction.
pub(super) struct Components<'d> {
    documents: &'d Documents,
    direction: Direction,
    names: HashMap<Place, String>,
    translated: BTreeMap<String, Value>,
    waiting: VecDeque<(Place, &'d Value)>,
}

impl<'d> Components<'d> {
    pub(super) fn new(documents: &'d Documents, direction: Direction) -> Self {
        let (names, translated, waiting) = Default::default();
        Self { documents, direction, names, translated, waiting }
    }

    /// Translates the schema at `place`, and all components that it refers to.
    pub(super) fn translate(
        &mut self,
        tool: &str,
        place: &Place,
        schema: &'d Value,
        report: &mut Report,
    ) -> Result<Value, Problem> {
        let translated = self.schema(tool, place, schema, 0, report)?;
        while let Some((place, value)) = self.waiting.pop_front() {
            let name = self.names.get(&place).cloned().unwrap_or_default();
            let value = self.schema(tool, &place, value, 0, report);
            // Every operation that refers to a component that cannot be translated is skipped.
            self.translated.insert(name, value.unwrap_or_else(|problem| json!({ BROKEN: problem.reason })));
        }
        Ok(translated)
    }

    /// Returns a component by its name.
    pub(super) fn get(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.translated.get(name).map(Cow::Borrowed)
    }

    /// Returns the translated components as text.
    pub(super) fn into_texts(self) -> HashMap<Box<str>, Box<str>> {
        let text = |(name, value): (String, Value)| (name.into(), value.to_string().into());
        self.translated.into_iter().map(text).collect()
    }

    fn schema(
        &mut self,
        tool: &str,
        place: &Place,
        schema: &'d Value,
        depth: usize,
        report: &mut Report,
    ) -> Result<Value, Problem> {
        let members = match schema {
            Value::Bool(_) => return Ok(schema.clone()),
            Value::Object(members) => members,
            other => {
                return Err(Problem::new(
                    place,
                    format!("a schema is an object or a boolean, not {}", kind(other)),
                ));
            }
        };
        if depth > DEEPEST {
            return Err(Problem::new(place, format!("the schema is deeper than {DEEPEST} levels")));
        }
        let mut new = Map::new();
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            let (target, value) = self
                .documents
                .target(place.file, reference)
                .map_err(|it| Problem::new(place, it.to_string()))?;
            let name = self.name(target, value);
            new.insert("$ref".to_owned(), Value::from(format!("{PREFIX}{name}")));
        }
        for (key, value) in members {
            let at = || place.at(key);
            let subschema = match keyword(key) {
                Keyword::Dropped => continue,
                Keyword::Plain => value.clone(),
                Keyword::Schema => self.schema(tool, &at(), value, depth + 1, report)?,
                Keyword::List => match value {
                    Value::Array(items) => {
                        let at = at();
                        let all = items.iter().enumerate();
                        let all: Result<Vec<_>, _> = all
                            .map(|(n, it)| self.schema(tool, &at.at(&n.to_string()), it, depth + 1, report))
                            .collect();
                        Value::from(all?)
                    }
                    // `items` as one schema.
                    other => self.schema(tool, &at(), other, depth + 1, report)?,
                },
                Keyword::Map => {
                    let Value::Object(all) = value else {
                        return Err(Problem::new(
                            &at(),
                            format!("`{key}` is an object, not {}", kind(value)),
                        ));
                    };
                    let at = at();
                    let mut new = Map::new();
                    for (name, value) in all {
                        if key == "properties" && self.is_hidden(place, value) {
                            continue;
                        }
                        new.insert(name.clone(), self.schema(tool, &at.at(name), value, depth + 1, report)?);
                    }
                    Value::Object(new)
                }
            };
            new.insert(key.clone(), subschema);
        }
        self.drop_hidden_required(place, members, &mut new);
        modernize(members, &mut new, tool, place, report);
        Ok(Value::Object(new))
    }

    /// The name of the component at `place`, which is translated if it is new.
    fn name(&mut self, place: Place, value: &'d Value) -> String {
        if let Some(name) = self.names.get(&place) {
            return name.clone();
        }
        let last = place.pointer.rsplit('/').next().unwrap_or_default();
        let clean = |it: char| if it.is_ascii_alphanumeric() || "_-".contains(it) { it } else { '_' };
        let mut name: String = last.chars().take(64).map(clean).collect();
        if name.is_empty() {
            name.push_str("schema");
        }
        if self.translated.contains_key(&name) {
            let free = (2..).map(|n| format!("{name}_{n}")).find(|it| !self.translated.contains_key(it));
            name = free.unwrap_or(name);
        }
        self.translated.insert(name.clone(), Value::Bool(true));
        self.names.insert(place.clone(), name.clone());
        self.waiting.push_back((place, value));
        name
    }

    /// Returns `true` for a property that is not part of this direction.
    fn is_hidden(&self, place: &Place, property: &Value) -> bool {
        let key = match self.direction {
            Direction::Request => "readOnly",
            Direction::Response => "writeOnly",
        };
        let says = |value: &Value| value.get(key) == Some(&Value::Bool(true));
        says(property) || self.documents.resolved(place.clone(), property).is_ok_and(|(_, it)| says(it))
    }

    /// Removes properties that are not part of this direction from `required`.
    fn drop_hidden_required(
        &self,
        place: &Place,
        members: &Map<String, Value>,
        new: &mut Map<String, Value>,
    ) {
        let Some(Value::Object(properties)) = members.get("properties") else { return };
        let Some(Value::Array(required)) = new.get_mut("required") else { return };
        required.retain(|name| {
            let property = name.as_str().and_then(|name| properties.get(name));
            !property.is_some_and(|it| self.is_hidden(place, it))
        });
        if required.is_empty() {
            new.shift_remove("required");
        }
    }
}

/// The member of a component that could not be translated.
const BROKEN: &str = "x-broken";

enum Keyword {
    Dropped,
    Plain,
    Schema,
    List,
    Map,
}

fn keyword(key: &str) -> Keyword {
    match key {
        "additionalProperties"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Keyword::Schema,
        "items" | "prefixItems" | "allOf" | "anyOf" | "oneOf" => Keyword::List,
        "properties" | "patternProperties" | "dependentSchemas" => Keyword::Map,
        "title" | "description" | "default" | "examples" | "deprecated" | "type" | "enum" | "const"
        | "format" | "multipleOf" | "maximum" | "exclusiveMaximum" | "minimum" | "exclusiveMinimum"
        | "maxLength" | "minLength" | "pattern" | "maxItems" | "minItems" | "uniqueItems" | "maxContains"
        | "minContains" | "maxProperties" | "minProperties" | "required" | "dependentRequired"
        | "contentEncoding" | "contentMediaType" => Keyword::Plain,
        _ => Keyword::Dropped,
    }
}

/// Replaces keywords of earlier versions: `nullable`, boolean exclusive bounds, `example`, `items` as a list. They are also found in
/// documents that claim to be of a later version.
fn modernize(
    old: &Map<String, Value>,
    new: &mut Map<String, Value>,
    tool: &str,
    place: &Place,
    report: &mut Report,
) {
    for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        match old.get(exclusive) {
            Some(Value::Bool(true)) => {
                new.shift_remove(exclusive);
                if let Some(value) = new.shift_remove(bound) {
                    new.insert(exclusive.to_owned(), value);
                }
            }
            Some(Value::Bool(false)) => drop(new.shift_remove(exclusive)),
            _ => {}
        }
    }
    if let (Some(example), None) = (old.get("example"), new.get("examples")) {
        new.insert("examples".to_owned(), json!([example]));
    }
    // An object of named examples belongs to a parameter.
    if new.get("examples").is_some_and(|it| !it.is_array()) {
        new.shift_remove("examples");
    }
    if let Some(Value::Array(items)) = new.get("items").cloned() {
        new.shift_remove("items");
        new.insert("prefixItems".to_owned(), Value::Array(items));
    }
    if new.get("required").is_some_and(|it| !it.is_array()) {
        new.shift_remove("required");
        report.warn(
            "malformed_keyword",
            tool,
            &place.at("required"),
            "`required` of a schema is not a list, and is ignored",
        );
    }
    sound_type(new, tool, place, report);
    if [old.get("nullable"), old.get("x-nullable")].contains(&Some(&Value::Bool(true))) {
        make_nullable(new);
    }
}

/// Removes types that JSON Schema does not have.
fn sound_type(new: &mut Map<String, Value>, tool: &str, place: &Place, report: &mut Report) {
    const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "string", "integer"];
    let is_known = |it: &Value| it.as_str().is_some_and(|it| TYPES.contains(&it));
    let is_sound = match new.get("type") {
        None => true,
        // The type of an uploaded file in Swagger 2.0.
        Some(Value::String(file)) if file == "file" => {
            new.insert("type".to_owned(), Value::from("string"));
            new.insert("format".to_owned(), Value::from("binary"));
            true
        }
        Some(Value::Array(types)) => !types.is_empty() && types.iter().all(is_known),
        Some(one) => is_known(one),
    };
    if !is_sound && let Some(unknown) = new.shift_remove("type") {
        let message = format!("the type {unknown} does not exist in JSON Schema, and is ignored");
        report.warn("malformed_keyword", tool, &place.at("type"), message);
    }
}

/// Accepts `null` beside what the schema accepts.
fn make_nullable(new: &mut Map<String, Value>) {
    if let Some(Value::Array(values)) = new.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    let is_composed = ["$ref", "allOf", "oneOf", "anyOf"].iter().any(|key| new.contains_key(*key));
    match new.get_mut("type") {
        Some(Value::String(one)) if one != "null" => {
            let both = json!([one, "null"]);
            new.insert("type".to_owned(), both);
        }
        Some(Value::Array(types)) if !types.iter().any(|it| it == "null") => types.push(Value::from("null")),
        Some(_) => {}
        // `nullable` beside `allOf` or `$ref`: commonly meant, though the specification asks for a type.
        None if is_composed => {
            let mut rest = std::mem::take(new);
            for key in ["title", "description", "default", "deprecated"] {
                if let Some(value) = rest.shift_remove(key) {
                    new.insert(key.to_owned(), value);
                }
            }
            new.insert("anyOf".to_owned(), json!([rest, { "type": "null" }]));
        }
        None => {}
    }
}

/// Makes `root` a schema that stands alone, with components by their names from `get`.
///
/// # Errors
///
/// The reason why a component could not be translated.
pub(crate) fn assembled<'c>(
    root: Value,
    get: impl Fn(&str) -> Option<Cow<'c, Value>>,
) -> Result<Value, String> {
    let mut uses: BTreeMap<String, (usize, Value)> = BTreeMap::new();
    let mut waiting = VecDeque::new();
    let mut count = |value: &Value, waiting: &mut VecDeque<String>| {
        references(value, &mut |name| {
            let used = uses.entry(name.to_owned()).or_insert_with(|| {
                waiting.push_back(name.to_owned());
                (0, Value::Bool(true))
            });
            used.0 += 1;
        });
    };
    count(&root, &mut waiting);
    let mut found = Vec::new();
    while let Some(name) = waiting.pop_front() {
        let component = get(&name).ok_or_else(|| format!("the schema `{name}` is missing"))?.into_owned();
        if let Some(Value::String(reason)) = component.get(BROKEN) {
            return Err(reason.clone());
        }
        count(&component, &mut waiting);
        found.push((name, component));
    }
    for (name, component) in found {
        if let Some(used) = uses.get_mut(&name) {
            used.1 = component;
        }
    }
    let mut assembly = Assembly { uses, definitions: Map::new(), waiting: VecDeque::new() };
    let mut root = root;
    assembly.inline(&mut root, 0);
    while let Some((name, mut component)) = assembly.waiting.pop_front() {
        assembly.inline(&mut component, 1);
        assembly.definitions.insert(name, component);
    }
    if let (Value::Object(root), false) = (&mut root, assembly.definitions.is_empty()) {
        root.insert("$defs".to_owned(), Value::Object(assembly.definitions));
    }
    Ok(root)
}

struct Assembly {
    /// The components by name, with the number of their uses.
    uses: BTreeMap<String, (usize, Value)>,
    definitions: Map<String, Value>,
    waiting: VecDeque<(String, Value)>,
}

impl Assembly {
    /// Inlines components with one use in `schema`.
    fn inline(&mut self, schema: &mut Value, depth: usize) {
        let Value::Object(members) = schema else {
            if let Value::Array(items) = schema {
                items.iter_mut().for_each(|it| self.inline(it, depth + 1));
            }
            return;
        };
        let name = members
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|it| it.strip_prefix(PREFIX))
            .map(str::to_owned);
        if let Some(name) = name
            && let Some((count, component)) = self.uses.get_mut(&name)
        {
            let component = std::mem::take(component);
            // Taken before: already a definition.
            if !component.is_null() {
                if *count == 1 && depth < DEEPEST_INLINED {
                    members.shift_remove("$ref");
                    merge(members, component);
                    return self.inline(schema, depth);
                }
                self.definitions.insert(name.clone(), Value::Null);
                self.waiting.push_back((name, component));
            }
        }
        for (key, value) in members.iter_mut() {
            match keyword(key) {
                Keyword::Schema | Keyword::List => self.inline(value, depth + 1),
                Keyword::Map => {
                    let Value::Object(all) = value else { continue };
                    all.values_mut().for_each(|it| self.inline(it, depth + 1));
                }
                Keyword::Plain | Keyword::Dropped => {}
            }
        }
    }
}

/// Adds the schema that a reference led to beside the siblings of the reference.
fn merge(siblings: &mut Map<String, Value>, component: Value) {
    const ANNOTATIONS: [&str; 5] = ["title", "description", "default", "examples", "deprecated"];
    match component {
        Value::Object(component) if siblings.keys().all(|it| ANNOTATIONS.contains(&it.as_str())) => {
            for (key, value) in component {
                siblings.entry(key).or_insert(value);
            }
        }
        // The schema without conditions adds none.
        Value::Bool(true) => {}
        component => {
            let all = siblings.entry("allOf").or_insert_with(|| json!([]));
            if let Value::Array(all) = all {
                all.push(component);
            }
        }
    }
}

/// Calls `each` with the name of each component that `schema` refers to.
fn references(schema: &Value, each: &mut impl FnMut(&str)) {
    match schema {
        Value::Object(members) => {
            if let Some(name) =
                members.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix(PREFIX))
            {
                each(name);
            }
            for (key, value) in members {
                match (keyword(key), value) {
                    (Keyword::Map, Value::Object(all)) => all.values().for_each(|it| references(it, each)),
                    (Keyword::Schema | Keyword::List, value) => references(value, each),
                    _ => {}
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|it| references(it, each)),
        _ => {}
    }
}

/// The JSON type of `value`, with its article.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
