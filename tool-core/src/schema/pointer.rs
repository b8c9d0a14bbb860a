//! Places of arguments, as JSON pointers of a program name them.
//!
//! A pointer is written against the schema that a program knows: by own names or by aliases, into lists,
//! through branches and references. Here it is turned into the places where the arguments of a call hold
//! such a value, under own names.

use std::cell::RefCell;

use serde_json::{Map, Value};

use super::{ALIASES, FILLS, IGNORES, InputSchema, references::local_pointer};
use crate::arguments::plan::Origin;

/// A place that a pointer leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPointer {
    /// The names of properties, and the indices of items, from the root. A name at a list stands for that
    /// property of each item.
    pub steps: Vec<String>,
    /// For each step, whether there is a default where the value is absent.
    pub defaults: Vec<bool>,
}

impl ResolvedPointer {
    /// Returns `true` if a value may be there although the step `at`, or one behind it, is absent.
    #[must_use]
    pub fn has_default(&self, at: usize) -> bool {
        self.defaults.iter().skip(at).any(|it| *it)
    }
}

/// The schemas that a value at some place may have to fit.
struct Reached<'s> {
    steps: Vec<String>,
    /// For each step, whether one of its schemas has a default.
    defaults: Vec<bool>,
    /// Empty where nothing is known of the value.
    schemas: Vec<&'s Value>,
}

/// The outcome of one step.
enum Step<'s> {
    /// There is no such property.
    Closed,
    /// Nothing is said of it.
    Open,
    /// Its own name and its schema, in each branch that has it.
    Found(Vec<(String, &'s Value)>),
}

impl InputSchema {
    /// Returns the places that a JSON pointer may lead to in arguments that fit, under the own names of all
    /// properties: an alias is one name more for a property. None, where the schema is closed and has no
    /// such property, or `pointer` is no JSON pointer; one, mostly; several, where branches of the schema
    /// name it differently.
    ///
    /// A step at a list is an index, or else the name of a property of every item: `/files/path` leads to
    /// the paths of all files.
    #[must_use]
    pub fn resolve_pointer(&self, pointer: &str) -> Vec<ResolvedPointer> {
        let Some(steps) = pointer_steps(pointer) else { return Vec::new() };
        let (root, origin) = self.with_aliases();
        let mut reached = vec![Reached { steps: Vec::new(), defaults: Vec::new(), schemas: vec![root] }];
        for name in steps {
            reached = reached.into_iter().flat_map(|from| from.step(root, origin, &name)).collect();
        }
        let resolved = |Reached { steps, defaults, .. }: Reached<'_>| ResolvedPointer { steps, defaults };
        reached.into_iter().map(resolved).collect()
    }
}

/// The steps of a JSON pointer; `None` if it is malformed.
#[must_use]
pub fn pointer_steps(pointer: &str) -> Option<Vec<String>> {
    if pointer.is_empty() {
        return Some(Vec::new());
    }
    let is_escaped = |step: &str| step.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    let steps = pointer.strip_prefix('/')?.split('/');
    steps.map(|step| is_escaped(step).then(|| step.replace("~1", "/").replace("~0", "~"))).collect()
}

impl<'s> Reached<'s> {
    fn step(self, root: &'s Value, origin: Origin, name: &str) -> Vec<Self> {
        let taken = |step: String, has_default: bool, schemas: Vec<&'s Value>| Self {
            steps: self.steps.iter().cloned().chain([step]).collect(),
            defaults: self.defaults.iter().copied().chain([has_default]).collect(),
            schemas,
        };
        let walk = Walk { root, origin, name, seen: RefCell::default() };
        match any(self.schemas.iter().map(|schema| walk.step(schema))) {
            Step::Closed if self.schemas.is_empty() => vec![taken(name.to_owned(), false, vec![])],
            Step::Closed => Vec::new(),
            Step::Open => vec![taken(name.to_owned(), false, vec![])],
            Step::Found(found) => {
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

/// One step into the values that a schema admits.
struct Walk<'s, 'n> {
    root: &'s Value,
    origin: Origin,
    name: &'n str,
    /// The references that were followed: each is once, since schemas refer back to themselves.
    seen: RefCell<Vec<&'s str>>,
}

impl<'s> Walk<'s, '_> {
    fn step(&self, schema: &'s Value) -> Step<'s> {
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Bool(false) => return Step::Closed,
            _ => return Step::Open,
        };
        if !is_compound(schema) {
            return Step::Closed;
        }
        let mut steps = vec![self.of_object(schema), self.of_list(schema)];
        steps.extend(schema.get("$ref").and_then(Value::as_str).map(|reference| self.referred(reference)));
        steps.extend(listed(schema, "allOf").map(|schema| self.step(schema)));
        for key in ["anyOf", "oneOf"] {
            if schema.contains_key(key) {
                steps.push(any(listed(schema, key).map(|schema| self.step(schema))));
            }
        }
        for key in ["then", "else"] {
            // What a condition closes, it closes sometimes.
            steps.extend(schema.get(key).map(|schema| match self.step(schema) {
                Step::Closed => Step::Open,
                step => step,
            }));
        }
        let is_closed = schema.get("unevaluatedProperties") == Some(&Value::Bool(false));
        match all(steps) {
            Step::Open if is_closed => Step::Closed,
            step => step,
        }
    }

    fn referred(&self, reference: &'s str) -> Step<'s> {
        if self.seen.borrow().contains(&reference) {
            return Step::Open;
        }
        self.seen.borrow_mut().push(reference);
        let target = local_pointer(reference).and_then(|pointer| self.root.pointer(&pointer));
        target.map_or(Step::Open, |target| self.step(target))
    }

    /// The step, by the keywords of lists.
    fn of_list(&self, schema: &'s Map<String, Value>) -> Step<'s> {
        let mut first = listed(schema, "prefixItems");
        let rest = schema.get("items");
        match self.name.parse::<usize>() {
            Ok(at) => match first.nth(at).or(rest) {
                Some(schema) => Step::Found(vec![(self.name.to_owned(), schema)]),
                None => Step::Open,
            },
            Err(_) => match any(first.chain(rest).map(|schema| self.step(schema))) {
                // What is said of lists alone, where the value may be an object or an item anything.
                Step::Closed if has_type(schema, "object") || rest.is_none() => Step::Open,
                step => step,
            },
        }
    }

    /// The step, by the keywords of objects.
    fn of_object(&self, schema: &'s Map<String, Value>) -> Step<'s> {
        let (name, is_own) = (self.name, self.origin == Origin::Own);
        let properties = schema.get("properties").and_then(Value::as_object);
        if let Some((name, schema)) = properties.and_then(|properties| {
            properties
                .get_key_value(name)
                .or_else(|| properties.iter().find(|(_, it)| is_own && is_alias(it, name)))
        }) {
            return Step::Found(vec![(name.clone(), schema)]);
        }
        let has_patterns =
            schema.get("patternProperties").and_then(Value::as_object).is_some_and(|it| !it.is_empty());
        match schema.get("additionalProperties") {
            _ if has_patterns => Step::Open,
            // What is ignored is no part of a call.
            _ if is_own && schema.get(IGNORES) == Some(&Value::Bool(true)) => Step::Closed,
            Some(Value::Bool(false)) => Step::Closed,
            Some(schema @ Value::Object(_)) => Step::Found(vec![(name.to_owned(), schema)]),
            _ => Step::Open,
        }
    }
}

/// The step into a value that has to fit all of several schemas.
fn all<'s>(steps: impl IntoIterator<Item = Step<'s>>) -> Step<'s> {
    let mut found = Vec::new();
    for step in steps {
        match step {
            Step::Closed => return Step::Closed,
            Step::Open => {}
            Step::Found(more) => found.extend(more),
        }
    }
    if found.is_empty() { Step::Open } else { Step::Found(found) }
}

/// The step into a value that has to fit one of several schemas.
fn any<'s>(steps: impl IntoIterator<Item = Step<'s>>) -> Step<'s> {
    let (mut found, mut is_open) = (Vec::new(), false);
    for step in steps {
        match step {
            Step::Closed => {}
            Step::Open => is_open = true,
            Step::Found(more) => found.extend(more),
        }
    }
    match (found.is_empty(), is_open) {
        (false, _) => Step::Found(found),
        (true, true) => Step::Open,
        (true, false) => Step::Closed,
    }
}

fn listed<'s>(schema: &'s Map<String, Value>, key: &str) -> impl Iterator<Item = &'s Value> + use<'s> {
    schema.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn is_alias(schema: &Value, name: &str) -> bool {
    let aliases = schema.get(ALIASES).and_then(Value::as_array);
    aliases.is_some_and(|aliases| aliases.iter().any(|alias| alias == name))
}

/// Returns `true` if a value of the schema may have parts.
fn is_compound(schema: &Map<String, Value>) -> bool {
    !schema.contains_key("type") || has_type(schema, "object") || has_type(schema, "array")
}

fn has_type(schema: &Map<String, Value>, name: &str) -> bool {
    match schema.get("type") {
        None => false,
        Some(Value::Array(types)) => types.iter().any(|it| it == name),
        Some(only) => only == name,
    }
}

/// Returns `true` if the schema, or one that it refers to, has a default, or says that the decoder has one.
fn has_default(schema: &Value, root: &Value, origin: Origin) -> bool {
    let Some(schema) = schema.as_object() else { return false };
    let referred = schema.get("$ref").and_then(Value::as_str).and_then(local_pointer);
    let referred = referred.and_then(|pointer| root.pointer(&pointer));
    schema.contains_key("default")
        || (origin == Origin::Own && schema.contains_key(FILLS))
        || referred.is_some_and(|it| it.get("default").is_some())
}
