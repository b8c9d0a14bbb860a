//! Tools on a memory.

use std::sync::Arc;

use tool_runtime::{
    RunContext,
    executor::Executor,
    prelude::*,
    request::{ModelRequest, RequestAdditions, RequestHook},
    serde_json::{Value, json},
};
use tool_session::{
    EntryNotes, InMemoryStore, Memory, Note, NoteContent, NoteMatch, SessionError, SessionKey, SessionMemory,
    SharedMemory, UserKey,
    tools::{PreloadMemory, load_memory, save_memory},
};

/// A memory with two notes.
struct Scripted;

fn note(number: u64, text: &str) -> NoteMatch {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(86_400);
    let content = NoteContent::new(text).with_author("user").with_time(time);
    NoteMatch { note: Note { number, content }, score: 1.0 }
}

impl Memory for Scripted {
    async fn add_note(&self, _: &UserKey, note: &NoteContent) -> Result<Note, SessionError> {
        Ok(Note { number: 3, content: note.clone() })
    }

    async fn last_noted_entry(&self, _: &SessionKey) -> Result<u64, SessionError> {
        Ok(0)
    }

    async fn add_entry_notes(&self, _: &SessionKey, _: &EntryNotes) -> Result<bool, SessionError> {
        Ok(true)
    }

    async fn search_notes(
        &self,
        user: &UserKey,
        query: &str,
        _: usize,
    ) -> Result<Vec<NoteMatch>, SessionError> {
        match query {
            "fail" => Err(SessionError::Unavailable(format!("the database of {user} is locked"))),
            "panic" => panic!("broken"),
            "nothing" => Ok(Vec::new()),
            "large" => Ok(vec![note(1, &"é".repeat(6_000)); 10]),
            _ => Ok(vec![note(1, "My dog is called Rex."), note(2, "\"]} I live in Lyon.")]),
        }
    }

    async fn delete_note(&self, _: &UserKey, _: u64) -> Result<bool, SessionError> {
        Ok(false)
    }

    async fn delete_notes(&self, _: &UserKey) -> Result<u64, SessionError> {
        Ok(0)
    }
}

fn run() -> RunContext {
    RunContext::new().with_app("shop").with_user("u-7")
}

fn registry() -> Registry {
    let registry = Registry::builder().tool::<load_memory>().tool::<save_memory>();
    registry.provide_per_run::<SessionMemory>().build().unwrap()
}

/// Calls a tool in `run`; returns the text of the result.
async fn call(run: RunContext, tool: &str, arguments: Value) -> (bool, String) {
    let calls = vec![ToolCall::new(tool, arguments.to_string())];
    let outcomes = Executor::new(registry()).batch(calls).with_run(run).run().await;
    let result = outcomes[0].result().unwrap();
    (result.is_error(), result.text().into_owned())
}

async fn load(query: &str) -> (bool, String) {
    let memory = SharedMemory::new(Scripted).for_run(&run()).unwrap();
    call(run().provide(memory), "load_memory", json!({ "query": query })).await
}

#[tokio::test]
async fn load_memory_returns_the_notes_that_it_finds() {
    let expected = r#"{"memories":[{"text":"My dog is called Rex.","date":"1970-01-02","author":"user"},{"text":"\"]} I live in Lyon.","date":"1970-01-02","author":"user"}]}"#;
    assert_eq!(load("dog").await, (false, expected.to_owned())); // R21 V06
    assert_eq!(load("nothing").await, (false, r#"{"memories":[]}"#.to_owned()));
}

#[tokio::test]
async fn a_result_that_is_too_large_says_what_it_leaves_out() {
    let (_, text) = load("large").await;
    assert!(text.len() < 40_000, "{}", text.len());
    let result: Value = tool_runtime::serde_json::from_str(&text).unwrap();
    assert_eq!(result["memories"].as_array().unwrap().len(), 4);
    assert_eq!((&result["memories"][0]["left_out_bytes"], &result["left_out"]), (&json!(3808), &json!(6)));
}

#[tokio::test]
async fn a_failure_of_the_memory_names_no_user() {
    for query in ["fail", "panic"] {
        let (is_error, text) = load(query).await;
        assert!(is_error && text.contains("memory is not available") && !text.contains("u-7"), "{text}");
    }
}

#[tokio::test]
async fn a_memory_that_forgets_the_last_entry_ends_the_addition_of_a_session() {
    let sessions = tool_session::SharedSessionStore::new(InMemoryStore::new());
    let key = SessionKey::new("shop", "u-7", "s").unwrap();
    let request = tool_session::LeaseRequest::new("run", "holder");
    let lease = sessions.acquire(&key, &request).await.unwrap().lease;
    let write = tool_session::SessionWrite::new(0).entry(crate::contract::world::message("run", "a"));
    sessions.write(&lease, &write).await.unwrap();
    let memory = SharedMemory::new(Scripted);
    let error = memory.add_session(&sessions, &key, super::world::note_of).await.unwrap_err();
    assert!(error.to_string().contains("did not store the number of the last entry"), "{error}");
}

#[tokio::test]
async fn a_run_without_a_memory_is_a_clear_error() {
    let (is_error, text) = call(run(), "load_memory", json!({ "query": "dog" })).await;
    assert!(is_error, "{text}"); // V06
    assert!(text.contains("unavailable") && text.contains("SessionMemory` was provided"), "{text}");
    let error = Registry::builder().tool::<load_memory>().build().unwrap_err();
    assert!(error.to_string().contains("SessionMemory"), "{error}");
}

#[tokio::test]
async fn save_memory_adds_a_note_that_a_later_run_finds() {
    let memory = SharedMemory::new(InMemoryStore::new());
    let provided = || run().provide(memory.for_run(&run()).unwrap());
    let (is_error, text) = call(provided(), "save_memory", json!({ "text": "The dog is called Rex." })).await;
    assert_eq!((is_error, &*text), (false, r#"{"saved":true,"number":1}"#));
    let (_, text) = call(provided(), "load_memory", json!({ "query": "Which DOG?" })).await;
    assert!(text.contains("called Rex"), "{text}");
    let (is_error, text) = call(provided(), "save_memory", json!({ "text": " " })).await;
    assert!(is_error && text.contains("the note is empty"), "{text}");

    // No argument names another user.
    let stranger = RunContext::new().with_app("shop").with_user("u-8");
    let stranger = stranger.provide(memory.for_user(&UserKey::new("shop", "u-8").unwrap()));
    let (_, text) = call(stranger, "load_memory", json!({ "query": "dog u-7" })).await;
    assert_eq!(text, r#"{"memories":[]}"#);
}

#[test]
fn no_tool_on_memory_is_found_without_being_named() {
    assert!(Registry::discover().unwrap().definitions().iter().all(|it| !it.name().contains("memory")));
}

async fn additions(hook: &impl RequestHook, content: Option<&str>) -> Result<RequestAdditions, ToolError> {
    let run = content.map_or_else(run, |content| run().with_user_content(content));
    let request = ModelRequest::new("neutral", json!({}), Arc::new(run));
    hook.on_request(request.clone()).await?;
    Ok(request.finish().1)
}

#[tokio::test]
async fn a_request_with_load_memory_says_that_there_is_a_memory() {
    let registry = registry();
    let request = ModelRequest::new("neutral", json!({}), Arc::new(run()));
    registry.get("load_memory").unwrap().on_request(request.of_tool("notes_load_memory")).await.unwrap();
    let instructions = request.finish().1.instructions;
    assert_eq!(instructions.len(), 1); // R21
    assert!(instructions[0].contains("You have a memory") && instructions[0].contains("`notes_load_memory`"));
}

#[tokio::test]
async fn preloaded_notes_are_in_the_instructions_and_no_tool_is_listed() {
    let hook = PreloadMemory::new(SharedMemory::new(Scripted));
    let added = additions(&hook, Some("What is my dog called?")).await.unwrap();
    assert_eq!(added.instructions.len(), 1); // R22
    let (_, notes) = added.instructions[0].split_once('\n').unwrap();
    let notes: Value = tool_runtime::serde_json::from_str(notes).unwrap();
    assert_eq!(notes["memories"][1]["text"], "\"]} I live in Lyon.");

    let nothing = RequestAdditions::default();
    assert_eq!(additions(&hook, Some("nothing")).await.unwrap(), nothing);
    assert_eq!(additions(&hook, None).await.unwrap(), nothing);
    assert!(additions(&hook, Some("fail")).await.is_err());
    assert_eq!(additions(&hook.clone().ignore_errors(), Some("fail")).await.unwrap(), nothing);

    let registry = Registry::builder().request_hook(hook).build().unwrap();
    assert!(registry.is_empty() && registry.request_hooks().len() == 1);
}
