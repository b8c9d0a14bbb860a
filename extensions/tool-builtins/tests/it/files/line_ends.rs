//! The ends of lines: each line that a change keeps has the end that it had.

use std::fs;

use proptest::{collection::vec, prelude::*};
use tokio::runtime::Runtime;
use tool_runtime::prelude::*;

use super::World;

/// A line of a text: its number, its end, and whether a change keeps it, changes it, or adds another one before it.
#[derive(Debug, Clone)]
struct Line {
    is_crlf: bool,
    is_kept: bool,
    has_new_before: bool,
}

fn line() -> impl Strategy<Value = Line> {
    (any::<bool>(), proptest::bool::weighted(0.8), proptest::bool::weighted(0.2))
        .prop_map(|(is_crlf, is_kept, has_new_before)| Line { is_crlf, is_kept, has_new_before })
}

/// Returns the lines of a text with their ends.
fn lines_of(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    // R18: of up to 128 lines between the first and the last change, the least difference is found, and of more a simple one.
    #[test]
    fn new_content_keeps_the_end_of_each_line_that_it_keeps(lines in prop_oneof![vec(line(), 1..20), vec(line(), 150..200)]) {
        let (world, runtime) = (World::new(), Runtime::new().unwrap());
        let (mut old, mut new) = (String::new(), String::new());
        for (number, line) in lines.iter().enumerate() {
            old.push_str(&format!("{number}{}", if line.is_crlf { "\r\n" } else { "\n" }));
            if line.has_new_before {
                new.push_str(&format!("new {number}\n"));
            }
            if line.is_kept {
                new.push_str(&format!("{number}\n"));
            }
        }
        world.write("a", &old);
        runtime.block_on(world.read("a")).unwrap();
        runtime.block_on(world.write_file("a", &new)).unwrap();
        let changed = fs::read_to_string(world.path("a")).unwrap();
        prop_assert_eq!(changed.replace("\r\n", "\n"), new);
        let kept: Vec<_> = lines_of(&changed).into_iter().filter(|line| !line.starts_with("new")).collect();
        let expected = lines_of(&old).into_iter().zip(&lines).filter(|(_, line)| line.is_kept);
        prop_assert_eq!(kept, expected.map(|(text, _)| text).collect::<Vec<_>>());
    }

    // R18
    #[test]
    fn a_replacement_keeps_all_bytes_around_it(
        text in "([ab]{0,2}(\n|\r\n)){0,6}[ab]?",
        old in "[ab\n]{1,4}",
        new in "[abc\n]{0,4}",
    ) {
        let (world, runtime) = (World::new(), Runtime::new().unwrap());
        let plain = text.replace("\r\n", "\n");
        prop_assume!(plain.contains(&old) && old != new);
        world.write("a", &text);
        runtime.block_on(world.read("a")).unwrap();
        let arguments = json!({ "path": "a", "old_text": old, "new_text": new, "replace_all": true });
        runtime.block_on(world.call("edit_file", arguments)).unwrap();
        let changed = fs::read_to_string(world.path("a")).unwrap();
        prop_assert_eq!(changed.replace("\r\n", "\n"), plain.replace(&old, &new));
        // The bytes before the first occurrence, and after the last one.
        let first = plain.find(&old).unwrap();
        let last = plain.match_indices(&old).last().unwrap().0 + old.len();
        let in_file = |place: usize| {
            lines_of(&text).iter().take(plain[..place].matches('\n').count()).filter(|line| line.ends_with("\r\n")).count()
        };
        prop_assert_eq!(changed.get(..first + in_file(first)), text.get(..first + in_file(first)));
        let rest = &text[last + in_file(last)..];
        prop_assert!(changed.ends_with(rest), "{changed:?} {rest:?}");
    }
}

// R18
#[tokio::test]
async fn a_new_line_has_the_end_of_the_line_that_it_replaces_or_else_of_the_one_before() {
    let world = World::new();
    // The lines 2, 3 and 5 end in CRLF.
    let text = "1\n2\r\n3\r\n4\n5\r\n6\n";
    for (new, expected) in [
        ("1\nx\n3\n4\n5\n6\n", "1\nx\r\n3\r\n4\n5\r\n6\n"),
        ("1\n2\n3\nx\ny\n5\n6\n", "1\n2\r\n3\r\nx\ny\n5\r\n6\n"),
        ("1\n2\n3\n4\nx\ny\n6\n", "1\n2\r\n3\r\n4\nx\r\ny\r\n6\n"),
        ("1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\r\n3\r\n4\n5\r\n6\n7\n8\n"),
        ("x\n", "x\n"),
        ("x\ny\nz\n", "x\ny\r\nz\r\n"),
        ("6\n5\n", "6\n5\r\n"),
        ("", ""),
        ("1", "1"),
    ] {
        world.write("a", text);
        world.read("a").await.unwrap();
        world.write_file("a", new).await.unwrap();
        assert_eq!(fs::read_to_string(world.path("a")).unwrap(), expected, "{new:?}");
    }
    // Lines that occur more than once are kept where the difference is the least.
    world.write("a", "s\na\r\nb\na\r\nb\ne\n");
    world.read("a").await.unwrap();
    world.write_file("a", "S\nb\na\nb\nE\n").await.unwrap();
    assert_eq!(fs::read_to_string(world.path("a")).unwrap(), "S\nb\na\r\nb\nE\n");
    // A text of lines with one end has it in each new line, too.
    // The first of two equal lines is kept.
    world.write("a", "1\r\n1\n");
    world.read("a").await.unwrap();
    world.write_file("a", "1\n").await.unwrap();
    assert_eq!(fs::read_to_string(world.path("a")).unwrap(), "1\r\n");
    for (text, expected) in [("1\r\n2", "x\r\ny\r\n"), ("1\n2", "x\ny\n"), ("1", "x\ny\n")] {
        world.write("a", text);
        world.read("a").await.unwrap();
        world.write_file("a", "x\ny\n").await.unwrap();
        assert_eq!(fs::read_to_string(world.path("a")).unwrap(), expected, "{text:?}");
    }
}
