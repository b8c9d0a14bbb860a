//! Calls that are refused: what was received, and what to give.

use std::fs;

use tool_builtins::FileTools;
use tool_runtime::prelude::*;

use super::World;

/// Returns the message of a failed read, without its beginning.
async fn read_problem(world: &World, path: &str) -> String {
    let error = world.read(path).await.unwrap_err();
    error.strip_prefix("tool \"read_file\" failed: ").unwrap().to_owned()
}

// R05, R07
#[tokio::test]
async fn a_path_that_cannot_be_used_is_answered_with_its_problem() {
    let world = World::new();
    world.write("folder/a", "x\n");
    let folder_itself = |path: &str| format!("`{path}` is the folder itself; give the path of a file");
    let outside = |path: &str| {
        format!(
            "`{path}` is outside of the folder of this tool; give a path relative to the folder, such as `src/main.rs`"
        )
    };
    let too_long = "`path` is too long; give one of at most 4096 bytes and 256 folders";
    let absent = |path: &str| {
        format!("`{path}` does not exist; look for its name, with `grep` or a list of the folder")
    };
    let deep = |count: usize| format!("{}x", "a/".repeat(count - 1));
    let long = |bytes: usize| "./".repeat(bytes / 2 - 1) + &"b".repeat(2 + bytes % 2);
    for (path, expected) in [
        (String::new(), folder_itself("")),
        ("./.".to_owned(), folder_itself("./.")),
        ("a\0b".to_owned(), "`path` contains a NUL character; remove it".to_owned()),
        ("../a".to_owned(), outside("../a")),
        ("/etc/passwd".to_owned(), outside("/etc/passwd")),
        ("docs:a".to_owned(), absent("docs:a")),
        ("absent".to_owned(), absent("absent")),
        ("folder/absent".to_owned(), absent("folder/absent")),
        (
            "folder".to_owned(),
            "`folder` cannot be used: it is not a regular file; give the path of a file".to_owned(),
        ),
        (
            "folder/..".to_owned(),
            "`folder/..` cannot be used: it is a folder; give the path of a file".to_owned(),
        ),
        (deep(256), absent(&deep(256))),
        (deep(257), too_long.to_owned()),
        (long(4_096), absent(&long(4_096))),
        (long(4_097), too_long.to_owned()),
    ] {
        assert_eq!(read_problem(&world, &path).await, expected);
    }
}

#[tokio::test]
async fn folders_are_named_and_do_not_share_files_that_one_of_them_may_only_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir_all(path("base/inner")).unwrap();
    fs::create_dir_all(path("base-2")).unwrap();
    fs::write(path("base/inner/a.txt"), "needle\n").unwrap();
    let base = || FileTools::new(path("base")).unwrap();
    for name in ["ab", "A-b_9", &"a".repeat(32)] {
        assert!(base().with_folder(name, path("base-2")).is_ok(), "{name}");
    }
    for name in ["a", "a b", "ä1", &"a".repeat(33)] {
        let error = base().with_folder(name, path("base-2")).unwrap_err().to_string();
        let expected =
            format!("`{name}` is not a name of a folder; give 2 to 32 letters, digits, `-` or `_`");
        assert_eq!(error, expected);
    }
    let error =
        base().with_folder("docs", path("base-2")).unwrap().with_folder("DOCS", path("base")).unwrap_err();
    assert_eq!(error.to_string(), "another folder is named `DOCS`; give each its own name");
    for (first, second) in [("base/inner", "base"), ("base", "base/inner"), ("base", "base")] {
        let files =
            FileTools::new(path("base-2")).unwrap().with_read_only_folder("first", path(first)).unwrap();
        let error = files.clone().with_folder("second", path(second)).unwrap_err().to_string();
        assert!(
            error.ends_with("have files in common, and one of them is only read; give separate folders"),
            "{error}"
        );
        assert!(files.with_read_only_folder("second", path(second)).is_ok());
    }
    // An absolute path belongs to the innermost folder.
    let files = base().with_folder("inner", path("base/inner")).unwrap();
    let files = files.with_folder("outer", folder.path()).unwrap();
    let tools = Registry::builder().toolset(files).build().unwrap();
    let absolute = path("base/inner").canonicalize().unwrap();
    for (start, expected) in [
        (absolute.to_str().unwrap(), "inner:a.txt:1: needle\n"),
        (absolute.parent().unwrap().to_str().unwrap(), "inner/a.txt:1: needle\n"),
        ("outer:base", "outer:base/inner/a.txt:1: needle\n"),
        ("", "inner/a.txt:1: needle\ninner:a.txt:1: needle\nouter:base/inner/a.txt:1: needle\n"),
    ] {
        let found = tools.call("grep", json!({ "pattern": "needle", "path": start })).await.unwrap();
        assert_eq!(found.text(), expected, "{start}");
    }
}

// R09
#[tokio::test]
async fn an_edit_that_is_not_possible_is_answered_with_its_problem() {
    let world = World::new();
    let absent = "`old_text` does not occur in `a`; give it exactly as in the file, without line numbers";
    let often = |count: &str| {
        format!("`old_text` occurs {count} times in `a`; give more lines around it, or set `replace_all`")
    };
    let long = "l".repeat(200);
    let lines = |count: usize| format!("{}the similar line\n", "\n".repeat(count - 1));
    for (text, old, new, expected) in [
        (
            "x".to_owned(),
            "",
            "y",
            "`old_text` is empty; give the present text that is to be replaced".to_owned(),
        ),
        (
            "x".to_owned(),
            "x",
            "x",
            "`old_text` and `new_text` are the same; give the text that replaces it".to_owned(),
        ),
        ("aaa".to_owned(), "aa", "b", often("2")),
        ("éé é".repeat(33), "é", "e", often("99")),
        ("é".repeat(100), "é", "e", often("at least 100")),
        ("é".repeat(101), "é", "e", often("at least 100")),
        ("x".to_owned(), "y", "z", absent.to_owned()),
        ("x".to_owned(), " \n", "z", absent.to_owned()),
        (
            "one\n  two lines \n".to_owned(),
            "\n\ttow lines\nmore",
            "z",
            format!("{absent}; line 2 is similar: `two lines`"),
        ),
        (lines(5_000), "a similar line", "z", format!("{absent}; line 5000 is similar: `the similar line`")),
        (lines(5_001), "a similar line", "z", absent.to_owned()),
        (long.clone(), &format!("{}k", &long[1..]), "z", format!("{absent}; line 1 is similar: `{long}`")),
        (format!("{long}l"), &format!("{}k", &long[1..]), "z", absent.to_owned()),
        (long.clone(), &format!("{long}l"), "z", absent.to_owned()),
    ] {
        world.write("a", &text);
        world.read("a").await.unwrap();
        let error = world.edit("a", old, new).await.unwrap_err();
        assert_eq!(error.strip_prefix("tool \"edit_file\" failed: "), Some(expected.as_str()), "{old}");
        assert_eq!(fs::read_to_string(world.path("a")).unwrap(), text);
    }
}

// R09
#[tokio::test]
async fn a_file_of_more_than_16_mib_is_not_edited() {
    let world = World::new();
    world.write("a", format!("one\n{}", "a\n".repeat(8 << 20)));
    world.call("read_file", json!({ "path": "a", "limit": 1 })).await.unwrap();
    let error = world.edit("a", "one", "two").await.unwrap_err();
    let expected = "`a` has more than 16777216 bytes, the limit of this tool; use another program";
    assert!(error.ends_with(expected), "{error}");
}

/// Returns the details of a write of `new` in the place of `old`.
async fn details_of_write(world: &World, old: &str, new: &str) -> Value {
    world.write("a", old);
    world.call("read_file", json!({ "path": "a", "limit": 9_999 })).await.unwrap();
    let output = world.tools.call("write_file", json!({ "path": "a", "content": new })).await.unwrap();
    output.details().unwrap().clone()
}

// R09
#[tokio::test]
async fn the_difference_has_up_to_2000_lines_or_128_kib_with_those_around() {
    let world = World::new();
    let text = |middle: &str| format!("{}{middle}{}", "a\n".repeat(9), "z\n".repeat(9));
    let bytes =
        |rest: usize| format!("{}{}\n", format!("{}\n", "y".repeat(127)).repeat(1_023), "y".repeat(rest));
    // Three lines before and after a change belong to it.
    for (middle, is_cut) in
        [("y\n".repeat(1_994), false), ("y\n".repeat(1_995), true), (bytes(115), false), (bytes(116), true)]
    {
        let (small, large) = (text("x\n"), text(&middle));
        for (old, new) in [(&small, &large), (&large, &small)] {
            assert_eq!(details_of_write(&world, old, new).await["is_cut"], is_cut, "{}", middle.len());
        }
    }
    for (old, new, diff) in [
        (
            "1\n2\n3\n4\n5\n",
            "1\n2\n3\n4\nfive",
            "@@ -2,4 +2,4 @@\n 2\n 3\n 4\n-5\n+five\n\\ No newline at end of file\n",
        ),
        ("1\n2\n3\n4\n5\n", "0\n1\n2\n3\n4\n5\n", "@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n"),
        (
            "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
            "1\nx\n3\n4\n5\n6\n7\ny\n9\n",
            "@@ -1,9 +1,9 @@\n 1\n-2\n+x\n 3\n 4\n 5\n 6\n 7\n-8\n+y\n 9\n",
        ),
        ("1\n", "", "@@ -1,1 +0,0 @@\n-1\n"),
        ("1\n", "1\n", ""),
    ] {
        let expected = json!({ "path": "a", "is_cut": false, "diff": format!("--- a/a\n+++ b/a\n{diff}") });
        assert_eq!(details_of_write(&world, old, new).await, expected);
    }
}
