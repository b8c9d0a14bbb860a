//! Limits at their exact values.

use serde_json::{Value, json};
use tool_mcp::server::McpServer;
use tool_runtime::{CancellationToken, prelude::*};

use super::{
    BOTH, connect, modern,
    questions::Reading,
    serve,
    streams::{call, open, raw},
    text,
};

/// Returns its text.
#[tool(register = false)]
fn echo(text: String) -> String {
    text
}

/// Deletes a file.
#[tool(register = false, confirm)]
fn delete(file: String) -> String {
    file
}

/// Removes a file.
#[tool(register = false, confirm, title = "Throw away")]
fn remove(file: String) -> String {
    file
}

fn server() -> McpServer {
    McpServer::new(Registry::builder().tool::<echo>().build().unwrap())
}

#[tokio::test]
async fn a_body_has_as_many_bytes_as_the_limit() {
    let [_, version] = BOTH;
    let request = modern("tools/call", json!({ "name": "echo", "arguments": { "text": "x".repeat(5_000) } }));
    let bytes = request.to_string().len();
    for (limit, status) in [(bytes, 200), (bytes - 1, 413)] {
        let served = serve(server().max_request(limit).http().unwrap()).await;
        let answer = served.post(&request, &version).send().await.unwrap();
        assert_eq!(answer.status(), status, "{limit}");
    }
}

#[tokio::test]
async fn a_line_has_as_many_bytes_as_the_limit() {
    for version in BOTH {
        let mut long = call(&version, "echo");
        long["id"] = json!(8);
        long["params"]["arguments"] = json!({ "text": "x".repeat(5_000) });
        let mut short = call(&version, "echo");
        short["id"] = json!(9);
        short["params"]["arguments"] = json!({ "text": "short" });
        // With the line break.
        let bytes = long.to_string().len() + 1;
        for (limit, ids) in [(bytes, vec![8, 9]), (bytes - 1, vec![9])] {
            let (mut client, _served) = raw(server().max_request(limit), CancellationToken::new());
            open(&mut client, &version).await;
            client.send(&long).await;
            let mut answered: Vec<Value> = Vec::new();
            if ids.len() == 2 {
                answered.push(client.receive().await["id"].clone());
            }
            client.send(&short).await;
            answered.push(client.receive().await["id"].clone());
            assert_eq!(answered, ids, "{limit}");
        }
    }
}

#[tokio::test]
async fn a_question_shows_16_000_characters_of_a_call() {
    for version in BOTH {
        let user = Reading::default();
        let tools = Registry::builder().tool::<delete>().tool::<remove>().build().unwrap();
        let it = connect(tools, user.clone(), version).await;
        let ask = async |tool: &str, file: String| {
            user.0.lock().unwrap().clear();
            let result = it.call(tool, json!({ "file": file })).await;
            (user.0.lock().unwrap().clone(), text(&result))
        };
        let (question, answer) = ask("delete", "a.txt".to_owned()).await;
        assert!(question.ends_with("\ndelete {\"file\":\"a.txt\"}"), "{question}");
        assert!(answer.contains("the user declined"), "{answer}");
        let (question, _) = ask("remove", "a.txt".to_owned()).await;
        assert!(question.ends_with("\nremove (Throw away) {\"file\":\"a.txt\"}"), "{question}");
        let most = 16_000 - "delete {\"file\":\"\"}".len();
        let (question, _) = ask("delete", "x".repeat(most)).await;
        assert!(question.len() > 16_000);
        let (question, answer) = ask("delete", "x".repeat(most + 1)).await;
        assert!(question.is_empty() && answer.contains("a person can be shown 16000 characters"), "{answer}");
    }
}
