//! Generates programs with many tools, with and without the framework.

use std::fmt::{self, Write};

/// The form of the generated tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// Functions with `#[tool]`.
    Tools,
    /// Hand-written tools: an argument struct each, decoded and described by a table.
    ByHand,
    /// No tools: functions and argument structs that are not used.
    Unused,
}

/// The types of parameters, used in turn.
const TYPES: [&str; 7] = ["i64", "String", "bool", "Option<String>", "f64", "Vec<String>", "Option<i64>"];

/// The return types of functions, used in turn.
const RETURNS: [(&str, &str); 3] = [("i64", "7"), ("String", "String::new()"), ("bool", "true")];

/// Returns the source of a module of `count` functions.
///
/// # Errors
///
/// Never returns an error: writing to a `String` cannot fail.
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

/// Returns the names and types of the two to four parameters of function number `at`.
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

/// Writes a list of functions, each of which adds a tool to a builder.
fn handles(out: &mut String, count: usize) -> fmt::Result {
    writeln!(out, "pub static TOOLS: &[fn(RegistryBuilder) -> RegistryBuilder] = &[")?;
    for at in 0..count {
        writeln!(out, "    RegistryBuilder::tool::<tool_{at}>,")?;
    }
    writeln!(out, "];")
}

/// Writes a table with the description and the dispatch of each function.
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
