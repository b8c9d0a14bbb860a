//! Messages by lines.

use std::sync::Arc;

use rmcp::{
    RoleClient,
    model::{JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use crate::client::{
    notices::Notices,
    transport::{LineTransport, Reception},
};

type Lines = LineTransport<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

/// A transport, and the far end of its streams, which take this many bytes.
fn transport(bytes: usize) -> (Lines, DuplexStream) {
    let (near, far) = tokio::io::duplex(bytes);
    let (read, write) = tokio::io::split(near);
    (LineTransport::new(read, write, Arc::new(Reception::new(Arc::new(Notices::new("s".into()))))), far)
}

fn call(id: i64) -> TxJsonRpcMessage<RoleClient> {
    let params = json!({ "name": "one", "arguments": { "text": "x".repeat(100) } });
    serde_json::from_value(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
        .unwrap()
}

fn result(id: i64) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [] } }).to_string()
}

/// The id of a received answer.
fn id_of(message: Option<RxJsonRpcMessage<RoleClient>>) -> i64 {
    match message.unwrap() {
        JsonRpcMessage::Response(response) => match response.id {
            RequestId::Number(id) => id,
            RequestId::String(id) => panic!("{id}"),
        },
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn each_line_is_a_message_and_blank_ones_are_none() {
    let (mut transport, mut far) = transport(1 << 16);
    for id in [1, 2, 3] {
        transport.send(call(id)).await.unwrap();
    }
    let batch = format!("[{},{}]", result(2), result(3));
    far.write_all(format!("\n \r\n{}\r\n{batch}\n", result(1)).as_bytes()).await.unwrap();
    for id in [1, 2, 3] {
        assert_eq!(id_of(transport.receive().await), id);
    }
    // A line without an end is none.
    far.write_all(br#"{"jsonrpc":"2.0","id":"q","method":"ping"}"#).await.unwrap();
    drop(far);
    assert!(transport.receive().await.is_none());
}

#[tokio::test]
async fn a_receiver_that_gave_up_goes_on_with_the_same_line() {
    let (mut transport, mut far) = transport(1 << 16);
    transport.send(call(1)).await.unwrap();
    let text = result(1);
    let (first, second) = text.split_at(20);
    far.write_all(first.as_bytes()).await.unwrap();
    tokio::select! {
        biased;
        _ = transport.receive() => panic!("half of a line"),
        () = std::future::ready(()) => {}
    }
    far.write_all(format!("{second}\n").as_bytes()).await.unwrap();
    assert_eq!(id_of(transport.receive().await), 1);
}

#[tokio::test]
async fn a_message_whose_sender_gave_up_is_written_to_its_end_before_the_next() {
    let (mut transport, far) = transport(64);
    let first = transport.send(call(1));
    tokio::select! {
        biased;
        sent = first => panic!("{sent:?}"),
        () = std::future::ready(()) => {}
    }
    let second = transport.send(call(2));
    let mut lines = BufReader::new(far).lines();
    let (sent, ids) = tokio::join!(second, async {
        let mut ids = Vec::new();
        for _ in 0..2 {
            let line: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
            ids.push(line["id"].as_i64().unwrap());
        }
        ids
    });
    sent.unwrap();
    assert_eq!(ids, [1, 2]);
}

#[tokio::test]
async fn a_closed_transport_ends_the_stream_and_sends_nothing() {
    let (mut transport, mut far) = transport(1 << 16);
    transport.send(call(1)).await.unwrap();
    transport.close().await.unwrap();
    let error = transport.send(call(2)).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotConnected);
    drop(transport);
    let mut sent = String::new();
    far.read_to_string(&mut sent).await.unwrap();
    assert_eq!(sent.lines().count(), 1);
}

#[tokio::test]
async fn malformed_requests_are_refused_as_long_as_the_server_reads() {
    let (mut transport, mut far) = transport(1 << 16);
    let malformed =
        |id: &str| json!({ "id": id, "method": "sampling/createMessage", "params": 7 }).to_string();
    far.write_all(format!("{}\n[{},{}]\n", malformed("a"), malformed("b"), malformed("c")).as_bytes())
        .await
        .unwrap();
    far.write_all(format!("{}\n", json!({ "jsonrpc": "2.0", "id": "q", "method": "ping" })).as_bytes())
        .await
        .unwrap();
    assert!(matches!(transport.receive().await, Some(JsonRpcMessage::Request(_))));
    let line = BufReader::new(far).lines().next_line().await.unwrap().unwrap();
    let refused: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        refused,
        json!({ "jsonrpc": "2.0", "id": "a", "error": { "code": -32600, "message": "the request is malformed" } })
    );
}

#[tokio::test]
async fn a_line_that_is_too_long_costs_itself_and_answers_the_call_that_it_names() {
    let (mut transport, mut far) = transport(1 << 20);
    transport.send(call(1)).await.unwrap();
    transport.send(call(2)).await.unwrap();
    let writing = async {
        let long = "x".repeat(16 * 1024 * 1024);
        far.write_all(format!("{long}x\n").as_bytes()).await.unwrap();
        far.write_all(format!(r#"{{"id":1,"result":{{"content":"{long}"}}}}{}"#, "\n").as_bytes())
            .await
            .unwrap();
        far.write_all(format!("{}\n", result(2)).as_bytes()).await.unwrap();
    };
    let reading = async {
        let message = transport.receive().await;
        (message, transport.receive().await)
    };
    let ((message, next), ()) = tokio::join!(reading, writing);
    assert!(
        matches!(&message, Some(JsonRpcMessage::Error(error)) if error.id == Some(RequestId::Number(1))),
        "{message:?}"
    );
    assert_eq!(id_of(next), 2);
}
