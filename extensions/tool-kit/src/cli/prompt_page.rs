//! The page of one prompt.

use tool_cli::{Exit, Failure};
use tool_runtime::{policy::Escape, serde_json::Value};

use super::request::{CatalogueRequest, escape_to_line};
use crate::{
    catalogue::CatalogueItem,
    prompt::{PromptDefinition, PromptThinking},
};

/// The maximum number of characters of a description.
const MAX_DESCRIPTION_CHARS: usize = 8_000;

/// The maximum number of values of an `enum` in a line.
const MAX_VALUES: usize = 20;

/// Writes the page of a prompt.
pub(super) fn prompt_page(
    request: &CatalogueRequest<'_>,
    item: &CatalogueItem,
    prompt: &PromptDefinition,
) -> Result<Exit, Failure> {
    let mut page = escape_to_line(request.command_key(item));
    if let Some(title) = prompt.title() {
        page.push_str(&format!(" ({})", escape_to_line(title)));
    }
    page.push('\n');
    if let Some(description) = prompt.description() {
        let description = Escape::LINES.at_most(MAX_DESCRIPTION_CHARS).text(description.trim());
        page.push_str(&format!("\n{description}\n"));
    }
    page.push('\n');
    for (name, value) in labelled_settings(request, item, prompt) {
        page.push_str(&format!("{name}: {}\n", escape_to_line(&value)));
    }
    request.program.print(&page)?;
    let arguments = prompt.arguments();
    if arguments.is_empty() {
        return Ok(Exit::Done);
    }
    request.program.print("\n")?;
    let rows = arguments.into_iter().map(|argument| {
        let schema = prompt.input().and_then(|input| input.get("properties")?.get(&argument.name));
        let kind = schema.map(accepted_values_text).unwrap_or_default();
        let takes = if argument.required { format!("{kind}, required") } else { kind };
        [argument.name, takes, argument.description.unwrap_or_default()]
    });
    request.program.print_table(["Argument", "Takes", "Description"], rows)?;
    Ok(Exit::Done)
}

/// Returns the settings of a prompt with their labels.
fn labelled_settings(
    request: &CatalogueRequest<'_>,
    item: &CatalogueItem,
    prompt: &PromptDefinition,
) -> Vec<(&'static str, String)> {
    let thinking = prompt.thinking().map(|thinking| match thinking {
        PromptThinking::Off => "off",
        PromptThinking::On => "on",
        PromptThinking::Low => "low",
        PromptThinking::Medium => "medium",
        PromptThinking::High => "high",
    });
    let budget = prompt.thinking_budget().map(|tokens| format!("at most {tokens} tokens"));
    let thinking: Vec<_> = thinking.map(str::to_owned).into_iter().chain(budget).collect();
    let origin = Some(item.namespace().to_owned()).filter(|_| !request.is_of_one_server());
    let input = prompt.input().map_or_else(|| "any JSON".to_owned(), accepted_values_text);
    let all = [
        ("Origin", origin),
        ("Model", prompt.model().map(str::to_owned)),
        ("Provider", prompt.provider().map(str::to_owned)),
        ("Tools", prompt.tools().map(|tools| tools.join(", "))),
        ("Thinking", Some(thinking.join(", ")).filter(|text| !text.is_empty())),
        ("Input", Some(input)),
        ("Output", prompt.output().map(accepted_values_text)),
    ];
    all.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect()
}

/// Returns the values that a schema accepts, in words.
pub(super) fn accepted_values_text(schema: &Value) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let mut words: Vec<_> = values.iter().take(MAX_VALUES).map(unquoted_text).collect();
        if values.len() > MAX_VALUES {
            words.push(format!("{} more", values.len() - MAX_VALUES));
        }
        return words.join(" | ");
    }
    match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => kinds.iter().map(unquoted_text).collect::<Vec<_>>().join(" or "),
        _ => "any JSON".to_owned(),
    }
}

fn unquoted_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use tool_runtime::serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_described_by_its_values_or_its_types() {
        for (schema, expected) in [
            (json!({ "type": "string" }), "string"),
            (json!({ "type": ["string", "null"] }), "string or null"),
            (json!({ "type": "string", "enum": ["a", 1, null] }), "a | 1 | null"),
            (json!({ "anyOf": [] }), "any JSON"),
            (json!(true), "any JSON"),
        ] {
            assert_eq!(accepted_values_text(&schema), expected, "{schema}");
        }
        let many = json!({ "enum": (0..25).collect::<Vec<_>>() });
        assert!(accepted_values_text(&many).ends_with("| 19 | 5 more"), "{}", accepted_values_text(&many));
    }
}
