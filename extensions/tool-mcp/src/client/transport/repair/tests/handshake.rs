//! Answers to the handshake.

use super::*;
use crate::client::transport::repair::handshake::has_only_older_revisions;

/// An answer to `initialize` with these members in place of its own.
fn initialize(members: Value) -> Value {
    with_members(
        json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" },
        }),
        members,
    )
}

/// An answer to `server/discover` with these members in place of its own.
fn discover(members: Value) -> Value {
    with_members(
        json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 5, "cacheScope": "public" }),
        members,
    )
}

/// Replaces members; `null` removes one.
fn with_members(mut answer: Value, members: Value) -> Value {
    let answered = answer.as_object_mut().unwrap();
    for (name, value) in members.as_object().unwrap() {
        answered.insert(name.clone(), value.clone());
    }
    answered.retain(|_, value| value != "absent");
    answer
}

#[test]
fn each_member_of_an_answer_to_initialize_is_read_by_itself() {
    let check = |members: Value, expected: Value, problems: &[&str]| {
        check(initialize_result, &initialize(members), &initialize(expected), problems);
    };
    check(json!({}), json!({}), &[]);
    check(json!({ "instructions": "i" }), json!({ "instructions": "i" }), &[]);
    check(json!({ "instructions": null, "_meta": null }), json!({}), &[]);
    check(
        json!({ "instructions": 5, "_meta": [] }),
        json!({}),
        &["`instructions` is malformed", "`_meta` is malformed"],
    );
    check(json!({ "_meta": { "a": 1 } }), json!({ "_meta": { "a": 1 } }), &[]);
    let incomplete = "`serverInfo` is incomplete or malformed";
    for (received, expected) in [
        (json!("absent"), json!({ "name": "unknown", "version": "" })),
        (json!(7), json!({ "name": "unknown", "version": "" })),
        (json!({ "name": "n", "title": "t" }), json!({ "name": "n", "version": "", "title": "t" })),
        (json!({ "name": 7, "version": "2" }), json!({ "name": "unknown", "version": "2" })),
    ] {
        check(json!({ "serverInfo": received }), json!({ "serverInfo": expected }), &[incomplete]);
    }
}

#[test]
fn each_capability_is_read_by_itself() {
    let check = |capabilities: Value, expected: Value, problems: &[&str]| {
        check(
            initialize_result,
            &initialize(json!({ "capabilities": capabilities })),
            &initialize(json!({ "capabilities": expected })),
            problems,
        );
    };
    // A server without capabilities may leave them out, or has an empty list of them.
    for none in [json!("absent"), json!([])] {
        check(none, json!({}), &[]);
    }
    for other in [json!(null), json!([1]), json!("tools"), json!(true)] {
        check(other, json!({}), &["`capabilities` is no object"]);
    }
    check(
        json!({ "tools": { "listChanged": true }, "prompts": {} }),
        json!({ "tools": { "listChanged": true }, "prompts": {} }),
        &[],
    );
    // `null` and `false` deny a capability.
    check(json!({ "tools": null, "prompts": false }), json!({}), &[]);
    check(
        json!({ "tools": true, "resources": { "subscribe": true, "listChanged": 7 }, "logging": 7 }),
        json!({ "tools": {}, "resources": { "subscribe": true }, "logging": {} }),
        &[
            "the capability `tools` is malformed",
            "the capability `resources` is malformed",
            "the capability `logging` is malformed",
        ],
    );
}

#[test]
fn an_answer_to_initialize_without_a_revision_is_of_no_use() {
    for (result, reason) in [
        (json!([]), "the answer to `initialize` is no object"),
        (initialize(json!({ "protocolVersion": "absent" })), "the answer to `initialize` is malformed: "),
    ] {
        let repaired = initialize_result(result);
        assert!(repaired.failure.unwrap().starts_with(reason));
        assert_eq!(repaired.problems, Vec::<String>::new());
    }
}

#[test]
fn each_member_of_an_answer_to_discover_is_read_by_itself() {
    let check = |members: Value, expected: Value, problems: &[&str]| {
        let mut expected = discover(expected);
        expected.as_object_mut().unwrap().remove("resultType");
        check(discover_result, &discover(members), &expected, problems);
    };
    check(json!({}), json!({}), &[]);
    check(json!({ "capabilities": [1] }), json!({ "capabilities": {} }), &["`capabilities` is no object"]);
    let no_list = "`supportedVersions` is no list of texts";
    check(json!({ "supportedVersions": "2026-07-28" }), json!({}), &[no_list]);
    check(json!({ "supportedVersions": ["2026-07-28", 7] }), json!({}), &[no_list]);
    check(
        json!({ "supportedVersions": ["2026-07-28", "2025-11-25"] }),
        json!({ "supportedVersions": ["2026-07-28", "2025-11-25"] }),
        &[],
    );
    for (name, received, default) in [
        ("ttlMs", json!("absent"), json!(0)),
        ("ttlMs", json!(-1), json!(0)),
        ("cacheScope", json!("world"), json!("private")),
        ("resultType", json!("absent"), json!("complete")),
    ] {
        let problem = format!("`{name}` is missing or malformed");
        check(json!({ name: received }), json!({ name: default }), &[&problem]);
    }
}

#[test]
fn a_server_of_older_revisions_has_no_discover() {
    for revisions in [
        json!("absent"),
        json!([]),
        json!([7]),
        json!({}),
        json!("2025-11-25"),
        json!(["2024-11-05", "2025-11-25"]),
        json!(["2025-11-25", "9999-01-01"]),
    ] {
        let answer = discover(json!({ "supportedVersions": revisions }));
        let expected = (ErrorCode::METHOD_NOT_FOUND, "the server has no `server/discover`".to_owned());
        assert_eq!(error(discover_result(answer)), expected, "{revisions}");
    }
    assert_eq!(error(discover_result(json!([]))).0, ErrorCode::METHOD_NOT_FOUND);
    let older = |revisions: &[&str]| {
        has_only_older_revisions(&revisions.iter().map(|it| json!(it)).collect::<Vec<_>>())
    };
    assert!(older(&["2025-06-18"]));
    assert!(!older(&["2025-06-18", "2026-07-28"]));
    assert!(!older(&["9999-01-01"]) && !older(&[]));
}
