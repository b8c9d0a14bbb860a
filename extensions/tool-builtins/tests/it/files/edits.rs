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
    assert!(world.call("edit_file", all).await.unwrap().contains("2 replacements"));
    assert_eq!(fs::read(world.path("a")).unwrap(), b"let one = 2;\nlet two = 2;\n");
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
