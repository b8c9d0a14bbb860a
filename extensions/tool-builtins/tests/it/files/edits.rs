use std::fs;

use tool_runtime::prelude::*;

use super::World;

// R09
#[tokio::test]
async fn the_old_text_must_occur_once_and_a_failed_edit_changes_nothing() {
    let world = World::new();
    world.write("a", "let one = 1;\nlet two = 1;\n");
    world.read("a").await.unwrap();
    let twice = world.edit("a", "= 1", "= 2").await.unwrap_err();
    assert!(twice.contains("occurs 2 times"), "{twice}");
    let none = world.edit("a", "let tow = 1;", "x").await.unwrap_err();
    assert!(none.contains("line 2 is similar: `let two = 1;`"), "{none}");
    assert!(world.edit("a", "", "x").await.unwrap_err().contains("empty"));
    assert_eq!(fs::read(world.path("a")).unwrap(), b"let one = 1;\nlet two = 1;\n");
    // R18
    let all = json!({ "path": "a", "old_text": "= 1", "new_text": "= 2", "replace_all": true });
    assert_eq!(world.call("edit_file", all).await.unwrap(), "edited `a`: 2 replacements\n");
    assert_eq!(fs::read(world.path("a")).unwrap(), b"let one = 2;\nlet two = 2;\n");
    assert_eq!(world.edit("a", "one", "1").await.unwrap(), "edited `a`: 1 replacement\n");
}

// R18
#[tokio::test]
async fn a_file_that_was_not_read_or_changed_since_is_refused() {
    let world = World::new();
    world.write("a", "one\n");
    assert!(world.edit("a", "one", "two").await.unwrap_err().contains("was not read yet"));
    world.read("a").await.unwrap();
    world.write("a", "one more\n");
    assert!(world.edit("a", "one", "two").await.unwrap_err().contains("changed since it was read"));
    world.read("a").await.unwrap();
    world.edit("a", "one", "two").await.unwrap();
    // An edit knows what it wrote.
    world.edit("a", "two", "three").await.unwrap();
    assert_eq!(fs::read(world.path("a")).unwrap(), b"three more\n");
    world.write("cells.ipynb", "{}");
    assert!(world.edit("cells.ipynb", "{}", "[]").await.unwrap_err().contains("notebook"));
}

// R18
#[tokio::test]
async fn encoding_mark_and_line_ends_are_kept() {
    let world = World::new();
    let cases: [(&str, &[u8], &[u8]); 4] = [
        ("crlf", b"a\r\nb\r\nc\r\n", b"x\r\ny\r\nc\r\n"),
        ("bom", b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfx\ny\n"),
        ("latin", b"a\nb\n\xe9\x81\n", b"x\ny\n\xe9\x81\n"),
        ("utf16", b"\xfe\xff\0a\0\n\0b\0\n", b"\xfe\xff\0x\0\n\0y\0\n"),
    ];
    for (name, before, after) in cases {
        world.write(name, before);
        world.read(name).await.unwrap();
        world.edit(name, "a\nb\n", "x\ny\n").await.unwrap();
        assert_eq!(fs::read(world.path(name)).unwrap(), after, "{name}");
    }
    let unmappable = world.edit("latin", "x", "雪").await.unwrap_err();
    assert!(unmappable.contains("has no `雪`"), "{unmappable}");
    assert_eq!(fs::read(world.path("latin")).unwrap(), b"x\ny\n\xe9\x81\n");
}

#[cfg(unix)]
#[tokio::test]
async fn an_edit_replaces_the_name_and_keeps_permissions() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let world = World::new();
    world.write("a", "one\n");
    fs::set_permissions(world.path("a"), fs::Permissions::from_mode(0o750)).unwrap();
    let outer = world.folder.path().join("hard");
    fs::hard_link(world.path("a"), &outer).unwrap();
    symlink("a", world.path("link")).unwrap();
    world.read("link").await.unwrap();
    world.edit("link", "one", "two").await.unwrap();
    assert_eq!(fs::read(&outer).unwrap(), b"one\n");
    assert_eq!(fs::read(world.path("a")).unwrap(), b"two\n");
    assert!(fs::symlink_metadata(world.path("link")).unwrap().is_symlink());
    assert_eq!(fs::metadata(world.path("a")).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(fs::read_dir(world.path("")).unwrap().count(), 2);
    fs::set_permissions(world.path("a"), fs::Permissions::from_mode(0o440)).unwrap();
    assert!(world.edit("a", "two", "three").await.unwrap_err().contains("read-only"));
}

// R18
#[tokio::test]
async fn each_line_keeps_its_own_end() {
    let world = World::new();
    // The lines b and d end in CRLF.
    let cases: [(&str, &str, &[u8]); 6] = [
        ("b\nc", "b\nC", b"a\nb\r\nC\nd\r\ne"),
        ("a\nb\n", "a\nnew\nb\n", b"a\nnew\r\nb\r\nc\nd\r\ne"),
        ("c\n", "", b"a\nb\r\nd\r\ne"),
        ("d", "d\nd", b"a\nb\r\nc\nd\r\nd\r\ne"),
        ("a\nb\nc\nd\n", "x\nb\nd\n", b"x\nb\r\nd\r\ne"),
        ("b\r\nc\r\n", "B\r\n", b"a\nB\r\nd\r\ne"),
    ];
    for (old, new, after) in cases {
        world.write("a", b"a\nb\r\nc\nd\r\ne");
        world.read("a").await.unwrap();
        world.edit("a", old, new).await.unwrap();
        assert_eq!(fs::read(world.path("a")).unwrap(), after, "{old:?} -> {new:?}");
    }
    world.write("a", b"a\nb\r\nc\nd\r\ne");
    world.read("a").await.unwrap();
    world.write_file("a", "a\nb\nd\nmore\n").await.unwrap();
    assert_eq!(fs::read(world.path("a")).unwrap(), b"a\nb\r\nd\r\nmore\r\n");
}

// R18
#[tokio::test]
async fn each_line_of_a_large_text_keeps_its_end_wherever_it_moves() {
    const LINES: usize = 5000;
    let world = World::new();
    let end = |number: usize| if number.is_multiple_of(3) { "\r\n" } else { "\n" };
    let text: String = (0..LINES).map(|number| format!("line {number}{}", end(number))).collect();
    world.write("a", &text);
    let whole = json!({ "path": "a", "limit": LINES });
    world.tools.call("read_file", whole).await.unwrap();
    let kept = (0..LINES).filter(|number| number % 1000 != 500);
    let new: String = kept.clone().map(|number| format!("line {number}\n")).collect();
    world.write_file("a", &format!("new first\n{new}new last\n")).await.unwrap();
    let changed = fs::read_to_string(world.path("a")).unwrap();
    let own: String = kept.map(|number| format!("line {number}{}", end(number))).collect();
    assert!(changed.contains(&own), "{}", &changed[..200]);
}

// R09
#[tokio::test]
async fn the_details_have_the_unified_difference_as_far_as_it_is_small() {
    let world = World::new();
    let lines = |changed: &str| {
        (1..=20).map(|n| if n == 10 { changed.into() } else { format!("{n}\n") }).collect::<String>()
    };
    world.write("a", lines("ten\n"));
    world.read("a").await.unwrap();
    let edit = json!({ "path": "a", "old_text": "ten\n", "new_text": "TEN\nmore\n" });
    let output = world.tools.call("edit_file", edit).await.unwrap();
    assert_eq!(
        output.details().unwrap()["diff"],
        "--- a/a\n+++ b/a\n@@ -7,7 +7,8 @@\n 7\n 8\n 9\n-ten\n+TEN\n+more\n 11\n 12\n 13\n"
    );
    let new = json!({ "path": "b", "content": "x" });
    let output = world.tools.call("write_file", new).await.unwrap();
    assert_eq!(
        output.details().unwrap()["diff"],
        "--- a/b\n+++ b/b\n@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n"
    );
    let large = json!({ "path": "b", "content": "y\n".repeat(100_000) });
    let details = world.tools.call("write_file", large).await.unwrap();
    assert_eq!(details.details(), Some(&json!({ "path": "b", "is_cut": true, "diff": "" })));
}

// R18
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_edit_is_lost_among_many_at_once() {
    let world = World::new();
    let content: String = (0..16).map(|number| format!("<{number}>\n")).collect();
    world.write("a", content);
    world.read("a").await.unwrap();
    let edits = (0..16).map(|number| {
        let tools = world.tools.clone();
        let edit =
            json!({ "path": "a", "old_text": format!("<{number}>"), "new_text": format!("({number})") });
        async move { tools.call("edit_file", edit).await.unwrap() }
    });
    let mut tasks = tokio::task::JoinSet::new();
    for edit in edits {
        tasks.spawn(edit);
    }
    tasks.join_all().await;
    let expected: String = (0..16).map(|number| format!("({number})\n")).collect();
    assert_eq!(fs::read_to_string(world.path("a")).unwrap(), expected);
}
