//! Writes programs with many tools: with the framework, and as they are written without it.

use std::fmt::{self, Write};

/// How the functions become tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// By `#[tool]`, on a parameter list.
    Tools,
    /// By hand: an argument struct for each, which a table decodes and describes.
    ByHand,
    /// Not at all: functions and argument structs, which nobody uses.
    Unused,
}

/// The types of parameters, in turns.
const TYPES: [&str; 7] = ["i64", "String", "bool", "Option<String>", "f64", "Vec<String>", "Option<i64>"];

/// What functions return, in turns.
const RETURNS: [(&str, &str); 3] = [("i64", "7"), ("String", "String::new()"), ("bool", "true")];

/// A module of `count` functions.
///
/// # Errors
///
/// None: writing to a `String` cannot fail.
pub fn source(flavour: Flavour, count: usize) -> Result<String, fmt::Error> {
    let mut out = String::new();
    for at in 0..count {
        match flavour {
            Flavour::Tools => tool(&mut out, at)?,
            Flavour::ByHand | Flavour::Unused => by_hand(&mut out, at)?,
        }
    }
    match flavour {
        Flavour::Tools => handles(&mut out, count)?,
        Flavour::ByHand => table(&mut out, count)?,
        Flavour::Unused => {}
    }
    Ok(out)
}

/// Names and types of the parameters of the function number `at`: two to four.
fn parameters(at: usize) -> impl Iterator<Item = (String, &'static str)> {
    let types = TYPES.iter().cycle().skip(at % TYPES.len());
    types.take(2 + at % 3).enumerate().map(|(place, ty)| (format!("value_{place}"), *ty))
}

fn signature(at: usize) -> (&'static str, &'static str, &'static str) {
    let (ty, value) = RETURNS.get(at % RETURNS.len()).copied().unwrap_or_default();
    (if at.is_multiple_of(2) { "async " } else { "" }, ty, value)
}

fn tool(out: &mut String, at: usize) -> fmt::Result {
    let (asynchronous, ty, value) = signature(at);
    writeln!(out, "/// Does the work number {at} and says how it went.")?;
    writeln!(out, "#[tool]\npub {asynchronous}fn tool_{at}(")?;
    for (name, ty) in parameters(at) {
        writeln!(out, "    /// The argument `{name}` of the work.\n    {name}: {ty},")?;
    }
    writeln!(out, ") -> {ty} {{")?;
    for (name, _) in parameters(at) {
        writeln!(out, "    drop({name});")?;
    }
    writeln!(out, "    {value}\n}}\n")
}

fn by_hand(out: &mut String, at: usize) -> fmt::Result {
    let (asynchronous, ty, value) = signature(at);
    writeln!(out, "/// Does the work number {at} and says how it went.")?;
    writeln!(out, "#[derive(Deserialize, JsonSchema)]\npub struct Args{at} {{")?;
    for (name, ty) in parameters(at) {
        writeln!(out, "    /// The argument `{name}` of the work.\n    pub {name}: {ty},")?;
    }
    writeln!(out, "}}\n\npub {asynchronous}fn tool_{at}(args: Args{at}) -> {ty} {{")?;
    for (name, _) in parameters(at) {
        writeln!(out, "    drop(args.{name});")?;
    }
    writeln!(out, "    {value}\n}}\n")
}

/// A list of what adds each tool to a builder.
fn handles(out: &mut String, count: usize) -> fmt::Result {
    writeln!(out, "pub static TOOLS: &[fn(RegistryBuilder) -> RegistryBuilder] = &[")?;
    for at in 0..count {
        writeln!(out, "    RegistryBuilder::tool::<tool_{at}>,")?;
    }
    writeln!(out, "];")
}

/// A table of what describes and calls each function.
fn table(out: &mut String, count: usize) -> fmt::Result {
    writeln!(out, "pub static TOOLS: &[(&str, fn() -> Schema, for<'a> fn(&'a str) -> Answer<'a>)] = &[")?;
    for at in 0..count {
        let wait = if signature(at).0.is_empty() { "" } else { ".await" };
        writeln!(out, "    (\"tool_{at}\", || schemars::schema_for!(Args{at}), |text| {{")?;
        writeln!(
            out,
            "        Box::pin(async move {{ serde_json::to_vec(&tool_{at}(serde_json::from_str(text)?){wait}) }})"
        )?;
        writeln!(out, "    }}),")?;
    }
    writeln!(out, "];")
}
