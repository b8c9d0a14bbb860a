//! Errors and warnings of building a registry.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::json;
use tool_runtime::{Tool, definition::Retry, prelude::*, registry::BuildDiagnostic};

use crate::run;

mod one {
    /// One.
    #[tool_runtime::tool(register = false, name = "twice")]
    pub(super) fn first() -> u8 {
        1
    }
}

mod other {
    /// Other.
    #[tool_runtime::tool(register = false, name = "twice")]
    pub(super) fn second() -> u8 {
        2
    }
}

struct Database;

/// Needs a database.
#[tool(register = false)]
fn needs(_db: &Database, _list: &Vec<u8>, _again: &Database) {}

// A17
#[test]
fn duplicate_tool_names_are_reported_with_both_places() {
    let error = Registry::builder().tool::<one::first>().tool::<other::second>().build().unwrap_err();
    let [BuildDiagnostic::Duplicate { name, sites }] = error.diagnostics() else { panic!("{error}") };
    assert_eq!(name, "twice");
    let modules: Vec<_> = sites.iter().flatten().map(|site| site.module).collect();
    assert_eq!(modules, ["heart::build::one", "heart::build::other"]);
    let text = error.to_string();
    let lines: Vec<_> = sites.iter().flatten().map(ToString::to_string).collect();
    assert!(text.starts_with("the tools cannot be used: 2 tools are named `twice`: "), "{text}");
    assert!(lines.iter().all(|line| line.contains("build.rs:") && text.contains(line)), "{text}");
    let named = ": 2 tools are named `twice`: ";
    let fix = "; rename one, or say `replace` for the one to keep";
    assert_eq!(text, format!("the tools cannot be used{named}{}{fix}", lines.join(", ")));
}

// A17
#[test]
fn replacing_a_tool_is_explicit() {
    let tools = Registry::builder().tool::<one::first>();
    let second = tool_runtime::registry::Registration::tool(
        <other::second as tool_runtime::__private::Handle>::REGISTRATION,
    );
    let tools = tools.replace(second.unwrap()).build().unwrap();
    assert_eq!(run(tools.call("twice", "")).unwrap().text(), "2");
}

// A17
#[test]
fn a_tool_can_be_replaced_by_any_kind_of_tool() {
    struct Others;
    #[tool_runtime::toolset]
    impl Others {
        /// Says 3.
        #[tool]
        fn twice(&self) -> u32 {
            3
        }
    }
    let tools = || Registry::builder().tool::<one::first>();
    let by_type = tools().replace_tool::<other::second>().build().unwrap();
    assert_eq!(run(by_type.call("twice", "")).unwrap().text(), "2");
    let by_set = tools().replace_toolset(Others).build().unwrap();
    assert_eq!(run(by_set.call("twice", "")).unwrap().text(), "3");
    let before = Registry::builder().replace_tool::<other::second>().tool::<one::first>().build().unwrap();
    assert_eq!(run(before.call("twice", "")).unwrap().text(), "2");
    let both = tools().replace_tool::<other::second>().replace_toolset(Others).build().unwrap_err();
    assert!(
        matches!(both.diagnostics(), [BuildDiagnostic::Duplicate { name, .. }] if name == "twice"),
        "{both}"
    );
}

// A17
#[test]
fn replacing_an_unknown_tool_is_an_error() {
    let error = Registry::builder().replace_tool::<other::second>().build().unwrap_err();
    assert_eq!(error.diagnostics(), [BuildDiagnostic::NotReplaced { name: "twice".into() }]);
    let text = "no tool is named `twice`, so none is replaced; correct the name, or use `add`";
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn a_tool_that_is_added_twice_is_registered_once() {
    let tools = Registry::builder().tool::<one::first>().tool::<one::first>().build().unwrap();
    assert_eq!(tools.len(), 1);
    let tools = Registry::builder().discover().discover().build().unwrap();
    assert!(tools.get("sum_int").is_some());
}

#[test]
fn every_problem_is_reported_at_once() {
    let error = Registry::builder()
        .tool::<needs>()
        .tool::<one::first>()
        .tool::<other::second>()
        .provide(1_u8)
        .provide(2_u8)
        .expect(["twice", "absent"])
        .expect(["absent", "absent"])
        .build()
        .unwrap_err();
    let text = error.to_string();
    assert_eq!(error.diagnostics().len(), 5, "{text}");
    assert!(text.starts_with("the tools cannot be used, for 5 reasons:\n- "), "{text}");
    for part in [
        "two values of type `u8` are provided",
        "tool `absent` is expected and not there",
        "link!(that_crate)",
        "takes a `&heart::build::Database`, which is not provided",
        "takes a `&alloc::vec::Vec<u8>`, which is not provided",
        "2 tools are named `twice`",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let site = needs_line(error.diagnostics());
    assert!(site.contains("build.rs:"), "{site}");
}

fn needs_line(problems: &[BuildDiagnostic]) -> String {
    let site = problems.iter().find_map(|problem| match problem {
        BuildDiagnostic::NotProvided { tool, site, .. } if tool == "needs" => *site,
        _ => None,
    });
    site.unwrap().to_string()
}

#[test]
fn a_value_of_each_run_need_not_be_provided_by_the_program() {
    let builder =
        Registry::builder().tool::<needs>().provide_per_run::<Database>().provide_per_run::<Vec<u8>>();
    let tools = builder.build().unwrap();
    let error = run(tools.call("needs", "")).unwrap_err();
    // The registry itself provides `AvailableTools`, which no program wrote.
    assert_eq!(
        error.to_string(),
        "tool \"needs\" is not available: no value of type `heart::build::Database` was provided; add `.provide(..)` to \
         the registry or the run, or `.with(..)` to the context (nothing is provided)"
    );
    run(async {
        let cx = tools.context_for("needs").unwrap().with(Database).with(vec![1_u8]);
        assert!(tools.call_in(&cx, "").await.is_ok());
    });
}

// Z19: a command line lists tools without opening their dependencies.
#[test]
fn tools_can_be_listed_without_their_dependencies() {
    let tools = Registry::builder().tool::<needs>().build_without_values().unwrap();
    assert_eq!(tools.definitions()[0].name(), "needs");
    let error = run(tools.call("needs", "")).unwrap_err();
    assert_eq!(error.feedback(), "Tool unavailable: no value of type `heart::build::Database` was provided");
    let builder = Registry::builder().tool::<needs>().provide(1_u8).provide(2_u8);
    let error = builder.build_without_values().unwrap_err();
    assert!(matches!(error.diagnostics(), [BuildDiagnostic::ProvidedTwice { .. }]), "{error}");
}

#[test]
fn a_struct_declares_its_dependencies() {
    /// Takes a database from the context.
    #[tool(register = false, needs(Database))]
    struct Takes {}
    impl Run for Takes {
        type Output = Result<(), ToolError>;
        async fn run(self, cx: &ToolContext) -> Self::Output {
            cx.require::<Database>().map(drop)
        }
    }
    let error = Registry::builder().tool::<Takes>().build().unwrap_err();
    assert!(
        matches!(error.diagnostics(), [BuildDiagnostic::NotProvided { type_name, .. }] if type_name.ends_with("Database"))
    );
    let tools = Registry::builder().tool::<Takes>().provide(Database).build().unwrap();
    assert!(run(tools.call("takes", "")).is_ok());
}

struct Explosive;

impl<'de> Deserialize<'de> for Explosive {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Ok(Self)
    }
}

impl JsonSchema for Explosive {
    fn schema_name() -> Cow<'static, str> {
        "Explosive".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        panic!("no schema")
    }
}

#[test]
fn a_panic_during_construction_is_an_error_of_that_tool() {
    fn explode<T>(why: &str) -> T {
        panic!("no {why}")
    }
    /// Has a schema that panics.
    #[tool(register = false)]
    fn a_schema(_explosive: Explosive) {}
    /// Has a default that panics.
    #[tool(register = false)]
    fn b_default(#[arg(default = explode("default"))] _n: u8) {}
    /// Has a label that panics.
    #[tool(register = false, meta(owner = explode::<u8>("label")))]
    fn c_label() {}
    /// Has an example that panics.
    #[tool(register = false, examples(explode::<u8>("example")))]
    fn d_example() {}
    /// Has an output schema that panics.
    #[tool(register = false, output_schema = explode::<serde_json::Value>("output"))]
    fn e_output() {}
    struct Set;
    #[toolset]
    impl Set {
        /// Has a default that panics.
        #[tool]
        fn f_method(&self, #[arg(default = explode("method"))] _n: u8) {}
    }
    let error = Registry::builder()
        .tool::<a_schema>()
        .tool::<b_default>()
        .tool::<c_label>()
        .tool::<d_example>()
        .tool::<e_output>()
        .tool::<needs>()
        .toolset(Set)
        .build()
        .unwrap_err();
    let panicked: Vec<_> = error
        .diagnostics()
        .iter()
        .filter_map(|problem| match problem {
            BuildDiagnostic::Panicked { tool, site, message } => {
                assert_eq!(site.unwrap().module, "heart::build");
                Some((tool.as_str(), message.as_str()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        panicked,
        [
            ("a_schema", "no schema"),
            ("b_default", "no default"),
            ("c_label", "no label"),
            ("d_example", "no example"),
            ("e_output", "no output"),
            ("f_method", "no method"),
        ]
    );
    // The other errors are also reported.
    assert_eq!(error.diagnostics().len(), panicked.len() + 2);
    let text = error.diagnostics()[0].to_string();
    assert!(text.starts_with("tool `a_schema` (tool-runtime/tests/heart/build.rs:"), "{text}");
    assert!(text.ends_with(") panicked when it was made: no schema"), "{text}");
}

#[test]
fn duplicate_properties_of_flattened_types_are_a_build_error() {
    type Text = str;
    /// Takes one name twice.
    #[tool(register = false)]
    fn twice(name: &Text, #[serde(alias = "name")] other: String) -> String {
        format!("{name} {other}")
    }
    let error = Registry::builder().tool::<twice>().build().unwrap_err().to_string();
    assert!(error.ends_with(": two properties are named `name`; rename one"), "{error}");
}

#[test]
fn an_invalid_example_is_a_build_error() {
    /// Doubles.
    #[tool(register = false, examples(json!({ "n": 1 }), json!({ "n": "x" })))]
    fn double(n: u8) -> u8 {
        n * 2
    }
    let error = Registry::builder().tool::<double>().build().unwrap_err().to_string();
    assert!(error.contains("example 2: /n: expected an integer, got \"x\""), "{error}");
}

// B24
#[test]
fn bounds_that_admit_no_value_are_a_build_error() {
    const LEAST: usize = 3;
    const MOST: usize = 2;
    /// Waits.
    #[tool(register = false)]
    fn wait(#[schemars(range(min = 300))] _seconds: u8) {}
    /// Writes.
    #[tool(register = false)]
    fn write(#[schemars(length(min = LEAST, max = MOST))] _text: &str) {}
    #[tool_args]
    struct Wait {
        #[schemars(range(min = 300))]
        seconds: u8,
    }
    /// Waits.
    #[tool(register = false)]
    fn wait_for(#[args] wait: Wait) -> u8 {
        wait.seconds
    }
    let of = |tools: tool_runtime::registry::RegistryBuilder| tools.build().unwrap_err().to_string();
    let seconds = "`minimum` is 300 and `maximum` is 255, so no value is valid";
    for error in [of(Registry::builder().tool::<wait>()), of(Registry::builder().tool::<wait_for>())] {
        assert!(error.contains("tool `wait") && error.contains(seconds), "{error}");
    }
    let error = of(Registry::builder().tool::<write>());
    assert!(
        error.contains("in `_text`, `minLength` is 3 and `maxLength` is 2, so no value is valid"),
        "{error}"
    );
}

/// Returns the error of building a registry with one tool.
fn problems(tools: tool_runtime::registry::RegistryBuilder) -> Vec<String> {
    let error = tools.build().unwrap_err();
    error.diagnostics().iter().map(ToString::to_string).collect()
}

// B16: a model reads the default and may send it.
#[test]
fn a_declared_default_that_violates_the_schema_is_a_build_error() {
    #[tool_args]
    #[derive(serde::Serialize)]
    struct Point {
        #[schemars(range(min = -90, max = 90))]
        lat: f64,
    }
    /// Forecasts.
    #[tool(register = false)]
    fn forecast(
        #[arg(default = 99)]
        #[schemars(range(max = 14))]
        days: u8,
        #[arg(default = "")]
        #[schemars(length(min = 1))]
        #[serde(rename = "to/city")]
        city: &str,
        #[arg(default = Point { lat: 100.0 })] at: Point,
        #[arg(default = Some(5))]
        #[schemars(range(max = 4))]
        hours: Option<u8>,
        #[arg(default = 3)]
        #[schemars(range(max = 14))]
        fits: u8,
    ) {
        let _ = (days, city, at, hours, fits);
    }
    let tools = || Registry::builder().tool::<forecast>();
    let error = tools().build().unwrap_err();
    let is_default =
        |it: &BuildDiagnostic| matches!(it, BuildDiagnostic::DefaultValue { tool, .. } if tool == "forecast");
    assert!(error.diagnostics().iter().all(is_default), "{error}");
    let said = problems(tools());
    let place = said[0].split_once("): ").unwrap().0;
    assert!(place.starts_with("tool `forecast` (") && place.contains("build.rs:"), "{place}");
    let said: Vec<_> = said.iter().map(|it| it.split_once("): ").unwrap().1).collect();
    assert_eq!(
        said,
        [
            "the default of `days`: /days: expected at most 14, got 99",
            "the default of `to/city`: /to~1city: expected at least 1 character, got \"\"",
            "the default of `at`: /at/lat: expected at most 90, got 100.0",
            "the default of `hours`: /hours: expected at most 4, got 5",
        ]
    );
}

// B16: a `Default` value may stand for an absent argument.
#[test]
fn an_implicit_default_may_be_any_value() {
    fn zero() -> u8 {
        0
    }
    #[tool_args]
    struct Args {
        #[serde(default)]
        #[schemars(range(min = 1))]
        page: u8,
        #[serde(default = "zero")]
        #[schemars(range(min = 1))]
        size: u8,
    }
    /// Sums.
    #[tool(register = false)]
    fn of_a_struct(#[args] args: Args, _cx: &ToolContext) -> u8 {
        args.page + args.size
    }
    /// Sums.
    #[tool(register = false)]
    fn of_a_list(
        #[serde(default)]
        #[schemars(range(min = 1))]
        page: u8,
        #[serde(default = "zero")]
        #[schemars(range(min = 1))]
        size: u8,
        #[arg(default)]
        #[schemars(range(min = 1))]
        more: u8,
        #[arg(default = None, example = None::<u8>)]
        #[schemars(range(min = 1))]
        rest: Option<u8>,
    ) -> u8 {
        page + size + more + rest.unwrap_or(0)
    }
    let tools = Registry::builder().tool::<of_a_struct>().tool::<of_a_list>().build().unwrap();
    for name in ["of_a_struct", "of_a_list"] {
        assert_eq!(run(tools.call(name, "")).unwrap().text(), "0", "{name}");
        assert!(run(tools.call(name, r#"{"page":0}"#)).is_err(), "{name}");
    }
}

// A11
#[test]
fn an_invalid_example_of_a_parameter_is_a_build_error() {
    /// Doubles.
    #[tool(register = false)]
    fn double(
        #[arg(example = 3, example = 300)]
        #[schemars(example = -1)]
        n: u8,
        n_more: u8,
    ) -> u8 {
        n + n_more
    }
    let error = Registry::builder().tool::<double>().build().unwrap_err();
    assert!(error.diagnostics().iter().all(|it| matches!(it, BuildDiagnostic::Example { .. })), "{error}");
    let text = error.to_string();
    assert!(text.contains("an example of `n`: /n: expected at most 255, got 300"), "{text}");
    assert!(text.contains("an example of `n`: /n: expected at least 0, got -1"), "{text}");
    assert_eq!(error.diagnostics().len(), 2, "{text}");
}

// A19
#[test]
fn definitions_are_sorted_by_name() {
    /// A.
    #[tool(register = false)]
    fn a() {}
    /// B.
    #[tool(register = false)]
    fn b() {}
    let one = Registry::builder().tool::<b>().tool::<a>().build().unwrap();
    let other = Registry::builder().tool::<a>().tool::<b>().build().unwrap();
    assert_eq!(one.definitions(), other.definitions());
    assert_eq!(one.content_hash(), other.content_hash());
    assert_eq!(format!("{one:?}"), r#"["a", "b"]"#);
    assert_eq!(
        serde_json::to_string(one.definitions()).unwrap(),
        serde_json::to_string(other.definitions()).unwrap()
    );
    assert_ne!(one.content_hash(), Registry::builder().tool::<a>().build().unwrap().content_hash());
}

// A02
#[test]
fn a_tool_is_found_by_the_name_of_its_definition() {
    let tools = Registry::builder().tool::<one::first>().build().unwrap();
    let json = serde_json::to_value(tools.definitions()).unwrap();
    assert_eq!(json[0]["name"], "twice");
    let tool = tools.get(json[0]["name"].as_str().unwrap()).unwrap();
    assert_eq!(tool.definition(), &tools.definitions()[0]);
    assert!(tools.get("other").is_none());
}

// A08, A09
#[test]
fn hints_alone_do_not_change_calls() {
    /// Destroys.
    #[tool(register = false, destructive, max_result_size = 10, retry = 3)]
    fn destroy() -> String {
        "x".repeat(100)
    }
    let tools = Registry::builder().tool::<destroy>().build().unwrap();
    assert_eq!(run(tools.call("destroy", "")).unwrap().text().len(), 100);
    assert_eq!(tools.definitions()[0].metadata().retry, Some(Retry::DEFAULT));
}
