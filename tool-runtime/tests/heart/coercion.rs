//! Coercion of arguments.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tool_runtime::{
    ErrorKind, Tool, ToolDefinition, ToolName,
    definition::Prepared,
    prelude::*,
    registry::RegistryBuilder,
    schema::{Arguments, Correction, CorrectionRule, InputSchema},
};

use crate::{call, feedback, run, text};

/// Returns the coerced `arguments` of the only tool; `None` if they are refused.
fn corrected(tools: RegistryBuilder, arguments: &str) -> Option<Value> {
    let tools = tools.build().unwrap();
    let fitted = tools.check(tools.definitions()[0].name(), arguments).ok()?;
    assert!(!fitted.corrections().is_empty(), "{arguments} fits");
    Some(serde_json::from_str(fitted.as_str()).unwrap())
}

/// Checks, for each value of the only parameter `x`, the coerced value, or `None` if it is refused.
#[track_caller]
fn check<const N: usize>(tools: fn() -> RegistryBuilder, table: [(Value, Option<Value>); N]) {
    for (sent, expected) in table {
        let got = corrected(tools(), &json!({ "x": sent }).to_string());
        assert_eq!(got, expected.map(|value| json!({ "x": value })), "{sent}");
    }
}

macro_rules! tool_of {
    ($name:ident: $type:ty) => {
        /// Returns its arguments.
        #[tool(register = false)]
        fn $name(x: $type) -> Value {
            json!(x)
        }
    };
}

// F04
#[test]
fn a_text_is_coerced_to_a_number() {
    tool_of!(count: u32);
    tool_of!(ratio: f64);
    check(
        || Registry::builder().tool::<count>(),
        [
            (json!("3"), Some(json!(3))),
            (json!("3.0"), Some(json!(3))),
            (json!(true), Some(json!(1))),
            (json!("3.5"), None),
            (json!(""), None),
            (json!("  "), None),
            (json!(" 3 "), None),
            (json!("NaN"), None),
            (json!("inf"), None),
            (json!("1e400"), None),
            (json!("-3"), None),
            (json!("4294967296"), None),
            (json!(3.5), None),
        ],
    );
    check(
        || Registry::builder().tool::<ratio>(),
        [
            (json!("3.5"), Some(json!(3.5))),
            (json!("-1e3"), Some(json!(-1000))),
            (json!("NaN"), None),
            (json!("Infinity"), None),
            (json!("1e400"), None),
        ],
    );
}

// F05
#[test]
fn only_true_false_one_and_zero_are_coerced_to_booleans() {
    tool_of!(flag: bool);
    check(
        || Registry::builder().tool::<flag>(),
        [
            (json!("true"), Some(json!(true))),
            (json!("false"), Some(json!(false))),
            (json!(1), Some(json!(true))),
            (json!(0), Some(json!(false))),
            (json!("TRUE"), None),
            (json!("yes"), None),
            (json!(2), None),
            (json!("1"), None),
        ],
    );
}

// F06
#[test]
fn a_number_or_a_boolean_is_coerced_to_its_plain_text() {
    tool_of!(word: String);
    check(
        || Registry::builder().tool::<word>(),
        [
            (json!(12), Some(json!("12"))),
            (json!(1.5), Some(json!("1.5"))),
            (json!(1e21), Some(json!("1000000000000000000000"))),
            (json!(false), Some(json!("false"))),
            (json!({ "a": 1 }), None),
            (json!(["a"]), None),
        ],
    );
    let tools = || Registry::builder().tool::<word>();
    assert_eq!(
        text(tools(), "word", r#"{"x":123456789012345678901234567890}"#),
        "123456789012345678901234567890"
    );
}

// F07
#[test]
fn null_is_never_coerced_to_a_zero_value() {
    tool_of!(count: u32);
    tool_of!(words: Vec<String>);
    tool_of!(maybe: Vec<Option<bool>>);
    tool_of!(nothing: ());
    check(|| Registry::builder().tool::<count>(), [(Value::Null, None)]);
    check(|| Registry::builder().tool::<words>(), [(Value::Null, None)]);
    let said = feedback(Registry::builder().tool::<count>(), "count", r#"{"x":null}"#);
    assert!(said.starts_with("Invalid arguments: /x: expected an integer, got null"), "{said}");
    assert_eq!(text(Registry::builder().tool::<maybe>(), "maybe", r#"{"x":[null,true]}"#), "[null,true]");
    check(
        || Registry::builder().tool::<maybe>(),
        [(json!([null, 0, "true"]), Some(json!([null, false, true])))],
    );
    check(
        || Registry::builder().tool::<nothing>(),
        [
            (json!(""), Some(Value::Null)),
            (json!(0), Some(Value::Null)),
            (json!(false), Some(Value::Null)),
            (json!("null"), None),
            (json!(1), None),
        ],
    );
}

// F08
#[test]
fn a_union_prefers_an_exact_variant_and_else_coerces_to_the_first_possible() {
    #[tool_args(serialize)]
    #[serde(untagged)]
    enum Either {
        /// A text.
        Text(String),
        /// A number.
        Number(i64),
    }
    #[tool_args(serialize)]
    #[serde(untagged)]
    enum Answer {
        /// A number.
        Number(i64),
        /// Yes or no.
        Truth(bool),
    }
    tool_of!(either: Either);
    tool_of!(answer: Answer);
    assert_eq!(text(Registry::builder().tool::<either>(), "either", r#"{"x":"3"}"#), "3");
    let kept = call(Registry::builder().tool::<either>(), "either", r#"{"x":"3"}"#).unwrap();
    assert_eq!((kept.structured(), kept.corrections().len()), (Some(json!("3")), 0));
    check(
        || Registry::builder().tool::<answer>(),
        [(json!("true"), Some(json!(true))), (json!("3"), Some(json!(3))), (json!("x"), None)],
    );
    let schema = json!({ "properties": { "x": { "type": ["string", "integer"] } } });
    let fitted = by_hand(schema, false).check("echo", r#"{"x":"3"}"#).map(|it| it.as_str().to_owned());
    assert_eq!(fitted.unwrap(), r#"{"x":"3"}"#);
}

#[tool_args]
struct Point {
    lat: f64,
    lon: f64,
    label: Option<String>,
}

// F09
#[test]
fn values_are_coerced_at_any_depth() {
    #[tool_args]
    struct Tree {
        xs: Vec<i64>,
        pair: (u8, bool),
        by_name: BTreeMap<String, Vec<u8>>,
        #[serde(default)]
        below: Vec<Tree>,
    }
    /// Returns its arguments.
    #[tool(register = false)]
    fn grow(#[args] tree: Tree) -> Value {
        json!([tree.xs, tree.pair, tree.by_name, tree.below.len()])
    }
    let arguments = json!({
        "xs": ["1", "2"],
        "pair": ["7", 1],
        "by_name": { "a": ["1"], "b": 2 },
        "below": [{ "xs": [], "pair": [1, "true"], "by_name": {}, "below": [] }],
    });
    let tools = Registry::builder().tool::<grow>().build().unwrap();
    let reply = run(tools.call("grow", &arguments)).unwrap();
    assert_eq!(reply.text(), r#"[[1,2],[7,true],{"a":[1],"b":[2]},1]"#);
    let places: Vec<_> = reply.corrections().iter().map(|it| it.pointer.as_str()).collect();
    let expected = ["/xs/0", "/xs/1", "/pair/0", "/pair/1", "/by_name/a/0", "/by_name/b", "/below/0/pair/1"];
    assert_eq!(places, expected);
}

#[test]
fn lists_and_objects_may_be_json_texts_and_a_value_becomes_a_list() {
    tool_of!(tags: Vec<String>);
    tool_of!(anything: Vec<Value>);
    /// Counts.
    #[tool(register = false)]
    fn points(x: Vec<Point>) -> usize {
        x.len()
    }
    check(
        || Registry::builder().tool::<tags>(),
        [
            (json!("new"), Some(json!(["new"]))),
            (json!(r#"["a", "b"]"#), Some(json!(["a", "b"]))),
            (json!(""), None),
            (json!(r#"["a""#), None),
            (Value::Null, None),
        ],
    );
    check(|| Registry::builder().tool::<anything>(), [(json!("new"), None), (json!({}), None)]);
    let point = json!([{ "lat": 1, "lon": 2.5 }]);
    check(
        || Registry::builder().tool::<points>(),
        [
            (json!({ "lat": 1, "lon": 2.5 }), Some(point.clone())),
            (json!({ "lat": "1", "lon": "2.5", "label": null }), Some(point.clone())),
            (json!(r#"{"lat":1,"lon":2.5}"#), Some(point.clone())),
            (json!([r#"{"lat":1,"lon":"2.5"}"#]), Some(point)),
            (json!(r#"{"lat":1,"lat":1,"lon":2.5}"#), None),
            (json!({ "items": [] }), None),
        ],
    );
}

#[test]
fn arguments_as_a_json_string_are_read() {
    tool_of!(count: u32);
    let reply = call(Registry::builder().tool::<count>(), "count", r#""{\"x\": \"3\"}""#).unwrap();
    assert_eq!(reply.text(), "3");
    let rules: Vec<_> = reply.corrections().iter().map(|it| it.rule).collect();
    assert_eq!(rules, [CorrectionRule::FromJson, CorrectionRule::ToNumber]);
}

// F10
#[test]
fn coercion_keeps_the_original_arguments_and_valid_parts_byte_for_byte() {
    tool_of!(count: u32);
    let sent = json!({ "x": "3" });
    let registry = Registry::builder().tool::<count>().build().unwrap();
    assert_eq!(run(registry.call("count", &sent)).unwrap().text(), "3");
    assert_eq!(sent, json!({ "x": "3" }));

    let schema = json!({ "properties": { "x": { "type": "integer" } } });
    let sent = r#"{ "id" : 123456789012345678901234567890.10, "x":"3" }"#;
    let reply = run(by_hand(schema, false).call("echo", sent)).unwrap();
    assert_eq!(reply.text(), r#"{"id":123456789012345678901234567890.10,"x":3}"#);
}

// F12
#[test]
fn coercion_keeps_integers_beyond_2_to_the_53_exact() {
    tool_of!(signed: i64);
    tool_of!(unsigned: u64);
    let signed = || Registry::builder().tool::<signed>();
    assert_eq!(text(signed(), "signed", r#"{"x":"9007199254740993"}"#), "9007199254740993");
    assert_eq!(text(signed(), "signed", r#"{"x":"-9223372036854775808"}"#), "-9223372036854775808");
    let most = r#"{"x":"18446744073709551615"}"#;
    assert_eq!(text(Registry::builder().tool::<unsigned>(), "unsigned", most), "18446744073709551615");
    check(signed, [(json!("9223372036854775808"), None), (json!("123456789012345678901234567890"), None)]);
}

// F13
#[test]
fn strictness_of_a_tool_overrides_strictness_of_the_registry() {
    /// Counts.
    #[tool(register = false)]
    fn plain(x: u32) -> u32 {
        x
    }
    /// Counts.
    #[tool(register = false, strict)]
    fn severe(x: u32) -> u32 {
        x
    }
    /// Counts.
    #[tool(register = false, strict = false)]
    fn mild(x: u32) -> u32 {
        x
    }
    let tools = || Registry::builder().tool::<plain>().tool::<severe>().tool::<mild>();
    for (set, lenient) in
        [(None, ["plain", "mild"].as_slice()), (Some(false), &["plain", "mild"]), (Some(true), &["mild"])]
    {
        let tools = match set {
            None => tools(),
            Some(strict) => tools().strict(strict),
        };
        let tools = tools.build().unwrap();
        for name in ["plain", "severe", "mild"] {
            let result = run(tools.call(name, r#"{"x":"3"}"#));
            let checked = tools.check(name, r#"{"x":"3"}"#);
            if lenient.contains(&name) {
                assert_eq!(result.unwrap().text(), "3");
                assert_eq!(checked.unwrap().as_str(), r#"{"x":3}"#);
            } else {
                let error = result.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidArguments);
                let said = "Invalid arguments: /x: expected an integer, got \"3\"\nReceived: {\"x\":\"3\"}\n\
                            Arguments that fit, for example: {\"x\":1}\nNothing was executed.";
                assert_eq!(error.feedback(), said);
                assert_eq!(checked.unwrap_err().feedback(), said);
            }
            // An equivalent spelling is not a correction.
            assert_eq!(run(tools.call(name, r#"{"x":3.0}"#)).unwrap().text(), "3");
        }
    }
}

// F16
#[test]
fn absent_arguments_are_validated_as_an_empty_object() {
    /// Counts.
    #[tool(register = false)]
    fn optional(x: Option<u32>) -> String {
        format!("{x:?}")
    }
    tool_of!(required: u32);
    for nothing in ["", " \n", "null", " null "] {
        assert_eq!(text(Registry::builder().tool::<optional>(), "optional", nothing), "None");
        let error = call(Registry::builder().tool::<required>(), "required", nothing).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArguments);
        assert_eq!(error.violations()[0].pointer, "/x");
    }
}

// B27
#[test]
fn a_host_can_coerce_arguments_without_running_the_call() {
    #[tool_args]
    struct Query {
        days: u32,
    }
    /// Asks.
    #[tool(register = false)]
    fn ask(#[args] query: Query) -> u32 {
        query.days
    }
    let registry = Registry::builder().tool::<ask>().build().unwrap();
    let sent = r#"{"days":"3"}"#;
    assert_eq!(registry.decode::<Query>("ask", sent).unwrap().days, 3);
    let fitted = registry.check("ask", sent).unwrap();
    assert_eq!(fitted.as_str(), r#"{"days":3}"#);
    let [only] = fitted.corrections() else { panic!("{fitted:?}") };
    let expected = Correction::new("/days", "\"3\"", "3", CorrectionRule::ToNumber);
    assert_eq!(only, &expected);
    assert_eq!(only.to_string(), r#"/days: read "3" as 3"#);
    assert_eq!(fitted.into_text(), r#"{"days":3}"#);
    assert_eq!(sent, r#"{"days":"3"}"#);
    assert_eq!(registry.decode::<Query>("answer", sent).err().unwrap().kind(), ErrorKind::UnknownTool);
}

#[test]
fn reports_show_the_original_values() {
    /// Counts.
    #[tool(register = false)]
    fn both(x: u32, y: u32) -> u32 {
        x + y
    }
    let tools = || Registry::builder().tool::<both>();
    let said = feedback(tools(), "both", r#"{"x":"3","y":"many"}"#);
    assert_eq!(
        said,
        "Invalid arguments:\n- /x: expected an integer, got \"3\"\n- /y: expected an integer, got \"many\"\n\
         Received: {\"x\":\"3\",\"y\":\"many\"}\nArguments that fit, for example: {\"x\":1,\"y\":1}\nNothing was executed."
    );
    // Also if only the type refuses the coerced value.
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[serde(try_from = "u32")]
    struct Even(u32);
    impl TryFrom<u32> for Even {
        type Error = &'static str;
        fn try_from(number: u32) -> Result<Self, Self::Error> {
            if number.is_multiple_of(2) { Ok(Self(number)) } else { Err("it is odd") }
        }
    }
    /// Halves.
    #[tool(register = false)]
    fn half(#[schemars(extend("type" = "integer"))] x: Even) -> u32 {
        x.0 / 2
    }
    let tools = || Registry::builder().tool::<half>();
    assert_eq!(text(tools(), "half", r#"{"x":"4"}"#), "2");
    assert!(feedback(tools(), "half", r#"{"x":3}"#).contains("it is odd"));
    assert!(feedback(tools(), "half", r#"{"x":"3"}"#).contains("/x: expected an integer, got \"3\""));
    // And if no value was coerced.
    /// Limits.
    #[tool(register = false)]
    fn limit(#[serde(alias = "max")] limit: Option<u8>) -> Option<u8> {
        limit
    }
    let said = feedback(Registry::builder().tool::<limit>(), "limit", r#"{"limit":4,"max":5}"#);
    let expected = "/max: expected the property `limit` once; `max` is another name for it, got 5";
    assert!(said.starts_with(&format!("Invalid arguments: {expected}\n")), "{said}");
}

#[test]
fn corrections_hide_secrets() {
    /// Logs in.
    #[tool(register = false)]
    fn login(#[arg(secret)] pin: String, tries: u32, once: Vec<u32>) -> String {
        format!("{} {tries} {once:?}", pin.len())
    }
    let reply =
        call(Registry::builder().tool::<login>(), "login", r#"{"pin":4711,"tries":"12","once":7}"#).unwrap();
    assert_eq!(reply.text(), "4 12 [7]");
    let said: Vec<_> = reply.corrections().iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "/pin: read a value that is hidden as a text",
            "/tries: read a value that is hidden as a number",
            "/once: read a value that is hidden as a list of it",
        ]
    );
    let everything = format!("{reply:?} {}", serde_json::to_string(&reply).unwrap());
    assert!(!everything.contains("4711") && !everything.contains("\"12\""), "{everything}");
}

/// A hand-written tool that returns its arguments, with or without validating them itself.
struct Echo(ToolDefinition, bool);

impl Tool for Echo {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, mut arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let text = match self.1 {
            true => self.0.decode::<Value>(&mut arguments)?.to_string(),
            false => arguments.as_str().to_owned(),
        };
        Ok(Prepared::new(arguments, |_, _cx| Box::pin(async move { Ok(ToolOutput::from(text)) })))
    }

    fn holds_arguments(&self) -> bool {
        self.1
    }
}

fn by_hand(schema: Value, holds_arguments: bool) -> Registry {
    let schema = InputSchema::new(schema).unwrap();
    let definition = ToolDefinition::new(ToolName::new("echo").unwrap(), "Echoes.", schema);
    Registry::builder().add(Echo(definition, holds_arguments)).build().unwrap()
}

#[test]
fn hand_written_tools_and_closures_receive_coerced_arguments() {
    for holds_arguments in [false, true] {
        let schema = json!({ "properties": { "x": { "type": "integer" } } });
        let tools = by_hand(schema, holds_arguments);
        let reply = run(tools.call("echo", r#"{"x":"3"}"#)).unwrap();
        assert_eq!(reply.text(), r#"{"x":3}"#);
        assert_eq!(reply.corrections().len(), 1);
        assert_eq!(run(tools.call("echo", r#"{"x":3}"#)).unwrap().corrections(), []);
    }
    let closure = ToolBuilder::new("where")
        .description("Says.")
        .expect_handler(|at: Point, _cx| async move { Ok::<_, ToolError>(at.lat + at.lon) });
    let reply =
        run(Registry::builder().add(closure).build().unwrap().call("where", r#"{"lat":"1","lon":1.5}"#));
    let reply = reply.unwrap();
    assert_eq!((reply.text().as_ref(), reply.corrections().len()), ("2.5", 1));
}

#[test]
fn a_prepared_call_has_its_corrections() {
    let schema = json!({ "properties": { "x": { "type": "integer" } } });
    let tools = by_hand(schema, true);
    let tool = tools.get("echo").unwrap();
    let came = Arguments::from(r#"{"x":"3"}"#);
    assert_eq!(tool.prepare(came.clone()).unwrap_err().kind(), ErrorKind::InvalidArguments);
    let prepared = tool.prepare(came.lenient(true)).unwrap();
    assert_eq!(prepared.arguments().as_str(), r#"{"x":3}"#);
    assert_eq!(prepared.arguments().corrections().len(), 1);
    let cx = ToolContext::for_test();
    assert_eq!(run(prepared.run(&cx)).unwrap().corrections().len(), 1);
}

#[test]
fn a_result_with_corrections_round_trips_through_json() {
    tool_of!(count: u32);
    let reply = call(Registry::builder().tool::<count>(), "count", r#"{"x":"3"}"#).unwrap();
    let wire = serde_json::to_value(&reply).unwrap();
    let correction = json!({ "pointer": "/x", "from": "\"3\"", "to": "3", "rule": "to_number" });
    assert_eq!(wire["corrections"], json!([correction]));
    assert_eq!(serde_json::from_value::<ToolOutput>(wire).unwrap(), reply);
    let plain = call(Registry::builder().tool::<count>(), "count", r#"{"x":3}"#).unwrap();
    assert!(serde_json::to_value(plain).unwrap().get("corrections").is_none());
}

// F01
#[test]
fn rewriting_by_a_tool_precedes_coercion() {
    fn fill(map: &mut serde_json::Map<String, Value>) -> Result<(), ToolError> {
        assert_eq!(map.get("x"), Some(&json!("3")), "it sees the original arguments, once");
        map.insert("y".to_owned(), json!("4"));
        Ok(())
    }
    /// Adds.
    #[tool(register = false, prepare = fill)]
    fn sum(x: u32, y: u32) -> u32 {
        x + y
    }
    let reply = call(Registry::builder().tool::<sum>(), "sum", r#"{"x":"3"}"#).unwrap();
    assert_eq!((reply.text().as_ref(), reply.corrections().len()), ("7", 2));
}
