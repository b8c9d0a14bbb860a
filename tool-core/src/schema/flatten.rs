//! Objects that enums are flattened into.
//!
//! schemars writes the struct's own properties beside a `oneOf` or `anyOf` of the variants' objects,
//! or beside an `allOf` of those where there are several enums. Such a schema cannot be closed: each
//! side would refuse what the other allows. So it becomes one choice of whole objects, a form for
//! each combination of variants with the struct's own properties in it, and each form is closed by
//! itself. An `Option` brings a variant `{}`: a form that has the struct's own properties only.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Closing, SchemaError, merge};

/// What of an object moves into its forms; all else is said of it whatever its form.
const OWN: [&str; 5] = ["type", "properties", "required", "patternProperties", "additionalProperties"];

/// How many forms an object may have; the schema is to be read by a model.
const MOST: usize = 1024;

/// How forms differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Choice {
    /// Several may fit; a decoder takes the first.
    Any,
    /// One fits where each refuses the properties of the others.
    IfClosed,
    /// One fits.
    One,
}

/// The forms that an object can have, without choices in them.
struct Forms {
    list: Vec<Map<String, Value>>,
    choice: Choice,
}

/// Turns an object with choices in it into a choice of objects.
pub(super) fn distribute(schema: &mut Map<String, Value>, closing: Closing) -> Result<(), SchemaError> {
    once(schema);
    let choices = choices(schema);
    if choices.is_empty() {
        rest(schema);
        return Ok(());
    }
    if !is_flattened(schema, &choices) {
        return Ok(());
    }
    let mut own = schema.clone();
    rest(&mut own);
    own.retain(|key, _| OWN.contains(&key.as_str()));
    let Forms { list, choice } = forms(own, &choices)?;
    if list.is_empty() {
        return Err(SchemaError::new("no object fits all that is flattened into it"));
    }
    // Where properties are ignored, or kept in a map, those of another form may be among them.
    let takes_more = |form: &Map<String, Value>| {
        form.contains_key("patternProperties")
            || form.get("additionalProperties").is_some_and(|rest| *rest != false)
    };
    let takes_more = closing == Closing::Open || list.iter().any(takes_more);
    let is_one = choice == Choice::One || (choice == Choice::IfClosed && !takes_more);
    remove_choices(schema);
    schema.shift_remove("unevaluatedProperties");
    schema.retain(|key, _| key == "type" || !OWN.contains(&key.as_str()));
    let key = if is_one { "oneOf" } else { "anyOf" };
    schema.insert(key.to_owned(), distinct(list).into());
    Ok(())
}

/// Whether the choices are parts of the object, as schemars writes them. What somebody wrote may say
/// `additionalProperties`, which is blind to what stands beside it; schemars takes care not to.
fn is_flattened(schema: &Map<String, Value>, choices: &[(&str, &[Value])]) -> bool {
    let is_object = ["properties", "unevaluatedProperties"].iter().any(|key| schema.contains_key(*key))
        || schema.get("type").is_some_and(|name| name == "object");
    let is_closed = |branch: &Value| branch.get("additionalProperties").is_some_and(|rest| *rest == false);
    is_object
        && !schema.contains_key("additionalProperties")
        && !choices.iter().any(|(_, branches)| branches.iter().any(is_closed))
}

/// A name that two parts of an object require is required once.
fn once(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(names)) = schema.get_mut("required") {
        *names = merge::union(names, &Value::Null);
    }
}

/// What is said of the properties that no flattened part has is said of those that nobody names.
fn rest(schema: &mut Map<String, Value>) {
    if let Some(rest) = schema.shift_remove("unevaluatedProperties") {
        schema.entry("additionalProperties").or_insert(rest);
    }
}

/// The forms, each of them once: two parts may both have nothing.
fn distinct(forms: Vec<Map<String, Value>>) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::with_capacity(forms.len());
    for form in forms.into_iter().map(Value::Object) {
        if !found.contains(&form) {
            found.push(form);
        }
    }
    found
}

/// The lists of alternatives in a schema, each with its keyword.
fn choices(schema: &Map<String, Value>) -> Vec<(&str, &[Value])> {
    let mut found = Vec::new();
    for (key, value) in schema {
        match (key.as_str(), value) {
            ("oneOf" | "anyOf", Value::Array(list)) => found.push((key.as_str(), list.as_slice())),
            ("allOf", Value::Array(parts)) => found.extend(parts.iter().filter_map(choice_alone)),
            _ => {}
        }
    }
    found
}

/// The list of alternatives that is all that `schema` says.
fn choice_alone(schema: &Value) -> Option<(&str, &[Value])> {
    let schema = schema.as_object().filter(|it| it.len() == 1)?;
    choices(schema).first().copied().filter(|_| !schema.contains_key("allOf"))
}

fn remove_choices(schema: &mut Map<String, Value>) {
    schema.shift_remove("oneOf");
    schema.shift_remove("anyOf");
    if let Some(Value::Array(parts)) = schema.get_mut("allOf") {
        parts.retain(|part| choice_alone(part).is_none());
        if parts.is_empty() {
            schema.shift_remove("allOf");
        }
    }
}

/// The forms of an object that has `own` and one of each list of `choices`.
fn forms(own: Map<String, Value>, choices: &[(&str, &[Value])]) -> Result<Forms, SchemaError> {
    let mut all = Forms { list: vec![own], choice: Choice::One };
    for (key, branches) in choices {
        let mut of_branches = Vec::new();
        let mut choice = told_apart(key, branches);
        for branch in *branches {
            let forms = forms_of(branch)?;
            choice = choice.min(forms.choice);
            of_branches.extend(forms.list);
        }
        let mut pairs = Vec::new();
        for left in &all.list {
            for right in &of_branches {
                pairs.extend(merge::objects(left, right)?);
            }
            if pairs.len() > MOST {
                return Err(too_many());
            }
        }
        all = Forms { list: pairs, choice: all.choice.min(choice) };
    }
    Ok(all)
}

fn too_many() -> SchemaError {
    let message =
        format!("flattened enums give this object more than {MOST} forms; put one of them into a property");
    SchemaError::new(message)
}

/// The forms of one alternative; none where it is no object, which nothing can be flattened from.
fn forms_of(branch: &Value) -> Result<Forms, SchemaError> {
    let only = |list| Ok(Forms { list, choice: Choice::One });
    let branch = match branch {
        // A value of any kind takes all that is there.
        Value::Bool(true) => {
            return only(vec![Map::from_iter([("additionalProperties".to_owned(), true.into())])]);
        }
        Value::Object(branch) if merge::is_for_objects(branch) => branch,
        _ => return only(Vec::new()),
    };
    let choices = choices(branch);
    if !choices.is_empty() && branch.contains_key("additionalProperties") {
        return Err(merge::contradiction("additionalProperties"));
    }
    let mut own = branch.clone();
    remove_choices(&mut own);
    rest(&mut own);
    forms(own, &choices)
}

/// How the alternatives under `key` differ.
fn told_apart(key: &str, branches: &[Value]) -> Choice {
    if key != "oneOf" {
        return Choice::Any;
    }
    let branches: Vec<_> = branches.iter().filter_map(Value::as_object).collect();
    let Some(first) = branches.first() else { return Choice::One };
    let is_tag = |name: &str| {
        let mut seen = HashSet::new();
        branches.iter().all(|branch| {
            let values = required(branch, name).and_then(merge::names);
            values.is_some_and(|values| values.into_iter().all(|value| seen.insert(value)))
        })
    };
    // Each requires a property that it describes: what an externally tagged variant looks like.
    let are_variants = branches.iter().all(|branch| described(branch).next().is_some());
    if are_variants && !described(first).any(is_tag) { Choice::IfClosed } else { Choice::One }
}

/// The names of the properties that an object requires and describes.
fn described(object: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let names = object.get("required").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).filter(|name| required(object, name).is_some())
}

/// The schema of the property `name`, if it is required.
fn required<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Map<String, Value>> {
    let is_required = object.get("required")?.as_array()?.iter().any(|it| it == name);
    object.get("properties")?.get(name)?.as_object().filter(|_| is_required)
}
