//! Additions, removals and events.

use std::sync::{Arc, OnceLock};

use tool_kit::{
    catalogue::{Catalogue, CatalogueChange, Connector, ConnectorNotifier, ItemKind},
    resource::{ReadableResource as _, StoredResource},
};
use tool_runtime::{ErrorKind, output::ResourceBody, toolset::NamedTools};

use super::{Fixed, keys, prompt, resource, snapshot, told, tool};

fn changed(uri: &str) -> CatalogueChange {
    CatalogueChange::Resource { uri: uri.to_owned() }
}

#[tokio::test]
async fn prompts_are_added_all_or_none() {
    let catalogue = Catalogue::new();
    let mut listener = catalogue.subscribe();
    let error = catalogue.add_prompts([prompt("a"), prompt("b"), prompt("a")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict); // U03
    assert!(error.to_string().contains("there is a prompt `a`; remove it"), "{error}");
    assert!(keys(&catalogue).await.is_empty() && told(&mut listener).is_empty()); // U03
    catalogue.add_prompts([Some(prompt("a")), None, Some(prompt("b"))]).unwrap(); // U03
    assert_eq!(keys(&catalogue).await, ["a", "b"]);
    assert_eq!(told(&mut listener), [(None, CatalogueChange::Prompts)]); // U06
    assert!(catalogue.add_prompts([prompt("c"), prompt("b")]).is_err()); // U03
    assert_eq!(keys(&catalogue).await, ["a", "b"]); // U03
    catalogue.add_prompts([None]).unwrap();
    assert!(told(&mut listener).is_empty());
}

#[tokio::test]
async fn a_resource_of_an_equal_uri_is_replaced() {
    let catalogue = Catalogue::new();
    let mut listener = catalogue.subscribe();
    assert!(!catalogue.add_resource(StoredResource::must_text("n", "one").with_uri("HTTP://A/x").unwrap()));
    assert_eq!(told(&mut listener), [(None, CatalogueChange::Resources)]); // U04
    let two = StoredResource::must_text("n", "two").with_uri("http://a:80/x").unwrap();
    let replaced = catalogue.add_resources([Arc::new(two) as Arc<_>, resource("b:1")]).unwrap();
    assert_eq!(replaced, 1); // U04
    assert_eq!(told(&mut listener), [(None, CatalogueChange::Resources), (None, changed("http://a:80/x"))]); // U04
    let items = snapshot(&catalogue).await;
    let found = items.lookup("http://A/x").unwrap().resource().unwrap();
    let read = found.read(&Arc::new(tool_runtime::RunContext::new())).await.unwrap();
    assert_eq!(read.body, ResourceBody::Text("two".to_owned())); // U04 U42
    let error = catalogue.add_resources([resource("c:1"), resource("C:1")]).unwrap_err();
    assert!(error.kind() == ErrorKind::Conflict && error.to_string().contains("is added twice")); // U04
    assert_eq!(keys(&catalogue).await, ["b:1", "http://a/x"]);
}

#[tokio::test]
async fn an_item_is_removed_by_its_name_or_uri_tools_first() {
    let catalogue = Catalogue::new();
    catalogue.tools().add_all([tool("x")]).unwrap();
    catalogue.add_prompts([prompt("x")]).unwrap();
    catalogue.add_resources([resource("notes://today")]).unwrap();
    let mut listener = catalogue.subscribe();
    assert_eq!(catalogue.remove("x").unwrap(), ItemKind::Tool); // U05
    assert_eq!(catalogue.remove("builtin.x").unwrap(), ItemKind::Prompt); // U05
    assert_eq!(catalogue.remove("x").unwrap_err().kind(), ErrorKind::NotFound); // U05
    assert_eq!(catalogue.remove("NOTES://today").unwrap(), ItemKind::Resource); // U05
    assert_eq!(catalogue.remove("a b").unwrap_err().kind(), ErrorKind::BadParameter);
    let expected = [CatalogueChange::Tools, CatalogueChange::Prompts, CatalogueChange::Resources];
    let mut heard = told(&mut listener);
    heard.sort_by_key(|(_, change)| expected.iter().position(|it| it == change));
    assert_eq!(heard, expected.map(|change| (None, change))); // U06
    assert!(keys(&catalogue).await.is_empty());
}

#[tokio::test]
async fn a_connector_brings_its_namespace_and_takes_it_away() {
    let catalogue = Catalogue::new();
    let mut listener = catalogue.subscribe();
    catalogue.connect(Fixed::named("library")).unwrap();
    assert_eq!(
        keys(&catalogue).await,
        ["library.search", "library.greet", "library.search", "notes://today#library"]
    ); // U22
    let heard = told(&mut listener);
    for change in [CatalogueChange::Tools, CatalogueChange::Prompts, CatalogueChange::Resources] {
        assert!(heard.contains(&(Some("library".to_owned()), change)), "{heard:?}"); // U06
    }
    let error = catalogue.connect(Fixed::named("library")).unwrap_err();
    assert!(
        error.kind() == ErrorKind::Conflict && error.to_string().contains("there is a connector `library`")
    );
    catalogue.disconnect("library").unwrap();
    assert!(keys(&catalogue).await.is_empty()); // U14
    assert_eq!(snapshot(&catalogue).await.lookup("library.search").unwrap_err().kind(), ErrorKind::NotFound); // U14
    assert_eq!(catalogue.disconnect("library").unwrap_err().kind(), ErrorKind::NotFound); // U14
    catalogue.connect(Fixed::named("library")).unwrap();
    assert_eq!(keys(&catalogue).await.len(), 4);
}

#[test]
fn namespaces_are_identifiers_and_free() {
    let catalogue = Catalogue::new();
    for namespace in ["builtin", "user", "a b", "", "a.b"] {
        let error = catalogue.connect(Fixed::named(namespace)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadParameter, "{namespace}"); // U11 U31
    }
    catalogue.tools().add_toolset(NamedTools::new("taken", [])).unwrap();
    assert_eq!(catalogue.connect(Fixed::named("taken")).unwrap_err().kind(), ErrorKind::Conflict);
    struct OtherName;
    impl Connector for OtherName {
        fn namespace(&self) -> &str {
            "one"
        }
        fn toolset(&self) -> Option<Arc<dyn tool_runtime::ToolSet>> {
            Some(Arc::new(NamedTools::new("other", [])))
        }
    }
    let error = catalogue.connect(OtherName).unwrap_err().to_string();
    assert!(error.contains("has the name `other`; give both one name"), "{error}");
    assert!(catalogue.tools().toolsets().len() == 1);
    let own_output = catalogue.tools().add_all([tool("submit_output")]).unwrap_err().to_string();
    assert!(own_output.contains("submit_output"), "{own_output}"); // U31
}

struct FailsWhenAttached;

impl Connector for FailsWhenAttached {
    fn namespace(&self) -> &str {
        "failing"
    }
    fn toolset(&self) -> Option<Arc<dyn tool_runtime::ToolSet>> {
        Some(Arc::new(NamedTools::new("failing", [tool("search")])))
    }
    fn attached(&self, _: ConnectorNotifier) {
        panic!("a mistake");
    }
}

#[tokio::test]
async fn nothing_of_a_connector_that_fails_stays_and_no_toolset_of_another_goes() {
    let catalogue = Catalogue::new();
    let error = catalogue.connect(FailsWhenAttached).unwrap_err().to_string();
    assert!(error.contains("the connector panicked: a mistake"), "{error}");
    assert!(keys(&catalogue).await.is_empty() && catalogue.tools().toolsets().is_empty());
    catalogue.connect(Announcing::default()).unwrap();
    catalogue.tools().add_toolset(NamedTools::new("announcing", [])).unwrap();
    catalogue.disconnect("announcing").unwrap();
    assert_eq!(catalogue.tools().toolsets().len(), 1);
}

#[derive(Clone, Default)]
struct Announcing(Arc<OnceLock<ConnectorNotifier>>);

impl Connector for Announcing {
    fn namespace(&self) -> &str {
        "announcing"
    }

    fn attached(&self, notifier: ConnectorNotifier) {
        self.0.set(notifier).ok();
    }
}

#[test]
fn a_connector_announces_changes_while_it_is_connected() {
    let catalogue = Catalogue::new();
    let connector = Announcing::default();
    catalogue.connect(connector.clone()).unwrap();
    let mut listener = catalogue.subscribe();
    let notifier = connector.0.get().unwrap();
    notifier.announce(changed("a:1"));
    assert_eq!(told(&mut listener), [(Some("announcing".to_owned()), changed("a:1"))]); // U43
    catalogue.disconnect("announcing").unwrap();
    told(&mut listener);
    notifier.announce(CatalogueChange::Prompts);
    assert!(told(&mut listener).is_empty());
    // Another one of the same name.
    catalogue.connect(Announcing::default()).unwrap();
    told(&mut listener);
    notifier.announce(CatalogueChange::Prompts);
    assert!(told(&mut listener).is_empty());
    drop(catalogue);
    notifier.announce(CatalogueChange::Prompts);
}

#[tokio::test]
async fn a_listener_may_change_the_catalogue_that_it_hears_and_ends_with_it() {
    let catalogue = Catalogue::new();
    let mut listener = catalogue.subscribe();
    catalogue.add_prompts([prompt("a")]).unwrap();
    let event = listener.next().await.unwrap().unwrap();
    assert_eq!(event.change, CatalogueChange::Prompts);
    catalogue.remove("a").unwrap(); // U08
    assert_eq!(listener.next().await.unwrap().unwrap().change, CatalogueChange::Prompts);
    drop(catalogue);
    assert!(listener.next().await.is_none());
}
