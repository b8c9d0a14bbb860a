//! A file system that takes no more bytes in the middle of a write: this program starts itself with a limit on the size of files.

use std::{env, fs, path::PathBuf, process::Command};

use tool_builtins::FileTools;
use tool_runtime::prelude::*;

const FOLDER: &str = "FULL_FOLDER";

/// The folder of a file system that is full, and becomes one that is only read.
const MOUNTED_FOLDER: &str = "MOUNTED_FOLDER";

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

/// Fills a file system of 256 KiB, in the process that the test below starts; otherwise nothing.
#[tokio::test]
async fn mounted_writer() {
    let Some(folder) = env::var_os(MOUNTED_FOLDER).map(PathBuf::from) else { return };
    let mounted = |arguments: &[&str]| {
        let status = Command::new("mount").args(arguments).arg(&folder).status().unwrap();
        assert!(status.success(), "{arguments:?}");
    };
    mounted(&["-t", "tmpfs", "-o", "size=256k", "tmpfs"]);
    fs::write(folder.join("a"), "one\n").unwrap();
    let tools = Registry::builder().toolset(FileTools::new(&folder).unwrap()).build().unwrap();
    tools.call("read_file", json!({ "path": "a" })).await.unwrap();
    let large = "x".repeat(1 << 20);
    let calls = [
        ("write_file", json!({ "path": "a", "content": large })),
        ("edit_file", json!({ "path": "a", "old_text": "one", "new_text": large })),
        ("write_file", json!({ "path": "b", "content": large })),
        ("edit_file", json!({ "path": "a", "old_text": "one", "new_text": "two" })),
        ("write_file", json!({ "path": "b", "content": "small" })),
        ("write_file", json!({ "path": "c/d", "content": "small" })),
    ];
    for (number, (tool, arguments)) in calls.into_iter().enumerate() {
        if number == 3 {
            mounted(&["-o", "remount,ro"]);
        }
        let error = tools.call(tool, arguments).await.unwrap_err().to_string();
        let reason = if number < 3 { "No space left on device" } else { "Read-only file system" };
        assert!(error.contains(reason), "{error}");
        assert_eq!(fs::read(folder.join("a")).unwrap(), b"one\n");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "{error}");
    }
    mounted(&["-o", "remount,rw"]);
    // No failed change is taken for the state of the file.
    tools.call("edit_file", json!({ "path": "a", "old_text": "one", "new_text": "two" })).await.unwrap();
}

// R08, R09
#[cfg(target_os = "linux")]
#[test]
fn a_file_system_that_is_full_or_only_read_keeps_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let unshare = |program: &std::ffi::OsStr, arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount"]).arg(program).args(arguments);
        command.env(MOUNTED_FOLDER, folder.path()).output()
    };
    let mount = format!("mount -t tmpfs tmpfs {}", folder.path().display());
    if !unshare("sh".as_ref(), &["-c", &mount]).is_ok_and(|output| output.status.success()) {
        test_support::skipped::report("this machine mounts no file system for a test");
        return;
    }
    let program = env::current_exe().unwrap();
    let output = unshare(program.as_os_str(), &["--exact", "files::full::mounted_writer"]).unwrap();
    assert!(output.status.success(), "{output:?}");
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
