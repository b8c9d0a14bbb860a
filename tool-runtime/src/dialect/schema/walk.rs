//! The walk through a schema, keyword by keyword.

use serde_json::{Map, Value};
use tool_core::internals::messages::percent_decoded;

use super::{
    SchemaNote, UnsupportedSchema, object, pointer_below,
    references::{is_recursive, moved_reference, reference_target},
    rules::{Enums, Objects, References, Rules},
    sentences, types,
};
use crate::diagnostic::Severity;

/// The number of times that a definition is inlined within itself.
const MAX_INLINED_DEPTH: usize = 3;

/// The maximum number of inlined schemas in all: references may be many, and their targets large.
const MAX_INLINED_SCHEMAS: usize = 1_000;

/// The help of most diagnostics about descriptions.
const HELP_VALIDATED: &str = "no action needed: calls are validated";

pub(super) struct SchemaWalk<'s> {
    root: &'s Value,
    pub(super) rules: &'s Rules,
    /// The location of the root in the converted document.
    place: String,
    /// The references that are being inlined.
    inside: Vec<&'s str>,
    written_out: usize,
    /// Set where the converted schema accepts fewer values than the tool does.
    pub(super) narrowed: bool,
    notes: Vec<SchemaNote>,
    unsupported: Option<UnsupportedSchema>,
}

/// A schema that is being converted.
#[derive(Default)]
pub(super) struct NodeDraft {
    pub(super) out: Map<String, Value>,
    pub(super) sentences: Vec<String>,
}

impl<'s> SchemaWalk<'s> {
    pub(super) fn new(root: &'s Value, rules: &'s Rules, within: Option<&str>) -> Self {
        let place = within.map(|name| pointer_below("/properties", name)).unwrap_or_default();
        Self {
            root,
            rules,
            place,
            inside: Vec::new(),
            written_out: 0,
            narrowed: false,
            notes: Vec::new(),
            unsupported: None,
        }
    }

    pub(super) fn into_findings(self) -> (Vec<SchemaNote>, Option<UnsupportedSchema>) {
        (self.notes, self.unsupported)
    }

    /// Converts `schema`; `None` where it would be infinitely deep.
    pub(super) fn convert_node(&mut self, schema: &'s Value, at: &str) -> Option<Value> {
        if self.unsupported.is_some() {
            return Some(Value::Null);
        }
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Bool(true) => return Some(self.schema_for_any_value(at)),
            other => return Some(self.convert_non_object_schema(other, at)),
        };
        if self.rules.references == References::WrittenOut
            && let Some(reference) = schema.get("$ref").and_then(Value::as_str)
        {
            return self.inline_reference(schema, reference, at);
        }
        let mut draft = NodeDraft::default();
        for (key, value) in schema {
            self.convert_keyword(schema, key, value, at, &mut draft)?;
        }
        object::finish_object(self, schema, &mut draft, at);
        super::list::finish_list(self, schema, &mut draft, at);
        if self.rules.enums == Enums::Texts {
            self.restrict_enum_to_texts(schema, &mut draft, at);
        }
        self.wrap_reference_in_any_of(&mut draft);
        types::finish_type(self, schema, &mut draft, at);
        sentences::append_sentences(&mut draft.out, &draft.sentences);
        if self.rules.open_api {
            types::move_keywords_into_branches(&mut draft.out);
        }
        Some(Value::Object(draft.out))
    }

    fn convert_keyword(
        &mut self,
        schema: &'s Map<String, Value>,
        key: &'s str,
        value: &'s Value,
        at: &str,
        draft: &mut NodeDraft,
    ) -> Option<()> {
        // Most keywords are kept without a pointer.
        let place = || pointer_below(at, key);
        match key {
            "properties" => {
                let properties = object::convert_properties(self, schema, value, &place(), draft)?;
                draft.out.insert(key.to_owned(), properties);
            }
            "$defs" | "definitions" => self.convert_definitions(key, value, &place(), draft),
            "$ref" => {
                let moved = value.as_str().map(|reference| moved_reference(reference, &self.place).into());
                draft.out.insert(key.to_owned(), moved.unwrap_or_else(|| value.clone()));
            }
            "anyOf" | "oneOf" => self.convert_choice(key, value, &place(), draft)?,
            "allOf" if self.rules.keeps(key) => {
                let parts = self.convert_nodes(value, &place());
                draft.out.insert(key.to_owned(), parts.into());
            }
            "items" | "prefixItems" => super::list::convert_items(self, schema, key, value, &place(), draft),
            "additionalProperties" | "patternProperties" => {
                object::convert_other_properties(self, schema, key, value, &place(), draft);
            }
            "const" if !self.rules.keeps(key) => {
                self.convert_values(std::slice::from_ref(value), "const", value, &place(), draft);
            }
            "enum" => match value {
                Value::Array(values) => self.convert_values(values, key, value, &place(), draft),
                _ => self.describe_keyword(key, value, &place(), draft),
            },
            "pattern" if self.rules.plain_patterns && value.as_str().is_some_and(has_look_around) => {
                self.describe_keyword(key, value, &place(), draft);
            }
            "minItems" if value.as_u64().is_some_and(|least| least > self.rules.min_items) => {
                self.describe_keyword(key, value, &place(), draft);
            }
            "format" if !value.as_str().is_some_and(|it| self.rules.keeps_format(it)) => {
                self.describe_keyword(key, value, &place(), draft);
            }
            _ if self.rules.keeps(key) => {
                draft.out.insert(key.to_owned(), value.clone());
            }
            _ if sentences::is_bound_beyond_safe_integers(schema, key, value) => {}
            _ => self.describe_keyword(key, value, &place(), draft),
        }
        Some(())
    }

    fn convert_definitions(&mut self, key: &str, value: &'s Value, at: &str, draft: &mut NodeDraft) {
        let Value::Object(definitions) = value else { return };
        if self.rules.references != References::WrittenOut {
            let written = definitions.iter().filter_map(|(name, schema)| {
                Some((name.clone(), self.convert_node(schema, &pointer_below(at, name))?))
            });
            let written: Map<_, _> = written.collect();
            draft.out.insert(key.to_owned(), Value::Object(written));
        }
    }

    /// Converts a list of alternatives. Infinitely deep ones are left out.
    fn convert_choice(&mut self, key: &str, value: &'s Value, at: &str, draft: &mut NodeDraft) -> Option<()> {
        let wire = if self.rules.keeps(key) { key } else { "anyOf" };
        if draft.out.contains_key(wire) {
            self.describe_keyword(key, value, at, draft);
            return Some(());
        }
        let branches = self.convert_nodes(value, at);
        if branches.is_empty() {
            return None;
        }
        if wire != key {
            self.add_note(
                Severity::Note,
                "keyword_replaced",
                at,
                format!("`{key}` is sent as `{wire}`"),
                HELP_VALIDATED,
            );
        }
        draft.out.insert(wire.to_owned(), branches.into());
        Some(())
    }

    fn convert_nodes(&mut self, value: &'s Value, at: &str) -> Vec<Value> {
        let branches = value.as_array().map_or(&[][..], Vec::as_slice);
        let branches = branches.iter().enumerate();
        branches
            .filter_map(|(index, branch)| self.convert_node(branch, &pointer_below(at, &index.to_string())))
            .collect()
    }

    /// Writes the values of an enum or a constant.
    fn convert_values(
        &mut self,
        values: &[Value],
        key: &str,
        whole: &Value,
        at: &str,
        draft: &mut NodeDraft,
    ) {
        if values.is_empty() && self.rules.enums != Enums::Any {
            return self.mark_unsupported(at, "no value fits");
        }
        let texts = || values.iter().all(Value::is_string);
        let fits = match self.rules.enums {
            Enums::Any => true,
            Enums::Plain => !values.iter().any(|it| it.is_object() || it.is_array()),
            Enums::TextsOrNumbers => texts() || values.iter().all(Value::is_number),
            // An empty text is rejected.
            Enums::Texts => values.iter().all(|it| it.as_str().is_some_and(|text| !text.is_empty())),
        };
        if fits {
            draft.out.insert("enum".to_owned(), values.into());
        } else {
            self.describe_keyword(key, whole, at, draft);
        }
    }

    /// Restricts an enum and its type to texts; other enums move into the description.
    fn restrict_enum_to_texts(&mut self, schema: &'s Map<String, Value>, draft: &mut NodeDraft, at: &str) {
        if !draft.out.contains_key("enum") {
            return;
        }
        let is_choice = draft.out.contains_key("anyOf");
        if !is_choice && (types::has_type(schema, "string") || !draft.out.contains_key("type")) {
            // No value has another type.
            draft.out.insert("type".to_owned(), "string".into());
        } else if let Some(values) = draft.out.shift_remove("enum") {
            self.describe_keyword("enum", &values, &pointer_below(at, "enum"), draft);
        }
    }

    /// Moves the constraint of `key` into the description.
    pub(super) fn describe_keyword(&mut self, key: &str, value: &Value, at: &str, draft: &mut NodeDraft) {
        let Some(sentence) = sentences::constraint_sentence(key, value) else { return };
        draft.sentences.push(sentence);
        if !sentences::is_annotation(key) {
            self.add_note(
                Severity::Note,
                "keyword_described",
                at,
                format!("`{key}` is moved into the description"),
                HELP_VALIDATED,
            );
        }
    }

    /// Wraps a `$ref` with siblings in an `anyOf` of one branch, since nothing may stand beside a `$ref`.
    fn wrap_reference_in_any_of(&mut self, draft: &mut NodeDraft) {
        let has_more = draft.out.len() > 1 || !draft.sentences.is_empty();
        if self.rules.references != References::Alone || !has_more || draft.out.contains_key("anyOf") {
            return;
        }
        if let Some(reference) = draft.out.shift_remove("$ref") {
            draft.out.insert("anyOf".to_owned(), serde_json::json!([{ "$ref": reference }]));
        }
    }

    /// Inlines the target of `reference`.
    fn inline_reference(
        &mut self,
        schema: &'s Map<String, Value>,
        reference: &'s str,
        at: &str,
    ) -> Option<Value> {
        let Some(target) = reference_target(self.root, reference) else {
            self.mark_unsupported(at, format!("`{reference}` leads nowhere"));
            return Some(Value::Null);
        };
        self.written_out += 1;
        if self.written_out > MAX_INLINED_SCHEMAS {
            self.mark_unsupported(
                at,
                format!("its references expand to more than {MAX_INLINED_SCHEMAS} schemas"),
            );
            return Some(Value::Null);
        }
        if self.inside.iter().filter(|it| **it == reference).count() == MAX_INLINED_DEPTH {
            if !self.notes.iter().any(|note| note.message.starts_with("it is recursive")) {
                let message = format!("it is recursive, and is inlined {MAX_INLINED_DEPTH} levels deep");
                self.add_note(
                    Severity::Warning,
                    "recursion_depth",
                    at,
                    message,
                    "use the dialect `gemini`, which supports `$ref`",
                );
            }
            return None;
        }
        self.inside.push(reference);
        // Findings about the target point to its definition.
        let written = self.convert_node(target, &percent_decoded(reference.trim_start_matches('#')));
        self.inside.pop();
        let mut written = written?;
        let own = schema.get("description").and_then(Value::as_str);
        if let (Some(own), Some(written)) = (own, written.as_object_mut()) {
            // The description of the property precedes the description of its type.
            let of_type = written.shift_remove("description");
            written.insert("description".to_owned(), own.into());
            let of_type = of_type.as_ref().and_then(Value::as_str).map(str::to_owned);
            sentences::append_sentences(written, &of_type.into_iter().collect::<Vec<_>>());
        }
        Some(written)
    }

    /// Returns `true` if `schema` leads to a recursive type.
    pub(super) fn is_recursive(&self, schema: &Value) -> bool {
        is_recursive(self.root, schema)
    }

    /// Returns a schema that accepts every value.
    pub(super) fn schema_for_any_value(&mut self, at: &str) -> Value {
        if self.rules.objects != Objects::Any {
            self.mark_unsupported(at, "a value of any type is allowed, but the provider requires a type");
        }
        Value::Object(Map::new())
    }

    /// Converts `false`, or a value that is not a schema.
    fn convert_non_object_schema(&mut self, schema: &Value, at: &str) -> Value {
        if self.rules.keywords.is_some() || (self.rules.items && *schema != false) {
            self.mark_unsupported(at, "no value fits");
        }
        if self.rules.items { serde_json::json!({ "not": {} }) } else { schema.clone() }
    }

    pub(super) fn add_note(
        &mut self,
        severity: Severity,
        code: &'static str,
        at: &str,
        message: impl Into<String>,
        help: &'static str,
    ) {
        self.notes.push(SchemaNote { pointer: at.to_owned(), severity, code, message: message.into(), help });
    }

    /// Records that the schema cannot be sent; the first reason is kept.
    pub(super) fn mark_unsupported(&mut self, at: &str, message: impl Into<String>) {
        let unsupported = || UnsupportedSchema { pointer: at.to_owned(), message: message.into() };
        self.unsupported.get_or_insert_with(unsupported);
    }
}

/// Returns `true` if a pattern has look-around.
fn has_look_around(pattern: &str) -> bool {
    ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|it| pattern.contains(it))
}
