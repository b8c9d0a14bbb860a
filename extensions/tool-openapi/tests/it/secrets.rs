//! Secrets, which no text may show.

use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, LazyLock, Mutex},
};

use serde_json::{Value, json};
use test_support::http::{Answer, Received, Recorder};
use tool_openapi::{ClientCredentials, Credential, OpenApiToolSet, Secret};
use tool_runtime::{Executor, RunContext, ToolCall, ToolContext, testing};
use tracing::{
    Dispatch, Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::Interest,
};

use crate::{
    credentials::{api_key, secured},
    registry,
};

const SECRET: &str = "hunter2/+";

/// The forms in which a secret stands in a request.
const FORMS: [&str; 3] = ["hunter2", "dXNlcjpodW50ZXIyLys", "aHVudGVyMi8r"];

/// Everything that spans and events have.
#[derive(Clone, Default)]
struct Trace(Arc<Mutex<String>>);

impl Visit for Trace {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        writeln!(self.0.lock().unwrap(), "{field}: {value:?}").unwrap();
    }
}

impl Subscriber for Trace {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Schemes, each with its credential.
fn schemes() -> Vec<(Value, Credential)> {
    let http = |scheme: &str| json!({ "type": "http", "scheme": scheme });
    let oauth = |flows| json!({ "type": "oauth2", "flows": flows });
    vec![
        (api_key("header", "X-Key"), Credential::secret(SECRET)),
        (api_key("query", "key"), Credential::secret(SECRET)),
        (api_key("cookie", "key"), Credential::secret(SECRET)),
        (http("basic"), Credential::basic("user", SECRET)),
        (http("bearer"), Credential::secret(SECRET)),
        (http("digest"), Credential::secret(SECRET)),
        (oauth(json!({})), Credential::secret(SECRET)),
        (
            json!({ "type": "openIdConnect", "openIdConnectUrl": "https://id.example" }),
            Credential::secret(SECRET),
        ),
        (http("bearer"), Credential::computed(|_| async { Ok(Secret::new(SECRET)) })),
    ]
}

/// Answers that repeat all of the request.
fn repeating(received: &Received) -> Answer {
    let headers: Vec<_> = received.headers.values().map(|it| it.to_str().unwrap()).collect();
    let (target, headers) = (&received.target, headers.join(" | "));
    let echo = json!({ "target": target, "headers": headers }).to_string();
    let location = format!("http://127.0.0.1:1{target}&again={}", target.rsplit('=').next().unwrap());
    match &*received.method {
        "GET" => Answer::json(&echo),
        "PUT" => Answer::of(302, "text/plain", echo)
            .with_header("location", &location)
            .with_header("x-echo", target),
        _ => Answer::of(401, "application/json", echo).with_header("www-authenticate", &headers),
    }
}

/// Calls operations of `set` on a live and on a dead server, and returns every text of it.
async fn texts(set: &OpenApiToolSet) -> String {
    let executor = Executor::new(registry(set));
    let events = testing::Recorder::of(&executor);
    let calls = ["list", "change", "add", "dead"].map(|tool| ToolCall::new(tool, "{}"));
    let outcomes = executor.batch(calls.to_vec()).with_run(RunContext::new()).run().await;
    let mut all = format!("{set:?} {:?} {:?} {:?}", set.diagnostics(), set.skipped(), set.tools());
    for outcome in &outcomes {
        let result = outcome.result().unwrap();
        write!(all, "{outcome:?} {} {:?} {:?}", result.text(), result.details(), result.structured())
            .unwrap();
        all.push_str(&serde_json::to_string(outcome).unwrap());
    }
    write!(all, "{:?} {:?}", events.texts().unwrap(), events.events().unwrap()).unwrap();
    for tool in ["list", "dead"] {
        match registry(set).call(tool, "{}").await {
            Ok(output) => write!(all, "{output:?}").unwrap(),
            Err(error) => write!(all, "{error} {error:?} {}", error.feedback()).unwrap(),
        }
    }
    all
}

fn traced(run: impl Future<Output = ()>) -> String {
    // With a single collector, `tracing` asks only the first thread; the other tests of this program collect nothing.
    static OTHERS: LazyLock<[Dispatch; 2]> =
        LazyLock::new(|| [(); 2].map(|()| Dispatch::new(Trace::default())));
    LazyLock::force(&OTHERS);
    let trace = Trace::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tracing::subscriber::with_default(trace.clone(), || runtime.block_on(run));
    Arc::into_inner(trace.0).unwrap().into_inner().unwrap()
}

fn assert_hidden(scheme: &Value, all: &str) {
    for form in FORMS {
        let at = all.find(form).map(|at| &all[at.saturating_sub(200)..all.len().min(at + 40)]);
        assert_eq!(at, None, "{scheme}"); // E10, P09
    }
}

#[test]
fn no_output_shows_a_secret_of_any_scheme() {
    for (scheme, credential) in schemes() {
        let trace = traced(async {
            let server = Recorder::answering(repeating).await;
            let mut document = json!({
                "openapi": "3.1.0", "info": { "title": "It", "version": "1" }, "servers": [{ "url": server.url }],
                "paths": {
                    "/pets": { "get": { "operationId": "list" }, "put": { "operationId": "change" }, "post": { "operationId": "add" } },
                    "/dead": { "get": { "operationId": "dead", "servers": [{ "url": "http://127.0.0.1:1" }] } },
                },
                "security": [{ "it": [] }],
            });
            document["components"] = json!({ "securitySchemes": { "it": scheme } });
            let document = tool_openapi::Document::from_value(document).unwrap();
            let credential = credential.for_origin(&server.url).for_origin("http://127.0.0.1:1");
            let given = format!("{credential:?}");
            let set = OpenApiToolSet::builder(document).credential("it", credential).build().unwrap();
            let all = texts(&set).await;
            let received = format!("{:?}", server.take());
            assert!(FORMS.iter().any(|form| received.contains(form)), "{scheme}: {received}");
            assert!(all.contains("127.0.0.1"), "{all}");
            assert_hidden(&scheme, &(given + &all));
        });
        assert!(trace.contains("list"), "{trace}");
        assert_hidden(&scheme, &trace);
    }
}

#[test]
fn no_output_shows_the_secret_of_a_client_or_its_tokens() {
    let trace = traced(async {
        let server = Recorder::answering(repeating).await;
        let issuer =
            Recorder::new(Answer::json(&json!({ "access_token": SECRET, "expires_in": 60 }).to_string()))
                .await;
        let paths = json!({ "/pets": {
            "get": { "operationId": "list" }, "put": { "operationId": "change" }, "post": { "operationId": "add" },
        }, "/dead": { "get": { "operationId": "dead" } } });
        let scheme = json!({ "type": "oauth2", "flows": {} });
        let others =
            json!({ "components": { "securitySchemes": { "it": scheme } }, "security": [{ "it": [] }] });
        for url in [issuer.url.clone(), "http://127.0.0.1:1".to_owned()] {
            let client = ClientCredentials::new("user", SECRET).token_url(url).parameter("assertion", SECRET);
            let credential = Credential::client_credentials(client.clone());
            let given = format!("{credential:?} {client:?}");
            let document = crate::document(paths.clone(), others.clone());
            let builder =
                OpenApiToolSet::builder(document).base_url(&server.url).credential("it", credential);
            let all = texts(&builder.build().unwrap()).await;
            assert_hidden(&scheme, &(given + &all));
        }
        assert!(format!("{:?}", server.take()).contains("hunter2"));
        assert!(issuer.take().iter().any(|it| it.text().contains("hunter2")));
    });
    assert_hidden(&Value::Null, &trace);
}

#[test]
fn a_builder_shows_no_secret() {
    let document = || secured(json!({ "it": api_key("query", "key") }), json!([{ "it": [] }]));
    let builder = OpenApiToolSet::builder(document()).credential("it", Credential::secret(SECRET));
    let error = builder.build().err().unwrap();
    assert_hidden(&Value::Null, &format!("{error} {error:?} {:?}", Secret::new(SECRET))); // E10
}

/// The texts of a call of `list` with this scheme and credential, which is answered by `answer`.
async fn call_texts(scheme: Value, credential: Credential, answer: Answer) -> String {
    let server = Recorder::new(answer).await;
    let document = secured(json!({ "it": scheme }), json!([{ "it": [] }]));
    let set = OpenApiToolSet::builder(document).base_url(&server.url).credential("it", credential);
    let output = registry(&set.build().unwrap()).call("list", "{}").await.unwrap();
    format!("{} {:?} {:?}", output.text(), output.structured(), output.details())
}

#[tokio::test]
async fn a_secret_is_hidden_in_json_with_escaped_slashes_and_a_password_by_itself() {
    let rows = [
        (api_key("header", "X-Key"), Credential::secret(SECRET), r#"{"it":"<hunter2\/+>"}"#),
        (api_key("header", "X-Key"), Credential::secret(SECRET), r#"{"it":"<hunter2/+>"}"#),
        (
            json!({ "type": "http", "scheme": "basic" }),
            Credential::basic("user", SECRET),
            r#"{"it":"<hunter2/+>"}"#,
        ),
    ];
    for (scheme, credential, answer) in rows {
        let all = call_texts(scheme, credential, Answer::json(answer)).await;
        assert!(all.contains("<***>") && !all.contains("hunter2"), "{all}"); // E10
    }
}

#[tokio::test]
async fn urls_in_headers_and_links_have_neither_a_user_nor_a_short_key() {
    // A short key is only hidden in its place.
    let (target, shown) = ("http://user:pass@a.example/x?key=k1&y=1", "http://a.example/x?y=1");
    for name in ["location", "content-location"] {
        let answer = Answer::of(201, "application/json", "{}").with_header(name, target);
        let all = call_texts(api_key("query", "key"), Credential::secret("k1"), answer).await;
        assert!(all.contains(shown) && !all.contains("pass") && !all.contains("k1"), "{name}: {all}"); // E10
    }
    let answer = Answer::json("{}").with_header("link", &format!("<{target}>; rel=next"));
    let all = call_texts(api_key("query", "key"), Credential::secret("k1"), answer).await;
    assert!(all.contains(&format!("[there is a next page: {shown}]")), "{all}");
    // A long one is hidden everywhere.
    let target = "http://a.example/hunter2%2f%2b/x?y=hunter2/+&z=hunter2%2F%2B";
    let answer = Answer::json("{}").with_header("link", &format!("<{target}>; rel=next"));
    let all = call_texts(api_key("query", "key"), Credential::secret(SECRET), answer).await;
    let shown = "http://a.example/***/x?y=***&z=***";
    assert!(all.contains(&format!("next page: {shown}")) && !all.contains("hunter2"), "{all}"); // E10
}

#[tokio::test]
async fn a_secret_is_hidden_under_each_encoding_and_each_pair_of_them() {
    type Encoding = fn(&str) -> String;
    const ENCODINGS: [Encoding; 6] = [
        |text| text.chars().map(|it| format!("\\u{:04x}", u32::from(it))).collect(),
        |text| text.chars().map(|it| format!("&#{};", u32::from(it))).collect(),
        |text| text.chars().map(|it| format!("&#x{:x};", u32::from(it))).collect(),
        // JSON within JSON: the body is JSON itself.
        |text| json!({ "it": text }).to_string(),
        str::to_uppercase,
        |text| text.bytes().map(|it| format!("%{it:02X}")).collect(),
    ];
    let secret = "Hunter2/+\"<secret>";
    let plain = |text: &str| text.to_lowercase().contains("hunter2") || text.contains("ecret");
    for inner in ENCODINGS {
        for outer in ENCODINGS {
            let encoded = outer(&inner(secret));
            for body in [json!({ "echo": encoded }).to_string(), format!("{{\"echo\":\"{encoded}\"}}")] {
                let credential = Credential::secret(secret);
                let all = call_texts(api_key("header", "X-Key"), credential, Answer::json(&body)).await;
                assert!(all.contains("***") && !all.contains(&encoded) && !plain(&all), "{encoded}: {all}"); // E10, P09
            }
        }
    }
}

#[test]
fn debug_texts_of_credentials_have_their_kind_and_their_origins() {
    let client = ClientCredentials::new("billing", "hunter2").parameter("audience", "hunter2");
    assert_eq!(format!("{client:?}"), "ClientCredentials { id: \"billing\", .. }");
    for (credential, kind) in [
        (Credential::secret("hunter2"), "secret"),
        (Credential::basic("user", "hunter2"), "basic"),
        (Credential::basic("us:er", "hunter2"), "invalid"),
        (Credential::client_credentials(client), "client_credentials"),
        (Credential::computed(|_: &ToolContext| async { Ok(Secret::new("hunter2")) }), "computed"),
    ] {
        let text = format!("{:?}", credential.clone().for_origin("https://h.example").for_origin("hunter2"));
        let expected = format!("Credential {{ kind: \"{kind}\", origins: [\"https://h.example\"], .. }}");
        assert_eq!(text, expected); // E10
        assert_eq!(format!("{credential:?}"), format!("Credential {{ kind: \"{kind}\", origins: [], .. }}"));
    }
}
