use std::fmt::Write as _;

use tool_runtime::prelude::*;

use super::World;

// R11
#[tokio::test]
async fn a_query_that_begins_with_a_dash_is_only_a_query() {
    let world = World::new();
    world.write("a", "rm -rf x\n");
    assert_eq!(world.call("grep", json!({ "pattern": "-rf" })).await.unwrap(), "a:1: rm -rf x\n");
    assert_eq!(world.call("grep", json!({ "pattern": "--files" })).await.unwrap(), "no line matches\n");
    assert!(world.call("grep", json!({ "pattern": "(" })).await.unwrap_err().contains("regular expression"));
}

// R11, R17
#[tokio::test]
async fn a_limit_is_named_with_the_offset_that_continues() {
    let world = World::new();
    let mut text = String::new();
    for number in 1..=300 {
        let _ = writeln!(text, "Match {number}");
    }
    world.write("a", text);
    let default = world.call("grep", json!({ "pattern": "match" })).await.unwrap();
    assert!(
        default.ends_with("a:50: Match 50\n[more lines match; continue with `offset` 50]\n"),
        "{default}"
    );
    let most = world.call("grep", json!({ "pattern": "match", "limit": 250 })).await.unwrap();
    assert!(most.ends_with("[more lines match; continue with `offset` 250]\n"), "{most}");
    let rest = world.call("grep", json!({ "pattern": "match", "limit": 250, "offset": 250 })).await.unwrap();
    assert_eq!(rest.lines().count(), 50);
    assert!(rest.ends_with("a:300: Match 300\n"), "{rest}");
}

// R11, R17
#[tokio::test]
async fn ignored_binary_and_other_files_are_left_out() {
    let world = World::new();
    world.write(".gitignore", "*.log\n!keep.log\n");
    for name in
        ["a.rs", "src/b.rs", "c.txt", "d.log", "keep.log", ".git/e.rs", "target/f.rs", "node_modules/g.rs"]
    {
        world.write(name, "needle\n");
    }
    world.write("binary", b"\0needle\n");
    world.write("utf16", b"\xff\xfen\0e\0e\0d\0l\0e\0\n\0");
    let all = world.call("grep", json!({ "pattern": "needle" })).await.unwrap();
    assert_eq!(
        all,
        "a.rs:1: needle\nc.txt:1: needle\nkeep.log:1: needle\nsrc/b.rs:1: needle\nutf16:1: needle\n"
    );
    let rust = world.call("grep", json!({ "pattern": "NEEDLE", "glob": "*.rs" })).await.unwrap();
    assert_eq!(rust, "a.rs:1: needle\nsrc/b.rs:1: needle\n");
    let below = world.call("grep", json!({ "pattern": "needle", "path": "src" })).await.unwrap();
    assert_eq!(below, "src/b.rs:1: needle\n");
    let exact = world.call("grep", json!({ "pattern": "NEEDLE", "case_sensitive": true })).await.unwrap();
    assert_eq!(exact, "no line matches\n");
}
