//! Request bodies of operations.

use serde_json::{Value, json};

use super::{
    Problem, Report,
    operation::{Found, Property, Reading},
    parameter::describe,
    schema::Components,
    text,
};
use crate::{
    document::Place,
    request::{Body, BodyForm},
};

/// The property of the request body.
pub(super) const PROPERTY: &str = "body";

/// A request body in its document.
pub(super) struct Declared<'d> {
    place: Place,
    media_type: &'d str,
    content: &'d Value,
    form: BodyForm,
    required: bool,
    description: Option<&'d str>,
}

/// Returns `true` for `application/json` and types with the suffix `+json`.
pub(crate) fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || essence == "text/json" || essence.ends_with("+json")
}

fn form_of(media_type: &str) -> Option<BodyForm> {
    is_json(media_type).then_some(BodyForm::Json)
}

/// Reads the request body of an operation: its first media type that is supported, JSON before others.
pub(super) fn read<'d>(
    reading: &Reading<'d>,
    found: &Found<'d>,
    tool: &str,
    report: &mut Report,
) -> Result<Option<Declared<'d>>, Problem> {
    let Some(body) = found.value.get("requestBody") else { return Ok(None) };
    let place = found.place.at("requestBody");
    let resolved = reading.documents.resolved(place.clone(), body);
    let (place, body) = resolved.map_err(|it| Problem::new(&place, it.to_string()))?;
    let place_of_content = place.at("content");
    let Some(content) = body.get("content").and_then(Value::as_object).filter(|it| !it.is_empty()) else {
        return Err(Problem::new(&place, "the request body has no content"));
    };
    let json = content.iter().find(|(media_type, _)| is_json(media_type));
    let chosen = json
        .into_iter()
        .chain(content)
        .find_map(|(media_type, value)| Some((media_type, value, form_of(media_type)?)));
    let Some((media_type, value, form)) = chosen else {
        let all: Vec<_> = content.keys().map(|it| format!("`{it}`")).collect();
        return Err(Problem::new(
            &place_of_content,
            format!("the request body {} is not supported", all.join(", ")),
        ));
    };
    let others: Vec<_> = content.keys().filter(|it| *it != media_type).map(|it| format!("`{it}`")).collect();
    if !others.is_empty() {
        let message = format!("the request body is sent as `{media_type}`, not as {}", others.join(", "));
        report.note("media_type_chosen", tool, &place_of_content, message);
    }
    Ok(Some(Declared {
        place: place_of_content.at(media_type),
        media_type,
        content: value,
        form,
        required: body.get("required") == Some(&Value::Bool(true)),
        description: text(body, "description"),
    }))
}

impl<'d> Declared<'d> {
    pub(super) fn imported(
        self,
        _reading: &Reading<'d>,
        components: &mut Components<'d>,
        tool: &str,
        report: &mut Report,
    ) -> Result<(Body, Property), Problem> {
        let mut schema = match self.content.get("schema") {
            Some(schema) => components.translate(tool, &self.place.at("schema"), schema, report)?,
            None => json!({}),
        };
        describe(&mut schema, self.description);
        let body = Body { property: PROPERTY.into(), media_type: self.media_type.into(), form: self.form };
        Ok((body, Property { name: PROPERTY.to_owned(), schema, required: self.required }))
    }
}
