//! F01, F12: edge cases of JSON, through a registry and a tool. Each has an exact value or an exact error,
//! independent of the features of `serde_json`.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use tool_runtime::prelude::*;

use crate::{call, feedback, text};

#[tool_args]
#[derive(Debug)]
struct Inner {
    a: u8,
    #[serde(alias = "bee")]
    b: Option<u8>,
    #[schemars(with = "Option<Value>")]
    raw: Option<Box<RawValue>>,
}

/// Returns its arguments.
#[tool(register = false)]
fn say(
    i: Option<i64>,
    f: Option<f64>,
    v: Option<Value>,
    s: Option<&str>,
    map: Option<BTreeMap<String, u8>>,
    inner: Option<Inner>,
    #[serde(alias = "other")] named: Option<u8>,
) -> String {
    let parts = [
        i.map(|it| format!("i={it}")),
        f.map(|it| format!("f={it:?}")),
        v.map(|it| format!("v={it}")),
        s.map(|it| format!("s={it}")),
        map.map(|it| format!("map={it:?}")),
        inner.map(|it| format!("a={} b={:?} raw={:?}", it.a, it.b, it.raw.map(|raw| raw.get().to_owned()))),
        named.map(|it| format!("named={it}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn tools() -> tool_runtime::registry::RegistryBuilder {
    Registry::builder().tool::<say>()
}

/// Checks that a call with each text has the result beside it.
fn assert_texts<const N: usize>(calls: [(&str, &str); N]) {
    for (arguments, expected) in calls {
        assert_eq!(text(tools(), "say", arguments), expected, "{arguments}");
    }
}

/// Checks that a call with each text is refused with the only violation beside it.
fn refused<const N: usize>(calls: [(&str, &str); N]) {
    for (arguments, expected) in calls {
        let error = call(tools(), "say", arguments).unwrap_err();
        let violations: Vec<_> = error.violations().iter().map(ToString::to_string).collect();
        assert_eq!(violations, [expected], "{arguments:.200}");
    }
}

#[test]
fn a_duplicate_name_is_refused() {
    refused([
        (r#"{"i":1,"i":2}"#, "/i: expected the property once, got it twice"),
        (r#"{"i":1,"i":1}"#, "/i: expected the property once, got it twice"),
        (r#"{"i":null,"i":null}"#, "/i: expected the property once, got it twice"),
        (r#"{"i":"x","i":2}"#, "/i: expected the property once, got it twice"),
        (r#"{"\u0069":1,"i":2}"#, "/i: expected the property once, got it twice"),
        (r#"{"inner":{"a":1,"a":2}}"#, "/inner/a: expected the property once, got it twice"),
        (r#"{"map":{"x":1,"x":2}}"#, "/map/x: expected the property once, got it twice"),
        (r#"{"v":{"x":[{"y":1,"y":2}]}}"#, "/v/x/0/y: expected the property once, got it twice"),
        (
            r#"{"inner":{"a":1,"raw":{"y":1,"y":2}}}"#,
            "/inner/raw/y: expected the property once, got it twice",
        ),
        (r#"{"other":1,"other":2}"#, "/other: expected the property once, got it twice"),
    ]);
}

// F14
#[test]
fn a_duplicate_name_is_refused_before_arguments_are_prepared() {
    fn prepare(arguments: &mut serde_json::Map<String, Value>) -> Result<(), ToolError> {
        arguments.insert("b".to_owned(), json!(2));
        Ok(())
    }
    /// Adds.
    #[tool(register = false, prepare = prepare)]
    fn add(a: u64, b: u64) -> u64 {
        a + b
    }
    let add = || Registry::builder().tool::<add>();
    assert_eq!(text(add(), "add", r#"{"a":1}"#), "3");
    assert_eq!(text(add(), "add", r#"{"a":18446744073709551613}"#), "18446744073709551615");
    for (arguments, expected) in [
        (r#"{"a":1,"a":1}"#, "/a: expected the property once, got it twice"),
        (r#"{"a":1e400}"#, "/a: expected a number between -1.8e308 and 1.8e308, got 1e400"),
    ] {
        let error = call(add(), "add", arguments).unwrap_err();
        assert_eq!(error.violations()[0].to_string(), expected);
    }
}

#[test]
fn arguments_that_a_prepare_function_makes_invalid_are_refused_and_its_panic_is_an_error() {
    fn prepare(arguments: &mut serde_json::Map<String, Value>) -> Result<(), ToolError> {
        if let Some(Value::String(text)) = arguments.remove("do") {
            match text.as_str() {
                "break" => drop(arguments.insert("limit".to_owned(), json!("many"))),
                "drop" => arguments.clear(),
                "add" => drop(arguments.insert("other".to_owned(), json!(1))),
                _ => panic!("cannot {text}"),
            }
            return Ok(());
        }
        arguments.entry("limit").or_insert(json!(10));
        Ok(())
    }
    /// Lists.
    #[tool(register = false, prepare = prepare)]
    fn list(limit: u8) -> u8 {
        limit
    }
    let list = || Registry::builder().tool::<list>();
    // F14: a missing value is filled, also in empty arguments.
    for (arguments, limit) in
        [("{}", "10"), ("", "10"), ("null", "10"), (" \n", "10"), (r#"{"limit":3}"#, "3")]
    {
        assert_eq!(text(list(), "list", arguments), limit, "{arguments:?}");
    }
    // F14: what the function returns is validated.
    for (arguments, location) in [
        (r#"{"limit":3,"do":"break"}"#, "/limit: expected an integer"),
        (r#"{"limit":3,"do":"drop"}"#, "/limit: expected"),
        (r#"{"limit":3,"do":"add"}"#, "/other: expected"),
    ] {
        let error = call(list(), "list", arguments).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArguments, "{arguments}");
        assert!(error.violations()[0].to_string().starts_with(location), "{:?}", error.violations());
    }
    // F15: a panic is an error of this call, on each path that validates.
    let panicking = r#"{"limit":3,"do":"explode"}"#;
    let tools = list().build().unwrap();
    let checked = tools.check("list", panicking).unwrap_err();
    let executor = tool_runtime::Executor::new(list().build().unwrap());
    let outcomes = crate::run(executor.run(vec![tool_runtime::ToolCall::new("list", panicking.to_owned())]));
    let executed = outcomes[0].result().unwrap().outcome.clone().unwrap_err();
    for error in [call(list(), "list", panicking).unwrap_err(), checked, executed] {
        assert_eq!(error.kind(), ErrorKind::Panicked);
        assert!(error.to_string().contains("cannot explode"), "{error}");
    }
}

// B14
#[test]
fn a_name_and_its_alias_are_a_duplicate() {
    let named = "expected the property `named` once; `other` is another name for it";
    let bee = "expected the property `b` once; `bee` is another name for it";
    refused([
        (r#"{"named":1,"other":2}"#, &format!("/other: {named}, got 2")),
        (r#"{"other":1,"named":2}"#, &format!("/other: {named}, got 1")),
        (r#"{"inner":{"a":1,"bee":2,"b":3}}"#, &format!("/inner/bee: {bee}, got 2")),
    ]);
    // A `null` property counts as absent.
    assert_texts([
        (r#"{"named":null,"other":2}"#, "named=2"),
        (r#"{"other":2,"named":null}"#, "named=2"),
        (r#"{"other":null,"named":2}"#, "named=2"),
        (r#"{"other":null}"#, ""),
        (r#"{"other":null,"named":null}"#, ""),
        (r#"{"inner":{"bee":null,"a":1,"b":2}}"#, "a=1 b=Some(2) raw=None"),
    ]);
    /// Ignores what it does not know.
    #[tool(register = false, unknown_fields = "ignore")]
    fn open(#[serde(alias = "m")] n: u8, #[serde(rename = "in")] inner: Inner) -> u8 {
        n + inner.a
    }
    let open = || Registry::builder().tool::<open>();
    assert_eq!(text(open(), "open", r#"{"m":1,"in":{"a":2,"c":3},"x":4}"#), "3");
    let arguments = r#"{"m":1,"n":1,"in":{"a":2,"b":3,"bee":4}}"#;
    assert_eq!(
        feedback(open(), "open", arguments),
        format!(
            "Invalid arguments:\n- /m: expected the property `n` once; `m` is another name for it, got 1\n\
             - /in/bee: {bee}, got 4\nReceived: {arguments}\n\
             Arguments that fit, for example: {{\"n\":1,\"in\":{{\"a\":1}}}}\nNothing was executed."
        )
    );
}

#[test]
fn nesting_is_limited() {
    const TOO_DEEP: &str = "the arguments: expected a value that is nested at most 128 levels deep, \
                            got one that is nested more deeply";
    let nested = |levels: usize| format!(r#"{{"v":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
    let deep = nested(127);
    assert_eq!(text(tools(), "say", &deep), format!("v={}", &deep[5..deep.len() - 1]));
    refused([
        (&nested(128), TOO_DEEP),
        (&nested(10_000), TOO_DEEP),
        (&"[".repeat(10_000), TOO_DEEP),
        (&format!(r#"{{"none":{}7{}}}"#, r#"{"a":"#.repeat(10_000), "}".repeat(10_000)), TOO_DEEP),
        (&format!(r#"{{"inner":{{"a":1,"raw":{}}}}}"#, "[".repeat(10_000)), TOO_DEEP),
    ]);
}

#[test]
fn a_text_may_be_long() {
    let long = "0123456789".repeat(1_000_000);
    let plain = text(tools(), "say", &format!(r#"{{"s":"{long}"}}"#));
    assert!(plain.strip_prefix("s=") == Some(&long), "it has {} bytes", plain.len());
    let escaped = text(tools(), "say", &format!(r#"{{"s":"{long}\n"}}"#));
    assert!(escaped.strip_prefix("s=") == Some(&format!("{long}\n")), "it has {} bytes", escaped.len());
    refused([(
        &format!(r#"{{"i":"{long}"}}"#),
        &format!("/i: expected an integer, got \"{}…\" (10000000 characters)", &long[..80]),
    )]);
}

#[test]
fn texts_and_names_may_have_escapes() {
    assert_texts([
        (r#"{"s":"\u0000"}"#, "s=\0"),
        (r#"{"s":"\ud83d\ude00\/"}"#, "s=😀/"),
        (r#"{"\u0073":"x"}"#, "s=x"),
        (r#"{"map":{"":1}}"#, r#"map={"": 1}"#),
        (r#"{"map":{"a\/b":1,"\u007e":2}}"#, r#"map={"a/b": 1, "~": 2}"#),
    ]);
    let not_json =
        |why: &str| format!("the arguments: expected a JSON object, got text that is not JSON ({why})");
    refused([
        (r#"{"s":"\ud800"}"#, &not_json("unexpected end of hex escape at line 1 column 13")),
        (r#"{"s":"\ud800\u0041"}"#, &not_json("lone leading surrogate in hex escape at line 1 column 18")),
        (r#"{"s":"\udc00"}"#, &not_json("lone leading surrogate in hex escape at line 1 column 12")),
        (r#"{"s":"\x"}"#, &not_json("invalid escape at line 1 column 8")),
        (
            "{\"s\":\"\0\"}",
            &not_json("control character (\\u0000-\\u001F) found while parsing a string at line 1 column 6"),
        ),
        (r#"{"map":{"a\/b":"x"}}"#, r#"/map/a~1b: expected an integer, got "x""#),
        (r#"{"map":{"\u007e":256}}"#, "/map/~0: expected at most 255, got 256"),
        (r#"{"map":{"":-1}}"#, "/map/: expected at least 0, got -1"),
        (
            r#"{"":1}"#,
            "/: expected a property that the schema knows; known: `i`, `f`, `v`, `s`, `map`, `inner`, `named`, got 1",
        ),
    ]);
}

#[test]
fn arguments_other_than_an_object_are_refused() {
    let not_json =
        |why: &str| format!("the arguments: expected a JSON object, got text that is not JSON ({why})");
    refused([
        ("\u{feff}{}", &not_json("expected value at line 1 column 1")),
        ("{} x", &not_json("trailing characters at line 1 column 4")),
        ("{}{}", &not_json("trailing characters at line 1 column 3")),
        (r#"{"i":1}]"#, &not_json("trailing characters at line 1 column 8")),
        (r#"{"i":1"#, &not_json("EOF while parsing an object at line 1 column 6")),
        (r#"{"i":1,}"#, &not_json("key must be a string at line 1 column 8")),
        ("{'i':1}", &not_json("key must be a string at line 1 column 2")),
        (r#"{"i":01}"#, &not_json("invalid number at line 1 column 7")),
        (r#"{"i":+1}"#, &not_json("expected value at line 1 column 6")),
        (r#"{"i":NaN}"#, &not_json("expected value at line 1 column 6")),
        ("[1]", "the arguments: expected an object, got the array [1]"),
        (r#""x""#, r#"the arguments: expected an object, got the string "x""#),
        ("7", "the arguments: expected an object, got the number 7"),
    ]);
    // F16
    assert_texts([("", ""), (" \n", ""), ("null", ""), ("{}", "")]);
}

#[test]
fn numbers_keep_their_values() {
    assert_texts([
        (r#"{"i":-0,"f":-0,"v":-0}"#, "i=0 f=-0.0 v=-0.0"),
        (r#"{"i":1E2,"f":1E2,"v":1E2}"#, "i=100 f=100.0 v=100.0"),
        (r#"{"i":3.0,"f":3,"v":3.0}"#, "i=3 f=3.0 v=3.0"),
        (r#"{"f":1e-400}"#, "f=0.0"),
        (
            r#"{"i":9223372036854775807.0,"v":18446744073709551615}"#,
            "i=9223372036854775807 v=18446744073709551615",
        ),
        (r#"{"i":-9223372036854775808E0}"#, "i=-9223372036854775808"),
        (r#"{"i":9007199254740993,"f":9007199254740993}"#, "i=9007199254740993 f=9007199254740992.0"),
        (r#"{"i":9007199254740993.0,"v":9007199254740993.0}"#, "i=9007199254740993 v=9007199254740993"),
        (
            r#"{"v":18446744073709551616,"f":0.1234567890123456789}"#,
            "f=0.12345678901234568 v=1.8446744073709552e+19",
        ),
        (r#"{"inner":{"a":1E0,"raw":[1.50, 1e40]}}"#, r#"a=1 b=None raw=Some("[1.50, 1e40]")"#),
    ]);
    refused([
        (r#"{"i":1.5}"#, "/i: expected an integer, got 1.5"),
        (r#"{"i":9223372036854775808}"#, "/i: expected at most 9223372036854775807, got 9223372036854775808"),
        (
            r#"{"i":9223372036854775808.0}"#,
            "/i: expected at most 9223372036854775807, got 9223372036854775808.0",
        ),
        (
            r#"{"i":-9223372036854775809}"#,
            "/i: expected at least -9223372036854775808, got -9223372036854775809",
        ),
        (r#"{"i":1e19}"#, "/i: expected at most 9223372036854775807, got 1e19"),
        (r#"{"i":1e400}"#, "/i: expected at most 9223372036854775807, got 1e400"),
        (r#"{"i":-1e400}"#, "/i: expected at least -9223372036854775808, got -1e400"),
        (r#"{"f":1e400}"#, "/f: expected a number between -1.8e308 and 1.8e308, got 1e400"),
        (r#"{"v":[-1e400]}"#, "/v/0: expected a number between -1.8e308 and 1.8e308, got -1e400"),
        (
            r#"{"inner":{"a":1,"raw":[1e400]}}"#,
            "/inner/raw/0: expected a number between -1.8e308 and 1.8e308, got 1e400",
        ),
        (r#"{"s":1e400}"#, "/s: expected a string, got 1e400"),
    ]);
}

#[test]
fn a_number_may_have_300_digits() {
    let digits = "7".repeat(300);
    assert_texts([
        (&format!(r#"{{"f":{digits}}}"#), "f=7.777777777777778e299"),
        (&format!(r#"{{"v":{digits}}}"#), "v=7.777777777777778e+299"),
        (&format!(r#"{{"s":"{digits}"}}"#), &format!("s={digits}")),
        // Coerced without an intermediate float.
        (&format!(r#"{{"s":{digits}}}"#), &format!("s={digits}")),
        (&format!(r#"{{"inner":{{"a":1,"raw":{digits}}}}}"#), &format!("a=1 b=None raw=Some({digits:?})")),
    ]);
    let start = "7".repeat(200 - "… (300 characters)".chars().count());
    refused([(
        &format!(r#"{{"i":{digits}}}"#),
        &format!("/i: expected at most 9223372036854775807, got {start}… (300 characters)"),
    )]);
}

// F11
#[test]
fn multiples_of_a_tenth_are_exact() {
    /// Pays.
    #[tool(register = false)]
    fn pay(#[schemars(extend("multipleOf" = 0.1))] amount: f64) -> f64 {
        amount
    }
    let pay =
        |amount: &str| call(Registry::builder().tool::<pay>(), "pay", &format!(r#"{{"amount":{amount}}}"#));
    for amount in ["0.3", "0.7", "3e-1", "1.10", "123456789.3", "1e22", "-0"] {
        assert!(pay(amount).is_ok(), "{amount}");
    }
    for amount in ["0.35", "3e-2", "0.30000000000000004"] {
        let said = format!("/amount: expected a multiple of 0.1, got {amount}");
        assert_eq!(pay(amount).unwrap_err().violations()[0].to_string(), said);
    }
}
