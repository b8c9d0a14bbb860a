//! Messages of processes to each other.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use rmcp::model::LoggingLevel;
use tool_runtime::Registry;

use super::*;
use crate::server::{HttpConfig, HttpServer, McpServer};

#[test]
fn the_id_of_a_question_names_its_process_and_its_number_there() {
    let text = |id: &str| process_of_question(&RequestId::String(id.into()));
    assert_eq!(text("one/7"), Some(("one".to_owned(), 7)));
    assert_eq!(text("a/b/-1"), Some(("a/b".to_owned(), -1)));
    for other in ["", "7", "one/", "one/x", "one/7/"] {
        assert_eq!(text(other), None, "{other}");
    }
    assert_eq!(process_of_question(&RequestId::Number(7)), None);
}

/// A server that is alone in its cluster; `None` if the machine has no database.
async fn server_in_cluster() -> Option<(Cluster, HttpServer)> {
    let cluster = Cluster::open_alone().await?;
    let config = HttpConfig::new().cluster(cluster.clone());
    let server = McpServer::new(Registry::default()).http_with(config).unwrap();
    Some((cluster, server))
}

fn message_event(message: &ProcessMessage) -> LoggedEvent {
    let (stream, writer) = (StreamKey::of_all(), "other".to_owned());
    LoggedEvent { id: 1, stream, writer, text: message.to_json().unwrap() }
}

#[tokio::test]
async fn deliveries_that_are_over_give_their_places_to_others() {
    let Some((cluster, server)) = server_in_cluster().await else { return };
    let (shared, table) = (&server.0.shared, &server.0.sessions.table);
    let end = message_event(&ProcessMessage::SessionEnd { session: "unknown".to_owned() });
    let mut deliveries = JoinSet::new();
    for _ in 0..3 {
        receive_message(&cluster, &end, shared, table, &mut deliveries);
        assert_eq!(deliveries.len(), 1);
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
    while deliveries.join_next().await.is_some() {}
    // A message without a waiting call needs no place.
    let answer = message_event(&ProcessMessage::TaskAnswer { number: 1, answer: Ok(None) });
    let level = SessionSetting::Level(LoggingLevel::Error);
    let setting = message_event(&ProcessMessage::Setting { session: "unknown".to_owned(), setting: level });
    let mut unreadable = message_event(&ProcessMessage::SessionEnd { session: "unknown".to_owned() });
    unreadable.text.pop();
    for event in [answer, setting, unreadable] {
        receive_message(&cluster, &event, shared, table, &mut deliveries);
        assert_eq!(deliveries.len(), 0);
    }
    // Those that wait have a limit.
    for _ in 1..1024 {
        deliveries.spawn(std::future::pending());
    }
    for _ in 0..2 {
        receive_message(&cluster, &end, shared, table, &mut deliveries);
        assert_eq!(deliveries.len(), 1024);
    }
}
