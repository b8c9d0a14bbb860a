use std::fs;

use tool_runtime::prelude::*;

use super::{SECRET, World};

/// Paths that lead to the secret in some program.
const PAYLOADS: [&str; 18] = [
    "../secret.txt",
    "./../secret.txt",
    "a/../../secret.txt",
    "../root/../secret.txt",
    "....//secret.txt",
    "..//secret.txt",
    "%2e%2e/secret.txt",
    "..%2fsecret.txt",
    "%252e%252e%252fsecret.txt",
    "..%c0%afsecret.txt",
    "..\\secret.txt",
    "\u{ff0e}\u{ff0e}/secret.txt",
    "\u{2025}/secret.txt",
    "..\u{2215}secret.txt",
    "/etc/passwd",
    "//etc/passwd",
    "/proc/self/root/etc/passwd",
    "CON",
];

// R07, R14
#[tokio::test]
async fn no_spelling_of_a_path_leads_out() {
    let world = World::new();
    world.write("a/b", "inside\n");
    let absolute = world.folder.path().join("secret.txt");
    for path in PAYLOADS.into_iter().chain([absolute.to_str().unwrap(), "x\0y", ""]) {
        assert!(world.read(path).await.is_err(), "{path}");
        assert!(world.edit(path, "secret", "x").await.is_err(), "{path}");
        let found = world.call("grep", json!({ "pattern": "secret|root:", "path": path })).await;
        assert!(!found.unwrap_or_default().contains(SECRET), "{path}");
    }
    assert_eq!(fs::read_to_string(absolute).unwrap(), SECRET);
    // An absolute path below the folder is one of its files.
    assert!(world.read(world.path("a/b").to_str().unwrap()).await.unwrap().contains("inside"));
}

// R07
#[cfg(unix)]
#[tokio::test]
async fn no_symbolic_link_leads_out_and_no_pipe_blocks() {
    use std::os::unix::fs::symlink;
    let world = World::new();
    symlink("../secret.txt", world.path("file")).unwrap();
    symlink("..", world.path("folder")).unwrap();
    symlink("loop", world.path("loop")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(world.path("pipe")).status().unwrap();
    assert!(made.success());
    for path in ["file", "folder/secret.txt", "loop", "pipe"] {
        let error = world.read(path).await.unwrap_err();
        assert!(!error.contains(SECRET), "{error}");
        assert!(world.edit(path, "secret", "x").await.is_err(), "{path}");
    }
    assert!(world.read("file").await.unwrap_err().contains("outside of the folder"));
    assert_eq!(world.call("grep", json!({ "pattern": "secret" })).await.unwrap(), "no line matches\n");
    assert!(world.call("grep", json!({ "pattern": "secret", "path": "folder" })).await.is_err());
}
