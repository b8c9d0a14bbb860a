//! Tool sets and their wrappers.

use std::sync::Arc;

use serde_json::Value;
use tool_runtime::{
    BoxFuture, ErrorKind, Executor, RunContext, Tool, ToolCall, ToolDefinition, ToolSet, Toolbox,
    context::ReadonlyContext,
    definition::{Confirmation, Prepared},
    event::EventKind,
    prelude::*,
    schema::Arguments,
    toolset::{NamedTools, ToolSetExt},
};

use super::{Remote, boxed, listed, names, said, snapshot, tool, tools};
use crate::run;

struct Administration;

impl ToolSet for Administration {
    fn name(&self) -> &str {
        "admin"
    }

    fn tools<'a>(&'a self, cx: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        let is_admin = cx.state().get("role") == Some(&json!("admin"));
        let found = if is_admin { tools(&["admin_remove"], "admin") } else { Vec::new() };
        Box::pin(async { Ok(found) })
    }
}

// L01
#[test]
fn a_run_has_direct_tools_and_the_tools_of_all_sets() {
    let toolbox = boxed(Remote::new("a", &["one"]));
    toolbox.add_toolset(Remote::new("b", &["two"])).unwrap();
    toolbox.add(tool("zero", "here")).unwrap();
    assert_eq!(names(&toolbox), ["one", "two", "zero"]);
    assert_eq!(said(&snapshot(&toolbox).unwrap(), "two"), r#""two of b""#.trim_matches('"'));
}

// L02
#[test]
fn the_tools_of_a_set_depend_on_the_run() {
    let toolbox = boxed(Administration);
    assert_eq!(names(&toolbox), [""; 0]);
    let Value::Object(state) = json!({ "role": "admin" }) else { unreachable!() };
    let admin = RunContext::new().with_state(state);
    assert_eq!(listed(&run(toolbox.snapshot(&admin)).unwrap()), ["admin_remove"]);
}

// L03
#[test]
fn a_set_is_listed_for_each_run_or_once() {
    let (fresh, kept) = (Remote::new("fresh", &["a"]), Remote::new("kept", &["b"]));
    let toolbox = boxed(fresh.clone());
    toolbox.add_toolset(kept.clone().listed_once()).unwrap();
    kept.fail(Some("not yet"));
    assert_eq!(snapshot(&toolbox).unwrap().diagnostics().len(), 1);
    kept.fail(None);
    assert_eq!(names(&toolbox), ["a", "b"]);
    fresh.offer(&["a", "new_a"]);
    kept.offer(&["b", "new_b"]);
    assert_eq!(names(&toolbox), ["a", "b", "new_a"]);
    // A failed listing does not count.
    assert_eq!((fresh.listed(), kept.listed()), (3, 2));
}

// L03
#[test]
fn a_set_that_is_listed_once_does_not_see_the_run() {
    let toolbox = boxed(Administration.listed_once());
    let Value::Object(state) = json!({ "role": "admin" }) else { unreachable!() };
    let admin = RunContext::new().with_state(state);
    assert_eq!(listed(&run(toolbox.snapshot(&admin)).unwrap()), [""; 0]);
}

/// A tool of another program, which it calls by the name of its own definition.
struct RemoteSearch(ToolDefinition, &'static str);

impl Tool for RemoteSearch {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let Self(definition, place) = self;
        Ok(Prepared::new(arguments, move |_, cx| {
            let (own, raw, shown) = (definition.name(), cx.raw_tool_name(), cx.tool_name());
            let text = format!("{own} of {place}, called {raw} as {shown}");
            Box::pin(async move { Ok(text.into()) })
        }))
    }
}

fn remote_search(place: &'static str) -> Arc<dyn Tool> {
    Arc::new(RemoteSearch(tool("search", place).definition().clone(), place))
}

// L05
#[test]
fn a_prefix_is_shown_and_the_origin_receives_the_raw_name() {
    let toolbox = boxed(NamedTools::new("a", [remote_search("a")]).prefixed());
    toolbox.add_toolset(NamedTools::new("b", [remote_search("b")]).prefixed()).unwrap();
    toolbox.add_toolset(NamedTools::new("c", [remote_search("c")]).prefixed_with("_")).unwrap();
    toolbox.add_toolset(NamedTools::new("", [remote_search("nowhere")]).prefixed()).unwrap();
    assert_eq!(names(&toolbox), ["a__search", "b__search", "c_search", "search"]);
    let snapshot = snapshot(&toolbox).unwrap();
    for (name, place) in [("a__search", "a"), ("b__search", "b"), ("c_search", "c"), ("search", "nowhere")] {
        let expected = format!("search of {place}, called search as {name}");
        assert_eq!(said(&snapshot, name), expected); // L05
        let executor = Executor::new(snapshot.tools().clone());
        let outcomes = run(executor.run(vec![ToolCall::new(name, "{}")]));
        assert_eq!(outcomes[0].result().unwrap().text(), expected); // L05
    }
}

// L05
#[test]
fn a_set_is_never_prefixed_twice() {
    // Also below other wrappers; a name that only looks prefixed is prefixed.
    let set = NamedTools::new("a", tools(&["search", "a__find"], "a"));
    let set = set.prefixed().filtered(|_, _| true).listed_once().prefixed_with("_");
    assert_eq!(names(&boxed(set)), ["a__a__find", "a__search"]);
}

// U03, CF02: a namespace contains a dot, which is invalid in a name. A name that looks prefixed is an ordinary name.
#[test]
fn a_name_with_a_namespace_is_refused_and_one_that_looks_prefixed_is_not() {
    let refused =
        "the tool name `files.read` has the character '.'; only letters, digits, `_` and `-` are allowed";
    let builder = ToolBuilder::new("files.read").description("Reads.");
    let error = builder.body(tool_body!(|_: super::Nothing| "")).unwrap_err();
    assert!(error.to_string().ends_with(refused), "{error}");
    let set = NamedTools::new("files", [tool("read", "a")]).renamed([("read", "files.read")]);
    let error = run(set.tools(RunContext::new().read_only())).map(drop).unwrap_err();
    assert!(error.feedback().ends_with(refused), "{error}");

    let toolbox = boxed(NamedTools::new("files", tools(&["files__read", "write"], "a")).prefixed());
    toolbox.add(tool("files__read", "here")).unwrap();
    assert_eq!(names(&toolbox), ["files__files__read", "files__read", "files__write"]);
}

// L05
#[test]
fn an_invalid_prefixed_name_is_an_error_with_both_names() {
    let set = NamedTools::new("a", [tool("search", "a")]).renamed([("search", "search it")]);
    let error = run(set.tools(RunContext::new().read_only())).map(drop).unwrap_err();
    assert_eq!(
        error.feedback(),
        "the tool `search` of the toolset `a` cannot be listed: the tool name `search it` has the character ' '; only letters, \
         digits, `_` and `-` are allowed"
    );
}

// L05, CF02
#[test]
fn an_invalid_prefix_is_cleaned_and_hashed() {
    let long = "search_everything_that_was_ever_written_by_anybody";
    let set = NamedTools::new("the_library_of_alexandria", [tool(long, "a")]).prefixed();
    let names = names(&boxed(set));
    assert_eq!(names[0].len(), 64);
    assert!(names[0].starts_with("the_library_of_alexandria__search_everything_that_was"), "{names:?}");
    let set = NamedTools::new("my server", [tool("search", "a")]).prefixed();
    let [shown] = &*run(set.tools(RunContext::new().read_only())).unwrap() else { panic!() };
    let definition = shown.definition();
    assert!(definition.name().starts_with("my_server__search_"), "{}", definition.name());
    assert_eq!(definition.raw_name(), "search");
}

// L05
#[test]
fn an_error_contains_the_visible_name_of_the_tool() {
    let toolbox = boxed(NamedTools::new("a", [tool("search", "a")]).prefixed());
    let tools = snapshot(&toolbox).unwrap().into_tools();
    let error = run(tools.call("a__search", r#"{"unknown": 1}"#)).unwrap_err();
    assert_eq!((error.kind(), error.tool()), (ErrorKind::InvalidArguments, Some("a__search")));
}

struct Door {
    is_open: bool,
}

fn only_when_open(table: &String, door: &Door) -> tool_runtime::definition::Permission {
    match door.is_open {
        true => tool_runtime::definition::Permission::Allow,
        false => tool_runtime::definition::Permission::deny(format!("the door to {table} is shut")),
    }
}

/// Drops a table.
#[tool(
    register = false, destructive, long_running, skip_summarization, confirm, timeout = "5s",
    permission = only_when_open, prepare = rename, title = "Drop", tags("sql"),
)]
async fn drop_table(table: String, door: &Door) -> String {
    assert!(door.is_open);
    table
}

fn rename(arguments: &mut serde_json::Map<String, Value>) -> Result<(), ToolError> {
    if let Some(value) = arguments.remove("name") {
        arguments.insert("table".into(), value);
    }
    Ok(())
}

// L06
#[test]
fn a_renamed_tool_keeps_its_behaviour() {
    let registry = Registry::builder().tool::<drop_table>().provide(Door { is_open: false }).build().unwrap();
    let inner = Arc::clone(registry.get("drop_table").unwrap());
    let toolbox = Toolbox::from_registry(&registry);
    let set = NamedTools::new("db", [Arc::clone(&inner)]);
    toolbox.add_toolset(set.renamed([("drop_table", "drop")]).confirmed(|_, _| false).prefixed()).unwrap();
    let tools = snapshot(&toolbox).unwrap().into_tools();
    let outer = tools.get("db__drop").unwrap();
    let (definition, plain) = (outer.definition(), inner.definition());
    assert_eq!(definition.metadata(), plain.metadata());
    assert_eq!(definition.metadata().confirmation, Confirmation::Always);
    assert_eq!((definition.title(), definition.description()), (plain.title(), plain.description()));
    assert_eq!(definition.input_schema(), plain.input_schema());
    assert_eq!(definition.output_schema(), plain.output_schema());
    assert_eq!((outer.needs(), outer.site()), (inner.needs(), inner.site()));
    assert!(outer.holds_arguments() && !outer.is_external());
    // Its rewriting of arguments and its permission check are kept.
    let fitting = tools.check("db__drop", r#"{ "name": "users" }"#).unwrap();
    assert_eq!(fitting.as_str(), r#"{"table":"users"}"#);
    let cx = tools.context_for("db__drop").unwrap();
    let permission = outer.prepare(fitting).unwrap().permission(&cx).unwrap();
    assert_eq!(permission, Some(tool_runtime::definition::Permission::deny("the door to users is shut")));
}

// L06
#[test]
fn a_renamed_stream_still_streams() {
    /// Counts.
    #[tool(register = false)]
    fn count() -> impl tool_runtime::output::Stream<Item = u8> {
        futures_util::stream::iter([1, 2])
    }
    let registry = Registry::builder().tool::<count>().build().unwrap();
    let set = NamedTools::new("a", [Arc::clone(registry.get("count").unwrap())]).prefixed();
    let snapshot = snapshot(&boxed(set)).unwrap();
    assert_eq!(said(&snapshot, "a__count"), "[1,2]");
    let tools = snapshot.into_tools();
    assert!(tools.get("a__count").unwrap().definition().metadata().streaming);
    // Each item is an update.
    let executor = Executor::new(tools);
    let mut listener = executor.subscribe();
    run(executor.run(vec![ToolCall::new("a__count", "{}")]));
    let updates = std::iter::from_fn(|| listener.try_next()).filter_map(|event| match event.unwrap().kind {
        EventKind::Updated { update, .. } => Some(update.text().into_owned()),
        _ => None,
    });
    assert_eq!(updates.collect::<Vec<_>>(), ["1", "2"]);
}

// L10
#[test]
fn filters_intersect_and_keep_name_and_close() {
    let remote = Remote::new("remote", &["a", "b", "c"]);
    let set = remote.clone().only(["a", "b"]).filtered(|_, definition| definition.name() != "a");
    assert_eq!(set.name(), "remote");
    run(set.close()).unwrap();
    assert_eq!(remote.closed(), 1);
    assert_eq!(names(&boxed(set)), ["b"]);
}

// L10
#[test]
fn a_filter_sees_the_run() {
    let set = Remote::new("remote", &["a", "b"]);
    let toolbox = boxed(set.filtered(|cx, tool| tool.name() == "a" || cx.user() == Some("root")));
    assert_eq!(names(&toolbox), ["a"]);
    let root = RunContext::new().with_user("root");
    assert_eq!(listed(&run(toolbox.snapshot(&root)).unwrap()), ["a", "b"]);
}

// L05
#[test]
fn tools_can_be_renamed_by_a_table_or_a_function() {
    let set = Remote::new("remote", &["get", "put"]).renamed([("get", "read")]);
    let set = set.renamed_by(|name| (name == "put").then(|| "write".to_owned()));
    let snapshot = snapshot(&boxed(set)).unwrap();
    assert_eq!(listed(&snapshot), ["read", "write"]);
    assert_eq!(said(&snapshot, "write"), "put of remote");
}

/// Adds two numbers.
#[tool(register = false, toolset = "math")]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Subtracts two numbers.
#[tool(register = false, toolset = "math")]
fn subtract(a: i64, b: i64) -> i64 {
    a - b
}

/// Returns at once.
#[tool(register = false)]
fn pass() {}

// L12
#[test]
fn tools_are_grouped_by_their_declared_set() {
    let builder = Registry::builder().tool::<add>().tool::<subtract>().tool::<pass>();
    let registry = builder.build().unwrap();
    let sets = registry.toolsets();
    assert_eq!(format!("{sets:?}"), r#"[NamedTools { name: "math", tools: ["add", "subtract"] }]"#);
    let toolbox = Toolbox::from_registry(&registry);
    assert_eq!(names(&toolbox), ["add", "pass", "subtract"]);
    assert!(toolbox.remove_toolset("math"));
    assert_eq!(names(&toolbox), ["pass"]);
}
