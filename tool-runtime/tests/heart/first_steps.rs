//! Mistakes of a first program that only the registry and its calls can report.

use std::{error::Error, sync::Arc};

use tool_runtime::{prelude::*, registry::BuildError};

use crate::{now, run};

struct Db;

trait Store: Send + Sync {}

impl Store for Db {}

/// Counts the rows.
#[tool(register = false)]
fn count(_db: &Db) -> u64 {
    0
}

/// Lists the keys.
#[tool(register = false)]
fn keys(_store: &dyn Store) -> u64 {
    0
}

struct Files;

#[toolset]
impl Files {
    /// Reads a file that was never added.
    #[tool]
    fn read_forgotten_file(&self, path: String) -> String {
        path
    }
}

fn check(built: Result<Registry, BuildError>, expected: &str) {
    let text = built.unwrap_err().to_string();
    assert!(text.contains(expected), "{text}");
}

#[test]
fn arc_that_is_provided_as_a_value_is_reported_with_the_right_method() {
    let fix = "but an `Arc` of it is provided; write `.provide_shared(arc)` instead of `.provide(arc)`";
    check(Registry::builder().tool::<count>().provide(Arc::new(Db)).build(), fix);
    let store: Arc<dyn Store> = Arc::new(Db);
    check(Registry::builder().tool::<keys>().provide(Arc::clone(&store)).build(), fix);
    assert!(Registry::builder().tool::<keys>().provide_shared(store).build().is_ok());
    assert!(Registry::builder().tool::<count>().provide_shared(Arc::new(Db)).build().is_ok());
}

#[test]
fn trait_object_that_is_not_provided_is_reported_with_the_right_method() {
    let fix = "takes a `&dyn heart::first_steps::Store`, which is not provided; \
               add `.provide_shared::<dyn ..>(Arc::new(..))`";
    check(Registry::builder().tool::<keys>().provide_shared(Arc::new(Db)).build(), fix);
    check(Registry::builder().tool::<count>().build(), "which is not provided; add `.provide(..)`");
}

#[test]
fn missing_value_is_reported_with_the_values_that_are_provided() {
    let built = Registry::builder().tool::<count>().provide(1_u8).provide_shared::<str>("a".into()).build();
    let fix = "which is not provided; add `.provide(..)`, or `.provide_per_run::<..>()` if each run provides its own \
               (provided: `str`, `u8`)";
    check(built, &format!("takes a `&{}`, {fix}", std::any::type_name::<Db>()));
    let nothing = Registry::builder().tool::<count>().build().unwrap_err().to_string();
    assert!(nothing.ends_with("if each run provides its own"), "{nothing}");
}

/// Moves the robot.
#[tool(register = false)]
#[derive(Debug)]
enum Move {
    Forward { steps: u8 },
    Stop {},
}

impl Run for Move {
    type Output = String;

    async fn run(self, _: &ToolContext) -> String {
        format!("{self:?}")
    }
}

/// Turns the lamp on or off.
#[tool(register = false)]
#[derive(Debug)]
#[serde(tag = "type")]
enum Lamp {
    Off,
    On { percent: u8 },
}

impl Run for Lamp {
    type Output = String;

    async fn run(self, _: &ToolContext) -> String {
        format!("{self:?}")
    }
}

#[test]
fn enum_whose_variants_are_objects_is_a_tool() {
    let moves = Registry::builder().tool::<Move>().tool::<Lamp>().build().unwrap();
    for (name, arguments, expected) in [
        ("move", r#"{"Forward":{"steps":3}}"#, "Forward { steps: 3 }"),
        ("move", r#"{"Stop":{}}"#, "Stop"),
        ("lamp", r#"{"type":"Off"}"#, "Off"),
        ("lamp", r#"{"type":"On","percent":7}"#, "On { percent: 7 }"),
    ] {
        assert_eq!(run(moves.call(name, arguments)).unwrap().text(), expected);
    }
}

#[test]
fn call_without_a_runtime_names_the_way_to_one() {
    /// Sleeps.
    #[tool(register = false)]
    async fn sleep() {
        tokio::time::sleep(std::time::Duration::ZERO).await;
    }
    /// Blocks.
    #[tool(register = false, blocking)]
    fn block() {}
    /// Times out.
    #[tool(register = false, timeout = "5m")]
    fn hurry() {}
    let tools = Registry::builder().tool::<sleep>().tool::<block>().tool::<hurry>().build().unwrap();
    for (name, expected) in [
        (
            "sleep",
            "tool \"sleep\" panicked: there is no reactor running, must be called from the context of a Tokio 1.x runtime",
        ),
        (
            "block",
            "tool \"block\" is not available: it is `blocking`, but there is no tokio runtime; call it within \
             `#[tokio::main]` or `Runtime::block_on`",
        ),
        (
            "hurry",
            "tool \"hurry\" is not available: it has a `timeout`, but there is no tokio runtime with a timer; call it \
             within `#[tokio::main]`, or build the runtime with `enable_all`",
        ),
    ] {
        assert_eq!(now(tools.call(name, "")).unwrap_err().to_string(), expected);
    }
}

#[test]
fn error_that_main_returns_is_readable() {
    let built = Registry::builder().tool::<count>().build();
    let from_main: Result<Registry, Box<dyn Error>> = built.map_err(Into::into);
    let error = from_main.map(drop).unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
    assert!(format!("{error:?}").starts_with("the tools cannot be used: tool `count` ("), "{error:?}");
}

// E01: the model reads only that the tool does not exist.
#[test]
fn call_to_a_toolset_that_was_not_added_names_it() {
    let tools = Registry::builder().tool::<count>().provide(Db).build().unwrap();
    let call = || tools.call("read_forgotten_file", json!({ "path": "a" }));
    let error = run(call()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "tool \"read_forgotten_file\" not found: it is a method of the toolset `Files`, which is not in this \
         registry; add it with `.toolset(..)`"
    );
    assert_eq!(error.feedback(), "Tool not found: read_forgotten_file");
    let tools = Registry::builder().toolset(Files).build().unwrap();
    assert!(run(tools.call("read_forgotten_file", json!({ "path": "a" }))).is_ok());
}

#[test]
fn call_to_an_empty_registry_says_that_it_is_empty() {
    let tools = Registry::builder().build().unwrap();
    let error = run(tools.call("add", "")).unwrap_err();
    assert_eq!(error.to_string(), "tool \"add\" not found: the registry has no tools");
    assert_eq!(error.feedback(), "Tool not found: add");
    assert!(tools.diagnostics().is_empty(), "`discover` was not called");
}

#[test]
fn an_expected_tool_that_is_misspelt_suggests_the_name_before_the_linker() {
    /// Does.
    #[tool(register = false)]
    fn twice() {}
    let error = Registry::builder().tool::<twice>().expect(["twise", "absent"]).build().unwrap_err();
    let messages: Vec<_> = error.diagnostics().iter().map(ToString::to_string).collect();
    assert!(
        messages[1].starts_with("tool `twise` is expected and not there; did you mean `twice`? "),
        "{error}"
    );
    assert!(
        messages[0].starts_with("tool `absent` is expected and not there; if it is in a crate"),
        "{error}"
    );
}

#[test]
fn a_retry_that_has_no_effect_is_a_warning_of_the_build() {
    /// Fails with a text.
    #[tool(register = false, retry = 3)]
    fn text() -> Result<u8, String> {
        Err("busy".to_owned())
    }
    /// Fails with an error that may be temporary.
    #[tool(register = false, retry = 3)]
    fn open() -> Result<u8, std::io::Error> {
        Ok(1)
    }
    let tools = Registry::builder().tool::<text>().tool::<open>().build().unwrap();
    let [warning] = tools.diagnostics() else { panic!("{:?}", tools.diagnostics()) };
    assert_eq!((warning.code, warning.location.tool.as_deref()), ("retry_without_when", Some("text")));
    assert!(warning.location.source.is_some());
    assert!(warning.help.as_deref().unwrap().starts_with("add `when = path` to `retry`"));
}
