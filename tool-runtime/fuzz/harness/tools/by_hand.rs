//! Hand-written schemas and implementations of `Tool`.

use std::{collections::BTreeMap, fmt};

use tool_runtime::{
    Tool, ToolDefinition, ToolName,
    definition::Prepared,
    prelude::*,
    schema::{Arguments, InputSchema},
    serde_json::{self, Map, Number, Value},
    tool, tool_args,
};

use super::{Case, ran};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new::<Alike>(b'v', "combined", |it| it.tool::<combined>()),
        Case::new::<Sized>(b'w', "sized", |it| it.tool::<sized>()).narrow(),
        Case::new::<Sent>(b'x', "decoding", |it| it.add(ByHand::new("decoding", true))),
        Case::new::<Sent>(b'y', "unheld", |it| it.add(ByHand::new("unheld", false))),
        Case::new::<Sent>(b'z', "closure", |it| {
            it.add(
                ToolBuilder::new("closure")
                    .expect_handler(|args: Sent, _cx| async move { Ok::<_, ToolError>(ran(&args)) }),
            )
        }),
        Case::new::<Struct>(b'A', "struct_tool", |it| it.tool::<Struct>()),
    ]
}

/// Takes what a schema with all combinators admits.
#[tool(register = false, input_schema = json!({
    "type": "object",
    "properties": {
        "kind": { "enum": ["a", "b", 1, null, [1.0, { "x": 2 }]] },
        "n": { "type": "integer", "multipleOf": 3, "exclusiveMaximum": 1e18 },
        "list": {
            "contains": { "const": 1 },
            "maxContains": 2,
            "items": { "type": ["integer", "string", "array"] },
            "uniqueItems": true
        },
        "tuple": { "prefixItems": [{ "type": "integer" }, { "minLength": 2 }], "items": false },
        "self": { "$ref": "#" },
        "any": { "anyOf": [{ "type": "integer" }, { "type": "string", "pattern": "^[a-z]+$" }] },
        "one": { "oneOf": [{ "multipleOf": 2 }, { "multipleOf": 3 }, { "type": "null" }] }
    },
    "patternProperties": { "^x-": { "type": "integer" }, "y$": { "minimum": 2 } },
    "propertyNames": { "maxLength": 8 },
    "dependentRequired": { "list": ["kind"] },
    "dependentSchemas": { "one": { "required": ["any"] } },
    "allOf": [{ "minProperties": 1 }, { "anyOf": [{ "required": ["n"] }, { "required": ["kind"] }] }],
    "not": { "required": ["kind", "forbidden"] },
    "if": { "properties": { "kind": { "const": "a" } }, "required": ["kind"] },
    "then": { "required": ["n"] },
    "else": { "properties": { "n": { "maximum": 9 } } }
}))]
fn combined(#[args] args: Alike) -> String {
    ran(&args)
}

/// Any object, shown in a normalized form.
#[tool_args]
struct Alike(Map<String, Value>);

impl fmt::Debug for Alike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&alike(&Value::Object(self.0.clone())), f)
    }
}

/// Normalizes a value: `null` properties are dropped, and a float without a fraction becomes an integer.
fn alike(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e19 => {
                Number::from_i128(float as i128).map_or(Value::Null, Value::Number)
            }
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(alike).collect(),
        Value::Object(map) => {
            let present = map.iter().filter(|(_, value)| !value.is_null());
            present.map(|(name, value)| (name.clone(), alike(value))).collect()
        }
        other => other.clone(),
    }
}

#[tool_args]
#[derive(Debug)]
struct Sized {
    n: u8,
    list: Option<Vec<i8>>,
    map: Option<BTreeMap<u8, Option<i64>>>,
}

/// Takes less than its schema says.
#[tool(register = false, input_schema = json!({
    "properties": {
        "n": { "type": "integer" },
        "list": { "type": "array" },
        "map": { "additionalProperties": { "type": ["integer", "null"] } }
    },
    "required": ["n"]
}))]
fn sized(n: u8, list: Option<Vec<i8>>, map: Option<BTreeMap<u8, Option<i64>>>) -> String {
    ran(&Sized { n, list, map })
}

#[tool_args]
#[derive(Debug)]
struct Sent {
    text: String,
    #[schemars(range(min = -5, max = 5))]
    number: Option<i64>,
    parts: Vec<Part>,
}

#[tool_args]
#[derive(Debug)]
struct Part {
    id: u64,
    #[serde(default)]
    tags: BTreeMap<String, f64>,
}

/// A tool without the attribute.
struct ByHand {
    definition: ToolDefinition,
    holds: bool,
}

impl ByHand {
    fn new(name: &'static str, holds: bool) -> Self {
        let schema = InputSchema::of::<Sent>().unwrap();
        let definition = ToolDefinition::new(ToolName::new(name).unwrap(), "Is written by hand.", schema);
        Self { definition, holds }
    }
}

impl Tool for ByHand {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, mut arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let sent: Sent = if self.holds {
            self.definition.decode(&mut arguments)?
        } else {
            // Callers validate the arguments before they run the tool.
            serde_json::from_str(arguments.as_str()).expect("arguments that were checked")
        };
        Ok(Prepared::new(arguments, |_, _| Box::pin(async move { Ok(ToolOutput::from(ran(&sent))) })))
    }

    fn holds_arguments(&self) -> bool {
        self.holds
    }
}

/// Is a struct.
#[tool(register = false, name = "struct_tool")]
#[derive(Debug)]
struct Struct {
    a: i64,
    #[serde(default)]
    b: Option<u32>,
    c: Option<Vec<Struct2>>,
}

#[tool_args]
#[derive(Debug)]
#[serde(rename_all = "camelCase")]
struct Struct2 {
    first_name: String,
    #[serde(default)]
    is_old: bool,
}

impl Run for Struct {
    type Output = String;

    async fn run(self, _cx: &ToolContext) -> String {
        ran(&self)
    }
}
