//! Properties that only requests have, or only responses.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::Components;
use crate::document::DocumentPlace;

/// The maximum number of parts of `allOf` that are searched for a property.
pub(super) const MAX_ALL_OF_PARTS: usize = 64;

/// The direction that a schema is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::import) enum Direction {
    /// Without `readOnly` properties.
    Request,
    /// Without `writeOnly` properties.
    Response,
}

impl Components<'_> {
    /// Returns `true` for a property that is not part of this direction.
    pub(super) fn is_excluded_by_direction(&self, place: &DocumentPlace, property: &Value) -> bool {
        let key = match self.direction {
            Direction::Request => "readOnly",
            Direction::Response => "writeOnly",
        };
        let says = |value: &Value| value.get(key) == Some(&Value::Bool(true));
        says(property)
            || property.get("$ref").is_some()
                && self.documents.follow_references(place.clone(), property).is_ok_and(|(_, it)| says(it))
    }

    /// Removes properties that are not part of this direction from `required`, here and in the parts of `allOf`.
    pub(super) fn remove_excluded_from_required(
        &self,
        place: &DocumentPlace,
        members: &Map<String, Value>,
        new: &mut Map<String, Value>,
    ) {
        let drop_from = |new: &mut Map<String, Value>| {
            let Some(Value::Array(required)) = new.get_mut("required") else { return };
            required.retain(|name| {
                !name
                    .as_str()
                    .is_some_and(|name| self.excludes_property(place, members, name, &mut HashSet::new()))
            });
            if required.is_empty() {
                new.shift_remove("required");
            }
        };
        drop_from(new);
        if let Some(Value::Array(parts)) = new.get_mut("allOf") {
            parts.iter_mut().filter_map(Value::as_object_mut).for_each(drop_from);
        }
    }

    /// Returns `true` if the schema, or a part of its `allOf`, has the property `name`, which is not part of this direction.
    fn excludes_property(
        &self,
        place: &DocumentPlace,
        members: &Map<String, Value>,
        name: &str,
        visited: &mut HashSet<*const Map<String, Value>>,
    ) -> bool {
        if let Some(property) = members.get("properties").and_then(|it| it.get(name)) {
            return self.is_excluded_by_direction(place, property);
        }
        // The parts of a schema may lead back to it, many times.
        if visited.len() > MAX_ALL_OF_PARTS || !visited.insert(std::ptr::from_ref(members)) {
            return false;
        }
        let parts = members.get("allOf").and_then(Value::as_array);
        parts.into_iter().flatten().take(MAX_ALL_OF_PARTS).any(|part| {
            let resolved = self.documents.follow_references(place.clone(), part).ok();
            let resolved = resolved.and_then(|(place, it)| Some((place, it.as_object()?)));
            resolved.is_some_and(|(place, members)| self.excludes_property(&place, members, name, visited))
        })
    }
}
