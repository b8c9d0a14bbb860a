//! Connectors that panic, flood and hang.

use tool_kit::catalogue::{CatalogueChange, ConnectorState};
use tool_runtime::diagnostic::Severity;

use super::{FakeServer, METHODS, Mode, catalogue_of, info, run_during, wait_for_state, wait_until_active};
use crate::catalogue::{keys, snapshot};

const KEY: &str = "http://0/";

#[tokio::test(start_paused = true)]
async fn a_connector_that_panics_in_a_method_changes_nothing_for_others() {
    for method in METHODS {
        let [hostile, other] = [("hostile", Mode::PanicsIn(method)), ("other", Mode::Holds)]
            .map(|(name, mode)| FakeServer::new(name, mode));
        let catalogue = catalogue_of([&hostile, &other]);
        run_during(&catalogue, async {
            catalogue.wait_for_connectors().await;
            let items = snapshot(&catalogue).await;
            assert!(items.lookup("other.search").is_ok() && items.lookup("other.greet").is_ok(), "{method}"); // U23
            let lists = ["prompts", "resources"].contains(&method);
            if lists {
                let reported = items.diagnostics().iter().filter(|it| it.severity == Severity::Error);
                let messages: Vec<_> = reported.map(|it| &*it.message).collect();
                assert!(
                    messages[0].contains("`hostile`") && messages[0].contains("a mistake"),
                    "{messages:?}"
                ); // U23
                assert!(items.lookup("hostile.search").is_ok(), "{method}"); // U23
            }
            if !lists && !["diagnostics", "close"].contains(&method) {
                wait_for_state(&catalogue, KEY, |state| matches!(state, ConnectorState::Waiting { .. }))
                    .await;
                let error = info(&catalogue, KEY).last_error.unwrap();
                assert!(error.contains("panicked: a mistake in"), "{method}: {error}");
                assert!(keys(&catalogue).await.iter().all(|key| key.contains("other")), "{method}");
            }
            // It works once it does not panic.
            hostile.set_mode(Mode::Holds);
            wait_until_active(&catalogue, KEY).await;
            assert!(snapshot(&catalogue).await.lookup("hostile.greet").is_ok(), "{method}");
            assert_eq!(other.attempts().len(), 1, "{method}");
            hostile.set_mode(Mode::PanicsIn("close"));
            catalogue.remove_connector(KEY).await.unwrap();
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_one_connector_announces_takes_no_place_from_events_of_others() {
    let [hostile, other] = ["hostile", "other"].map(|name| FakeServer::new(name, Mode::Holds));
    let catalogue = catalogue_of([&hostile, &other]);
    run_during(&catalogue, async {
        catalogue.wait_for_connectors().await;
        let mut listener = catalogue.subscribe();
        other.notifier().announce(CatalogueChange::Prompts);
        for number in 0..10_000 {
            hostile.notifier().announce(CatalogueChange::Prompts);
            hostile.notifier().announce(CatalogueChange::Resource { uri: format!("r:{number}") });
        }
        other.notifier().announce(CatalogueChange::Resource { uri: "notes://today".to_owned() });
        let missed = listener.try_next().unwrap().unwrap_err().missed;
        assert_eq!(missed, 10_000 - 256);
        let events: Vec<_> = std::iter::from_fn(|| listener.try_next()).map(|event| event.unwrap()).collect();
        let of =
            |namespace: &str| events.iter().filter(|it| it.namespace.as_deref() == Some(namespace)).count();
        assert_eq!((of("hostile"), of("other")), (257, 2)); // U43
        let last = events.last().unwrap();
        assert_eq!(last.change, CatalogueChange::Resource { uri: "notes://today".to_owned() }); // U43
        hostile.notifier().announce(CatalogueChange::Prompts);
        assert_eq!(listener.try_next().unwrap().unwrap().change, CatalogueChange::Prompts);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_listener_receives_the_last_state_of_a_connector() {
    let server = FakeServer::new("s", Mode::EndsAtOnce);
    let catalogue = catalogue_of([&server]);
    let mut listener = catalogue.subscribe();
    run_during(&catalogue, async {
        tokio::time::sleep(super::seconds(300)).await;
        let events: Vec<_> = std::iter::from_fn(|| listener.try_next()).map(|event| event.unwrap()).collect();
        let state = |change: &CatalogueChange| match change {
            CatalogueChange::Connector { state, .. } => Some(*state),
            _ => None,
        };
        let states: Vec<_> = events.iter().filter_map(|event| state(&event.change)).collect();
        assert_eq!(states, [ConnectorState::Waiting { delay: super::seconds(256) }]); // U07
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_does_not_close_is_dropped() {
    struct NeverCloses;
    impl tool_kit::catalogue::ConnectorSource for NeverCloses {
        fn connect(
            &self,
        ) -> tool_runtime::BoxFuture<
            '_,
            Result<std::sync::Arc<dyn tool_kit::catalogue::Connector>, tool_runtime::ToolError>,
        > {
            Box::pin(async {
                Ok(std::sync::Arc::new(Self) as std::sync::Arc<dyn tool_kit::catalogue::Connector>)
            })
        }
    }
    impl tool_kit::catalogue::Connector for NeverCloses {
        fn namespace(&self) -> &str {
            "never"
        }
        fn close(&self) -> tool_runtime::BoxFuture<'_, ()> {
            Box::pin(std::future::pending())
        }
    }
    let catalogue = tool_kit::catalogue::Catalogue::new();
    catalogue.add_source("never", NeverCloses).unwrap();
    run_during(&catalogue, async {
        wait_until_active(&catalogue, "never").await;
        let started = tokio::time::Instant::now();
        catalogue.remove_connector("never").await.unwrap();
        assert_eq!(started.elapsed(), super::seconds(10)); // U14
        assert!(catalogue.connectors().is_empty());
    })
    .await;
}
