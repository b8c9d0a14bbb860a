//! Objects with flattened enums.
//!
//! schemars writes the struct's own properties beside a `oneOf` or `anyOf` of the variants, or beside an `allOf` of
//! such choices if there are several enums. Such a schema cannot be closed, since each part would reject the
//! properties of the others. It therefore becomes one choice of whole objects: one form for each combination of
//! variants, which includes the struct's own properties and is closed by itself. An `Option` adds a variant `{}`, a
//! form with the struct's own properties only.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Closing, SchemaError, merge};

/// The keywords that move into the forms; all others apply to every form.
const OWN: [&str; 5] = ["type", "properties", "required", "patternProperties", "additionalProperties"];

/// The maximum number of forms, since a model has to read the schema.
const MAX_FORMS: usize = 1024;

/// The relation between the forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Choice {
    /// Several may match; a decoder takes the first.
    Any,
    /// At most one matches if each form rejects the properties of the others.
    IfClosed,
    /// Exactly one matches.
    One,
}

/// The forms of an object, without choices inside.
struct Forms {
    list: Vec<Map<String, Value>>,
    choice: Choice,
}

/// Turns an object with choices into a choice of objects.
pub(super) fn distribute_choices(
    schema: &mut Map<String, Value>,
    closing: Closing,
) -> Result<(), SchemaError> {
    deduplicate_required(schema);
    let choices = choice_lists(schema);
    if choices.is_empty() {
        close_additional_properties(schema);
        return Ok(());
    }
    if !is_flattened(schema, &choices) {
        return Ok(());
    }
    let mut own = schema.clone();
    close_additional_properties(&mut own);
    own.retain(|key, _| OWN.contains(&key.as_str()));
    let Forms { list, choice } = combine_forms(own, &choices)?;
    if list.is_empty() {
        return Err(SchemaError::new("no object fits all that is flattened into it"));
    }
    // If properties are ignored or collected in a map, those of another form may be among them.
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
    schema.insert(key.to_owned(), distinct_forms(list).into());
    Ok(())
}

/// Returns `true` if the choices are flattened parts of the object, as schemars generates them. A hand-written schema
/// may contain `additionalProperties`, which does not see the properties in other parts; schemars avoids that.
fn is_flattened(schema: &Map<String, Value>, choices: &[(&str, &[Value])]) -> bool {
    let is_object = ["properties", "unevaluatedProperties"].iter().any(|key| schema.contains_key(*key))
        || schema.get("type").is_some_and(|name| name == "object");
    let is_closed = |branch: &Value| branch.get("additionalProperties").is_some_and(|rest| *rest == false);
    is_object
        && !schema.contains_key("additionalProperties")
        && !choices.iter().any(|(_, branches)| branches.iter().any(is_closed))
}

/// Removes duplicate names from `required`.
fn deduplicate_required(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(names)) = schema.get_mut("required")
        && names.iter().enumerate().any(|(at, name)| names.iter().take(at).any(|it| it == name))
    {
        *names = merge::union_of_names(names, &Value::Null);
    }
}

/// Turns the keyword for unevaluated properties into one for additional properties.
fn close_additional_properties(schema: &mut Map<String, Value>) {
    if let Some(rest) = schema.shift_remove("unevaluatedProperties") {
        schema.entry("additionalProperties").or_insert(rest);
    }
}

/// Removes duplicate forms: two parts may both be empty.
fn distinct_forms(forms: Vec<Map<String, Value>>) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::with_capacity(forms.len());
    for form in forms.into_iter().map(Value::Object) {
        if !found.contains(&form) {
            found.push(form);
        }
    }
    found
}

/// Returns the lists of alternatives in a schema with their keywords.
fn choice_lists(schema: &Map<String, Value>) -> Vec<(&str, &[Value])> {
    let mut found = Vec::new();
    for (key, value) in schema {
        match (key.as_str(), value) {
            ("oneOf" | "anyOf", Value::Array(list)) => found.push((key.as_str(), list.as_slice())),
            ("allOf", Value::Array(parts)) => {
                found.extend(parts.iter().filter_map(choice_without_other_keywords))
            }
            _ => {}
        }
    }
    found
}

/// Returns the list of alternatives if `schema` has no other keyword.
fn choice_without_other_keywords(schema: &Value) -> Option<(&str, &[Value])> {
    let schema = schema.as_object().filter(|it| it.len() == 1)?;
    choice_lists(schema).first().copied().filter(|_| !schema.contains_key("allOf"))
}

fn remove_choices(schema: &mut Map<String, Value>) {
    schema.shift_remove("oneOf");
    schema.shift_remove("anyOf");
    if let Some(Value::Array(parts)) = schema.get_mut("allOf") {
        parts.retain(|part| choice_without_other_keywords(part).is_none());
        if parts.is_empty() {
            schema.shift_remove("allOf");
        }
    }
}

/// Returns the forms of an object with `own` and one alternative of each list in `choices`.
fn combine_forms(own: Map<String, Value>, choices: &[(&str, &[Value])]) -> Result<Forms, SchemaError> {
    let mut all = Forms { list: vec![own], choice: Choice::One };
    for (key, branches) in choices {
        let mut of_branches = Vec::new();
        let mut choice = classify_choice(key, branches);
        for branch in *branches {
            let forms = forms_of(branch)?;
            choice = choice.min(forms.choice);
            of_branches.extend(forms.list);
        }
        let mut pairs = Vec::new();
        for left in &all.list {
            for right in &of_branches {
                pairs.extend(merge::merge_objects(left, right)?);
            }
            if pairs.len() > MAX_FORMS {
                return Err(too_many_forms_error());
            }
        }
        all = Forms { list: pairs, choice: all.choice.min(choice) };
    }
    Ok(all)
}

fn too_many_forms_error() -> SchemaError {
    let message = format!(
        "flattened enums give this object more than {MAX_FORMS} forms; put one of them into a property"
    );
    SchemaError::new(message)
}

/// Returns the forms of one alternative; none if it is not an object, since only objects can be flattened.
fn forms_of(branch: &Value) -> Result<Forms, SchemaError> {
    let only = |list| Ok(Forms { list, choice: Choice::One });
    let branch = match branch {
        // A value of any type collects all remaining properties.
        Value::Bool(true) => {
            return only(vec![Map::from_iter([("additionalProperties".to_owned(), true.into())])]);
        }
        Value::Object(branch) if merge::may_match_objects(branch) => branch,
        _ => return only(Vec::new()),
    };
    let choices = choice_lists(branch);
    if !choices.is_empty() && branch.contains_key("additionalProperties") {
        return Err(merge::contradiction_error("additionalProperties"));
    }
    let mut own = branch.clone();
    remove_choices(&mut own);
    close_additional_properties(&mut own);
    combine_forms(own, &choices)
}

/// Returns the relation between the alternatives under `key`.
fn classify_choice(key: &str, branches: &[Value]) -> Choice {
    if key != "oneOf" {
        return Choice::Any;
    }
    let branches: Vec<_> = branches.iter().filter_map(Value::as_object).collect();
    let Some(first) = branches.first() else { return Choice::One };
    let is_tag = |name: &str| {
        let mut seen = HashSet::new();
        branches.iter().all(|branch| {
            let values = required_property(branch, name).and_then(merge::listed_names);
            values.is_some_and(|values| values.into_iter().all(|value| seen.insert(value)))
        })
    };
    // Each alternative requires a property that it describes, as externally tagged variants do.
    let are_variants = branches.iter().all(|branch| required_and_described_names(branch).next().is_some());
    if are_variants && !required_and_described_names(first).any(is_tag) {
        Choice::IfClosed
    } else {
        Choice::One
    }
}

/// Returns the names of the properties that an object both requires and describes.
fn required_and_described_names(object: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let names = object.get("required").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).filter(|name| required_property(object, name).is_some())
}

/// Returns the schema of the property `name` if it is required.
fn required_property<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Map<String, Value>> {
    let is_required = object.get("required")?.as_array()?.iter().any(|it| it == name);
    object.get("properties")?.get(name)?.as_object().filter(|_| is_required)
}
