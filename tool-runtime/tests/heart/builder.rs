//! Tools without the attribute: builders and implementations of `Tool`.

use std::sync::Arc;

use serde_json::json;
use tool_runtime::{
    ErrorKind, Tool, ToolDefinition, ToolName,
    definition::{Metadata, Prepared},
    diagnostic::Severity,
    prelude::*,
    registry::{AvailableTools, BuildDiagnostic},
    schema::{Arguments, InputSchema},
};

use crate::run;

#[tool_args]
struct Sum {
    /// First number.
    a: i64,
    /// Second number.
    b: i64,
}

/// Adds two numbers.
#[tool(register = false)]
fn add(
    /// First number.
    a: i64,
    /// Second number.
    b: i64,
) -> i64 {
    a + b
}

// A12
#[test]
fn a_tool_from_a_closure_equals_a_tool_from_a_function() {
    let built = ToolBuilder::new("add")
        .description("Adds two numbers.")
        .handler(|args: Sum, _cx| async move { Ok::<_, ToolError>(args.a + args.b) })
        .unwrap();
    let by_hand = Registry::builder().add(built).build().unwrap();
    let by_macro = Registry::builder().tool::<add>().build().unwrap();
    assert_eq!(by_hand.definitions(), by_macro.definitions());
    for arguments in
        [r#"{"a":1,"b":2}"#, r#"{"a":1}"#, r#"{"a":1,"b":2,"c":3}"#, r#"{"a":"x","b":[]}"#, "[", "3"]
    {
        let (one, other) = (run(by_hand.call("add", arguments)), run(by_macro.call("add", arguments)));
        match (one, other) {
            (Ok(one), Ok(other)) => assert_eq!(one, other),
            (Err(one), Err(other)) => assert_eq!(one.feedback(), other.feedback()),
            (one, other) => panic!("{one:?} {other:?}"),
        }
    }
}

// A13
#[test]
fn an_invalid_name_is_an_error_or_a_panic_depending_on_the_method() {
    let handler = |args: Sum, _cx: ToolContext| async move { Ok::<_, ToolError>(args.a) };
    let error = ToolBuilder::new(" ").handler(handler).unwrap_err().to_string();
    assert_eq!(error, "tool \" \": the tool name ` ` must start with a letter or `_`");
    let panic = tool_runtime::guard::catch(|| ToolBuilder::new(" ").expect_handler(handler)).unwrap_err();
    assert!(panic.message().contains("must start with a letter"));
    let _fine = ToolBuilder::new("x").expect_handler(handler);
}

// A11
#[test]
fn arguments_other_than_an_object_are_refused_at_construction() {
    let handler = |text: String, _cx: ToolContext| async move { Ok::<_, ToolError>(text) };
    let error = ToolBuilder::new("echo").handler(handler).unwrap_err().to_string();
    assert!(error.contains("the arguments of a tool are an object"), "{error}");
}

// A06
#[test]
fn a_tool_without_a_description_is_a_warning() {
    let handler = |args: Sum, _cx: ToolContext| async move { Ok::<_, ToolError>(args.a) };
    let tools = Registry::builder().add(ToolBuilder::new("mute").expect_handler(handler)).build().unwrap();
    let [diagnostic] = tools.diagnostics() else { panic!("{:?}", tools.diagnostics()) };
    assert_eq!(diagnostic.location.tool.as_deref(), Some("mute"));
    assert_eq!((diagnostic.code, diagnostic.severity), ("missing_description", Severity::Warning));
    assert_eq!(diagnostic.message, "tool `mute` has no description");
}

// A15
#[test]
fn a_declared_tool_is_listed_and_calling_it_is_an_error() {
    let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
    let declared = ToolBuilder::new("elsewhere").description("Runs elsewhere.").input_schema(schema);
    let tools = Registry::builder().add(declared.external().unwrap()).build().unwrap();
    assert_eq!(tools.definitions()[0].name().as_str(), "elsewhere");
    let error = run(tools.call("elsewhere", "{}")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.feedback(), "Tool unavailable: the tool is declared only; this program cannot run it");
    let error = ToolBuilder::new("x").external().unwrap_err().to_string();
    assert_eq!(error, "tool \"x\": a declared tool needs an `input_schema`");
}

#[test]
fn a_closure_gets_the_context_and_may_capture() {
    let prefix = Arc::new("> ".to_owned());
    let tool = ToolBuilder::new("say")
        .description("Says.")
        .title("Say it")
        .metadata(Metadata { read_only: Some(true), ..Metadata::default() })
        .examples(vec![json!({ "a": 1, "b": 2 })])
        .output_schema(None)
        .expect_handler(move |args: Sum, cx: ToolContext| {
            let prefix = Arc::clone(&prefix);
            async move { Ok::<_, ToolError>(format!("{prefix}{} {}", args.a, cx.tool_name())) }
        });
    let tools = Registry::builder().add(tool).build().unwrap();
    assert_eq!(run(tools.call("say", r#"{"a":1,"b":2}"#)).unwrap().text(), "> 1 say");
    assert!(tools.definitions()[0].output_schema().is_none());
    assert_eq!(tools.definitions()[0].title(), "Say it");
    assert_eq!(tools.definitions()[0].examples(), [json!({ "a": 1, "b": 2 })]);
    assert_eq!(tools.definitions()[0].metadata().read_only, Some(true));
}

/// A tool with only the required methods of the trait.
struct Echo(ToolDefinition);

impl Tool for Echo {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, |arguments, _cx| Box::pin(async move { Ok(arguments.as_str().into()) })))
    }
}

fn echo(name: &'static str) -> Echo {
    let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
    Echo(ToolDefinition::new(ToolName::new(name).unwrap(), "Says it again.", schema))
}

#[test]
fn a_panic_of_a_hand_written_tool_before_its_future_is_an_error() {
    struct Bad(ToolDefinition);
    impl Tool for Bad {
        fn definition(&self) -> &ToolDefinition {
            &self.0
        }
        fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
            Ok(Prepared::new(arguments, |_, _cx| panic!("early")))
        }
    }
    let tools = Registry::builder().add(Bad(echo("bad").0)).build().unwrap();
    assert_eq!(run(tools.call("bad", "{}")).unwrap_err().feedback(), "The tool bad panicked: early");
}

// A01, A10
#[test]
fn implementing_the_trait_is_enough_to_be_listed_and_called() {
    let made = ToolBuilder::new("add")
        .description("Adds.")
        .expect_handler(|args: Sum, _cx| async move { Ok::<_, ToolError>(args.a + args.b) });
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(echo("echo")), Arc::new(made)];
    let cx = ToolContext::for_test();
    let outputs: Vec<_> = tools
        .iter()
        .map(|tool| {
            let output = run(tool.call(r#"{"a":1,"b":2}"#.into(), &cx)).unwrap();
            (tool.definition().name().to_string(), output.text().into_owned())
        })
        .collect();
    assert_eq!(outputs, [("echo".into(), r#"{"a":1,"b":2}"#.into()), ("add".into(), "3".into())]);
    let registry = Registry::builder().add(echo("echo")).build().unwrap();
    assert_eq!(run(registry.call("echo", r#"{"x":1}"#)).unwrap().text(), r#"{"x":1}"#);
}

/// Gives its number.
struct Numbered(u8);

#[toolset(name = "numbers")]
impl Numbered {
    /// Returns the number.
    #[tool]
    fn number(&self) -> u8 {
        self.0
    }
}

/// The name of a store.
struct StoreName(&'static str);

/// Reads from a store.
#[tool(register = false)]
fn read(store: &StoreName) -> &'static str {
    store.0
}

#[test]
fn a_deferred_tool_stays_one_in_a_registry_with_more_tools() {
    let deferred = Registry::builder().tool::<add>().build().unwrap().with_deferred(|_| true);
    let seven = Registry::builder().toolset(Numbered(7)).build().unwrap();
    let (with_framework, _) = deferred.with_framework_tools(std::slice::from_ref(&seven), &[]).unwrap();
    for tools in
        [deferred.with_tools_of(&seven).unwrap(), seven.with_tools_of(&deferred).unwrap(), with_framework]
    {
        let names: Vec<_> = tools.definitions().iter().map(|it| it.name().as_str()).collect();
        assert_eq!((names, tools.len()), (vec!["number"], 2));
        assert_eq!(run(tools.call("add", r#"{"a":1,"b":2}"#)).unwrap().text(), "3");
    }
}

#[test]
fn registries_that_list_nothing_are_not_thereby_the_same() {
    let one = Registry::builder().tool::<add>().build().unwrap().with_deferred(|_| true);
    let other = Registry::builder().toolset(Numbered(7)).build().unwrap().with_deferred(|_| true);
    assert!(one.definitions().is_empty() && other.definitions().is_empty());
    assert!(one.is_same(&one.clone()) && !one.is_same(&other));
    assert_ne!(one.content_hash(), other.content_hash());
    assert_eq!(one.content_hash(), one.without_deferral().content_hash());
}

#[test]
fn a_deferred_tool_stays_one_among_the_tools_of_another_run() {
    let both = Registry::builder().tool::<add>().toolset(Numbered(7)).build().unwrap();
    let deferring = both.with_deferred(|tool| tool.name() == "add");
    let passed = deferring.provided().get::<AvailableTools>().unwrap().user_tools(|_| true);
    let listed =
        |tools: &Registry| -> Vec<_> { tools.definitions().iter().map(|it| it.name().to_string()).collect() };
    assert_eq!((listed(&passed), passed.len()), (vec!["number".to_owned()], 2));
    assert_eq!(listed(&passed.without_deferral()), ["add", "number"]);
}

#[test]
fn the_tools_of_two_registries_are_one_registry() {
    let sums = || Registry::builder().tool::<add>();
    let seven = Registry::builder().toolset(Numbered(7)).strict(true).build().unwrap();
    let both = sums().build().unwrap().with_tools_of(&seven).unwrap();
    let names: Vec<_> = both.definitions().iter().map(|it| it.name().as_str()).collect();
    assert_eq!(names, ["add", "number"]);
    assert_eq!(run(both.call("number", "{}")).unwrap().text(), "7");
    assert_eq!(run(both.call("add", r#"{"a":"1","b":2}"#)).unwrap().text(), "3");
    // A compiled tool that both share is kept once; another one of its name is a mistake, and nothing changes.
    assert_eq!(both.with_tools_of(&seven).unwrap().len(), 2);
    let eight = Registry::builder().toolset(Numbered(8)).build().unwrap();
    let error = both.with_tools_of(&eight).unwrap_err();
    let [BuildDiagnostic::Duplicate { name, sites }] = error.diagnostics() else { panic!("{error}") };
    assert_eq!((name.as_str(), sites.len()), ("number", 2));
    assert_eq!(run(both.call("number", "{}")).unwrap().text(), "7");

    // Values are those of the first registry.
    let reading = Registry::builder().tool::<read>().provide(StoreName("other")).build().unwrap();
    let error = both.with_tools_of(&reading).unwrap_err();
    assert!(
        matches!(error.diagnostics(), [BuildDiagnostic::NotProvided { tool, .. }] if tool == "read"),
        "{error}"
    );
    let own = sums().provide(StoreName("own")).build().unwrap().with_tools_of(&reading).unwrap();
    assert_eq!(run(own.call("read", "{}")).unwrap().text(), "own");
}
