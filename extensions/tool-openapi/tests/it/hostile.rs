//! Documents and servers that want to exhaust or mislead the program.

use std::time::Duration;

use serde_json::{Value, json};
use test_support::http::{Answer, Recorder};
use tool_openapi::{Document, OpenApiToolSet};
use tool_runtime::Tool as _;

use crate::{built, call, document};

/// Runs `work` in a thread of its own, and fails if it takes minutes.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    result.recv_timeout(Duration::from_secs(60)).expect("the time is not bounded")
}

/// An operation with one parameter in the query, `filter`.
fn filtering(parameter: Value) -> Value {
    let mut filter = json!({ "name": "filter", "in": "query" });
    filter.as_object_mut().unwrap().extend(parameter.as_object().unwrap().clone());
    json!({ "/pets": { "get": { "operationId": "list", "parameters": [filter] } } })
}

/// A schema with `count` branches that lead back to it.
fn branching(key: &str, count: usize) -> Value {
    let branches = vec![json!({ "$ref": "#/components/schemas/Loop" }); count];
    json!({ "components": { "schemas": { "Loop": { key: branches } } } })
}

fn body(media_type: &str) -> Value {
    let schema = json!({ "properties": { "one": { "$ref": "#/components/schemas/Loop" } },
        "anyOf": [{ "$ref": "#/components/schemas/Loop" }] });
    let content = json!({ media_type: { "schema": schema } });
    json!({ "/pets": { "post": { "operationId": "add", "requestBody": { "content": content } } } })
}

#[test]
fn schemas_that_branch_back_to_themselves_are_read_in_time() {
    for media_type in ["multipart/form-data", "application/x-www-form-urlencoded"] {
        for key in ["anyOf", "allOf"] {
            let document = document(body(media_type), branching(key, 40));
            in_time(move || built(OpenApiToolSet::builder(document).base_url("http://h")).tools().len());
        }
    }
}

#[test]
fn a_required_name_is_searched_in_all_parts_in_time() {
    let mut others = branching("allOf", 1000);
    let names: Vec<_> = (0..100).map(|it| format!("n{it}")).collect();
    others["components"]["schemas"]["Loop"]["required"] = json!(names);
    let document = document(body("application/json"), others);
    in_time(move || built(OpenApiToolSet::builder(document).base_url("http://h")).tools().len());
}

#[tokio::test]
async fn a_link_never_makes_a_value_that_is_too_deep() {
    let link = format!("</pets?filter{}=1>; rel=\"next\"", "[a]".repeat(100_000));
    let server = Recorder::new(Answer::json("{}").with_header("link", &link)).await;
    let parameter = json!({ "style": "deepObject", "schema": { "type": "object" } });
    let set = built(OpenApiToolSet::builder(document(filtering(parameter), json!({}))).base_url(&server.url));
    let output = call(&set, "list", "{}").await.unwrap();
    assert!(output.details().unwrap()["next"].get("arguments").is_none());
}

#[test]
fn a_link_is_compared_with_schemas_that_branch_in_time() {
    in_time(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = Recorder::new(Answer::json("{}").with_header("link", "<?filter=1>; rel=next")).await;
            let parameter = json!({ "schema": { "$ref": "#/components/schemas/L0" } });
            let paths = filtering(parameter);
            let level = |at: usize| {
                let next = json!({ "$ref": format!("#/components/schemas/L{}", at + 1) });
                (
                    format!("L{at}"),
                    if at == 9 { json!({ "type": "null" }) } else { json!({ "anyOf": vec![next; 30] }) },
                )
            };
            let levels: serde_json::Map<_, _> = (0..10).map(level).collect();
            let set = built(
                OpenApiToolSet::builder(document(paths, json!({ "components": { "schemas": levels } })))
                    .base_url(&server.url),
            );
            call(&set, "list", "{}").await.unwrap();
        });
    });
}

#[tokio::test]
async fn headers_of_an_answer_never_exceed_the_limit_of_a_text() {
    let long = "a".repeat(50_000);
    let answers = [
        Answer::json("{}").with_header("location", &format!("/{long}")),
        Answer::json("{}").with_header("link", &format!("</pets?filter={long}>; rel=next")),
        Answer::json("{}").with_header("link", &format!("</other?filter={long}>; rel=next")),
        Answer::json("{}").with_header("retry-after", &long),
        Answer::of(200, &format!("application/{long}"), vec![0, 1]),
        Answer::of(200, &format!("text/plain; charset={long}"), "x"),
        Answer::of(302, "text/plain", "").with_header("location", &format!("?filter={long}")),
    ];
    for answer in answers {
        let first = answer.clone();
        let server = Recorder::answering(move |received| match received.target.len() {
            0..100 => first.clone(),
            _ => Answer::json("{}"),
        })
        .await;
        let paths = filtering(json!({ "schema": { "type": "string" } }));
        let set = built(
            OpenApiToolSet::builder(document(paths, json!({})))
                .base_url(&server.url)
                .response_limit(16 << 10),
        );
        let text = call(&set, "list", "{}").await.unwrap().text().into_owned();
        assert!(text.len() <= 16 << 10, "{} {}", text.len(), &text[..200]); // P11
    }
}

#[tokio::test]
async fn a_name_in_an_object_never_leaves_its_brackets() {
    let role = json!({ "type": "object", "properties": { "name": { "enum": ["user"] } } });
    let schema = json!({ "type": "object", "properties": { "role": role } });
    let server = Recorder::new(Answer::json("{}")).await;
    let paths = filtering(json!({ "style": "deepObject", "schema": schema }));
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url(&server.url));
    call(&set, "list", r#"{"filter":{"role":{"name":"user"}}}"#).await.unwrap();
    assert_eq!(server.one().target, "/pets?filter%5Brole%5D%5Bname%5D=user");
    for name in ["role][name", "a]", "[a", "]"] {
        let arguments = json!({ "filter": { name: "admin" } }).to_string();
        let error = call(&set, "list", &arguments).await.unwrap_err().feedback();
        assert!(error.contains("`filter`"), "{error}"); // P08
    }
    assert!(server.take().is_empty());
}

#[tokio::test]
async fn a_member_of_an_object_is_never_a_member_of_another_parameter() {
    let parameters = json!([
        { "name": "more", "in": "query", "schema": { "type": "object" } },
        { "name": "filter", "in": "query", "style": "deepObject",
          "schema": { "type": "object", "properties": { "role": { "enum": ["user"] } } } },
    ]);
    let paths = json!({ "/pets": { "get": { "operationId": "list", "parameters": parameters } } });
    let server = Recorder::new(Answer::json("{}")).await;
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url(&server.url));
    let error = call(&set, "list", r#"{"more":{"filter[role]":"admin"}}"#).await.unwrap_err().feedback();
    assert!(error.contains("`more`"), "{error}"); // P08
    assert!(server.take().is_empty());
}

#[tokio::test]
async fn a_configured_cookie_is_not_a_choice_of_the_model() {
    let text = json!({ "type": "string" });
    let parameters = json!([
        { "name": "tenant", "in": "cookie", "schema": text }, { "name": "theme", "in": "cookie", "schema": text },
        { "name": "Cookie", "in": "header", "schema": text },
    ]);
    let paths = json!({ "/pets": { "get": { "operationId": "list", "parameters": parameters } } });
    let server = Recorder::new(Answer::json("{}")).await;
    let builder = OpenApiToolSet::builder(document(paths, json!({}))).base_url(&server.url);
    let set = built(builder.header("cookie", "tenant=mine; a=b"));
    call(&set, "list", r#"{"tenant":"theirs","theme":"dark"}"#).await.unwrap();
    let cookies: Vec<_> = server.one().headers.get_all("cookie").iter().cloned().collect();
    assert_eq!(cookies, ["tenant=mine; a=b; theme=dark"]);
    let _ = call(&set, "list", r#"{"Cookie":"tenant =theirs; x=y"}"#).await;
    for received in server.take() {
        let cookies = format!("{:?}", received.headers.get_all("cookie").iter().collect::<Vec<_>>());
        assert!(!cookies.contains("theirs"), "{cookies}");
    }
}

#[test]
fn a_parameter_that_replaces_the_method_costs_the_hints_of_the_method() {
    for (location, name) in
        [("header", "X-HTTP-Method-Override"), ("header", "x-method-override"), ("query", "_method")]
    {
        let parameters = json!([{ "name": name, "in": location, "schema": { "type": "string" } }]);
        let paths = json!({ "/pets": { "get": { "operationId": "list", "parameters": parameters } } });
        let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h"));
        let hints = set.tools()[0].definition().metadata();
        assert_eq!((hints.read_only, hints.idempotent), (Some(false), Some(false)), "{name}"); // P14
        assert_eq!(hints.destructive, None, "{name}");
        assert_eq!(set.diagnostics()[0].code, "method_override");
    }
}

#[test]
fn hidden_characters_of_a_document_are_reported() {
    let hidden = ["a\u{202e}b", "a\u{e0041}b", "a\u{200b}b", "a\u{1b}[31mb"];
    for text in hidden {
        let operations = [
            json!({ "operationId": "list", "description": text }),
            json!({ "operationId": "list", "summary": text }),
            json!({ "operationId": "list", "parameters": [
                { "name": "x", "in": "query", "description": text, "schema": {} }] }),
            json!({ "operationId": "list", "parameters": [
                { "name": "x", "in": "query", "schema": { "enum": ["y", text] } }] }),
        ];
        for operation in operations {
            let paths = json!({ "/pets": { "get": operation } });
            let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h"));
            assert_eq!(set.tools().len(), 1);
            assert!(set.diagnostics().iter().any(|it| it.code == "hidden_text"), "{text:?} {operation}");
        }
    }
    let paths = json!({ "/pets": { "get": { "operationId": "list", "description": "a\tb\r\nc é 猫" } } });
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h"));
    assert!(set.diagnostics().is_empty(), "{:?}", set.diagnostics());
}

#[test]
fn texts_that_many_operations_share_are_bounded() {
    let item = json!({ "get": { "description": "a".repeat(1 << 20) } });
    let paths: serde_json::Map<_, _> =
        (0..4000).map(|it| (format!("/p{it}"), json!({ "$ref": "#/components/pathItems/It" }))).collect();
    let document = document(paths.into(), json!({ "components": { "pathItems": { "It": item } } }));
    let set = built(OpenApiToolSet::builder(document).base_url("http://h"));
    let held: usize = set.tools().iter().map(|it| it.definition().description().len()).sum();
    assert!(held <= 300 << 20, "{held}");
    assert_eq!(set.tools().len() + set.skipped().len(), 4000);
}

#[test]
fn pins_notice_another_path_method_and_server() {
    let of = |server: &str, path: &str, method: &str| {
        let root = json!({ "openapi": "3.1.0", "info": { "title": "It", "version": "1" },
            "servers": [{ "url": server }], "paths": { path: { method: { "operationId": "do", "description": "Does." } } } });
        OpenApiToolSet::import(Document::from_value(root).unwrap()).unwrap()
    };
    let pins = of("https://a.example", "/a", "post").pins();
    let changes = |set: OpenApiToolSet| {
        let definitions: Vec<_> = set.tools().iter().map(|it| it.definition().clone()).collect();
        pins.check_definitions(&definitions).len()
    };
    assert_eq!(changes(of("https://a.example", "/a", "post")), 0);
    for (server, path, method) in [
        ("https://evil.example", "/a", "post"),
        ("https://a.example", "/b", "post"),
        ("https://a.example", "/a", "patch"),
    ] {
        assert_eq!(changes(of(server, path, method)), 1, "{server} {path} {method}");
    }
}

#[test]
fn a_part_that_is_no_object_is_reported() {
    let set =
        built(OpenApiToolSet::builder(document(json!({ "/a": "nonsense", "/b": { "get": 5 } }), json!({}))));
    let skipped: Vec<_> = set.skipped().iter().map(|it| (&*it.pointer, &*it.reason)).collect();
    assert_eq!(skipped[0], ("/paths/~1a", "the path item is a text, and not an object")); // P01
    assert_eq!(skipped[1].0, "/paths/~1b/get");
    let set = built(OpenApiToolSet::builder(document(json!([]), json!({}))));
    let messages: Vec<_> = set.diagnostics().iter().map(ToString::to_string).collect();
    assert!(messages.iter().any(|it| it.contains("`paths` is a list, and not an object")), "{messages:?}");
}

#[test]
fn a_path_or_a_list_of_methods_that_is_too_long_is_skipped_as_a_whole() {
    let others: serde_json::Map<_, _> =
        (0..18).map(|at| (format!("M{at}"), json!({ "responses": {} }))).collect();
    let builder = OpenApiToolSet::builder(document(
        json!({
            "/a": { "additionalOperations": others },
            (format!("/{}", "é".repeat(1_000_000))): { "get": { "responses": {} } },
        }),
        json!({}),
    ));
    let set = built(builder.base_url("http://127.0.0.1:1"));
    let [methods, path] = set.skipped() else { panic!("{:?}", set.skipped()) };
    assert_eq!(set.tools().len(), 16);
    assert_eq!(methods.reason, "2 more methods of the path; at most 16 are carried");
    assert_eq!(path.reason, "the path has 2000001 bytes; at most 1024 are carried");
    assert!(path.operation.len() < 300 && path.pointer.len() < 300);
}

#[test]
fn a_report_is_bounded_and_counts_what_it_omits() {
    let methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];
    let item: serde_json::Map<_, _> = methods.iter().map(|it| ((*it).to_owned(), json!(5))).collect();
    let path = "p".repeat(900);
    let paths = (0..3_400).map(|at| (format!("/{at}{path}"), Value::Object(item.clone())));
    let set = built(OpenApiToolSet::builder(document(Value::Object(paths.collect()), json!({}))));
    let skipped = set.skipped();
    let size: usize = skipped.iter().map(|it| it.pointer.len() + it.operation.len() + it.reason.len()).sum();
    assert!(size < 64 << 20, "{size}");
    let omitted = 3_400 * methods.len() - skipped.len();
    let messages: Vec<_> = set.diagnostics().iter().map(ToString::to_string).collect();
    let expected = format!("{omitted} more skipped operations and diagnostics are not listed");
    assert!(omitted > 0 && messages.iter().any(|it| it.contains(&expected)), "{omitted} {messages:?}");
}

#[test]
fn a_discriminator_with_many_alternatives_of_many_parts_is_read_in_time() {
    let parts = vec![json!({}); 20_000];
    let branches = vec![json!({ "$ref": "#/components/schemas/Many" }); 20_000];
    let schema = json!({ "oneOf": branches, "discriminator": { "propertyName": "kind" } });
    let content = json!({ "application/json": { "schema": schema } });
    let paths =
        json!({ "/pets": { "post": { "operationId": "add", "requestBody": { "content": content } } } });
    let others =
        json!({ "components": { "schemas": { "Many": { "allOf": parts, "required": ["a", "b"] } } } });
    let document = document(paths, others);
    in_time(move || built(OpenApiToolSet::builder(document).base_url("http://h")).tools().len());
}

#[test]
fn a_server_with_a_long_url_costs_its_operations() {
    let long = "a".repeat(5_000);
    let servers = [
        json!({ "url": format!("https://a.example/{long}") }),
        json!({ "url": "https://a.example/{v}", "variables": { "v": { "default": long } } }),
    ];
    for server in servers {
        let paths = json!({ "/a": { "get": { "servers": [server] } }, "/b": { "get": {} } });
        let others = json!({ "servers": [server, { "url": "https://b.example" }] });
        let set = built(OpenApiToolSet::builder(document(paths, others)));
        // The other operation has the next server of the document.
        assert_eq!((set.tools().len(), set.skipped().len()), (1, 1));
        assert_eq!(set.tools()[0].definition().metadata().custom["server"], "https://b.example/");
        let reason = "the URL of the server has 5018 bytes; at most 4096 are carried";
        assert_eq!(set.skipped()[0].reason, reason);
        let [diagnostic] = set.diagnostics() else { panic!("{:?}", set.diagnostics()) };
        assert_eq!(diagnostic.message, format!("a server is left out: {reason}"));
    }
}
