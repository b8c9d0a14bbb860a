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
