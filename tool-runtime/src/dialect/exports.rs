//! The definitions of a registry in a dialect: computed once, and kept while the tools stay the same.

use std::{
    borrow::Cow,
    collections::HashMap,
    io,
    sync::{Arc, OnceLock},
};

use foldhash::fast::FixedState;
use serde_json::{Value, json};
use tool_core::ToolDefinition;

use super::{
    budget::{SchemaWeight, StrictBudget},
    names::WireNames,
    provider::{Definition, Wire},
    schema::{ConvertedSchema, SchemaNote, convert_schema},
};
use crate::{
    Registry,
    diagnostic::{Diagnostic, Location, Severity},
};

/// A registry in the format of a dialect.
pub(super) struct Exports {
    pub(super) tools: Vec<Arc<Export>>,
    by_name: HashMap<String, usize, FixedState>,
    pub(super) names: WireNames,
    wire: Wire,
    native: Box<[Value]>,
    /// The positions of the tools that could be strict and are sent without `strict`.
    loose: Vec<usize>,
    /// The tools of a request as a value and as text, once they are needed.
    definitions: OnceLock<Value>,
    json: OnceLock<Box<str>>,
    pub(super) tokens: usize,
    /// The names of native tools with a free-text argument instead of JSON arguments.
    pub(super) custom: Vec<String>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// A tool in the format of a dialect.
pub(super) struct Export {
    of: ToolDefinition,
    wire_name: String,
    /// `None` where the tool cannot be sent.
    definition: Option<Value>,
    /// The single argument that wraps all others, if there is one.
    pub(super) within: Option<String>,
    diagnostics: Vec<Diagnostic>,
    pub(super) output: OutputForm,
    /// The estimated number of tokens of the definition.
    tokens: usize,
    /// The cost against the budget of strict tools, where the tool is strict.
    weight: Option<SchemaWeight>,
}

/// The form of a structured result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputForm {
    /// The tool declares no output schema.
    Unspecified,
    /// An object.
    Object,
    /// Any value, wrapped in an object under `result`.
    Held,
}

impl Exports {
    pub(super) fn new(
        wire: Wire,
        registry: &Registry,
        prefix: &str,
        native: &[Value],
        before: Option<&Self>,
    ) -> Self {
        let definitions = registry.definitions();
        let own = definitions.iter().map(|it| it.name().as_str());
        let reserved: Vec<&str> = native.iter().filter_map(|tool| wire.native_name(tool)).collect();
        let names = WireNames::new(own, prefix, wire.name_rule(), &reserved);
        let export = |definition: &ToolDefinition| {
            let wire_name = names.wire_name(definition.name());
            let known = before.and_then(|before| before.export(definition.name()));
            let same = known.filter(|it| it.of == *definition && it.wire_name == wire_name);
            same.map_or_else(|| Arc::new(Export::new(wire, definition, wire_name)), Arc::clone)
        };
        let tools: Vec<_> = definitions.iter().map(export).collect();
        let by_name = definitions.iter().enumerate().map(|(at, it)| (it.name().to_string(), at)).collect();
        let mut diagnostics: Vec<_> =
            tools.iter().flat_map(|tool| tool.diagnostics.iter().cloned()).collect();
        let (mut budget, mut loose) = (wire.budget(), Vec::new());
        for (at, (of, tool)) in definitions.iter().zip(&tools).enumerate() {
            if let Some(why) = tool.exceeded_budget(budget.as_mut()) {
                loose.push(at);
                diagnostics.push(loose_schema_diagnostic(wire, of, &why));
            }
        }
        let declared = definitions.iter().zip(&tools).filter(|(_, tool)| tool.definition.is_some());
        let declared: Vec<_> = declared.map(|(definition, _)| definition).collect();
        diagnostics.extend(tool_count_diagnostic(wire, &declared, native.len()));
        let tokens = tools.iter().map(|tool| tool.tokens).chain(native.iter().map(estimate_tokens)).sum();
        diagnostics.extend(token_count_diagnostic(wire, registry.definitions(), &tools, tokens));
        let is_custom = |tool: &&Value| tool.get("type").is_some_and(|kind| kind == "custom");
        let custom = native.iter().filter(is_custom).filter_map(|tool| wire.native_name(tool));
        let custom = custom.map(str::to_owned).collect();
        let (definitions, json, native) = (OnceLock::new(), OnceLock::new(), native.into());
        Self { tools, by_name, names, wire, native, loose, definitions, json, tokens, custom, diagnostics }
    }

    /// Returns the tools of a request.
    pub(super) fn definitions(&self) -> &Value {
        self.definitions.get_or_init(|| {
            let definition = |(at, tool): (usize, &Arc<Export>)| {
                let mut definition = tool.definition.clone()?;
                if self.loose.contains(&at) {
                    definition.as_object_mut()?.shift_remove("strict");
                }
                Some(definition)
            };
            let sent = self.tools.iter().enumerate().filter_map(definition).collect();
            self.wire.all_tools(sent, &self.native)
        })
    }

    /// Returns the tools of a request as JSON.
    pub(super) fn json(&self) -> &str {
        self.json.get_or_init(|| {
            let is_changed = !self.loose.is_empty() || !self.wire.lists_definitions();
            let written = if is_changed || self.definitions.get().is_some() {
                serde_json::to_string(self.definitions())
            } else {
                // The same list without a copy of each definition.
                let own = self.tools.iter().filter_map(|tool| tool.definition.as_ref());
                serde_json::to_string(&own.chain(&self.native).collect::<Vec<_>>())
            };
            written.unwrap_or_else(|_| "[]".to_owned()).into()
        })
    }

    pub(super) fn have_definitions_of(&self, registry: &Registry) -> bool {
        self.tools.iter().map(|tool| &tool.of).eq(registry.definitions())
    }

    pub(super) fn export(&self, name: &str) -> Option<&Arc<Export>> {
        self.tools.get(*self.by_name.get(name)?)
    }
}

impl Export {
    fn new(wire: Wire, definition: &ToolDefinition, wire_name: &str) -> Self {
        let diagnostic = |note| tool_diagnostic(wire, definition, note);
        let (converted, mut notes) = converted_schema(wire, definition);
        if *definition.name() != wire_name {
            notes.push(renaming_note(definition.name(), wire_name));
        }
        let (form, output) = wire.output_form_and_schema(definition);
        let within = converted.as_ref().and_then(|(converted, _)| converted.within.clone());
        let weight = converted
            .as_ref()
            .filter(|(_, strict)| *strict)
            .map(|(it, _)| SchemaWeight::from_schema(&it.schema));
        let mut examples = wire_examples(definition, within.as_deref());
        // An example that does not match the schema is rejected
        // (<https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools>).
        let has_place = wire.takes_examples() && converted.as_ref().is_some_and(|(it, _)| !it.narrowed);
        let description = if has_place || examples.is_empty() {
            Cow::Borrowed(definition.description())
        } else {
            Cow::Owned(description_with_examples(definition.description(), &std::mem::take(&mut examples)))
        };
        notes.extend(description_length_note(wire, &description));
        let written = converted.map(|(converted, strict)| {
            let (parameters, name, description) = (converted.schema, wire_name, &*description);
            wire.definition(Definition {
                name,
                of: definition,
                description,
                parameters,
                strict,
                output,
                examples,
            })
        });
        let diagnostics = notes.into_iter().map(diagnostic).collect();
        let (of, wire_name) = (definition.clone(), wire_name.to_owned());
        let tokens = written.as_ref().map(estimate_tokens).unwrap_or_default();
        Self { of, wire_name, definition: written, within, diagnostics, output: form, tokens, weight }
    }

    /// Returns the reason why the tool cannot be strict in addition to the tools before it, if there is one.
    fn exceeded_budget(&self, budget: Option<&mut StrictBudget>) -> Option<String> {
        budget?.deduct(self.weight?).err()
    }
}

/// Returns the examples of a tool in the form that the model has to write.
fn wire_examples(definition: &ToolDefinition, within: Option<&str>) -> Vec<Value> {
    let held = |example: &Value| match within {
        Some(name) => json!({ name: example }),
        None => example.clone(),
    };
    definition.examples().iter().map(held).collect()
}

fn description_with_examples(description: &str, examples: &[Value]) -> String {
    let examples: Vec<_> = examples.iter().map(Value::to_string).collect();
    format!("{description}\n\nExamples of arguments:\n{}", examples.join("\n"))
}

fn tool_diagnostic(wire: Wire, definition: &ToolDefinition, note: SchemaNote) -> Diagnostic {
    let SchemaNote { pointer, severity, code, message, help } = note;
    let (tool, dialect) = (Some(definition.name().to_string()), Some(wire.name()));
    let location = Location { tool, dialect, pointer, source: None };
    Diagnostic { location, severity, code, message, help: Some(help.to_owned()) }
}

/// Creates a warning about the tools as a set; it is attributed to one of them.
fn tool_set_warning(
    wire: Wire,
    definition: &ToolDefinition,
    code: &'static str,
    message: String,
    help: &'static str,
) -> Diagnostic {
    let (pointer, severity) = (String::new(), Severity::Warning);
    tool_diagnostic(wire, definition, SchemaNote { pointer, severity, code, message, help })
}

fn loose_schema_diagnostic(wire: Wire, definition: &ToolDefinition, why: &str) -> Diagnostic {
    let message = format!("the tool is sent without `strict`: {why}");
    tool_set_warning(
        wire,
        definition,
        "not_strict",
        message,
        "show fewer tools per run, or ignore it: calls are validated",
    )
}

/// Returns the schema of a tool for the wire, and `true` if the provider enforces it.
fn converted_schema(
    wire: Wire,
    definition: &ToolDefinition,
) -> (Option<(ConvertedSchema, bool)>, Vec<SchemaNote>) {
    let schema = &*definition.input_schema().to_value();
    let (rules, looser) = wire.rules();
    let unsupported = match convert_schema(schema, rules) {
        Ok(mut converted) => {
            let notes = std::mem::take(&mut converted.notes);
            return (Some((converted, looser.is_some())), notes);
        }
        Err(unsupported) => unsupported,
    };
    let note = |severity, code, message: String, help| SchemaNote {
        pointer: unsupported.pointer.clone(),
        severity,
        code,
        message: format!("{message}: {}", unsupported.message),
        help,
    };
    match looser.map(|rules| convert_schema(schema, rules)) {
        Some(Ok(mut converted)) => {
            let mut notes = std::mem::take(&mut converted.notes);
            let help = "use a struct or a list of entries, or ignore it: calls are validated";
            notes.push(note(
                Severity::Warning,
                "not_strict",
                "the tool is sent without `strict`".to_owned(),
                help,
            ));
            (Some((converted, false)), notes)
        }
        _ => {
            let help = "use a struct or a list of entries, or another dialect";
            (None, vec![note(Severity::Error, "not_sent", "the tool is left out".to_owned(), help)])
        }
    }
}

/// Reports a description that exceeds the provider's limit.
fn description_length_note(wire: Wire, description: &str) -> Option<SchemaNote> {
    let most = wire.max_description_chars()?;
    let length = description.chars().count();
    (length > most).then(|| SchemaNote {
        pointer: String::new(),
        severity: Severity::Warning,
        code: "description_limit",
        message: format!("the description has {length} characters; some models reject more than {most}"),
        help: "shorten it, or move details to the descriptions of parameters",
    })
}

/// Reports a number of tools that exceeds the provider's limit.
fn tool_count_diagnostic(wire: Wire, tools: &[&ToolDefinition], native: usize) -> Option<Diagnostic> {
    let most = wire.max_tools()?;
    // Native tools are outside of a group of definitions.
    let native = if wire.lists_definitions() { native } else { 0 };
    let count = tools.len() + native;
    let first = tools.get(most.saturating_sub(native)).filter(|_| count > most)?;
    let message = format!("there are {count} tools; the provider rejects requests with more than {most}");
    Some(tool_set_warning(wire, first, "too_many_tools", message, "show fewer tools per run"))
}

/// The number of tokens from which Anthropic recommends a tool search instead of sending all definitions with
/// every request (<https://www.anthropic.com/engineering/advanced-tool-use>).
const MANY_TOKENS: usize = 10_000;

/// Estimates the number of tokens of `definition`: four characters per token, one for non-ASCII characters.
fn estimate_tokens(definition: &Value) -> usize {
    let mut count = Count::default();
    // The writer only counts, so it cannot fail.
    let _ = serde_json::to_writer(&mut count, definition);
    count.ascii.div_ceil(4) + count.others
}

/// Counts the characters that are written.
#[derive(Default)]
struct Count {
    ascii: usize,
    others: usize,
}

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let ascii = bytes.iter().filter(|byte| byte.is_ascii()).count();
        self.ascii += ascii;
        if ascii < bytes.len() {
            // Each character has exactly one byte that is not a continuation byte.
            self.others += bytes.iter().filter(|byte| **byte >= 0xc0).count();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reports definitions that fill the context; the diagnostic is attributed to the largest one.
fn token_count_diagnostic(
    wire: Wire,
    definitions: &[ToolDefinition],
    tools: &[Arc<Export>],
    tokens: usize,
) -> Option<Diagnostic> {
    let (largest, tool) = definitions.iter().zip(tools).max_by_key(|(_, tool)| tool.tokens)?;
    let own = tool.tokens;
    (tokens > MANY_TOKENS).then(|| {
        let message = format!(
            "the definitions of all tools add about {tokens} tokens to every request; keep them below {MANY_TOKENS}; \
             this one is the largest, with {own}"
        );
        tool_set_warning(wire, largest, "many_tokens", message, "show fewer tools per run, or shorten their descriptions")
    })
}

fn renaming_note(name: &str, wire_name: &str) -> SchemaNote {
    SchemaNote {
        pointer: String::new(),
        severity: Severity::Note,
        code: "renamed",
        message: format!("`{name}` is sent as `{wire_name}`"),
        help: "no action needed: calls have the tool's own name",
    }
}
