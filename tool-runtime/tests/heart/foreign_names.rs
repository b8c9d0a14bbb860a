//! Tool names of other programs.

use std::{collections::BTreeSet, sync::Arc};

use proptest::{collection::btree_set, prelude::*};
use tool_runtime::{
    RunContext, Tool, ToolDefinition, ToolName, Toolbox,
    definition::Prepared,
    prelude::*,
    registry::BuildDiagnostic,
    schema::{Arguments, InputSchema},
    toolset::{NamedTools, ToolSetExt},
};

use crate::run;

/// A tool of another program, which returns its raw name.
struct Remote(ToolDefinition);

impl Remote {
    fn new(raw: &str) -> Self {
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        Self(ToolDefinition::new(ToolName::from_foreign(raw), "Is elsewhere.", schema))
    }
}

impl Tool for Remote {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, |_, cx| Box::pin(async move { Ok(cx.raw_tool_name().into()) })))
    }
}

fn foreign_name(raw: &str) -> String {
    ToolName::from_foreign(raw).to_string()
}

// CF02
#[test]
fn a_valid_name_is_unchanged_and_others_are_cleaned_and_hashed() {
    let long = "x".repeat(64);
    for valid in ["get_weather", "_", "a-b", &long] {
        assert_eq!(foreign_name(valid), *valid);
        assert_eq!(ToolName::from_foreign(valid), ToolName::new(valid.to_owned()).unwrap());
    }
    let huge = "weather.".repeat(1280);
    for raw in
        ["", " ", "a.b", "a b", "9lives", "-x", "día", "天気", "\0", "a\u{202e}b", &"x".repeat(65), &huge]
    {
        let name = ToolName::from_foreign(raw);
        assert!(ToolName::new(name.to_string()).is_ok(), "{name}");
        assert_eq!((name.raw(), &name), (raw, &ToolName::from_foreign(raw)));
    }
    assert_eq!(foreign_name("a.b").rsplit_once('_').unwrap().0, "a_b");
    assert_eq!(foreign_name("a.b").len(), "a_b_".len() + 10);
    assert_eq!(foreign_name(&huge).len(), 64);
    assert_ne!(foreign_name("a.b"), foreign_name("a b"));
}

fn registry(raws: &BTreeSet<String>) -> Result<Registry, tool_runtime::registry::BuildError> {
    raws.iter().fold(Registry::builder(), |tools, raw| tools.add(Remote::new(raw))).build()
}

// CF02
#[test]
fn a_name_that_looks_like_the_hash_of_another_is_an_error_that_names_both() {
    let raws = BTreeSet::from(["a.b".to_owned(), foreign_name("a.b")]);
    let refused = registry(&raws).unwrap_err();
    let [BuildDiagnostic::ForeignClash { name, raw_names }] = refused.diagnostics() else {
        panic!("{refused}")
    };
    assert_eq!((name, raw_names), (&foreign_name("a.b"), &raws.iter().cloned().collect()));
    let text = refused.to_string();
    assert!(raws.iter().all(|raw| text.contains(&format!("{raw:?}"))), "{text}");

    let toolbox = Toolbox::new();
    toolbox.add_toolset(set("", &["a.b"])).unwrap();
    toolbox.add_toolset(set("other", &[&foreign_name("a.b")])).unwrap();
    let refused = run(toolbox.snapshot(&RunContext::new())).unwrap_err().to_string();
    assert!(raws.iter().all(|raw| refused.contains(&format!("{raw:?}"))), "{refused}");
}

proptest! {
    // CF02
    #[test]
    fn distinct_raw_names_stay_distinct_or_are_an_error(
        mut raws in btree_set("[a-c_. ]{0,3}|\\PC{0,6}|[a-z.]{60,70}", 1..8),
        hashed in any::<bool>(),
    ) {
        if hashed {
            let like_a_hash: Vec<_> = raws.iter().map(|raw| foreign_name(raw)).collect();
            raws.extend(like_a_hash);
        }
        let names: BTreeSet<_> = raws.iter().map(|raw| foreign_name(raw)).collect();
        match registry(&raws) {
            Ok(tools) => {
                prop_assert_eq!(names.len(), raws.len());
                let back: BTreeSet<_> = tools.definitions().iter().map(|it| it.raw_name().to_owned()).collect();
                prop_assert_eq!(back, raws);
            }
            Err(error) => {
                prop_assert!(names.len() < raws.len());
                for problem in error.diagnostics() {
                    let BuildDiagnostic::ForeignClash { name, raw_names } = problem else { panic!("{problem}") };
                    prop_assert!(raw_names.len() > 1 && raw_names.iter().all(|raw| foreign_name(raw) == *name));
                }
            }
        }
    }
}

fn set(name: &str, raws: &[&str]) -> NamedTools {
    let tools = raws.iter().map(|raw| Arc::new(Remote::new(raw)) as Arc<dyn Tool>);
    NamedTools::new(name.to_owned(), tools)
}

// L05, CF02
#[test]
fn the_model_sees_the_prefix_and_the_origin_receives_the_raw_name() {
    let toolbox = Toolbox::new();
    let long = "l".repeat(64);
    toolbox.add_toolset(set("a", &["search", "get page", &long]).prefixed().prefixed()).unwrap();
    toolbox.add_toolset(set("b", &["search"]).prefixed()).unwrap();
    let tools = run(toolbox.snapshot(&RunContext::new())).unwrap().into_tools();
    for (name, raw) in [
        ("a__search".to_owned(), "search"),
        ("b__search".to_owned(), "search"),
        (format!("a__{}", foreign_name("get page")), "get page"),
        (foreign_name(&format!("a__{long}")), &long),
    ] {
        assert_eq!(tools.get(&name).unwrap().definition().raw_name(), raw);
        assert_eq!(run(tools.call(&name, "{}")).unwrap().text(), raw);
    }
}

// CF02
#[test]
fn a_definition_and_its_hash_contain_the_raw_name() {
    let Remote(definition) = Remote::new("a.b");
    assert_eq!(serde_json::to_value(&definition).unwrap()["rawName"], "a.b");
    let own = ToolName::new(foreign_name("a.b")).unwrap();
    let same =
        ToolDefinition::new(own, definition.description().to_owned(), definition.input_schema().clone());
    assert_eq!(same.name(), definition.name());
    assert_ne!(same.content_hash(), definition.content_hash());
    assert!(same != definition && serde_json::to_value(&same).unwrap().get("rawName").is_none());
    let shown = definition.with_name(ToolName::new("b").unwrap());
    assert_eq!((shown.name().as_str(), shown.raw_name()), ("b", "a.b"));
}
