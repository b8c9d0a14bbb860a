//! Streams of requests and sessions, which are read from the database.

#![allow(clippy::unwrap_used, reason = "a test may")]

use futures_util::StreamExt as _;
use rmcp::model::ServerResult;
use serde_json::{Value, json};
use tool_runtime::Registry;

use super::{super::SessionLimits, *};
use crate::server::{HttpConfig, McpServer};

fn position(stream: StreamKey, last: i64) -> StreamPosition {
    StreamPosition { stream, last }
}

fn event(id: i64, stream: StreamKey, text: &str) -> LoggedEvent {
    LoggedEvent { id, stream, writer: "writer".to_owned(), text: text.to_owned() }
}

#[test]
fn the_stream_of_a_session_goes_on_after_its_own_event_and_after_the_last_change() {
    let [own, changes, other] =
        [StreamKey::of_session("a"), StreamKey::of_changes(), StreamKey::of_session("b")];
    let positions = |positions: &[(&StreamKey, i64)]| {
        let positions = positions.iter().map(|(stream, last)| position((*stream).clone(), *last));
        EventToken { positions: positions.collect(), ..EventToken::default() }.session_positions("a")
    };
    let expected = |last, change| Some(vec![position(own.clone(), last), position(changes.clone(), change)]);
    assert_eq!(positions(&[(&changes, 8), (&own, 5)]), expected(5, 8));
    assert_eq!(positions(&[(&own, 5)]), expected(5, 5));
    assert_eq!(positions(&[(&changes, 8)]), None);
    assert_eq!(positions(&[(&other, 5), (&changes, 8)]), None);
}

#[test]
fn a_token_notes_the_last_event_of_its_streams_and_its_writer() {
    let [own, changes] = [StreamKey::of_session("a"), StreamKey::of_changes()];
    let positions = vec![position(own.clone(), 1), position(changes.clone(), 1)];
    let mut token = EventToken { positions, ..EventToken::default() };
    token.note_event(&event(7, changes.clone(), ""));
    assert_eq!(token.positions, [position(own.clone(), 1), position(changes.clone(), 7)]);
    token.note_event(&event(9, StreamKey::of_all(), ""));
    assert_eq!(token.positions, [position(own, 1), position(changes, 7)]);
    assert_eq!(token.writer.as_deref(), Some("writer"));
}

#[test]
fn an_event_is_stored_with_its_message_or_as_the_end_of_its_stream() {
    let error = ServerJsonRpcMessage::error(ErrorData::internal_error("it broke", None), None);
    let answer = ServerJsonRpcMessage::response(ServerResult::empty(()), RequestId::Number(1));
    let list = NotificationNoParam { method: Default::default(), extensions: Default::default() };
    let notification =
        ServerJsonRpcMessage::notification(ServerNotification::ToolListChangedNotification(list));
    for (message, expected) in [(&error, true), (&answer, true), (&notification, false)] {
        assert_eq!(StoredEvent::is_answer(Some(message)), expected);
    }
    assert!(!StoredEvent::is_answer(None));
    let stored = |event: &StoredEvent| serde_json::to_value(event).unwrap();
    assert_eq!(stored(&StoredEvent::of_message(None)), json!({}));
    let message = serde_json::to_value(&notification).unwrap();
    let with_message = StoredEvent::of_message(Some(notification));
    assert_eq!(stored(&with_message), json!({ "message": message }));
    let sent = with_message.into_sse_message(Some("id".to_owned()));
    assert_eq!(stored(&StoredEvent::of(&sent)), json!({ "message": message }));
    assert_eq!(sent.event_id.as_deref(), Some("id"));
    assert_eq!(StoredEvent::end_of_stream_json().unwrap(), r#"{"is_end":true}"#);
    let end = decoded_event(&event(7, StreamKey::of_all(), r#"{"is_end":true}"#)).unwrap();
    assert!(end.is_end && end.message.is_none());
    let unread = decoded_event(&event(7, StreamKey::of_all(), "")).unwrap_err().to_string();
    assert!(unread.starts_with("the event 7 cannot be read: "), "{unread}");
}

#[tokio::test]
async fn a_client_receives_changes_and_updates_of_the_resources_that_it_subscribed_to() {
    let server = McpServer::new(Registry::default()).http().unwrap();
    let state = SessionState::new(&server.0.shared);
    state.subscribed.note_of_other_process("a:a");
    let messages = |signal: &ServerSignal| -> Vec<Value> {
        let text = serde_json::to_string(signal).unwrap();
        let messages = change_messages(&event(1, StreamKey::of_changes(), &text), &state);
        messages.iter().map(|it| serde_json::to_value(&it.message).unwrap()).collect()
    };
    let list =
        |kind: &str| json!({ "jsonrpc": "2.0", "method": format!("notifications/{kind}/list_changed") });
    let updated = json!({
        "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": "a:a" }
    });
    for (signal, expected) in [
        (ServerSignal::Tools, vec![list("tools")]),
        (ServerSignal::Prompts, vec![list("prompts")]),
        (ServerSignal::Resources, vec![list("resources")]),
        (ServerSignal::Updated("a:a".to_owned()), vec![updated.clone()]),
        (ServerSignal::Updated("b:b".to_owned()), vec![]),
        (ServerSignal::AllResources, vec![updated, list("resources")]),
    ] {
        assert_eq!(messages(&signal), expected, "{signal:?}");
    }
    assert!(change_messages(&event(1, StreamKey::of_changes(), "no change"), &state).is_empty());
}

#[tokio::test]
async fn the_last_message_of_a_change_has_the_id_behind_which_a_client_goes_on() {
    let Some(cluster) = Cluster::open_alone().await else { return };
    // It notes the changes that were received.
    let config = HttpConfig::new().cluster(cluster.clone());
    let server = McpServer::new(Registry::default()).http_with(config).unwrap();
    let state = Arc::new(SessionState::new(&server.0.shared));
    for uri in ["a:a", "b:b"] {
        state.subscribed.note_of_other_process(uri);
    }
    let limits = SessionLimits { max_sessions: 1, max_per_caller: 1, idle_time: Duration::from_secs(60) };
    assert!(cluster.open_session("s", None, limits).await.unwrap().is_none());
    let mut stream = cluster.follow_session_stream("s", Arc::clone(&state), None).await.unwrap();
    let first = stream.next().await.unwrap();
    assert!(first.message.is_none() && first.event_id.is_some());
    let append = async |stream, text: &str| cluster.0.log.append(&stream, text).await.unwrap();
    append(StreamKey::of_changes(), &serde_json::to_string(&ServerSignal::AllResources).unwrap()).await;
    let mut last = None;
    for (is_list, has_id) in [(false, false), (false, false), (true, true)] {
        let event = stream.next().await.unwrap();
        let message = serde_json::to_value(&event.message).unwrap();
        assert_eq!(message["method"] == "notifications/resources/list_changed", is_list, "{message}");
        assert_eq!(event.event_id.is_some(), has_id);
        last = event.event_id;
    }
    append(StreamKey::of_session("s"), &StoredEvent::end_of_stream_json().unwrap()).await;
    assert!(stream.next().await.is_none());
    // A stream that goes on behind the change has its own first event, and the end.
    let token = EventToken::unseal(&cluster, &last.unwrap());
    let mut resumed = cluster.follow_session_stream("s", state, token).await.unwrap();
    assert!(resumed.next().await.unwrap().message.is_none());
    assert!(resumed.next().await.is_none());
}

#[tokio::test]
async fn the_stream_of_a_request_ends_with_its_answer() {
    let Some(cluster) = Cluster::open_alone().await else { return };
    let stream = StreamKey::of_sdk("request");
    let list = NotificationNoParam { method: Default::default(), extensions: Default::default() };
    let notification =
        ServerJsonRpcMessage::notification(ServerNotification::ToolListChangedNotification(list));
    let answer = ServerJsonRpcMessage::response(ServerResult::empty(()), RequestId::Number(1));
    for message in [&notification, &answer, &notification] {
        let stored = serde_json::to_string(&StoredEvent::of_message(Some(message.clone()))).unwrap();
        cluster.0.log.append(&stream, &stored).await.unwrap();
    }
    let start = EventToken::of_own(&cluster, position(stream, StreamPosition::BEFORE_ALL));
    let follow = |token: &EventToken| cluster.follow_request_stream(token.clone(), RequestId::Number(1));
    let events: Vec<_> = follow(&start).collect().await;
    let token = |event: &ServerSseMessage| EventToken::unseal(&cluster, event.event_id.as_deref().unwrap());
    let tokens: Vec<_> = events.iter().map(|event| token(event).unwrap()).collect();
    assert_eq!(tokens.iter().map(|token| token.is_end).collect::<Vec<_>>(), [false, true]);
    assert!(tokens[0].positions[0].last < tokens[1].positions[0].last, "{tokens:?}");
    // Behind the notification, there is the answer, and behind it nothing.
    assert_eq!(follow(&tokens[0]).collect::<Vec<_>>().await.len(), 1);
    assert_eq!(follow(&tokens[1]).collect::<Vec<_>>().await.len(), 0);
}
