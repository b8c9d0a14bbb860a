//! Look-up and lists.

use std::sync::Arc;

use tool_kit::{
    catalogue::{Catalogue, Connector, ItemKind, ItemQuery},
    prompt::{Prompt, PromptFile},
    resource::{ReadableResource, StoredResource},
};
use tool_runtime::{BoxFuture, ErrorKind, RunContext, prelude::*};

use super::{Fixed, keys, prompt, resource, snapshot, tool};

async fn three_places() -> Catalogue {
    let catalogue = Catalogue::new();
    catalogue.tools().add_all([tool("search"), tool("zoom")]).unwrap();
    catalogue.add_prompts([prompt("search")]).unwrap();
    catalogue.add_resources([resource("notes://today")]).unwrap();
    catalogue.connect(Fixed::named("second")).unwrap();
    catalogue.connect(Fixed::named("first")).unwrap();
    catalogue
}

#[tokio::test]
async fn each_form_of_a_key_finds_its_item() {
    let items = snapshot(&three_places().await).await;
    for (key, kind, found) in [
        ("search", ItemKind::Tool, "search"),
        ("builtin.search", ItemKind::Tool, "search"),
        ("second.search", ItemKind::Tool, "second.search"),
        ("first.search", ItemKind::Tool, "first.search"),
        ("greet", ItemKind::Prompt, "second.greet"),
        ("first.greet", ItemKind::Prompt, "first.greet"),
        ("notes://today", ItemKind::Resource, "notes://today"),
        ("NOTES://today", ItemKind::Resource, "notes://today"),
        ("notes://today#builtin", ItemKind::Resource, "notes://today"),
        ("notes://today#first", ItemKind::Resource, "notes://today#first"),
        ("NOTES://today#first", ItemKind::Resource, "notes://today#first"),
    ] {
        let item = items.lookup(key).unwrap();
        assert_eq!((item.kind(), item.key()), (kind, found), "{key}"); // U17 U18 U19
        let is_of_kind = [item.tool().is_some(), item.prompt().is_some(), item.resource().is_some()];
        assert_eq!(is_of_kind, [ItemKind::Tool, ItemKind::Prompt, ItemKind::Resource].map(|it| it == kind)); // U19
    }
    assert_eq!(items.lookup_kind(ItemKind::Prompt, "search").unwrap().namespace(), "builtin");
    assert_eq!(items.lookup_kind(ItemKind::Prompt, "first.search").unwrap().key(), "first.search");
    for key in ["nope", "gone.search", "first.nope", "notes://nope", "notes://today#gone", "second__search"] {
        assert_eq!(items.lookup(key).unwrap_err().kind(), ErrorKind::NotFound, "{key}"); // U19
    }
    for key in ["a b", "", "search#first", "a/b", "\u{1b}"] {
        assert_eq!(items.lookup(key).unwrap_err().kind(), ErrorKind::BadParameter, "{key}"); // U17
    }
}

#[tokio::test]
async fn the_next_place_of_a_name_counts_when_the_first_one_is_gone() {
    let catalogue = three_places().await;
    for expected in ["search", "search", "second.search", "first.search", "first.search"] {
        let items = snapshot(&catalogue).await;
        let found = items.lookup("search").unwrap();
        assert_eq!(found.key(), expected); // U18
        match (found.namespace(), found.kind()) {
            ("builtin", _) => drop(catalogue.remove("search").unwrap()),
            ("first", ItemKind::Tool) => drop(catalogue.tools().remove_toolset("first")),
            (namespace, _) => catalogue.disconnect(namespace).unwrap(),
        }
    }
    assert_eq!(snapshot(&catalogue).await.lookup("search").unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn found_items_are_called() {
    let catalogue = three_places().await;
    let explain = PromptFile::parse("---\nname: explain\n---\nExplain {{ .topic }}.").unwrap();
    catalogue.add_prompt(explain).unwrap();
    let items = snapshot(&catalogue).await;
    let found = items.lookup("second.search").unwrap();
    let name = found.tool().unwrap().definition().name();
    assert_eq!(name.as_str(), "second__search");
    assert_eq!(items.tools().call(name, "{}").await.unwrap().text(), "5"); // U02
    let run = Arc::new(RunContext::new());
    let prompt = items.lookup("explain").unwrap().prompt().unwrap();
    assert_eq!(prompt.render(&run, &json!({ "topic": "tides" })).await.unwrap().text(), "Explain tides."); // U02
    let resource = items.lookup("notes://today#first").unwrap().resource().unwrap();
    assert_eq!(resource.read(&run).await.unwrap().uri, "notes://today"); // U02
}

#[tokio::test]
async fn lists_are_filtered_sorted_and_divided() {
    let items = snapshot(&three_places().await).await;
    let listed = |query: ItemQuery| {
        let page = items.list(&query);
        let keys: Vec<_> = page.items.iter().map(|item| item.key().to_owned()).collect();
        (keys.join(" "), page.count, page.offset, page.limit)
    };
    let all = "first.search search second.search zoom first.greet first.search search second.greet second.search \
        notes://today notes://today#first notes://today#second";
    assert_eq!(listed(ItemQuery::all()), (all.to_owned(), 12, 0, 12)); // U20 U21 U22
    for (query, keys, count, limit) in [
        (ItemQuery::all().of_kind(ItemKind::Tool), "first.search search second.search zoom", 4, 4),
        (
            ItemQuery::all().in_namespace("first"),
            "first.search first.greet first.search notes://today#first",
            4,
            4,
        ),
        (ItemQuery::all().named("greet"), "first.greet second.greet", 2, 2),
        (ItemQuery::all().named("second.greet").named("zoom"), "zoom second.greet", 2, 2),
        (ItemQuery::all().named("notes://today").in_namespace("builtin"), "notes://today", 1, 1),
        (ItemQuery::all().in_namespace("gone"), "", 0, 0),
        (ItemQuery::all().of_kind(ItemKind::Tool).at_most(2), "first.search search", 4, 2),
    ] {
        assert_eq!(listed(query.clone()), (keys.to_owned(), count, 0, limit), "{query:?}"); // U20 U21
    }
    let page = listed(ItemQuery::all().of_kind(ItemKind::Prompt).at(3).at_most(2));
    assert_eq!(page, ("second.greet second.search".to_owned(), 5, 3, 2)); // U21
    assert_eq!(listed(ItemQuery::all().at(11).at_most(5)), ("notes://today#second".to_owned(), 12, 11, 5)); // U21
    assert_eq!(listed(ItemQuery::all().at(99)), (String::new(), 12, 99, 12)); // U21
    assert_eq!(listed(ItemQuery::all().at(usize::MAX).named("zoom")), (String::new(), 1, usize::MAX, 1));
    for item in items.list(&ItemQuery::all()).items {
        assert_eq!(items.lookup_kind(item.kind(), item.key()).unwrap().key(), item.key()); // U22
    }
}

#[tokio::test]
async fn a_page_has_at_most_a_hundred_items() {
    let catalogue = Catalogue::new();
    catalogue.add_prompts((0..150).map(|at| prompt(&format!("p{at:03}")))).unwrap();
    let items = snapshot(&catalogue).await;
    for query in [ItemQuery::all(), ItemQuery::all().at_most(1_000), ItemQuery::all().in_namespace("builtin")]
    {
        let page = items.list(&query);
        assert_eq!((page.items.len(), page.count, page.limit), (100, 150, 100)); // U21
    }
    let rest = items.list(&ItemQuery::all().at(100));
    assert_eq!((rest.items.len(), rest.items[0].key()), (50, "p100")); // U21
}

enum Failure {
    Error,
    Panic,
    Twice,
}

struct Failing(&'static str, Failure);

impl Connector for Failing {
    fn namespace(&self) -> &str {
        self.0
    }

    fn prompts<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Prompt>>, ToolError>> {
        Box::pin(async {
            match self.1 {
                Failure::Error => Err(ToolError::failed("it is \u{1b}[31m away")),
                Failure::Panic => panic!("a mistake"),
                Failure::Twice => Ok(vec![prompt("a"), prompt("a")]),
            }
        })
    }

    fn resources<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn ReadableResource>>, ToolError>> {
        Box::pin(async {
            Ok(vec![Arc::new(StoredResource::must_text("rest", "x")) as Arc<dyn ReadableResource>])
        })
    }
}

#[tokio::test]
async fn a_connector_that_fails_costs_its_own_items_and_says_so() {
    let catalogue = three_places().await;
    catalogue.connect(Failing("broken", Failure::Error)).unwrap();
    catalogue.connect(Failing("panics", Failure::Panic)).unwrap();
    catalogue.connect(Failing("twice", Failure::Twice)).unwrap();
    let items = snapshot(&catalogue).await;
    assert_eq!(keys(&catalogue).await.len(), 12 + 4); // U23
    let diagnostics: Vec<_> = items.diagnostics().iter().map(|it| (it.code, &*it.message)).collect();
    let [("unlisted_items", error), ("unlisted_items", panic), ("duplicate_item", double)] = diagnostics[..]
    else {
        panic!("{diagnostics:?}")
    };
    assert!(error.starts_with("the connector `broken`: its prompts cannot be listed: ")); // U23
    assert!(error.contains("away"), "{error}"); // U23
    assert!(!error.contains('\u{1b}'));
    assert!(panic.starts_with("the connector `panics`: ") && panic.contains("it panicked: a mistake")); // U23
    assert!(
        double.starts_with("the connector `twice`: ") && double.contains("`a` is listed more than once"),
        "{double}"
    );
    assert_eq!(items.lookup("text:rest").unwrap().key(), "text:rest#broken");
}
