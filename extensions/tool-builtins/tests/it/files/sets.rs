//! The ready sets.

use std::fs;

use tool_builtins::{
    FileTools,
    files::{CodingFileTools, DefaultFileTools},
};
use tool_runtime::{ToolSet as _, prelude::*};

use super::World;

fn names(tools: &Registry) -> Vec<String> {
    let mut names: Vec<_> = tools.definitions().iter().map(|tool| tool.name().to_string()).collect();
    names.sort();
    names
}

// R01, R11
#[tokio::test]
async fn the_small_set_has_the_file_tools_of_six() {
    let world = World::new();
    let files = FileTools::new(world.path("")).unwrap();
    let tools = Registry::builder().toolset(DefaultFileTools::new(files)).build().unwrap();
    assert_eq!(names(&tools), ["edit_file", "list_files", "read_file", "search", "write_file"]);
    for tool in tools.definitions() {
        assert_eq!(serde_json::to_value(tool.input_schema()).unwrap()["type"], "object");
    }
    world.write("a.rs", "Needle -rf\n".repeat(60));
    world.write("b.txt", "needle -rf\n");
    let found = tools.call("search", json!({ "query": "-rf", "file_pattern": "*.rs" })).await.unwrap();
    assert!(found.text().ends_with("a.rs:50: Needle -rf\n[more lines match; continue with `offset` 50]\n"));
}

// R01, R05, R08, R09, R10, R11
#[tokio::test]
async fn each_tool_of_the_small_set_works_on_the_files_of_the_folder() {
    let world = World::new();
    let files = FileTools::new(world.path("")).unwrap();
    let tools = Registry::builder().toolset(DefaultFileTools::new(files)).build().unwrap();
    for (tool, arguments, expected) in [
        ("write_file", json!({ "path": "b/a.txt", "content": "one\n" }), "created `b/a.txt`: 4 bytes\n"),
        (
            "edit_file",
            json!({ "path": "b/a.txt", "old_text": "one", "new_text": "two" }),
            "edited `b/a.txt`: 1 replacement\n",
        ),
        ("read_file", json!({ "path": "b/a.txt" }), "`b/a.txt`, lines 1-1 of 1\n     1\ttwo\n"),
        ("list_files", json!({}), "b/a.txt\n"),
        // A path that leads back to the folder shows none of its way.
        ("list_files", json!({ "path": "b/..", "pattern": "*.txt" }), "b/a.txt\n"),
        ("search", json!({ "query": "TWO" }), "b/a.txt:1: two\n"),
        ("search", json!({ "query": "TWO", "case_sensitive": true }), "no line matches\n"),
        (
            "write_file",
            json!({ "path": "b/a.txt", "content": "" }),
            "replaced the content of `b/a.txt`: 0 bytes\n",
        ),
        ("read_file", json!({ "path": "b/a.txt" }), "`b/a.txt` is empty\n"),
    ] {
        assert_eq!(tools.call(tool, arguments.clone()).await.unwrap().text(), expected, "{tool} {arguments}");
    }
}

// R12, R13, R14, R17, R18
#[tokio::test]
async fn the_coding_set_has_the_names_and_arguments_that_models_know() {
    let world = World::new();
    let files = FileTools::new(world.path("")).unwrap();
    let set = CodingFileTools::new(files);
    assert_eq!(set.clone().with_name(" ").name(), "claudecode");
    assert_eq!(set.clone().with_name("code").name(), "code");
    let named = set.clone().with_name("code").into_toolset().unwrap();
    assert_eq!(named.name(), "code");
    let toolbox = tool_runtime::Toolbox::new();
    toolbox.add_toolset(tool_runtime::toolset::ToolSetExt::prefixed(named)).unwrap();
    let prefixed = toolbox.snapshot(&tool_runtime::RunContext::new()).await.unwrap().into_tools();
    assert_eq!(names(&prefixed), ["code__Glob", "code__Grep", "code__Read"]);
    let reading = set.clone().add_to(Registry::builder()).build().unwrap();
    assert_eq!(names(&reading), ["Glob", "Grep", "Read"]);
    let tools = set.read_only(false).add_to(Registry::builder()).build().unwrap();
    assert_eq!(names(&tools), ["Edit", "Glob", "Grep", "NotebookEdit", "Read", "Write"]);

    let call = async |tool: &str, arguments: Value| match tools.call(tool, arguments).await {
        Ok(output) => output.text().to_string(),
        Err(error) => format!("error: {error}"),
    };
    assert!(
        call("Write", json!({ "file_path": "a.rs", "content": "one\ntwo\nthree\n" }))
            .await
            .contains("created")
    );
    let path = world.path("a.rs").canonicalize().unwrap();
    assert!(call("Read", json!({ "file_path": path })).await.contains("2\ttwo"));
    let edit = json!({ "file_path": path, "old_string": "two", "new_string": "2", "replace_all": false });
    call("Edit", edit).await;
    assert_eq!(fs::read(&path).unwrap(), b"one\n2\nthree\n");
    assert_eq!(call("Glob", json!({ "pattern": "**/*.rs" })).await, "a.rs\n");
    assert_eq!(call("Grep", json!({ "pattern": "one" })).await, "a.rs\n");
    assert_eq!(call("Grep", json!({ "pattern": "ONE" })).await, "no file matches\n");
    let lines = json!({ "pattern": "ONE", "output_mode": "content", "-i": true, "-n": false, "-A": 1, "type": "rust" });
    assert_eq!(call("Grep", lines).await, "a.rs: one\na.rs- 2\n");
    assert!(call("Grep", json!({ "pattern": "one", "type": "none" })).await.contains("give a `glob`"));
    assert!(call("Read", json!({ "file_path": "../secret.txt" })).await.contains("outside of the folder"));
    let cell = json!({ "notebook_path": "a.rs", "new_source": "x", "cell_id": "1" });
    assert!(call("NotebookEdit", cell).await.contains("no notebook"));
}
