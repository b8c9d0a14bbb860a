//! F19: each class of repair, as pairs of original and repaired text.

use super::{object, repaired};

fn check(pairs: &[(&str, &str)]) {
    for (text, expected) in pairs {
        assert_eq!(repaired(text), *expected, "{text:?}");
        object(expected);
    }
}

#[test]
fn keys_need_no_quotes() {
    check(&[
        ("{a:2}", r#"{"a":2}"#),
        ("{a: 2, b_c: {$d: 3}}", r#"{"a":2,"b_c":{"$d":3}}"#),
        ("{user-id: 1, @type: 2, a.b: 3}", r#"{"user-id":1,"@type":2,"a.b":3}"#),
        ("{2: 2, true: 1}", r#"{"2":2,"true":1}"#),
        ("{größe: 1}", r#"{"größe":1}"#),
    ]);
}

#[test]
fn unquoted_text_is_a_string_with_all_its_characters() {
    check(&[
        ("{a: hello}", r#"{"a":"hello"}"#),
        ("{a: hello world!, b: yes}", r#"{"a":"hello world!","b":"yes"}"#),
        ("{url: https://a.b/c?d=e#f, n: 1}", r#"{"url":"https://a.b/c?d=e#f","n":1}"#),
        ("{a: 2024-01-01, b: 12:20, c: 1.2.3}", r#"{"a":"2024-01-01","b":"12:20","c":"1.2.3"}"#),
        ("{a: 746de9ad-d4ff-4c66, b: 5%, c: 10px}", r#"{"a":"746de9ad-d4ff-4c66","b":"5%","c":"10px"}"#),
        ("{a: /usr/bin, b: -la, c: user@host}", r#"{"a":"/usr/bin","b":"-la","c":"user@host"}"#),
        ("{a: [x, y z]}", r#"{"a":["x","y z"]}"#),
    ]);
}

#[test]
fn other_quotation_marks_are_quotes() {
    check(&[
        ("{'a':2}", r#"{"a":2}"#),
        ("{'a':'x', 'b' : 1}", r#"{"a":"x","b":1}"#),
        ("{'a':'x', b : 1}", r#"{"a":"x","b":1}"#),
        ("{'a':'foo', 'b':['c']}", r#"{"a":"foo","b":["c"]}"#),
        (r#"{"a":'say "hi"'}"#, r#"{"a":"say \"hi\""}"#),
        ("{'a': 'it's fine'}", r#"{"a":"it's fine"}"#),
        (r"{'a': 'it\'s fine'}", r#"{"a":"it's fine"}"#),
        ("{“a”:“b”}", r#"{"a":"b"}"#),
        ("{‘a’:‘b’}", r#"{"a":"b"}"#),
        ("{`a´:`b`}", r#"{"a":"b"}"#),
        ("{“a”: “it's “here” now”}", r#"{"a":"it's “here” now"}"#),
        ("{'a': '”', b: \"‘\"}", r#"{"a":"”","b":"‘"}"#),
    ]);
}

#[test]
fn commas_may_trail() {
    check(&[
        (r#"{"a":[1,2,3,]}"#, r#"{"a":[1,2,3]}"#),
        ("{\"a\":2 , \n }", r#"{"a":2}"#),
        (r#"{"a":{"b":1,},"c":"[1,]",}"#, r#"{"a":{"b":1},"c":"[1,]"}"#),
        (r#"{"a":2},"#, r#"{"a":2}"#),
    ]);
}

#[test]
fn commas_may_lead() {
    check(&[
        (r#"{,"a":"hi"}"#, r#"{"a":"hi"}"#),
        (r#"{"a":[ , 1,2]}"#, r#"{"a":[1,2]}"#),
        ("{\n  , a: 1\n  , b: 2\n}", r#"{"a":1,"b":2}"#),
    ]);
}

#[test]
fn commas_may_be_missing() {
    check(&[
        ("{\"a\":2\n\"b\":3\nc:4}", r#"{"a":2,"b":3,"c":4}"#),
        (r#"{"a":"x" "b":"y"}"#, r#"{"a":"x","b":"y"}"#),
        ("{\"a\": \"x\"\n  b: y\n  c: [d\ne]}", r#"{"a":"x","b":"y","c":["d","e"]}"#),
        ("{a: ['x'\n1\n{}\n'y'\nz]}", r#"{"a":["x",1,{},"y","z"]}"#),
        (
            r#"{"a":[1 2 {} [] {"b":1}{"c":2} true null "x" "y"]}"#,
            r#"{"a":[1,2,{},[],{"b":1},{"c":2},true,null,"x","y"]}"#,
        ),
        (r#"{"a":{"b":1} "c":2}"#, r#"{"a":{"b":1},"c":2}"#),
    ]);
}

#[test]
fn closing_brackets_may_be_missing_or_wrong() {
    check(&[
        (r#"{"a":[1,2}"#, r#"{"a":[1,2]}"#),
        (r#"{"a":[1,2}}"#, r#"{"a":[1,2]}"#),
        (r#"{"a":[{"b":1],"c":2}"#, r#"{"a":[{"b":1}],"c":2}"#),
        (r#"{"a":[[1,2}"#, r#"{"a":[[1,2]]}"#),
        (r#"{"a":["x","y"}"#, r#"{"a":["x","y"]}"#),
    ]);
}

#[test]
fn surplus_closing_brackets_are_dropped() {
    check(&[
        (r#"{"a":1}}"#, r#"{"a":1}"#),
        ("{\"a\": 1 }  }  ]  }  ", r#"{"a":1}"#),
        (r#"{"a":[1,2]],"b":3}"#, r#"{"a":[1,2],"b":3}"#),
        (r#"{"a":{"b":1]},"c":2}"#, r#"{"a":{"b":1},"c":2}"#),
    ]);
}

#[test]
fn comments_are_dropped() {
    check(&[
        ("// the call\n{\"a\":1}", r#"{"a":1}"#),
        ("{//the call\na: 1}", r#"{"a":1}"#),
        ("{/* a */ \"a\" /* b */ : /* } */ 1 /* , */}", r#"{"a":1}"#),
        ("{\n\"a\": \"b\", // it's\n\"c\": [1, # one\n2]\n}", r#"{"a":"b","c":[1,2]}"#),
        ("{a: 'some text' // why\n, b: 1 //one\n, c: None # none\n}", r#"{"a":"some text","b":1,"c":null}"#),
        ("{a: some text\n// why\n, b: 1/* one */}", r#"{"a":"some text","b":1}"#),
        ("{\"a\": \"/* b */ // c # d\",}", r#"{"a":"/* b */ // c # d"}"#),
        ("{\"a\":1} /* done", r#"{"a":1}"#),
    ]);
}

#[test]
fn code_fences_are_dropped() {
    check(&[
        ("```\n{\"a\":\"b\"}\n```", r#"{"a":"b"}"#),
        ("```json\n{\"a\":1}\n```", r#"{"a":1}"#),
        ("```{\"a\":\"b\"}```", r#"{"a":"b"}"#),
        ("\n ```json5\n{a:'```'}\n```\n ", r#"{"a":"```"}"#),
        ("```json\n{\"a\":\"b\"}\n", r#"{"a":"b"}"#),
        ("{\"a\":\"b\"}\n```", r#"{"a":"b"}"#),
        ("I call \"add\":\n```json\n{\"a\":1}\n```\nThis will: add.", r#"{"a":1}"#),
    ]);
}

#[test]
fn surrounding_sentences_are_dropped() {
    check(&[
        ("Here is the call: {\"a\":1}", r#"{"a":1}"#),
        ("Sure!\n\n{\"a\":1}", r#"{"a":1}"#),
        ("{\"a\":1}\n\nThat's all there is.", r#"{"a":1}"#),
        ("Here's what you want:\n{a:1};\nDone.", r#"{"a":1}"#),
    ]);
}

#[test]
fn literals_of_other_languages_are_literals() {
    check(&[
        ("{\"a\": True, \"b\": False, \"c\": None}", r#"{"a":true,"b":false,"c":null}"#),
        ("{'a': [None, True], 'b': 'None'}", r#"{"a":[null,true],"b":"None"}"#),
        (r#"{"a":undefined}"#, r#"{"a":null}"#),
        ("{a: [undefined, 1], b: 'undefined'}", r#"{"a":[null,1],"b":"undefined"}"#),
        ("{a: undefined\nb: undefined_behaviour}", r#"{"a":null,"b":"undefined_behaviour"}"#),
    ]);
}

#[test]
fn ellipses_between_entries_are_dropped() {
    check(&[
        (r#"{"a":[1,2,3,...]}"#, r#"{"a":[1,2,3]}"#),
        (r#"{"a":[1, ..., 9], ...}"#, r#"{"a":[1,9]}"#),
        ("{\"a\":[1, ... , 9, … /* 10 */ ], ... \n}", r#"{"a":[1,9]}"#),
        (r#"{..., "a":[...]}"#, r#"{"a":[]}"#),
        (r#"{"a":"b", …}"#, r#"{"a":"b"}"#),
        (r#"{"a":"b", ...}"#, r#"{"a":"b"}"#),
        ("{\"a\":\"b\", ... // more\n}", r#"{"a":"b"}"#),
        (r#"{"a":"b...", "c":"...",}"#, r#"{"a":"b...","c":"..."}"#),
    ]);
}

#[test]
fn concatenated_strings_are_joined() {
    check(&[
        (r#"{"a":"hello" + " world"}"#, r#"{"a":"hello world"}"#),
        ("{\"a\":\"x\" +\n 'y'\n+ `z`}", r#"{"a":"xyz"}"#),
        (r#"{"a":["b"+"c", "d" + /* e */ "f"]}"#, r#"{"a":["bc","df"]}"#),
        (r#"{"a":"1 + 2",}"#, r#"{"a":"1 + 2"}"#),
    ]);
}

#[test]
fn enclosing_function_calls_are_dropped() {
    check(&[
        ("search({\"a\":1});", r#"{"a":1}"#),
        ("tools.search ( {a:1} )", r#"{"a":1}"#),
        ("callback_123({});", r#"{}"#),
        ("/* x */ $cb({\"a\":\")\"})", r#"{"a":")"}"#),
        ("```js\nsearch({a: 1});\n```", r#"{"a":1}"#),
        ("search({\"a\":1}", r#"{"a":1}"#),
    ]);
}

#[test]
fn control_characters_are_escaped() {
    check(&[
        ("{\"a\":\"one\ntwo\"}", r#"{"a":"one\ntwo"}"#),
        ("{\"a\":\"\tx\r\ny\"}", r#"{"a":"\tx\r\ny"}"#),
        ("{\"a\":\"\0\u{8}\u{1f}\"}", r#"{"a":"\u0000\u0008\u001f"}"#),
        ("{\"a\nb\": \"c\\\nd\"}", r#"{"a\nb":"c\\\nd"}"#),
    ]);
}

#[test]
fn quotes_within_a_string_are_escaped() {
    check(&[
        (r#"{"a":"The TV has a 24" screen"}"#, r#"{"a":"The TV has a 24\" screen"}"#),
        (r#"{"a":"apple "bee" carrot","b":1}"#, r#"{"a":"apple \"bee\" carrot","b":1}"#),
        (r#"{"a":"he said "hi", then left","b":1}"#, r#"{"a":"he said \"hi\", then left","b":1}"#),
        (r#"{"a":"echo "x", "y"", "b":1}"#, r#"{"a":"echo \"x\", \"y\"","b":1}"#),
        (r#"{"a":"x = ["b"]"}"#, r#"{"a":"x = [\"b\"]"}"#),
        (r#"{"a":"print("b", "c")"}"#, r#"{"a":"print(\"b\", \"c\")"}"#),
        (r#"{"a":"<p id="x">","b":["the "best" one"]}"#, r#"{"a":"<p id=\"x\">","b":["the \"best\" one"]}"#),
    ]);
}

#[test]
fn backslashes_without_a_valid_escape_are_kept() {
    check(&[
        (r#"{"a":"C:\Users\me","b":"\d+"}"#, r#"{"a":"C:\\Users\\me","b":"\\d+"}"#),
        (r#"{"a":"\\d+\.\w"}"#, r#"{"a":"\\d+\\.\\w"}"#),
        (r#"{"a":"\users \u12 \uZZZZ \x41"}"#, r#"{"a":"\\users \\u12 \\uZZZZ \\x41"}"#),
        (r#"{"a":"\u+041"}"#, r#"{"a":"\\u+041"}"#),
        (r#"{"a":"\u00+1","b":1,}"#, r#"{"a":"\\u00+1","b":1}"#),
        (r#"{"a":"it\'s",}"#, r#"{"a":"it's"}"#),
        (r#"{"a":"line\n* \$5"}"#, r#"{"a":"line\n* \\$5"}"#),
        (r#"{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00",}"#, r#"{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"}"#),
    ]);
}

#[test]
fn numbers_keep_their_intended_values() {
    check(&[
        (r#"{"a":0789}"#, r#"{"a":"0789"}"#),
        (r#"{"a":[007, 001.2, -01]}"#, r#"{"a":["007","001.2","-01"]}"#),
        (r#"{"zip":00501,"n":0}"#, r#"{"zip":"00501","n":0}"#),
        (r#"{"a":.5,"b":-.5,"c":5.}"#, r#"{"a":0.5,"b":-0.5,"c":5}"#),
        (
            "{a:12345678901234567890123, b:1.10e+2, c:-0}",
            r#"{"a":12345678901234567890123,"b":1.10e+2,"c":-0}"#,
        ),
    ]);
}

#[test]
fn any_unicode_whitespace_is_accepted() {
    check(&[
        ("\u{feff}{\"a\":1}", r#"{"a":1}"#),
        ("{\"a\":\u{a0}\"b\u{a0}c\"}", "{\"a\":\"b\u{a0}c\"}"),
        ("{\u{3000}a\u{2009}:\u{200b}1}", r#"{"a":1}"#),
    ]);
}

#[test]
fn a_comment_after_a_comma_is_left_out_of_an_object_and_a_path_is_no_comment() {
    check(&[
        ("{\"a\": 1, //two\n\"b\": 2}", r#"{"a":1,"b":2}"#),
        ("{\"a\": 1, // two\n\"b\": 2}", r#"{"a":1,"b":2}"#),
        ("{\"a\": [1, // two\n2]}", r#"{"a":[1,2]}"#),
    ]);
    for text in ["{\"a\": [1, //two\n2]}", "{a: //two\n1}"] {
        assert!(super::refused(text).contains("a value that may be a comment"), "{text}");
    }
}
