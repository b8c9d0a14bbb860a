//! Tools with all kinds of arguments, for the golden files.

use std::collections::BTreeMap;

use serde_json::Value;
use tool_runtime::{
    Registry, ToolDefinition, ToolName,
    builder::ExternalTool,
    schema::{InputSchema, OutputSchema},
    schemars::JsonSchema,
    tool_args,
};

#[tool_args]
struct Nothing {}

#[tool_args]
struct Plain {
    /// The city.
    city: String,
    /// `true` if it is warm.
    warm: bool,
    share: f64,
    count: i32,
}

#[tool_args]
struct Options {
    name: String,
    /// Only so many
    most: Option<u8>,
    #[serde(default)]
    tags: Vec<String>,
    nested: Option<Inner>,
}

#[tool_args]
struct Inner {
    x: Option<i64>,
}

#[tool_args]
struct TwiceOptional {
    #[serde(default)]
    of: Option<Option<u8>>,
}

#[tool_args]
struct Ranges {
    /// Days ahead.
    #[schemars(range(min = 1, max = 14))]
    days: u8,
    #[schemars(extend("exclusiveMinimum" = 0.5, "multipleOf" = 0.25))]
    ratio: f64,
}

#[tool_args]
struct Texts {
    /// A code
    #[schemars(length(min = 2, max = 3), regex(pattern = "^[a-z]{2,3}$"))]
    code: String,
    #[schemars(url)]
    link: String,
    #[schemars(email)]
    mail: String,
}

#[tool_args]
struct Lists {
    #[schemars(length(min = 1))]
    some: Vec<u8>,
    set: std::collections::BTreeSet<String>,
    maybe: Vec<Option<bool>>,
}

#[tool_args]
struct Tuples {
    pair: (u8, String),
    same: [f64; 3],
}

#[tool_args]
struct Maps {
    by_name: BTreeMap<String, u8>,
}

#[tool_args]
struct MapOfNumbers {
    by_number: BTreeMap<u8, Inner>,
}

#[tool_args]
struct AnyValue {
    value: Value,
}

#[tool_args]
#[serde(rename_all = "lowercase")]
enum Unit {
    /// Degrees.
    Celsius,
    Fahrenheit,
}

#[tool_args]
struct Units {
    /// In which unit
    unit: Unit,
    other: Option<Unit>,
    listed: Vec<Option<Unit>>,
}

#[tool_args]
enum External {
    Unit,
    Newtype(u8),
    Tuple(u8, String),
    Struct { a: u8, b: Option<String> },
}

#[tool_args]
#[serde(tag = "kind")]
enum Internal {
    Empty,
    /// With a body.
    Full {
        body: String,
        note: Option<String>,
    },
}

#[tool_args]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Unit,
    Newtype(u8),
    Struct { a: Option<u8> },
}

#[tool_args]
#[serde(untagged)]
enum Untagged {
    Number(u8),
    Text(String),
    Struct { a: u8, b: Option<String> },
}

#[tool_args]
struct In<T> {
    /// The topic.
    value: T,
}

#[tool_args]
struct Tree {
    name: String,
    #[serde(default)]
    children: Vec<Tree>,
}

#[tool_args]
struct Linked {
    head: u8,
    /// The next node.
    rest: Option<Box<Linked>>,
}

#[tool_args]
struct Page {
    from: u32,
    #[serde(default)]
    size: Option<u32>,
}

#[tool_args]
struct Flattened {
    query: String,
    #[serde(flatten)]
    page: Page,
}

#[tool_args]
struct FlattenedEnum {
    id: String,
    #[serde(flatten)]
    action: Internal,
}

#[tool_args]
struct Defaults {
    /// The count
    #[serde(default = "three")]
    count: u8,
    #[schemars(example = &"Paris", example = &"Rome")]
    city: String,
}

fn three() -> u8 {
    3
}

#[tool_args]
struct OddNames {
    #[serde(rename = "filter[name]")]
    filter: String,
    #[serde(rename = "größe")]
    size: Option<u8>,
}

/// Returns a definition with arguments of type `T`.
fn of<T: JsonSchema>(name: &'static str) -> ToolDefinition {
    let schema = InputSchema::of::<T>().unwrap();
    ToolDefinition::new(ToolName::new(name).unwrap(), format!("Takes {name}."), schema)
}

fn by_hand(name: &'static str, schema: Value) -> ToolDefinition {
    ToolDefinition::new(ToolName::new(name).unwrap(), "Written by hand.", InputSchema::new(schema).unwrap())
}

/// All of them.
pub(super) fn tools() -> Registry {
    let open = serde_json::json!({
        "type": "object",
        "properties": {
            "list": { "type": "array", "items": { "type": "string", "not": { "const": "x" } } },
            "always": { "const": true },
            "level": { "enum": [1, 2, 3] },
        },
        "required": ["list"],
    });
    let definitions = [
        of::<Nothing>("nothing"),
        of::<Plain>("plain").with_output_schema(OutputSchema::of::<Vec<Inner>>()),
        of::<Options>("options").with_output_schema(OutputSchema::of::<Inner>()),
        of::<TwiceOptional>("twice_optional"),
        of::<Ranges>("ranges"),
        of::<Texts>("texts"),
        of::<Lists>("lists"),
        of::<Tuples>("tuples"),
        of::<Maps>("maps"),
        of::<MapOfNumbers>("map_of_numbers"),
        of::<AnyValue>("any_value"),
        of::<Units>("units"),
        of::<In<External>>("external"),
        of::<Internal>("internal"),
        of::<In<Internal>>("internal_inside"),
        of::<In<Adjacent>>("adjacent"),
        of::<In<Untagged>>("untagged"),
        of::<Tree>("tree"),
        of::<In<Option<Tree>>>("tree_inside"),
        of::<Linked>("linked"),
        of::<Flattened>("flattened"),
        of::<FlattenedEnum>("flattened_enum"),
        of::<Defaults>("defaults"),
        of::<OddNames>("odd_names"),
        by_hand("open", open),
    ];
    let tools = definitions.into_iter().map(ExternalTool::new);
    tools.fold(Registry::builder(), |builder, tool| builder.add(tool)).build().unwrap()
}
