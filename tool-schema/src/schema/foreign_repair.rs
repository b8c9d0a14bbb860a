//! Schemas received from elsewhere: keywords that cannot be read are ignored.
//!
//! A schema is compiled, and each keyword that the compiler reports is read in another way or removed, so that what is
//! unreadable here is exactly what the validator cannot read. A schema that the validator reads is not changed.

use serde_json::{Map, Value};

use super::{InputSchema, OutputSchema, SchemaError, SchemaProblem};
use crate::Plan;

/// The maximum number of times that a schema is compiled: a keyword that is removed may uncover another one.
const MAX_ROUNDS: usize = 8;

/// The names of the types of JSON.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// The keywords without effect on values, which a subschema keeps when its rules cannot be used.
const ANNOTATIONS: [&str; 4] = ["title", "description", "default", "examples"];

impl InputSchema {
    /// Creates a schema received from elsewhere. Keywords that cannot be read are ignored, each with a problem that says so;
    /// `null` is an absent keyword. A schema without mistakes stays as it is, and so do keywords that the built-in validator
    /// does not support.
    ///
    /// # Errors
    ///
    /// Returns an error if the root is not an object.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_schema::InputSchema;
    ///
    /// let schema = json!({ "type": "object", "properties": { "n": { "type": "NUMBER" } }, "required": null });
    /// let (schema, problems) = InputSchema::from_foreign(schema)?;
    /// assert_eq!(*schema.as_value(), json!({ "type": "object", "properties": { "n": { "type": "number" } } }));
    /// assert_eq!(problems.len(), 1);
    /// # Ok::<(), tool_schema::SchemaError>(())
    /// ```
    pub fn from_foreign(mut schema: Value) -> Result<(Self, Vec<SchemaProblem>), SchemaError> {
        let mut ignored = Vec::new();
        // Read before the other keywords: without the type of an object, there is no schema of arguments.
        let mistake = root_type_mistake(&schema);
        repair_keywords(&mut schema, mistake.into_iter().collect(), &mut ignored);
        if let Some(types @ Value::Array(_)) = schema.get_mut("type")
            && types.as_array().is_some_and(|types| types.iter().any(|name| name == "object"))
        {
            // Arguments are an object, whatever else would do.
            *types = "object".into();
        }
        for _ in 1..MAX_ROUNDS {
            let candidate = Self::new(schema)?;
            let mistakes = mistakes_among(candidate.plan().err().unwrap_or_default());
            if mistakes.is_empty() {
                return Ok((candidate, ignored));
            }
            schema = candidate.as_value().clone();
            repair_keywords(&mut schema, mistakes, &mut ignored);
        }
        Ok((Self::new(schema)?, ignored))
    }
}

impl OutputSchema {
    /// Creates a schema received from elsewhere, as [`InputSchema::from_foreign`] does.
    ///
    /// # Errors
    ///
    /// Returns an error if `schema` is neither an object nor a boolean.
    pub fn from_foreign(mut schema: Value) -> Result<(Self, Vec<SchemaProblem>), SchemaError> {
        let mut ignored = Vec::new();
        if schema.is_object() {
            for _ in 1..MAX_ROUNDS {
                let mistakes = mistakes_among(&Plan::compile(&schema).err().unwrap_or_default());
                if mistakes.is_empty() {
                    break;
                }
                repair_keywords(&mut schema, mistakes, &mut ignored);
            }
        }
        Ok((Self::new(schema)?, ignored))
    }
}

/// Returns the mistake in the `type` of the root, if it is none of the types.
fn root_type_mistake(schema: &Value) -> Option<SchemaProblem> {
    let value = schema.get("type")?;
    let names = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let is_type = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    (!names.iter().all(is_type)).then(|| SchemaProblem {
        pointer: String::new(),
        keyword: Some("type".into()),
        message: format!("`type` must be a type of JSON or a list of them, not {value}"),
        uncovered: false,
    })
}

fn mistakes_among(problems: &[SchemaProblem]) -> Vec<SchemaProblem> {
    problems.iter().filter(|problem| !problem.uncovered).cloned().collect()
}

/// Reads the keyword of each mistake in another way, or removes it; adds what is ignored.
fn repair_keywords(schema: &mut Value, mistakes: Vec<SchemaProblem>, ignored: &mut Vec<SchemaProblem>) {
    let first = ignored.len();
    // From the last one, so that an item that is removed from a list does not move the places of the others.
    for mut mistake in mistakes.into_iter().rev() {
        let Some(subschema) = schema.pointer_mut(&mistake.pointer) else { continue };
        let change = match (subschema, &mistake.keyword) {
            (Value::Object(keywords), Some(keyword)) => repair_keyword(keywords, keyword),
            (Value::Object(keywords), None) => {
                keywords.retain(|keyword, _| ANNOTATIONS.contains(&keyword.as_str()));
                Some("the schema is ignored")
            }
            (_, _) => repair_subschema(schema, &mistake.pointer),
        };
        if let Some(change) = change {
            mistake.message = format!("{}; {change}", mistake.message);
            ignored.push(mistake);
        }
    }
    ignored[first..].reverse();
}

/// Replaces or removes a subschema that is neither an object nor a boolean. Returns what was done; `None` for `null`, which
/// is a subschema that is absent.
fn repair_subschema(schema: &mut Value, pointer: &str) -> Option<&'static str> {
    let is_null = schema.pointer(pointer).is_some_and(Value::is_null);
    let (parent, last) = pointer.rsplit_once('/')?;
    let list_keyword = parent.rsplit_once('/').map_or("", |(_, keyword)| keyword);
    let is_keyword = !is_map_of_schemas(parent);
    let change = match (schema.pointer_mut(parent), last, list_keyword) {
        // A schema for any value in place of these would refuse values.
        (Some(Value::Object(keywords)), "not" | "if" | "contains", _) if is_keyword => {
            keywords.shift_remove(last);
            "it is ignored"
        }
        (Some(Value::Array(members)), index, "anyOf" | "oneOf" | "allOf") if is_null => {
            let index = index.parse().ok().filter(|index| *index < members.len())?;
            members.remove(index);
            "it is ignored"
        }
        // Any value may match a member that cannot be read, so that the number of matches is unknown.
        (Some(members @ Value::Array(_)), _, "oneOf") => {
            *members = Value::Null;
            "`oneOf` is ignored"
        }
        _ => {
            *schema.pointer_mut(pointer)? = Value::Object(Map::new());
            "it permits any value"
        }
    };
    (!is_null).then_some(change)
}

/// Returns `true` if the members of the object at `pointer` are schemas by name, as those of `properties`; a property may have
/// the name of a keyword.
fn is_map_of_schemas(pointer: &str) -> bool {
    const MAPS: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
    const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
    let mut is_schema = true;
    let mut is_map = false;
    for step in pointer.split('/').skip(1) {
        is_map = is_schema && MAPS.contains(&step);
        is_schema = !(is_map || is_schema && LISTS.contains(&step));
    }
    is_map
}

/// Reads a keyword in another way, or removes it. Returns what was done; `None` for one that is absent.
fn repair_keyword(keywords: &mut Map<String, Value>, keyword: &str) -> Option<&'static str> {
    const IGNORED: &str = "it is ignored";
    // In place, since the order of keywords is one of the hash and of the provider's cache.
    let value = keywords.get(keyword)?.clone();
    let (readable, change) = match (keyword, value) {
        (_, Value::Null) => {
            keywords.shift_remove(keyword);
            return None;
        }
        ("type", Value::String(name)) => {
            (type_name_ignoring_case(&name).map(Value::from), "it is read without regard to case")
        }
        ("type", Value::Array(names)) => {
            let mut types: Vec<_> =
                names.iter().filter_map(Value::as_str).filter_map(type_name_ignoring_case).collect();
            types.sort_unstable();
            types.dedup();
            // A type that cannot be read may be any.
            let is_whole = !types.is_empty()
                && names.iter().all(|name| name.as_str().and_then(type_name_ignoring_case).is_some());
            (is_whole.then(|| types.into()), "each type is read once, without regard to case")
        }
        // Draft 4.
        ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(is_exclusive)) => {
            let limit = if keyword == "exclusiveMinimum" { "minimum" } else { "maximum" };
            let number = keywords.get(limit).filter(|limit| is_exclusive && limit.is_number()).cloned();
            if number.is_some() {
                keywords.shift_remove(limit);
            }
            (number, "it is read as in draft 4")
        }
        ("items", Value::Array(items)) if !keywords.contains_key("prefixItems") => {
            keywords.shift_remove(keyword);
            keywords.insert("prefixItems".to_owned(), items.into());
            return Some("it is read as `prefixItems`");
        }
        ("required" | "dependentRequired", Value::Array(names)) => {
            let mut texts: Vec<_> = names.iter().filter_map(Value::as_str).collect();
            texts.sort_unstable();
            texts.dedup();
            (Some(texts.into()), "each name is read once, and what is no name is ignored")
        }
        _ => (None, IGNORED),
    };
    match readable {
        Some(value) => {
            keywords.insert(keyword.to_owned(), value);
            Some(change)
        }
        None => {
            keywords.shift_remove(keyword);
            Some(IGNORED)
        }
    }
}

fn type_name_ignoring_case(name: &str) -> Option<&'static str> {
    TYPES.into_iter().find(|known| known.eq_ignore_ascii_case(name.trim()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the schema as it is read, and the number of problems.
    #[track_caller]
    fn read(schema: Value) -> (Value, usize) {
        let (input, problems) = InputSchema::from_foreign(schema.clone()).unwrap();
        assert!(input.plan().is_ok(), "{schema}: {:?}", input.plan().err());
        let (output, of_output) = OutputSchema::from_foreign(schema).unwrap();
        assert_eq!((output.as_value(), of_output.len()), (input.as_value(), problems.len()));
        (input.as_value().clone(), problems.len())
    }

    fn property(schema: Value) -> Value {
        json!({ "type": "object", "properties": { "p": schema } })
    }

    #[test]
    fn null_is_an_absent_keyword() {
        let null = json!({ "type": "object", "properties": null, "required": null });
        assert_eq!(read(null), (json!({ "type": "object" }), 0));
        let null = json!({ "type": null, "enum": null, "minimum": null, "anyOf": null, "default": null });
        assert_eq!(read(property(null)), (property(json!({ "default": null })), 0));
        // A schema for any value is as good as none.
        let null = json!({ "additionalProperties": null, "items": null });
        assert_eq!(read(property(null)), (property(json!({ "additionalProperties": {}, "items": {} })), 0));
        assert_eq!(read(property(Value::Null)), (property(json!({})), 0));
    }

    #[test]
    fn a_subschema_that_is_absent_or_unreadable_refuses_no_value() {
        let text = json!({ "type": "string" });
        for (schema, expected) in [
            (json!({ "not": null, "if": null, "then": text, "contains": null }), json!({ "then": text })),
            (json!({ "oneOf": [null, text, null] }), json!({ "oneOf": [text] })),
            (
                json!({ "anyOf": [text, null], "allOf": [null, text] }),
                json!({ "anyOf": [text], "allOf": [text] }),
            ),
            (json!({ "oneOf": [null] }), json!({})),
            (json!({ "prefixItems": [null, text] }), json!({ "prefixItems": [{}, text] })),
        ] {
            assert_eq!(
                read(property(schema.clone())),
                (property(expected), usize::from(schema == json!({ "oneOf": [null] })))
            );
        }
        for (schema, expected) in [
            (json!({ "not": 5, "if": "x", "then": text, "contains": [] }), json!({ "then": text })),
            (json!({ "oneOf": [7, text, "x"], "title": "A" }), json!({ "title": "A" })),
            (json!({ "anyOf": [7, text] }), json!({ "anyOf": [{}, text] })),
            (json!({ "allOf": [7, text] }), json!({ "allOf": [{}, text] })),
        ] {
            let (read, problems) = read(property(schema.clone()));
            assert_eq!(read, property(expected), "{schema}");
            assert!(problems >= 1, "{schema}");
        }
    }

    #[test]
    fn a_property_with_the_name_of_a_keyword_stays_a_property() {
        let object = |name: &str, schema: Value| json!({ "type": "object", "properties": { name: schema } });
        for name in ["not", "if", "contains", "properties", "anyOf"] {
            assert_eq!(read(object(name, Value::Null)), (object(name, json!({})), 0), "{name}");
            assert_eq!(read(object(name, json!(5))), (object(name, json!({})), 1), "{name}");
            // Of a property that is called `properties`, and of a definition.
            let nested = |schema| property(object("properties", object(name, schema)));
            assert_eq!(read(nested(json!(5))), (nested(json!({})), 1), "{name}");
            let defined = |schema| json!({ "type": "object", "$defs": { name: schema } });
            assert_eq!(read(defined(json!(5))), (defined(json!({})), 1), "{name}");
        }
        let nested = property(json!({ "properties": { "properties": { "not": 5 } } }));
        assert_eq!(read(nested), (property(json!({ "properties": { "properties": {} } })), 1));
    }

    #[test]
    fn keywords_that_cannot_be_read_are_ignored_with_a_problem() {
        for (schema, expected) in [
            (json!({ "type": "any" }), json!({})),
            (json!({ "type": "" }), json!({})),
            (json!({ "type": "OBJECT" }), json!({ "type": "object" })),
            (json!({ "type": ["STRING", "Null"] }), json!({ "type": ["null", "string"] })),
            (json!({ "type": ["string", "any"] }), json!({})),
            (json!({ "type": [] }), json!({})),
            (json!({ "type": 7 }), json!({})),
            (json!({ "type": "string", "required": true }), json!({ "type": "string" })),
            (json!({ "minimum": 1, "exclusiveMinimum": true }), json!({ "exclusiveMinimum": 1 })),
            (json!({ "maximum": 1, "exclusiveMaximum": false }), json!({ "maximum": 1 })),
            (json!({ "exclusiveMinimum": true }), json!({})),
            (json!({ "minLength": "3", "type": "string" }), json!({ "type": "string" })),
            (json!({ "enum": "a" }), json!({})),
            (json!({ "anyOf": [] }), json!({})),
            (json!({ "items": [{ "type": "string" }] }), json!({ "prefixItems": [{ "type": "string" }] })),
            (
                json!({ "items": [{ "type": "string" }], "prefixItems": [{ "type": "integer" }] }),
                json!({ "prefixItems": [{ "type": "integer" }] }),
            ),
            (json!({ "properties": [] }), json!({})),
            (json!({ "required": ["a", 1, "a"] }), json!({ "required": ["a"] })),
            (json!({ "pattern": "(" }), json!({})),
            (
                json!({ "patternProperties": { "(": true, "a": true } }),
                json!({ "patternProperties": { "a": true } }),
            ),
            (json!({ "$ref": "#/$defs/Missing", "title": "A" }), json!({ "title": "A" })),
            (json!("text"), json!({})),
        ] {
            let (read, problems) = read(property(schema.clone()));
            assert_eq!(read, property(expected), "{schema}");
            assert!(problems >= 1, "{schema}");
        }
        for (schema, expected) in [
            (json!({ "type": "OBJECT" }), json!({ "type": "object" })),
            (json!({ "type": ["object", "null"] }), json!({ "type": "object" })),
            (json!({ "type": "any" }), json!({})),
            (json!({ "type": null }), json!({})),
        ] {
            let (read, _) = InputSchema::from_foreign(schema.clone()).unwrap();
            assert_eq!(*read.as_value(), expected, "{schema}");
        }
        let (_, problems) = InputSchema::from_foreign(json!({ "type": ["object", 7] })).unwrap();
        let problem = SchemaProblem {
            pointer: String::new(),
            keyword: Some("type".into()),
            message: "`type` must be a type of JSON or a list of them, not [\"object\",7]; it is ignored"
                .to_owned(),
            uncovered: false,
        };
        assert_eq!(problems, [problem]);
        assert!(InputSchema::from_foreign(json!({ "type": "string" })).is_err());
        let (schema, problems) = InputSchema::from_foreign(
            json!({ "type": "object", "properties": { "a/b": { "type": "any" } } }),
        )
        .unwrap();
        assert_eq!(schema.as_value()["properties"]["a/b"], json!({}));
        assert_eq!(
            problems[0].to_string(),
            "at /properties/a~1b: `type` must be a type of JSON or a list of them, not \"any\"; it is ignored"
        );
    }

    #[test]
    fn a_schema_with_too_many_schemas_for_one_value_keeps_its_annotations() {
        let chain = |length: usize| (1..length).fold(json!({}), |schema, _| json!({ "allOf": [schema] }));
        let schema = |length: usize| {
            json!({
                "title": "T", "description": "D", "default": {}, "examples": [{}],
                "type": "object", "properties": { "p": chain(length) }, "x-y": 1,
            })
        };
        assert_eq!(read(schema(64)), (schema(64), 0));
        let kept = json!({ "title": "T", "description": "D", "default": {}, "examples": [{}] });
        assert_eq!(read(schema(65)), (kept, 1));
        let (_, problems) = InputSchema::from_foreign(schema(65)).unwrap();
        assert_eq!(
            problems[0].to_string(),
            "at the root: more than 64 schemas apply to the same value one within the other; the schema is ignored"
        );
    }

    #[test]
    fn a_schema_that_can_be_read_stays_as_it_is() {
        for schema in [
            json!({ "type": "object", "properties": { "a": { "type": ["string", "null"], "default": null } }, "required": ["a"] }),
            json!({ "type": "object", "not": { "required": ["a"] }, "$comment": "null", "x-y": null }),
        ] {
            assert_eq!(read(schema.clone()), (schema, 0));
        }
    }
}
