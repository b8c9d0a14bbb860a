//! What the tools of a registry are in a dialect: made once, and kept while they stay the same.

use std::{borrow::Cow, collections::HashMap, io, sync::Arc};

use foldhash::fast::FixedState;
use serde_json::{Value, json};
use tool_core::ToolDefinition;

use super::{
    Finding, Severity,
    budget::{Budget, Weight},
    names::Names,
    schema::{Carried, Remark, carry},
    wire::{Definition, Wire},
};
use crate::Registry;

/// What a registry is in a dialect; made once.
pub(super) struct Exports {
    pub(super) tools: Vec<Arc<Export>>,
    by_name: HashMap<String, usize, FixedState>,
    pub(super) names: Names,
    pub(super) definitions: Value,
    pub(super) tokens: usize,
    /// The names of those of the provider's own tools that take a text in place of arguments.
    pub(super) custom: Vec<String>,
    pub(super) findings: Vec<Finding>,
}

/// What one tool is in a dialect.
pub(super) struct Export {
    of: ToolDefinition,
    wire_name: String,
    /// `None` where it cannot be sent.
    definition: Option<Value>,
    /// The one argument that holds all others, where there is one.
    pub(super) within: Option<String>,
    findings: Vec<Finding>,
    pub(super) output: OutputForm,
    /// About how many tokens of a request the definition is.
    tokens: usize,
    /// What the schema takes of what may be strict, where the tool is.
    weight: Option<Weight>,
}

/// In which form the result of a tool is a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputForm {
    /// The tool does not say.
    Unsaid,
    /// An object.
    Object,
    /// Anything, in an object under `result`.
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
        let names = Names::new(own, prefix, wire.name_rule(), &reserved);
        let export = |definition: &ToolDefinition| {
            let wire_name = names.wire(definition.name());
            let known = before.and_then(|before| before.export(definition.name()));
            let same = known.filter(|it| it.of == *definition && it.wire_name == wire_name);
            same.map_or_else(|| Arc::new(Export::new(wire, definition, wire_name)), Arc::clone)
        };
        let tools: Vec<_> = definitions.iter().map(export).collect();
        let by_name = definitions.iter().enumerate().map(|(at, it)| (it.name().to_string(), at)).collect();
        let mut findings: Vec<_> = tools.iter().flat_map(|tool| tool.findings.iter().cloned()).collect();
        let mut budget = wire.budget();
        let sent = definitions.iter().zip(&tools).filter_map(|(of, tool)| {
            let mut definition = tool.definition.clone()?;
            if let Some(why) = tool.beyond(budget.as_mut()) {
                definition.as_object_mut()?.shift_remove("strict");
                findings.push(loose(wire, of, &why));
            }
            Some(definition)
        });
        let sent = sent.collect();
        let declared = definitions.iter().zip(&tools).filter(|(_, tool)| tool.definition.is_some());
        let declared: Vec<_> = declared.map(|(definition, _)| definition).collect();
        findings.extend(too_many(wire, &declared, native.len()));
        let tokens = tools.iter().map(|tool| tool.tokens).chain(native.iter().map(tokens)).sum();
        findings.extend(too_large(wire, registry.definitions(), &tools, tokens));
        let is_custom = |tool: &&Value| tool.get("type").is_some_and(|kind| kind == "custom");
        let custom = native.iter().filter(is_custom).filter_map(|tool| wire.native_name(tool));
        let custom = custom.map(str::to_owned).collect();
        let definitions = wire.tools(sent, native);
        Self { tools, by_name, names, definitions, tokens, custom, findings }
    }

    pub(super) fn are_of(&self, registry: &Registry) -> bool {
        self.tools.iter().map(|tool| &tool.of).eq(registry.definitions())
    }

    pub(super) fn export(&self, name: &str) -> Option<&Arc<Export>> {
        self.tools.get(*self.by_name.get(name)?)
    }
}

impl Export {
    fn new(wire: Wire, definition: &ToolDefinition, wire_name: &str) -> Self {
        let finding = |remark: Remark| Finding {
            tool: definition.name().to_string(),
            dialect: wire.name(),
            pointer: remark.pointer,
            severity: remark.severity,
            message: remark.message,
            remedy: remark.remedy.to_owned(),
        };
        let (carried, mut remarks) = carried(wire, definition);
        if *definition.name() != wire_name {
            remarks.push(renamed(definition.name(), wire_name));
        }
        let (form, output) = wire.output(definition);
        let within = carried.as_ref().and_then(|(carried, _)| carried.within.clone());
        let weight = carried.as_ref().filter(|(_, strict)| *strict).map(|(it, _)| Weight::of(&it.schema));
        let mut examples = examples(definition, within.as_deref());
        // An example that is not of the schema is refused
        // (<https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools>).
        let has_place = wire.takes_examples() && carried.as_ref().is_some_and(|(it, _)| !it.narrowed);
        let description = if has_place || examples.is_empty() {
            Cow::Borrowed(definition.description())
        } else {
            Cow::Owned(with_examples(definition.description(), &std::mem::take(&mut examples)))
        };
        remarks.extend(too_long(wire, &description));
        let written = carried.map(|(carried, strict)| {
            let (parameters, name, description) = (carried.schema, wire_name, &*description);
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
        let findings = remarks.into_iter().map(finding).collect();
        let (of, wire_name) = (definition.clone(), wire_name.to_owned());
        let tokens = written.as_ref().map(tokens).unwrap_or_default();
        Self { of, wire_name, definition: written, within, findings, output: form, tokens, weight }
    }

    /// Why the tool cannot be strict beside those before it, if it cannot.
    fn beyond(&self, budget: Option<&mut Budget>) -> Option<String> {
        budget?.take(self.weight?).err()
    }
}

/// The examples of a tool as the model is to write them.
fn examples(definition: &ToolDefinition, within: Option<&str>) -> Vec<Value> {
    let held = |example: &Value| match within {
        Some(name) => json!({ name: example }),
        None => example.clone(),
    };
    definition.examples().iter().map(held).collect()
}

fn with_examples(description: &str, examples: &[Value]) -> String {
    let examples: Vec<_> = examples.iter().map(Value::to_string).collect();
    format!("{description}\n\nExamples of arguments:\n{}", examples.join("\n"))
}

/// What is found only where tools are together; it is told of one of them.
fn together(wire: Wire, definition: &ToolDefinition, message: String, remedy: &str) -> Finding {
    Finding {
        tool: definition.name().to_string(),
        dialect: wire.name(),
        pointer: String::new(),
        severity: Severity::Warning,
        message,
        remedy: remedy.to_owned(),
    }
}

fn loose(wire: Wire, definition: &ToolDefinition, why: &str) -> Finding {
    let message = format!("the tool is sent without `strict`: {why}");
    together(wire, definition, message, "show a run fewer tools, or leave it: calls are checked")
}

/// The schema of a tool as it is sent, and whether the provider holds the model to it.
fn carried(wire: Wire, definition: &ToolDefinition) -> (Option<(Carried, bool)>, Vec<Remark>) {
    let schema = definition.input_schema().as_value();
    let (rules, looser) = wire.rules();
    let obstacle = match carry(schema, rules) {
        Ok(mut carried) => {
            let remarks = std::mem::take(&mut carried.remarks);
            return (Some((carried, looser.is_some())), remarks);
        }
        Err(obstacle) => obstacle,
    };
    let remark = |severity, message: String, remedy| Remark {
        pointer: obstacle.pointer.clone(),
        severity,
        message: format!("{message}: {}", obstacle.message),
        remedy,
    };
    match looser.map(|rules| carry(schema, rules)) {
        Some(Ok(mut carried)) => {
            let mut remarks = std::mem::take(&mut carried.remarks);
            let remedy = "use a struct or a list of entries, or leave it: calls are checked";
            remarks.push(remark(Severity::Warning, "the tool is sent without `strict`".to_owned(), remedy));
            (Some((carried, false)), remarks)
        }
        _ => {
            let remedy = "use a struct or a list of entries, or another dialect";
            (None, vec![remark(Severity::Error, "the tool is left out".to_owned(), remedy)])
        }
    }
}

/// That a provider has refused descriptions of that length.
fn too_long(wire: Wire, description: &str) -> Option<Remark> {
    let most = wire.longest_description()?;
    let length = description.chars().count();
    (length > most).then(|| Remark {
        pointer: String::new(),
        severity: Severity::Warning,
        message: format!(
            "the description has {length} characters; more than {most} are refused for some models"
        ),
        remedy: "shorten it, or say more of it where the parameters are described",
    })
}

/// That a provider refuses so many tools.
fn too_many(wire: Wire, tools: &[&ToolDefinition], native: usize) -> Option<Finding> {
    let most = wire.most_tools()?;
    // Gemini's own stand beside the list of declarations.
    let native = if matches!(wire, Wire::Gemini { .. }) { 0 } else { native };
    let count = tools.len() + native;
    let first = tools.get(most.saturating_sub(native)).filter(|_| count > most)?;
    let message = format!("there are {count} tools; a request with more than {most} is refused");
    Some(together(wire, first, message, "show a run fewer of them"))
}

/// From so many tokens on, Anthropic has definitions found by a search rather than sent with every request
/// (<https://www.anthropic.com/engineering/advanced-tool-use>).
const MANY_TOKENS: usize = 10_000;

/// About how many tokens `definition` is: four characters each, or one where they are not ASCII.
fn tokens(definition: &Value) -> usize {
    let mut count = Count::default();
    // Nothing is kept, so that nothing can fail.
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
            // Each character has one byte that does not go on with another.
            self.others += bytes.iter().filter(|byte| **byte >= 0xc0).count();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// That the definitions fill the context; the finding is of the tool that is most of them.
fn too_large(
    wire: Wire,
    definitions: &[ToolDefinition],
    tools: &[Arc<Export>],
    tokens: usize,
) -> Option<Finding> {
    let (largest, tool) = definitions.iter().zip(tools).max_by_key(|(_, tool)| tool.tokens)?;
    let own = tool.tokens;
    (tokens > MANY_TOKENS).then(|| {
        let message = format!(
            "the definitions of all tools are about {tokens} tokens of every request, and more than {MANY_TOKENS} are \
             a lot; this one is the largest, with {own}"
        );
        together(wire, largest, message, "show a run fewer tools, or say less of each")
    })
}

fn renamed(name: &str, wire_name: &str) -> Remark {
    Remark {
        pointer: String::new(),
        severity: Severity::Note,
        message: format!("`{name}` is sent as `{wire_name}`"),
        remedy: "nothing has to be done, calls come back under its own name",
    }
}
