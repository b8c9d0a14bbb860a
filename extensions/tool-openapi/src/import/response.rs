//! Output schemas of operations.

use serde_json::{Value, json};

use super::{
    ImportProblem, ImportReport, found::FoundOperation, operation::OperationReader, schema::Components,
};
use crate::media_type::is_json;

/// Returns the schema of the JSON of successful responses; `None` if there is none.
pub(super) fn response_schema<'d>(
    reader: &OperationReader<'d>,
    found: &FoundOperation<'d>,
    components: &mut Components<'d>,
    tool: &str,
    report: &mut ImportReport,
) -> Result<Option<Value>, ImportProblem> {
    let place = found.place.at("responses");
    let Some(responses) = found.value.get("responses").and_then(Value::as_object) else { return Ok(None) };
    let is_success = |status: &str| status.len() == 3 && status.starts_with('2');
    let mut successes: Vec<_> = responses.iter().filter(|(status, _)| is_success(status)).collect();
    if successes.is_empty() {
        successes.extend(responses.iter().filter(|(status, _)| *status == "default"));
    }
    let mut schemas: Vec<Value> = Vec::new();
    for (status, response) in successes {
        let place = place.at(status);
        // A response is shown only: a mistake in it costs its schema, not the tool.
        let (place, response) = match reader.documents.follow_references(place.clone(), response) {
            Ok(resolved) => resolved,
            Err(reason) => {
                report.warn("output_schema", tool, &place, format!("there is no output schema: {reason}"));
                return Ok(None);
            }
        };
        let content = response.get("content").and_then(Value::as_object);
        let json = content.into_iter().flatten().find(|(media_type, _)| is_json(media_type));
        let Some((media_type, value)) = json else { continue };
        // Version 3.2: a media type may be a reference. One that leads nowhere has no schema either.
        let place = place.at("content").at(media_type);
        let resolved = reader.documents.follow_references(place, value).ok();
        let Some((place, Some(schema))) = resolved.map(|(place, it)| (place, it.get("schema"))) else {
            continue;
        };
        let place = place.at("schema");
        match components.translate_root(tool, &place, schema, report) {
            Ok(schema) if schemas.contains(&schema) => {}
            Ok(schema) => schemas.push(schema),
            Err(problem) => {
                let message = format!("there is no output schema: {}", problem.reason);
                report.warn("output_schema", tool, &problem.place, message);
                return Ok(None);
            }
        }
    }
    Ok(match schemas.len() {
        0 | 1 => schemas.pop(),
        _ => Some(json!({ "anyOf": schemas })),
    })
}
