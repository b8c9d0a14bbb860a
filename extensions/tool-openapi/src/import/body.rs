//! Request bodies of operations.

use serde_json::{Value, json};

use super::{
    ImportProblem, ImportReport, encoding,
    found::FoundOperation,
    non_empty_text_member,
    operation::{OperationReader, Property},
    parameter::add_description,
    schema::Components,
    upload,
};
use crate::{
    document::DocumentPlace,
    media_type::{is_json, is_text, media_essence},
    request::{BodyForm, FormFields, RequestBody},
};

/// The property of the request body.
pub(super) const BODY_PROPERTY: &str = "body";

/// A request body in its document.
pub(super) struct DeclaredBody<'d> {
    place: DocumentPlace,
    media_type: &'d str,
    content: &'d Value,
    kind: BodyKind,
    required: bool,
    description: Option<&'d str>,
}

/// The kind of a media type; earlier ones are chosen before later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BodyKind {
    Json,
    Form,
    Multipart,
    Text,
    Binary,
}

impl BodyKind {
    /// The kind of a media type. `*/*` is JSON, unless its schema is of a file.
    fn of(media_type: &str, content: &Value) -> Option<Self> {
        let essence = media_essence(media_type);
        let is_file = content.get("schema").is_some_and(upload::is_binary_schema);
        Some(match &*essence {
            it if is_json(it) => Self::Json,
            "*/*" | "application/*" if !is_file => Self::Json,
            "application/x-www-form-urlencoded" => Self::Form,
            "multipart/form-data" => Self::Multipart,
            it if it.starts_with("multipart/") => return None,
            it if is_text(it) => Self::Text,
            it if it.contains('/') => Self::Binary,
            _ => return None,
        })
    }

    /// The media type of a request, for a range of media types.
    fn concrete_media_type(self, media_type: &str) -> &str {
        match (self, media_type.contains('*')) {
            (Self::Json, true) => "application/json",
            (Self::Text, true) => "text/plain",
            _ => media_type,
        }
    }
}

/// Reads the request body of an operation, and chooses its media type: a preferred one, or else the first of the simplest kind.
pub(super) fn declared_body<'d>(
    reader: &OperationReader<'d>,
    found: &FoundOperation<'d>,
    tool: &str,
    report: &mut ImportReport,
) -> Result<Option<DeclaredBody<'d>>, ImportProblem> {
    let Some(body) = found.value.get("requestBody") else { return Ok(None) };
    let place = found.place.at("requestBody");
    let resolved = reader.documents.follow_references(place.clone(), body);
    let (place, body) = resolved.map_err(|it| ImportProblem::new(&place, it.to_string()))?;
    let place_of_content = place.at("content");
    let Some(content) = body.get("content").and_then(Value::as_object).filter(|it| !it.is_empty()) else {
        return Err(ImportProblem::new(&place, "the request body has no content"));
    };
    let preferred = &reader.settings.calls.media_types;
    let rank = |media_type: &str| {
        let essence = media_essence(media_type);
        preferred.iter().position(|it| *it == essence).unwrap_or(preferred.len())
    };
    let known = content.iter().filter_map(|(name, value)| Some((name, value, BodyKind::of(name, value)?)));
    let Some((media_type, value, kind)) = known.min_by_key(|(name, _, kind)| (rank(name), *kind)) else {
        let all: Vec<_> = content.keys().map(|it| format!("`{it}`")).collect();
        return Err(ImportProblem::new(
            &place_of_content,
            format!("the request body {} is not supported", all.join(", ")),
        ));
    };
    let others: Vec<_> = content.keys().filter(|it| *it != media_type).map(|it| format!("`{it}`")).collect();
    if !others.is_empty() {
        let message = format!("the request body is sent as `{media_type}`, not as {}", others.join(", "));
        report.note("media_type_chosen", tool, &place_of_content, message);
    }
    Ok(Some(DeclaredBody {
        place: place_of_content.at(media_type),
        media_type,
        content: value,
        kind,
        required: body.get("required") == Some(&Value::Bool(true)),
        description: non_empty_text_member(body, "description"),
    }))
}

impl<'d> DeclaredBody<'d> {
    pub(super) fn into_body_and_property(
        self,
        reader: &OperationReader<'d>,
        components: &mut Components<'d>,
        tool: &str,
        report: &mut ImportReport,
    ) -> Result<(RequestBody, Property), ImportProblem> {
        let mut schema = match self.content.get("schema") {
            Some(schema) => components.translate_root(tool, &self.place.at("schema"), schema, report)?,
            None => json!({}),
        };
        if let (BodyKind::Form | BodyKind::Multipart, Value::Object(members)) = (self.kind, &mut schema)
            && !["type", "$ref", "allOf", "anyOf", "oneOf"].iter().any(|key| members.contains_key(*key))
        {
            // Nothing else has a form.
            members.insert("type".to_owned(), Value::from("object"));
        }
        let is_reference = reader.settings.calls.resolver.is_some();
        let form = match self.kind {
            BodyKind::Json => BodyForm::Json,
            BodyKind::Form => {
                let mut fields =
                    encoding::read_field_encodings(reader, &self.place, self.content, tool, report);
                upload::add_property_fields(&schema, components, &mut fields);
                let fields = FormFields(fields);
                reader.add_size_of_form_fields(&fields, &self.place)?;
                BodyForm::Form(fields)
            }
            BodyKind::Multipart => {
                let mut fields =
                    encoding::read_field_encodings(reader, &self.place, self.content, tool, report);
                upload::replace_file_schemas(&mut schema, components, &mut fields, is_reference);
                let fields = FormFields(fields);
                reader.add_size_of_form_fields(&fields, &self.place)?;
                BodyForm::Multipart(fields)
            }
            BodyKind::Text => {
                self.replace_by_text_schema(&mut schema, components, tool, report);
                BodyForm::Text
            }
            BodyKind::Binary => {
                schema = upload::file_schema(&schema, is_reference);
                BodyForm::Binary
            }
        };
        add_description(&mut schema, self.description);
        let media_type = self.kind.concrete_media_type(self.media_type).into();
        let body = RequestBody { property: BODY_PROPERTY.into(), media_type, form };
        Ok((body, Property { name: BODY_PROPERTY.to_owned(), schema, required: self.required }))
    }

    /// Makes the schema one of text. A structure, as of XML, is not carried.
    fn replace_by_text_schema(
        &self,
        schema: &mut Value,
        components: &Components<'d>,
        tool: &str,
        report: &mut ImportReport,
    ) {
        let kind = upload::resolved_schema(schema, components).get("type").cloned().unwrap_or_default();
        if matches!(kind.as_str(), Some("string" | "integer" | "number" | "boolean")) {
            return;
        }
        if !schema.as_object().is_some_and(serde_json::Map::is_empty) {
            let message =
                format!("the request body `{}` is a text; its structure is not described", self.media_type);
            report.note("body_as_text", tool, &self.place.at("schema"), message);
        }
        *schema =
            json!({ "type": "string", "description": format!("A text of the type `{}`.", self.media_type) });
    }
}
