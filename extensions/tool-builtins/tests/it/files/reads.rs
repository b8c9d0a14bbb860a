use std::fmt::Write as _;

use tool_runtime::prelude::*;

use super::World;

// R05
#[tokio::test]
async fn a_range_is_read_with_numbers_and_the_call_that_continues() {
    let world = World::new();
    world.write("ten", "1\n2\nthree\nfour\n5\n6\n7\n8\n9\n10\n");
    let page = world.call("read_file", json!({ "path": "ten", "offset": 3, "limit": 2 })).await.unwrap();
    assert_eq!(
        page,
        "`ten`, lines 3-4; more lines follow, continue with `offset` 5\n     3\tthree\n     4\tfour\n"
    );
    let last = world.call("read_file", json!({ "path": "ten", "offset": 10, "limit": 1 })).await.unwrap();
    assert_eq!(last, "`ten`, lines 10-10 of 10\n    10\t10\n");
    let past = world.call("read_file", json!({ "path": "ten", "offset": 11 })).await.unwrap_err();
    assert!(past.contains("give an `offset` from 1 to 10"), "{past}");
}

// R05
#[tokio::test]
async fn a_file_over_the_limit_is_read_by_ranges_only() {
    let world = World::new();
    let mut text = String::new();
    for number in 0..200_000 {
        let _ = writeln!(text, "line {number}");
    }
    world.write("large", text);
    let whole = world.read("large").await.unwrap_err();
    assert!(whole.contains("read a range"), "{whole}");
    let page =
        world.call("read_file", json!({ "path": "large", "offset": 199_999, "limit": 5 })).await.unwrap();
    assert!(page.ends_with("199999\tline 199998\n200000\tline 199999\n"), "{page}");
}

#[tokio::test]
async fn a_huge_line_is_cut_with_the_number_of_its_rest() {
    let world = World::new();
    world.write("huge", format!("{}\nend\n", "ä".repeat(300_000)));
    let page = world.read("huge").await.unwrap();
    assert!(page.contains("[298000 more characters; search this line with `grep`]\n     2\tend\n"));
    assert!(page.len() < 10_000);
}

#[tokio::test]
async fn texts_in_other_encodings_are_read_and_binary_files_are_refused() {
    let world = World::new();
    world.write("latin", b"caf\xe9\n");
    world.write("utf16", b"\xff\xfec\0a\0f\0\xe9\0\n\0");
    world.write("binary", b"MZ\0\0");
    for name in ["latin", "utf16"] {
        assert!(world.read(name).await.unwrap().contains("     1\tcafé\n"), "{name}");
    }
    assert!(world.read("binary").await.unwrap_err().contains("binary file"));
    assert!(world.read(".").await.unwrap_err().contains("folder"));
}

// R09: a hole in a file costs no room on a disk.
#[tokio::test]
async fn a_line_without_an_end_is_not_read_to_the_end_of_its_file() {
    let world = World::new();
    world.write("long", format!("first\n{}", "a".repeat(17 << 20)));
    for range in
        [json!({ "offset": 2, "limit": 1 }), json!({ "offset": 1, "limit": 9 }), json!({ "offset": 3 })]
    {
        let mut arguments = range.clone();
        arguments["path"] = json!("long");
        let error = world.call("read_file", arguments).await.unwrap_err();
        assert!(error.contains("line 2 of `long` has more than 16777216 bytes"), "{range}: {error}");
    }
    let before = world.call("read_file", json!({ "path": "long", "offset": 1, "limit": 1 })).await.unwrap();
    assert!(before.contains("1\tfirst\n"), "{before}");
}
