//! Hostile requests of a model, hostile folders and hostile files.

use std::fs;

use tool_runtime::prelude::*;

use super::World;

async fn replace_all(world: &World, path: &str, old_text: &str, new_text: &str) -> Result<String, String> {
    let arguments = json!({ "path": path, "old_text": old_text, "new_text": new_text, "replace_all": true });
    world.call("edit_file", arguments).await
}

// R09
#[tokio::test]
async fn replacements_that_would_fill_the_memory_are_refused() {
    let world = World::new();
    let content = "a".repeat(1 << 20);
    world.write("a.txt", &content);
    world.call("read_file", json!({ "path": "a.txt", "limit": 1 })).await.unwrap();
    let error = replace_all(&world, "a.txt", "a", &"b".repeat(1 << 10)).await.unwrap_err();
    assert!(error.contains("1048576 replacements would make `a.txt` 1073741824 bytes long"), "{error}");
    assert_eq!(fs::read_to_string(world.path("a.txt")).unwrap(), content);
    replace_all(&world, "a.txt", "a", "bb").await.unwrap();
    assert_eq!(fs::read_to_string(world.path("a.txt")).unwrap(), "bb".repeat(1 << 20));
}

// R08, R09: a program for version control runs what its files say.
#[tokio::test]
async fn files_of_version_control_are_read_and_never_changed() {
    let world = World::new();
    world.write(".git/config", "[core]\n");
    world.write("sub/.Git/config", "[core]\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink(".git", world.path("link")).unwrap();
    for path in [".git/config", "sub/.Git/config", "link/config"] {
        if !world.path(path).exists() {
            continue;
        }
        assert!(world.read(path).await.unwrap().contains("[core]"));
        for changed in [
            world.edit(path, "[core]", "[core]\nfsmonitor=id").await,
            world.write_file(path, "[core]\nfsmonitor=id").await,
        ] {
            let error = changed.unwrap_err();
            assert!(error.contains(&format!("`{path}` belongs to version control")), "{error}");
        }
        assert_eq!(fs::read_to_string(world.path(path)).unwrap(), "[core]\n");
    }
    for path in [".git/hooks/pre-commit", "new/.git/config", "link/hooks/a", "sub/.Git/b/c"] {
        let error = world.write_file(path, "id").await.unwrap_err();
        assert!(error.contains("belongs to version control"), "{path}: {error}");
    }
    assert!(!world.path(".git/hooks").exists() && !world.path("new").exists());
    world.write_file(".github/a.yml", "on: push\n").await.unwrap();
}

// R18: a file is edited in the encoding in which it was shown.
#[tokio::test]
async fn a_text_with_one_bad_byte_far_behind_its_start_keeps_its_encoding() {
    let world = World::new();
    let mut content = "é\n".repeat(40_000).into_bytes();
    content.push(0xFF);
    world.write("a.txt", &content);
    assert!(world.read("a.txt").await.unwrap().contains('é'));
    let error = world.edit("a.txt", "é\né\n", "—\n").await.unwrap_err();
    assert!(error.contains("has bytes that are not valid UTF-8"), "{error}");
    assert_eq!(fs::read(world.path("a.txt")).unwrap(), content);
}

// R05
#[tokio::test]
async fn a_path_has_a_greatest_length_and_a_greatest_depth() {
    let world = World::new();
    for path in ["a/".repeat(500_000) + "x", "a/".repeat(300) + "x", "a".repeat(5_000)] {
        for result in [world.write_file(&path, "a").await, world.read(&path).await] {
            assert!(result.unwrap_err().contains("`path` is too long"));
        }
    }
    world.write_file(&("a/".repeat(100) + "x"), "a").await.unwrap();
}

// R18
#[tokio::test]
async fn a_read_of_a_part_keeps_what_was_read_in_full() {
    let world = World::new();
    world.write("a.txt", "1\n2\n3\n");
    world.read("a.txt").await.unwrap();
    world.call("read_file", json!({ "path": "a.txt", "offset": 2, "limit": 1 })).await.unwrap();
    world.write_file("a.txt", "4\n").await.unwrap();
    // A change between both is not forgotten.
    world.write("a.txt", "5\n6\n");
    world.call("read_file", json!({ "path": "a.txt", "offset": 2, "limit": 1 })).await.unwrap();
    let error = world.write_file("a.txt", "7\n").await.unwrap_err();
    assert!(error.contains("was not read in full"), "{error}");
}

// R10, R11, R17
#[tokio::test]
async fn a_name_cannot_look_like_another_line_of_a_result() {
    let world = World::new();
    world.write("a\n[more lines match].txt", "x\n");
    world.write("b\u{1b}[2J.txt", "x\n");
    for (tool, arguments) in [
        ("list_files", json!({})),
        ("glob", json!({ "pattern": "*.txt" })),
        ("grep", json!({ "pattern": "x" })),
    ] {
        let text = world.call(tool, arguments).await.unwrap();
        assert_eq!(text.lines().count(), 2, "{tool}: {text}");
        assert!(!text.contains('\u{1b}'), "{tool}: {text}");
    }
}

// R17
#[tokio::test]
async fn the_rules_of_hostile_folders_are_bounded() {
    let world = World::new();
    world.write(".gitignore", "a?b*c\n".repeat(100_000) + "late.txt\n");
    world.write("early/.gitignore", "early.txt\n");
    world.write("late.txt", "x\n");
    world.write("early/early.txt", "x\n");
    let text = world.call("list_files", json!({ "depth": 2 })).await.unwrap();
    assert!(text.contains("late.txt") && text.contains("early.txt"), "{text}");
}

// R09: a copy of another user's program does not run as that user.
#[cfg(unix)]
#[tokio::test]
async fn an_edit_keeps_no_bit_by_which_a_program_runs_as_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.write("a.sh", "one\n");
    fs::set_permissions(world.path("a.sh"), fs::Permissions::from_mode(0o4750)).unwrap();
    world.read("a.sh").await.unwrap();
    world.edit("a.sh", "one", "two").await.unwrap();
    let mode = fs::metadata(world.path("a.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o750);
}
