//! Definitions of tools, and diagnostics about them.

use std::collections::HashSet;

use rmcp::model::Tool as RawTool;
use serde_json::Value;
use tool_runtime::{
    ToolDefinition, ToolName,
    definition::Metadata,
    diagnostic::{Diagnostic, Severity},
    policy::Escape,
    schema::{InputSchema, OutputSchema, SchemaProblem},
};

use crate::content;

/// The maximum length of the reason of a diagnostic.
pub(super) const MAX_REASON_CHARS: usize = 300;

/// A tool whose definition cannot be used.
pub(super) fn malformed_diagnostic(tool: &str, reason: &str) -> Diagnostic {
    let reason = Escape::LINE.at_most(MAX_REASON_CHARS).text(reason);
    tool_diagnostic(
        Severity::Error,
        "malformed",
        tool,
        &format!("its definition is malformed, and it is left out: {reason}"),
    )
}

pub(super) fn tool_diagnostic(
    severity: Severity,
    code: &'static str,
    tool: &str,
    problem: &str,
) -> Diagnostic {
    let tool = Escape::LINE.at_most(100).text(tool);
    Diagnostic::new(severity, code, format!("the tool `{tool}`: {problem}")).of_tool(tool)
}

/// Returns the diagnostic of the keywords of a tool's schemas that cannot be read.
pub(super) fn schema_diagnostic(tool: &RawTool, problems: &[SchemaProblem]) -> Option<Diagnostic> {
    /// The maximum number of problems in a diagnostic.
    const MAX_PROBLEMS: usize = 5;
    let texts: Vec<_> = problems.iter().take(MAX_PROBLEMS).map(ToString::to_string).collect();
    let more = match problems.len().checked_sub(MAX_PROBLEMS) {
        Some(more @ 1..) => format!(", and {more} more"),
        _ => String::new(),
    };
    let texts = format!("{}{more}", texts.join("; "));
    let problem = format!("its schema has mistakes: {}", Escape::LINE.at_most(MAX_REASON_CHARS).text(&texts));
    (!problems.is_empty())
        .then(|| tool_diagnostic(Severity::Warning, "unreadable_schema", &tool.name, &problem))
}

/// Returns the diagnostics of a tool that is used.
pub(super) fn accepted_tool_diagnostics(
    tool: &RawTool,
    definition: &ToolDefinition,
) -> impl Iterator<Item = Diagnostic> {
    let renamed = (definition.name().as_str() != tool.name).then(|| {
        tool_diagnostic(
            Severity::Note,
            "renamed",
            &tool.name,
            &format!("it is named `{}` here", definition.name()),
        )
    });
    let description = tool.description.as_deref().unwrap_or_default();
    let hides = |text: &str| Escape::LINES.text(text) != text.replace("\r\n", "\n").replace('\t', "        ");
    let hidden = (hides(&tool.name) || hides(definition.title()) || hides(description)).then(|| {
        let problem = "its name, title or description has characters that a person does not see";
        tool_diagnostic(Severity::Warning, "hidden_text", &tool.name, problem)
    });
    renamed.into_iter().chain(hidden)
}

/// A reader of definitions, with the rules of the program.
#[derive(Clone, Default)]
pub(super) struct DefinitionReader {
    pub(super) include: Option<HashSet<String>>,
    pub(super) exclude: HashSet<String>,
    pub(super) conservative: bool,
}

impl DefinitionReader {
    pub(super) fn includes_tool(&self, raw: &str) -> bool {
        self.include.as_ref().is_none_or(|names| names.contains(raw)) && !self.exclude.contains(raw)
    }

    /// Makes a definition of a tool, and the problems of its schemas. Schemas stay as they are, but for keywords that cannot
    /// be read.
    pub(super) fn read_definition(
        &self,
        tool: &RawTool,
        server: &str,
    ) -> Result<(ToolDefinition, Vec<SchemaProblem>), String> {
        let name = ToolName::from_foreign(&tool.name);
        let schema = InputSchema::from_foreign(Value::Object((*tool.input_schema).clone()));
        let (schema, mut problems) = schema.map_err(|error| error.to_string())?;
        let description = match tool.description.as_deref().map(str::trim) {
            None | Some("") => format!("The tool `{}` of the server `{server}`.", tool.name),
            Some(_) => tool.description.as_deref().unwrap_or_default().to_owned(),
        };
        let mut definition =
            ToolDefinition::new(name, description, schema).with_metadata(self.metadata_of(tool));
        let title =
            tool.title.as_ref().or_else(|| tool.annotations.as_ref().and_then(|hints| hints.title.as_ref()));
        if let Some(title) = title {
            definition = definition.with_title(title.clone());
        }
        if let Some(schema) = &tool.output_schema {
            let schema = OutputSchema::from_foreign(Value::Object((**schema).clone()));
            let (schema, of_output) = schema.map_err(|error| error.to_string())?;
            problems.extend(of_output);
            definition = definition.with_output_schema(schema);
        }
        Ok((definition, problems))
    }

    fn metadata_of(&self, tool: &RawTool) -> Metadata {
        let metadata = content::from_annotations(tool.annotations.as_ref());
        if self.conservative { metadata.conservative() } else { metadata }
    }
}
