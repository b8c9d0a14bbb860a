//! Building the copy without the mutants that do not compile.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde::Deserialize;

use crate::{
    Result,
    find::Mutant,
    tree::{self, Ranges},
};

/// A package to build and test, and its features.
const PACKAGES: &[(&str, &[&str])] = &[
    ("tool-schema", &[]),
    ("tool-core", &[]),
    ("tool-runtime", &["--features", "testing,sealed-calls"]),
    ("tool-agent", &[]),
    ("tool-cli", &[]),
    ("tool-http", &["--features", "gzip"]),
    ("tool-mcp", &[]),
    ("tool-openapi", &[]),
];

/// A line of cargo's JSON output.
#[derive(Deserialize)]
struct Line {
    reason: String,
    message: Option<Message>,
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Message {
    level: String,
    rendered: Option<String>,
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    byte_start: usize,
    is_primary: bool,
}

/// A test program and its working directory.
pub struct Program {
    pub path: PathBuf,
    pub folder: PathBuf,
}

fn cargo(tree: &Path, target: &Path, arguments: &[&str]) -> Result<Vec<Line>> {
    let output = Command::new("cargo")
        .args(arguments)
        .args(["--message-format=json", "--quiet"])
        .env("CARGO_TARGET_DIR", target)
        .current_dir(tree)
        .stderr(Stdio::inherit())
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// Writes and checks the copy until it compiles; removes mutants that do not compile from `chosen`.
pub fn viable(root: &Path, tree: &Path, target: &Path, chosen: &mut BTreeMap<usize, Mutant>) -> Result<()> {
    loop {
        let ranges = tree::write(root, tree, chosen)?;
        let mut wrong = Vec::new();
        for (package, features) in PACKAGES {
            let lines = cargo(tree, target, &[&["check", "-p", package], *features].concat())?;
            for message in lines.into_iter().filter_map(|line| line.message) {
                if message.level == "error" && !message.spans.is_empty() {
                    wrong.push(culprit(&message, &ranges).ok_or_else(|| {
                        format!("no mutant is the cause of this: {}", message.rendered.unwrap_or_default())
                    })?);
                }
            }
            if !wrong.is_empty() {
                break;
            }
        }
        if wrong.is_empty() {
            return Ok(());
        }
        chosen.retain(|number, _| !wrong.contains(number));
        eprintln!("{} mutants compile so far", chosen.len());
    }
}

/// Returns the smallest mutant around the place of an error, or else around a place that the error mentions, or else
/// the next mutant after it: for an operator, the operand on its right.
fn culprit(message: &Message, ranges: &Ranges) -> Option<usize> {
    let smallest = |span: &&Span| {
        let all = ranges.get(&span.file_name)?.iter().filter(|(_, it)| it.contains(&span.byte_start));
        all.min_by_key(|(_, range)| range.len()).map(|(number, _)| *number)
    };
    let next = |span: &&Span| {
        let after = ranges.get(&span.file_name)?.iter().filter(|(_, it)| it.start >= span.byte_start);
        after.min_by_key(|(_, range)| range.start).map(|(number, _)| *number)
    };
    let (mut spans, others): (Vec<_>, Vec<_>) = message.spans.iter().partition(|span| span.is_primary);
    spans.extend(others);
    spans.iter().find_map(smallest).or_else(|| spans.iter().find_map(next))
}

/// The test programs of the copy.
pub fn programs(tree: &Path, target: &Path) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for (package, features) in PACKAGES {
        let arguments = [&["test", "--no-run", "--lib", "--tests", "-p", package], *features].concat();
        for line in cargo(tree, target, &arguments)? {
            if let Some(Message { level, rendered: Some(text), .. }) = &line.message
                && level == "error"
            {
                eprintln!("{text}");
            }
            if let ("compiler-artifact", Some(path), Some(manifest)) =
                (line.reason.as_str(), line.executable, line.manifest_path)
            {
                let folder = manifest.parent().unwrap_or(tree).to_owned();
                programs.push(Program { path, folder });
            }
        }
    }
    // The unit tests of each package, and its programs below `tests/`.
    match programs.len() {
        built if built >= 2 * PACKAGES.len() => Ok(programs),
        built => Err(format!("{built} test programs were built, of at least {}", 2 * PACKAGES.len()).into()),
    }
}
