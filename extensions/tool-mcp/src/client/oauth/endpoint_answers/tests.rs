//! Answers of authorization servers.

#![allow(clippy::unwrap_used, reason = "tests")]

use rmcp::transport::auth::{ClientRegistrationResponse, OAuthTokenResponse};

use super::*;

fn token(status: u16, body: &str) -> (u16, Value) {
    let answer = normalized_token_answer(&EndpointAnswer { status, body: body.into() }, false);
    (answer.status, serde_json::from_slice(&answer.body).unwrap())
}

#[test]
fn tokens_are_read_member_by_member() {
    let check = |members: Value, expected: Value| {
        let mut body = json!({ "access_token": "t" });
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let mut complete = json!({ "access_token": "t", "token_type": "bearer" });
        complete.as_object_mut().unwrap().extend(expected.as_object().unwrap().clone());
        assert_eq!(token(200, &body.to_string()), (200, complete), "{body}");
    };
    check(json!({}), json!({}));
    check(json!({ "token_type": "Bearer" }), json!({ "token_type": "Bearer" }));
    check(json!({ "token_type": null, "refresh_token": null, "scope": null }), json!({}));
    check(json!({ "refresh_token": "", "scope": 1 }), json!({}));
    check(json!({ "scope": ["a", "b"] }), json!({ "scope": "a b" }));
    for (received, seconds) in [
        (json!("3600"), json!(3600)),
        (json!(3599.9), json!(3599)),
        (json!("3599.9"), json!(3599)),
        (json!(-1), json!(0)),
        (json!(3600), json!(3600)),
    ] {
        check(json!({ "expires_in": received }), json!({ "expires_in": seconds }));
    }
    for received in [json!(null), json!("soon"), json!([]), json!("NaN")] {
        check(json!({ "expires_in": received }), json!({}));
    }
    let form = token(200, "access_token=t&scope=a%20b&token_type=bearer");
    assert_eq!(form, (200, json!({ "access_token": "t", "scope": "a b", "token_type": "bearer" })));
    assert_eq!(token(201, r#"{"access_token":"t"}"#).0, 200);
}

#[test]
fn a_member_of_any_type_costs_itself_at_most() {
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!(18_446_744_073_709_551_615_u64),
        json!(""),
        json!(" "),
        json!("text"),
        json!([]),
        json!([1, null, "a"]),
        json!({}),
        json!({ "a": 1 }),
    ];
    for name in ["expires_in", "token_type", "scope", "refresh_token", "id_token", "error_description"] {
        for value in &values {
            let (status, read) = token(200, &json!({ "access_token": "t", name: value }).to_string());
            let token = serde_json::from_value::<OAuthTokenResponse>(read.clone());
            assert!(status == 200 && token.is_ok(), "{name}: {value}: {read}: {token:?}");
        }
    }
    for name in ["client_secret", "client_name", "redirect_uris", "scope", "client_secret_expires_at"] {
        for value in &values {
            let body = json!({ "client_id": "c", name: value }).to_string().into_bytes();
            let read = normalized_registration_answer(EndpointAnswer { status: 201, body }, "u").body;
            let read = serde_json::from_slice::<ClientRegistrationResponse>(&read);
            assert!(read.is_ok(), "{name}: {value}: {read:?}");
        }
    }
}

#[test]
fn errors_of_a_token_endpoint_keep_their_reason() {
    let check = |status: u16, body: &str, error: &str, description: &str| {
        let (status, read) = token(status, body);
        assert_eq!((status, &read["error"]), (400, &json!(error)), "{body}");
        let text = read["error_description"].as_str().unwrap_or_default();
        assert!(text.contains(description), "{body}: {text}");
    };
    check(200, r#"{"error":"access_denied","error_description":"no"}"#, "access_denied", "no");
    check(500, r#"{"error":"server_error"}"#, "server_error", "");
    check(400, r#"{"error":{"message":"quota"}}"#, "error", "quota");
    check(200, "error=bad_verification_code", "bad_verification_code", "");
    check(502, "<html>Bad Gateway", "invalid_answer", "HTTP 502): <html>Bad Gateway");
    check(200, "{}", "invalid_answer", "no `access_token`");
    check(200, "[1]", "invalid_answer", "no `access_token`");
    check(204, "", "invalid_answer", "HTTP 204");
    check(503, r#"{"access_token":"t"}"#, "invalid_answer", "HTTP 503");
}

#[test]
fn a_rejected_refresh_asks_for_the_user() {
    let check = |error: &str, expected: &str| {
        let body = json!({ "error": error }).to_string().into_bytes();
        let read: Value = serde_json::from_slice(
            &normalized_token_answer(&EndpointAnswer { status: 200, body }, true).body,
        )
        .unwrap();
        assert_eq!(read["error"], expected);
    };
    check("bad_refresh_token", "invalid_grant");
    check("invalid_client", "invalid_grant");
    check("temporarily_unavailable", "temporarily_unavailable");
}

#[test]
fn a_registration_needs_an_id_alone() {
    let check = |body: Value, expected: Value| {
        let answer = EndpointAnswer { status: 200, body: body.to_string().into_bytes() };
        let read: Value = serde_json::from_slice(&normalized_registration_answer(answer, "u").body).unwrap();
        assert_eq!(read, expected);
    };
    check(json!({ "client_id": "c" }), json!({ "client_id": "c", "redirect_uris": ["u"] }));
    check(
        json!({ "client_id": 7, "client_secret": null, "client_name": 1, "redirect_uris": null }),
        json!({ "client_id": "7", "redirect_uris": ["u"] }),
    );
    check(
        json!({ "client_id": "c", "client_secret": "s" }),
        json!({ "client_id": "c", "client_secret": "s", "redirect_uris": ["u"] }),
    );
}

#[test]
fn an_error_that_says_nothing_is_none() {
    for none in [json!(null), json!(false), json!("")] {
        let body = json!({ "access_token": "t", "error": none }).to_string();
        assert_eq!(token(200, &body).1["access_token"], "t", "{body}");
    }
    for (error, expected) in [(json!(true), "true"), (json!(7), "7"), (json!(["x"]), "[\"x\"]")] {
        let read = token(200, &json!({ "access_token": "t", "error": error }).to_string());
        assert_eq!(read, (400, json!({ "error": "error", "error_description": expected })));
    }
    let read = token(200, r#"{"error":"e","error_description":7}"#);
    assert_eq!(read, (400, json!({ "error": "e" })));
}

#[test]
fn a_success_is_a_status_from_200_to_299_with_a_token() {
    for (status, is_success) in [(199, false), (200, true), (299, true), (300, false), (400, false)] {
        let expected = if is_success { 200 } else { 400 };
        assert_eq!(token(status, r#"{"access_token":"t"}"#).0, expected, "{status}");
    }
    for body in [r#"{"access_token":""}"#, r#"{"access_token":7}"#, r#"{"token_type":"bearer"}"#] {
        let (status, read) = token(200, body);
        let description = format!("the answer has no `access_token` (HTTP 200): {body}");
        assert_eq!(
            (status, read),
            (400, json!({ "error": "invalid_answer", "error_description": description }))
        );
    }
    let description = "no error is named (HTTP 500): oops";
    let expected = json!({ "error": "invalid_answer", "error_description": description });
    assert_eq!(token(500, " oops "), (400, expected));
    assert_eq!(token(200, "\u{feff}{\"access_token\":\"t\"}").1["access_token"], "t");
    // Neither an object nor a form.
    for body in ["a=b", "[]", "7"] {
        assert_eq!(token(200, body).1["error"], "invalid_answer", "{body}");
    }
}

#[test]
fn a_rejection_asks_for_the_user_after_a_refresh_alone() {
    let read = |is_refresh: bool, error: &str| {
        let body = json!({ "error": error, "error_description": "d" }).to_string().into_bytes();
        let answer = normalized_token_answer(&EndpointAnswer { status: 400, body }, is_refresh);
        serde_json::from_slice::<Value>(&answer.body).unwrap()
    };
    for error in REJECTIONS {
        let expected = json!({ "error": "invalid_grant", "error_description": format!("{error}: d") });
        assert_eq!(read(true, error), expected);
        assert_eq!(read(false, error), json!({ "error": error, "error_description": "d" }));
    }
    assert_eq!(read(true, "other"), json!({ "error": "other", "error_description": "d" }));
    // An answer that is none is no rejection.
    let answer = EndpointAnswer { status: 502, body: b"gone".to_vec() };
    let body = normalized_token_answer(&answer, true).body;
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["error"], "invalid_answer");
}

#[test]
fn a_reason_is_cut_at_a_character() {
    assert_eq!(describe_error("e", "  "), "e");
    assert_eq!(describe_error("e", " d "), "e: d");
    let longest = "\u{e4}".repeat(MAX_REASON_CHARS);
    assert_eq!(describe_error(&longest, ""), longest);
    assert_eq!(describe_error(&format!("{longest}b"), ""), format!("{longest}.."));
}

#[test]
fn secrets_are_removed_from_errors_alone() {
    let read = |status: u16, body: &str| {
        let answer = EndpointAnswer { status, body: body.into() };
        let answer = answer.with_secrets_redacted(&["s3cret".to_owned(), "abc".to_owned()]);
        assert_eq!(answer.status, status);
        String::from_utf8(answer.body).unwrap()
    };
    let body = r#"{"error":"no s3cret, abc","n":7}"#;
    assert_eq!(read(399, body), body);
    // A secret of three bytes is too short to be one.
    assert_eq!(read(400, body), r#"{"error":"no ***, abc","n":7}"#);
    assert_eq!(read(400, "s3cret"), "s3cret");
    let answer = EndpointAnswer { status: 400, body: br#"{"a":"abcd"}"#.to_vec() };
    assert_eq!(answer.with_secrets_redacted(&["abcd".to_owned()]).body, br#"{"a":"***"}"#);
}

#[test]
fn a_registration_that_is_no_success_stays_as_it_is() {
    let read = |status: u16, body: &str| {
        let answer = normalized_registration_answer(EndpointAnswer { status, body: body.into() }, "u");
        (answer.status, String::from_utf8(answer.body).unwrap())
    };
    let refused = r#"{"error":"invalid_redirect_uri"}"#;
    for status in [199, 300, 400] {
        assert_eq!(read(status, refused), (status, refused.to_owned()));
    }
    assert_eq!(read(200, "no JSON"), (200, "no JSON".to_owned()));
    assert_eq!(read(299, refused), (400, refused.to_owned()));
    // The user cannot help, as with a refresh.
    let rejected = r#"{"error":"invalid_client","error_description":"no"}"#;
    assert_eq!(read(200, rejected), (400, rejected.to_owned()));
    let registered = r#"{"client_id":"c","redirect_uris":["u"]}"#;
    assert_eq!(read(201, r#"{"client_id":"c","client_name":""}"#), (201, registered.to_owned()));
}
