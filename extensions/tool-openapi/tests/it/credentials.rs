//! Credentials: schemes, requirements, and the origins that receive them.

use serde_json::{Map, Value, json};
use test_support::http::{Answer, Recorder};
use tool_openapi::{
    ClientCredentials, Credential, Document, OpenApiErrorKind, OpenApiToolSet, OpenApiToolSetBuilder, Secret,
};
use tool_runtime::{RunContext, ToolCall, ToolContext, ToolError, diagnostic::Diagnostic};

use crate::{built, call, document, registry};

/// `GET /pets`, with these schemes and this requirement.
pub(crate) fn secured(schemes: Value, security: Value) -> Document {
    let paths = json!({ "/pets": { "get": { "operationId": "list" } } });
    document(paths, json!({ "components": { "securitySchemes": schemes }, "security": security }))
}

pub(crate) fn api_key(location: &str, name: &str) -> Value {
    json!({ "type": "apiKey", "in": location, "name": name })
}

fn at(server: &Recorder, document: Document) -> OpenApiToolSetBuilder {
    OpenApiToolSet::builder(document).base_url(&server.url)
}

fn codes(set: &OpenApiToolSet) -> Vec<&str> {
    set.diagnostics().iter().map(|it| it.code).collect()
}

fn found<'s>(set: &'s OpenApiToolSet, code: &str) -> &'s Diagnostic {
    set.diagnostics().iter().find(|it| it.code == code).unwrap_or_else(|| panic!("{:?}", set.diagnostics()))
}

fn refused(builder: OpenApiToolSetBuilder) -> String {
    let error = builder.build().expect_err("a mistake of the program");
    assert_eq!(error.kind(), OpenApiErrorKind::Config);
    error.to_string()
}

#[tokio::test]
async fn each_scheme_has_its_place_in_the_request() {
    let server = Recorder::new(Answer::json("{}")).await;
    let http = |scheme: &str| json!({ "type": "http", "scheme": scheme });
    let cases = [
        (api_key("header", "X-Key"), Credential::secret("k&1"), "/pets", "x-key", "k&1"), // P09
        (
            api_key("query", "the key"),
            Credential::secret("k&1=\r\n"),
            "/pets?the%20key=k%261%3D%0D%0A",
            "x",
            "",
        ),
        (api_key("cookie", "key"), Credential::secret("k&1"), "/pets", "cookie", "key=k&1"),
        (
            http("Basic"),
            Credential::basic("Aladdin", "open sesame"),
            "/pets",
            "authorization",
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
        ),
        (http("bearer"), Credential::secret("t.1"), "/pets", "authorization", "Bearer t.1"), // P09
        (http("Token"), Credential::secret("t.1"), "/pets", "authorization", "Token t.1"),
        (
            json!({ "type": "oauth2", "flows": {} }),
            Credential::secret("t.1"),
            "/pets",
            "authorization",
            "Bearer t.1",
        ),
        (
            json!({ "type": "openIdConnect", "openIdConnectUrl": "https://id.example" }),
            Credential::secret("t.1"),
            "/pets",
            "authorization",
            "Bearer t.1",
        ),
    ];
    for (scheme, credential, target, header, value) in cases {
        let document = secured(json!({ "it": scheme }), json!([{ "it": [] }]));
        let set = built(at(&server, document).credential("it", credential));
        assert!(set.diagnostics().is_empty(), "{:?}", set.diagnostics());
        let output = call(&set, "list", "{}").await.unwrap();
        let received = server.one();
        assert_eq!(received.target, target);
        assert_eq!(received.header(header).unwrap_or_default(), value, "{scheme}");
        assert_eq!(output.details().unwrap()["url"], format!("{}/pets", server.url)); // P09
    }
}

#[tokio::test]
async fn the_first_alternative_with_all_its_credentials_is_sent() {
    let server = Recorder::new(Answer::json("{}")).await;
    let schemes =
        json!({ "a": api_key("header", "A"), "b": api_key("header", "B"), "c": api_key("header", "C") });
    let cases = [
        (json!([{ "a": [] }, { "b": [] }]), "b", ["b"].as_slice()),
        (json!([{ "a": [], "b": [] }, { "c": [] }]), "ac", &["c"]),
        (json!([{ "a": [], "b": [] }, { "c": [] }]), "abc", &["a", "b"]),
        (json!([{}, { "a": [] }]), "a", &["a"]),
        (json!([{}, { "a": [] }]), "b", &[]),
        (json!([{ "nope": [] }, { "b": [] }]), "b", &["b"]),
        (json!([]), "abc", &[]),
    ];
    for (security, given, sent) in cases {
        let document = secured(schemes.clone(), security.clone());
        let builder = given.chars().fold(at(&server, document), |it, name| {
            it.credential(name.to_string(), Credential::secret(name.to_string()))
        });
        let set = built(builder);
        call(&set, "list", "{}").await.unwrap();
        let received = server.one();
        let all: Vec<_> = ["a", "b", "c"].into_iter().filter(|it| received.header(it) == Some(*it)).collect();
        assert_eq!(all, sent, "{security} with {given}");
        assert!(!codes(&set).contains(&"no_credential"), "{:?}", set.diagnostics());
        assert_eq!(codes(&set).contains(&"unknown_scheme"), security.to_string().contains("nope"));
    }
}

#[tokio::test]
async fn an_operation_overrides_the_requirement_of_its_document() {
    let server = Recorder::new(Answer::json("{}")).await;
    let paths = json!({ "/pets": {
        "get": { "operationId": "list", "security": [] },
        "post": { "operationId": "add" },
        "put": { "operationId": "change", "security": [{ "b": [] }] },
    }});
    let schemes = json!({ "a": api_key("header", "A"), "b": api_key("header", "B") });
    let others = json!({ "components": { "securitySchemes": schemes }, "security": [{ "a": [] }] });
    let builder = at(&server, document(paths, others));
    let set =
        built(builder.credential("a", Credential::secret("1")).credential("b", Credential::secret("2")));
    for (tool, a, b) in [("list", None, None), ("add", Some("1"), None), ("change", None, Some("2"))] {
        call(&set, tool, "{}").await.unwrap();
        let received = server.one();
        assert_eq!((received.header("a"), received.header("b")), (a, b), "{tool}");
    }
    assert!(set.diagnostics().is_empty(), "{:?}", set.diagnostics());
}

#[tokio::test]
async fn an_operation_without_its_credential_is_called_and_reported() {
    let server = Recorder::new(Answer::of(401, "text/plain", "who are you?")).await;
    let document = secured(
        json!({ "a": api_key("header", "A"), "b": api_key("query", "b") }),
        json!([{ "a": [] }, { "b": [] }]),
    );
    let set = built(at(&server, document));
    let diagnostic = found(&set, "no_credential");
    assert!(diagnostic.message.contains("`a`, or for `b`"), "{}", diagnostic.message);
    assert_eq!(diagnostic.location.tool.as_deref(), Some("list"));
    assert_eq!(diagnostic.location.pointer, "/security");
    let text = call(&set, "list", "{}").await.unwrap().into_text();
    assert!(text.contains("401 Unauthorized") && text.contains("no credential was sent"), "{text}"); // P10
    assert!(text.ends_with("who are you?"), "{text}"); // P10
}

#[test]
fn a_credential_that_fits_no_scheme_is_a_mistake_of_the_program() {
    let schemes = json!({
        "key": api_key("header", "X-Key"),
        "basic": { "type": "http", "scheme": "basic" },
        "oauth": { "type": "oauth2", "flows": {} },
        "tls": { "type": "mutualTLS" },
        "host": api_key("header", "Host"),
        "odd": api_key("cookie", "a;b"),
    });
    let client = || Credential::client_credentials(ClientCredentials::new("id", "hunter2"));
    let cases = [
        ("nope", Credential::secret("hunter2"), "`basic`, `host`, `key`"),
        ("key", Credential::basic("user", "hunter2"), "use `Credential::secret`"),
        ("key", Credential::secret("hunter2\r\nx: y"), "line break"),
        ("key", Credential::secret(""), "empty"),
        ("key", client(), "OAuth 2"),
        ("basic", Credential::basic("a:b", "hunter2"), "user name with `:`"),
        ("basic", Credential::secret("hunter2"), "use `basic`"),
        ("oauth", client(), "`ClientCredentials::token_url`"),
        ("tls", Credential::secret("hunter2"), "certificate"),
        ("host", Credential::secret("hunter2"), "`Host`"),
        ("odd", Credential::secret("hunter2"), "`a;b`"),
        ("key", Credential::secret("hunter2").for_origin("https://a.example/v1"), "without user, path"),
        ("key", Credential::secret("hunter2").for_origin("https://u:hunter2@a.example"), "without user"),
    ];
    for (name, credential, expected) in cases {
        let document = secured(schemes.clone(), json!([{ "tls": [] }]));
        let builder = OpenApiToolSet::builder(document).base_url("https://a.example");
        let error = refused(builder.credential(name, credential));
        assert!(error.contains(expected), "{name}: {error}");
        assert!(!error.contains("hunter2"), "{error}"); // E10
    }
    let set = built(
        OpenApiToolSet::builder(secured(schemes, json!([{ "tls": [] }]))).base_url("https://a.example"),
    );
    assert!(found(&set, "unsupported_scheme").message.contains("`tls`"));
}

#[tokio::test]
async fn a_credential_goes_to_its_origins_only() {
    let (own, other) = (Recorder::new(Answer::json("{}")).await, Recorder::new(Answer::json("{}")).await);
    let paths = json!({
        "/a": { "get": { "operationId": "own" } },
        "/b": { "get": { "operationId": "other", "servers": [{ "url": other.url }] } },
    });
    let make = || {
        let schemes = json!({ "key": api_key("header", "X-Key") });
        let others = json!({ "servers": [{ "url": own.url }], "components": { "securitySchemes": schemes }, "security": [{ "key": [] }] });
        OpenApiToolSet::builder(document(paths.clone(), others))
    };
    let error = refused(make().credential("key", Credential::secret("k1")));
    assert!(error.contains(".for_origin(\"http://127.0.0.1:"), "{error}");
    assert!(error.contains("`base_url`"), "{error}");

    let set = built(make().credential("key", Credential::secret("k1").for_origin(&own.url)));
    assert!(found(&set, "foreign_origin").message.contains(&other.url), "{:?}", set.diagnostics());
    call(&set, "own", "{}").await.unwrap();
    assert_eq!(own.one().header("x-key"), Some("k1"));
    call(&set, "other", "{}").await.unwrap();
    assert_eq!(other.one().header("x-key"), None);

    let both = Credential::secret("k1").for_origin(&own.url).for_origin(&other.url);
    assert!(
        refused(make().credential("key", both.clone()).credential("key", both.clone()))
            .contains("two credentials")
    );
    let set = built(make().credential("key", both));
    call(&set, "other", "{}").await.unwrap();
    assert_eq!(other.one().header("x-key"), Some("k1"));
    let two = make().credential("key", Credential::secret("k1").for_origin(&own.url));
    let set = built(two.credential("key", Credential::secret("k2").for_origin(&other.url)));
    call(&set, "other", "{}").await.unwrap();
    assert_eq!(other.one().header("x-key"), Some("k2"));
}

#[test]
fn credentials_without_use_or_encryption_are_reported() {
    let document = || secured(json!({ "key": api_key("header", "X-Key") }), json!([{ "key": [] }]));
    let with = |url: &str| {
        built(OpenApiToolSet::builder(document()).base_url(url).credential("key", Credential::secret("k1")))
    };
    assert!(found(&with("http://a.example"), "plain_http").message.contains("`http://a.example`"));
    for url in ["https://a.example", "http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1"] {
        assert!(with(url).diagnostics().is_empty(), "{url}");
    }
    let unused = secured(json!({ "key": api_key("header", "X-Key") }), json!([]));
    let set = built(
        OpenApiToolSet::builder(unused).base_url("http://h").credential("key", Credential::secret("k1")),
    );
    assert_eq!(codes(&set), ["unused_credential"]);
}

#[tokio::test]
async fn a_credential_takes_the_place_of_a_parameter_of_its_name() {
    let server = Recorder::new(Answer::json("{}")).await;
    for location in ["header", "query", "cookie"] {
        let parameters = json!([
            { "name": "key", "in": location, "schema": { "type": "string" } },
            { "name": "other", "in": location, "schema": { "type": "string" } },
        ]);
        let paths = json!({ "/pets": { "get": { "operationId": "list", "parameters": parameters } } });
        let others = json!({ "components": { "securitySchemes": { "key": api_key(location, "key") } }, "security": [{ "key": [] }] });
        let set = built(at(&server, document(paths, others)).credential("key", Credential::secret("right")));
        assert_eq!(codes(&set), ["parameter_replaced"]);
        call(&set, "list", r#"{"key":"wrong","other":"1"}"#).await.unwrap();
        let received = server.one();
        let all = format!("{} {:?}", received.target, received.headers);
        assert!(all.contains("right") && !all.contains("wrong") && all.contains("other"), "{all}");
    }
}

#[tokio::test]
async fn schemes_of_swagger_are_those_of_openapi() {
    let server = Recorder::new(Answer::json("{}")).await;
    let text = std::fs::read_to_string(crate::file("petstore-2.0.json")).unwrap();
    let builder = at(&server, Document::from_text(&text).unwrap());
    let set = built(
        builder
            .credential("api_key", Credential::secret("k1"))
            .credential("petstore_auth", Credential::secret("t1")),
    );
    call(&set, "getPetById", r#"{"petId":7}"#).await.unwrap();
    assert_eq!(server.one().header("api_key"), Some("k1"));
    call(&set, "findPetsByTags", r#"{"tags":["a"]}"#).await.unwrap();
    assert_eq!(server.one().header("authorization"), Some("Bearer t1"));
}

struct Tenant(&'static str);

#[tokio::test]
async fn a_computed_credential_depends_on_the_run_and_may_fail() {
    let server = Recorder::new(Answer::json("{}")).await;
    let document = secured(json!({ "key": { "type": "http", "scheme": "bearer" } }), json!([{ "key": [] }]));
    let credential = Credential::computed(|cx: &ToolContext| {
        let tenant = cx.require::<Tenant>().map(|it| it.0);
        async move {
            match tenant? {
                "gone" => Err(ToolError::failed("the tenant is gone")),
                tenant => Ok(Secret::new(format!("token-of-{tenant}"))),
            }
        }
    });
    let set = built(at(&server, document).credential("key", credential));
    let executor = tool_runtime::Executor::new(registry(&set));
    let run = |tenant| {
        let batch = executor.batch(vec![ToolCall::new("list", "{}")]);
        let run = RunContext::new().provide(Tenant(tenant));
        async move { batch.with_run(run).run().await[0].result().unwrap().text().into_owned() }
    };
    for tenant in ["a", "b"] {
        assert!(run(tenant).await.contains("200 OK"));
        assert_eq!(server.one().header("authorization"), Some(&*format!("Bearer token-of-{tenant}")));
    }
    let failed = run("gone").await;
    assert!(failed.contains("the tenant is gone"), "{failed}");
    let unfit = run("line\nbreak").await;
    assert!(unfit.contains("the credential for `key`") && !unfit.contains("break\""), "{unfit}");
    assert!(server.take().is_empty());
}

#[tokio::test]
async fn the_authorization_of_a_caller_is_not_forwarded() {
    let server = Recorder::new(Answer::json("{}")).await;
    let document = secured(json!({ "key": { "type": "http", "scheme": "bearer" } }), json!([{ "key": [] }]));
    let set = built(at(&server, document));
    let meta: Map<String, Value> = [
        ("authorization".to_owned(), json!("Bearer of-the-caller")),
        ("headers".to_owned(), json!({ "authorization": "Bearer of-the-caller", "cookie": "of-the-caller" })),
    ]
    .into_iter()
    .collect();
    let mut headers = axum::http::HeaderMap::new();
    headers.insert("authorization", "Bearer of-the-caller".parse().unwrap());
    let run = RunContext::new().with_meta(meta).with_user("of-the-caller").provide(headers);
    run.set("authorization", "Bearer of-the-caller".to_owned());
    let executor = tool_runtime::Executor::new(registry(&set));
    executor.batch(vec![ToolCall::new("list", "{}")]).with_run(run).run().await;
    let received = server.one();
    assert_eq!(received.header("authorization"), None);
    assert!(!format!("{received:?}").contains("of-the-caller"), "{received:?}");
}

#[test]
fn a_secret_that_would_be_several_cookies_is_a_mistake_of_the_program() {
    for secret in ["hunter2; admin=1", "hunter2,x", "hunter 2", "hunter2\\", "\"hunter2\"", "hünter2"] {
        let document = secured(json!({ "key": api_key("cookie", "key") }), json!([{ "key": [] }]));
        let builder = OpenApiToolSet::builder(document).base_url("https://a.example");
        let error = refused(builder.credential("key", Credential::secret(secret)));
        assert!(error.contains("no cookie may have") && !error.contains("hunter2"), "{error}"); // E10
    }
}

#[tokio::test]
async fn schemes_that_take_one_place_are_never_sent_together() {
    let server = Recorder::new(Answer::json("{}")).await;
    let rows = [
        (json!({ "type": "http", "scheme": "bearer" }), json!({ "type": "http", "scheme": "token" })),
        (json!({ "type": "http", "scheme": "bearer" }), api_key("header", "authorization")),
        (api_key("query", "key"), api_key("query", "key")),
    ];
    for (a, b) in rows {
        let schemes = json!({ "a": a, "b": b, "c": api_key("header", "C") });
        let document = secured(schemes, json!([{ "a": [], "b": [] }, { "c": [] }]));
        let set = ["a", "b", "c"].into_iter().fold(at(&server, document), |it, name| {
            it.credential(name, Credential::secret(format!("secret-{name}")))
        });
        let set = built(set);
        let message = &found(&set, "unsupported_scheme").message;
        assert!(message.contains("`b` in a place of the request that another scheme takes"), "{message}");
        call(&set, "list", "{}").await.unwrap();
        let received = server.one();
        assert_eq!((received.header("c"), received.header("authorization")), (Some("secret-c"), None));
        assert_eq!(received.target, "/pets");
    }
}

#[tokio::test]
async fn a_forbidden_request_without_its_credential_says_so() {
    for (status, is_noted) in [(401, true), (403, true), (404, false)] {
        let server = Recorder::new(Answer::of(status, "text/plain", "no")).await;
        let document = secured(json!({ "a": api_key("header", "A") }), json!([{ "a": [] }]));
        let text = call(&built(at(&server, document)), "list", "{}").await.unwrap().into_text();
        assert_eq!(text.contains("no credential was sent"), is_noted, "{text}"); // P10
    }
}
