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
    let few = world.call("grep", json!({ "pattern": "match", "limit": 50 })).await.unwrap();
    assert!(few.ends_with("a:50: Match 50\n[more lines match; continue with `offset` 50]\n"), "{few}");
    let default = world.call("grep", json!({ "pattern": "match" })).await.unwrap();
    assert!(default.ends_with("[more lines match; continue with `offset` 250]\n"), "{default}");
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

// R17
#[tokio::test]
async fn files_and_counts_are_other_forms_of_the_same_search() {
    let world = World::new();
    for number in 0..300 {
        world.write(&format!("{number:03}"), "needle\nneedle\nhay\n");
    }
    world.write("none", "hay\n");
    let search = async |mode: &str, offset: u64| {
        let query = json!({ "pattern": "needle", "mode": mode, "offset": offset });
        world.call("grep", query).await.unwrap()
    };
    let files = search("files", 0).await;
    assert!(files.starts_with("000\n001\n"), "{files}");
    assert!(files.ends_with("249\n[more files match; continue with `offset` 250]\n"), "{files}");
    let rest: String = (250..300).map(|number| format!("{number}\n")).collect();
    assert_eq!(search("files", 250).await, rest);
    assert_eq!(search("count", 298).await, "298:2\n299:2\n");
    assert_eq!(search("count", 300).await, "no more files match; all 300 are before `offset` 300\n");
    let lines = search("content", 500).await;
    assert!(lines.starts_with("250:1: needle\n250:2: needle\n") && lines.lines().count() == 100, "{lines}");
}

// R17
#[tokio::test]
async fn lines_around_a_match_are_shown_with_it() {
    let world = World::new();
    let lines: String =
        (1..=12).map(|n| if n % 5 == 0 { "needle\n".into() } else { format!("{n}\n") }).collect();
    world.write("a", lines);
    let all = world.call("grep", json!({ "pattern": "needle", "context": 1 })).await.unwrap();
    assert_eq!(all, "a-4- 4\na:5: needle\na-6- 6\n--\na-9- 9\na:10: needle\na-11- 11\n");
    let second = world.call("grep", json!({ "pattern": "needle", "context": 1, "offset": 1 })).await.unwrap();
    assert_eq!(second, "--\na-9- 9\na:10: needle\na-11- 11\n");
    let first = world.call("grep", json!({ "pattern": "needle", "context": 1, "limit": 1 })).await.unwrap();
    assert_eq!(first, "a-4- 4\na:5: needle\na-6- 6\n[more lines match; continue with `offset` 1]\n");
}

// R17: results come in the order of the paths, though files of very different sizes are searched at once.
#[tokio::test]
async fn results_are_in_order_and_complete_with_large_and_small_files() {
    let world = World::new();
    let mut expected = Vec::new();
    for number in 0..400 {
        let name = format!("{number:03}");
        let count = if number % 100 == 0 { 3000 } else { 1 };
        world.write(&name, "needle in a line that is not short\n".repeat(count));
        expected.extend((1..=count).map(|line| format!("{name}:{line}: needle in a line that is not short")));
    }
    for offset in [0, 250, 2900, 3150, 12_200] {
        let query = json!({ "pattern": "needle", "limit": 250, "offset": offset });
        let page = world.call("grep", query).await.unwrap();
        let lines: Vec<_> = page.lines().filter(|line| !line.starts_with('[')).map(str::to_owned).collect();
        let rest = expected.iter().skip(offset).take(250).cloned();
        assert_eq!(lines, rest.collect::<Vec<_>>(), "{offset}");
    }
}

// R09: 27 kB of these classes take 16 seconds to compile.
#[tokio::test]
async fn a_pattern_that_is_costly_to_compile_is_refused_before() {
    let world = World::new();
    world.write("a.txt", "needle\n");
    let classes = "[\\w--[a-z]]".repeat(400);
    for (tool, arguments) in [
        ("grep", json!({ "pattern": classes })),
        ("grep", json!({ "pattern": "needle", "glob": classes })),
        ("glob", json!({ "pattern": classes })),
        ("list_files", json!({ "pattern": classes })),
    ] {
        let error = world.call(tool, arguments).await.unwrap_err();
        assert!(error.contains("has 4400 bytes, more than 4096; give a shorter pattern"), "{tool}: {error}");
    }
    let longest = format!("needle{}", "|b".repeat(2045));
    let found = world.call("grep", json!({ "pattern": longest })).await.unwrap();
    assert_eq!(found, "a.txt:1: needle\n");
}
