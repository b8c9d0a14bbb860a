#![allow(clippy::unwrap_used, reason = "a test may")]

use serde_json::{Value, json};

use super::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn key(pool: &str) -> PoolKey {
    PoolKey::from_bytes(pool, [7; 32])
}

fn epoch_of(id: &str) -> QueueEpoch {
    QueueEpoch { id: id.to_owned(), epoch: 2, request: ContentHash::of("request") }
}

fn end() -> CallEnd {
    CallEnd::Output(Box::new(ToolOutput::from("done")))
}

/// Returns the text of a request, or of an end, that was opened.
fn text_of_contents<T: Serialize>(opened: Option<SealedContents<T>>) -> Option<Value> {
    opened.map(|contents| serde_json::to_value(contents).unwrap())
}

fn stored_request() -> StoredRequest {
    let request = json!({
        "call": ["a-1", 0], "definition": ContentHash::of("tool"), "arguments": "{}",
        "address": { "callId": "call_1", "serial": 3 },
    });
    let reply = Some("tools.trip.process.p.c".to_owned());
    StoredRequest { request: serde_json::from_value(request).unwrap(), reply }
}

#[test]
fn a_request_is_opened_for_its_call_alone() {
    let (own, other_pool, definition) = (key("trip"), key("mail"), ContentHash::of("tool"));
    let other_key = PoolKey::from_bytes("trip", [8; 32]);
    let seal = CallSeal { key: &own, id: "a-1", definition };
    let request = stored_request();
    let sealed = seal.seal_request(SealedContents::Whole(&request), DAY).unwrap();
    let expected = serde_json::to_value(SealedContents::Whole(&request)).unwrap();
    assert_eq!(text_of_contents(seal.open_request(&sealed)), Some(expected));
    let others = [
        CallSeal { key: &other_pool, id: "a-1", definition },
        CallSeal { key: &other_key, id: "a-1", definition },
        CallSeal { key: &own, id: "b-1", definition },
        CallSeal { key: &own, id: "a-1", definition: ContentHash::of("other") },
    ];
    for other in others {
        assert_eq!(text_of_contents(other.open_request(&sealed)), None, "{:?} {}", other.key, other.id);
    }
    // Nor as a result.
    assert_eq!(text_of_contents(seal.open_result(&epoch_of("a-1"), &sealed)), None);
}

#[test]
fn a_result_is_opened_for_its_call_epoch_and_request_alone() {
    let (own, other_pool, definition) = (key("trip"), key("mail"), ContentHash::of("tool"));
    let seal = CallSeal { key: &own, id: "a-1", definition };
    let (call, end) = (epoch_of("a-1"), end());
    let sealed = seal.seal_result(&call, SealedContents::Whole(&end), DAY).unwrap();
    let expected = serde_json::to_value(SealedContents::Whole(&end)).unwrap();
    assert_eq!(text_of_contents(seal.open_result(&call, &sealed)), Some(expected));
    let others = [
        CallSeal { key: &other_pool, id: "a-1", definition },
        CallSeal { key: &own, id: "b-1", definition },
        CallSeal { key: &own, id: "a-1", definition: ContentHash::of("other") },
    ];
    for other in others {
        assert_eq!(text_of_contents(other.open_result(&call, &sealed)), None, "{:?} {}", other.key, other.id);
    }
    let other_request = ContentHash::of("another request");
    for other in [
        QueueEpoch { epoch: 1, ..call.clone() },
        QueueEpoch { epoch: 3, ..call.clone() },
        QueueEpoch { request: other_request, ..call },
    ] {
        assert_eq!(text_of_contents(seal.open_result(&other, &sealed)), None, "{other:?}");
    }
    assert!(seal.open_request(&sealed).is_none());
}

/// Each part has its length in front of it.
#[test]
fn parts_of_what_is_bound_are_not_moved_to_their_neighbours() {
    let (first, second, definition) = (key("trip"), key("tripa"), ContentHash::of("tool"));
    let contexts = [
        CallSeal { key: &first, id: "ab-1", definition }.context("request", ""),
        CallSeal { key: &second, id: "b-1", definition }.context("request", ""),
        CallSeal { key: &first, id: "b-1", definition }.context("request", "a"),
        CallSeal { key: &first, id: "b-1", definition }.context("requesta", ""),
    ];
    for (at, context) in contexts.iter().enumerate() {
        assert!(!contexts[..at].contains(context), "{at}");
    }
}

#[test]
fn bytes_are_opened_until_their_age_and_the_tolerance_of_clocks_are_over() {
    let (key, definition) = (key("trip"), ContentHash::of("tool"));
    let seal = CallSeal { key: &key, id: "a-1", definition };
    let call = epoch_of("a-1");
    let seal_until = |expires: u64| {
        let body = json!({ "expires": expires, "body": { "whole": end() } });
        key.seal(&body.to_string(), &seal.context("result", &text_of(&call))).unwrap()
    };
    let now = millis_at(SystemTime::now());
    assert!(seal.open_result(&call, &seal_until(now + 30_000)).is_some());
    assert!(seal.open_result(&call, &seal_until(now - 1)).is_none());
    // As they are sealed.
    let before = millis_at(SystemTime::now());
    let sealed = seal.seal_result(&call, SealedContents::Whole(&end()), DAY).unwrap();
    let after = millis_at(SystemTime::now());
    let text = key.unseal(&sealed, &seal.context("result", &text_of(&call))).unwrap();
    let expires = serde_json::from_str::<Value>(text.as_str()).unwrap()["expires"].as_u64().unwrap();
    let valid_for = DAY.as_millis() as u64 + 60_000;
    assert!((before + valid_for..=after + valid_for).contains(&expires), "{expires}");
}

#[test]
fn ids_of_a_call_are_equal_for_its_attempts_up_to_their_number() {
    let address = |serial| CallAddress { run: None, call_id: "call_1".into(), serial };
    let prefix = id_prefix("trip", &address(3));
    assert_eq!(prefix.len(), 32);
    assert_eq!(call_id("trip", &address(3), 1), format!("{prefix}-1"));
    assert_eq!(call_id("trip", &address(3), 12), format!("{prefix}-12"));
    assert_eq!(id_prefix("trip", &address(3)), prefix);
    assert_ne!(id_prefix("trip", &address(4)), prefix);
    assert_ne!(id_prefix("mail", &address(3)), prefix);
}
