//! Searches: each form of their results, and what they leave out.

use std::{collections::BTreeMap, fmt::Write as _};

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tool_builtins::{
    FileTools,
    files::{CodingFileTools, DefaultFileTools},
};
use tool_runtime::Registry;

use super::World;

/// Returns the results of a search for `x` in each form, one for each line or file that matches.
fn expected_results(files: &BTreeMap<String, String>, mode: &str) -> Vec<String> {
    let matches = |text: &str| {
        let lines = text.lines().zip(1..).filter(|(line, _)| line.contains('x'));
        lines.map(|(line, number)| format!("{number}: {line}")).collect::<Vec<_>>()
    };
    let files = files.iter().map(|(name, text)| (name, matches(text))).filter(|(_, lines)| !lines.is_empty());
    let results = files.map(|(name, lines)| match mode {
        "content" => lines.iter().map(|line| format!("{name}:{line}\n")).collect(),
        "files" => vec![format!("{name}\n")],
        _ => vec![format!("{name}:{}\n", lines.len())],
    });
    results.flatten().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    // R11, R17
    #[test]
    fn the_pages_of_a_search_have_each_result_once_and_in_order(
        files in proptest::collection::btree_map("[a-c]{1,2}", "[xy\n]{0,12}", 0..5),
        mode in prop_oneof![Just("content"), Just("files"), Just("count")],
        limit in 1..4_usize,
    ) {
        let (world, runtime) = (World::new(), Runtime::new().unwrap());
        files.iter().for_each(|(name, text)| world.write(name, text));
        let expected = expected_results(&files, mode);
        let noun = if mode == "content" { "line" } else { "file" };
        for offset in (0..expected.len() + limit).step_by(limit) {
            let query = json!({ "pattern": "X", "mode": mode, "limit": limit, "offset": offset });
            let mut page: String = expected.iter().skip(offset).take(limit).map(String::as_str).collect();
            if offset + limit < expected.len() {
                let _ = writeln!(page, "[more {noun}s match; continue with `offset` {}]", offset + limit);
            }
            if page.is_empty() {
                page = match expected.len() {
                    0 => format!("no {noun} matches\n"),
                    count => format!("no more {noun}s match; all {count} are before `offset` {offset}\n"),
                };
            }
            prop_assert_eq!(runtime.block_on(world.call("grep", query)), Ok(page));
        }
    }
}

// R12, R17
#[tokio::test]
async fn the_searches_of_the_sets_have_the_forms_that_models_know() {
    let world = World::new();
    world.write("a.rs", "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n");
    world.write("b/c.rs", "zero\nthree\n");
    world.write("b/d.py", b"three \xff\n");
    let files = CodingFileTools::new(FileTools::new(world.path("")).unwrap());
    let tools = files.add_to(Registry::builder()).build().unwrap();
    for (arguments, expected) in [
        (json!({}), "a.rs\nb/c.rs\nb/d.py\n"),
        (json!({ "output_mode": "files_with_matches", "type": "rust" }), "a.rs\nb/c.rs\n"),
        (json!({ "output_mode": "count", "type": "py" }), "b/d.py:1\n"),
        (json!({ "type": "rust", "glob": "b/*" }), "b/c.rs\n"),
        (json!({ "glob": "b*" }), "no file matches\n"),
        (json!({ "type": "py", "glob": "*.rs" }), "no file matches\n"),
        (json!({ "output_mode": "content", "path": "b" }), "b/c.rs:2: three\nb/d.py:1: three \u{fffd}\n"),
        (json!({ "output_mode": "content", "path": "a.rs", "-n": false }), "a.rs: three\n"),
        (json!({ "output_mode": "content", "path": "a.rs", "-B": 1 }), "a.rs-2- two\na.rs:3: three\n"),
        (json!({ "output_mode": "content", "path": "a.rs", "-A": 1 }), "a.rs:3: three\na.rs-4- four\n"),
        (
            json!({ "output_mode": "content", "path": "a.rs", "-A": 0, "-C": 2, "-n": false }),
            "a.rs- one\na.rs- two\na.rs: three\n",
        ),
        (
            json!({ "output_mode": "content", "path": "a.rs", "-B": 0, "-C": 2 }),
            "a.rs:3: three\na.rs-4- four\na.rs-5- five\n",
        ),
        (
            json!({ "output_mode": "content", "-C": 1, "head_limit": 1, "type": "rust" }),
            "a.rs-2- two\na.rs:3: three\na.rs-4- four\n[more lines match; continue with `offset` 1]\n",
        ),
        (
            json!({ "output_mode": "content", "-C": 1, "offset": 1, "path": "b/c.rs" }),
            "no more lines match; all 1 are before `offset` 1\n",
        ),
    ] {
        let mut query: Value = arguments.clone();
        query["pattern"] = json!("three");
        let found = tools.call("Grep", query).await.unwrap();
        assert_eq!(found.text(), expected, "{arguments}");
    }
    let small = Registry::builder().toolset(DefaultFileTools::new(FileTools::new(world.path("")).unwrap()));
    let found = small.build().unwrap().call("search", json!({ "query": "THREE" })).await.unwrap();
    assert_eq!(found.text(), "a.rs:3: three\nb/c.rs:2: three\nb/d.py:1: three \u{fffd}\n");
    // Lines around a match change no number.
    for (mode, expected) in [("count", "a.rs:3\nb/c.rs:1\n"), ("files", "a.rs\nb/c.rs\n")] {
        let query = json!({ "pattern": "o", "mode": mode, "context": 1 });
        assert_eq!(world.call("grep", query).await.unwrap(), expected);
    }
    let error = tools.call("Grep", json!({ "pattern": "x", "type": "none" })).await.unwrap_err().to_string();
    assert!(
        error.ends_with("`type` has no files named `none`; give a `glob`, or a type such as `rust` or `py`"),
        "{error}"
    );
}

// R17
#[tokio::test]
async fn a_line_is_shown_up_to_500_characters_and_a_page_up_to_256_kib() {
    let world = World::new();
    world.write("a", format!("{}\n{}\n", "é".repeat(500), "é".repeat(503)));
    let line = "é".repeat(500);
    assert_eq!(
        world.call("grep", json!({ "pattern": "é" })).await.unwrap(),
        format!("a:1: {line}\na:2: {line} [3 more characters]\n")
    );
    // A page from line 100 on: 130 lines of 2004 bytes, and one that fills it or leaves room for another.
    let line = |chars: usize| format!("{}\n", "𝒳".repeat(chars));
    for (chars, last) in [(404, 230), (403, 231)] {
        world.write("a", [line(499).repeat(229), line(chars), line(499).repeat(99)].concat());
        let query = json!({ "pattern": "𝒳", "offset": 99, "limit": 250 });
        let page = world.call("grep", query).await.unwrap();
        let end = format!("[more lines match; continue with `offset` {last}]");
        assert_eq!((page.lines().count(), page.lines().last()), (last - 99 + 1, Some(end.as_str())));
    }
}

// R10, R17
#[tokio::test]
async fn a_walk_enters_64_levels_of_folders_and_says_what_it_leaves_out() {
    let world = World::new();
    let folders = |count: usize| "d/".repeat(count);
    world.write(&format!("{}x", folders(63)), "needle\n");
    world.write(&format!("{}y", folders(64)), "needle\n");
    let (found, left) =
        (format!("{}x", folders(63)), "[1 files or folders could not be searched to their end]\n");
    let grep = world.call("grep", json!({ "pattern": "needle" })).await.unwrap();
    assert_eq!(grep, format!("{found}:1: needle\n{left}"));
    let left = "[1 folders are deeper or cannot be read; raise `depth`, or give one as `path`]\n";
    for (tool, arguments) in [("glob", json!({ "pattern": "*" })), ("list_files", json!({ "depth": 64 }))] {
        assert_eq!(world.call(tool, arguments).await.unwrap(), format!("{found}\n{left}"), "{tool}");
    }
    let below = json!({ "pattern": "needle", "path": "d" });
    let (x, y) = (format!("{}x", folders(63)), format!("{}y", folders(64)));
    assert_eq!(world.call("grep", below).await.unwrap(), format!("{y}:1: needle\n{x}:1: needle\n"));
}

// R17: a line of any length would be held in memory.
#[tokio::test]
async fn a_file_with_a_line_of_more_than_16_mib_is_said_to_be_skipped() {
    let world = World::new();
    world.write("a", format!("needle\n{}", "x".repeat(17 << 20)));
    world.write("b", "needle\n");
    let left = "[1 files or folders could not be searched to their end]\n";
    assert_eq!(
        world.call("grep", json!({ "pattern": "needle" })).await.unwrap(),
        format!("a:1: needle\nb:1: needle\n{left}")
    );
    let found = world.call("grep", json!({ "pattern": "absent", "path": "a" })).await.unwrap();
    assert_eq!(found, format!("no line matches\n{left}"));
}

// R10, R11, R17
#[tokio::test]
async fn a_query_that_cannot_be_searched_is_answered_with_what_to_write() {
    let world = World::new();
    world.write("a.txt", "x\n");
    for (tool, arguments, expected) in [
        ("grep", json!({ "pattern": "(" }), "escape special characters by a backslash"),
        ("grep", json!({ "pattern": "a\nb" }), "escape special characters by a backslash"),
        ("grep", json!({ "pattern": "x", "glob": "[" }), "write it like `*.rs` or `src/**/*.rs`"),
        ("glob", json!({ "pattern": "{" }), "write it like `*.rs` or `src/**/*.rs`"),
        ("list_files", json!({ "path": "a.txt" }), "`a.txt` is a file; give the path of a folder"),
        ("list_files", json!({ "path": "absent" }), "`absent` does not exist; look for its name"),
    ] {
        let error = world.call(tool, arguments.clone()).await.unwrap_err();
        assert!(error.contains(expected), "{arguments}: {error}");
    }
}
