//! The cost of binding a thousand tools to each dialect (first, again without a change, and again after the registry
//! was rebuilt from the same tools), and of linting them.
//!
//! Half of the tools are generated functions, half are built at run time like the tools of remote servers.

use std::{
    error::Error,
    hint::black_box,
    time::{Duration, Instant},
};

use tool_runtime::{
    Registry, ToolDefinition, ToolName,
    builder::ExternalTool,
    dialect::{Dialect, lint},
    pin::Pins,
    registry::BuildError,
    schema::InputSchema,
    serde_json::json,
};

#[allow(missing_docs, unreachable_pub, dropping_copy_types, reason = "generated")]
mod tools {
    use tool_runtime::{registry::RegistryBuilder, tool};

    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
}

const TOOLS: usize = 1_000;

/// The number of runs of each measurement; the fastest counts.
const TIMES: usize = 7;

/// Creates a tool like those that a remote server lists.
fn listed(at: usize) -> Result<ExternalTool, Box<dyn Error>> {
    let schema = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "description": format!("What to look for in table {at}."), "minLength": 1 },
            "limit": { "type": ["integer", "null"], "minimum": 1, "maximum": 100, "default": 10 },
            "order": { "enum": ["newest", "oldest", "largest"], "description": "Which come first." },
            "within": { "type": "array", "items": { "oneOf": [
                { "type": "object", "properties": { "from": { "type": "string", "format": "date" } }, "required": ["from"] },
                { "type": "object", "properties": { "to": { "type": "string", "format": "date" } }, "required": ["to"] },
            ]}},
        },
        "required": ["query"],
        "additionalProperties": false,
    });
    let name = ToolName::new(format!("search_{at}"))?;
    let description =
        format!("Searches table {at} for the rows that hold all of the given words, in any order.");
    Ok(ExternalTool::new(ToolDefinition::new(name, description, InputSchema::new(schema)?)))
}

fn registry() -> Result<Registry, Box<dyn Error>> {
    let builder = tools::TOOLS.iter().take(TOOLS / 2).fold(Registry::builder(), |builder, add| add(builder));
    let listed = (0..TOOLS / 2).map(listed).collect::<Result<Vec<_>, _>>()?;
    let built: Result<_, BuildError> =
        listed.into_iter().fold(builder, |builder, tool| builder.add(tool)).build();
    Ok(built?)
}

/// Returns the time of `work` on a value of `make`, without the time of `make`.
fn fastest<T, R>(
    make: impl Fn() -> Result<T, Box<dyn Error>>,
    work: impl Fn(&T) -> R,
) -> Result<Duration, Box<dyn Error>> {
    let mut all = Vec::new();
    for _ in 0..TIMES {
        let made = make()?;
        let start = Instant::now();
        black_box(work(black_box(&made)));
        all.push(start.elapsed());
    }
    Ok(all.into_iter().min().unwrap_or_default())
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{TOOLS} tools in each dialect\n");
    println!("{:<24} {:>12} {:>12} {:>12} {:>10}", "", "first", "again", "built anew", "tokens");
    let same = registry()?;
    for dialect in Dialect::all() {
        let name = dialect.name();
        // A registry that has not been bound before.
        let fresh = || Ok((Dialect::all().into_iter().find(|it| it.name() == name), registry()?));
        let first =
            fastest(fresh, |(dialect, tools)| dialect.as_ref().map(|dialect| dialect.bind_tools(tools)))?;
        let bound = dialect.bind_tools(&same);
        let again = fastest(|| Ok(()), |()| dialect.bind_tools(&same))?;
        let anew = fastest(registry, |anew| dialect.bind_tools(anew))?;
        let [first, again, anew] = [first, again, anew].map(millis);
        println!("{name:<24} {first:>12} {again:>12} {anew:>12} {:>10}", bound.estimated_tokens());
    }
    let pins = Pins::of(&same);
    println!("\n{:<24} {:>12}", "lint, in all dialects", millis(fastest(registry, lint)?));
    println!("{:<24} {:>12}", "pins, checked", millis(fastest(registry, |tools| pins.check(tools))?));
    Ok(())
}

fn millis(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1e3)
}
