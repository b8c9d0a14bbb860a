#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use super::*;

fn server(resource: &str) -> ResourceServer {
    ResourceServer::new(resource, |token: &str| match token {
        "down" => Err(TokenError::Unavailable("secret reason".to_owned())),
        "old" => Ok(Identity::new("ada").expires(SystemTime::now())),
        "bad" => Err(TokenError::Invalid("it is \"bad\"\n".to_owned())),
        "weak" => Ok(Identity::new("ada").scopes(["read"])),
        _ => Ok(Identity::new(token)
            .scopes(["read", "write"])
            .expires(SystemTime::now() + Duration::from_secs(3600))),
    })
}

#[test]
fn the_metadata_stands_below_the_well_known_path() {
    let path = "/.well-known/oauth-protected-resource";
    for (resource, paths, url) in [
        (
            "https://a.example",
            vec![path.to_owned()],
            "https://a.example/.well-known/oauth-protected-resource",
        ),
        (
            "https://a.example/",
            vec![path.to_owned()],
            "https://a.example/.well-known/oauth-protected-resource",
        ),
        (
            "https://a.example/mcp/",
            vec![path.to_owned(), format!("{path}/mcp")],
            "https://a.example/.well-known/oauth-protected-resource/mcp",
        ),
    ] {
        let server = server(resource);
        assert_eq!((server.metadata_paths(), server.metadata_url().as_str()), (paths, url));
    }
    let server = server("https://a.example/mcp");
    let least = json!({
        "resource": "https://a.example/mcp",
        "authorization_servers": [],
        "bearer_methods_supported": ["header"],
    });
    assert_eq!(server.metadata(), least);
    let server = server.issuer("https://i").scopes(["b", "a"]).require(["c", "a"]).name("A");
    let metadata = server.metadata();
    assert_eq!(metadata["authorization_servers"], json!(["https://i"]));
    assert_eq!(metadata["scopes_supported"], json!(["a", "b", "c"]));
    assert_eq!(metadata["resource_name"], json!("A"));
}

#[tokio::test]
async fn a_caller_has_one_valid_token() {
    let server = server("https://a.example").require(["read", "write"]);
    let answer = async |values: &[&str]| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        match server.identify_caller(&headers).await {
            Ok(identity) => (200, identity.subject, String::new()),
            Err(answer) => {
                let challenge = answer.headers().get(header::WWW_AUTHENTICATE).cloned();
                let status = answer.status().as_u16();
                let body = answer.into_body().collect().await.unwrap().to_bytes();
                let challenge = challenge.map(|it| it.to_str().unwrap().to_owned());
                (status, String::from_utf8(body.to_vec()).unwrap(), challenge.unwrap_or_default())
            }
        }
    };
    for value in ["Bearer ada", "bearer ada", "BEARER  ada "] {
        assert_eq!(answer(&[value]).await, (200, "ada".to_owned(), String::new()), "{value}");
    }
    let metadata = "Bearer resource_metadata=\"https://a.example/.well-known/oauth-protected-resource\", \
                    scope=\"read write\"";
    let missing = (401, "a bearer token is required".to_owned(), metadata.to_owned());
    for values in [&[][..], &["Bearer ada", "Bearer ada"], &["Basic ada"], &["Bearer"]] {
        assert_eq!(answer(values).await, missing, "{values:?}");
    }
    for (token, status, error, reason) in [
        ("bad", 401, "invalid_token", "it is 'bad'?"),
        ("old", 401, "invalid_token", "it is expired"),
        ("weak", 403, "insufficient_scope", "the token lacks a scope"),
    ] {
        let (found, body, challenge) = answer(&[&format!("Bearer {token}")]).await;
        let expected = format!("{metadata}, error=\"{error}\", error_description=\"{reason}\"");
        assert_eq!((found, challenge), (status, expected));
        assert!(token == "bad" || body == reason, "{body}");
    }
    let (status, body, challenge) = answer(&["Bearer down"]).await;
    assert_eq!((status, challenge.as_str()), (503, ""));
    assert!(body.contains("tokens cannot be validated now") && !body.contains("secret"), "{body}");
}

#[test]
fn an_identity_has_what_its_token_says() {
    let claims = Map::from_iter([("a".to_owned(), json!(1))]);
    let identity = Identity::new("ada").client_id("c").scopes(["x"]).scopes(["y"]).claims(claims.clone());
    assert_eq!((identity.subject.as_str(), identity.client_id.as_deref()), ("ada", Some("c")));
    assert!(identity.has_scope("x") && identity.has_scope("y") && !identity.has_scope("z"));
    assert_eq!((identity.claims, identity.expires), (claims, None));
    assert_eq!(TokenError::Invalid("a".to_owned()).to_string(), "the token is invalid: a");
    assert_eq!(TokenError::Unavailable("a".to_owned()).to_string(), "the token cannot be validated: a");
    assert_eq!(quoted_string("a \"b\\ ~\u{e4}\n"), "\"a 'b' ~??\"");
}
