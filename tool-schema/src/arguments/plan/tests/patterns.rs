//! `pattern` has the syntax and semantics of ECMA-262.

use serde_json::{Value, json};

use super::{plan, problems, schemas::check_uncovered};

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
fn space_class_has_the_characters_of_ecma() {
    check(r"^\s$", &[" ", "\t", "\u{FEFF}", "\u{A0}", "\u{2028}", "\u{3000}"], &["\u{85}", "a"]);
    check(r"^\S$", &["\u{85}", "a"], &["\u{FEFF}"]);
    let others = [
        "\u{B}", "\u{C}", "\r", "\n", "\u{1680}", "\u{2000}", "\u{200A}", "\u{2029}", "\u{202F}", "\u{205F}",
    ];
    check(r"^(\s)$", &others, &["\u{8}", "\u{E}", "\u{180E}", "\u{200B}", "\u{2060}"]);
    check(r"^[^\s]$", &["a"], &[" "]);
}

#[test]
fn dot_is_no_line_end() {
    for pattern in ["^.$", "^(.)$"] {
        check(pattern, &["a", "é", "😀", "\u{85}"], &["\n", "\r", "\u{2028}", "\u{2029}"]);
    }
}

#[test]
fn word_boundary_uses_ascii_words() {
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
    check(r"^\u{1F600}[\u{1F600}-\u{1F610}][\uD83D\uDE00-\uD83D\uDE10]$", &["😀😁😂"], &["😀"]);
    check(r"^\$\.\*$", &["$.*"], &["a"]);
}

#[test]
fn mistake_in_a_pattern_is_named() {
    for (pattern, reason) in [
        (r"\A", r"`\A` is not an escape of ECMA-262"),
        (r"\Z", r"`\Z` is not an escape of ECMA-262"),
        (r"[\B]", r"`\B` is not an escape of ECMA-262"),
        (r"\x4", "an escape wants 2 hexadecimal digits"),
        (r"\u12", "an escape wants 4 hexadecimal digits"),
        (r"\u{110000}", r"`\u` wants the number of a character"),
        (r"\u{+41}", r"`\u` wants the number of a character"),
        (r"\u{}", r"`\u` wants the number of a character"),
        (r"\c1", r"`\c` wants a letter"),
        (r"\p", r"`\p` wants a property in braces"),
        ("\\", "it ends in a backslash"),
        ("[", "a class is not closed"),
        ("[b-a]", "the range `b-a` is out of order"),
        ("(a", "unclosed group"),
        ("a)", "unopened group"),
        ("(?<>a)", "a group wants a name between `<` and `>`"),
        ("(?<a b>a)", "a group wants a name between `<` and `>`"),
        ("*a", "a repetition of nothing"),
        ("(*a)", "a repetition of nothing"),
        ("(?:+a)", "a repetition of nothing"),
        ("(?<n>?a)", "a repetition of nothing"),
        ("a|*b", "a repetition of nothing"),
        ("a$+", "a repetition of nothing"),
        (r"a\B?", "a repetition of nothing"),
        ("a**", "a repetition of nothing"),
        ("a++", "a repetition of nothing"),
        ("^*", "a repetition of nothing"),
        (r"\b+", "a repetition of nothing"),
        ("(|{2})", "a repetition of nothing"),
        ("a{3,2}", "the repetition `{3,2}` is out of order"),
    ] {
        let expected = format!("at the root: the pattern `{pattern}` cannot be used: {reason}");
        assert_eq!(problems(&json!({ "pattern": pattern })), [expected]);
    }
    let expected =
        "at /patternProperties: the pattern `[b-a]` cannot be used: the range `b-a` is out of order";
    assert_eq!(problems(&json!({"patternProperties": {"[b-a]": {}}})), [expected]);
}

#[test]
fn what_the_engine_cannot_express_is_not_covered() {
    for (pattern, what) in [
        ("a(?=b)", "look-around"),
        ("(?<!a)", "look-around"),
        ("(?!a)", "look-around"),
        ("(?<=a)", "look-around"),
        (r"(a)\1", "a back-reference"),
        (r"(?<a>b)\k<a>", "a back-reference"),
        (r"^\p{Lu}$", r"the property `\p{Lu}`"),
        (r"[\P{L}]", r"the property `\P{L}`"),
        ("(?i)a", "the group `(?i`"),
        ("(?P<a>b)", "the group `(?P`"),
        (r"\uD83D", "half of a surrogate pair"),
        (r"[\uDC00-\uDFFF]", "half of a surrogate pair"),
        ("(a{1,1000}){1,1000}", "so much nesting or repetition"),
        ("(a){99999999999999999999}", "so much nesting or repetition"),
    ] {
        check_uncovered(
            json!({ "pattern": pattern }),
            &format!("at the root: {what} in the pattern `{pattern}`"),
        );
    }
    let deep = format!("^{}a{}$", "(".repeat(100), ")".repeat(100));
    check(&deep, &["a"], &["b"]);
    let deep = format!("{}a{}", "(".repeat(200), ")".repeat(200));
    let what = format!("at the root: so much nesting or repetition in the pattern `{deep}`");
    check_uncovered(json!({ "pattern": deep }), &what);
}

#[test]
fn repetition_ends_where_it_may() {
    check("^a{2,3}$", &["aa", "aaa"], &["a", "aaaa", "aab"]);
    check("^a{2,3}", &["aa", "aaaaa"], &["a", "ba"]);
    check("^a*ab?$", &["a", "aaa", "aaab"], &["", "b"]);
    check("^a?b?a?$", &["", "a", "aa", "ba", "aba"], &["bb", "abab"]);
    check("^a{0}b$", &["b"], &["ab"]);
    check("^[a-y]*?z[^a]?$", &["z", "abcz", "zz"], &["za", "abc"]);
    check("^é+[^é]{1,99999999999999999999}$", &["éa", "ééaaaa"], &["é", "aé"]);
    check("^", &["", "a"], &[]);
    check(r"^[\x00-\x7F]$", &["\0", "\u{7F}"], &["\u{80}"]);
    check("^a|b$", &["ax", "xb"], &["xa"]);
}

#[test]
fn named_groups_are_groups() {
    check(r"^(?<year>\d{4})-(?:a|b)$", &["2024-a"], &["2024-c"]);
}

#[test]
fn a_repetition_gives_back_what_a_following_class_needs() {
    check("^[a-c]*[c-e]$", &["c", "d", "ac", "cc", "abce"], &["", "a", "cb"]);
    check("^[c-e]*[a-c]$", &["c", "a", "ec", "cc", "edca"], &["", "d", "ad"]);
    check("^[a-c]*[d-f]?[c]$", &["c", "cc", "adc"], &["a", "d"]);
    check("^[a-c]*[d-f]{1,2}[c]$", &["dc", "ccefc"], &["c", "cc"]);
    check("^[a-c]{2}[c]$", &["acc"], &["cc", "cccc"]);
    check("^é*[è-ê]$", &["é", "éê", "éé"], &["", "éa"]);
}

#[test]
fn each_escape_of_a_character_is_read_inside_and_outside_of_a_class() {
    for (escape, text) in [
        (r"\t", "\t"),
        (r"\n", "\n"),
        (r"\r", "\r"),
        (r"\v", "\u{B}"),
        (r"\f", "\u{C}"),
        (r"\0", "\0"),
        (r"\cZ", "\u{1A}"),
        (r"\ca", "\u{1}"),
        (r"\x7f", "\u{7F}"),
        (r"\u00E9", "é"),
        (r"\u{e9}", "é"),
        (r"\u{10FFFF}", "\u{10FFFF}"),
        (r"\uD7FF", "\u{D7FF}"),
        (r"\uE000", "\u{E000}"),
        (r"\uD800\uDC00", "\u{10000}"),
        (r"\uDBFF\uDFFF", "\u{10FFFF}"),
        (r"\uD83D\uDE00", "😀"),
        (r"\_", "_"),
    ] {
        for pattern in [format!("^{escape}$"), format!("^[{escape}]$"), format!("^(?:{escape}|x)$")] {
            check(&pattern, &[text], &["", "y", r"\", "\u{D7FE}", "\u{E001}"]);
        }
    }
    for pattern in [r"\uD7FF\uDC00", r"\uD83Da", r"\uD83D\u0041", r"\uD83D\uD83D", r"\uDFFF", r"\u{D800}"] {
        check_uncovered(
            json!({ "pattern": pattern }),
            &format!("at the root: half of a surrogate pair in the pattern `{pattern}`"),
        );
    }
    for pattern in [r"\01", r"[\1]", r"\k", r"(a)\9"] {
        check_uncovered(
            json!({ "pattern": pattern }),
            &format!("at the root: a back-reference in the pattern `{pattern}`"),
        );
    }
    for (pattern, group) in [("(?i-s:a)", "(?i-s"), ("(?x", "(?x"), ("(?#a)", "(?")] {
        check_uncovered(
            json!({ "pattern": pattern }),
            &format!("at the root: the group `{group}` in the pattern `{pattern}`"),
        );
    }
}

#[test]
fn a_class_has_its_first_and_last_characters_and_no_others() {
    check("^[b-d]$", &["b", "c", "d"], &["a", "e", "-"]);
    check("^[^b-d]$", &["a", "e", "\0", "\u{10FFFF}"], &["b", "c", "d"]);
    check("^[a-]$", &["a", "-"], &["b", ","]);
    check("^[a-a]$", &["a"], &["b", "-"]);
    check(r"^[\d-x]$", &["7", "-", "x"], &["y", ".", "/"]);
    check("^[b-da-c]$", &["a", "b", "c", "d"], &["e", "`"]);
    check("^[acb]$", &["a", "b", "c"], &["d"]);
    check("^[^acb]$", &["d", "`"], &["a", "b", "c"]);
    check("^[è-ê]$", &["è", "é", "ê"], &["ç", "ë", "e"]);
    check("^[~-\u{81}]$", &["~", "\u{7F}", "\u{80}", "\u{81}"], &["}", "\u{82}"]);
    check(r"^[^\uE000-\u{10FFFF}]$", &["\0", "\u{D7FF}"], &["\u{E000}", "\u{10FFFF}"]);
    check(r"^[^\0-\uD7FF]$", &["\u{E000}", "\u{10FFFF}"], &["\0", "\u{D7FF}"]);
    check(r"^[^\0-\u{10FFFF}]$", &[], &["\0", "a", "\u{10FFFF}"]);
}

#[test]
fn braces_repeat_only_with_counts_in_order() {
    check("^a{2,2}$", &["aa"], &["a", "aaa"]);
    check("^a{0,}b$", &["b", "aab"], &["a"]);
    check("^a{2,}?b$", &["aab", "aaab"], &["ab"]);
    check("^a{}$", &["a{}"], &["a", ""]);
    check("^a{1x}$", &["a{1x}"], &["a"]);
    check("^a{1,x}$", &["a{1,x}"], &["a"]);
    check("^a{1$", &["a{1"], &["a"]);
    check("^{", &["{"], &["a"]);
}

#[test]
fn ranges_of_a_negated_class_may_overlap_or_touch() {
    for class in ["[^a-zb-c]", "[^b-ca-z]", "[^a-mn-z]", "[^a-nk-z]", "[^a-zz]", "[^a-za-z]"] {
        super::check(
            json!({ "pattern": format!("^{class}$") }),
            [json!("A"), json!("`"), json!("{"), json!("é")],
            [json!("a"), json!("b"), json!("d"), json!("m"), json!("n"), json!("z")],
        );
    }
}

#[test]
fn characters_with_a_meaning_stand_for_themselves_where_they_are_escaped() {
    check(r"a\.b|\+|\(", &["a.b", "xa.by", "+", "("], &["axb", "a", ")"]);
    check(r"(?:\[|x)\*", &["[*", "x*"], &["[", "x", "*"]);
}
