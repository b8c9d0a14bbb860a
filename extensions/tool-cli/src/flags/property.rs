//! The properties of a schema, also of nested objects.

use std::collections::HashSet;

use serde_json::{Map, Value};
use tool_runtime::ToolDefinition;

use super::{
    ValueKind,
    json_property::{JsonProperty, json_properties},
    schema::{
        MAX_FLAG_DEPTH, is_default_worth_showing, limit_texts, resolve_reference, schema_members, value_kind,
    },
};
use crate::sanitize::is_shown_unchanged;

/// The longest name of a flag, in bytes.
const MAX_FLAG_BYTES: usize = 100;

/// One property of a tool's arguments, at any depth.
#[derive(Debug, Clone)]
pub(crate) struct Property {
    /// The names from the outermost object to this one.
    pub(crate) path: Vec<String>,
    /// The flag, without the dashes before it.
    pub(crate) flag: String,
    /// The flag with the property's own spelling, where that differs.
    pub(crate) alias: Option<String>,
    /// `true` if the property can be given as a flag.
    pub(crate) has_flag: bool,
    pub(crate) kind: ValueKind,
    /// `true` if the value is secret: the flag takes a source of the value.
    pub(crate) secret: bool,
    /// The properties inside a value that is written as JSON.
    pub(crate) shape: Vec<JsonProperty>,
    /// `true` if the object around it requires the property.
    pub(crate) required: bool,
    /// `true` if every call requires the property.
    pub(crate) is_always_required: bool,
    /// `true` if the properties inside have flags.
    pub(crate) has_inner_flags: bool,
    /// The description.
    pub(crate) about: String,
    pub(crate) default: Option<Value>,
    /// Other constraints, as text.
    pub(crate) limits: Vec<String>,
}

/// The properties of `schema`, outer before inner, in the order in which they are declared.
pub(crate) fn schema_properties(schema: &Value) -> Vec<Property> {
    let mut walk = PropertyCollector { root: schema, found: Vec::new() };
    walk.add_object_properties(schema, &[], &mut Vec::new());
    let mut found = walk.found;
    let exact_names: HashSet<_> = found.iter().map(|it| it.path.join(".")).collect();
    let mut taken_flags = HashSet::new();
    for at in 0..found.len() {
        let (before, rest) = found.split_at_mut(at);
        if let Some(property) = rest.first_mut() {
            set_flag_name(property, &exact_names, &mut taken_flags);
            set_requirement(property, before);
        }
    }
    found
}

/// The properties of the arguments of a tool, with its secrets marked.
pub(crate) fn argument_properties(definition: &ToolDefinition) -> Vec<Property> {
    let secrets = &definition.metadata().secrets;
    let mut properties = schema_properties(definition.input_schema().as_value());
    for property in &mut properties {
        property.secret = property.path.iter().any(|name| secrets.iter().any(|it| it == name));
    }
    properties
}

/// Sets the flag of `property`: with dashes for underscores, unless another property has that name.
fn set_flag_name(property: &mut Property, exact_names: &HashSet<String>, taken_flags: &mut HashSet<String>) {
    let exact = property.path.join(".");
    let dashed = exact.replace('_', "-");
    property.has_flag = property.path.iter().all(|name| is_valid_flag_name(name));
    let stays = exact_names.contains(&dashed) || dashed.starts_with('-') || taken_flags.contains(&dashed);
    (property.flag, property.alias) = if stays { (exact, None) } else { (dashed, Some(exact)) };
    if property.has_flag {
        taken_flags.insert(property.flag.clone());
    }
}

/// Sets whether every call requires `property`, and whether the object around it has properties with flags.
fn set_requirement(property: &mut Property, earlier_properties: &mut [Property]) {
    let path = property.path.split_last().map_or(&[][..], |(_, path)| path);
    let outer = earlier_properties.iter_mut().find(|it| it.path == path);
    property.is_always_required = property.required && outer.as_ref().is_none_or(|it| it.is_always_required);
    if let Some(outer) = outer {
        outer.has_inner_flags |= property.has_flag;
    }
}

/// Returns `true` if the name is a valid and readable flag.
fn is_valid_flag_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && !name.chars().any(|c| c == '=' || c == '.' || c.is_whitespace())
        && name.len() <= MAX_FLAG_BYTES
        && is_shown_unchanged(name)
}

struct PropertyCollector<'s> {
    root: &'s Value,
    found: Vec<Property>,
}

impl<'s> PropertyCollector<'s> {
    /// Adds the properties of an object, also of its branches.
    fn add_object_properties(&mut self, schema: &'s Value, path: &[String], seen: &mut Vec<&'s str>) {
        for (name, property, required) in schema_members(self.root, schema, 0) {
            let mut path = path.to_vec();
            path.push(name.to_owned());
            let depth = seen.len();
            let target = resolve_reference(self.root, property, seen);
            if let Some(known) = self.found.iter_mut().find(|it| it.path == path) {
                // Branches may differ: the flag accepts every branch.
                known.merge_schema_branch(value_kind(self.root, target, 0), required);
            } else {
                let described = create_property(self.root, property, target, &path, required);
                let has_inner_flags = described.kind == ValueKind::Object && path.len() < MAX_FLAG_DEPTH;
                self.found.push(described);
                let (outer, inner) = seen.split_at(depth);
                let is_recursive = inner.iter().any(|it| outer.contains(it));
                if has_inner_flags && !is_recursive {
                    self.add_object_properties(target, &path, seen);
                } else if let Some(described) = self.found.last_mut() {
                    described.shape = json_properties(self.root, target);
                }
            }
            seen.truncate(depth);
        }
    }
}

impl Property {
    fn merge_schema_branch(&mut self, kind: ValueKind, required: bool) {
        self.required &= required;
        match (&mut self.kind, kind) {
            (ValueKind::Choice(all), ValueKind::Choice(more)) => {
                all.extend(more.into_iter().filter(|value| !all.contains(value)).collect::<Vec<_>>());
            }
            (mine, other) if *mine == other => {}
            (mine, _) => *mine = ValueKind::Json { text: true },
        }
    }
}

fn create_property(
    root: &Value,
    schema: &Value,
    target: &Value,
    path: &[String],
    required: bool,
) -> Property {
    let word = |keyword: &str| schema.get(keyword).or_else(|| target.get(keyword));
    Property {
        path: path.to_vec(),
        flag: String::new(),
        alias: None,
        has_flag: false,
        kind: value_kind(root, target, 0),
        secret: false,
        shape: Vec::new(),
        required,
        is_always_required: false,
        has_inner_flags: false,
        about: word("description").and_then(Value::as_str).unwrap_or_default().trim().to_owned(),
        default: word("default").filter(|value| is_default_worth_showing(value)).cloned(),
        limits: limit_texts(target),
    }
}

impl Property {
    /// The placeholder of its value in help.
    pub(crate) fn placeholder(&self) -> &'static str {
        if self.secret { "SOURCE" } else { self.kind.placeholder() }
    }

    /// The first line of the description with the constraints, for a table.
    pub(crate) fn summary_line(&self) -> String {
        let about = self.about.lines().next().unwrap_or_default();
        match self.limits.as_slice() {
            [] => about.to_owned(),
            limits => format!("{about} [{}]", limits.join("; ")).trim_start().to_owned(),
        }
    }

    /// The id for `clap`, which no option of the program can have.
    pub(super) fn clap_id(&self) -> String {
        format!("\u{0}{}", self.path.join("\u{0}"))
    }

    /// Writes `value` into `arguments`, at the place of the property.
    pub(crate) fn insert_into(&self, arguments: &mut Map<String, Value>, value: Value) -> Result<(), String> {
        let Some((last, path)) = self.path.split_last() else { return Ok(()) };
        let mut object = arguments;
        for name in path {
            let inner = object.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
            // `null` counts as absent.
            if inner.is_null() {
                *inner = Value::Object(Map::new());
            }
            let Value::Object(inner) = inner else {
                return Err(format!("`{name}` is given as another value than an object"));
            };
            object = inner;
        }
        object.insert(last.clone(), value);
        Ok(())
    }
}
