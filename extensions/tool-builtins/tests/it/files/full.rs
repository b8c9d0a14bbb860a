//! A file system that takes no more bytes in the middle of a write: this program starts itself with a limit on the size of files.

use std::{env, fs, path::PathBuf, process::Command};

use tool_builtins::FileTools;
use tool_runtime::prelude::*;

const FOLDER: &str = "FULL_FOLDER";

/// Writes more than the limit, in the process that the test below starts; otherwise nothing.
#[tokio::test]
async fn writer() {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    let files = FileTools::new(folder).unwrap();
    let tools = Registry::builder().toolset(files).build().unwrap();
    tools.call("read_file", json!({ "path": "a" })).await.unwrap();
    let large = "x".repeat(1 << 20);
    for (tool, arguments) in [
        ("write_file", json!({ "path": "a", "content": large })),
        ("edit_file", json!({ "path": "a", "old_text": "one", "new_text": large })),
        ("write_file", json!({ "path": "new/b", "content": large })),
    ] {
        let error = tools.call(tool, arguments).await.unwrap_err().to_string();
        assert!(error.contains("cannot be written") && error.contains("it is unchanged"), "{error}");
    }
    // The failed writes are not taken for the state of the file.
    tools.call("edit_file", json!({ "path": "a", "old_text": "one", "new_text": "two" })).await.unwrap();
}

// R08, R09
#[cfg(unix)]
#[test]
fn a_write_that_fails_in_the_middle_changes_nothing_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), "one\n").unwrap();
    let program = env::current_exe().unwrap();
    let output = Command::new("bash")
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" --exact files::full::writer"])
        .arg(program)
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read(folder.path().join("a")).unwrap(), b"two\n");
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.filter(|name| name != "new").count(), 1);
    assert_eq!(fs::read_dir(folder.path().join("new")).unwrap().count(), 0);
}
