use std::fs;

use tool_runtime::prelude::*;

use super::{SECRET, World};

// R08
#[tokio::test]
async fn a_new_file_is_created_with_its_folders() {
    let world = World::new();
    assert!(world.write_file("a/b/c", "é\n").await.unwrap().contains("3 bytes"));
    assert_eq!(fs::read(world.path("a/b/c")).unwrap(), "é\n".as_bytes());
    // What was written here is known.
    world.edit("a/b/c", "é", "e").await.unwrap();
    world.write_file("a/b/c", "all\n").await.unwrap();
    assert_eq!(fs::read(world.path("a/b/c")).unwrap(), b"all\n");
    assert_eq!(fs::read_dir(world.path("a/b")).unwrap().count(), 1);
}

// R18
#[tokio::test]
async fn an_existing_file_must_be_read_in_full_and_be_unchanged() {
    let world = World::new();
    world.write("a", "one\r\ntwo\r\n");
    assert!(world.write_file("a", "x").await.unwrap_err().contains("was not read in full"));
    world.call("read_file", json!({ "path": "a", "limit": 1 })).await.unwrap();
    assert!(world.write_file("a", "x").await.unwrap_err().contains("was not read in full"));
    world.read("a").await.unwrap();
    world.write("a", "ONE\r\ntwo\r\n");
    assert!(world.write_file("a", "x").await.unwrap_err().contains("changed since it was read"));
    world.read("a").await.unwrap();
    world.write_file("a", "x\ny\n").await.unwrap();
    assert_eq!(fs::read(world.path("a")).unwrap(), b"x\r\ny\r\n");
}

// R07, R14
#[cfg(unix)]
#[tokio::test]
async fn no_write_leaves_the_folder() {
    use std::os::unix::fs::symlink;
    let world = World::new();
    symlink("..", world.path("folder")).unwrap();
    symlink("../new", world.path("dangling")).unwrap();
    symlink("../secret.txt", world.path("file")).unwrap();
    for path in [
        "../new",
        "folder/new",
        "folder/new/x",
        "dangling",
        "file",
        "a/../../new",
        "/tmp/new/x",
        "",
        "..",
        ".",
    ] {
        assert!(world.write_file(path, "x").await.is_err(), "{path}");
    }
    assert_eq!(fs::read_to_string(world.folder.path().join("secret.txt")).unwrap(), SECRET);
    assert_eq!(fs::read_dir(world.folder.path()).unwrap().count(), 2);
}
