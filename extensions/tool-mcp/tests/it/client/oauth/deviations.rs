//! Deviations of authorization servers beside those that were seen (kinds N and O), and routes of attackers beside those of
//! [`hostile`](super::hostile).

use serde_json::{Value, json};
use tool_mcp::client::OAuth;

use super::web::{METADATA, RESOURCE, Web, agreeing, connect};

/// Ends a chain of changes.
fn ignore(_: &Web) {}

/// Logs in at a server that is its own authorization server, and whose answers `change` changes.
async fn log_in(change: impl FnOnce(&Web)) -> (Web, String) {
    let server = Web::start().await;
    server.challenge("Bearer").authorize();
    change(&server);
    let error = connect(&server, agreeing().0).await;
    (server, error.to_string())
}

#[tokio::test]
async fn a_token_needs_a_text_and_nothing_else() {
    for body in [
        json!({ "access_token": "t", "expires_in": "3600s", "token_type": ["Bearer"], "scope": {} })
            .to_string(),
        json!({ "access_token": "t", "expires_in": 1e300, "refresh_token": 7, "id_token": null }).to_string(),
        json!({ "access_token": "t", "error": null }).to_string(),
        json!({ "access_token": "t", "error": "" }).to_string(),
        format!("\u{feff}{}", json!({ "access_token": "t" })),
        "\n {\"access_token\":\"t\",\"access_token\":\"t\"}\n".to_owned(),
        "scope=a&access_token=t".to_owned(),
    ] {
        let (server, error) =
            log_in(|server| ignore(server.set("/token", 200, &[("content-type", "text/html")], &body))).await;
        assert!(server.received_text("Bearer t"), "{body}: {error}");
    }
    for (status, body, expected) in [
        (200, r#"{"access_token":7}"#, "no `access_token`"),
        (200, r#"{"Access_Token":"t"}"#, "no `access_token`"),
        (200, r#"{"data":{"access_token":"t"}}"#, "no `access_token`"),
        (200, r#""t""#, "no `access_token`"),
        (400, "", "HTTP 400"),
        (400, r#""invalid_grant""#, "invalid_grant"),
        (400, r#"{"error":7}"#, "7"),
        (400, r#"{"error":["a"],"error_description":["b"]}"#, "a"),
        (401, r#"{"error":"invalid_client","error_description":["b"]}"#, "invalid_client"),
        (302, "", "HTTP 302"),
    ] {
        let (server, error) = log_in(|server| ignore(server.set("/token", status, &[], body))).await;
        assert!(error.contains(expected) && !server.received_text("Bearer t"), "{body}: {error}");
    }
}

#[tokio::test]
async fn a_registration_may_answer_more_than_it_should() {
    for answer in [
        json!({ "client_id": 7 }),
        json!({ "client_id": "7", "client_secret": 7, "client_secret_expires_at": "0", "grant_types": "code" }),
        json!({ "client_id": "7", "error": null, "redirect_uris": [7] }),
    ] {
        let (server, error) = log_in(|server| ignore(server.json("/register", answer.clone()))).await;
        assert!(server.received_text("client_id=7"), "{answer}: {error}");
        assert!(server.received_text("Bearer t"), "{answer}: {error}");
    }
    for (body, expected) in [
        (r#"{"client_id":null}"#, ""),
        (r#"{"client":{"client_id":"7"}}"#, ""),
        ("<html>", ""),
        (r#"{"error":{"message":"full"}}"#, "full"),
    ] {
        let (server, error) = log_in(|server| ignore(server.set("/register", 201, &[], body))).await;
        assert!(!server.received_text("POST /token") && error.contains(expected), "{body}: {error}");
    }
}

#[tokio::test]
async fn metadata_of_a_resource_is_read_in_any_spelling() {
    let spellings: [fn(&Web, &Web) -> Value; 6] = [
        |server, issuer| json!({ "resource": format!("{}/", server.mcp()), "authorization_servers": [issuer.url] }),
        |server, issuer| json!({ "resource": server.mcp(), "authorization_servers": issuer.url }),
        |server, issuer| json!({ "resource": server.mcp(), "authorization_servers": [{ "issuer": issuer.url }] }),
        |server, issuer| json!({ "resource": server.mcp(), "authorization_servers": [null, 7, issuer.url] }),
        |server, issuer| json!({ "resource": server.mcp(), "authorization_servers": [format!("{}/", issuer.url)], "scopes_supported": 7 }),
        |server, issuer| json!({ "resource": server.url, "authorization_servers": [format!("{}{METADATA}", issuer.url)] }),
    ];
    for spelling in spellings {
        let (server, issuer) = (Web::start().await, Web::start().await);
        let document = spelling(&server, issuer.authorize());
        server.challenge("Bearer").set(RESOURCE, 200, &[], &format!("\u{feff}{document}"));
        let error = connect(&server, agreeing().0).await;
        assert!(server.received_text("Bearer t"), "{document}: {error}");
    }
    // A page that a server has at each path is no metadata.
    let server = Web::start().await;
    server.challenge("Bearer").authorize().set(RESOURCE, 200, &[("content-type", "text/html")], "<html>");
    let error = connect(&server, agreeing().0).await;
    assert!(server.received_text("Bearer t"), "{error}");
}

#[tokio::test]
async fn each_challenge_of_a_refusal_is_read() {
    let (server, issuer) = (Web::start().await, Web::start().await);
    let document = json!({ "resource": server.mcp(), "authorization_servers": [issuer.authorize().url] });
    server.json("/meta", document);
    let metadata = format!("{}/meta", server.url);
    for challenges in [
        vec!["Basic realm=\"x\"".to_owned(), format!("Bearer resource_metadata=\"{metadata}\"")],
        vec![format!("bearer RESOURCE_METADATA={metadata}, error=\"invalid_token\"")],
        vec![format!("Bearer realm=\"a, b\", resource_metadata=\"{metadata}\", scope=\"\"")],
        vec![format!("DPoP algs=\"ES256\", Bearer resource_metadata=\"{metadata}\"")],
    ] {
        let before = server.received().len();
        let headers: Vec<_> = challenges.iter().map(|it| ("www-authenticate", it.as_str())).collect();
        server.set("/mcp", 401, &headers, "");
        let error = connect(&server, agreeing().0).await;
        let received = server.received().split_off(before);
        assert!(received.iter().any(|it| it.contains("Bearer t")), "{challenges:?}: {error}");
    }
}

#[tokio::test]
async fn an_empty_error_in_a_redirect_hides_no_code() {
    let server = Web::start().await;
    server.challenge("Bearer").authorize();
    let oauth = OAuth::new("http://127.0.0.1:1/callback", |page| async move {
        let page = reqwest::Url::parse(&page).unwrap();
        let (_, state) = page.query_pairs().find(|(name, _)| name == "state").unwrap();
        Ok(format!("http://127.0.0.1:1/callback?error=&error_description=&code=the-code&state={state}"))
    });
    let error = connect(&server, oauth).await;
    assert!(server.received_text("Bearer t"), "{error}");
}

#[tokio::test]
async fn no_spelling_of_the_url_of_an_attacker_gets_a_secret() {
    type Route = fn(&Web, &str) -> String;
    let challenges: [Route; 6] = [
        |server, attacker| format!("{}@{attacker}/meta", server.url),
        |_, attacker| format!("//{attacker}/meta"),
        |_, attacker| format!("http:\\\\{attacker}\\meta"),
        |_, attacker| format!("HTTP://{attacker}/meta"),
        |server, attacker| format!("{}/../\\\\{attacker}/meta", server.url),
        |server, attacker| format!("{}/meta#http://{attacker}/meta", server.url),
    ];
    let issuers: [Route; 6] = [
        |server, attacker| format!("{}@{attacker}", server.url),
        |_, attacker| format!("//{attacker}"),
        |_, attacker| format!("\\\\{attacker}"),
        |_, attacker| format!("HTTP://{attacker}"),
        |_, attacker| format!("http://{attacker}/"),
        |_, attacker| format!("http://{attacker}?http://127.0.0.1"),
    ];
    let routes = challenges.map(|route| (route, true)).into_iter().chain(issuers.map(|route| (route, false)));
    for (route, is_challenge) in routes {
        let (server, attacker) = (Web::start().await, Web::start().await);
        let authority = attacker.authorize().url.trim_start_matches("http://").to_owned();
        let url = route(&server, &authority);
        attacker.json("/meta", json!({ "resource": server.mcp(), "authorization_servers": [attacker.url] }));
        match is_challenge {
            true => server.challenge(&format!("Bearer resource_metadata=\"{url}\"")),
            false => server.challenge("Bearer").issuers(&[&url]),
        };
        // A server without metadata is its own authorization server.
        let error = connect(&server, agreeing().0.client("program", Some("the-secret".to_owned()))).await;
        assert_eq!(attacker.received(), [""; 0], "{url}: {error}");
        assert!(!error.to_string().contains("the-secret"), "{url}: {error}");
    }
}

#[tokio::test]
async fn endpoints_that_redirect_take_no_secret_and_no_code_elsewhere() {
    for path in ["/register", "/token", "/authorize"] {
        let (server, attacker) = (Web::start().await, Web::start().await);
        server.challenge("Bearer").authorize().redirect(path, &format!("{}{path}", attacker.authorize().url));
        for oauth in [agreeing().0, agreeing().0.client("program", Some("the-secret".to_owned()))] {
            let error = connect(&server, oauth).await;
            assert_eq!(attacker.received(), [""; 0], "{path}: {error}");
        }
    }
}
