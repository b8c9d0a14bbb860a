//! Objects that a flattened enum is a part of.
//!
//! schemars writes the struct's own properties beside a `oneOf` of the variants' objects. Such a
//! schema cannot be closed: each side would refuse what the other allows. So the properties move
//! into every branch, and each branch is closed by itself.

use serde_json::{Map, Value};

/// What of an object moves into its branches.
const OWN: [&str; 3] = ["properties", "required", "type"];

/// Distributes the properties of `schema` over its branches, where it has both.
pub(super) fn distribute(schema: &mut Map<String, Value>) {
    // Written for a flattened part; said by the closed branches from here on.
    schema.shift_remove("unevaluatedProperties");
    combine(schema);
    for key in ["oneOf", "anyOf"] {
        let own_properties = schema.get("properties").is_some_and(|it| it.is_object());
        let Some(Value::Array(branches)) = schema.get(key) else { continue };
        let of_objects = branches.iter().all(|it| it.get("type").is_some_and(|name| name == "object"));
        if !own_properties || !of_objects {
            continue;
        }
        let branches: Vec<_> = branches.iter().map(|branch| merged(schema, branch)).collect();
        schema.insert(key.to_owned(), branches.into());
        schema.shift_remove("properties");
        schema.shift_remove("required");
    }
}

/// Two flattened enums are an `allOf` of two `oneOf`s: one `oneOf` of all pairs says the same.
fn combine(schema: &mut Map<String, Value>) {
    let Some(Value::Array(parts)) = schema.get("allOf") else { return };
    let mut pairs = vec![Value::Object(Map::new())];
    for part in parts {
        let Some(Value::Array(branches)) = part.get("oneOf") else { return };
        pairs = pairs.iter().flat_map(|left| branches.iter().map(|right| both(left, right))).collect();
    }
    schema.shift_remove("allOf");
    schema.insert("oneOf".to_owned(), pairs.into());
}

fn both(left: &Value, right: &Value) -> Value {
    match left.as_object() {
        Some(left) => merged(left, right),
        None => right.clone(),
    }
}

/// `branch`, with what `schema` has of its own.
fn merged(schema: &Map<String, Value>, branch: &Value) -> Value {
    let Some(branch) = branch.as_object() else { return branch.clone() };
    let mut all = branch.clone();
    for key in OWN {
        let Some(own) = schema.get(key) else { continue };
        let value = match (own, branch.get(key)) {
            (Value::Object(own), Some(Value::Object(theirs))) => {
                let mut both = own.clone();
                both.extend(theirs.clone());
                Value::Object(both)
            }
            (Value::Array(own), Some(Value::Array(theirs))) => {
                Value::Array(own.iter().chain(theirs).cloned().collect())
            }
            (own, _) => own.clone(),
        };
        all.insert(key.to_owned(), value);
    }
    Value::Object(all)
}
