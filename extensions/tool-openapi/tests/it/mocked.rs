//! Calls of public APIs, checked by a mock server of others: `.ci/openapi/mock.cjs` refuses each request that a document does not
//! allow. Ignored unless `--ignored` asks for it, as `.ci/run` does: it needs `OPENAPI_NODE`, `OPENAPI_MOCK` and `TOOL_OPENAPI_DOCUMENTS`.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use tool_openapi::{Document, OpenApiToolSet};
use tool_runtime::{Registry, Tool as _};

use crate::{
    built,
    generator::{Extent, value},
    registry,
};

/// Documents that the mock serves without mistakes of its own.
const DOCUMENTS: [&str; 12] = [
    "airflow",
    "asana",
    "blockfrost",
    "gitea",
    "jupyterlab",
    "keycloak",
    "localstack",
    "rclone",
    "slack",
    "star-trek",
    "traccar",
    "wikimedia",
];

/// Tools whose requests the specification leaves open: a query has no form for a list of objects.
const UNDEFINED: [(&str, &str); 1] = [("rclone", "jobBatch")];

/// The mock, and the URL of each document.
struct Mock {
    child: Child,
    urls: BTreeMap<String, String>,
}

impl Mock {
    fn start(files: &BTreeMap<&str, PathBuf>) -> Self {
        let (node, mock) = (variable("OPENAPI_NODE"), variable("OPENAPI_MOCK"));
        let mut command = Command::new(node);
        command.arg(mock).arg("--without-security").args(files.values());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut urls = BTreeMap::new();
        for line in lines.take(files.len()) {
            let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let (name, _) = files.iter().find(|(_, path)| line["file"] == path.to_str().unwrap()).unwrap();
            let url =
                line["url"].as_str().unwrap_or_else(|| panic!("the mock cannot serve `{name}`: {line}"));
            urls.insert((*name).to_owned(), url.to_owned());
        }
        Self { child, urls }
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        // The mock ends with its standard input.
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

/// The value of a variable that `.ci/run` sets.
fn variable(name: &str) -> OsString {
    env::var_os(name).unwrap_or_else(|| panic!("`{name}` is not set; run `.ci/run`"))
}

fn files() -> BTreeMap<&'static str, PathBuf> {
    let folder = PathBuf::from(variable("TOOL_OPENAPI_DOCUMENTS"));
    let path = |name: &str| {
        let path = ["json", "yaml"]
            .map(|end| folder.join(format!("{name}.{end}")))
            .into_iter()
            .find(|it| it.exists());
        path.unwrap_or_else(|| panic!("`{name}` is missing"))
    };
    DOCUMENTS.iter().map(|name| (*name, path(name))).collect()
}

/// Calls each tool with arguments made of its schema; returns the numbers of calls and of tools without any, and the refusals.
async fn called(document: &str, set: &OpenApiToolSet, tools: &Registry) -> (usize, usize, Vec<String>) {
    let mut random = fastrand::Rng::with_seed(17);
    let (mut calls, mut without, mut refused) = (0, 0, Vec::new());
    for tool in set.tools() {
        if UNDEFINED.contains(&(document, tool.definition().name().as_str())) {
            continue;
        }
        let (name, schema) = (tool.definition().name().as_str(), tool.definition().input_schema().as_value());
        let extents = [Extent::Least, Extent::Some, Extent::All];
        let made = extents.map(|extent| value(schema, schema, extent, &mut random));
        let mut fitting: Vec<String> = made.into_iter().flatten().map(|it| it.to_string()).collect();
        fitting.retain(|arguments| tools.check(name, arguments.clone()).is_ok());
        fitting.dedup();
        without += usize::from(fitting.is_empty());
        for arguments in fitting {
            calls += 1;
            match tools.call(name, arguments.clone()).await {
                Ok(output) if output.details().is_some_and(|it| it["status"] == 204) => {}
                Ok(output) => refused.push(format!("{name} {arguments}\n{}", output.text())),
                Err(error) => refused.push(format!("{name} {arguments}\n{error}")),
            }
        }
    }
    (calls, without, refused)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a mock server and public documents, which `.ci/run` installs"]
async fn no_request_is_refused_by_a_mock_that_validates_it() {
    let files = files();
    let mock = Mock::start(&files);
    let mut refused = Vec::new();
    for (name, path) in &files {
        let builder = OpenApiToolSet::builder(Document::from_file(path).unwrap()).base_url(&mock.urls[*name]);
        let set = built(builder);
        let (calls, without, all) = called(name, &set, &registry(&set)).await;
        let (tools, skipped) = (set.tools().len(), set.skipped().len());
        println!(
            "{name}: {tools} tools, {skipped} skipped, {calls} calls, {without} without, {} refused",
            all.len()
        );
        assert!(without * 4 <= tools, "{name}: {without} of {tools} tools were not called");
        refused.extend(all.into_iter().map(|it| format!("{name}: {it}")));
    }
    assert!(refused.is_empty(), "{} refused:\n{}", refused.len(), refused.join("\n\n"));
}
