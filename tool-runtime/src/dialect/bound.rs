//! The tools of a registry in a dialect.

use std::{borrow::Cow, collections::HashMap, fmt, sync::Arc};

use foldhash::fast::FixedState;
use serde::{Deserialize, Deserializer, de::MapAccess};
use serde_json::{Value, value::RawValue};
use tool_core::{Arguments, ContentHash, ToolDefinition};

use super::{
    Assembler, DialectError, Finding, Severity,
    error::At,
    names::Names,
    schema::{Carried, Remark, carry},
    wire::{Definition, Wire},
};
use crate::{Registry, ToolCall, ToolResult};

/// The tools of a registry in a [`Dialect`](super::Dialect). Cheap to clone.
#[derive(Clone)]
pub struct Bound {
    wire: Wire,
    exports: Arc<Exports>,
}

/// What a registry is in a dialect; made once.
pub(super) struct Exports {
    of: ContentHash,
    tools: Vec<Arc<Export>>,
    by_name: HashMap<String, usize, FixedState>,
    names: Names,
    definitions: Value,
    findings: Vec<Finding>,
}

/// What one tool is in a dialect.
struct Export {
    of: ContentHash,
    wire_name: String,
    /// `None` where it cannot be sent.
    definition: Option<Value>,
    /// The one argument that holds all others, where there is one.
    within: Option<String>,
    findings: Vec<Finding>,
    output: OutputForm,
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
            let same = known.filter(|it| it.of == definition.content_hash() && it.wire_name == wire_name);
            same.map_or_else(|| Arc::new(Export::new(wire, definition, wire_name)), Arc::clone)
        };
        let tools: Vec<_> = definitions.iter().map(export).collect();
        let by_name = definitions.iter().enumerate().map(|(at, it)| (it.name().to_string(), at)).collect();
        let sent = tools.iter().filter_map(|tool| tool.definition.clone()).collect();
        let mut findings: Vec<_> = tools.iter().flat_map(|tool| tool.findings.iter().cloned()).collect();
        findings.extend(too_many(wire, registry.definitions(), native.len()));
        let definitions = wire.tools(sent, native);
        Self { of: registry.content_hash(), tools, by_name, names, definitions, findings }
    }

    pub(super) fn is_of(&self, registry: &Registry) -> bool {
        self.of == registry.content_hash()
    }

    fn export(&self, name: &str) -> Option<&Arc<Export>> {
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
        remarks.extend(too_long(wire, definition.description()));
        let (form, output) = wire.output(definition);
        let within = carried.as_ref().and_then(|(carried, _)| carried.within.clone());
        let written = carried.map(|(carried, strict)| {
            let (parameters, name) = (carried.schema, wire_name);
            wire.definition(Definition { name, of: definition, parameters, strict, output })
        });
        let findings = remarks.into_iter().map(finding).collect();
        let (of, wire_name) = (definition.content_hash(), wire_name.to_owned());
        Self { of, wire_name, definition: written, within, findings, output: form }
    }
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
    let (_, most) = wire.limits()?;
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
fn too_many(wire: Wire, tools: &[ToolDefinition], native: usize) -> Option<Finding> {
    let (most, _) = wire.limits()?;
    let count = tools.len() + native;
    let first = tools.get(most.saturating_sub(native)).filter(|_| count > most)?;
    Some(Finding {
        tool: first.name().to_string(),
        dialect: wire.name(),
        pointer: String::new(),
        severity: Severity::Warning,
        message: format!("there are {count} tools; a request with more than {most} is refused"),
        remedy: "show a run fewer of them".to_owned(),
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

impl Bound {
    pub(super) fn new(wire: Wire, exports: Arc<Exports>) -> Self {
        Self { wire, exports }
    }

    /// The tools as the provider wants them in a request, sorted by name; those of the provider's own come after.
    #[must_use]
    pub fn definitions(&self) -> &Value {
        &self.exports.definitions
    }

    /// Puts the tools into a request, after those that it has.
    ///
    /// # Errors
    ///
    /// If the request is no object, or its `tools` are no list.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tool_runtime::{dialect::Dialect, prelude::*};
    /// # /// Adds.
    /// # #[tool]
    /// # fn add(a: i64, b: i64) -> i64 { a + b }
    /// let tools = Registry::builder().tool::<add>().build()?;
    /// let mut request = json!({ "model": "claude", "messages": [] });
    /// Dialect::anthropic().bind(&tools).pack(&mut request)?;
    /// assert_eq!(request["tools"][0]["name"], "add");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pack(&self, request: &mut Value) -> Result<(), DialectError> {
        let at = At::root(request);
        let tools = at.object()?.field("tools");
        if tools.value().is_some() {
            tools.items()?;
        }
        if let (Value::Object(fields), Value::Array(own)) = (request, self.definitions())
            && !own.is_empty()
        {
            let before = fields.remove("tools").and_then(|tools| match tools {
                Value::Array(tools) => Some(tools),
                _ => None,
            });
            let all = before.into_iter().flatten().chain(own.iter().cloned()).collect();
            fields.insert("tools".to_owned(), Value::Array(all));
        }
        Ok(())
    }

    /// What the dialect changed in the tools, and what it cannot carry.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.exports.findings
    }

    /// The calls of a whole response, in the order of the response.
    ///
    /// A call whose arguments are no JSON, or whose tool is unknown, is a call like any other: what is
    /// wrong with it is found when it is made, and told to the model.
    ///
    /// # Errors
    ///
    /// If the response is not of the provider's shape.
    pub fn calls(&self, response: &Value) -> Result<Vec<ToolCall>, DialectError> {
        self.wire.calls(self, response)
    }

    /// Puts calls together from the events of a streamed response.
    pub fn assembler(&self) -> Assembler {
        Assembler::new(self.clone())
    }

    /// The answers, as the messages to be added to the next request, in the order of `results`:
    ///
    /// - OpenAI, chat completions: a list of messages; pictures and sounds are in one of the user's after them.
    /// - OpenAI, responses: a list of input items.
    /// - Anthropic: one message. Gemini: one content.
    /// - MCP: a list of results, one for each call.
    #[must_use]
    pub fn results(&self, results: &[ToolResult]) -> Value {
        self.wire.results(self, results)
    }

    /// The name by which the provider knows a tool.
    #[must_use]
    pub fn wire_name<'n>(&'n self, tool: &'n str) -> &'n str {
        self.exports.names.wire(tool)
    }

    /// The tool that the provider knows by a name; a name that is of none stays as it is.
    #[must_use]
    pub fn tool_name<'n>(&'n self, wire_name: &'n str) -> &'n str {
        self.exports.names.own(wire_name)
    }

    pub(super) fn wire(&self) -> Wire {
        self.wire
    }

    pub(super) fn output_form(&self, tool: &str) -> OutputForm {
        self.exports.export(tool).map_or(OutputForm::Unsaid, |it| it.output)
    }

    /// One call, under the tool's own name and with its own arguments.
    pub(super) fn call(&self, id: Option<&str>, wire_name: &str, arguments: Arguments<'static>) -> ToolCall {
        let name = self.tool_name(wire_name);
        let within = self.exports.export(name).and_then(|it| it.within.as_deref());
        let arguments = match within.and_then(|within| held(arguments.as_str(), within)) {
            Some(held) => held.into(),
            None => arguments,
        };
        ToolCall::new(name, arguments).with_id(id.unwrap_or_default())
    }
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound")
            .field("dialect", &self.wire.name())
            .field("tools", &self.exports.tools.len())
            .finish()
    }
}

/// What the only argument holds, if it is `within`, as it was written.
fn held(arguments: &str, within: &str) -> Option<String> {
    let Only(name, held) = serde_json::from_str(arguments).ok()?;
    (name == within).then(|| held.get().to_owned())
}

/// An object with one property.
struct Only<'a>(Cow<'a, str>, &'a RawValue);

impl<'de> Deserialize<'de> for Only<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Only<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with one property")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Only<'de>, A::Error> {
                let first = map.next_entry::<String, &'de RawValue>()?;
                let second = map.next_key::<String>()?;
                let only = first.filter(|_| second.is_none());
                let (name, held) = only.ok_or_else(|| serde::de::Error::custom("not one property"))?;
                Ok(Only(Cow::Owned(name), held))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}
