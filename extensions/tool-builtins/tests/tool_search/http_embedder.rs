//! The embedder over HTTP, with a local server.

use test_support::http::{Answer, Recorder};
use tool_builtins::tool_search::{Embedder, Embeddings, HttpEmbedder};
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
