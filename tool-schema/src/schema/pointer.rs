//! Resolution of JSON pointers into arguments.
//!
//! A pointer is written against the schema that a program knows: by property names or aliases, into lists, through
//! branches and references. It is resolved to the locations at which the arguments of a call may have such a value,
//! under property names.

use std::cell::RefCell;

use serde_json::{Map, Value};

use super::InputSchema;
use crate::{
    arguments::plan::Origin,
    internal_keywords::{ALIASES, FILLS, IGNORES},
    pointer::{local_pointer, pointer_steps},
};

/// A location to which a pointer resolves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPointer {
    /// The property names and item indices from the root. A name at a list denotes that property of each item.
    pub steps: Vec<String>,
    /// For each step, `true` if there is a default for an absent value.
    pub defaults: Vec<bool>,
}

impl ResolvedPointer {
    /// Returns `true` if a value may exist although the step `at`, or a later one, is absent.
    #[must_use]
    pub fn has_default(&self, at: usize) -> bool {
        self.defaults.iter().skip(at).any(|it| *it)
    }
}

/// The schemas that may apply to a value at some location.
struct ReachedSchemas<'s> {
    steps: Vec<String>,
    /// For each step, `true` if one of its schemas has a default.
    defaults: Vec<bool>,
    /// Empty if nothing is known about the value.
    schemas: Vec<&'s Value>,
}

/// The result of one step.
enum StepResult<'s> {
    /// There is no such property.
    Closed,
    /// The schema permits any property.
    Open,
    /// The property name and its schema, in each branch that has it.
    Found(Vec<(String, &'s Value)>),
}

impl InputSchema {
    /// Returns the locations to which a JSON pointer may resolve in valid arguments, under the names of properties;
    /// the pointer may use aliases. The list is empty if the schema is closed and has no such property, or if
    /// `pointer` is not a JSON pointer. It usually has one entry, or several if branches of the schema name the
    /// property differently.
    ///
    /// A step at a list is an index, or the name of a property of every item: `/files/path` denotes the paths of all
    /// files.
    #[must_use]
    pub fn resolve_pointer(&self, pointer: &str) -> Vec<ResolvedPointer> {
        let resolved =
            |ReachedSchemas { steps, defaults, .. }: ReachedSchemas<'_>| ResolvedPointer { steps, defaults };
        self.reach_pointer(pointer).into_iter().map(resolved).collect()
    }

    /// Returns the root and the schemas that may apply to the values that `pointer` selects; none if nothing is known
    /// about one of them, and `None` if it selects nothing.
    pub(super) fn schemas_at(&self, pointer: &str) -> Option<(&Value, Vec<&Value>)> {
        let reached = self.reach_pointer(pointer);
        let is_known = reached.iter().all(|it| !it.schemas.is_empty());
        let schemas = reached.iter().flat_map(|it| &it.schemas).filter(|_| is_known).copied();
        (!reached.is_empty()).then(|| (self.decoding_schema_and_origin().0, schemas.collect()))
    }

    fn reach_pointer(&self, pointer: &str) -> Vec<ReachedSchemas<'_>> {
        let Some(steps) = pointer_steps(pointer) else { return Vec::new() };
        let (root, origin) = self.decoding_schema_and_origin();
        let mut reached =
            vec![ReachedSchemas { steps: Vec::new(), defaults: Vec::new(), schemas: vec![root] }];
        for name in steps {
            reached = reached.into_iter().flat_map(|from| from.take_step(root, origin, &name)).collect();
        }
        reached
    }
}

impl<'s> ReachedSchemas<'s> {
    fn take_step(self, root: &'s Value, origin: Origin, name: &str) -> Vec<Self> {
        let taken = |step: String, has_default: bool, schemas: Vec<&'s Value>| Self {
            steps: self.steps.iter().cloned().chain([step]).collect(),
            defaults: self.defaults.iter().copied().chain([has_default]).collect(),
            schemas,
        };
        let walk = PointerWalk { root, origin, name, seen: RefCell::default() };
        match unite_steps(self.schemas.iter().map(|schema| walk.step_into(schema))) {
            StepResult::Closed if self.schemas.is_empty() => vec![taken(name.to_owned(), false, vec![])],
            StepResult::Closed => Vec::new(),
            StepResult::Open => vec![taken(name.to_owned(), false, vec![])],
            StepResult::Found(found) => {
                let mut reached: Vec<Self> = Vec::new();
                for (name, schema) in found {
                    let has_default = has_default(schema, root, origin);
                    match reached.iter_mut().find(|it| it.steps.last() == Some(&name)) {
                        Some(known) => {
                            known.schemas.push(schema);
                            known.defaults.last_mut().into_iter().for_each(|it| *it |= has_default);
                        }
                        None => reached.push(taken(name, has_default, vec![schema])),
                    }
                }
                reached
            }
        }
    }
}

/// One step into the values that a schema permits.
struct PointerWalk<'s, 'n> {
    root: &'s Value,
    origin: Origin,
    name: &'n str,
    /// The followed references, each once, since schemas may be recursive.
    seen: RefCell<Vec<&'s str>>,
}

impl<'s> PointerWalk<'s, '_> {
    fn step_into(&self, schema: &'s Value) -> StepResult<'s> {
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Bool(false) => return StepResult::Closed,
            _ => return StepResult::Open,
        };
        if !may_have_parts(schema) {
            return StepResult::Closed;
        }
        let mut steps = vec![self.step_by_object_keywords(schema), self.step_by_list_keywords(schema)];
        steps.extend(
            schema.get("$ref").and_then(Value::as_str).map(|reference| self.step_into_reference(reference)),
        );
        steps.extend(subschema_list(schema, "allOf").map(|schema| self.step_into(schema)));
        for key in ["anyOf", "oneOf"] {
            if schema.contains_key(key) {
                steps.push(unite_steps(subschema_list(schema, key).map(|schema| self.step_into(schema))));
            }
        }
        for key in ["then", "else"] {
            // A conditional schema closes the object only in some cases.
            steps.extend(schema.get(key).map(|schema| match self.step_into(schema) {
                StepResult::Closed => StepResult::Open,
                step => step,
            }));
        }
        let is_closed = schema.get("unevaluatedProperties") == Some(&Value::Bool(false));
        match intersect_steps(steps) {
            StepResult::Open if is_closed => StepResult::Closed,
            step => step,
        }
    }

    fn step_into_reference(&self, reference: &'s str) -> StepResult<'s> {
        if self.seen.borrow().contains(&reference) {
            return StepResult::Open;
        }
        self.seen.borrow_mut().push(reference);
        let target = local_pointer(reference).and_then(|pointer| self.root.pointer(&pointer));
        target.map_or(StepResult::Open, |target| self.step_into(target))
    }

    /// Resolves the step by the keywords of lists.
    fn step_by_list_keywords(&self, schema: &'s Map<String, Value>) -> StepResult<'s> {
        let mut first = subschema_list(schema, "prefixItems");
        let rest = schema.get("items");
        match self.name.parse::<usize>() {
            Ok(at) => match first.nth(at).or(rest) {
                Some(schema) => StepResult::Found(vec![(self.name.to_owned(), schema)]),
                None => StepResult::Open,
            },
            Err(_) => match unite_steps(first.chain(rest).map(|schema| self.step_into(schema))) {
                // The keywords apply to lists only; the value may be an object, or the items are unrestricted.
                StepResult::Closed if has_type(schema, "object") || rest.is_none() => StepResult::Open,
                step => step,
            },
        }
    }

    /// Resolves the step by the keywords of objects.
    fn step_by_object_keywords(&self, schema: &'s Map<String, Value>) -> StepResult<'s> {
        let (name, is_own) = (self.name, self.origin == Origin::Own);
        let properties = schema.get("properties").and_then(Value::as_object);
        if let Some((name, schema)) = properties.and_then(|properties| {
            properties
                .get_key_value(name)
                .or_else(|| properties.iter().find(|(_, it)| is_own && is_alias(it, name)))
        }) {
            return StepResult::Found(vec![(name.clone(), schema)]);
        }
        let has_patterns =
            schema.get("patternProperties").and_then(Value::as_object).is_some_and(|it| !it.is_empty());
        match schema.get("additionalProperties") {
            _ if has_patterns => StepResult::Open,
            // Ignored properties are not part of a call.
            _ if is_own && schema.get(IGNORES) == Some(&Value::Bool(true)) => StepResult::Closed,
            Some(Value::Bool(false)) => StepResult::Closed,
            Some(schema @ Value::Object(_)) => StepResult::Found(vec![(name.to_owned(), schema)]),
            _ => StepResult::Open,
        }
    }
}

/// Resolves the step into a value to which all schemas apply.
fn intersect_steps<'s>(steps: impl IntoIterator<Item = StepResult<'s>>) -> StepResult<'s> {
    let mut found = Vec::new();
    for step in steps {
        match step {
            StepResult::Closed => return StepResult::Closed,
            StepResult::Open => {}
            StepResult::Found(more) => found.extend(more),
        }
    }
    if found.is_empty() { StepResult::Open } else { StepResult::Found(found) }
}

/// Resolves the step into a value to which one of several schemas applies.
fn unite_steps<'s>(steps: impl IntoIterator<Item = StepResult<'s>>) -> StepResult<'s> {
    let (mut found, mut is_open) = (Vec::new(), false);
    for step in steps {
        match step {
            StepResult::Closed => {}
            StepResult::Open => is_open = true,
            StepResult::Found(more) => found.extend(more),
        }
    }
    match (found.is_empty(), is_open) {
        (false, _) => StepResult::Found(found),
        (true, true) => StepResult::Open,
        (true, false) => StepResult::Closed,
    }
}

fn subschema_list<'s>(
    schema: &'s Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'s Value> + use<'s> {
    schema.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn is_alias(schema: &Value, name: &str) -> bool {
    let aliases = schema.get(ALIASES).and_then(Value::as_array);
    aliases.is_some_and(|aliases| aliases.iter().any(|alias| alias == name))
}

/// Returns `true` if a value of the schema may have parts.
fn may_have_parts(schema: &Map<String, Value>) -> bool {
    !schema.contains_key("type") || has_type(schema, "object") || has_type(schema, "array")
}

pub(super) fn has_type(schema: &Map<String, Value>, name: &str) -> bool {
    match schema.get("type") {
        None => false,
        Some(Value::Array(types)) => types.iter().any(|it| it == name),
        Some(only) => only == name,
    }
}

/// Returns `true` if the schema or its reference target has a default, or marks that the decoder has one.
fn has_default(schema: &Value, root: &Value, origin: Origin) -> bool {
    let Some(schema) = schema.as_object() else { return false };
    let referred = schema.get("$ref").and_then(Value::as_str).and_then(local_pointer);
    let referred = referred.and_then(|pointer| root.pointer(&pointer));
    schema.contains_key("default")
        || (origin == Origin::Own && schema.contains_key(FILLS))
        || referred.is_some_and(|it| it.get("default").is_some())
}
