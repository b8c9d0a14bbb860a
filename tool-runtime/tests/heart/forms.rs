//! The forms of tools: functions, structs, methods and generic functions.

use std::{borrow::Cow, path::Path, sync::Arc};

use serde_json::json;
use tool_runtime::prelude::*;

use crate::{call, definition, feedback, run, schema, text};

/// Adds two numbers.
#[tool(register = false)]
async fn add(
    /// First number.
    a: i64,
    /// Second number.
    b: i64,
) -> i64 {
    a + b
}

#[tool_args]
struct Sum {
    /// First number.
    a: i64,
    /// Second number.
    b: i64,
}

/// Adds two numbers.
#[tool(register = false)]
async fn add_args(#[args] args: Sum) -> i64 {
    args.a + args.b
}

/// Adds two numbers.
#[tool(register = false)]
fn add_pattern(Sum { a, b }: Sum) -> i64 {
    a + b
}

/// Adds two numbers.
#[tool(register = false)]
struct AddUp {
    /// First number.
    a: i64,
    /// Second number.
    b: i64,
}

impl Run for AddUp {
    type Output = i64;

    async fn run(self, _cx: &ToolContext) -> i64 {
        self.a + self.b
    }
}

// B01
#[test]
fn an_annotated_function_can_be_called() {
    assert_eq!(run(add(2, 3)), 5);
    assert_eq!(text(Registry::builder().tool::<add>(), "add", r#"{"a":2,"b":3}"#), "5");
}

// B04
#[test]
fn all_forms_of_the_same_arguments_have_the_same_schema_and_result() {
    let list = Registry::builder().tool::<add>();
    let others = [
        ("add_args", Registry::builder().tool::<add_args>()),
        ("add_pattern", Registry::builder().tool::<add_pattern>()),
        ("add_up", Registry::builder().tool::<AddUp>()),
    ];
    let expected = schema(list);
    assert_eq!(
        expected,
        json!({
            "type": "object",
            "properties": {
                "a": { "type": "integer", "description": "First number.", "minimum": i64::MIN, "maximum": i64::MAX },
                "b": { "type": "integer", "description": "Second number.", "minimum": i64::MIN, "maximum": i64::MAX },
            },
            "required": ["a", "b"],
            "additionalProperties": false,
        })
    );
    for (name, tools) in others {
        let tools = tools.build().unwrap();
        assert_eq!(*tools.definitions()[0].input_schema().as_value(), expected, "{name}");
        assert_eq!(run(tools.call(name, r#"{"a":2,"b":3}"#)).unwrap().text(), "5", "{name}");
    }
}

/// A place to keep text.
struct Files {
    root: String,
}

#[toolset]
impl Files {
    /// Reads a file.
    #[tool(read_only)]
    async fn read(&self, path: &str) -> String {
        format!("{}/{path}", self.root)
    }

    /// Counts the letters of a path.
    #[tool]
    fn measure(&self, path: String) -> usize {
        self.root.len() + path.len()
    }

    /// Says which version this is.
    #[tool(name = "version")]
    fn which() -> &'static str {
        "1"
    }

    fn not_a_tool(&self) -> usize {
        self.root.len()
    }
}

#[test]
fn methods_as_tools_share_their_value() {
    let files = Files { root: "/srv".into() };
    assert_eq!(files.not_a_tool(), 4);
    assert_eq!(run(files.read("a")), "/srv/a");
    let tools = Registry::builder().toolset(files).build().unwrap();
    let names: Vec<_> = tools.definitions().iter().map(|it| it.name().as_str()).collect();
    assert_eq!(names, ["measure", "read", "version"]);
    assert_eq!(run(tools.call("read", r#"{"path":"b"}"#)).unwrap().text(), "/srv/b");
    assert_eq!(run(tools.call("measure", r#"{"path":"b"}"#)).unwrap().text(), "5");
    assert_eq!(run(tools.call("version", "{}")).unwrap().text(), "1");
    assert_eq!(tools.definitions()[1].metadata().toolset.as_deref(), Some("files"));
    assert!(tools.definitions()[1].metadata().is_read_only());
}

// B06
#[test]
fn a_tool_without_arguments_takes_empty_and_null_and_an_object() {
    /// Says that it is there.
    #[tool(register = false)]
    fn ping() -> &'static str {
        "pong"
    }
    let tools = || Registry::builder().tool::<ping>();
    assert_eq!(schema(tools()), json!({ "type": "object", "properties": {}, "additionalProperties": false }));
    for arguments in ["", "  ", "null", "{}", " { } "] {
        assert_eq!(text(tools(), "ping", arguments), "pong", "{arguments:?}");
    }
    assert_eq!(run(tools().build().unwrap().call("ping", serde_json::Value::Null)).unwrap().text(), "pong");
    assert!(feedback(tools(), "ping", r#"{"loud":true}"#).contains("/loud"));
    assert!(feedback(tools(), "ping", "[1]").contains("expected an object"));
}

type Text = str;

/// Shows what it borrows.
#[tool(register = false)]
fn borrows<'a>(
    text: &'a str,
    alias: &Text,
    maybe: Option<&str>,
    cow: Cow<'a, str>,
    path: &Path,
    ids: &[u32],
    names: Option<&[String]>,
) -> String {
    format!("{text}|{alias}|{maybe:?}|{cow}|{}|{ids:?}|{names:?}", path.display())
}

// B10: borrowed parameters are legal.
#[test]
fn a_parameter_may_borrow_from_the_arguments() {
    let tools = || Registry::builder().tool::<borrows>();
    let arguments =
        r#"{"text":"a","alias":"b","maybe":"c","cow":"d","path":"e/f","ids":[1,2],"names":["g"]}"#;
    assert_eq!(text(tools(), "borrows", arguments), r#"a|b|Some("c")|d|e/f|[1, 2]|Some(["g"])"#);
    let escaped = r#"{"text":"\u00e9\n","alias":"\"","maybe":null,"cow":"\\","path":"","ids":[]}"#;
    assert_eq!(text(tools(), "borrows", escaped), "é\n|\"|None|\\||[]|None");
    let schema = schema(tools());
    assert_eq!(schema["required"], json!(["text", "alias", "cow", "path", "ids"]));
    assert_eq!(schema["properties"]["ids"]["items"]["type"], "integer");
}

trait Store: Send + Sync {
    fn id(&self) -> u32;
}

struct Memory(u32);

impl Store for Memory {
    fn id(&self) -> u32 {
        self.0
    }
}

type Cx = ToolContext;

/// Shows what the program provides.
#[tool(register = false)]
fn provided(count: u32, memory: &Memory, cx: &Cx, store: &dyn Store) -> String {
    format!("{count} {} {} {}", memory.0, store.id(), cx.tool_name())
}

// B05, C02
#[test]
fn a_reference_comes_from_the_program_and_is_not_in_the_schema() {
    let tools = || {
        let store: Arc<dyn Store> = Arc::new(Memory(2));
        Registry::builder().tool::<provided>().provide(Memory(1)).provide_shared(store)
    };
    assert_eq!(text(tools(), "provided", r#"{"count":3}"#), "3 1 2 provided");
    let names: Vec<_> = schema(tools())["properties"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["count"]);
    // A model cannot pass a value for a dependency.
    let refused = feedback(tools(), "provided", r#"{"count":3,"memory":{"0":9}}"#);
    assert!(refused.contains("/memory"), "{refused}");
}

// B05
#[test]
fn a_context_parameter_does_not_affect_the_schema() {
    /// Doubles.
    #[tool(register = false, name = "double")]
    fn without(n: u8) -> u8 {
        n.saturating_mul(2)
    }
    /// Doubles.
    #[tool(register = false, name = "double")]
    fn last(n: u8, _cx: &ToolContext) -> u8 {
        n.saturating_mul(2)
    }
    /// Doubles.
    #[tool(register = false, name = "double")]
    fn first(_anything: &ToolContext, n: u8, _again: &Cx) -> u8 {
        n.saturating_mul(2)
    }
    let without = definition(Registry::builder().tool::<without>());
    assert_eq!(without, definition(Registry::builder().tool::<last>()));
    assert_eq!(without, definition(Registry::builder().tool::<first>()));
}

/// Adds a list up.
#[tool(register = false)]
struct Empty {}

impl Run for Empty {
    type Output = Result<(), ToolError>;

    async fn run(self, cx: &ToolContext) -> Self::Output {
        Err(ToolError::failed(cx.tool_name().to_string()))
    }
}

#[test]
fn a_struct_tool_receives_the_context() {
    assert_eq!(feedback(Registry::builder().tool::<Empty>(), "empty", "{}"), "empty");
}

/// Adds the numbers up.
#[tool(instantiate(i64 as "sum_int", f64 as "sum_float"))]
fn sum<T: std::iter::Sum<T>>(numbers: Vec<T>) -> T {
    numbers.into_iter().sum()
}

#[test]
fn each_instantiation_of_a_generic_function_is_a_tool() {
    let tools = Registry::builder().discover().provide_per_run::<Memory>().build().unwrap();
    assert_eq!(run(tools.call("sum_int", r#"{"numbers":[1,2]}"#)).unwrap().text(), "3");
    assert_eq!(run(tools.call("sum_float", r#"{"numbers":[0.5,1]}"#)).unwrap().text(), "1.5");
    assert!(run(tools.call("sum_int", r#"{"numbers":[0.5]}"#)).is_err());
}

// B12
#[test]
fn a_tool_inside_a_function_may_shadow_types_of_the_prelude() {
    #[allow(dead_code, reason = "they shadow")]
    mod hostile {
        struct Result;
        struct Option;
        struct String;
        struct Vec;
        struct Value;
        struct Some;
        struct Ok;

        /// Doubles.
        #[tool_runtime::tool(register = false)]
        pub(super) fn double(n: u32) -> u32 {
            n * 2
        }
    }
    assert_eq!(text(Registry::builder().tool::<hostile::double>(), "double", r#"{"n":4}"#), "8");
}

// B09
#[test]
fn a_blocking_body_does_not_block_other_calls() {
    use std::sync::{Condvar, Mutex};
    #[derive(Default)]
    struct Arrivals {
        count: Mutex<u32>,
        changed: Condvar,
    }

    /// Blocks its thread until the other call runs; fails if it never does.
    #[tool(register = false, blocking)]
    fn wait(n: u32, text: &str, arrivals: &Arrivals, cx: &ToolContext) -> Result<String, &'static str> {
        let mut count = arrivals.count.lock().unwrap();
        *count += 1;
        arrivals.changed.notify_all();
        let limit = std::time::Duration::from_secs(60);
        let (_count, wait) = arrivals.changed.wait_timeout_while(count, limit, |count| *count < 2).unwrap();
        if wait.timed_out() {
            return Err("the other call waits for this one");
        }
        Ok(format!("{n} {text} {}", cx.tool_name()))
    }

    // On a single-threaded runtime, two calls can meet only on other threads.
    let tools = Registry::builder().tool::<wait>().provide(Arrivals::default()).build().unwrap();
    let (one, other) = run(async {
        let one = tools.call("wait", r#"{"n":1,"text":"a"}"#);
        let other = tools.call("wait", r#"{"n":2,"text":"b\n"}"#);
        futures_util::future::join(one, other).await
    });
    assert_eq!(one.unwrap().text(), "1 a wait");
    assert_eq!(other.unwrap().text(), "2 b\n wait");
}

#[test]
fn a_raw_identifier_is_a_name_without_its_prefix() {
    /// Matches.
    #[tool(register = false)]
    fn r#match(r#type: String) -> String {
        r#type
    }
    assert_eq!(text(Registry::builder().tool::<r#match>(), "match", r#"{"type":"x"}"#), "x");
}

#[test]
fn a_function_may_have_sixteen_parameters() {
    /// Adds them all.
    #[tool(register = false)]
    #[allow(clippy::too_many_arguments, reason = "the test is about many parameters")]
    fn all(
        a: u8,
        b: u8,
        c: u8,
        d: u8,
        e: u8,
        f: u8,
        g: u8,
        h: u8,
        i: u8,
        j: u8,
        k: u8,
        l: u8,
        m: u8,
        n: u8,
        o: u8,
        p: u8,
    ) -> u32 {
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p].into_iter().map(u32::from).sum()
    }
    let arguments: serde_json::Map<_, _> = ('a'..='p').map(|name| (name.to_string(), json!(1))).collect();
    let output =
        call(Registry::builder().tool::<all>(), "all", &serde_json::Value::Object(arguments).to_string());
    assert_eq!(output.unwrap().text(), "16");
}
