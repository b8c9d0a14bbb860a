//! The definition and the diagnostics of every tool of [`tools`](super::tools) in every dialect.
//!
//! `UPDATE=1` rewrites the files.

use std::{fs, path::PathBuf};

use serde_json::{Map, Value, json};
use tool_runtime::{diagnostic::Diagnostic, dialect::Dialect};

use super::tools::tools;

#[test]
fn definitions_and_findings_of_every_dialect_match_the_golden_files() {
    let tools = tools();
    let mut differing = Vec::new();
    for dialect in Dialect::all() {
        let bound = dialect.bind_tools(&tools);
        let found = json!({
            "tools": bound.definitions(),
            "findings": by_tool(bound.diagnostics()),
        });
        super::accepted::accepted(dialect.name(), bound.definitions());
        let file = golden(dialect.name());
        let found = format!("{found:#}\n");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&file, &found).unwrap();
        }
        if fs::read_to_string(&file).unwrap_or_default() != found {
            differing.push(file);
        }
    }
    assert!(differing.is_empty(), "`UPDATE=1` rewrites them: {differing:?}");
}

fn golden(dialect: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dialects/golden");
    PathBuf::from(folder).join(format!("{dialect}.json"))
}

pub(super) fn by_tool(diagnostics: &[Diagnostic]) -> Value {
    let mut all: Map<String, Value> = Map::new();
    for diagnostic in diagnostics {
        let list = all.entry(diagnostic.location.tool.clone().unwrap()).or_insert_with(|| json!([]));
        if let Value::Array(list) = list {
            list.push(diagnostic.to_string().into());
        }
    }
    Value::Object(all)
}
