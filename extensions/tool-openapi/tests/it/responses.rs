//! Responses as results.

use std::{io::Write as _, sync::Arc, time::Duration};

use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use test_support::http::{Answer, Recorder};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};
use tool_openapi::{OpenApiToolSet, OpenApiToolSetBuilder};
use tool_runtime::{
    CancellationToken, Content, ErrorKind, Executor, RunContext, Tool as _, ToolCall, ToolOutput,
    event::EventKind, output::ResourceBody, policy::ResultStore, testing::Recorder as Events,
};

use crate::{built, call, document, registry};

/// An API with the operation `op` of `method`, whose `200` response has the JSON schema `schema`.
pub(crate) fn api(method: &str, schema: Option<Value>) -> OpenApiToolSetBuilder {
    let mut responses = json!({ "200": { "description": "" } });
    if let Some(schema) = schema {
        responses["200"]["content"] = json!({ "application/json": { "schema": schema } });
    }
    let paths = json!({ "/x": { method: { "operationId": "op", "responses": responses } } });
    OpenApiToolSet::builder(document(paths, json!({})))
}

async fn answered(set: OpenApiToolSetBuilder, answer: Answer) -> ToolOutput {
    let server = Recorder::new(answer).await;
    call(&built(set.base_url(&server.url)), "op", "{}").await.unwrap()
}

async fn shown(answer: Answer) -> ToolOutput {
    answered(api("get", None), answer).await
}

/// The text after the line of the status.
fn body(output: &ToolOutput) -> String {
    output.text().split_once("\n\n").map(|it| it.1.to_owned()).unwrap_or_default()
}

#[tokio::test]
async fn a_result_has_method_url_status_and_body_and_details_without_cookies() {
    let answer = Answer::of(404, "application/json", r#"{"no":1}"#)
        .with_header("set-cookie", "session=secret")
        .with_header("x-internal", "secret")
        .with_header("x-request-id", "r1");
    let output = shown(answer).await;
    let text = output.text().into_owned();
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("GET http://127.0.0.1:") && lines[0].ends_with("/x"), "{text}"); // P10
    assert_eq!(lines[1..], ["404 Not Found", "", r#"{"no":1}"#]); // P10
    assert!(!output.is_failure()); // P10
    let details = output.details().unwrap();
    assert_eq!((&details["status"], &details["method"]), (&json!(404), &json!("GET"))); // P10
    assert!(details["url"].as_str().unwrap().ends_with("/x")); // P10
    assert_eq!(details["headers"]["x-request-id"], "r1");
    assert!(!details.to_string().contains("secret"), "{details}");
    assert_eq!(output.structured(), None);
}

#[tokio::test]
async fn failures_are_errors_if_the_program_wants_that() {
    let set = || api("get", None).failures_as_errors(true);
    let server = Recorder::new(Answer::of(404, "text/plain", "nothing here")).await;
    let error = call(&built(set().base_url(&server.url)), "op", "{}").await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Failed, false)); // CF27
    assert!(error.feedback().contains("404 Not Found\n\nnothing here"), "{error}");
    assert_eq!(error.details().unwrap()["status"], 404);
    let server = Recorder::new(Answer::of(503, "text/plain", "").with_header("retry-after", "9")).await;
    let error = call(&built(set().base_url(&server.url)), "op", "{}").await.unwrap_err();
    assert_eq!((error.is_retryable(), error.retry_after()), (true, Some(Duration::from_secs(9))));
    assert!(answered(set(), Answer::json("{}")).await.structured().is_some());
}

#[tokio::test]
async fn an_unreachable_server_is_an_error_that_may_pass() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = call(&built(api("get", None).base_url(&url)), "op", "{}").await.unwrap_err(); // P10
    assert!(error.is_retryable(), "{error}");
    // The origin only.
    let expected = format!("the server `{url}` cannot be reached");
    assert!(error.feedback().contains(&expected) && !error.to_string().contains("/op"), "{error}");
}

#[tokio::test]
async fn texts_are_decoded_by_their_charset() {
    let rows: [(&str, &[u8], &str); 6] = [
        ("text/plain", "é".as_bytes(), "é"),
        ("text/plain; charset=\"ISO-8859-1\"", b"\xe9", "é"),
        ("text/csv;charset=shift_jis", b"\x82\xa0", "あ"),
        ("application/xml", b"<a/>", "<a/>"),
        ("text/plain; charset=utf-16le", b"a\0b\0", "ab"),
        ("", "ü".as_bytes(), "ü"),
    ];
    for (media_type, bytes, text) in rows {
        assert_eq!(body(&shown(Answer::of(200, media_type, bytes.to_vec())).await), text, "{media_type}");
    }
    let broken = body(&shown(Answer::of(200, "text/plain", b"a\xff".to_vec())).await);
    assert!(broken.starts_with("a\u{fffd}\n[bytes that are not valid UTF-8"), "{broken}");
    let unknown = body(&shown(Answer::of(200, "text/plain; charset=x-none", "a")).await);
    assert!(unknown.contains("charset `x-none` is unknown"), "{unknown}");
}

#[tokio::test]
async fn images_audio_and_other_bytes_are_content() {
    let content = async |media_type: &str, bytes: &[u8]| {
        let output = shown(Answer::of(200, media_type, bytes.to_vec())).await;
        assert!(output.text().contains("200 OK"));
        output.content()[1].clone()
    };
    assert_eq!(content("image/png; q=1", &[0xff]).await, Content::image([0xff], "image/png"));
    assert_eq!(content("audio/wav", &[0xff]).await, Content::audio([0xff], "audio/wav"));
    let Content::Resource { resource } = content("application/zip", &[0xff, 0]).await else { panic!() };
    assert_eq!(resource.mime_type, "application/zip");
    assert!(
        resource.uri.ends_with("/x") && matches!(&resource.body, ResourceBody::Blob(it) if it.0 == [0xff, 0])
    );
    let Content::Image { mime_type, .. } = content("", b"\x89PNG\r\n\x1a\n\0\0\0\xff").await else {
        panic!()
    };
    assert_eq!(mime_type, "image/png");
    let long = answered(api("get", None).read_limit(3), Answer::of(200, "image/png", vec![0xff; 4])).await;
    assert!(body(&long).contains("image/png of more than 3 bytes, and not shown"), "{}", long.text());
    assert_eq!(long.content().len(), 1);
}

#[tokio::test]
async fn a_response_without_a_body_is_its_status() {
    for (method, status) in [("get", 204), ("head", 200), ("delete", 205)] {
        let output =
            answered(api(method, Some(json!({ "type": "object" }))), Answer::of(status, "", "")).await;
        assert_eq!(output.text().lines().count(), 2, "{}", output.text());
        assert_eq!((output.structured(), output.details().unwrap().get("mismatch")), (None, None));
    }
}

#[tokio::test]
async fn a_long_text_is_cut_between_characters_with_a_visible_marker() {
    let output = shown(Answer::of(200, "text/plain", "é".repeat(50 << 10))).await;
    let text = output.text();
    assert!(text.len() <= 64 << 10, "{}", text.len()); // P11
    assert!(text.len() > 63 << 10, "{}", text.len()); // P11
    let cut = body(&output);
    let (kept, note) = cut.split_once('\n').unwrap();
    assert!(kept.chars().all(|it| it == 'é')); // P11
    assert_eq!(note, format!("[.. {} of 102400 bytes left out ..]", 102_400 - kept.len())); // P11
    let small =
        answered(api("get", None).response_limit(400), Answer::of(200, "text/plain", "é".repeat(999))).await;
    assert!(small.text().len() <= 400); // P11
}

#[tokio::test]
async fn a_long_list_is_cut_between_items_and_stays_readable() {
    let items: Vec<_> = (0..500).map(|at| json!({ "id": at, "name": "x".repeat(at % 7) })).collect();
    for (full, place) in
        [(json!(items), ""), (json!({ "few": [1], "items": items, "total": 500 }), " of `items`")]
    {
        let store = Arc::new(ResultStore::new(1 << 20));
        let set = api("get", None).response_limit(2000).readback(Arc::clone(&store));
        let output = answered(set, Answer::json(&full.to_string())).await;
        assert!(output.text().len() <= 2000);
        let value = output.structured().unwrap();
        let kept = value.get("items").unwrap_or(&value).as_array().unwrap().clone();
        assert!(kept.len() > 20 && kept[..] == items[..kept.len()]);
        assert_eq!(value.get("total"), full.get("total"));
        let note = output.text().lines().last().unwrap().to_owned();
        let expected =
            format!("[.. {} of 500 items{place} left out; read on with read_result", 500 - kept.len());
        assert!(note.starts_with(&expected), "{note}");
        let arguments = &note[note.find('{').unwrap()..=note.find('}').unwrap()];
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        let (handle, offset) = (arguments["handle"].as_u64().unwrap(), arguments["offset"].as_u64().unwrap());
        let rest = store.read(handle, usize::try_from(offset).unwrap(), usize::MAX).unwrap();
        assert!(rest.starts_with(&format!(",{}", items[kept.len()])), "{rest:.80}");
        assert!(full.to_string().ends_with(&rest));
    }
}

#[tokio::test]
async fn no_more_than_the_read_limit_is_read_and_decompressed_bytes_count() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let zeros = vec![b'0'; 1 << 20];
    (0..64).for_each(|_| encoder.write_all(&zeros).unwrap());
    let bomb = encoder.finish().unwrap();
    assert!(bomb.len() < 100 << 10);
    let answer = Answer::of(200, "text/plain", bomb).with_header("content-encoding", "gzip");
    let output = answered(api("get", None).read_limit(1 << 20), answer).await;
    assert_eq!(output.details().unwrap()["bytes"], 1 << 20);
    assert!(
        output.text().contains("more than 1048576 bytes; the rest was not read"),
        "{:.200}",
        body(&output)
    );
}

/// A server for one connection, which `serve` answers.
async fn serving<F>(serve: impl FnOnce(TcpStream) -> F + Send + 'static) -> String
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await.unwrap());
        }
        serve(stream).await;
    });
    url
}

#[tokio::test]
async fn an_endless_response_ends_by_the_limit() {
    let (stopped, was_stopped) = oneshot::channel();
    let url = serving(|mut stream| async move {
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n";
        stream.write_all(head).await.unwrap();
        while stream.write_all(&[b'a'; 8192]).await.is_ok() {}
        stopped.send(()).unwrap();
    })
    .await;
    let output = call(&built(api("get", None).base_url(&url).read_limit(100_000)), "op", "{}").await.unwrap();
    assert_eq!(output.details().unwrap()["bytes"], 100_000);
    was_stopped.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_silent_response_ends_by_the_timeout_of_30_seconds_or_the_one_that_is_set() {
    for (set, seconds) in [(None, 30), (Some(Duration::from_secs(7)), 7)] {
        let url = serving(|mut stream| async move {
            let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 9\r\n\r\na";
            stream.write_all(head).await.unwrap();
            std::future::pending().await
        })
        .await;
        let builder = api("get", None).base_url(&url);
        let api = built(set.into_iter().fold(builder, OpenApiToolSetBuilder::timeout));
        let began = tokio::time::Instant::now();
        let error = call(&api, "op", "{}").await.unwrap_err(); // P11
        // The clock is paused, and skips to the next timer.
        assert_eq!(began.elapsed().as_secs(), seconds); // P11
        assert!(error.is_retryable() && error.feedback().contains("did not answer in time"), "{error}");
    }
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once_and_drops_its_connection() {
    let (asked, was_asked) = oneshot::channel();
    let (dropped, was_dropped) = oneshot::channel();
    let url = serving(|mut stream| async move {
        asked.send(()).unwrap();
        let end = stream.read(&mut [0; 1]).await;
        dropped.send(end.is_err() || end.is_ok_and(|it| it == 0)).unwrap();
    })
    .await;
    // The call is dropped at once: it does not take the grace period of an hour.
    let executor = Executor::builder(registry(&built(api("get", None).base_url(&url))));
    let executor = executor.grace_period(Duration::from_secs(3600)).build().unwrap();
    let token = CancellationToken::new();
    let run = RunContext::new().with_cancellation(token.clone());
    let batch = executor.batch(vec![ToolCall::new("op", "{}")]).with_run(run);
    let cancel = async {
        was_asked.await.unwrap();
        token.cancel();
    };
    let limit = Duration::from_secs(5);
    let (outcomes, ()) =
        tokio::time::timeout(limit, async { tokio::join!(batch.run(), cancel) }).await.unwrap();
    let error = outcomes[0].result().unwrap().outcome.as_ref().unwrap_err().clone();
    assert_eq!(error.kind(), ErrorKind::Cancelled); // P14
    assert!(was_dropped.await.unwrap()); // P14
}

#[tokio::test]
async fn arguments_that_are_null_are_none_and_a_list_is_refused() {
    let server = Recorder::new(Answer::json("{}")).await;
    let set = built(api("get", None).base_url(&server.url));
    call(&set, "op", "null").await.unwrap(); // P13
    call(&set, "op", "").await.unwrap(); // P13
    assert_eq!(server.take().len(), 2);
    let error = call(&set, "op", "[1]").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArguments); // P13
    assert!(error.feedback().contains("expected an object, got the array [1]"), "{}", error.feedback()); // P13
    assert!(server.take().is_empty());
}

#[tokio::test]
async fn a_response_that_does_not_match_its_schema_is_passed_on_and_reported() {
    let schema =
        json!({ "type": "object", "properties": { "id": { "type": "integer" } }, "required": ["id"] });
    for (answer, mismatch) in [
        (Answer::json(r#"{"id":"x"}"#), "/id: expected an integer"),
        (Answer::of(200, "text/html", "<p>"), "expected JSON, received `text/html`"),
        (Answer::json("{"), "invalid JSON"),
    ] {
        let server = Recorder::new(answer).await;
        let set = built(api("get", Some(schema.clone())).base_url(&server.url));
        let executor = Executor::new(registry(&set));
        let events = Events::of(&executor);
        let outcomes = executor.run(vec![ToolCall::new("op", "{}")]).await;
        let result = outcomes[0].result().unwrap();
        let found = result.details().unwrap()["mismatch"].as_str().unwrap().to_owned();
        assert!(!result.is_error() && found.contains(mismatch), "{found}");
        let logged: Vec<_> = events
            .events()
            .unwrap()
            .into_iter()
            .filter_map(|event| match event.kind {
                EventKind::Log { line, .. } => Some(line.message.clone()),
                _ => None,
            })
            .collect();
        assert!(logged.len() == 1 && logged[0].contains(mismatch), "{logged:?}");
        let strict = built(api("get", Some(schema.clone())).strict_responses(true).base_url(&server.url));
        let error = call(&strict, "op", "{}").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidOutput);
        assert!(error.feedback().contains(mismatch), "{error}");
        assert_eq!(error.details().unwrap()["status"], 200);
    }
    let fitting =
        answered(api("get", Some(schema.clone())).strict_responses(true), Answer::json(r#"{"id":1}"#)).await;
    assert_eq!(fitting.details().unwrap().get("mismatch"), None);
    // A failure has another schema.
    let failure =
        answered(api("get", Some(schema)).strict_responses(true), Answer::of(400, "application/json", "[]"))
            .await;
    assert_eq!(failure.details().unwrap().get("mismatch"), None);
}

#[tokio::test]
async fn a_view_shows_some_members_and_no_number_changes() {
    let text = r#"{"total": 12345678901234567890123, "pets": [{"id": 1, "tags": ["a", "b"], "secret": 7}, {"id": 2}], "secret": 8}"#;
    let of = |pointers: &[&str]| {
        let set = api("get", Some(json!({ "type": "object" })));
        answered(set.view("op", pointers.iter().copied()), Answer::json(text))
    };
    let shown = of(&["/total", "/pets/*/id", "/pets/*/tags/0"]).await;
    assert_eq!(body(&shown), r#"{"total":12345678901234567890123,"pets":[{"id":1,"tags":["a"]},{"id":2}]}"#);
    assert_eq!(shown.structured().unwrap()["pets"][1], json!({ "id": 2 }));
    assert_eq!(body(&of(&["/pets/1"]).await), r#"{"pets":[{"id": 2}]}"#);
    assert_eq!(body(&of(&["/none"]).await), "{}");
    let set = api("get", None).view("op", ["/a~1b", "/m~01"]);
    let escaped = answered(set, Answer::json(r#"{"a/b":1,"a~1b":2,"m~1":3,"m/":4}"#)).await;
    assert_eq!(body(&escaped), r#"{"a/b":1,"m~1":3}"#);
    let set =
        api("get", None).view_with("op", |value| json!({ "count": value["pets"].as_array().map(Vec::len) }));
    assert_eq!(body(&answered(set, Answer::json(text)).await), r#"{"count":2}"#);
    // Nothing that the view leaves out is shown where it cannot be computed.
    let set = api("get", None).view("op", ["/total"]).read_limit(40);
    let output = answered(set, Answer::json(text)).await;
    assert!(!output.text().contains("pets") && output.text().contains("too long"), "{}", output.text());
    let remark = |why: &str| format!("[the response is {why}, so that none of its members can be shown]");
    assert!(output.text().contains(&remark("too long")), "{}", output.text());
    let output =
        answered(api("get", None).view("op", ["/total"]), Answer::of(200, "text/plain", "pets")).await;
    assert!(
        !output.text().contains("pets") && output.text().ends_with(&remark("not JSON")),
        "{}",
        output.text()
    );
    let set =
        built(api("get", Some(json!({}))).view("op", ["/a"]).view("other", ["/a"]).base_url("http://h"));
    assert!(set.tools()[0].definition().output_schema().is_none());
    assert!(set.diagnostics().iter().any(|it| it.code == "unknown_view"), "{:?}", set.diagnostics());
    let error = api("get", None).view("op", ["a"]).base_url("http://h").build().unwrap_err();
    assert!(error.to_string().contains("`a` is not a JSON pointer"), "{error}");
}
