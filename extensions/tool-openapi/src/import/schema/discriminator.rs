//! Discriminators: a property whose value selects one of several schemas.

use std::collections::{HashMap, HashSet};

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::{Components, DocumentPlace, ImportProblem, MAX_ALL_OF_PARTS};

/// The values of a discriminator, by the places of the schemas that they select.
type ValuesByPlace<'d> = HashMap<DocumentPlace, Vec<&'d str>>;

impl<'d> Components<'d> {
    /// Makes the alternatives of a discriminator those that its values select: the property has one of the values that are mapped to an
    /// alternative, or else its implicit one, the name of the component, unless the component states values itself.
    ///
    /// `oneOf` becomes `anyOf` if an alternative received a condition: schemas without conditions on other properties overlap.
    pub(super) fn add_discriminator_values(
        &self,
        place: &DocumentPlace,
        members: &'d Map<String, Value>,
        new: &mut Map<String, Value>,
    ) {
        let Some(discriminator) = members.get("discriminator").and_then(Value::as_object) else { return };
        let property = discriminator.get("propertyName").and_then(Value::as_str).unwrap_or_default();
        if property.is_empty() {
            return;
        }
        let mapping = discriminator.get("mapping").and_then(Value::as_object);
        let values = self.mapped_values(place, mapping);
        let is_free = |name: &str| mapping.is_none_or(|it| !it.contains_key(name));
        let mut has_conditions = false;
        for key in ["oneOf", "anyOf"] {
            let Some(alternatives) = new.get_mut(key).and_then(Value::as_array_mut) else { continue };
            let declared = match members.get(key) {
                Some(Value::Array(all)) => all.as_slice(),
                other => other.map_or(&[][..], std::slice::from_ref),
            };
            // Others are no alternatives.
            let declared = declared.iter().filter(|it| it.is_object() || it.is_boolean());
            let mut conditioned = HashSet::new();
            for (value, declared) in alternatives.iter_mut().zip(declared) {
                let Some(alternative) = value.as_object_mut() else { continue };
                let reference = declared.get("$ref").and_then(Value::as_str);
                let Some(reference) = reference.filter(|_| !alternative.contains_key("properties")) else {
                    continue;
                };
                let Ok((target, schema)) = self.follow_bare_references(place, reference) else { continue };
                // The values of a schema that is listed many times are listed once.
                if alternative.len() == 1 && conditioned.contains(&target) {
                    *value = Value::Null;
                    continue;
                }
                let allowed = match values.get(&target) {
                    Some(values) => json!(values),
                    None => match self.component_name_of_reference(place, reference).filter(|it| is_free(it))
                    {
                        Some(name)
                            if !self.restricts_property_values(
                                &target,
                                schema,
                                property,
                                &mut HashSet::new(),
                            ) =>
                        {
                            json!([name])
                        }
                        _ => continue,
                    },
                };
                alternative.insert("properties".to_owned(), json!({ property: { "enum": allowed } }));
                conditioned.insert(target);
                has_conditions = true;
            }
            // No schema.
            alternatives.retain(|it| !it.is_null());
        }
        if has_conditions
            && !new.contains_key("anyOf")
            && let Some(alternatives) = new.shift_remove("oneOf")
        {
            new.insert("anyOf".to_owned(), alternatives);
        }
    }

    /// The values of the mapping by the schemas that they select; a target is a reference, or the name of a component.
    fn mapped_values(
        &self,
        place: &DocumentPlace,
        mapping: Option<&'d Map<String, Value>>,
    ) -> ValuesByPlace<'d> {
        let mut values = ValuesByPlace::new();
        for (value, target) in mapping.into_iter().flatten() {
            let target = target.as_str().unwrap_or_default();
            let by_name = |_: ImportProblem| {
                self.follow_bare_references(place, &format!("#/components/schemas/{target}"))
            };
            if let Ok((target, _)) = self.follow_bare_references(place, target).or_else(by_name) {
                values.entry(target).or_default().push(value.as_str());
            }
        }
        values
    }

    /// The name of the component that `reference` names.
    fn component_name_of_reference(&self, place: &DocumentPlace, reference: &str) -> Option<String> {
        let (target, _) = self.documents.reference_target(place, reference).ok()?;
        let name = ["/components/schemas/", "/definitions/"]
            .iter()
            .find_map(|parent| target.pointer.strip_prefix(parent))
            .filter(|it| !it.contains('/'))?;
        Some(percent_decode_str(&name.replace("~1", "/").replace("~0", "~")).decode_utf8().ok()?.into_owned())
    }

    /// Returns `true` if the schema, or a part of its `allOf`, states values of the property.
    fn restricts_property_values(
        &self,
        place: &DocumentPlace,
        schema: &'d Value,
        property: &str,
        visited: &mut HashSet<*const Value>,
    ) -> bool {
        if visited.len() > MAX_ALL_OF_PARTS || !visited.insert(std::ptr::from_ref(schema)) {
            return false;
        }
        let resolve = |value: &'d Value| self.documents.follow_references(place.clone(), value).ok();
        let declared = schema.get("properties").and_then(|it| it.get(property)).and_then(resolve);
        if declared.is_some_and(|(_, it)| it.get("const").is_some() || it.get("enum").is_some()) {
            return true;
        }
        let parts = schema.get("allOf").and_then(Value::as_array);
        parts.into_iter().flatten().take(MAX_ALL_OF_PARTS).any(|part| {
            resolve(part)
                .is_some_and(|(place, part)| self.restricts_property_values(&place, part, property, visited))
        })
    }
}
