//! Tools from closures, compared with functions that return the same.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use futures_util::{Stream, stream};
use schemars::JsonSchema;
use serde::Serialize;
use tool_runtime::{
    Content, Tool, ToolDefinition, ToolName,
    context::Dependency,
    definition::{Confirmation, Metadata, Permission, Prepared},
    output::Bytes,
    prelude::*,
    schema::{Arguments, InputSchema},
};

use crate::run;

// The arguments of all of these tools.
#[tool_args]
struct Times {
    /// The number.
    n: u32,
}

#[derive(Serialize, JsonSchema)]
struct Row {
    id: u32,
}

/// An error with only a text.
struct Torn;

impl fmt::Display for Torn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("torn")
    }
}

/// An error with a source.
#[derive(Debug)]
struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broken")
    }
}

impl std::error::Error for Broken {}

/// An error that converts to a `ToolError`.
#[derive(Debug)]
struct Busy;

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("busy")
    }
}

impl std::error::Error for Busy {}

impl From<Busy> for ToolError {
    fn from(_: Busy) -> Self {
        Self::failed("try later").retryable(true)
    }
}

/// Checks that a closure and a function with the same body have the same definition and the same results.
fn alike(closure: impl Tool + 'static, function: &Registry) {
    let closure = Registry::builder().add(Arc::new(closure)).build().unwrap();
    let (one, other) = (&closure.definitions()[0], &function.definitions()[0]);
    assert_eq!(serde_json::to_value(one).unwrap(), serde_json::to_value(other).unwrap());
    assert_eq!(one.content_hash(), other.content_hash());
    let name = one.name().to_string();
    for arguments in [r#"{"n":0}"#, r#"{"n":2}"#, r#"{"n":"3"}"#, r#"{"n":-1}"#, "{}"] {
        match (run(closure.call(&name, arguments)), run(function.call(&name, arguments))) {
            (Ok(one), Ok(other)) => assert_eq!(one, other, "{name} {arguments}"),
            (Err(one), Err(other)) => {
                assert_eq!(
                    (one.kind(), one.feedback(), one.to_string(), one.is_retryable(), one.details()),
                    (
                        other.kind(),
                        other.feedback(),
                        other.to_string(),
                        other.is_retryable(),
                        other.details()
                    )
                );
                let has_source = |error: &ToolError| std::error::Error::source(error).is_some();
                assert_eq!(has_source(&one), has_source(&other), "{name}");
            }
            (one, other) => panic!("{name}: {one:?} {other:?}"),
        }
    }
}

/// Defines a function with `#[tool]`, and a closure with the same body.
macro_rules! alike {
    ($($(#[$key:ident])? $name:ident -> $returned:ty, |$n:ident| $body:expr, $closure:expr;)*) => { $(
        {
            /// Does it.
            #[tool(register = false $(, $key)?)]
            fn $name(
                /// The number.
                $n: u32,
            ) -> $returned {
                $body
            }
            let built = ToolBuilder::new(stringify!($name)).description("Does it.").body($closure).unwrap();
            alike(built, &Registry::builder().tool::<$name>().build().unwrap());
        }
    )* };
}

// A12, B26
#[test]
fn a_closure_may_return_any_type_that_a_function_may_return() {
    alike! {
        number -> u32, |n| n + 1, tool_body!(|it: Times| it.n + 1);
        later -> u32, |n| n + 1, tool_body!(|it: Times| async move { it.n + 1 });
        text -> String, |n| n.to_string(), tool_body!(|it: Times, _cx| async move { it.n.to_string() });
        nothing -> (), |n| assert!(n < 9), tool_body!(|it: Times| assert!(it.n < 9));
        perhaps -> Option<u32>, |n| (n > 0).then_some(n), tool_body!(|it: Times| (it.n > 0).then_some(it.n));
        row -> Row, |n| Row { id: n }, tool_body!(|it: Times| async move { Row { id: it.n } });
        output -> ToolOutput, |n| ToolOutput::from("x").with_details(json!(n)),
            tool_body!(|it: Times| ToolOutput::from("x").with_details(json!(it.n)));
        content -> Content, |n| Content::text(n.to_string()), tool_body!(|it: Times| Content::text(it.n.to_string()));
        blocks -> Vec<Content>, |n| vec![Content::text(n.to_string())],
            tool_body!(|it: Times| vec![Content::text(it.n.to_string())]);
        context -> anyhow::Result<u32>, |n| if n > 0 { Ok(n) } else { Err(anyhow::Error::from(Busy).context("at 0")) },
            tool_body!(|it: Times| async move {
                if it.n > 0 { Ok(it.n) } else { Err(anyhow::Error::from(Busy).context("at 0")) }
            });
        text_error -> Result<u32, String>, |n| if n > 0 { Ok(n) } else { Err("0".to_owned()) },
            tool_body!(|it: Times| if it.n > 0 { Ok(it.n) } else { Err("0".to_owned()) });
        shown -> Result<u32, Torn>, |n| if n > 0 { Ok(n) } else { Err(Torn) },
            tool_body!(|it: Times| async move { if it.n > 0 { Ok(it.n) } else { Err(Torn) } });
        error -> Result<u32, Broken>, |n| if n > 0 { Ok(n) } else { Err(Broken) },
            tool_body!(|it: Times| if it.n > 0 { Ok(it.n) } else { Err(Broken) });
        own -> Result<u32, Busy>, |n| if n > 0 { Ok(n) } else { Err(Busy) },
            tool_body!(|it: Times| if it.n > 0 { Ok(it.n) } else { Err(Busy) });
        transposed -> Option<Result<u32, Torn>>, |n| (n > 0).then_some(Ok(n)),
            tool_body!(|it: Times| (it.n > 0).then_some(Ok::<_, Torn>(it.n)));
    }
}

// K05, B26
#[test]
fn a_closure_may_return_a_stream() {
    fn words(n: u32) -> impl Stream<Item = String> {
        stream::iter((0..n).map(|at| format!("{at} ")))
    }
    fn rows(n: u32) -> impl Stream<Item = Result<Row, String>> {
        stream::iter((0..n).map(|id| if id == 1 { Err("at 1".to_owned()) } else { Ok(Row { id }) }))
    }
    fn outputs(n: u32) -> impl Stream<Item = ToolOutput> {
        stream::iter((0..n).map(|at| ToolOutput::from(at.to_string())))
    }
    alike! {
        say -> impl Stream<Item = String>, |n| words(n), tool_body!(|it: Times| words(it.n));
        list -> impl Stream<Item = Result<Row, String>>, |n| rows(n),
            tool_body!(|it: Times, _cx| async move { rows(it.n) });
        fallible -> Result<stream::BoxStream<'static, String>, Torn>,
            |n| if n > 0 { Ok(Box::pin(words(n)) as _) } else { Err(Torn) },
            tool_body!(|it: Times| async move { if it.n > 0 { Ok(words(it.n)) } else { Err(Torn) } });
        made -> impl Stream<Item = ToolOutput>, |n| outputs(n), tool_body!(|it: Times| outputs(it.n));
        #[merge] sum -> impl Stream<Item = u32>, |n| stream::iter(0..n),
            tool_body!(merge |it: Times| stream::iter(0..it.n));
    }
}

// K05, B26
#[test]
fn a_definition_declares_that_its_tool_streams() {
    /// Counts.
    #[tool(register = false)]
    fn count(n: u32) -> impl Stream<Item = u32> {
        stream::iter(0..n)
    }
    /// Counts, without declaring a stream.
    #[tool(register = false, output_schema = false)]
    fn untold(n: u32) -> Result<stream::Empty<u32>, Torn> {
        if n > 0 { Ok(stream::empty()) } else { Err(Torn) }
    }
    /// Does not count.
    #[tool(register = false)]
    fn once(n: u32) -> u32 {
        n
    }
    let tools = Registry::builder().tool::<count>().tool::<untold>().tool::<once>().build().unwrap();
    let streaming = |name: &str| {
        let definition = serde_json::to_value(tools.get(name).unwrap().definition()).unwrap();
        definition.pointer("/metadata/streaming").cloned()
    };
    assert_eq!(streaming("count"), Some(json!(true)));
    assert_eq!(streaming("untold"), Some(json!(true)));
    assert_eq!(streaming("once"), None);
}

// A12
#[test]
fn a_blocking_closure_equals_a_blocking_function() {
    alike! {
        #[blocking] wait -> Result<Option<String>, Torn>, |n| match n {
            0 => Err(Torn),
            n => Ok(Some(n.to_string())),
        }, tool_body!(blocking |it: Times, _cx: ToolContext| match it.n {
            0 => Err(Torn),
            n => Ok(Some(n.to_string())),
        });
    }
}

// A12
#[test]
fn a_handler_returns_values_and_outputs_and_any_error() {
    let n = |arguments: &str, tool: tool_runtime::builder::ClosureTool| {
        let tools = Registry::builder().add(tool).build().unwrap();
        let schema = tools.definitions()[0].output_schema().map(|schema| schema.as_value().clone());
        let result = run(tools.call("it", arguments));
        (schema, result.map_or_else(|error| error.feedback(), |output| output.text().into_owned()))
    };
    let tool = || ToolBuilder::new("it").description("Does it.");
    let given = n(
        r#"{"n":1}"#,
        tool().expect_handler(|_: Times, _| async { Ok::<_, ToolError>(ToolOutput::from("given")) }),
    );
    assert_eq!(given, (None, "given".into()));
    let bytes = tool().expect_handler(|_: Times, _| async { Ok::<_, String>(Bytes(b"x".to_vec())) });
    assert_eq!(n(r#"{"n":1}"#, bytes).0, None);
    let nothing = n(r#"{"n":1}"#, tool().expect_handler(|_: Times, _| async { Ok::<_, ToolError>(()) }));
    assert_eq!(nothing, (None, String::new()));
    let anyhow = tool().expect_handler(|_: Times, _| async { Err::<u32, _>(anyhow::Error::from(Broken)) });
    assert_eq!(n(r#"{"n":1}"#, anyhow).1, "broken");
    let beneath = ToolError::new(tool_runtime::ErrorKind::Unavailable, "off");
    let seen = tool().expect_handler(move |_: Times, _| {
        let error = anyhow::Error::from(beneath.clone()).context("asked");
        async { Err::<u32, _>(error) }
    });
    assert_eq!(n(r#"{"n":1}"#, seen).1, "Tool unavailable: asked");
    let boxed = tool().expect_handler(|_: Times, _| async {
        Err::<u32, Box<dyn std::error::Error + Send + Sync>>("no".into())
    });
    assert_eq!(n(r#"{"n":1}"#, boxed).1, "no");
}

/// A dependency of a tool.
struct Prefix(&'static str);

// A12
#[test]
fn a_builder_has_the_settings_of_the_attribute() {
    /// Says it.
    #[tool(register = false, confirm = long, permission = few, needs(Prefix), prepare = fill, read_only, tags("a"))]
    fn say(
        /// The number.
        n: u32,
        cx: &ToolContext,
    ) -> String {
        format!("{}{n}", cx.require::<Prefix>().unwrap().0)
    }
    fn long(n: &u32, _: &ToolContext) -> bool {
        *n > 5
    }
    fn few(n: &u32, _: &ToolContext) -> Permission {
        if *n > 9 { Permission::deny("too many") } else { Permission::Allow }
    }
    fn fill(arguments: &mut serde_json::Map<String, Value>) -> Result<(), ToolError> {
        arguments.entry("n").or_insert(json!(1));
        Ok(())
    }
    let metadata = Metadata { read_only: Some(true), tags: vec!["a".into()], ..Metadata::default() };
    let limit = 5;
    let built = ToolBuilder::new("say")
        .description("Says it.")
        .metadata(metadata)
        .needs::<Prefix>()
        .prepare(fill)
        .confirm_when(move |args: &Times, _cx| args.n > limit)
        .permission(
            |args: &Times, _cx| if args.n > 9 { Permission::deny("too many") } else { Permission::Allow },
        )
        .handler(|args: Times, cx| async move {
            Ok::<_, ToolError>(format!("{}{}", cx.require::<Prefix>()?.0, args.n))
        })
        .unwrap();
    assert_eq!(built.needs(), [Dependency::of::<Prefix>()]);
    let by_macro = Registry::builder().tool::<say>().provide(Prefix("> ")).build().unwrap();
    assert!(Registry::builder().add(built.clone()).build().is_err());
    let by_hand = Registry::builder().add(built).provide(Prefix("> ")).build().unwrap();
    assert_eq!(by_hand.definitions(), by_macro.definitions());
    let cx = ToolContext::for_test();
    for (arguments, asks, permission) in [
        (r#"{"n":5}"#, false, Permission::Allow),
        (r#"{"n":6}"#, true, Permission::Allow),
        (r#"{"n":10}"#, true, Permission::deny("too many")),
    ] {
        for tools in [&by_hand, &by_macro] {
            let tool = tools.get("say").unwrap();
            let call = tool.prepare(arguments.into()).unwrap();
            assert_eq!(call.wants_confirmation(&cx).unwrap(), Some(asks), "{arguments}");
            assert_eq!(call.permission(&cx).unwrap(), Some(permission.clone()));
            assert_eq!(run(tools.call_unguarded("say", "{}")).unwrap().text(), "> 1");
        }
    }
    let always = ToolBuilder::new("say").confirm().body(tool_body!(|_: Times| ())).unwrap();
    assert_eq!(always.definition().metadata().confirmation, Confirmation::Always);
}

/// A hand-written tool that counts.
struct ByHand {
    definition: ToolDefinition,
    opened: Arc<Mutex<u32>>,
    merges: bool,
}

impl ByHand {
    fn new(merges: bool) -> Self {
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        let definition = ToolDefinition::new(ToolName::new("count").unwrap(), "Counts.", schema)
            .with_metadata(Metadata { streaming: true, merge: merges, ..Metadata::default() });
        Self { definition, opened: Arc::default(), merges }
    }
}

impl Tool for ByHand {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let open = |arguments: Arguments<'a>, _: &'a ToolContext| {
            *self.opened.lock().unwrap() += 1;
            let tail = match arguments.to_value().unwrap()["end"].as_str() {
                Some("final") => Ok(ToolOutput::from("all").as_final()),
                Some("error") => Err(ToolError::failed("torn")),
                _ => ToolOutput::json(&3),
            };
            stream::iter([ToolOutput::json(&1), ToolOutput::json(&2), tail, ToolOutput::json(&4)])
        };
        Ok(match self.merges {
            true => Prepared::merged_stream(arguments, open),
            false => Prepared::stream(arguments, open),
        })
    }
}

// K05, K07, K09
#[test]
fn a_hand_written_tool_may_return_a_stream() {
    let call = |merges, arguments: &str| {
        let tools = Registry::builder().add(Arc::new(ByHand::new(merges))).build().unwrap();
        run(tools.call("count", arguments)).map(|output| output.text().into_owned())
    };
    assert_eq!(call(false, "{}").unwrap(), "1\n2\n3\n4");
    assert_eq!(call(true, "{}").unwrap(), "10");
    for merges in [true, false] {
        assert_eq!(call(merges, r#"{"end":"final"}"#).unwrap(), "all");
        let error = call(merges, r#"{"end":"error"}"#).unwrap_err();
        assert_eq!((error.feedback().as_str(), error.details()), ("torn", Some(&json!([1, 2]))));
    }
}

#[test]
fn the_stream_of_a_prepared_call_is_opened_when_it_runs() {
    let tool = ByHand::new(false);
    let cx = ToolContext::for_test();
    let running = tool.prepare("{}".into()).unwrap().run(&cx);
    assert_eq!(*tool.opened.lock().unwrap(), 0);
    assert_eq!(run(running).unwrap().structured(), Some(json!([1, 2, 3, 4])));
    assert_eq!(*tool.opened.lock().unwrap(), 1);
}
