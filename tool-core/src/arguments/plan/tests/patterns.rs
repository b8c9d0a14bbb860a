//! `pattern` has the syntax and the meaning of ECMA-262.

use serde_json::{Value, json};

use super::{plan, problems};

#[track_caller]
fn check(pattern: &str, matching: &[&str], others: &[&str]) {
    let schema = json!({ "pattern": pattern });
    let plan = plan(&schema);
    for text in matching {
        assert!(plan.admits(&Value::from(*text)), "{pattern} should match {text:?}");
    }
    for text in others {
        assert!(!plan.admits(&Value::from(*text)), "{pattern} should not match {text:?}");
    }
}

#[test]
fn classes_are_those_of_ascii() {
    check(r"^\d$", &["7"], &["٣", "a"]);
    check(r"^\w$", &["a", "_", "0"], &["é", "-"]);
    check(r"^\W$", &["é", "-"], &["a"]);
    check(r"^\D$", &["٣"], &["7"]);
    check(r"^[\d\-x]$", &["7", "-", "x"], &["٣", "y"]);
    check(r"^[^\w]$", &["é"], &["a"]);
    check(r"^[\D]$", &["a"], &["7"]);
}

#[test]
fn space_is_that_of_ecma() {
    check(r"^\s$", &[" ", "\t", "\u{FEFF}", "\u{A0}", "\u{2028}", "\u{3000}"], &["\u{85}", "a"]);
    check(r"^\S$", &["\u{85}", "a"], &["\u{FEFF}"]);
    check(r"^[^\s]$", &["a"], &[" "]);
}

#[test]
fn dot_is_no_line_end() {
    check("^.$", &["a", "é", "😀"], &["\n", "\r", "\u{2028}"]);
}

#[test]
fn word_boundary_is_that_of_ascii() {
    check(r"\bcat\b", &["a cat", "écat"], &["scat"]);
    check(r"a\B", &["ab"], &["a"]);
}

#[test]
fn end_is_the_end_of_the_text() {
    check("^a$", &["a"], &["a\n", "a\nb"]);
}

#[test]
fn brackets_and_operators_in_a_class_are_literal() {
    check("^[[]$", &["["], &["a"]);
    check("^[a&&b]$", &["a", "b", "&"], &["c"]);
    check("^[a~~b]$", &["~"], &["c"]);
    check("^[+--]$", &["+", ",", "-"], &["."]);
    check("^[-a]$", &["-", "a"], &["b"]);
    check(r"^[a-\d]$", &["a", "-", "5"], &["b"]);
    check(r"^[\]\\^]$", &["]", "\\", "^"], &["a"]);
    check("^[]a", &[], &["]a", "a"]);
    check("^[^]$", &["\n", "é"], &[""]);
    check(r"^[\b]$", &["\u{8}"], &["b"]);
}

#[test]
fn braces_that_repeat_nothing_are_literal() {
    check("^{a}$", &["{a}"], &["a"]);
    check("^a{,2}$", &["a{,2}"], &["aa"]);
    check("^a{2}b{1,}c{0,1}$", &["aabc", "aabb"], &["ab"]);
    check("]}", &["]}"], &["]"]);
}

#[test]
fn escapes_name_characters() {
    check(r"^\x41\u0042\u{43}\cJ\0\t\/\-$", &["ABC\n\0\t/-"], &["ABC"]);
    check(r"^\uD83D\uDE00$", &["😀"], &["a"]);
    check(r"^\p{Lu}\P{Lu}$", &["Éa"], &["aa"]);
    check(r"^\$\.\*$", &["$.*"], &["a"]);
}

#[test]
fn what_is_no_escape_is_a_problem() {
    for pattern in [
        r"\A",
        r"\Z",
        r"\h",
        r"\uD83D",
        r"\x4",
        r"\u{110000}",
        r"\k<a>",
        r"\p",
        "\\",
        "[",
        "(?<!a)",
        "(?!a)",
        "(?<=a)",
    ] {
        assert_eq!(problems(&json!({ "pattern": pattern })).len(), 1, "{pattern}");
    }
}

#[test]
fn named_groups_are_groups() {
    check(r"^(?<year>\d{4})-(?:a|b)$", &["2024-a"], &["2024-c"]);
}
