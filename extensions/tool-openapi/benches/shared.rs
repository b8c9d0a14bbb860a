//! Memory of the definitions of operations that share a large schema: `cargo bench -p tool-openapi --bench shared`.
//!
//! The document has 705 kB and 1,000 operations with one schema, of which each operation has a parameter of its own. Printed are
//! the definitions as JSON, the memory that they hold after the import and with a registry, and the peak of each step.

use std::{error::Error, sync::Arc};

use allocation_counter::measure;
use serde_json::{Value, json};
use tool_openapi::{Document, OpenApiError, OpenApiToolSet};
use tool_runtime::{Dialect, Registry, Tool as _};

const OPERATIONS: usize = 1_000;
const PROPERTIES: usize = 4_400;

/// A document whose operations refer to one schema.
fn document() -> Value {
    let property = |at: usize| {
        let description =
            format!("The value of the property {at}, as the server keeps it between two updates.");
        (format!("property{at}"), json!({ "type": "string", "description": description }))
    };
    let shared = json!({ "type": "object", "properties": (0..PROPERTIES).map(property).collect::<serde_json::Map<_, _>>() });
    let operation = |at: usize| {
        let body =
            json!({ "content": { "application/json": { "schema": { "$ref": "#/components/schemas/S" } } } });
        let parameter = json!({ "name": format!("q{at}"), "in": "query" });
        (format!("/{at}"), json!({ "post": { "parameters": [parameter], "requestBody": body } }))
    };
    json!({
        "openapi": "3.1.0", "info": { "title": "Shared", "version": "1" }, "servers": [{ "url": "https://a.example" }],
        "paths": (0..OPERATIONS).map(operation).collect::<serde_json::Map<_, _>>(),
        "components": { "schemas": { "S": shared } },
    })
}

fn import(text: &str) -> Result<OpenApiToolSet, OpenApiError> {
    OpenApiToolSet::import(Document::from_text(text)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let text = document().to_string();
    println!("\nthe document has {} kB and {OPERATIONS} operations", text.len() / 1_000);
    let mega = |bytes: i64| format!("{:.1} MB", bytes as f64 / 1e6);
    let mut set = None;
    let memory = measure(|| set = Some(import(&text)));
    let set = set.ok_or("it was not measured")??;
    println!("{} tools, {} skipped operations", set.tools().len(), set.skipped().len());
    if let Some(skipped) = set.skipped().first() {
        println!("{skipped}");
    }
    println!("import:    {} kept, {} at the peak", mega(memory.bytes_current), mega(memory.bytes_max as i64));
    let mut registry = None;
    let memory = measure(|| {
        let tools = set.tools().iter().fold(Registry::builder(), |tools, it| tools.add(Arc::clone(it)));
        registry = Some(tools.build());
    });
    let registry = registry.ok_or("it was not measured")??;
    println!("registry:  {} kept, {} at the peak", mega(memory.bytes_current), mega(memory.bytes_max as i64));
    let mut bytes = 0;
    let memory = measure(|| {
        for tool in set.tools() {
            bytes += serde_json::to_string(tool.definition()).map_or(0, |it| it.len());
        }
    });
    println!("as JSON:   {} in all", mega(i64::try_from(bytes)?));
    println!("listing:   {} kept, {} at the peak", mega(memory.bytes_current), mega(memory.bytes_max as i64));
    let mut exported = 0;
    let memory = measure(|| exported = Dialect::openai_chat().bind_tools(&registry).definitions_json().len());
    println!(
        "exporting: {} at the peak, for {} of one dialect",
        mega(memory.bytes_max as i64),
        mega(i64::try_from(exported)?)
    );
    Ok(())
}
