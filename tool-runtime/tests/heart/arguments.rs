//! Arguments of calls.

use serde_json::{Value, json};
use tool_runtime::prelude::*;

use crate::{call, feedback, run, text};

#[tool_args]
enum Unit {
    /// As Celsius had it.
    Celsius,
    Fahrenheit,
}

#[tool_args]
struct Query {
    city: String,
    unit: Option<Unit>,
    #[schemars(range(min = 1, max = 14))]
    #[serde(default = "three")]
    days: u8,
    #[serde(default)]
    points: Vec<Point>,
}

#[tool_args]
struct Point {
    #[schemars(range(min = -90, max = 90))]
    lat: f64,
    lon: f64,
}

fn three() -> u8 {
    3
}

/// Asks.
#[tool(register = false)]
fn ask(#[args] query: Query) -> String {
    let unit = match query.unit {
        None => "none",
        Some(Unit::Celsius) => "celsius",
        Some(Unit::Fahrenheit) => "fahrenheit",
    };
    let sum = query.points.iter().fold(0.0, |sum, point| sum + point.lat + point.lon);
    format!("{} {unit} {} {sum}", query.city, query.days)
}

fn tools() -> tool_runtime::registry::RegistryBuilder {
    Registry::builder().tool::<ask>()
}

// B04, B16
#[test]
fn a_nested_struct_is_decoded() {
    assert_eq!(text(tools(), "ask", r#"{"city":"Oslo"}"#), "Oslo none 3 0");
    let all = r#"{"city":"Oslo","unit":"Celsius","days":14,"points":[{"lat":1.5,"lon":2}]}"#;
    assert_eq!(text(tools(), "ask", all), "Oslo celsius 14 3.5");
    assert_eq!(
        text(tools(), "ask", r#"{"city":"Oslo","unit":null,"days":null,"points":null}"#),
        "Oslo none 3 0"
    );
}

// B27 (without coercion of "3")
#[test]
fn a_host_can_decode_arguments_without_running_the_call() {
    let registry = tools().build().unwrap();
    let sent = r#"{"city":"Oslo","days":2.0,"unit":null}"#;
    let query: Query = registry.decode("ask", sent).unwrap();
    assert_eq!((query.city.as_str(), query.days, query.unit.is_none()), ("Oslo", 2, true));
    assert_eq!(registry.check("ask", sent).unwrap().as_str(), r#"{"city":"Oslo","days":2}"#);
    // Valid arguments are returned byte for byte.
    let fits = r#"{ "city" : "Oslo" }"#;
    assert_eq!(registry.check("ask", fits).unwrap().as_str(), fits);
    let unknown = registry.decode::<Query>("answer", sent).err().unwrap();
    assert_eq!(unknown.feedback(), "Tool not found: answer");
    let refused = registry.decode::<Query>("ask", r#"{"days":15}"#).err().unwrap();
    assert_eq!(refused.feedback(), feedback(tools(), "ask", r#"{"days":15}"#));
    let other = registry.decode::<Point>("ask", fits).err().unwrap();
    assert!(other.feedback().contains("do not decode as `heart::arguments::Point`"), "{}", other.feedback());
}

// B17, B20, E05
#[test]
fn all_violations_are_reported_with_their_places() {
    let wrong = r#"{"unit":"Kelvin","days":15,"points":[{"lat":91,"lon":0},{"lat":1,"lon":2,"alt":3}]}"#;
    let error = call(tools(), "ask", wrong).unwrap_err();
    let mut places: Vec<_> = error.violations().iter().map(|it| it.pointer.as_str()).collect();
    places.sort_unstable();
    assert_eq!(places, ["/city", "/days", "/points/0/lat", "/points/1/alt", "/unit"]);
    let feedback = error.feedback();
    assert!(feedback.contains("/points/0/lat: expected at most 90, got 91"), "{feedback}");
    assert!(feedback.contains("\"Celsius\"") && feedback.contains("got \"Kelvin\""), "{feedback}");
}

// B14
#[test]
fn a_field_may_have_an_alias_at_any_depth() {
    #[tool_args]
    struct Outer {
        #[serde(rename = "in", alias = "inside", default)]
        inner: Vec<Inner>,
    }
    #[tool_args]
    struct Inner {
        #[serde(alias = "n")]
        number: u8,
    }
    /// Sums.
    #[tool(register = false)]
    fn sum(#[args] outer: Outer) -> u32 {
        outer.inner.iter().map(|inner| u32::from(inner.number)).sum()
    }
    let tools = || Registry::builder().tool::<sum>();
    assert_eq!(text(tools(), "sum", r#"{"inside":[{"n":1},{"number":2}]}"#), "3");
    let refused = feedback(tools(), "sum", r#"{"inside":[{"n":300}]}"#);
    assert!(refused.contains("/in/0/number: expected at most 255, got 300"), "{refused}");
    assert!(!crate::schema(tools()).to_string().contains("alias"));
}

// B14
#[test]
fn a_parameter_may_have_an_alias() {
    /// Limits.
    #[tool(register = false)]
    fn limit(
        #[serde(alias = "max", alias = "top")] limit: u8,
        #[schemars(range(max = 9))] n: Option<u8>,
    ) -> u8 {
        limit + n.unwrap_or(0)
    }
    /// Limits.
    #[tool(register = false)]
    fn plain(#[serde(alias = "max")] limit: u8) -> u8 {
        limit
    }
    let checked = || Registry::builder().tool::<limit>();
    let plain = || Registry::builder().tool::<plain>();
    for arguments in [r#"{"limit":5}"#, r#"{"max":5}"#, r#"{"top":5}"#] {
        assert_eq!(text(checked(), "limit", arguments), "5");
    }
    assert_eq!(text(plain(), "plain", r#"{"max":5}"#), "5");
    // Reports use the name of the property, and schemas do not contain aliases.
    for said in [feedback(checked(), "limit", r#"{"max":"x"}"#), feedback(plain(), "plain", r#"{"max":"x"}"#)]
    {
        assert!(said.contains("/limit: expected an integer, got \"x\""), "{said}");
    }
    let twice = feedback(checked(), "limit", r#"{"limit":1,"max":2}"#);
    assert!(twice.contains("/max"), "{twice}");
    assert!(!crate::schema(checked()).to_string().contains("alias"));
}

#[test]
fn arguments_may_be_a_value_or_its_text() {
    let value = json!({ "city": "Oslo", "days": 2 });
    let registry = tools().build().unwrap();
    let from_value = run(registry.call("ask", value.clone())).unwrap();
    let from_text = run(registry.call("ask", value.to_string())).unwrap();
    assert_eq!(from_value, from_text);
    assert_eq!(run(registry.call("ask", &value)).unwrap(), from_text);
}

#[test]
fn an_integer_beyond_2_to_the_53_keeps_its_value() {
    /// Gives it back.
    #[tool(register = false)]
    fn same(n: i64, m: u64) -> Value {
        json!([n, m])
    }
    let arguments = r#"{"n":-9007199254740993,"m":18446744073709551615}"#;
    let tools = || Registry::builder().tool::<same>();
    assert_eq!(text(tools(), "same", arguments), "[-9007199254740993,18446744073709551615]");
    let refused = feedback(tools(), "same", r#"{"n":9223372036854775808,"m":-1}"#);
    assert!(refused.contains("/n") && refused.contains("/m"), "{refused}");
}

struct Database;

#[test]
fn a_property_may_have_the_name_of_a_dependency() {
    /// Takes a database, and its name.
    #[tool(register = false)]
    fn connect(
        db: &Database,
        cx: &ToolContext,
        #[serde(rename = "db", alias = "cx")] name: String,
    ) -> String {
        let Database = db;
        format!("{} {name}", cx.tool_name())
    }
    let tools = || Registry::builder().tool::<connect>().provide(Database);
    assert_eq!(text(tools(), "connect", r#"{"db":"main"}"#), "connect main");
    assert_eq!(text(tools(), "connect", r#"{"cx":"main"}"#), "connect main");
    let refused = feedback(tools(), "connect", r#"{"db":[1]}"#);
    assert!(refused.contains("/db: expected a string, got [1]"), "{refused}");
}

#[test]
fn a_dependency_is_not_a_property() {
    /// Takes a database.
    #[tool(register = false, unknown_fields = "ignore")]
    fn lenient(db: &Database) {
        let Database = db;
    }
    /// Takes a database.
    #[tool(register = false)]
    fn exact(db: &Database) {
        let Database = db;
    }
    let tools = || Registry::builder().tool::<lenient>().tool::<exact>().provide(Database);
    assert_eq!(text(tools(), "lenient", r#"{"db":1}"#), "");
    let refused = feedback(tools(), "exact", r#"{"db":1}"#);
    assert!(refused.starts_with("Invalid arguments: /db: expected "), "{refused}");
}

// B10
#[test]
fn a_borrowed_list_may_have_a_default() {
    /// Sums.
    #[tool(register = false)]
    fn sum(
        #[arg(default = &[1, 2])] list: &[u8],
        #[arg(default = Some(&[10]))] optional: Option<&[u8]>,
        #[serde(default)] empty: &[String],
        #[schemars(length(max = 2))]
        #[arg(default = LIST)]
        bounded: &[u8],
    ) -> String {
        format!("{list:?} {optional:?} {empty:?} {bounded:?}")
    }
    const LIST: &[u8] = &[7];
    let tools = || Registry::builder().tool::<sum>();
    assert_eq!(text(tools(), "sum", ""), "[1, 2] Some([10]) [] [7]");
    let all = r#"{"list":[],"optional":[3],"empty":["a"],"bounded":[4,5]}"#;
    assert_eq!(text(tools(), "sum", all), r#"[] Some([3]) ["a"] [4, 5]"#);
    assert_eq!(text(tools(), "sum", r#"{"list":null,"optional":null}"#), "[1, 2] Some([10]) [] [7]");
    assert!(feedback(tools(), "sum", r#"{"list":[300]}"#).contains("/list/0: expected at most 255"));
    let schema = crate::schema(tools());
    assert_eq!(schema.get("required"), None);
    let defaults =
        ["list", "optional", "empty", "bounded"].map(|name| &schema["properties"][name]["default"]);
    assert_eq!(defaults, [&json!([1, 2]), &json!([10]), &json!([]), &json!([7])]);
    let number = json!({ "type": "integer", "minimum": 0, "maximum": 255 });
    let optional = json!({ "type": "array", "items": number, "default": [10] });
    assert_eq!(schema["properties"]["optional"], optional);
}

#[test]
fn the_default_of_a_borrowed_list_is_in_the_canonical_text() {
    fn is_long(list: &[u8], optional: Option<&[u8]>) -> bool {
        list.len() + optional.map_or(0, <[u8]>::len) > 2
    }
    /// Sums.
    #[tool(register = false, confirm = is_long)]
    fn sum(
        #[arg(default = &[1, 2])] list: &[u8],
        #[arg(default = Some(&[10]))] optional: Option<&[u8]>,
    ) -> u8 {
        list.iter().chain(optional.unwrap_or_default()).sum()
    }
    let tools = Registry::builder().tool::<sum>().build().unwrap();
    let cx = ToolContext::for_test();
    let asks = |arguments: &'static str| {
        tools.get("sum").unwrap().prepare(arguments.into()).unwrap().wants_confirmation(&cx).unwrap()
    };
    assert_eq!(asks("{}"), Some(true));
    assert_eq!(asks(r#"{"list":[1]}"#), Some(false));
}

// F14
#[test]
fn a_duplicate_name_is_refused_before_a_tool_rewrites_its_arguments() {
    type Map = serde_json::Map<String, serde_json::Value>;
    fn keep(_: &mut Map) -> Result<(), ToolError> {
        Ok(())
    }
    /// Counts.
    #[tool(register = false, prepare = keep)]
    fn count(x: u8) -> u8 {
        x
    }
    let tools = || Registry::builder().tool::<count>();
    assert_eq!(text(tools(), "count", r#"{"x":1}"#), "1");
    let refused = feedback(tools(), "count", r#"{"x":1,"x":2}"#);
    assert!(refused.contains("/x: expected the property once, got it twice"), "{refused}");
}

/// Takes any arguments.
#[tool(register = false, input_schema = json!({ "properties": { "n": { "type": "integer" } } }))]
fn open(n: u8) -> u8 {
    n
}

// F22
#[test]
fn arguments_are_an_object_even_if_the_schema_does_not_require_it() {
    let tools = Registry::builder().tool::<open>().build().unwrap();
    let expected = "the arguments: expected an object, got the array [1]";
    let refused = tools.check("open", "[1]").unwrap_err();
    assert_eq!(refused.violations()[0].to_string(), expected);
    assert_eq!(crate::run(tools.call("open", "[1]")).unwrap_err().feedback(), refused.feedback());
    assert!(tools.definitions()[0].input_schema().as_value().get("type").is_none());
}

/// Takes a number up to five.
#[tool(register = false, input_schema = schemars::json_schema!({ "type": "object", "properties": { "n": { "maximum": 5 } } }))]
fn limited(n: u8) -> u8 {
    n
}

// F22
#[test]
fn a_written_schema_may_be_one_of_schemars() {
    let tools = Registry::builder().tool::<limited>().build().unwrap();
    let schema = tools.definitions()[0].input_schema().as_value().clone();
    assert_eq!(schema, json!({ "type": "object", "properties": { "n": { "maximum": 5 } } }));
    assert!(tools.check("limited", r#"{"n":5}"#).is_ok() && tools.check("limited", r#"{"n":6}"#).is_err());
}

/// Joins two texts.
#[tool(register = false, input_schema = json!({ "properties": { "other": {}, "last": {}, "first": {} } }))]
fn join(first: &str, last: String) -> String {
    format!("{first} {last}")
}

// B22
#[test]
fn a_written_schema_may_list_parameters_in_another_order_and_with_any_types() {
    let tools = || Registry::builder().tool::<join>();
    assert_eq!(text(tools(), "join", r#"{"last":"b","other":1,"first":"a"}"#), "a b");
    assert_eq!(text(tools(), "join", r#"{"first":"a","more":[1],"last":"b"}"#), "a b");
    for (arguments, expected) in [
        (
            r#"{"first":5,"last":"b"}"#,
            "/first: expected something that can be read (invalid type: integer `5`, expected a string), got 5",
        ),
        (
            r#"{"first":"a","last":true}"#,
            "/last: expected something that can be read (invalid type: boolean `true`, expected a string), got true",
        ),
        (r#"{"first":"a"}"#, "expected something that can be read (missing field `last`)"),
    ] {
        let refused = feedback(tools(), "join", arguments);
        assert!(refused.contains(expected), "{refused}");
    }
}
