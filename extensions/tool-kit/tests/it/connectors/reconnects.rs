//! Attempts, waits and states.

use tool_kit::catalogue::{Catalogue, ConnectorState};
use tool_runtime::ErrorKind;

use super::{FakeServer, Mode, catalogue_of, info, run_during, seconds, wait_for_state, wait_until_active};
use crate::catalogue::{keys, snapshot};

const KEY: &str = "http://0/";

/// Returns the seconds between the attempts.
fn waits(server: &FakeServer) -> Vec<u64> {
    server.attempts().windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_is_tried_100_times_at_growing_intervals() {
    let server = FakeServer::new("files", Mode::Refuses);
    let catalogue = catalogue_of([&server]);
    run_during(&catalogue, async {
        wait_for_state(&catalogue, KEY, |state| state == ConnectorState::Waiting { delay: seconds(4) }).await;
        let waiting = info(&catalogue, KEY);
        let error = waiting.last_error.unwrap();
        assert!(error.contains("refused") && !error.contains('\u{1b}'), "{error}"); // U16
        assert_eq!((waiting.namespace, waiting.url.as_deref()), (None, Some(KEY)));
        wait_for_state(&catalogue, KEY, |state| state == ConnectorState::Failed).await; // U16
        assert_eq!(server.attempts().len(), 100); // U16
        assert_eq!(waits(&server)[..11], [2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 1_200]); // U16
        tokio::time::sleep(seconds(100_000)).await;
        assert_eq!(server.attempts().len(), 100); // U16
        catalogue.remove_connector(KEY).await.unwrap();
    })
    .await;
    assert!(catalogue.connectors().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_each_connection_is_tried_8_times_in_5_minutes() {
    let server = FakeServer::new("files", Mode::EndsAtOnce);
    let catalogue = catalogue_of([&server]);
    run_during(&catalogue, async {
        tokio::time::sleep(seconds(300)).await;
        assert_eq!(server.attempts().len(), 8); // U16
        assert_eq!(waits(&server), [2, 4, 8, 16, 32, 64, 128]); // U16
        assert_eq!(server.closed(), 8);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_held_for_a_minute_is_made_again_at_once() {
    let server = FakeServer::new("files", Mode::Refuses);
    let catalogue = catalogue_of([&server]);
    run_during(&catalogue, async {
        wait_for_state(&catalogue, KEY, |state| state == ConnectorState::Waiting { delay: seconds(8) }).await;
        server.set_mode(Mode::Holds);
        wait_until_active(&catalogue, KEY).await;
        assert_eq!((waits(&server), info(&catalogue, KEY).last_error), (vec![2, 4, 8], None));
        tokio::time::sleep(seconds(59)).await;
        server.0.end.notify_one();
        wait_for_state(&catalogue, KEY, |state| state == ConnectorState::Waiting { delay: seconds(16) })
            .await;
        wait_until_active(&catalogue, KEY).await;
        tokio::time::sleep(seconds(60)).await;
        server.set_mode(Mode::Refuses);
        server.0.end.notify_one();
        wait_for_state(&catalogue, KEY, |state| state == ConnectorState::Waiting { delay: seconds(4) }).await;
        // Held for 59 seconds: the waits go on. For 60: they begin anew.
        assert_eq!(waits(&server), [2, 4, 8, 59 + 16, 60, 2]); // U16
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn items_are_gone_while_their_server_is_and_keep_their_place() {
    let [first, second] = ["first", "second"].map(|name| FakeServer::new(name, Mode::Holds));
    let catalogue = catalogue_of([&first, &second]);
    run_during(&catalogue, async {
        catalogue.wait_for_connectors().await;
        assert_eq!(snapshot(&catalogue).await.lookup("search").unwrap().key(), "first.search");
        first.set_mode(Mode::Refuses);
        first.0.end.notify_one();
        wait_for_state(&catalogue, KEY, |state| matches!(state, ConnectorState::Waiting { .. })).await;
        assert!(keys(&catalogue).await.iter().all(|key| key.contains("second"))); // U16
        let gone = snapshot(&catalogue).await.lookup("first.search").unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound); // U16
        assert_eq!(snapshot(&catalogue).await.lookup("search").unwrap().key(), "second.search");
        assert!(catalogue.tools().toolsets().iter().all(|set| set.name() == "second"));
        assert!(info(&catalogue, KEY).last_error.is_some());
        first.set_mode(Mode::Holds);
        wait_until_active(&catalogue, KEY).await;
        assert_eq!(snapshot(&catalogue).await.lookup("search").unwrap().key(), "first.search"); // U18
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_run_takes_up_later_connectors_at_once_and_ends_all() {
    let [first, second, hanging] =
        [("first", Mode::Holds), ("second", Mode::Holds), ("hanging", Mode::Hangs)]
            .map(|(name, mode)| FakeServer::new(name, mode));
    let catalogue = Catalogue::new();
    catalogue.add_source("first", first.clone()).unwrap();
    run_during(&catalogue, async {
        wait_until_active(&catalogue, "first").await;
        let started = tokio::time::Instant::now();
        catalogue.add_source("second", second.clone()).unwrap();
        catalogue.add_source("hanging", hanging.clone()).unwrap();
        wait_until_active(&catalogue, "second").await;
        assert_eq!(started.elapsed(), seconds(0)); // U15
        let again = catalogue.run(tool_runtime::CancellationToken::new()).await.unwrap_err();
        assert!(again.to_string().contains("runs already"), "{again}");
    })
    .await;
    assert_eq!((first.closed(), second.closed()), (1, 1)); // U15
    assert!(keys(&catalogue).await.is_empty());
    let states: Vec<_> = catalogue.connectors().into_iter().map(|info| info.state).collect();
    assert_eq!(states, [ConnectorState::Stopped; 3]); // U15
    let run = std::sync::Arc::new(tool_runtime::RunContext::new());
    let refused = [
        catalogue.add_source("third", first.clone()).unwrap_err(),
        catalogue.connect(crate::catalogue::Fixed::named("third")).unwrap_err(),
        catalogue.call(&run, "first.search", Vec::new()).await.unwrap_err(),
        catalogue.run(tool_runtime::CancellationToken::new()).await.unwrap_err(),
    ];
    for error in refused {
        assert!(error.to_string().contains("the run of the catalogue has ended"), "{error}"); // U15
    }
    catalogue.remove_connector("first").await.unwrap();
    assert_eq!(catalogue.connectors().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_leaves_nothing_connected() {
    let server = FakeServer::new("files", Mode::Holds);
    let catalogue = catalogue_of([&server]);
    let running = catalogue.run(tool_runtime::CancellationToken::new());
    tokio::select! {
        _ = running => {}
        () = wait_until_active(&catalogue, KEY) => {}
    }
    wait_for_state(&catalogue, KEY, |state| state == ConnectorState::Stopped).await;
    assert!(keys(&catalogue).await.is_empty() && catalogue.tools().toolsets().is_empty());
    let error = catalogue.add_source("more", server).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
}
