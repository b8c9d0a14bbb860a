//! Connections and lists from several threads.

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use proptest::prelude::*;
use tool_kit::{
    catalogue::{Catalogue, CatalogueSnapshot, Connector, ConnectorState, ItemKind, ItemQuery},
    prompt::Prompt,
};
use tool_runtime::{BoxFuture, RunContext, ToolError};

use super::{FakeServer, Mode, run_during, wait_until_active};
use crate::catalogue::{Fixed, snapshot};

const NAMESPACES: [&str; 3] = ["a", "b", "c"];

/// Returns the numbers of items of a namespace, by kind.
fn counts(items: &CatalogueSnapshot, namespace: &str) -> [usize; 3] {
    [ItemKind::Tool, ItemKind::Prompt, ItemKind::Resource]
        .map(|kind| items.list(&ItemQuery::all().in_namespace(namespace).of_kind(kind)).count)
}

/// Connects or disconnects, as the step says; returns the change of the number of connectors of the namespace.
fn take(catalogue: &Catalogue, (namespace, connects): (usize, bool)) -> isize {
    let namespace = NAMESPACES[namespace];
    match connects {
        true => catalogue.connect(Fixed::named(namespace)).map_or(0, |()| 1),
        false => catalogue.disconnect(namespace).map_or(0, |()| -1),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn threads_that_connect_and_disconnect_leave_no_torn_list(
        steps in proptest::collection::vec(proptest::collection::vec((0..3_usize, any::<bool>()), 1..40), 3),
    ) {
        let (catalogue, start, is_over) = (Catalogue::new(), Barrier::new(4), AtomicBool::new(false));
        let changes: Vec<Vec<(usize, isize)>> = thread::scope(|scope| {
            let threads: Vec<_> = steps.iter().map(|steps| {
                scope.spawn(|| {
                    start.wait();
                    steps.iter().map(|step| (step.0, take(&catalogue, *step))).collect()
                })
            }).collect();
            let listing = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                start.wait();
                while !is_over.load(Ordering::Acquire) {
                    let items = runtime.block_on(snapshot(&catalogue));
                    for namespace in NAMESPACES {
                        let found = counts(&items, namespace);
                        assert!([[0, 0, 0], [1, 2, 1]].contains(&found), "{namespace}: {found:?}");
                    }
                }
            });
            let changes = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
            is_over.store(true, Ordering::Release);
            listing.join().unwrap();
            changes
        });
        // The model: a namespace has a connector if more connections than disconnections of it succeeded, by one.
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let items = runtime.block_on(snapshot(&catalogue));
        for (place, namespace) in NAMESPACES.into_iter().enumerate() {
            let connected: isize = changes.iter().flatten().filter(|it| it.0 == place).map(|it| it.1).sum();
            let expected = match connected {
                0 => [0, 0, 0],
                1 => [1, 2, 1],
                other => panic!("{other} connectors of `{namespace}`"),
            };
            prop_assert_eq!(counts(&items, namespace), expected);
            let is_set = catalogue.tools().toolsets().iter().any(|set| set.name() == namespace);
            prop_assert_eq!(is_set, connected == 1);
            let is_listed = catalogue.connectors().iter().any(|info| info.namespace.as_deref() == Some(namespace));
            prop_assert_eq!(is_listed, connected == 1);
        }
    }
}

#[test]
fn a_connector_that_comes_and_goes_all_the_time_is_listed_whole_or_not_at_all() {
    const ROUNDS: usize = 2000;
    let (catalogue, running) = (Catalogue::new(), AtomicUsize::new(2));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for round in 0..2 * ROUNDS {
                    take(&catalogue, (0, round % 2 == 0));
                }
                running.fetch_sub(1, Ordering::AcqRel);
            });
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        while running.load(Ordering::Acquire) > 0 {
            let found = counts(&runtime.block_on(snapshot(&catalogue)), NAMESPACES[0]);
            // L08
            assert!([[0, 0, 0], [1, 2, 1]].contains(&found), "{found:?}");
        }
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_list_is_torn_while_connections_end_and_are_made_again() {
    let server = FakeServer::new("a", Mode::Holds);
    let catalogue = Catalogue::new();
    catalogue.add_source("a", server.clone()).unwrap();
    run_during(&catalogue, async {
        for _ in 0..40 {
            wait_until_active(&catalogue, "a").await;
            let (removed, found) = tokio::join!(catalogue.remove_connector("a"), snapshot(&catalogue));
            removed.unwrap();
            assert!([[0, 0, 0], [1, 2, 1]].contains(&counts(&found, "a")));
            catalogue.add_source("a", server.clone()).unwrap();
        }
        wait_until_active(&catalogue, "a").await;
        assert_eq!(catalogue.connectors().len(), 1);
        assert_eq!(catalogue.connectors()[0].state, ConnectorState::Active);
    })
    .await;
    assert_eq!(server.closed(), 41);
}

struct Hanging(Arc<AtomicUsize>);

impl Connector for Hanging {
    fn namespace(&self) -> &str {
        "hanging"
    }

    fn prompts<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Prompt>>, ToolError>> {
        /// Counts the lists that were cancelled.
        struct Cancelled<'a>(&'a AtomicUsize);
        impl Drop for Cancelled<'_> {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::AcqRel);
            }
        }
        Box::pin(async {
            let _cancelled = Cancelled(&self.0);
            std::future::pending().await
        })
    }
}

#[tokio::test]
async fn a_list_ends_with_its_future_and_the_catalogue_may_be_dropped_meanwhile() {
    let cancelled = Arc::<AtomicUsize>::default();
    let catalogue = Catalogue::new();
    catalogue.connect(Hanging(Arc::clone(&cancelled))).unwrap();
    let run = Arc::new(RunContext::new());
    let mut listing = Box::pin({
        let catalogue = catalogue.clone();
        async move { catalogue.snapshot(&run).await.is_ok() }
    });
    assert!(futures_util::poll!(&mut listing).is_pending());
    let mut listener = catalogue.subscribe();
    drop(catalogue);
    assert!(futures_util::poll!(&mut listing).is_pending());
    drop(listing);
    assert_eq!(cancelled.load(Ordering::Acquire), 1);
    assert!(listener.next().await.is_none());
}
