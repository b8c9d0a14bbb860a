//! The embedder over HTTP, with a local server.

use test_support::http::{Answer, Recorder};
use tool_builtins::tool_search::{Embedder, Embeddings, HttpEmbedder};
use tool_http::{AddressPolicy, HttpClient};
use tool_runtime::prelude::*;

use super::run;

async fn embed(answer: Answer, base_path: &str) -> (Result<Embeddings, String>, Recorder) {
    let server = Recorder::new(answer).await;
    let embedder =
        HttpEmbedder::new(&format!("{}{base_path}", server.url), "small").unwrap().with_key("k-1").unwrap();
    let texts = ["one".to_owned(), "two".to_owned()];
    assert_eq!(embedder.model(), "small");
    let embeddings = embedder.embed(&texts).await.map_err(|error| error.to_string());
    assert!(!format!("{embedder:?}").contains("k-1"));
    (embeddings, server)
}

// T05
#[test]
fn texts_are_sent_to_the_route_of_embeddings_and_vectors_are_in_the_order_of_texts() {
    run(async {
        for base_path in ["", "/", "/v1", "/v1/"] {
            let answer = r#"{"data":[{"index":1,"embedding":[0.5,2]},{"index":0,"embedding":[1,-1.5]}],"model":"small"}"#;
            let (embeddings, server) = embed(Answer::json(answer), base_path).await;
            assert_eq!(embeddings.unwrap().vectors, [[1.0, -1.5], [0.5, 2.0]]);
            let request = &server.take()[0];
            assert_eq!((&*request.method, &*request.target), ("POST", "/v1/embeddings"));
            assert_eq!(request.header("authorization"), Some("Bearer k-1"));
            let expected = json!({ "model": "small", "input": ["one", "two"], "encoding_format": "float" });
            assert_eq!(request.json(), expected);
        }
    });
}

// T09
#[test]
fn the_tokens_of_an_answer_are_read_if_it_has_them() {
    run(async {
        for (usage, expected) in [
            (r#","usage":{"prompt_tokens":8,"total_tokens":9}"#, Some(8)),
            (r#","usage":{"total_tokens":9}"#, Some(9)),
            (r#","usage":{"prompt_tokens":"many"}"#, None),
            (r#","usage":null"#, None),
            ("", None),
        ] {
            let answer = format!(r#"{{"data":[{{"index":0,"embedding":[1]}}]{usage}}}"#);
            let (embeddings, _) = embed(Answer::json(&answer), "").await;
            assert_eq!(
                embeddings.unwrap(),
                expected.map_or(Embeddings::new([vec![1.0]]), |tokens| {
                    Embeddings::new([vec![1.0]]).with_tokens(tokens)
                }),
                "{usage}"
            );
        }
    });
}

#[test]
fn answers_without_vectors_are_errors() {
    run(async {
        for (answer, expected) in [
            (Answer::of(500, "text/plain", "down"), "status 500"),
            (Answer::of(302, "text/plain", "").with_header("location", "http://127.0.0.1:1/"), "status 302"),
            (Answer::json("{}"), "no embeddings"),
            (Answer::json(r#"{"data":[{"index":0,"embedding":["a"]}]}"#), "no embeddings"),
        ] {
            let error = embed(answer, "").await.0.unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        for base in ["", "api.example.com", "ftp://api.example.com", "https://user:secret@example.com"] {
            let error = HttpEmbedder::new(base, "small").unwrap_err().to_string();
            assert!(error.contains("base URL") && !error.contains("secret"), "{error}");
        }
    });
}

#[test]
fn an_embedder_is_built_of_a_plain_base_url_and_a_key_that_a_header_can_have() {
    for base in
        ["https://example.com/?a=1", "https://example.com/#a", "https://:b@example.com", "file:///tmp"]
    {
        let error = HttpEmbedder::new(base, "small").unwrap_err().to_string();
        assert!(error.ends_with("is not valid; write it like `https://api.example.com`"), "{base}: {error}");
    }
    let error =
        HttpEmbedder::new("https://example.com", "small").unwrap().with_key("a\nb").unwrap_err().to_string();
    assert!(error.ends_with("the key of the embedder has characters that a header cannot have"), "{error}");
}

#[test]
fn a_request_without_a_key_has_none_and_the_client_of_the_program_is_used() {
    run(async {
        let server = Recorder::new(Answer::json(r#"{"data":[{"index":0,"embedding":[1]}]}"#)).await;
        let embedder = HttpEmbedder::new(&server.url, "small").unwrap();
        let texts = ["one".to_owned()];
        assert_eq!(embedder.embed(&texts).await.unwrap(), Embeddings::new([vec![1.0]]));
        let request = &server.take()[0];
        assert_eq!(request.header("authorization"), None);
        assert_eq!(request.header("content-type"), Some("application/json"));
        // A client of public addresses alone reaches no server of this machine.
        let client = HttpClient::builder().addresses(AddressPolicy::public()).build().unwrap();
        assert!(embedder.with_client(client).embed(&texts).await.is_err());
        assert!(server.take().is_empty());
    });
}

#[test]
fn an_error_of_the_server_may_be_repeated_and_one_of_the_request_may_not() {
    run(async {
        for (status, is_retryable) in [(500, true), (503, true), (400, false), (302, false)] {
            let server = Recorder::new(Answer::of(status, "text/plain", "")).await;
            let error = HttpEmbedder::new(&server.url, "small").unwrap().embed(&[]).await.unwrap_err();
            assert!(error.to_string().ends_with(&format!("the embedder failed: status {status}")), "{error}");
            assert_eq!(error.is_retryable(), is_retryable, "{status}");
        }
    });
}

#[test]
fn an_answer_is_read_up_to_32_mib() {
    run(async {
        let answer = r#"{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[2]}]}"#;
        for (bytes, expected) in [
            (32 << 20, Ok(Embeddings::new([vec![1.0], vec![2.0]]))),
            (
                (32 << 20) + 1,
                Err("tool failed: the embedder failed: its answer is larger than 33554432 bytes".to_owned()),
            ),
        ] {
            let blanks = " ".repeat(bytes - answer.len());
            assert_eq!(embed(Answer::json(&format!("{answer}{blanks}")), "").await.0, expected);
        }
    });
}
