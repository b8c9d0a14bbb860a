//! Time and memory of the import of the three largest public documents: `cargo bench -p tool-openapi --bench import`.
//!
//! `.ci/openapi/fetch` fetches the documents; their folder is `TOOL_OPENAPI_DOCUMENTS`, or else the one that it prints. Fails
//! if the import of GitHub's document takes more than 5 seconds, or its tools hold more than 64 MB afterwards.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use allocation_counter::measure;
use serde_json::Value;
use tool_openapi::{Document, OpenApiError, OpenApiToolSet};
use tool_runtime::Tool as _;

/// The limits of GitHub's document.
const LONGEST: Duration = Duration::from_secs(5);
const MOST_KEPT: i64 = 64_000_000;

fn folder() -> PathBuf {
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/openapi/documents");
    env::var_os("TOOL_OPENAPI_DOCUMENTS").map_or(fetched, PathBuf::from)
}

/// The name, the file and the number of operations of a document.
type Sample = (String, PathBuf, u64);

/// The three largest documents.
fn largest() -> Result<Vec<Sample>, Box<dyn Error>> {
    let folder = folder();
    let index =
        fs::read(folder.join("index.json")).map_err(|error| format!("{error}; run .ci/openapi/fetch"))?;
    let mut all: Vec<Value> = serde_json::from_slice(&index)?;
    all.retain(|it| it.get("folders").is_none());
    all.sort_by_key(|it| std::cmp::Reverse(it["bytes"].as_u64()));
    let text = |it: &Value, key: &str| it[key].as_str().unwrap_or_default().to_owned();
    let of = |it: &Value| {
        (text(it, "name"), folder.join(text(it, "file")), it["operations"].as_u64().unwrap_or(0))
    };
    Ok(all.iter().take(3).map(of).collect())
}

fn import(path: &Path) -> Result<OpenApiToolSet, OpenApiError> {
    OpenApiToolSet::builder(Document::from_file(path)?).base_url("https://api.example").build()
}

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "\n{:<12} {:>10} {:>6} {:>9} {:>12} {:>12} {:>12}",
        "document", "operations", "tools", "time", "peak", "kept", "with outputs"
    );
    let mega = |bytes: i64| format!("{:.1} MB", bytes as f64 / 1e6);
    for (name, path, operations) in largest()? {
        let (mut set, mut took) = (None, Duration::ZERO);
        let memory = measure(|| {
            let began = Instant::now();
            set = Some(import(&path));
            took = began.elapsed();
        });
        let set = set.ok_or("no import")??;
        // Output schemas are made at first use.
        let outputs = measure(|| {
            for tool in set.tools() {
                let _ = tool.definition().output_schema().map(|it| it.as_value());
            }
        });
        println!(
            "{name:<12} {operations:>10} {:>6} {:>7.2} s {:>12} {:>12} {:>12}",
            set.tools().len(),
            took.as_secs_f64(),
            mega(i64::try_from(memory.bytes_max)?),
            mega(memory.bytes_current),
            mega(memory.bytes_current + outputs.bytes_current),
        );
        if name == "github" && (took > LONGEST || memory.bytes_current > MOST_KEPT) {
            return Err(format!("the limits are {LONGEST:?} and {}", mega(MOST_KEPT)).into());
        }
    }
    Ok(())
}
