//! Arguments as a value.

use serde_json::json;
use tool_core::{Arguments, ErrorKind, ToolError};

/// Returns the violations of a text that cannot be a value.
fn refused(text: &str) -> Vec<String> {
    let error = ToolError::from(Arguments::from(text).to_value().unwrap_err());
    assert_eq!(error.kind(), ErrorKind::InvalidArguments);
    assert!(error.feedback().ends_with("Nothing was executed."), "{error}");
    error.violations().iter().map(ToString::to_string).collect()
}

#[test]
fn a_text_is_read_as_its_value() {
    let text = r#" { "a" : [1, -2.50, 1e2, "\u00e9\n", true, null, {}], "b": 18446744073709551615 } "#;
    let value = Arguments::from(text).to_value().unwrap();
    let list = json!([1, -2.5, 100.0, "é\n", true, null, {}]);
    assert_eq!(value, json!({ "a": list, "b": u64::MAX }));
    assert_eq!(Arguments::from(" null ").to_value().unwrap(), json!({}));
    for blanks in [" ", "\n", "\t", "\r", " \n", "\n ", "  ", " \t\r\n ", " \r\n\t"] {
        let tokens = [
            "", "{", "\"a\"", ":", "[", "1", ",", "\"x\"", ",", "null", "]", ",", "\"b\"", ":", "{", "}",
            "}", "",
        ];
        let text = tokens.join(blanks);
        assert_eq!(
            Arguments::from(text).to_value().unwrap(),
            json!({ "a": [1, "x", null], "b": {} }),
            "{blanks:?}"
        );
    }
}

// F03
#[test]
fn a_duplicate_property_is_refused_at_any_depth() {
    assert_eq!(refused(r#"{"a":1,"a":1}"#), ["/a: expected the property once, got it twice"]);
    assert_eq!(
        refused(r#"{"list":[0,{"a/b":1,"\u0061/b":2}],"c":{"d":1,"d":2}}"#),
        [
            "/list/1/a~1b: expected the property once, got it twice",
            "/c/d: expected the property once, got it twice"
        ]
    );
}

#[test]
fn numbers_that_no_value_can_hold_are_refused() {
    assert_eq!(
        refused(r#"{"n":[1e999]}"#),
        ["/n/0: expected a number between -1.8e308 and 1.8e308, got 1e999"]
    );
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let expected = "the arguments: expected a value that is nested at most 128 levels deep, got one that is nested more deeply";
    assert_eq!(refused(&deep), [expected]);
    let edge = "[".repeat(128) + &"]".repeat(128);
    assert!(Arguments::from(edge.as_str()).to_value().is_ok());
}

#[test]
fn invalid_json_is_reported_with_its_place() {
    let said = refused(r#"{"a":}"#);
    assert_eq!(
        said,
        [
            "the arguments: expected a JSON object, got text that is not JSON (expected value at line 1 column 6)"
        ]
    );
}

// A form feed is ASCII whitespace, and no whitespace of JSON.
#[test]
fn arguments_of_other_blanks_are_not_empty() {
    for blank in [" ", "\t", "\n", "\r", " \t\n\r "] {
        for text in [blank.to_owned(), format!("{blank}null{blank}")] {
            assert_eq!(Arguments::from(text.clone()).as_str(), "{}", "{text:?}");
        }
    }
    for blank in ["\u{c}", "\u{b}", "\u{a0}", "\u{2003}", "\u{feff}"] {
        for text in [blank.to_owned(), format!("null{blank}"), format!("{blank}null"), format!("{blank}{{}}")]
        {
            assert_eq!(Arguments::from(text.clone()).as_str(), text);
            assert!(Arguments::from(text.clone()).to_value().is_err(), "{text:?}");
        }
    }
}

#[test]
fn values_beside_each_other_are_not_nested() {
    let list = |item: &str| format!("[{}]", vec![item; 300].join(","));
    let object = |value: &str| {
        let members: Vec<_> = (0..300).map(|at| format!("\"n{at}\" : {value}")).collect();
        format!("{{{}}}", members.join(" , "))
    };
    for item in ["[]", "[[1]]", "{}", r#"{"a":{"b":1}}"#, r#"[{"a":[]},{}]"#] {
        for text in [list(item), object(item), list(&list(item)[..]), object(&list(item))] {
            let value = Arguments::from(text.as_str()).to_value();
            assert_eq!(value.unwrap(), serde_json::from_str::<serde_json::Value>(&text).unwrap(), "{item}");
        }
    }
    for text in [
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\":1,}",
        "{,\"a\":1}",
        "{\"a\":1 \"b\":2}",
        "[1}",
        "{\"a\":1]",
        "{\"a\" 1}",
    ] {
        assert!(Arguments::from(text).to_value().is_err(), "{text}");
    }
}
