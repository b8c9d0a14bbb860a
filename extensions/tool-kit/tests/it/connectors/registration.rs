//! Additions, names, removals.

use std::sync::{Arc, Mutex};

use test_support::collectors::EventLog;
use tool_kit::catalogue::{
    Catalogue, CatalogueChange, CatalogueEvent, Connector, ConnectorNotifier, ConnectorSource,
    ConnectorState, Delegate, PromptCall,
};
use tool_runtime::{BoxFuture, ErrorKind, ToolError, ToolOutput, ToolSet};

use super::{Factory, FakeServer, Mode, catalogue_of, info, run_during, wait_for_state, wait_until_active};
use crate::catalogue::{Fixed, keys, prompt, snapshot};

fn state(catalogue: &Catalogue, key: &str) -> ConnectorState {
    info(catalogue, key).state
}

#[tokio::test]
async fn an_addition_that_fails_leaves_nothing_behind() {
    let outcome = Arc::new(Mutex::new(0));
    let current = Arc::clone(&outcome);
    let next = move || *current.lock().unwrap();
    let factory = Factory(move |_: &str| match next() {
        0 => Err(ToolError::failed("out of order")),
        1 => Ok(None),
        2 => panic!("a mistake"),
        _ => Ok(Some(Arc::new(FakeServer::new("s", Mode::Holds)) as Arc<dyn ConnectorSource>)),
    });
    let without = Catalogue::new();
    let catalogue = without.clone().with_connector_factory(factory);
    let url = "http://h/A";
    let error = without.add_server(url).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotImplemented); // U13
    assert!(error.to_string().contains("set one by `with_connector_factory`"), "{error}");
    for (step, expected) in
        ["out of order", "makes no connector of `http://h/A`", "panicked: a mistake"].into_iter().enumerate()
    {
        *outcome.lock().unwrap() = step;
        let error = catalogue.add_server(url).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}"); // U13
        assert!(catalogue.connectors().is_empty()); // U13
    }
    *outcome.lock().unwrap() = 3;
    catalogue.add_server("HTTP://user:secret@H:80/A?x#y").unwrap(); // U13
    assert_eq!(catalogue.connectors()[0].key, url); // U12
    let twice = catalogue.add_server(url).unwrap_err();
    assert!(twice.kind() == ErrorKind::Conflict && twice.to_string().contains("is added already")); // U12
    for (text, kind) in [("ftp://h/a", ErrorKind::BadParameter), ("h/a", ErrorKind::BadParameter)] {
        assert_eq!(catalogue.add_server(text).unwrap_err().kind(), kind, "{text}"); // U12
    }
    for namespace in ["builtin", "user", "a b", ""] {
        let error = catalogue.add_server_as(namespace, "http://h/b").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadParameter, "{namespace}"); // U11
    }
    catalogue.add_server_as("docs", "http://h/b").unwrap(); // U11
    for taken in [
        catalogue.add_server_as("docs", "http://h/c"),
        catalogue.add_source("docs", FakeServer::new("s", Mode::Holds)),
        catalogue.connect(Fixed::named("docs")),
    ] {
        assert_eq!(taken.unwrap_err().kind(), ErrorKind::Conflict); // U11
    }
    assert_eq!(catalogue.connectors().len(), 2);
}

/// A connector that fails when it is added.
struct Failing(Fixed);

impl Connector for Failing {
    fn namespace(&self) -> &str {
        self.0.namespace()
    }

    fn toolset(&self) -> Option<Arc<dyn ToolSet>> {
        self.0.toolset()
    }

    fn attached(&self, _: ConnectorNotifier) {
        panic!("a mistake")
    }
}

#[tokio::test]
async fn a_connector_that_panics_when_it_is_added_leaves_its_namespace_free() {
    let catalogue = Catalogue::new();
    let error = catalogue.connect(Failing(Fixed::named("docs"))).unwrap_err();
    assert!(error.to_string().contains("a mistake"), "{error}");
    assert!(catalogue.connectors().is_empty() && keys(&catalogue).await.is_empty());
    catalogue.connect(Fixed::named("docs")).unwrap(); // U11
    assert_eq!(catalogue.connectors().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn of_two_servers_of_one_name_the_second_waits_for_the_namespace() {
    let [first, second, other] = ["s", "s", "other"].map(|name| FakeServer::new(name, Mode::Holds));
    let catalogue = catalogue_of([&first, &second, &other]);
    run_during(&catalogue, async {
        catalogue.wait_for_connectors().await;
        assert_eq!(keys(&catalogue).await.iter().filter(|key| key.starts_with("s.")).count(), 3);
        let states = catalogue.connectors().into_iter().map(|info| info.state).collect::<Vec<_>>();
        assert_eq!(states.iter().filter(|state| **state == ConnectorState::Active).count(), 2); // U10
        let conflict = catalogue.connectors().into_iter().find(|info| info.state == ConnectorState::Conflict);
        let conflict = conflict.unwrap(); // U10
        assert!(conflict.last_error.unwrap().contains("there is a connector `s`")); // U10
        assert_eq!((conflict.namespace, conflict.server_name.as_deref()), (None, Some("s"))); // U10
        // The one that is down keeps its namespace; the one that is removed frees it.
        let (holder, waiting) =
            if conflict.key == "http://1/" { (&first, "http://1/") } else { (&second, "http://0/") };
        let held = if waiting == "http://1/" { "http://0/" } else { "http://1/" };
        holder.set_mode(Mode::Refuses);
        holder.0.end.notify_one();
        wait_for_state(&catalogue, held, |state| matches!(state, ConnectorState::Waiting { .. })).await;
        assert_eq!(state(&catalogue, waiting), ConnectorState::Conflict);
        catalogue.remove_connector(held).await.unwrap();
        wait_until_active(&catalogue, waiting).await;
        assert_eq!(info(&catalogue, waiting).namespace.as_deref(), Some("s")); // U14
        assert_eq!(other.attempts().len(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn names_become_namespaces_or_are_refused_in_sight() {
    let servers =
        ["builtin", "user", " ", "mcp-servers/everything"].map(|name| FakeServer::new(name, Mode::Holds));
    let catalogue = catalogue_of(servers.each_ref());
    let fixed = FakeServer::new("not an identifier", Mode::Holds);
    catalogue.add_source("fixed", fixed).unwrap();
    run_during(&catalogue, async {
        catalogue.wait_for_connectors().await;
        for (key, expected) in
            [("http://0/", "is reserved"), ("http://1/", "is reserved"), ("http://2/", "reports no name")]
        {
            let refused = info(&catalogue, key);
            assert_eq!((refused.state, refused.namespace), (ConnectorState::Conflict, None)); // U10 U31
            assert!(refused.last_error.unwrap().contains(expected), "{key}"); // U10
        }
        let made = info(&catalogue, "http://3/");
        assert_eq!(made.server_name.as_deref(), Some("mcp-servers/everything"));
        let namespace = made.namespace.unwrap();
        assert!(namespace.starts_with("mcp-servers_everything_"), "{namespace}"); // U10
        assert!(snapshot(&catalogue).await.lookup(&format!("{namespace}.search")).is_ok()); // U10
        assert!(snapshot(&catalogue).await.lookup("fixed.search").is_ok()); // U11
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_renames_itself_changes_its_namespace() {
    let [server, other] = ["before", "taken"].map(|name| FakeServer::new(name, Mode::Holds));
    let catalogue = catalogue_of([&server, &other]);
    let fixed = FakeServer::new("fixed", Mode::Holds);
    catalogue.add_source("fixed", fixed.clone()).unwrap();
    run_during(&catalogue, async {
        catalogue.wait_for_connectors().await;
        for renamed in [&server, &fixed] {
            renamed.rename("after");
            renamed.0.end.notify_one();
        }
        wait_for_state(&catalogue, "http://0/", |state| state != ConnectorState::Active).await;
        wait_until_active(&catalogue, "http://0/").await;
        wait_until_active(&catalogue, "fixed").await;
        let namespaces: Vec<_> =
            catalogue.connectors().into_iter().map(|info| info.namespace.unwrap()).collect();
        assert_eq!(namespaces, ["after", "taken", "fixed"]); // U10 U11
        assert!(snapshot(&catalogue).await.lookup("before.search").is_err()); // U10
        catalogue.connect(Fixed::named("before")).unwrap();
        server.rename("taken");
        server.0.end.notify_one();
        wait_for_state(&catalogue, "http://0/", |state| state == ConnectorState::Conflict).await; // U10
        assert_eq!(other.attempts().len(), 1);
        assert!(snapshot(&catalogue).await.lookup("taken.search").is_ok()); // U10
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_removal_ends_the_connection_and_waits_for_its_end() {
    let [held, hanging] =
        [("held", Mode::Holds), ("hanging", Mode::Hangs)].map(|(name, mode)| FakeServer::new(name, mode));
    let catalogue = catalogue_of([&held, &hanging]);
    catalogue.connect(Fixed::named("own")).unwrap();
    run_during(&catalogue, async {
        wait_until_active(&catalogue, "http://0/").await;
        wait_for_state(&catalogue, "http://1/", |state| state == ConnectorState::Connecting).await;
        for unknown in ["http://9/", "nope"] {
            assert_eq!(catalogue.remove_connector(unknown).await.unwrap_err().kind(), ErrorKind::NotFound); // U14
        }
        assert_eq!(catalogue.remove_connector("ftp://0/").await.unwrap_err().kind(), ErrorKind::BadParameter);
        let own = catalogue.disconnect("held").unwrap_err();
        assert!(own.to_string().contains("remove it by `remove_connector`"), "{own}");
        let both = tokio::join!(
            catalogue.remove_connector("HTTP://user@0:80/?x"),
            catalogue.remove_connector("held")
        );
        assert!(both.0.is_ok() && both.1.is_err_and(|error| error.kind() == ErrorKind::NotFound)); // U14
        assert_eq!(held.closed(), 1); // U14
        let gone = snapshot(&catalogue).await.lookup("held.search").unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound); // U14
        catalogue.remove_connector("http://1/").await.unwrap(); // U14
        catalogue.remove_connector("own").await.unwrap();
        assert!(catalogue.connectors().is_empty() && keys(&catalogue).await.is_empty());
        catalogue.add_server("http://0/").unwrap();
        wait_until_active(&catalogue, "http://0/").await;
    })
    .await;
}

#[tokio::test]
async fn a_connector_that_waits_for_the_run_is_removed_at_once() {
    let server = FakeServer::new("s", Mode::Holds);
    let catalogue = catalogue_of([&server]);
    assert_eq!(state(&catalogue, "http://0/"), ConnectorState::Queued);
    catalogue.remove_connector("http://0").await.unwrap(); // U14
    assert!(catalogue.connectors().is_empty() && server.attempts().is_empty());
}

/// Records events, and does something to the catalogue at each.
#[derive(Clone, Default)]
struct Listening {
    events: Arc<Mutex<Vec<CatalogueEvent>>>,
    catalogue: Arc<Mutex<Option<Catalogue>>>,
}

impl Delegate for Listening {
    fn call<'a>(&'a self, _: PromptCall<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(Ok(ToolOutput::empty())))
    }

    fn on_event<'a>(&'a self, event: &'a CatalogueEvent) -> BoxFuture<'a, ()> {
        self.events.lock().unwrap().push(event.clone());
        let catalogue = self.catalogue.lock().unwrap().clone().unwrap();
        Box::pin(async move {
            let items = snapshot(&catalogue).await;
            if items.lookup("s.greet").is_ok() {
                catalogue.add_prompt(prompt("added")).unwrap();
                // The connector whose event this is.
                catalogue.remove_connector("s").await.unwrap();
            }
            panic!("a mistake");
        })
    }
}

#[tokio::test(start_paused = true)]
async fn the_delegate_hears_of_items_and_may_change_the_catalogue() {
    let (delegate, server) = (Listening::default(), FakeServer::new("s", Mode::Holds));
    let catalogue = catalogue_of([&server]).with_delegate(delegate.clone());
    *delegate.catalogue.lock().unwrap() = Some(catalogue.clone());
    run_during(&catalogue, async {
        let mut listener = catalogue.subscribe();
        while !catalogue.connectors().is_empty() {
            listener.next().await.unwrap().unwrap();
        }
        assert_eq!(keys(&catalogue).await, ["added"]); // U08 U09
    })
    .await;
    *delegate.catalogue.lock().unwrap() = None;
    let events = delegate.events.lock().unwrap();
    let is_state = |event: &CatalogueEvent| matches!(event.change, CatalogueChange::Connector { .. });
    assert!(!events.is_empty() && !events.iter().any(is_state), "{events:?}"); // U07
    assert_eq!(events[0].namespace.as_deref(), Some("s")); // U06 U09
    assert_eq!(server.closed(), 1);
}

#[test]
fn connection_failure_and_removal_are_logged_with_the_namespace() {
    let log = EventLog::events_of(|| {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let server = FakeServer::new("files", Mode::Holds);
            let catalogue = catalogue_of([&server]);
            run_during(&catalogue, async {
                wait_until_active(&catalogue, "http://0/").await;
                server.0.end.notify_one();
                wait_for_state(&catalogue, "http://0/", |state| {
                    matches!(state, ConnectorState::Waiting { .. })
                })
                .await;
                catalogue.remove_connector("http://0/").await.unwrap();
            })
            .await;
        });
    });
    let log: Vec<_> = log.iter().filter(|record| record.contains("connector")).collect();
    let [connected, failed, removed] = log[..] else { panic!("{log:?}") }; // U46
    for (record, level, text) in
        [(connected, "INFO", "was connected"), (failed, "WARN", "failed"), (removed, "INFO", "was removed")]
    {
        assert!(record.starts_with(level) && record.contains(text), "{record}"); // U46
        assert!(record.contains("namespace: files") || record.contains("namespace: \"files\""), "{record}"); // U46
    }
    assert!(failed.contains("the connection ended"), "{failed}"); // U46
}
