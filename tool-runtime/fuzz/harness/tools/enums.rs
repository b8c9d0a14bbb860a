//! Argument structs, and enums in all representations.

use tool_runtime::{serde_json::Value, tool, tool_args};

use super::{Case, ran};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new::<Nested>(b'g', "nested", |it| it.tool::<nested>())
            .with_other_names(&[("units", "unit"), ("latitude", "lat")]),
        Case::new::<External>(b'h', "external", |it| it.tool::<external>()),
        Case::new::<Internal>(b'i', "internal", |it| it.tool::<internal>())
            .with_other_names(&[("r", "radius")]),
        Case::new::<Adjacent>(b'j', "adjacent", |it| it.tool::<adjacent>()),
        Case::new::<Untagged>(b'k', "untagged", |it| it.tool::<untagged>()),
        Case::new::<Flattened>(b'l', "flattened", |it| it.tool::<flattened>())
            .with_other_names(&[("p", "page")]),
        Case::new::<Command>(b'm', "command", |it| it.tool::<command>()),
    ]
}

#[tool_args]
#[derive(Debug)]
enum Unit {
    /// As Celsius had it.
    Celsius,
    Fahrenheit,
    #[serde(rename = "K", alias = "Kelvin")]
    Kelvin,
}

#[tool_args]
#[derive(Debug)]
struct Point {
    #[serde(alias = "latitude")]
    #[schemars(range(min = -90, max = 90))]
    lat: f64,
    lon: f64,
    #[schemars(extend("multipleOf" = 0.5))]
    height: Option<f64>,
}

#[tool_args]
#[derive(Debug)]
struct Nested {
    #[schemars(length(min = 1))]
    city: String,
    #[serde(alias = "units")]
    unit: Option<Unit>,
    #[schemars(range(min = 1, max = 14))]
    #[serde(default = "three")]
    days: u8,
    #[serde(default)]
    #[schemars(length(max = 5))]
    points: Vec<Point>,
    area: Option<Box<(Point, Point)>>,
}

fn three() -> u8 {
    3
}

/// Takes nested structs.
#[tool(register = false)]
fn nested(#[args] args: Nested) -> String {
    ran(&args)
}

#[tool_args]
#[derive(Debug)]
enum Shape {
    Point,
    Circle(f64),
    Line(i8, i8),
    Box { width: u8, height: Option<u8> },
    Named(Option<String>),
    Units(Vec<Unit>),
}

#[tool_args]
#[derive(Debug)]
struct External {
    shape: Shape,
    #[serde(default)]
    more: Vec<Shape>,
    unit: Option<Unit>,
}

/// Takes externally tagged enums.
#[tool(register = false)]
fn external(#[args] args: External) -> String {
    ran(&args)
}

#[tool_args]
#[derive(Debug)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Kind {
    Nothing,
    Circle {
        #[serde(alias = "r")]
        radius: i64,
    },
    Place(Point),
    Text {
        text: Option<String>,
        #[serde(default)]
        numbers: Vec<u16>,
        wide: Option<i64>,
    },
}

#[tool_args]
#[derive(Debug)]
struct Internal {
    kind: Kind,
    kinds: Option<Vec<Kind>>,
}

/// Takes internally tagged enums.
#[tool(register = false)]
fn internal(#[args] args: Internal) -> String {
    ran(&args)
}

#[tool_args]
#[derive(Debug)]
#[serde(tag = "t", content = "c")]
enum Message {
    Quit,
    Move { x: i32, y: Option<i32> },
    Write(String),
    Color(u8, u8, u8),
    Any(Value),
}

#[tool_args]
#[derive(Debug)]
struct Adjacent {
    message: Message,
    later: Option<Box<Message>>,
}

/// Takes adjacently tagged enums.
#[tool(register = false)]
fn adjacent(#[args] args: Adjacent) -> String {
    ran(&args)
}

#[tool_args]
#[derive(Debug)]
#[serde(untagged)]
enum Anything {
    Flag(bool),
    Count(i64),
    Share(f64),
    Text(String),
    Range { from: u8, to: Option<u8> },
    List(Vec<Anything>),
    Nothing(()),
}

#[tool_args]
#[derive(Debug)]
struct Untagged {
    id: Anything,
    #[serde(default)]
    ids: Vec<Anything>,
}

/// Takes untagged enums.
#[tool(register = false)]
fn untagged(#[args] args: Untagged) -> String {
    ran(&args)
}

#[tool_args]
#[derive(Debug)]
struct Page {
    #[serde(alias = "p", default)]
    page: u32,
    size: Option<u8>,
}

#[tool_args]
#[derive(Debug)]
#[serde(tag = "by")]
enum Order {
    Name,
    Distance { from: i32 },
}

#[tool_args]
#[derive(Debug)]
struct Flattened {
    query: String,
    #[serde(flatten)]
    page: Page,
    #[serde(flatten)]
    order: Order,
    limit: Option<f64>,
}

/// Takes flattened structs and enums.
#[tool(register = false)]
fn flattened(#[args] args: Flattened) -> String {
    ran(&args)
}

#[tool_args]
#[derive(Debug)]
#[serde(tag = "command")]
enum Command {
    Start { name: String, after: Option<u32> },
    Stop,
    Move(Page),
}

/// Takes an enum as its arguments.
#[tool(register = false)]
fn command(#[args] args: Command) -> String {
    ran(&args)
}
