//! F18: ambiguous texts are refused and kept unchanged.

use tool_schema::{Arguments, CorrectionRule, MAX_REPAIR_BYTES, RepairOutcome, recover};

use super::{refused, repaired};

/// Checks that each of `texts` is refused with `reason` at the given column of its first line.
fn check(reason: &str, texts: &[(&str, usize)]) {
    for (text, column) in texts {
        assert_eq!(refused(text), format!("{reason} at line 1 column {column}"), "{text:?}");
    }
}

#[test]
fn text_beside_the_object_is_not_dropped() {
    check(
        "text after the object",
        &[
            (r#"{"a":2}foo"#, 8),
            (r#"{"a":2} foo bar"#, 9),
            (r#"{"a":1}{"b":2}"#, 8),
            (r#"{"a":1},{"b":2}"#, 9),
            (r#"{"a":{"b":1}},"c":2}"#, 15),
            ("f({a:1}, {b:2})", 10),
            ("{a:1})", 6),
        ],
    );
    check(
        "text before the object",
        &[
            ("callback {}", 1),
            (r#""a": {"b":1}"#, 1),
            ("a: {b: 1}", 1),
            ("const a = {b: 1}", 1),
            ("see {a: 1}", 1),
            ("I call it with {a: 1}", 1),
            ("[{a: 1}]", 1),
            ("[1]\n```\n{a:1}\n```", 1),
        ],
    );
    assert_eq!(refused("{\"a\":1}\n{\"b\":2}"), "text after the object at line 2 column 1");
    assert_eq!(refused("{\"a\":1}\nb: 2, c"), "text after the object at line 2 column 1");
    assert_eq!(refused("```\n{a:1}\n```\n{b:2}"), "text after the object at line 3 column 1");
}

#[test]
fn text_without_an_object_is_refused() {
    check(
        "there is no object",
        &[("foo", 1), ("a: 1", 1), (r#""a": 1, "b": 2"#, 1), ("[1,", 1), (" tru", 2)],
    );
}

#[test]
fn an_ambiguous_number_is_refused() {
    check(
        "a number without a JSON equivalent",
        &[
            (r#"{"a":NaN}"#, 6),
            (r#"{"a":-Infinity}"#, 6),
            (r#"{"a":+1}"#, 6),
            (r#"{"a":1_000}"#, 6),
            (r#"{"a":0x1F}"#, 6),
            (r#"{"a":2e,"b":1}"#, 6),
            (r#"{"a":[-,1]}"#, 7),
        ],
    );
    check(
        "a value that is neither JSON nor plain text",
        &[(r#"{"a":[1,000]}"#, 9), ("{a: (1, 2)}", 5), ("{a: 1)", 5), ("{a: f(1)}", 5)],
    );
    check("a number that is too large", &[(r#"{"a":1e999,}"#, 6), (r#"{"a":-1e999"#, 6)]);
}

#[test]
fn an_expression_is_refused() {
    check(
        "a value that is neither JSON nor plain text",
        &[
            ("{a: b c: 1}", 5),
            ("{a: b + c}", 5),
            ("{a: [b, c:1}", 9),
            ("{a: new Date(1)}", 5),
            ("{a: #fff, b: 2\n}", 5),
            (r"{a: C:\new}", 5),
            ("{a: ...}", 5),
            ("{a: [1, 2...]}", 9),
        ],
    );
    check(
        "a value that is only partly in quotes",
        &[(r#"{"a": b"x"}"#, 7), ("{a: it's}", 5), (r#"{"a":[5", 6"]}"#, 7), ("{a: b{}}", 5)],
    );
    check("a value that may be a comment", &[("{a: //server/share, b: 1\n}", 5)]);
    check("an ellipsis before something else", &[("{...defaults, a: 1}", 2)]);
    check("two values without a comma", &[("{a: [1 apple]}", 8), ("{a: [1 000]}", 8)]);
}

#[test]
fn a_key_without_a_colon_or_value_is_refused() {
    check(
        "a key without a colon",
        &[
            (r#"{"a"}"#, 2),
            (r#"{"a" 1}"#, 2),
            ("{a b: 1}", 2),
            ("{a = 1}", 2),
            ("{1, 2}", 2),
            (r#"{"a":1 2}"#, 8),
            (r#"{"a":5 apples}"#, 8),
            (r#"{\"a\":1}"#, 2),
        ],
    );
    check("a key without a value", &[(r#"{"a":}"#, 6), (r#"{"a":,"b":1}"#, 6)]);
    check("two commas in a row", &[("{a:[1,,2]}", 7), ("{a:1,,}", 6)]);
}

#[test]
fn an_unterminated_string_does_not_hide_following_entries() {
    check(
        "a string whose end is not certain",
        &[
            (r#"{"a":"b,"c":"d"}"#, 6),
            (r#"{"a":"b, "c", "d":1}"#, 6),
            (r#"{"a":["b, "c"]}"#, 7),
            (r#"{"a":["b, "c, "d"]}"#, 7),
            (r#"{"a":["print("b", "c")"]}"#, 7),
            (r#"{"a":["b, "c" d"]}"#, 7),
            (r#"{"a":["" ["b"]]}"#, 7),
            (r#"{"a":"{"b":1}"}"#, 6),
            (r#"{"a":[{"b":"", "c" 1}, ""]}"#, 12),
            (r#"{"a":"", "b" ["", ""]}"#, 6),
            (r#"{"a":"24" screen}"#, 6),
            (r#"{"a":"say "x"}"#, 6),
            (r#"{"a":"note: "x", "b":1}"#, 6),
            (r#"{"a":"say "x" // y", "b":1}"#, 6),
            (r#"{"a":"C:\dir\"}"#, 6),
        ],
    );
    check("two strings without a comma", &[(r#"{"a":"b" "c"}"#, 6), (r#"{"a":["b""c"]}"#, 7)]);
    check("a string in triple quotes", &[(r#"{"a":"""b"""}"#, 6), ("{a:'''b'''}", 4)]);
}

#[test]
fn an_ambiguous_backslash_is_refused() {
    check(
        "a string with backslashes of two meanings",
        &[
            (r#"{"a":"C:\Users\new"}"#, 6),
            (r#"{"a":"\bword\d"}"#, 6),
            (r#"{"a":"\d\u0041"}"#, 6),
            (r#"{"a":"\uZZ\n",}"#, 6),
        ],
    );
    check(
        "a string with a backslash before an apostrophe",
        &[(r#"{"a":"'it'\''s'",}"#, 6), (r#"{"a":"it'\'s",}"#, 6), (r#"{"a":"it\''s",}"#, 6)],
    );
    check("a string with an unpaired surrogate", &[(r#"{"a":"\ud83dx",}"#, 6), (r#"{"a":"\ude00",}"#, 6)]);
}

#[test]
fn an_ambiguous_closing_bracket_is_refused() {
    check(
        "a closing bracket of the wrong kind",
        &[(r#"{"a":{"b":[1},"c":2}}"#, 21), (r#"{"a":{"b":1],"c":2}"#, 20)],
    );
}

#[test]
fn size_depth_and_time_are_bounded() {
    let long = |length: usize| format!("{{a:'{}'}}", "x".repeat(length - 6));
    assert_eq!(repaired(&long(MAX_REPAIR_BYTES)).len(), MAX_REPAIR_BYTES + 2);
    assert_eq!(refused(&long(MAX_REPAIR_BYTES + 1)), "it is longer than 1048576 bytes");

    let deep = |levels: usize| format!("{{a:{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
    assert!(repaired(&deep(127)).starts_with(r#"{"a":[["#));
    assert_eq!(refused(&deep(128)), "too many levels at line 1 column 130");

    // A comment to the end of the text follows each quote, so that the string continues.
    let tangled = format!("{{a:\"{} */ x\"}}", "\" /* ".repeat(10_000));
    assert_eq!(refused(&tangled), "it is too complex");
}

#[test]
fn long_texts_of_any_shape_are_read_completely() {
    let shapes = [
        ("[", "\"a,true", "]}"),
        ("{a:\"", "\"b, ", "\"}"),
        ("{a:\"", "\",", "\"}"),
        ("{a:\"", "\", \"", "\"}"),
        ("{a:\"", "\", x ", "\"}"),
        ("{a:\"", "\\\"b\" ", "\"}"),
        ("{", "a:1,", "}"),
        ("{a:[", "1 ", "]}"),
        ("{a:[", "'b',", "]}"),
        ("{a:", "{a:", ""),
        ("{a:1", "}", ""),
        ("x y\n", "x y\n", "{a:1}"),
    ];
    for (before, unit, after) in shapes {
        for length in [1_000, 10_000, 100_000] {
            let text = format!("{before}{}{after}", unit.repeat(length / unit.len()));
            if let RepairOutcome::Invalid { reason, .. } = recover(&text) {
                assert_ne!(reason, "it is too complex", "{before}{unit}{after}");
            }
        }
    }
}

// F19: a comment that could be part of a value is ambiguous.
#[test]
fn a_comment_within_or_after_unquoted_text_is_refused() {
    let within = "a value without quotes that may go on in a comment";
    check(
        within,
        &[
            ("{path: a//b}", 8),
            ("{path: a//b\n}", 8),
            ("{a: some text // why\n, b: 1}", 5),
            ("{title: issue # 5\n}", 9),
            ("{glob: src/*.rs, all: lib/*.rs}", 8),
            ("{url: https://a.b//c\n}", 7),
        ],
    );
    check("a value that may go on in a comment", &[("{a: 10//2\n}", 5), ("{a: True//1\n}", 5)]);
    check("a value that may be a comment", &[("{a: [//server/share, b]\n}", 6), ("{a: [1, //b\n2]}", 9)]);
}

// F19: only the exact spellings `None`, `True` and `False` are Python literals.
#[test]
fn a_literal_in_another_case_is_ambiguous_and_refused() {
    for word in ["none", "NONE", "NULL", "Null", "TRUE", "tRue", "FALSE", "Undefined"] {
        let reason = refused(&format!("{{mode: {word}}}"));
        assert!(reason.starts_with("a word that may be a literal or a text at"), "{word}: {reason}");
    }
    assert_eq!(super::repaired("{a: None, b: True, c: False}"), r#"{"a":null,"b":true,"c":false}"#);
    assert_eq!(super::repaired("{a: none of these, b: 'none'}"), r#"{"a":"none of these","b":"none"}"#);
}

#[test]
fn a_comment_that_may_contain_the_end_of_the_object_is_not_a_truncation() {
    let why = "a comment that may contain the end of the object";
    check(
        why,
        &[
            (r#"{"a": 1 // one}"#, 9),
            (r#"{"a": 1, // one, "b": 2}"#, 10),
            (r#"{"a": 1 # one}"#, 9),
            (r#"{"a": [1, 2 /* two ]}"#, 13),
        ],
    );
    assert_eq!(super::partial("{\"a\": 1 // one"), r#"{"a":1}"#);
    assert_eq!(super::repaired("{\"a\": 1 // }\n}"), r#"{"a":1}"#);
}

#[test]
fn only_sentences_without_signs_of_data_are_dropped_around_an_object() {
    for around in [
        ("", "\nDone."),
        ("", "\nDone!"),
        ("", "\nDone?"),
        ("", "\nAll done"),
        ("", ";,"),
        ("", " #"),
        ("", "``` of a call"),
        ("Done.\n", ""),
        ("Now call: ", ""),
        ("Now call\n", ""),
        ("```c++\n", "\n```"),
        ("```x_y-2\n", "\n```"),
        ("```js\nNow call:\n", "\n```"),
        ("f(", "))"),
        ("a_b.$c (", ")"),
        ("Now call: f(", ")"),
    ] {
        assert_eq!(repaired(&format!("{}{{a:1}}{}", around.0, around.1)), r#"{"a":1}"#, "{around:?}");
    }
    for after in [
        "\nDone",
        "\nSay \"x\" now.",
        "\nNow x = 1.",
        "\nNow b: 2.",
        "\nAll [done.",
        "\nAll done].",
        "\nAll {done.",
        "\nAll done}.",
        "\n/done",
    ] {
        let reason = refused(&format!("{{a:1}}{after}"));
        assert_eq!(reason, "text after the object at line 2 column 1", "{after}");
    }
    check(
        "text after the object",
        &[("{a:1} All done.", 7), ("{a:1}```[1]", 6), ("{a:1}``` {b", 6), ("{a:1} #x", 7)],
    );
    check(
        "text before the object",
        &[
            ("Here: {a:1}", 1),
            ("Done. {a:1}", 1),
            ("Now call {a:1}", 1),
            ("Say \"x\" now: {a:1}", 1),
            ("Now x = 1: {a:1}", 1),
            ("Now b: 2: {a:1}", 1),
            ("Now [call: {a:1}", 1),
            ("Now call]: {a:1}", 1),
            ("Now call}: {a:1}", 1),
            ("({a:1})", 1),
            ("f{a:1}", 1),
            ("```a b\n{a:1}\n```", 1),
            ("```*\n{a:1}\n```", 1),
        ],
    );
}

#[test]
fn each_form_of_an_ambiguous_number_is_refused_and_similar_texts_are_texts() {
    for word in [
        "nan",
        "NAN",
        "-NaN",
        "infinity",
        "+Infinity",
        "0b1",
        "0o7",
        "0X1F",
        "-0x1",
        "0xyz",
        "1_000.5",
        "-1_0",
        "+1",
        "+1x",
        "1e",
        "1E+",
        "-",
    ] {
        let reason = refused(&format!("{{a: {word}, b: 1}}"));
        assert_eq!(reason, "a number without a JSON equivalent at line 1 column 5", "{word}");
    }
    for word in ["nano", "infinity1", "1_a", "x_1", "a-1", "1+1", "1-2", "-x", "0y1", "1.2.3", "1e5x", "-1x"]
    {
        assert_eq!(repaired(&format!("{{a: {word}, b: 1}}")), format!(r#"{{"a":"{word}","b":1}}"#), "{word}");
    }
}

#[test]
fn each_sign_of_an_expression_is_refused_in_a_text_without_quotes() {
    for text in [
        "#fff", "+x", "+.5", ":x", "=x", "a(b", "a)b", "a;b", r"a\b", "a…b", "a...b", "a:b", "x = 1",
        "x=1 y", "x b:1", "x & y", "x - y", "#fff x", "a(b c", "a b)", "a; b", r"a \b", "a… b", "a... b",
    ] {
        let reason = refused(&format!("{{a: {text}\n}}"));
        assert_eq!(reason, "a value that is neither JSON nor plain text at line 1 column 5", "{text}");
    }
    for text in ["x=1", "12:20", "a://b:1", "x-y z", "x .y", "x -y", "a.b..c", "x#", "x #y"] {
        assert_eq!(repaired(&format!("{{a: {text}\n}}")), format!(r#"{{"a":"{text}"}}"#), "{text}");
    }
    // Thousands are divided by a comma, after a digit only.
    assert_eq!(repaired("{a: [x,007, 'y',008, 1,x0]}"), r#"{"a":["x","007","y","008",1,"x0"]}"#);
}

#[test]
fn the_place_of_an_ambiguity_is_counted_in_lines_and_bytes() {
    assert_eq!(refused("{\n\n  'ä': 1, b}"), "a key without a colon at line 3 column 12");
    assert_eq!(refused("{a: 1}\n\n  b: 2"), "text after the object at line 3 column 3");
}

#[test]
fn a_truncated_string_with_quotes_or_backslashes_within_is_refused() {
    check(
        "a string whose end is not certain",
        &[(r#"{"a":"say "x" or"#, 6), (r#"{"a":"24" x""#, 6), (r#"{"a":["24" x""#, 7), (r#"{"a":"x \d"#, 6)],
    );
    check(
        "a string with an unpaired surrogate",
        &[
            (r#"{"a":"\ud83d\u0041",}"#, 6),
            (r#"{"a":"\ud83d\u0041"#, 6),
            (r#"{"a":"\ud83d\u00e9 x"#, 6),
            (r#"{"a":"\ud83d\n",}"#, 6),
            (r#"{"a":"\udfff",}"#, 6),
        ],
    );
    assert_eq!(repaired(r#"{"a":"\/ \d \" \\",}"#), r#"{"a":"\/ \\d \" \\"}"#);
}

#[test]
fn a_long_text_is_shortened_in_the_note_and_in_the_correction() {
    // The received text has 6 more characters, and the repaired one 8 more.
    let received = |count: usize| format!("{{a:'{}'}}", "é".repeat(count));
    let repaired = |count: usize| format!("{{\"a\":\"{}\"}}", "é".repeat(count));
    let start = |text: String, chars: usize| text.chars().take(chars).collect::<String>();
    let error = "key must be a string at line 1 column 2";
    for (count, shown) in
        [(492, repaired(492)), (493, format!("{}… (994 bytes in all)", start(repaired(493), 500)))]
    {
        assert_eq!(
            recover(&received(count)).note().unwrap(),
            format!("the arguments were not valid JSON ({error}) and were read as {shown}")
        );
    }
    assert_eq!(
        recover(&format!("{{a:'{}", "é".repeat(493))).note().unwrap(),
        format!(
            "the arguments were cut off ({error}) and were read as {}… (994 bytes in all); fields may be missing",
            start(repaired(493), 500)
        )
    );
    assert_eq!(
        recover("{a: NaN}").note().unwrap(),
        format!(
            "the arguments are not valid JSON ({error}) and were not repaired: \
             a number without a JSON equivalent at line 1 column 5"
        )
    );
    assert_eq!(recover("{}").note(), None);
    let shortened = |text: String, length: usize| format!("{}… ({length} characters)", start(text, 182));
    for (count, from, to) in [
        (192, received(192), repaired(192)),
        (193, received(193), shortened(repaired(193), 201)),
        (194, received(194), shortened(repaired(194), 202)),
        (195, shortened(received(195), 201), shortened(repaired(195), 203)),
    ] {
        let text = received(count);
        let arguments = Arguments::from(text.as_str()).repaired().unwrap();
        assert_eq!(arguments.as_str(), repaired(count));
        let [correction] = arguments.corrections() else { panic!("{:?}", arguments.corrections()) };
        assert_eq!(correction.rule, CorrectionRule::Repaired);
        assert_eq!(
            [&correction.pointer, &correction.from, &correction.to].map(String::as_str),
            ["", &*from, &*to]
        );
    }
}

#[test]
fn a_text_of_blanks_is_left_as_it_is() {
    for text in ["", " ", "\t\r\n "] {
        assert_eq!(recover(text), RepairOutcome::Strict(text), "{text:?}");
        assert_eq!((recover(text).text(), recover(text).note()), (text, None));
    }
    assert_eq!(refused("\u{a0}"), "there is no object at line 1 column 3");
}
