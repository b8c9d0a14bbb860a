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

/// The packages to build and test, with the features of `.ci/steps.sh` and those of the commands and of `genai`. Packages of examples test
/// the commands.
const SELECTION: &[&str] = &[
    "--workspace",
    "--exclude=ui-tests",
    "--exclude=benches",
    "--exclude=tool-core-doc-tests",
    "--features=tool-runtime/foreign-schemas,tool-runtime/sealed-calls,tool-runtime/opentelemetry,tool-runtime/testing,tool-runtime/url-rules",
    "--features=tool-agent/opentelemetry,tool-agent/genai,tool-agent/cli,tool-agent/artifacts,tool-agent/chat-store,tool-agent/skills",
    "--features=tool-mcp/opentelemetry,tool-mcp/auth,tool-mcp/cli,tool-mcp/postgres,tool-openapi/cli",
    "--features=tool-session/cli,tool-session/sqlite,tool-session/postgres,tool-session/artifacts,tool-session/tools",
    "--features=tool-builtins/files,tool-builtins/shell,tool-builtins/code,tool-builtins/command-policy,tool-builtins/web",
    "--features=tool-builtins/todo,tool-builtins/agent,tool-builtins/tool-search,tool-builtins/embeddings,code-agent/program",
    "--features=tool-kit/agent,tool-kit/cli,tool-kit/mcp,tool-kit/session",
    "--features=tool-fleet/artifacts,tool-fleet/cli,tool-fleet/nats,tool-fleet/opentelemetry,tool-fleet/postgres",
];

/// The lowest number of test programs that a complete build consists of.
const MIN_PROGRAMS: usize = 16;

/// A line of cargo's JSON output.
#[derive(Deserialize)]
struct Line {
    reason: String,
    message: Option<Message>,
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
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

fn run_cargo(tree: &Path, target: &Path, arguments: &[&str]) -> Result<Vec<Line>> {
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
pub fn remove_uncompilable(
    root: &Path,
    tree: &Path,
    target: &Path,
    chosen: &mut BTreeMap<usize, Mutant>,
) -> Result<()> {
    loop {
        let ranges = tree::write_copy(root, tree, chosen)?;
        let mut wrong = Vec::new();
        let lines = run_cargo(tree, target, &[&["check", "--keep-going"], SELECTION].concat())?;
        for message in lines.into_iter().filter_map(|line| line.message) {
            if message.level == "error" && !message.spans.is_empty() {
                wrong.push(find_culprit(&message, &ranges).ok_or_else(|| {
                    format!("no mutant is the cause of this: {}", message.rendered.unwrap_or_default())
                })?);
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
fn find_culprit(message: &Message, ranges: &Ranges) -> Option<usize> {
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

/// Builds the test programs of the copy.
pub fn build_programs(tree: &Path, target: &Path) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for line in run_cargo(tree, target, &[&["test", "--no-run", "--lib", "--tests"], SELECTION].concat())? {
        if let Some(Message { level, rendered: Some(text), .. }) = &line.message
            && level == "error"
        {
            eprintln!("{text}");
        }
        if let ("compiler-artifact", Some(path), Some(manifest), true) = (
            line.reason.as_str(),
            line.executable,
            line.manifest_path,
            line.profile.is_some_and(|it| it.test),
        ) {
            let folder = manifest.parent().unwrap_or(tree).to_owned();
            programs.push(Program { path, folder });
        }
    }
    match programs.len() {
        built if built >= MIN_PROGRAMS => Ok(programs),
        built => Err(format!("{built} test programs were built, of at least {MIN_PROGRAMS}").into()),
    }
}
