use std::fs;

use tempfile::TempDir;
use tool_builtins::FileTools;
use tool_runtime::prelude::*;

use super::SECRET;

/// Tools for a project, its documents, and a library that is only read.
fn three_folders() -> (TempDir, Registry) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["project", "docs", "library"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("a.txt"), format!("needle of {name}\n")).unwrap();
    }
    fs::write(folder.path().join("secret.txt"), SECRET).unwrap();
    let path = |name| folder.path().join(name);
    let files = FileTools::new(path("project"))
        .and_then(|files| files.with_folder("docs", path("docs")))
        .and_then(|files| files.with_read_only_folder("lib", path("library")))
        .unwrap();
    assert_eq!(files.base_folder(), path("project").canonicalize().unwrap());
    let tools = Registry::builder().toolset(files).build().unwrap();
    (folder, tools)
}

async fn text_of(tools: &Registry, tool: &str, arguments: Value) -> String {
    match tools.call(tool, arguments).await {
        Ok(output) => output.text().to_string(),
        Err(error) => format!("error: {error}"),
    }
}

// R05, R11, R14, R17
#[tokio::test]
async fn a_path_says_which_of_several_folders_is_meant() {
    let (folder, tools) = three_folders();
    let found = text_of(&tools, "grep", json!({ "pattern": "needle" })).await;
    assert_eq!(
        found,
        "a.txt:1: needle of project\ndocs:a.txt:1: needle of docs\nlib:a.txt:1: needle of library\n"
    );
    let listed = text_of(&tools, "list_files", json!({})).await;
    assert_eq!(listed, "a.txt\ndocs:a.txt\nlib:a.txt\n");
    let absolute = folder.path().canonicalize().unwrap().join("docs/a.txt");
    for (path, name) in [("a.txt", "project"), ("docs:a.txt", "docs"), (absolute.to_str().unwrap(), "docs")] {
        let read = text_of(&tools, "read_file", json!({ "path": path })).await;
        assert!(read.contains(&format!("needle of {name}")), "{path}: {read}");
    }
    let below = text_of(&tools, "glob", json!({ "pattern": "*.txt", "path": "lib:" })).await;
    assert_eq!(below, "lib:a.txt\n");
    // A file of the base folder whose path begins like one of another folder.
    fs::write(folder.path().join("project/docs:a.txt"), "odd\n").unwrap();
    assert!(text_of(&tools, "read_file", json!({ "path": "./docs:a.txt" })).await.contains("odd"));
    let found = text_of(&tools, "grep", json!({ "pattern": "odd|of docs" })).await;
    assert_eq!(found, "./docs:a.txt:1: odd\ndocs:a.txt:1: needle of docs\n");
    let listed = text_of(&tools, "glob", json!({ "pattern": "*:*" })).await;
    assert_eq!(listed, "./docs:a.txt\n");
}

// R07, R08, R14
#[tokio::test]
async fn no_folder_is_a_way_to_another_and_a_read_only_one_is_never_changed() {
    let (folder, tools) = three_folders();
    for path in ["docs:../secret.txt", "docs:../project/a.txt", "docs:/etc/passwd", "../docs/a.txt", "lib:.."]
    {
        for tool in ["read_file", "grep"] {
            let text = text_of(&tools, tool, json!({ "path": path, "pattern": "." })).await;
            assert!(text.starts_with("error: ") && !text.contains(SECRET), "{path}: {text}");
        }
    }
    let outside = text_of(&tools, "read_file", json!({ "path": "/etc/passwd" })).await;
    assert!(outside.contains("or below `docs:`, or below `lib:`"), "{outside}");
    text_of(&tools, "read_file", json!({ "path": "lib:a.txt" })).await;
    let edit = json!({ "path": "lib:a.txt", "old_text": "needle", "new_text": "x" });
    assert!(text_of(&tools, "edit_file", edit).await.contains("only read"));
    for path in ["lib:a.txt", "lib:new/b.txt"] {
        let write = json!({ "path": path, "content": "x" });
        assert!(text_of(&tools, "write_file", write).await.contains("only read"), "{path}");
    }
    assert_eq!(fs::read_dir(folder.path().join("library")).unwrap().count(), 1);
    let write = json!({ "path": "docs:new/b.txt", "content": "x" });
    assert!(text_of(&tools, "write_file", write).await.contains("created `docs:new/b.txt`"));
    assert_eq!(fs::read(folder.path().join("docs/new/b.txt")).unwrap(), b"x");
}

#[test]
fn a_folder_that_is_only_read_has_no_file_of_another_one() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("vendor/inner")).unwrap();
    let base = FileTools::new(folder.path()).unwrap();
    let error = base.with_read_only_folder("vendor", folder.path().join("vendor")).unwrap_err().to_string();
    assert!(error.contains("have files in common, and one of them is only read"), "{error}");
    let base = FileTools::new(folder.path()).unwrap();
    assert!(base.with_folder("vendor", folder.path().join("vendor")).is_ok());
}

#[test]
fn names_of_folders_are_plain_and_unique() {
    let folder = tempfile::tempdir().unwrap();
    let files = FileTools::new(folder.path()).unwrap().with_folder("docs", folder.path()).unwrap();
    for name in ["", "c", "a/b", "a:b", "é1", "Docs", &"a".repeat(33)] {
        assert!(files.clone().with_folder(name, folder.path()).is_err(), "{name}");
    }
}

// R17: rules of a folder above the start hold, too.
#[tokio::test]
async fn rules_of_folders_above_the_start_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [
        (".gitignore", "*.log\n/a/b/hidden\n"),
        ("a/.gitignore", "!keep.log\n"),
        ("a/b/x.log", "needle\n"),
        ("a/b/keep.log", "needle\n"),
        ("a/b/hidden/y", "needle\n"),
        ("a/b/z", "needle\n"),
    ] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let tools = Registry::builder().toolset(FileTools::new(folder.path()).unwrap()).build().unwrap();
    let found = text_of(&tools, "grep", json!({ "pattern": "needle", "path": "a/b" })).await;
    assert_eq!(found, "a/b/keep.log:1: needle\na/b/z:1: needle\n");
}
