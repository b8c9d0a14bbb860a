//! The ready sets with a shell and the web.

use std::{fs, sync::Arc};

use tool_builtins::{
    FileTools, ShellTools, WebTools,
    sets::{CodingTools, DefaultTools},
};
use tool_runtime::{
    Executor, ToolSet as _,
    call::CallOutcome,
    policy::{Approval, ApprovalRequest},
    prelude::*,
};

fn names(tools: &Registry) -> Vec<String> {
    let mut names: Vec<_> = tools.definitions().iter().map(|tool| tool.name().to_string()).collect();
    names.sort();
    names
}

fn coding_tools(folder: &std::path::Path) -> CodingTools {
    let files = FileTools::new(folder).unwrap();
    let shell = ShellTools::new(files.base_folder()).unwrap();
    CodingTools::new(files, shell, WebTools::builder().build().unwrap())
}

fn text(outcome: &CallOutcome) -> Result<String, String> {
    let outcome = outcome.result().unwrap().outcome.as_ref();
    outcome.map(|output| output.text().into_owned()).map_err(ToString::to_string)
}

// R01
#[tokio::test]
async fn the_small_set_has_six_tools() {
    let folder = tempfile::tempdir().unwrap();
    let set =
        DefaultTools::new(FileTools::new(folder.path()).unwrap(), ShellTools::new(folder.path()).unwrap());
    let tools = set.clone().into_registry().unwrap();
    assert_eq!(names(&tools), ["bash", "edit_file", "list_files", "read_file", "search", "write_file"]);
    for tool in tools.definitions() {
        assert_eq!(serde_json::to_value(tool.input_schema()).unwrap()["type"], "object");
    }
    let executor = set.conservative(|_: &ApprovalRequest| Approval::Rejected("no".to_owned())).unwrap();
    let outcomes = run(
        &executor.build().unwrap(),
        &[("bash", json!({ "command": "echo one" })), ("write_file", json!({ "path": "a", "content": "b" }))],
    )
    .await;
    assert_eq!(text(&outcomes[0]).unwrap(), "one\n");
    assert!(text(&outcomes[1]).is_err());
    assert!(!folder.path().join("a").exists());
}

async fn run(executor: &Executor, calls: &[(&'static str, Value)]) -> Vec<CallOutcome> {
    executor
        .run(calls.iter().map(|(tool, arguments)| ToolCall::new(*tool, arguments.clone())).collect())
        .await
}

// R12, R13
#[tokio::test]
async fn the_coding_set_has_eight_tools_and_eleven_that_write() {
    let folder = tempfile::tempdir().unwrap();
    let set = coding_tools(folder.path());
    let reading = ["Bash", "Glob", "Grep", "Read", "TaskOutput", "TaskStop", "WebFetch", "WebSearch"];
    assert_eq!(names(&set.clone().into_registry().unwrap()), reading);
    let writing = [
        "Bash",
        "Edit",
        "Glob",
        "Grep",
        "NotebookEdit",
        "Read",
        "TaskOutput",
        "TaskStop",
        "WebFetch",
        "WebSearch",
        "Write",
    ];
    assert_eq!(names(&set.clone().read_only(false).into_registry().unwrap()), writing);
    assert_eq!(set.clone().with_name(" ").name(), "claudecode");
    assert_eq!(set.with_name("code").into_toolset().unwrap().name(), "code");
}

// R14, R15
#[tokio::test]
async fn a_shell_of_the_coding_set_starts_in_the_base_folder_and_its_tasks_end_with_the_set() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "one\n").unwrap();
    let set = coding_tools(folder.path());
    let tools = set.clone().into_registry().unwrap();
    let call = async |tool: &str, arguments: Value| tools.call_unguarded(tool, arguments).await;
    let command =
        json!({ "command": "cat notes.txt; exit 3", "description": "Shows the notes", "timeout": 60_000 });
    assert_eq!(call("Bash", command).await.unwrap().text(), "one\n[exit code 3]");
    let notes = call("Read", json!({ "file_path": "notes.txt" })).await.unwrap();
    assert!(notes.text().contains("1\tone"), "{}", notes.text());
    assert!(call("Read", json!({ "file_path": "../x" })).await.is_err());
    assert!(call("Bash", json!({ "command": "true", "timeout": 600_001 })).await.is_err());

    let task = call("Bash", json!({ "command": "sleep 1000", "run_in_background": true })).await.unwrap();
    let id = task.details().unwrap()["task_id"].clone();
    let polled = call("TaskOutput", json!({ "task_id": id, "block": false })).await.unwrap();
    assert_eq!(polled.details().unwrap()["status"], "not_ready");
    let stopped = call("TaskStop", json!({ "shell_id": id })).await.unwrap();
    assert_eq!(stopped.details().unwrap()["status"], "stopped");
    assert!(call("TaskStop", json!({ "task_id": id })).await.is_err());

    let task = call("Bash", json!({ "command": "sleep 1000", "run_in_background": true })).await.unwrap();
    let id = task.details().unwrap()["task_id"].clone();
    set.close().await;
    let ended = call("TaskOutput", json!({ "task_id": id })).await.unwrap();
    assert_eq!(ended.details().unwrap()["status"], "success");
}

// R12, I02
#[tokio::test]
async fn one_call_gives_the_coding_set_its_rules() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "one\n").unwrap();
    fs::write(folder.path().join(".env"), "secret\n").unwrap();
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let person = move |request: &ApprovalRequest| {
        seen.lock().unwrap().push(request.call.name.to_string());
        Approval::Rejected("no".to_owned())
    };
    let executor =
        coding_tools(folder.path()).read_only(false).conservative(person).unwrap().build().unwrap();
    let allowed = [
        ("Read", json!({ "file_path": "notes.txt" })),
        ("Glob", json!({ "pattern": "*.txt" })),
        ("Grep", json!({ "pattern": "one" })),
        ("Bash", json!({ "command": "wc -l notes.txt" })),
    ];
    for outcome in run(&executor, &allowed).await {
        assert!(text(&outcome).is_ok(), "{outcome:?}");
    }
    assert!(asked.lock().unwrap().is_empty());
    let others = [
        ("Read", json!({ "file_path": ".env" })),
        ("Bash", json!({ "command": "rm notes.txt" })),
        ("Write", json!({ "file_path": "a", "content": "b" })),
        ("Edit", json!({ "file_path": "notes.txt", "old_string": "one", "new_string": "two" })),
        ("WebFetch", json!({ "url": "https://example.com" })),
        ("WebSearch", json!({ "query": "one" })),
    ];
    for outcome in run(&executor, &others).await {
        assert!(text(&outcome).is_err(), "{outcome:?}");
    }
    assert_eq!(*asked.lock().unwrap(), ["Read", "Bash", "Write", "Edit", "WebFetch", "WebSearch"]);
    assert_eq!(fs::read(folder.path().join("notes.txt")).unwrap(), b"one\n");
}
