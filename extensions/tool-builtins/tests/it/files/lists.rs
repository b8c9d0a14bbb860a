use tool_runtime::prelude::*;

use super::World;

// R10
#[tokio::test]
async fn a_list_is_sorted_bounded_and_three_levels_deep() {
    let world = World::new();
    for number in 0..250 {
        world.write(&format!("many/{number:03}"), "");
    }
    for name in ["a", "b/c", "b/d/e", "b/d/f/g", "target/x", ".git/x", "node_modules/x"] {
        world.write(name, "");
    }
    let all = world.call("list_files", json!({})).await.unwrap();
    assert!(all.starts_with("a\nb/c\nb/d/e\nmany/000\n"), "{all}");
    assert!(all.contains("[more than 200 files;"), "{all}");
    assert_eq!(all.lines().filter(|line| !line.starts_with('[')).count(), 200);
    let below = world.call("list_files", json!({ "path": "b", "depth": 2 })).await.unwrap();
    assert_eq!(
        below,
        "b/c\nb/d/e\n[1 folders are deeper or cannot be read; raise `depth`, or give one as `path`]\n"
    );
    let some = world.call("list_files", json!({ "pattern": "e", "depth": 64 })).await.unwrap();
    assert_eq!(some, "b/d/e\n");
}

// R07, R17
#[tokio::test]
async fn a_glob_finds_at_most_100_sorted_paths_inside() {
    let world = World::new();
    for number in 0..150 {
        world.write(&format!("src/{number:03}.rs"), "");
    }
    world.write("src/a/b.txt", "text\n");
    let rust = world.call("glob", json!({ "pattern": "**/*.rs" })).await.unwrap();
    assert!(
        rust.starts_with("src/000.rs\nsrc/001.rs\n") && rust.contains("src/099.rs\n[more than 100 files;")
    );
    assert_eq!(world.call("glob", json!({ "pattern": "*.txt" })).await.unwrap(), "src/a/b.txt\n");
    for pattern in ["a/*.txt", "src/a/*.txt"] {
        let below = world.call("glob", json!({ "pattern": pattern, "path": "src" })).await.unwrap();
        assert_eq!(below, "src/a/b.txt\n", "{pattern}");
        let query = json!({ "pattern": "^", "glob": pattern, "path": "src" });
        assert_eq!(world.call("grep", query).await.unwrap(), "src/a/b.txt:1: text\n", "{pattern}");
    }
    assert_eq!(world.call("glob", json!({ "pattern": "*.md" })).await.unwrap(), "no file is found\n");
    assert_eq!(world.call("glob", json!({ "pattern": "../*" })).await.unwrap(), "no file is found\n");
    assert!(
        world.call("glob", json!({ "pattern": "*", "path": ".." })).await.unwrap_err().contains("outside")
    );
}

// R17
#[tokio::test]
async fn the_first_64_kib_and_4096_rules_of_a_gitignore_are_read() {
    let world = World::new();
    world.write("a", "");
    world.write("hidden", "");
    // The name of the file has 7 bytes with its line end.
    let padded = |bytes: usize| format!("#{}\nhidden\n", "x".repeat(bytes - 9));
    for (rules, is_hidden) in [
        ("x\n".repeat(4_095) + "hidden\n", true),
        ("x\n".repeat(4_096) + "hidden\n", false),
        // Comments and empty lines are no rules.
        ("#\n".repeat(5_000) + "hidden\n", true),
        ("\n".repeat(5_000) + "hidden\n", true),
        (padded(65_536), true),
        (padded(65_536 + 2), false),
    ] {
        world.write(".gitignore", &rules);
        let expected = if is_hidden { ".gitignore\na\n" } else { ".gitignore\na\nhidden\n" };
        assert_eq!(world.call("list_files", json!({})).await.unwrap(), expected, "{}", rules.len());
    }
    // The rules of a folder above count for those below it.
    world.write("b/hidden", "");
    world.write("b/.gitignore", "hidden\n");
    for (count, is_hidden) in [(4_095, true), (4_096, false)] {
        world.write(".gitignore", "x\n".repeat(count));
        let list = world.call("list_files", json!({ "path": "b" })).await.unwrap();
        assert_eq!(list, if is_hidden { "b/.gitignore\n" } else { "b/.gitignore\nb/hidden\n" });
    }
}
