//! The notes that a tool or a request has, exactly at their limits.

use std::sync::Arc;

use tool_runtime::{
    RunContext,
    executor::Executor,
    prelude::*,
    request::{ModelRequest, RequestHook},
    serde_json::{self, Value, json},
};
use tool_session::{
    InMemoryStore, SessionMemory, SharedMemory,
    tools::{PreloadMemory, load_memory},
};

fn run() -> RunContext {
    RunContext::new().with_app("shop").with_user("u-7")
}

/// A memory with notes of these texts, each of which has the word `dog`, and separators that are none.
async fn memory(texts: &[String]) -> SharedMemory {
    let memory = SharedMemory::new(InMemoryStore::new());
    for text in texts {
        memory.for_run(&run()).unwrap().add(&**text).await.unwrap();
    }
    memory
}

/// The result of a search, whose notes are the newest first.
async fn found(texts: &[String]) -> Value {
    let memory = memory(texts).await.for_run(&run()).unwrap();
    let tools = Registry::builder().tool::<load_memory>().provide_per_run::<SessionMemory>().build().unwrap();
    let calls = vec![ToolCall::new("load_memory", json!({ "query": "dog" }).to_string())];
    let outcomes = Executor::new(tools).batch(calls).with_run(run().provide(memory)).run().await;
    serde_json::from_str(&outcomes[0].result().unwrap().text()).unwrap()
}

fn text_of(bytes: usize) -> String {
    format!("dog{}", ".".repeat(bytes - 3))
}

#[tokio::test]
async fn a_note_is_shown_up_to_8_kib_between_characters() {
    let wide = |blanks: usize| format!("dog{}{}", ".".repeat(blanks), "🙂".repeat(2_048));
    for (text, shown, left_out) in [
        (text_of(8_192), 8_192, None),
        (text_of(8_193), 8_192, Some(1)),
        (text_of(20_000), 8_192, Some(11_808)),
        // Each face has four bytes.
        (wide(1), 8_192, Some(4)),
        (wide(2), 8_189, Some(8)),
    ] {
        let result = found(std::slice::from_ref(&text)).await;
        let note = &result["memories"][0];
        assert_eq!(note["text"].as_str(), text.get(..shown), "{shown}");
        assert_eq!(note.get("left_out_bytes").and_then(Value::as_u64), left_out, "{shown}");
        assert_eq!(result.get("left_out"), None);
    }
}

#[tokio::test]
async fn a_result_has_ten_notes_of_32_kib() {
    for (sizes, shown, left_out) in [
        (&[3; 10][..], 10, None),
        // The search itself finds no more.
        (&[3; 12], 10, None),
        (&[8_192; 4], 4, None),
        (&[3, 8_192, 8_192, 8_192, 8_192], 4, Some(1)),
        (&[3, 8_189, 8_192, 8_192, 8_192], 5, None),
        (&[3, 3, 8_189, 8_192, 8_192, 8_192], 5, Some(1)),
        (&[4, 8_189, 8_192, 8_192, 8_192], 4, Some(1)),
    ] {
        let texts: Vec<_> = sizes.iter().map(|bytes| text_of(*bytes)).collect();
        let result = found(&texts).await;
        assert_eq!(result["memories"].as_array().unwrap().len(), shown, "{sizes:?}");
        assert_eq!(result.get("left_out").and_then(Value::as_u64), left_out, "{sizes:?}");
    }
}

#[tokio::test]
async fn a_request_has_five_notes_unless_another_number_is_set() {
    let texts: Vec<_> = (1..=7).map(|number| format!("dog {number}")).collect();
    let memory = memory(&texts).await;
    let hook = PreloadMemory::new(memory);
    for (hook, count) in [(hook.clone(), 5), (hook.clone().with_max_notes(2), 2), (hook.with_max_notes(9), 7)]
    {
        let request = ModelRequest::new("neutral", json!({}), Arc::new(run().with_user_content("dog")));
        hook.on_request(request.clone()).await.unwrap();
        let instructions = request.finish().1.instructions;
        let (_, notes) = instructions[0].split_once('\n').unwrap();
        let notes: Value = serde_json::from_str(notes).unwrap();
        let shown = notes["memories"].as_array().unwrap();
        let shown: Vec<_> = shown.iter().map(|note| note["text"].as_str().unwrap()).collect();
        let newest: Vec<_> = texts.iter().rev().take(count).map(String::as_str).collect();
        assert_eq!((shown, &notes["leftOut"]), (newest, &Value::Null)); // R22
    }
}
