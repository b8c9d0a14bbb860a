//! URLs and documents of a discovery.

#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

#[test]
fn metadata_has_three_places_for_an_issuer_with_a_path() {
    let places = |issuer: &str| {
        let urls = issuer_metadata_urls(&url(issuer));
        urls.into_iter().map(|(url, path)| format!("{url} {path}")).collect::<Vec<_>>()
    };
    assert_eq!(
        places("https://me:pw@a.example/t/?q#f"),
        [
            "https://a.example/.well-known/oauth-authorization-server/t /t",
            "https://a.example/.well-known/openid-configuration/t /t",
            "https://a.example/t/.well-known/openid-configuration /t",
            "https://a.example/.well-known/oauth-authorization-server ",
            "https://a.example/.well-known/openid-configuration ",
        ]
    );
    assert_eq!(
        places("https://a.example/"),
        [
            "https://a.example/.well-known/oauth-authorization-server ",
            "https://a.example/.well-known/openid-configuration ",
        ]
    );
    let resource = |server: &str| -> Vec<String> {
        well_known_urls(&url(server), &[RESOURCE_PATH]).into_iter().map(String::from).collect()
    };
    assert_eq!(
        resource("https://ada@a.example/mcp/?b#c"),
        [
            "https://a.example/.well-known/oauth-protected-resource/mcp",
            "https://a.example/mcp/.well-known/oauth-protected-resource",
            "https://a.example/.well-known/oauth-protected-resource",
        ]
    );
    assert_eq!(resource("https://a.example"), ["https://a.example/.well-known/oauth-protected-resource"]);
}

#[test]
fn the_url_of_metadata_names_its_issuer() {
    for (metadata, issuer) in [
        ("https://a.example/.well-known/oauth-authorization-server", Some("https://a.example/")),
        ("https://a.example/.well-known/oauth-authorization-server/t", Some("https://a.example/t")),
        ("https://a.example/.well-known/openid-configuration/t", Some("https://a.example/t")),
        ("https://a.example/t/.well-known/openid-configuration", Some("https://a.example/t")),
        ("https://a.example/.well-known/oauth-authorization-servers", None),
        ("https://a.example/t/.well-known/oauth-authorization-server", None),
        ("https://a.example/t", None),
    ] {
        let read = issuer_of_metadata_url(&url(metadata));
        assert_eq!(read.as_ref().map(Url::as_str), issuer, "{metadata}");
    }
}

#[test]
fn a_resource_is_the_server_or_a_path_above_it() {
    for (resource, expected) in [
        ("https://s.example/a/mcp", true),
        ("https://s.example/a/mcp/", true),
        ("https://s.example/a", true),
        ("https://s.example", true),
        ("https://s.example/a/mcp?q", true),
        ("https://s.example/a/m", false),
        ("https://s.example/a/mcp/x", false),
        ("https://s.example/b", false),
        ("https://s.example/a#f", false),
        ("http://s.example/a", false),
        ("https://s.example:444/a", false),
    ] {
        assert_eq!(is_at_or_below(&url("https://s.example/a/mcp"), &url(resource)), expected, "{resource}");
    }
}

#[test]
fn a_list_may_be_words_or_descriptions() {
    assert_eq!(
        strings_or_words(&json!(["a", { "issuer": "b" }, 7, { "issuer": 7 }, { "x": "c" }])),
        ["a", "b"]
    );
    assert_eq!(strings_or_words(&json!(" a  b ")), ["a", "b"]);
    assert_eq!(strings_or_words(&json!(7)), [""; 0]);
}

#[test]
fn metadata_is_nothing_without_its_endpoints() {
    let read = |members: Value| {
        let mut document =
            json!({ "authorization_endpoint": "https://a/a", "token_endpoint": "https://a/t" });
        document.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        document.as_object_mut().unwrap().retain(|_, value| value != "absent");
        read_issuer_metadata(document.as_object().unwrap().clone())
    };
    assert!(read(json!({ "token_endpoint": "absent" })).is_none());
    assert!(read(json!({ "authorization_endpoint": 7 })).is_none());
    let plain = read(json!({ "issuer": 7, "jwks_uri": {}, "registration_endpoint": null })).unwrap();
    assert_eq!((plain.issuer, plain.registration_endpoint), (None, None));
    let full = read(json!({
        "issuer": "https://a", "registration_endpoint": "https://a/r", "scopes_supported": "a b",
        "code_challenge_methods_supported": ["S256", 7],
    }))
    .unwrap();
    assert_eq!(full.issuer.as_deref(), Some("https://a"));
    assert_eq!(full.registration_endpoint.as_deref(), Some("https://a/r"));
    assert_eq!(full.scopes_supported, Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(full.code_challenge_methods_supported, Some(vec!["S256".to_owned()]));
    // An empty list says that nothing is supported, and anything else nothing.
    let empty = read(json!({ "scopes_supported": [], "code_challenge_methods_supported": 7 })).unwrap();
    assert_eq!(empty.scopes_supported, Some(Vec::new()));
    assert_eq!(empty.code_challenge_methods_supported, None);
}

#[test]
fn a_server_without_metadata_has_the_endpoints_of_its_origin() {
    let metadata = default_endpoints(&url("https://me:pw@s.example/mcp?q#f"));
    assert_eq!(metadata.authorization_endpoint, "https://s.example/authorize");
    assert_eq!(metadata.token_endpoint, "https://s.example/token");
    assert_eq!(metadata.registration_endpoint.as_deref(), Some("https://s.example/register"));
    assert_eq!(metadata.issuer, None);
}

#[test]
fn the_metadata_of_a_resource_describes_this_server() {
    let binding = IssuerBinding::new(url("https://s.example/mcp"), None, false);
    let http = AuthorizationHttpClient::new(&url("https://s.example/mcp"), false).unwrap();
    let discovery = Discovery { http: &http, binding: &binding, metadata_origins: &[] };
    let read = |document: Value| discovery.read_resource_metadata(document.as_object().unwrap());
    let own = "https://s.example/mcp";
    let full = read(json!({
        "resource": own, "authorization_servers": ["https://a"], "authorization_server": "https://b",
        "scopes_supported": ["x", "y"],
    }));
    let full = full.unwrap();
    assert_eq!(
        (full.resource.as_deref(), full.issuers),
        (Some(own), vec!["https://a".into(), "https://b".into()])
    );
    assert_eq!(full.scopes, ["x", "y"]);
    let plain = read(json!({ "resource": own })).unwrap();
    assert!(plain.issuers.is_empty() && plain.scopes.is_empty());
    for (document, problem) in [
        (json!({}), "is none of a protected resource"),
        (json!({ "resource": 7 }), "is none of a protected resource"),
        (json!({ "authorization_servers": ["https://a"] }), "names no `resource`"),
        (json!({ "resource": "mcp" }), "has a `resource` that is no URL"),
        (json!({ "resource": "https://other.example/mcp" }), "describes another `resource`"),
    ] {
        assert_eq!(read(document.clone()).err(), Some(problem), "{document}");
    }
}

#[test]
fn issuers_without_metadata_are_named_as_far_as_they_were_tried() {
    let issuers: Vec<_> = (0..MAX_ISSUERS + 2).map(|number| format!("i{number}")).collect();
    let error = missing_metadata_error(&issuers).to_string();
    assert!(error.contains("`i0`, `i1`") && error.contains("`i7` has no metadata"), "{error}");
}
