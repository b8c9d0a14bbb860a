//! Servers of documents.

use serde_json::{Map, Value, json};
use test_support::http::{Answer, Recorder};
use tool_openapi::{Document, Fetch, OpenApiErrorKind, OpenApiToolSet, OpenApiToolSetBuilder};
use tool_runtime::Tool as _;

use crate::{built, call, document};

/// Returns the URL of `GET /pets`, or why there is none.
async fn requested(
    servers: Value,
    set: impl Fn(OpenApiToolSetBuilder) -> OpenApiToolSetBuilder,
) -> Result<String, String> {
    let paths = json!({ "/pets": { "get": { "operationId": "list" } } });
    let server = Recorder::new(Answer::json("{}")).await;
    let servers =
        serde_json::from_str::<Value>(&servers.to_string().replace("http://h", &server.url)).unwrap();
    let builder = set(OpenApiToolSet::builder(document(paths, json!({ "servers": servers }))));
    let set = builder.build().map_err(|error| error.to_string())?;
    if let Some(skipped) = set.skipped().first() {
        return Err(format!("{}: {}", skipped.pointer, skipped.reason));
    }
    call(&set, "list", "{}").await.unwrap();
    Ok(server.one().target)
}

fn same(builder: OpenApiToolSetBuilder) -> OpenApiToolSetBuilder {
    builder
}

#[tokio::test]
async fn the_first_server_is_the_base_url() {
    let cases = [
        (json!([{ "url": "http://h" }]), "/pets"),
        (json!([{ "url": "http://h/" }]), "/pets"),
        (json!([{ "url": "http://h/v1/" }]), "/v1/pets"), // P04
        (json!([{ "url": "http://h/v1" }, { "url": "http://unreachable.invalid" }]), "/v1/pets"), // P04
        (json!([{ "url": " http://h/v1 " }]), "/v1/pets"),
        (json!([{ "url": "http://h/v1?a=b#c" }]), "/v1/pets"),
        (
            json!([{ "url": "http://h/{a}/{b}", "variables": { "a": { "default": "v1" }, "b": { "default": 2 } } }]),
            "/v1/2/pets",
        ), // P04
        (json!([{ "url": "http://h/a/../v1" }]), "/v1/pets"),
    ];
    for (servers, expected) in cases {
        assert_eq!(requested(servers.clone(), same).await.as_deref(), Ok(expected), "{servers}");
    }
}

#[tokio::test]
async fn server_variables_are_those_of_the_program_within_their_values() {
    let servers =
        json!([{ "url": "http://h/{v}", "variables": { "v": { "default": "v1", "enum": ["v1", "v2"] } } }]);
    let with = |value: &'static str| move |it: OpenApiToolSetBuilder| it.server_variable("v", value);
    assert_eq!(requested(servers.clone(), with("v2")).await.as_deref(), Ok("/v2/pets")); // P04
    let error = requested(servers, with("v3")).await.unwrap_err();
    assert!(error.contains("`v3` is not one of the values"), "{error}");
    let error = requested(json!([{ "url": "http://h/{v}" }]), same).await.unwrap_err();
    assert!(error.contains("`server_variable`"), "{error}");
}

#[tokio::test]
async fn servers_that_are_no_place_are_skipped_or_need_a_base_url() {
    let none = "there is no base URL: there is no server; set one with `base_url`";
    let relative = "there is no base URL: the server `/v1` is relative, and the document has no absolute one; \
                    set one with `base_url`";
    let cases = [
        (json!([]), none),
        (json!([{}]), none),
        (json!("x"), none),
        (json!([{ "url": "/v1" }]), relative),
        (json!([{ "url": "v1:latest/x" }]), "/servers/0: the server is not an `http` or `https` URL"),
    ];
    for (servers, reason) in cases {
        let error = requested(servers.clone(), same).await.unwrap_err();
        assert_eq!(error, reason, "{servers}"); // P04
    }
    let cases = [
        (json!([{ "url": "ftp://h.example/" }]), "not an `http` or `https` URL"),
        (json!([{ "url": "unix:/var/run/docker.sock" }]), "not an `http` or `https` URL"),
        (json!([{ "url": "http://user:hunter2@h.example/" }]), "user name or password"),
        (json!([{ "url": "https://api.example.com@evil.example/" }]), "user name or password"),
        (json!([{ "url": "http://[/" }]), "not valid"),
        (json!([{ "url": "http:///" }]), "not valid"),
    ];
    for (servers, expected) in cases {
        let error = requested(servers, same).await.unwrap_err();
        assert!(error.contains(expected) && error.starts_with("/servers/0"), "{error}");
        assert!(!error.contains("hunter2"), "{error}"); // E10
    }
}

#[tokio::test]
async fn the_closest_list_of_servers_counts() {
    let server = Recorder::new(Answer::json("{}")).await;
    let at = |path: &str| json!([{ "url": format!("{}{path}", server.url) }]);
    let paths = json!({
        "/a": { "servers": at("/path"), "get": { "operationId": "own", "servers": at("/operation") } },
        "/b": { "servers": at("/path"), "get": { "operationId": "path" } },
        "/c": { "get": { "operationId": "document", "servers": [] } },
    });
    let set = built(OpenApiToolSet::builder(document(paths.clone(), json!({ "servers": at("/document") }))));
    for (tool, expected) in [("own", "/operation/a"), ("path", "/path/b"), ("document", "/document/c")] {
        call(&set, tool, "{}").await.unwrap();
        assert_eq!(server.one().target, expected);
    }
    let configured =
        OpenApiToolSet::builder(document(paths, json!({}))).base_url(&format!("{}/mine/", server.url));
    call(&built(configured), "own", "{}").await.unwrap();
    assert_eq!(server.one().target, "/mine/a"); // P04
}

#[test]
fn a_base_url_is_a_plain_url_and_is_never_shown_with_a_password() {
    let document = || document(json!({ "/pets": { "get": {} } }), json!({}));
    for url in [
        "http://user:hunter2@h",
        "http://hunter2@h",
        "ftp://hunter2",
        "hunter2",
        "http://h?key=hunter2",
        "http://h#hunter2",
    ] {
        let error = OpenApiToolSet::builder(document()).base_url(url).build().err().unwrap();
        assert_eq!(error.kind(), OpenApiErrorKind::Config);
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}"); // E10
    }
}

/// A document at a local server, with these servers.
async fn fetched(servers: Value) -> (Document, Recorder) {
    let root = json!({
        "openapi": "3.1.0", "info": { "title": "It", "version": "1" }, "servers": servers,
        "paths": { "/pets": { "get": { "operationId": "list" } } },
    });
    let server = Recorder::answering(move |it| match it.target.contains("openapi.json") {
        true => Answer::json(&root.to_string()),
        false => Answer::json("{}"),
    })
    .await;
    let fetch = Fetch::new(format!("{}/docs/openapi.json?token=1", server.url)).allow_private();
    let document = Document::fetch(fetch).await.unwrap();
    server.one();
    (document, server)
}

#[tokio::test]
async fn relative_servers_belong_to_the_url_of_the_document() {
    let cases = [
        (json!([{ "url": "/v1" }]), "/v1/pets"),
        (json!([{ "url": "v1" }]), "/docs/v1/pets"),
        (json!([{ "url": "../v1/" }]), "/v1/pets"),
        (json!([{ "url": "/" }]), "/pets"),
        (json!([]), "/pets"),
    ];
    for (servers, expected) in cases {
        let (document, server) = fetched(servers).await;
        let set = OpenApiToolSet::import(document).unwrap();
        call(&set, "list", "{}").await.unwrap();
        assert_eq!(server.one().target, expected); // P04
    }
}

#[tokio::test]
async fn private_servers_of_a_fetched_document_are_refused_unless_allowed() {
    let target = Recorder::new(Answer::json("{}")).await;
    let port = target.url.rsplit(':').next().unwrap().to_owned();
    let hosts = [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "127.1",
        "127.0.0.1.",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[::1]",
        "localhost",
        "localhost.",
        "a.localhost",
        "10.0.0.1",
        "169.254.169.254",
        "[fe80::1]",
        "[fd00::1]",
        "0.0.0.0",
        "100.64.0.1",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "224.0.0.1",
    ];
    let item = |host| json!({ "get": { "servers": [{ "url": format!("http://{host}:{port}/") }] } });
    let paths: Map<_, _> = hosts.into_iter().map(|host| (format!("/{host}"), item(host))).collect();
    let root = json!({ "openapi": "3.1.0", "info": { "title": "It", "version": "1" }, "paths": paths });
    let server = Recorder::new(Answer::json(&root.to_string())).await;
    let document = Document::fetch(Fetch::new(&server.url).allow_private()).await.unwrap();
    let set = OpenApiToolSet::import(document.clone()).unwrap();
    assert!(set.tools().is_empty(), "{:?}", set.tools());
    assert_eq!(set.skipped().len(), hosts.len());
    for skipped in set.skipped() {
        let reason = &skipped.reason;
        assert!(reason.contains("`allow_private_servers`") && reason.contains("`base_url`"), "{reason}");
    }
    let allowed = built(OpenApiToolSet::builder(document).allow_private_servers());
    assert_eq!(allowed.tools().len(), hosts.len());
    let (document, _) = fetched(json!([{ "url": target.url }])).await;
    let set = built(OpenApiToolSet::builder(document.clone()).allow_private_servers());
    call(&set, "list", "{}").await.unwrap();
    target.one();
    let set = built(OpenApiToolSet::builder(document).base_url(&target.url));
    call(&set, "list", "{}").await.unwrap();
    target.one();
}

#[tokio::test]
async fn a_public_name_with_a_private_address_is_refused_at_the_call() {
    let target = Recorder::new(Answer::json("{}")).await;
    let port = target.url.rsplit(':').next().unwrap().to_owned();
    let url = format!("http://public.example:{port}");
    let (document, _) = fetched(json!([{ "url": url }])).await;
    let resolved = |builder: OpenApiToolSetBuilder| {
        built(builder.resolver(|_| async { Ok(vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()]) }))
    };
    let set = resolved(OpenApiToolSet::builder(document.clone()));
    assert_eq!(set.tools()[0].definition().name().as_str(), "list");
    let error = call(&set, "list", "{}").await.unwrap_err();
    assert!(error.feedback().contains("no public address"), "{}", error.feedback());
    assert!(error.to_string().contains("`public.example`"), "{error}");
    assert!(target.take().is_empty());

    call(&resolved(OpenApiToolSet::builder(document.clone()).allow_private_servers()), "list", "{}")
        .await
        .unwrap();
    call(&resolved(OpenApiToolSet::builder(document).base_url(&url)), "list", "{}").await.unwrap();
    assert_eq!(target.take().len(), 2);
}

#[tokio::test]
async fn servers_of_documents_of_the_program_are_used_as_they_are() {
    assert_eq!(requested(json!([{ "url": "http://h" }]), same).await.as_deref(), Ok("/pets"));
}

#[tokio::test]
async fn the_query_of_a_server_and_the_fragment_of_a_path_are_not_sent() {
    let server = Recorder::new(Answer::json("{}")).await;
    let servers = json!([{ "url": format!("{}/v1?key=1#top", server.url) }]);
    let paths = json!({ "/x#one": { "get": { "operationId": "op" } } });
    let set = built(OpenApiToolSet::builder(document(paths, json!({ "servers": servers }))));
    call(&set, "op", "{}").await.unwrap();
    assert_eq!(server.one().target, "/v1/x");
    // What pins compare.
    assert_eq!(set.tools()[0].definition().metadata().custom["server"], format!("{}/v1", server.url));
    assert_eq!(set.diagnostics()[0].code, "server_query");
}

/// The targets of the calls of all operations, and the pointers of those that are skipped.
async fn targets(
    server: &Recorder,
    paths: Value,
    servers: Value,
) -> (Vec<String>, Vec<String>, Vec<&'static str>) {
    let set = built(OpenApiToolSet::builder(document(paths, json!({ "servers": servers }))));
    let mut targets = Vec::new();
    for tool in set.tools() {
        call(&set, tool.definition().name().as_str(), "{}").await.unwrap();
        targets.push(server.one().target);
    }
    let skipped = set.skipped().iter().map(|it| it.pointer.clone()).collect();
    (targets, skipped, set.diagnostics().iter().map(|it| it.code).collect())
}

#[tokio::test]
async fn a_relative_server_of_an_operation_belongs_to_the_absolute_one_of_the_document() {
    let server = Recorder::new(Answer::json("{}")).await;
    let absolute = json!({ "url": format!("{}/v1/", server.url) });
    let paths = json!({
        "/a": { "get": { "servers": [{ "url": "/rel" }] } },
        "/b": { "servers": [{ "url": "v2" }], "get": {} },
        "/c": { "get": { "servers": [{ "url": "/{v}", "variables": { "v": { "default": "x" } } }] } },
        "/d": { "get": {} },
        "/e": { "get": { "servers": [{ "url": "" }] } },
    });
    let expected = ["/rel/a", "/v1/v2/b", "/x/c", "/v1/d", "/v1/e"];
    for servers in [json!([absolute]), json!([null, {}, absolute, { "url": "http://other.invalid" }])] {
        let (targets, skipped, _) = targets(&server, paths.clone(), servers).await;
        assert_eq!((targets, skipped), (expected.map(str::to_owned).to_vec(), vec![])); // P04
    }
    // The servers of the document may be relative themselves.
    let (targets, skipped, _) = targets(&server, paths, json!([{ "url": "/api" }, absolute])).await;
    assert_eq!(targets, ["/rel/a", "/v1/v2/b", "/x/c", "/api/d", "/v1/e"]);
    assert!(skipped.is_empty());
}

#[tokio::test]
async fn an_operation_with_a_relative_server_is_skipped_if_the_document_has_none() {
    let server = Recorder::new(Answer::json("{}")).await;
    let absolute = json!([{ "url": server.url }]);
    let paths = json!({
        "/a": { "get": { "servers": [{ "url": "/rel" }] } },
        "/b": { "get": { "servers": absolute } },
        "/c": { "get": {} },
    });
    for servers in [json!([]), Value::Null, json!([{ "url": "/v1" }]), json!({ "url": "http://h" })] {
        let (targets, skipped, _) = targets(&server, paths.clone(), servers).await;
        assert_eq!(targets, ["/b"]);
        assert_eq!(skipped.len(), 2, "{skipped:?}"); // P04
    }
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))));
    assert_eq!(set.skipped()[0].pointer, "/paths/~1a/get/servers/0");
    assert_eq!(
        set.skipped()[0].reason,
        "the server `/rel` is relative, and the document has no absolute one; set one with `base_url`"
    );
}

#[tokio::test]
async fn what_is_no_server_in_a_list_costs_itself() {
    let server = Recorder::new(Answer::json("{}")).await;
    let absolute = json!({ "url": format!("{}/v1", server.url) });
    for entry in [Value::Null, json!({}), json!({ "url": null }), json!({ "url": 7 }), json!("x"), json!([])]
    {
        let paths = json!({
            "/a": { "get": { "servers": [entry] } },
            "/b": { "get": { "servers": [entry, { "url": format!("{}/own", server.url) }] } },
            "/c": { "servers": [entry], "get": {} },
            "/d": { "get": {} }, "/e": { "get": {} },
        });
        let (targets, skipped, codes) = targets(&server, paths, json!([entry, absolute])).await;
        assert_eq!(targets, ["/v1/a", "/own/b", "/v1/c", "/v1/d", "/v1/e"], "{entry}"); // P04
        assert!(skipped.is_empty());
        // Those of the document are reported once.
        assert_eq!(codes, ["server_left_out"; 4], "{entry}");
    }
    for list in [json!({}), json!("x"), json!(7)] {
        let paths = json!({ "/a": { "get": { "servers": list } } });
        let (targets, _, codes) = targets(&server, paths, json!([absolute])).await;
        assert_eq!((targets, codes), (vec!["/v1/a".to_owned()], vec!["server_left_out"]), "{list}");
    }
}
