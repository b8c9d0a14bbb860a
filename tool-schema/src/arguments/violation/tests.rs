//! Limits, order and counts of violations.
#![allow(clippy::panic, reason = "a test fails by panicking")]

use super::{Findings, Violation, Violations, shorten_at_end, shorten_in_middle};

fn violation(text: &str) -> Violation {
    Violation::new("/a", text, "1")
}

fn findings(all: &[(&[usize], &str)]) -> Findings {
    let mut findings = Findings::default();
    for (order, text) in all {
        findings.add(order.to_vec(), || violation(text));
    }
    findings
}

/// Returns the texts of the kept violations and the number of all.
fn shown(findings: Findings) -> (Vec<String>, usize) {
    let violations = Violations::from(findings);
    (violations.iter().map(|it| it.expected.clone()).collect(), violations.total())
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn parts_of_a_violation_have_at_most_two_hundred_characters() {
    for letter in ["a", "é"] {
        let whole = letter.repeat(200);
        assert_eq!((shorten_at_end(whole.clone()), shorten_in_middle(whole.clone())), (whole.clone(), whole));
        let long = letter.repeat(201);
        assert_eq!(shorten_at_end(long.clone()), format!("{}… (201 characters)", letter.repeat(182)));
        assert_eq!(shorten_in_middle(long), format!("{}…{}", letter.repeat(99), letter.repeat(99)));
        assert_eq!(shorten_at_end(letter.repeat(12_345)).chars().count(), 200);
    }
    let pointer: String = ('a'..='z').cycle().take(300).collect();
    let short = shorten_in_middle(pointer.clone());
    assert_eq!(short, format!("{}…{}", &pointer[..99], &pointer[201..]));
}

#[test]
fn a_hidden_violation_keeps_what_was_expected_without_the_words_of_a_decoder() {
    for (expected, received, shown) in [
        ("an integer", "7", "/a: expected an integer, got a value that is hidden"),
        (
            "something that can be read (`7` is bad)",
            "7",
            "/a: expected something that can be read, got a value that is hidden",
        ),
        ("the property `a`", "nothing", "/a: expected the property `a`, got nothing"),
    ] {
        let mut violation = Violation::new("/a", expected, received);
        violation.hide();
        assert_eq!(violation.to_string(), shown);
    }
}

#[test]
fn arguments_that_are_no_object_are_called_by_their_kind() {
    for (pointer, expected, received, shown) in [
        ("", "an object", "[1]", "the arguments: expected an object, got the array [1]"),
        ("", "an object", "\"a\"", "the arguments: expected an object, got the string \"a\""),
        ("", "an object", "-1", "the arguments: expected an object, got the number -1"),
        ("", "an object", "12", "the arguments: expected an object, got the number 12"),
        ("", "an object", "true", "the arguments: expected an object, got true"),
        ("", "an array", "12", "the arguments: expected an array, got 12"),
        ("/a", "an object", "12", "/a: expected an object, got 12"),
    ] {
        assert_eq!(Violation::new(pointer, expected, received).to_string(), shown);
    }
}

#[test]
fn lines_end_before_the_first_one_that_does_not_fit() {
    let all = Violations::from(vec![violation("a"), violation("b"), violation("c")]);
    let line = |text: &str| format!("\n- /a: expected {text}, got 1");
    let one = line("a").len();
    for (room, count) in [(0, 1), (one, 1), (2 * one - 1, 1), (2 * one, 2), (3 * one - 1, 2), (3 * one, 3)] {
        let shown: String = ["a", "b", "c"].iter().take(count).map(|it| line(it)).collect();
        let rest = if count < 3 { format!("\n- and {} more", 3 - count) } else { String::new() };
        assert_eq!(all.lines(room), shown + &rest, "{room}");
    }
    assert_eq!(Violations::new(vec![violation("a")], 1_235).lines(0), line("a") + "\n- and 1,234 more");
    assert_eq!(Violations::default().lines(0), "");
}

#[test]
fn a_list_of_violations_counts_those_that_it_lacks() {
    let many: Vec<_> = (0..25).map(|at| violation(&at.to_string())).collect();
    let all = Violations::from(many.clone());
    assert_eq!((all.len(), all.total()), (20, 25));
    assert!(all.to_string().ends_with("19, got 1; and 5 more"), "{all}");
    let few = Violations::new(many[..2].to_vec(), 1);
    assert_eq!(
        (few.total(), few.to_string()),
        (2, "/a: expected 0, got 1; /a: expected 1, got 1".to_owned())
    );
    // One more at the start, unless it is known.
    let known = few.clone().insert_first_if_new(violation("1"));
    assert_eq!((known.len(), known.total()), (2, 2));
    let more = few.insert_first_if_new(violation("x"));
    assert_eq!((more.len(), more.total(), more[0].expected.as_str()), (3, 3, "x"));
    let full = all.insert_first_if_new(violation("x"));
    assert_eq!((full.len(), full.total(), full[19].expected.as_str()), (20, 26, "18"));
}

#[test]
fn findings_are_sorted_by_their_places_and_each_is_counted_once() {
    let all = findings(&[
        (&[2], "c"),
        (&[1], "a"),
        (&[1, 0], "b"),
        (&[2], "d"),
        (&[2], "c"),
        (&[1], "a"),
        (&[1], "c"),
    ]);
    assert_eq!((all.is_empty(), all.total()), (false, 5));
    assert_eq!(shown(all), (texts(&["a", "c", "b", "c", "d"]), 5));
    let mut full = Findings::default();
    assert!(full.is_empty());
    for at in 0..20 {
        full.add(vec![10 + at], || violation(&at.to_string()));
    }
    // Later ones, and further ones at the last place, are counted without a text; an earlier one takes its place.
    full.add(vec![30], || panic!("it is not listed"));
    full.add(vec![29], || panic!("it is not listed"));
    full.add(vec![5], || violation("first"));
    full.add(vec![29], || panic!("it is not listed"));
    let (texts, total) = shown(full);
    assert_eq!((texts.len(), total, texts[0].as_str(), texts[19].as_str()), (20, 24, "first", "18"));
}

#[test]
fn numbers_that_are_too_large_and_repeated_names_replace_what_was_found_at_their_places() {
    let found = || findings(&[(&[1], "a"), (&[3], "c")]);
    let large = findings(&[(&[2], "b"), (&[3], "large")]);
    let with_large = found().with_too_large(&large);
    assert_eq!(shown(with_large), (texts(&["a", "b", "c"]), 3));
    let repeated = findings(&[(&[0], "z"), (&[3], "once")]);
    assert_eq!(shown(found().with_repeated(&repeated)), (texts(&["z", "a", "once"]), 3));
    let moved = found().with_mapped_locations(|order| order.iter_mut().for_each(|step| *step += 1));
    let written = moved.with_original_spellings(&[(vec![2], "1.50"), (vec![3], "x")]);
    let received: Vec<_> = Violations::from(written).iter().map(|it| it.received.clone()).collect();
    assert_eq!(received, ["1.50", "1"]);
}
