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

use super::notices::MAX_NAME_CHARS;
use crate::content;

/// The maximum length of the reason of a diagnostic.
pub(super) const MAX_REASON_CHARS: usize = 300;

/// A tool whose definition cannot be used.
pub(super) fn malformed_tool_diagnostic(tool: &str, reason: &str) -> Diagnostic {
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
    let tool = Escape::LINE.at_most(MAX_NAME_CHARS).text(tool);
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
    let texts = Escape::LINE.at_most(MAX_REASON_CHARS).text(&texts.join("; "));
    let problem = format!("its schema has mistakes: {texts}{more}");
    (!problems.is_empty())
        .then(|| tool_diagnostic(Severity::Warning, "unreadable_schema", &tool.name, &problem))
}

/// Returns the diagnostics of a tool that is used.
pub(super) fn renamed_or_hidden_text_diagnostics(
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
    let texts = [&*tool.name, definition.title(), description];
    let hidden = texts.into_iter().any(has_hidden_characters).then(|| {
        let problem = "its name, title or description has characters that a person does not see";
        tool_diagnostic(Severity::Warning, "hidden_text", &tool.name, problem)
    });
    renamed.into_iter().chain(hidden)
}

/// Returns `true` if a person does not see all characters of a text. Tabs are seen, and blanks in an otherwise empty line
/// are not missed.
fn has_hidden_characters(text: &str) -> bool {
    let text = text.replace("\r\n", "\n").replace('\t', " ");
    let lines = text.split('\n').map(|line| if line.trim_matches(' ').is_empty() { "" } else { line });
    let seen = lines.collect::<Vec<_>>().join("\n");
    Escape::LINES.text(&seen) != seen
}

/// A reader of definitions, with the rules of the program.
#[derive(Clone, Default)]
pub(super) struct DefinitionReader {
    pub(super) include: Option<HashSet<String>>,
    pub(super) exclude: HashSet<String>,
    pub(super) conservative: bool,
    pub(super) untrusted: bool,
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
            ToolDefinition::new(name, description, schema).with_metadata(self.tool_metadata(tool));
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

    fn tool_metadata(&self, tool: &RawTool) -> Metadata {
        let mut metadata = content::from_annotations(tool.annotations.as_ref());
        if self.untrusted {
            metadata.trust = Some("untrusted".into());
        }
        if self.conservative { metadata.conservative() } else { metadata }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(members: Value) -> RawTool {
        let mut tool = json!({ "name": "t", "inputSchema": { "type": "object" } });
        for (name, value) in members.as_object().unwrap() {
            tool[name] = value.clone();
        }
        serde_json::from_value(tool).unwrap()
    }

    /// The definition of a tool, and the codes of its diagnostics.
    fn read(members: Value) -> (ToolDefinition, Vec<&'static str>) {
        let tool = tool(members);
        let (definition, problems) = DefinitionReader::default().read_definition(&tool, "s").unwrap();
        let diagnostics = schema_diagnostic(&tool, &problems);
        let diagnostics =
            diagnostics.into_iter().chain(renamed_or_hidden_text_diagnostics(&tool, &definition));
        let codes = diagnostics.map(|it| it.code).collect();
        (definition, codes)
    }

    #[test]
    fn a_tool_without_a_description_says_where_it_is_from() {
        let described =
            |description: Value| read(json!({ "description": description })).0.description().to_owned();
        for none in [json!(null), json!(""), json!(" \n")] {
            assert_eq!(described(none), "The tool `t` of the server `s`.");
        }
        assert_eq!(described(json!(" Adds. ")), " Adds. ");
    }

    #[test]
    fn the_title_of_a_tool_is_its_own_or_one_of_its_hints() {
        let titled = |members: Value| read(members).0.title().to_owned();
        assert_eq!(titled(json!({ "title": "T", "annotations": { "title": "H" } })), "T");
        assert_eq!(titled(json!({ "annotations": { "title": "H" } })), "H");
        assert_eq!(titled(json!({})), read(json!({})).0.name().as_str());
    }

    #[test]
    fn names_and_texts_that_mislead_have_diagnostics() {
        for (members, codes) in [
            (json!({ "description": "a\r\nb\tc\n\td\n  \n \t\n e " }), vec![]),
            (json!({ "description": "a\rb" }), vec!["hidden_text"]),
            (json!({ "description": "a\r" }), vec!["hidden_text"]),
            // What is far away is not seen either.
            (json!({ "description": format!("a{}b", "\n".repeat(50)) }), vec!["hidden_text"]),
            (json!({ "description": format!("a{}b", " ".repeat(500)) }), vec!["hidden_text"]),
            (json!({ "name": "a b" }), vec!["renamed"]),
            (json!({ "description": "a\u{200b}b" }), vec!["hidden_text"]),
            (json!({ "title": "a\u{1b}b" }), vec!["hidden_text"]),
            (json!({ "name": "a\u{200b}" }), vec!["renamed", "hidden_text"]),
            (json!({ "inputSchema": { "type": "objekt" } }), vec!["unreadable_schema"]),
            (json!({ "outputSchema": { "type": "objekt" } }), vec!["unreadable_schema"]),
        ] {
            assert_eq!(read(members.clone()).1, codes, "{members}");
        }
        let renamed = tool(json!({ "name": "a b" }));
        let (definition, _) = DefinitionReader::default().read_definition(&renamed, "s").unwrap();
        let diagnostic = renamed_or_hidden_text_diagnostics(&renamed, &definition).next().unwrap();
        assert_eq!(diagnostic.severity, Severity::Note);
        let text = format!("the tool `a b`: it is named `{}` here", definition.name());
        assert_eq!(diagnostic.message, text);
    }

    #[test]
    fn the_first_problems_of_a_schema_are_named_and_the_others_counted() {
        let message = |count: usize| {
            let properties: serde_json::Map<_, _> =
                (0..count).map(|number| (format!("p{number}"), json!({ "type": "x" }))).collect();
            let tool = tool(json!({ "inputSchema": { "type": "object", "properties": properties } }));
            let (_, problems) = DefinitionReader::default().read_definition(&tool, "s").unwrap();
            assert_eq!(problems.len(), count);
            schema_diagnostic(&tool, &problems).map(|it| it.message.to_string())
        };
        assert_eq!(message(0), None);
        for count in 1..=3 {
            let text = message(count).unwrap();
            assert!(text.starts_with("the tool `t`: its schema has mistakes: at /properties/p0: "), "{text}");
            assert_eq!(text.matches("at /properties/p").count(), count, "{text}");
        }
        for (count, more) in [(5, None), (6, Some(", and 1 more")), (9, Some(", and 4 more"))] {
            let text = message(count).unwrap();
            assert!(text.len() < 420 && more.is_none_or(|more| text.ends_with(more)), "{text}");
            assert_eq!(text.contains(", and "), more.is_some(), "{text}");
        }
    }

    #[test]
    fn a_diagnostic_names_its_tool_with_a_hundred_characters_at_most() {
        for length in [100, 101, 102] {
            let shown = Escape::LINE.at_most(100).text(&"n".repeat(length));
            let diagnostic = tool_diagnostic(Severity::Note, "code", &"n".repeat(length), "it is long");
            assert_eq!(diagnostic.message, format!("the tool `{shown}`: it is long"));
            assert_eq!(diagnostic.location.tool, Some(shown));
        }
        assert_eq!(Escape::LINE.at_most(100).text(&"n".repeat(100)), "n".repeat(100));
    }

    #[test]
    fn a_filter_keeps_the_included_tools_but_for_the_excluded_ones() {
        let reader = |include: Option<&[&str]>, exclude: &[&str]| DefinitionReader {
            include: include.map(|names| names.iter().map(|&name| name.to_owned()).collect()),
            exclude: exclude.iter().map(|&name| name.to_owned()).collect(),
            conservative: false,
            untrusted: false,
        };
        let kept = |reader: DefinitionReader| {
            ["a", "b"].into_iter().filter(|name| reader.includes_tool(name)).collect::<Vec<_>>()
        };
        assert_eq!(kept(reader(None, &[])), ["a", "b"]);
        assert_eq!(kept(reader(None, &["a"])), ["b"]);
        assert_eq!(kept(reader(Some(&["a"]), &[])), ["a"]);
        assert_eq!(kept(reader(Some(&["a", "b"]), &["a"])), ["b"]);
        assert_eq!(kept(reader(Some(&[]), &[])), [""; 0]);
    }

    #[test]
    fn missing_hints_are_read_with_care_if_asked_to() {
        let metadata = |conservative| {
            let reader = DefinitionReader { conservative, ..DefinitionReader::default() };
            reader.tool_metadata(&tool(json!({})))
        };
        assert_eq!(metadata(false), Metadata::default());
        assert_eq!(metadata(true), Metadata::default().conservative());
        assert_ne!(metadata(true), metadata(false));
    }

    #[test]
    fn the_texts_of_a_malformed_tool_are_bounded() {
        let diagnostic = malformed_tool_diagnostic(&"n".repeat(500), &"r".repeat(1_000));
        assert_eq!((diagnostic.severity, diagnostic.code), (Severity::Error, "malformed"));
        let message = diagnostic.message.to_string();
        assert!((400..520).contains(&message.len()), "{}", message.len());
        assert!(message.contains("its definition is malformed, and it is left out: r"), "{message}");
    }
}
