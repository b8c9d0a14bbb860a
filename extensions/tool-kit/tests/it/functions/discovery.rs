//! Items that are linked into the program.

use std::sync::Arc;

use tool_kit::{
    catalogue::{Catalogue, CatalogueChange, ItemQuery},
    function::FunctionPrompt,
    prompt,
    prompt::{Prompt, PromptFile},
};
use tool_runtime::{diagnostic::Severity, output::ResourceBody, prelude::*};

use crate::catalogue::{keys, snapshot};

/// A value of the program.
struct Shelf(&'static str);

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Recommends a book.
#[prompt]
fn recommend(shelf: &Shelf) -> String {
    format!("Recommend a book of the shelf {}.", shelf.0)
}

/// Greets someone.
#[prompt(name = "greet")]
fn say_hello(name: String) -> String {
    format!("Greet {name}.")
}

/// The motto of a shelf.
#[tool_kit::resource(uri = "shelf://motto")]
fn motto(shelf: &Shelf) -> String {
    format!("Read {}.", shelf.0)
}

/// A book.
#[tool_kit::resource(uri = "shelf://books/{number}")]
async fn book(number: u8) -> String {
    format!("book {number}")
}

fn shelf() -> tool_runtime::registry::RegistryBuilder {
    Registry::builder().provide(Shelf("B"))
}

#[tokio::test]
async fn annotated_functions_are_one_catalogue() {
    let catalogue = Catalogue::discover_with(shelf()).unwrap();
    let run = Arc::new(RunContext::new());
    let snapshot = catalogue.snapshot(&run).await.unwrap();
    let keys: Vec<_> =
        snapshot.list(&ItemQuery::all()).items.iter().map(|item| item.key().to_owned()).collect();
    assert_eq!(keys, ["add", "greet", "recommend", "shelf://motto"]); // U02
    let recommend = snapshot.lookup("recommend").unwrap().prompt().unwrap();
    assert_eq!(recommend.render(&run, &json!({})).await.unwrap().text(), "Recommend a book of the shelf B.");
    for (uri, expected) in [("shelf://motto", "Read B."), ("SHELF://books/7", "book 7")] {
        let content = snapshot.resource(uri).unwrap().read(&run).await.unwrap();
        assert_eq!(content.body, ResourceBody::Text(expected.to_owned())); // U02
    }
    assert_eq!(snapshot.tools().call("add", r#"{ "a": 2, "b": 3 }"#).await.unwrap().text(), "5");
}

#[tokio::test]
async fn discovered_items_are_added_to_a_catalogue_all_or_none() {
    let (catalogue, values) = (Catalogue::new(), shelf().build().unwrap());
    catalogue.add_prompt(PromptFile::parse("---\nname: greet\n---\nHello.").unwrap()).unwrap();
    let mut listener = catalogue.subscribe();
    let error = catalogue.add_discovered(&values).unwrap_err().to_string();
    assert!(error.contains("there is a prompt `greet`; remove it, or rename this one"), "{error}");
    assert_eq!(keys(&catalogue).await, ["greet"]); // U03
    assert!(listener.try_next().is_none());
    catalogue.remove("greet").unwrap();
    catalogue.add_discovered(&values).unwrap();
    assert_eq!(keys(&catalogue).await, ["greet", "recommend", "shelf://motto"]); // U02
    assert!(snapshot(&catalogue).await.resource("shelf://books/7").is_ok());
    let changes: Vec<_> =
        std::iter::from_fn(|| listener.try_next()).map(|event| event.unwrap().change).collect();
    assert_eq!(changes, [CatalogueChange::Prompts, CatalogueChange::Resources]); // U06
    let error = catalogue.add_discovered(&Registry::default()).unwrap_err().to_string();
    assert!(error.contains("add `.provide(..)`"), "{error}");
}

#[test]
fn prompts_are_discovered_by_name() {
    let registry = shelf().build().unwrap();
    let prompts = FunctionPrompt::discover(&registry).unwrap();
    let names: Vec<_> = prompts.iter().map(|prompt| prompt.definition().name()).collect();
    assert_eq!(names, ["greet", "recommend"]);
}

mod first {
    /// Subtracts.
    #[tool_runtime::tool(register = false, strict)]
    pub(super) fn subtract(#[arg(default = 300)] a: i64, missing: &super::Absent) -> i64 {
        let _ = missing;
        a
    }

    /// Needs a value.
    #[tool_kit::prompt(register = false)]
    pub(super) fn needy(missing: &super::Absent) -> &'static str {
        let _ = missing;
        ""
    }

    /// Has a default that its own schema forbids.
    #[tool_kit::prompt(register = false)]
    pub(super) fn contradictory(
        #[schemars(range(max = 9))]
        #[arg(default = 10)]
        number: u8,
    ) -> String {
        number.to_string()
    }

    /// Has the name of the tool of the output.
    #[tool_kit::prompt(register = false, name = "submit_output")]
    pub(super) fn reserved() -> &'static str {
        ""
    }

    /// Has an output that is no schema.
    #[tool_kit::prompt(register = false, output_schema = "{")]
    pub(super) fn unreadable() -> &'static str {
        ""
    }
}

/// A value that no test provides.
struct Absent;

#[test]
fn mistakes_of_a_prompt_name_it_and_its_place() {
    let none = Registry::default();
    for (error, code, expected) in [
        (
            FunctionPrompt::of::<first::needy>(&none).unwrap_err(),
            "not_provided",
            "prompt `needy` (extensions",
        ),
        (
            FunctionPrompt::of::<first::contradictory>(&none).unwrap_err(),
            "default_value",
            "prompt `contradictory` (ext",
        ),
        (
            FunctionPrompt::of::<first::reserved>(&none).unwrap_err(),
            "reserved_name",
            "prompt `submit_output` (ext",
        ), // U31
        (
            FunctionPrompt::of::<first::unreadable>(&none).unwrap_err(),
            "definition",
            "prompt `unreadable` (ext",
        ),
    ] {
        let [diagnostic] = error.diagnostics() else { panic!("{error}") };
        assert_eq!((diagnostic.code, diagnostic.severity), (code, Severity::Error), "{error}");
        assert!(diagnostic.message.starts_with(expected), "{error}");
        assert!(diagnostic.location.source.is_some() && diagnostic.location.tool.is_none());
        let help = diagnostic.help.as_deref().unwrap_or_default();
        assert!(!help.contains("tool"), "{help}");
        assert!(error.to_string().starts_with(&format!("the items cannot be used: {expected}")), "{error}");
    }
}

#[test]
fn one_error_lists_the_mistakes_of_all_kinds() {
    let error = Catalogue::discover_with(Registry::builder().tool::<first::subtract>()).unwrap_err();
    let codes: Vec<_> = error.diagnostics().iter().map(|it| (it.code, it.message.clone())).collect();
    // The values of prompts are not known where those of tools are wrong.
    let [(code, message)] = &*codes else { panic!("{codes:?}") };
    assert_eq!((*code, message.contains("tool `subtract`")), ("not_provided", true), "{codes:?}");
    let error = Catalogue::discover().unwrap_err().to_string();
    assert!(
        error.starts_with("the items cannot be used, for 2 reasons:\n- prompt `recommend` (extensions"),
        "{error}"
    );
    assert!(error.contains("\n- resource `motto` (extensions"), "{error}");
    assert!(error.contains("add `.provide(..)`"), "{error}");
}
