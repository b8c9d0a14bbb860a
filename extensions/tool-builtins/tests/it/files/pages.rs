//! Pages of texts: their lines, their ends, and the limits of one call.

use std::fs;

use proptest::prelude::*;
use tokio::runtime::Runtime;
use tool_builtins::FileTools;
use tool_runtime::Registry;

use super::World;

/// Returns the result of a read of `text`, by the definition of a page.
fn expected_page(text: &str, offset: Option<usize>, limit: Option<usize>) -> Result<String, String> {
    let lines: Vec<_> =
        text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line)).collect();
    let (first, count) = (offset.unwrap_or(1), lines.len());
    if count == 0 {
        return Ok("`a` is empty\n".to_owned());
    }
    if first > count {
        return Err(format!(
            "tool \"read_file\" failed: `offset` {first} is past the end of `a`, which has {count} lines; give an `offset` from 1 to {count}"
        ));
    }
    let last = count.min(first - 1 + limit.unwrap_or(2_000));
    let end = match last < count {
        true => format!("; more lines follow, continue with `offset` {}", last + 1),
        false => format!(" of {count}"),
    };
    let mut page = format!("`a`, lines {first}-{last}{end}\n");
    for number in first..=last {
        let line = lines[number - 1];
        page.push_str(&format!("{number:>6}\t{}\n", line.strip_suffix('\r').unwrap_or(line)));
    }
    Ok(page)
}

fn read_arguments(offset: Option<usize>, limit: Option<usize>) -> serde_json::Value {
    serde_json::json!({ "path": "a", "offset": offset, "limit": limit })
}

/// Returns a text in one of five encodings.
fn encoded(text: &str, form: usize) -> Vec<u8> {
    let units = || [0xfeff].into_iter().chain(text.encode_utf16());
    match form {
        0 => text.as_bytes().to_vec(),
        1 => [b"\xef\xbb\xbf", text.as_bytes()].concat(),
        2 => units().flat_map(u16::to_le_bytes).collect(),
        3 => units().flat_map(u16::to_be_bytes).collect(),
        _ => text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    // R05
    #[test]
    fn a_page_has_the_lines_of_its_range_in_each_encoding(
        text in "[aé\r\n]{0,24}",
        offset in proptest::option::of(1..9_usize),
        limit in proptest::option::of(1..6_usize),
        form in 0..5_usize,
    ) {
        let world = World::new();
        world.write("a", encoded(&text, form));
        let page = Runtime::new().unwrap().block_on(world.call("read_file", read_arguments(offset, limit)));
        prop_assert_eq!(page, expected_page(&text, offset, limit));
    }
}

// R05
#[tokio::test]
async fn each_range_of_a_small_text_has_its_lines() {
    let world = World::new();
    for text in ["", "a", "\n", "a\n", "a\nb", "a\n\nb\r\n"] {
        world.write("a", text);
        for (offset, limit) in (1..5).flat_map(|offset| (1..4).map(move |limit| (Some(offset), Some(limit))))
        {
            let page = world.call("read_file", read_arguments(offset, limit)).await;
            assert_eq!(page, expected_page(text, offset, limit), "{text:?} {offset:?} {limit:?}");
        }
    }
}

// R05: a file is read in parts of 64 KiB, and searched for a line in parts of 256 KiB.
#[tokio::test]
async fn lines_are_found_wherever_a_part_of_the_file_ends() {
    let world = World::new();
    for part in [64 << 10, 256 << 10] {
        for end in part - 2..=part + 2 {
            // Lines of 10 characters, one of which ends near the end of a part.
            let mut text = "a".repeat(end % 10);
            text.push_str(&"\n123456789".repeat(end / 10));
            for text in [format!("{text}\n"), format!("{text}\nlast\nend")] {
                world.write("a", &text);
                let count = text.split_inclusive('\n').count();
                for offset in [count - 3, count - 1, count, count + 1] {
                    let page = world.call("read_file", read_arguments(Some(offset), Some(3))).await;
                    assert_eq!(page, expected_page(&text, Some(offset), Some(3)), "{end} {offset}");
                }
            }
        }
    }
}

// R05: a text in UTF-16 is decoded from its start, and one in UTF-8 from the start of the page.
#[tokio::test]
async fn a_line_behind_more_than_16_mib_of_others_is_found() {
    let world = World::new();
    let line = format!("{}\n", "a".repeat(4_095));
    for (form, count) in [(0, 4_300), (2, 2_100)] {
        let mark = encoded("", form);
        let [line, end] = [line.as_str(), "end"].map(|text| encoded(text, form).split_off(mark.len()));
        world.write("a", [mark, line.repeat(count), end].concat());
        let number = count + 1;
        let page = world.call("read_file", read_arguments(Some(number), Some(1))).await.unwrap();
        assert_eq!(page, format!("`a`, lines {number}-{number} of {number}\n{number:>6}\tend\n"));
    }
}

// R05
#[tokio::test]
async fn a_file_is_read_without_a_range_up_to_the_limit_of_the_program() {
    let world = World::new();
    for (max_bytes, bytes) in [(None, 1 << 20), (Some(9), 9)] {
        let files = FileTools::new(world.path("")).unwrap();
        let files = max_bytes.map_or(files.clone(), |max_bytes| files.with_max_file_bytes(max_bytes));
        let tools = Registry::builder().toolset(files).build().unwrap();
        for is_over in [false, true] {
            world.write("a", "\n".repeat(bytes + usize::from(is_over)));
            let read = tools.call("read_file", read_arguments(None, None)).await;
            let range = tools.call("read_file", read_arguments(Some(1), None)).await;
            assert_eq!((read.is_err(), range.is_err()), (is_over, false));
            if let Err(error) = read {
                let received = format!("`a` has {} bytes, and {bytes} can be read at once", bytes + 1);
                let fix = "read a range, with `offset` 1 and `limit` 2000, or search it with `grep`";
                assert!(error.to_string().ends_with(&format!("{received}; {fix}")), "{error}");
            }
        }
    }
}

// R05
#[tokio::test]
async fn a_page_ends_after_2000_lines_or_256_kib_and_a_line_after_2000_characters() {
    let world = World::new();
    for (line, count, last) in [("", 2_001, 2_000), ("é", 2_000, 2_000), (&*"a".repeat(1_016), 257, 256)] {
        world.write("a", format!("{line}\n").repeat(count));
        let page = world.read("a").await.unwrap();
        let end = match last < count {
            true => format!("; more lines follow, continue with `offset` {}", last + 1),
            false => format!(" of {count}"),
        };
        let shown: String = (1..=last).map(|number| format!("{number:>6}\t{line}\n")).collect();
        assert_eq!(page, format!("`a`, lines 1-{last}{end}\n{shown}"));
    }
    world.write("a", format!("{}\n{}\nend\n", "é".repeat(2_000), "é".repeat(2_001)));
    let line = "é".repeat(2_000);
    let expected = format!(
        "`a`, lines 1-3 of 3\n     1\t{line}\n     2\t{line} [1 more characters; search this line with `grep`]\n     3\tend\n"
    );
    assert_eq!(world.read("a").await.unwrap(), expected);
}

// R18
#[tokio::test]
async fn a_file_is_known_in_full_by_a_read_of_all_its_lines_from_the_first() {
    let world = World::new();
    for (text, offset, limit, is_known) in [
        ("one\ntwo\n", None, None, true),
        ("one\ntwo\n", Some(1), Some(2), true),
        ("one\ntwo\n", Some(1), Some(1), false),
        ("one\ntwo\n", Some(2), None, false),
        (&*format!("{}\ntwo\n", "a".repeat(2_001)), None, None, false),
    ] {
        // Another file, of which nothing is known.
        fs::remove_file(world.path("a")).unwrap_or_default();
        world.write("a", text);
        world.call("read_file", read_arguments(offset, limit)).await.unwrap();
        let written = world.write_file("a", "new\n").await;
        assert_eq!(written.is_ok(), is_known, "{text} {offset:?} {limit:?}: {written:?}");
    }
}

// R05: the start of a file tells its encoding.
#[tokio::test]
async fn a_text_is_utf_8_unless_its_first_64_kib_are_not() {
    let world = World::new();
    let start = "a\n".repeat(32 << 10);
    let after = |begin: usize, end: &[u8]| [&start.as_bytes()[begin..], end].concat();
    let cases: [(Vec<u8>, usize, &str); 8] = [
        (after(1, "é\nend".as_bytes()), 32_769, "é"),
        (after(0, b"\xe9\nend"), 32_769, "\u{fffd}"),
        (after(1, b"\xe9\nend"), 32_769, "\u{fffd}"),
        (after(2, b"\xe9\nend"), 32_768, "é"),
        (b"\n\xc3".to_vec(), 2, "Ã"),
        (b"\n\xc3\xa9".to_vec(), 2, "é"),
        (b"\n\x80".to_vec(), 2, "€"),
        (b"\xff\xfe\n\0\0\xd8".to_vec(), 2, "\u{fffd}"),
    ];
    for (bytes, line, expected) in cases {
        world.write("a", &bytes);
        let page = world.call("read_file", read_arguments(Some(line), Some(1))).await.unwrap();
        let lines: Vec<_> = page.lines().collect();
        assert_eq!(lines.last().unwrap().split('\t').nth(1), Some(expected), "{page}");
        let note = "some bytes are not valid in the encoding of the file, and are shown as \u{fffd}";
        assert_eq!(lines[1] == note, expected == "\u{fffd}", "{page}");
    }
}

// R05
#[tokio::test]
async fn bytes_that_are_not_valid_before_a_page_are_not_noted() {
    let world = World::new();
    let text = [&b"a\n".repeat(32 << 10)[..], b"\xff\nend\n"].concat();
    world.write("a", text);
    let page = world.call("read_file", read_arguments(Some(32_770), Some(1))).await.unwrap();
    assert_eq!(page, "`a`, lines 32770-32770 of 32770\n 32770\tend\n");
}
