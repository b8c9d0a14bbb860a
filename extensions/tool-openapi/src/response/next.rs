//! The next page of a response, as the arguments of the next call.

use std::collections::HashSet;

use percent_encoding::percent_decode_str;
use reqwest::Url;
use serde_json::{Map, Value};

use crate::request::{Members, ParameterLocation, ParameterStyle, RequestParameter, RequestPlan};

/// The deepest member of an object that a link names: no value is deeper than a parser of JSON reads.
const MAX_MEMBER_DEPTH: usize = 32;

/// The maximum number of schemas that are searched for a type.
const MAX_SCHEMAS: usize = 1000;

/// The way to the next page.
#[derive(Debug, PartialEq)]
pub(super) enum NextPage {
    /// The arguments of a call of the same operation.
    Arguments(Value),
    /// Another operation, or a query that its parameters cannot express.
    Url(String),
}

/// The request that a link is about.
pub(super) struct LinkedRequest<'a> {
    pub(super) plan: &'a RequestPlan,
    /// The schema of the arguments.
    pub(super) schema: &'a Value,
    pub(super) arguments: &'a str,
    /// The URL of the request, without credentials.
    pub(super) url: &'a Url,
}

impl LinkedRequest<'_> {
    /// Returns what `target`, a URL without credentials, leads to.
    pub(super) fn next_page(&self, target: &Url) -> NextPage {
        let is_same = self.plan.method == "GET"
            && target.origin() == self.url.origin()
            && target.path() == self.url.path();
        let arguments =
            is_same.then(|| self.arguments_for_query(target.query().unwrap_or_default())).flatten();
        arguments
            .map_or_else(|| NextPage::Url(target.to_string()), |it| NextPage::Arguments(Value::Object(it)))
    }

    /// Returns the arguments of the call with `query`; `None` if the parameters cannot express it.
    fn arguments_for_query(&self, query: &str) -> Option<Map<String, Value>> {
        let parameters = &self.plan.parameters;
        if parameters.iter().any(|it| it.location == ParameterLocation::QueryString) {
            return None;
        }
        let mut pairs: Vec<LinkPair<'_>> =
            query.split('&').filter(|it| !it.is_empty()).map(LinkPair::parse).collect();
        pairs.retain(|pair| !self.plan.path.has_literal_query_name(&pair.name));
        let in_query = |it: &&RequestParameter| it.location == ParameterLocation::Query;
        let mut arguments = Map::new();
        for (name, value) in Members::of(self.arguments).ok()?.iter() {
            let is_kept = !parameters.iter().filter(in_query).any(|it| *it.property == *name);
            if is_kept && value.get() != "null" {
                arguments.insert(name.to_owned(), serde_json::from_str(value.get()).ok()?);
            }
        }
        let mut spread = None;
        for parameter in parameters.iter().filter(in_query) {
            let property_schema = self.property_schema(&parameter.property);
            if property_schema.is_object()
                && parameter.explode
                && parameter.style != ParameterStyle::DeepObject
                && !parameter.is_json
            {
                // The members are pairs of their own; of two such parameters, none has a name.
                if spread.replace(parameter).is_some() {
                    return None;
                }
                continue;
            }
            let (own, others): (Vec<_>, Vec<_>) =
                pairs.into_iter().partition(|it| it.belongs_to_parameter(parameter));
            pairs = others;
            if !own.is_empty() {
                arguments.insert(
                    parameter.property.to_string(),
                    property_schema.parameter_value(parameter, &own)?,
                );
            }
        }
        match spread {
            Some(parameter) if !pairs.is_empty() => {
                let members = pairs.iter().map(|it| (it.name.clone(), Value::from(it.decoded_value())));
                arguments.insert(parameter.property.to_string(), Value::Object(members.collect()));
            }
            None if !pairs.is_empty() => return None,
            _ => {}
        }
        Some(arguments)
    }

    fn property_schema(&self, property: &str) -> SchemaInRoot<'_> {
        SchemaInRoot {
            root: self.schema,
            schema: self.schema.get("properties").and_then(|it| it.get(property)),
        }
    }
}

/// A name and a value of a query.
struct LinkPair<'q> {
    name: String,
    raw: &'q str,
}

impl<'q> LinkPair<'q> {
    fn parse(text: &'q str) -> Self {
        let (name, raw) = text.split_once('=').unwrap_or((text, ""));
        Self { name: decode_query(name), raw }
    }

    fn decoded_value(&self) -> String {
        decode_query(self.raw)
    }

    fn belongs_to_parameter(&self, parameter: &RequestParameter) -> bool {
        match self.name.strip_prefix(&*parameter.name) {
            Some("") => true,
            Some(rest) => parameter.style == ParameterStyle::DeepObject && rest.starts_with('['),
            None => false,
        }
    }
}

/// Decodes a part of a query as servers write it, with `+` for a space.
fn decode_query(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

/// The types of a value, as its schema names them.
#[derive(Clone, Copy)]
struct SchemaInRoot<'s> {
    root: &'s Value,
    schema: Option<&'s Value>,
}

impl<'s> SchemaInRoot<'s> {
    fn may_have_type(self, kind: &str) -> bool {
        // Each schema is visited once: its branches may lead back to it.
        let (mut waiting, mut visited) = (Vec::from_iter(self.schema), HashSet::new());
        while let Some(schema) = waiting.pop().filter(|_| visited.len() < MAX_SCHEMAS) {
            if !visited.insert(std::ptr::from_ref(schema)) {
                continue;
            }
            let is_kind = match schema.get("type") {
                Some(Value::String(one)) => one == kind,
                Some(Value::Array(types)) => types.iter().any(|it| it == kind),
                _ => false,
            };
            if is_kind {
                return true;
            }
            let branches = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema.get(*key)?.as_array());
            waiting.extend(branches.flatten());
            waiting.extend(Self { schema: Some(schema), ..self }.reference_target());
        }
        false
    }

    fn reference_target(self) -> Option<&'s Value> {
        self.root.pointer(self.schema?.get("$ref")?.as_str()?.strip_prefix('#')?)
    }

    fn is_object(self) -> bool {
        self.may_have_type("object")
            || self.resolved_schema().is_some_and(|it| it.get("properties").is_some())
    }

    /// The schema itself, or the one that it refers to.
    fn resolved_schema(self) -> Option<&'s Value> {
        self.reference_target().or(self.schema)
    }

    fn item_schema(self) -> Self {
        Self { schema: self.resolved_schema().and_then(|it| it.get("items")), ..self }
    }

    fn member_schema(self, name: &str) -> Self {
        Self { schema: self.resolved_schema().and_then(|it| it.get("properties")?.get(name)), ..self }
    }

    /// The value of `text`, which is a number or a boolean only if the schema has such.
    fn scalar_value(self, text: String) -> Value {
        let parsed = serde_json::from_str::<Value>(&text).ok().filter(|it| match it {
            Value::Bool(_) => self.may_have_type("boolean"),
            Value::Number(number) => {
                self.may_have_type("number") || (self.may_have_type("integer") && !number.is_f64())
            }
            _ => false,
        });
        parsed.unwrap_or(Value::String(text))
    }

    /// The value of a parameter; `None` if its style does not lead to these pairs.
    fn parameter_value(self, parameter: &RequestParameter, pairs: &[LinkPair<'_>]) -> Option<Value> {
        if parameter.style == ParameterStyle::DeepObject {
            return self.deep_object_value(parameter, pairs);
        }
        let only = match pairs {
            [only] => Some(only),
            _ => None,
        };
        if parameter.is_json {
            return serde_json::from_str(&only?.decoded_value()).ok();
        }
        let parts = |pair: &LinkPair<'_>| split_items(pair.raw, parameter.style);
        if self.may_have_type("array") {
            let texts = match (parameter.explode, only) {
                (true, _) => pairs.iter().map(LinkPair::decoded_value).collect(),
                (false, only) => parts(only?),
            };
            return Some(texts.into_iter().map(|it| self.item_schema().scalar_value(it)).collect());
        }
        if self.is_object() {
            let parts = parts(only?);
            let (pairs, rest) = parts.as_chunks::<2>();
            let member = |[name, value]: &[String; 2]| {
                (name.clone(), self.member_schema(name).scalar_value(value.clone()))
            };
            return rest.is_empty().then(|| Value::Object(pairs.iter().map(member).collect()));
        }
        Some(self.scalar_value(only?.decoded_value()))
    }

    /// The object of pairs such as `filter[name]=value`.
    fn deep_object_value(self, parameter: &RequestParameter, pairs: &[LinkPair<'_>]) -> Option<Value> {
        let mut object = Map::new();
        for pair in pairs {
            let path = pair.name.strip_prefix(&*parameter.name)?;
            if path.split("][").count() > MAX_MEMBER_DEPTH {
                return None;
            }
            let mut keys = path.strip_prefix('[')?.strip_suffix(']')?.split("][").peekable();
            let (mut property_schema, mut target) = (self, &mut object);
            while let Some(key) = keys.next() {
                property_schema = property_schema.member_schema(key);
                if keys.peek().is_some() {
                    target =
                        target.entry(key).or_insert_with(|| Value::Object(Map::new())).as_object_mut()?;
                    continue;
                }
                if property_schema.may_have_type("array") {
                    let items =
                        target.entry(key).or_insert_with(|| Value::Array(Vec::new())).as_array_mut()?;
                    items.push(property_schema.item_schema().scalar_value(pair.decoded_value()));
                } else if target
                    .insert(key.to_owned(), property_schema.scalar_value(pair.decoded_value()))
                    .is_some()
                {
                    return None;
                }
            }
        }
        Some(Value::Object(object))
    }
}

/// The items of a list in one value. Delimiters are escaped by some servers, and not by others.
fn split_items(raw: &str, style: ParameterStyle) -> Vec<String> {
    let decoded = |delimiter: char| decode_query(raw).split(delimiter).map(str::to_owned).collect();
    match style {
        ParameterStyle::SpaceDelimited => decoded(' '),
        ParameterStyle::PipeDelimited => decoded('|'),
        _ if raw.contains(',') => raw.split(',').map(self::decode_query).collect(),
        _ => decoded(','),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{LinkPair, MAX_MEMBER_DEPTH, MAX_SCHEMAS, SchemaInRoot, split_items};
    use crate::request::{ParameterLocation, ParameterStyle, RequestParameter};

    #[test]
    fn the_items_of_a_list_are_separated_by_its_style() {
        for (style, raw, items) in [
            (ParameterStyle::Form, "a,b", &["a", "b"][..]),
            (ParameterStyle::Form, "a%2Cb", &["a", "b"]),
            // The escaped comma is a part of an item.
            (ParameterStyle::Form, "a%2Cb,c", &["a,b", "c"]),
            (ParameterStyle::Form, "a+b", &["a b"]),
            (ParameterStyle::SpaceDelimited, "a%20b+c", &["a", "b", "c"]),
            (ParameterStyle::PipeDelimited, "a|b%7Cc", &["a", "b", "c"]),
            (ParameterStyle::PipeDelimited, "a,b", &["a,b"]),
        ] {
            assert_eq!(split_items(raw, style), items, "{style:?} {raw}");
        }
        let pair = LinkPair::parse("a%5Bb%5D+c=d=e%26+f");
        assert_eq!((&*pair.name, &*pair.decoded_value()), ("a[b] c", "d=e& f"));
        let pair = LinkPair::parse("a");
        assert_eq!((&*pair.name, &*pair.decoded_value()), ("a", ""));
    }

    #[test]
    fn a_text_is_a_number_or_a_boolean_only_if_its_schema_has_such() {
        let root = json!({ "$defs": { "n": { "type": ["number", "null"] }, "loop": { "allOf": [{ "$ref": "#/$defs/loop" }] } } });
        for (schema, text, expected) in [
            (json!({ "type": "integer" }), "1", json!(1)),
            (json!({ "type": "integer" }), "1.5", json!("1.5")),
            (json!({ "type": "number" }), "1.5", json!(1.5)),
            (json!({ "type": "number" }), "1", json!(1)),
            (json!({ "type": "boolean" }), "true", json!(true)),
            (json!({ "type": "boolean" }), "1", json!("1")),
            (json!({ "type": "integer" }), "true", json!("true")),
            (json!({ "type": "string" }), "1", json!("1")),
            (json!({ "type": ["string", "integer"] }), "1", json!(1)),
            (
                json!({ "anyOf": [{ "type": "string" }, { "oneOf": [{ "type": "boolean" }] }] }),
                "false",
                json!(false),
            ),
            (json!({ "$ref": "#/$defs/n" }), "2", json!(2)),
            (json!({ "$ref": "#/$defs/loop" }), "2", json!("2")),
            (json!({ "type": "integer" }), "null", json!("null")),
            (json!({ "type": "integer" }), "[1]", json!("[1]")),
            (Value::Null, "1", json!("1")),
        ] {
            let property_schema = SchemaInRoot { root: &root, schema: Some(&schema) };
            assert_eq!(property_schema.scalar_value(text.to_owned()), expected, "{schema} {text}");
        }
        let (object, properties) = (json!({ "type": "object" }), json!({ "properties": {} }));
        for (schema, is_object) in
            [(&object, true), (&properties, true), (&json!({ "type": "array" }), false)]
        {
            assert_eq!(SchemaInRoot { root: &root, schema: Some(schema) }.is_object(), is_object, "{schema}");
        }
    }

    #[test]
    fn a_type_is_searched_in_a_limited_number_of_schemas() {
        // Branches are searched from the last one to the first one, after the schema that has them.
        for (others, is_found) in [(MAX_SCHEMAS - 2, true), (MAX_SCHEMAS - 1, false)] {
            let mut branches = vec![json!({ "type": "integer" })];
            branches.resize(others + 1, json!({ "type": "string" }));
            let schema = json!({ "anyOf": branches });
            let schema = SchemaInRoot { root: &Value::Null, schema: Some(&schema) };
            assert_eq!(schema.may_have_type("integer"), is_found, "{others}");
        }
    }

    #[test]
    fn a_pair_names_a_member_to_a_maximum_depth() {
        let parameter = RequestParameter {
            property: "f".into(),
            name: "f".into(),
            location: ParameterLocation::Query,
            style: ParameterStyle::DeepObject,
            explode: true,
            allow_reserved: false,
            is_json: false,
            fields: None,
        };
        let schema = SchemaInRoot { root: &Value::Null, schema: None };
        let value = |text: &str| schema.parameter_value(&parameter, &[LinkPair::parse(text)]);
        let deep = |depth: usize| format!("f{}=1", "[a]".repeat(depth));
        let nested = (0..MAX_MEMBER_DEPTH).fold(json!("1"), |it, _| json!({ "a": it }));
        assert_eq!(value(&deep(MAX_MEMBER_DEPTH)), Some(nested));
        assert_eq!(value(&deep(MAX_MEMBER_DEPTH + 1)), None);
        for wrong in ["f=1", "f[a=1", "fa]=1"] {
            assert_eq!(value(wrong), None, "{wrong}");
        }
        let both = [LinkPair::parse("f[a]=1"), LinkPair::parse("f[a]=2")];
        assert_eq!(schema.parameter_value(&parameter, &both), None);
    }
}
