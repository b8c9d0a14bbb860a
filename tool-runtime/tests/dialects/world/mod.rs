//! Unmodified definitions of public packages in every dialect.
//!
//! `tests/world/PROVENANCE.md` lists their sources. The definitions in every dialect are written to
//! `target/tmp/exports`, where `tests/providers/check.py` validates them with the types of the providers' SDKs.

mod silence;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tool_runtime::{
    Registry, ToolDefinition, ToolName,
    builder::ExternalTool,
    diagnostic::{Diagnostic, Severity},
    dialect::{BoundTools, Dialect},
    registry::BuildError,
    schema::{InputSchema, OutputSchema},
};

/// One definition of a package.
struct PackageDefinition {
    source: String,
    name: String,
    description: String,
    parameters: Value,
    output: Option<Value>,
}

/// Returns all definitions, by file and line.
fn package_definitions() -> Vec<PackageDefinition> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/world/definitions");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let source = lines.next().unwrap()["source"].as_str().unwrap().to_owned();
        all.extend(lines.map(|mut line| PackageDefinition {
            source: source.clone(),
            name: line["name"].as_str().unwrap().to_owned(),
            description: line["description"].as_str().unwrap().to_owned(),
            parameters: line["parameters"].take(),
            output: line.get_mut("output").map(Value::take),
        }));
    }
    all
}

/// The results of adding the definitions to a registry.
#[derive(Default)]
struct Taken {
    tools: Vec<ToolDefinition>,
    /// Definitions with invalid names, or with the names of other sources.
    renamed: usize,
    /// The reasons for refused definitions, with their numbers.
    refused: BTreeMap<String, Vec<String>>,
}

fn taken() -> Taken {
    let mut taken = Taken::default();
    let mut names = BTreeSet::new();
    for package_tool in package_definitions() {
        let name = own_name(&package_tool, &mut names);
        taken.renamed += usize::from(name.as_str() != package_tool.name);
        let place = format!("{} `{}`", package_tool.source, package_tool.name);
        match definition(name, package_tool) {
            Ok(tool) => taken.tools.push(tool),
            Err(why) => taken.refused.entry(kind_of(&why)).or_default().push(format!("{place}: {why}")),
        }
    }
    taken
}

/// Returns the name of the definition, or a name with its source and a number if it is taken or invalid.
fn own_name(package_tool: &PackageDefinition, names: &mut BTreeSet<String>) -> ToolName {
    let valid = ToolName::new(package_tool.name.clone()).ok().filter(|name| !names.contains(name.as_str()));
    let name = valid.unwrap_or_else(|| {
        let source: String = package_tool
            .source
            .chars()
            .map(|it| if it.is_ascii_alphanumeric() { it } else { '_' })
            .take(40)
            .collect();
        ToolName::new(format!("{source}_{}", names.len())).unwrap()
    });
    names.insert(name.to_string());
    name
}

fn definition(name: ToolName, package_tool: PackageDefinition) -> Result<ToolDefinition, String> {
    let schema = InputSchema::new(package_tool.parameters).map_err(|why| why.to_string())?;
    let mut tool = ToolDefinition::new(name, package_tool.description, schema);
    if let Some(output) = package_tool.output {
        tool = tool.with_output_schema(OutputSchema::new(output).map_err(|why| why.to_string())?);
    }
    match built(std::slice::from_ref(&tool)) {
        Ok(_) => Ok(tool),
        Err(error) => Err(error.diagnostics().iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
    }
}

fn built(tools: &[ToolDefinition]) -> Result<Registry, BuildError> {
    let tools = tools.iter().map(|tool| ExternalTool::new(tool.clone()));
    tools.fold(Registry::builder(), |builder, tool| builder.add(tool)).build()
}

/// Returns `true` if the feature would accept the definition.
fn kind_of(why: &str) -> String {
    let is_uncovered = why.contains("is not covered by the built-in check");
    if is_uncovered { "not covered without `foreign-schemas`" } else { "no schema" }.to_owned()
}

// A22
#[test]
fn definitions_of_public_packages_lose_nothing_silently_in_any_dialect() {
    let taken = taken();
    let sources: BTreeSet<_> =
        package_definitions().into_iter().map(|package_tool| package_tool.source).collect();
    let refused: usize = taken.refused.values().map(Vec::len).sum();
    let covered = if cfg!(feature = "foreign-schemas") { "foreign-schemas" } else { "built-in" };
    println!(
        "{} definitions of {} packages, {} renamed, {} not taken ({covered} check)",
        taken.tools.len() + refused,
        sources.len(),
        taken.renamed,
        refused
    );
    for (kind, places) in &taken.refused {
        println!("  {}: {kind}", places.len());
        places.iter().for_each(|place| println!("    {}", place.split(';').next().unwrap_or_default()));
    }
    assert!(taken.tools.len() + refused >= 1_000 && sources.len() >= 20);

    // Rebuilt, so that no schema is compiled yet.
    let tools: Vec<_> = taken.tools.iter().map(anew).collect();
    let (registry, time) = timed(|| built(&tools).unwrap());
    println!("  registry built in {time:?}");
    for dialect in Dialect::all() {
        let (bound, first) = timed(|| dialect.bind_tools(&registry));
        let (_, again) = timed(|| dialect.bind_tools(&registry));
        let sent = sent(&bound);
        println!(
            "  {}: {} sent, {} left out and found; bound in {first:?}, again in {again:?}",
            dialect.name(),
            sent.len(),
            taken.tools.len() - sent.len()
        );
        super::accepted::accepted(dialect.name(), bound.definitions());
        let silent = silence::silent(&taken.tools, &sent, bound.diagnostics());
        assert!(silent.is_empty(), "{}: {} in silence:\n{}", dialect.name(), silent.len(), silent.join("\n"));
        write_bound(covered, dialect.name(), &registry, &bound);
    }
}

/// Valid arguments are accepted as sent, and are read back unchanged.
#[test]
fn the_smallest_arguments_of_public_packages_round_trip_through_every_dialect() {
    let mut count = 0;
    for tool in taken().tools {
        if let Some(example) = tool.example() {
            count += 1;
            super::carried::carries::<Value>(&tool, &[example.to_string()]);
        }
    }
    println!("{count} definitions with an example");
    assert!(count >= 500);
}

/// Returns a copy of the definition without cached values.
fn anew(tool: &ToolDefinition) -> ToolDefinition {
    let schema = InputSchema::new(tool.input_schema().as_value().clone()).unwrap();
    let copy = ToolDefinition::new(tool.name().clone(), tool.description().to_owned(), schema);
    match tool.output_schema() {
        Some(output) => copy.with_output_schema(OutputSchema::new(output.as_value().clone()).unwrap()),
        None => copy,
    }
}

fn timed<T>(make: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let made = make();
    (made, start.elapsed())
}

/// Returns the definition of each tool as sent, by name.
fn sent(bound: &BoundTools) -> BTreeMap<String, Value> {
    let tools = bound.definitions().as_array().unwrap().iter();
    let tools = tools.flat_map(|tool| match tool.get("functionDeclarations") {
        Some(list) => list.as_array().unwrap().iter().collect(),
        None => vec![tool.get("function").unwrap_or(tool)],
    });
    tools.map(|tool| (bound.tool_name(tool["name"].as_str().unwrap()).to_owned(), tool.clone())).collect()
}

/// Writes all tools for `check.py`; omitted tools by their names.
pub(super) fn write_bound(folder: &str, dialect: &str, registry: &Registry, bound: &BoundTools) {
    let names: Vec<_> = registry.definitions().iter().map(|tool| tool.name().as_str()).collect();
    let diagnostics = super::golden::by_tool(bound.diagnostics());
    write(folder, dialect, &json!({ "names": names, "tools": bound.definitions(), "findings": diagnostics }));
}

/// Writes a file for `check.py`.
pub(super) fn write(folder: &str, dialect: &str, export: &Value) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("exports").join(folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{dialect}.json")), export.to_string()).unwrap();
}

/// Returns `true` if a diagnostic reports that the tool is omitted.
fn is_left_out(diagnostics: &[&Diagnostic]) -> bool {
    diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
}
