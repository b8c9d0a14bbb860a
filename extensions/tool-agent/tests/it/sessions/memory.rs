//! Memory and artifacts of runs, and what is remembered of their sessions.

use tool_agent::{
    Agent, AgentEventKind, Answers, EndReason, MemoryPolicy, Runner, ScriptedModel, model::Reply,
};
use tool_runtime::{Content, RunContext, prelude::*};
use tool_session::{
    EntryNotes, InMemoryStore, Memory, Note, NoteContent, NoteMatch, SessionArtifacts, SessionError,
    SessionKey, SessionMemory, SharedArtifacts, SharedMemory, SharedSessionStore, SqliteOptions, UserKey,
    object_store::memory::InMemory,
    tools::{PreloadMemory, load_artifacts, load_memory, save_artifact, save_memory},
};

use super::world::{Folder, run, start};

/// A store of sessions, and the memory and the artifacts in the same database.
struct Database {
    sessions: SharedSessionStore,
    memory: SharedMemory,
    artifacts: SharedArtifacts,
    _folder: Option<Folder>,
}

async fn databases() -> Vec<Database> {
    let (store, folder) = (InMemoryStore::new(), Folder::new());
    let sqlite = SqliteOptions::new(folder.file()).open().await.unwrap();
    let mut databases = vec![
        Database {
            sessions: store.clone().into(),
            memory: store.clone().into(),
            artifacts: SharedArtifacts::new(store, InMemory::new()),
            _folder: None,
        },
        Database {
            sessions: sqlite.clone().into(),
            memory: sqlite.clone().into(),
            artifacts: SharedArtifacts::new(sqlite, InMemory::new()),
            _folder: Some(folder),
        },
    ];
    #[cfg(unix)]
    if let Some(url) = test_support::postgres::shared_url() {
        let options = tool_session::PostgresOptions::new(&url).unwrap();
        let store = options.schema(test_support::postgres::new_schema()).unwrap().open().await.unwrap();
        databases.push(Database {
            sessions: store.clone().into(),
            memory: store.clone().into(),
            artifacts: SharedArtifacts::new(store, InMemory::new()),
            _folder: None,
        });
    }
    databases
}

impl Database {
    fn runner(&self, replies: impl IntoIterator<Item = Reply>) -> (Runner, ScriptedModel) {
        self.runner_of(self.memory.clone(), replies)
    }

    fn runner_of(
        &self,
        memory: SharedMemory,
        replies: impl IntoIterator<Item = Reply>,
    ) -> (Runner, ScriptedModel) {
        let model = ScriptedModel::new(replies);
        let tools = Registry::builder()
            .tool::<load_memory>()
            .tool::<save_memory>()
            .tool::<save_artifact>()
            .tool::<load_artifacts>()
            .provide_per_run::<SessionMemory>()
            .provide_per_run::<SessionArtifacts>();
        let agent = Agent::builder("friend", model.clone()).tools(tools.build().unwrap()).build().unwrap();
        let runner = Runner::new(agent).with_app("shop").with_store(self.sessions.clone());
        (
            runner.with_memory(memory).with_artifacts(self.artifacts.clone()).remember(MemoryPolicy::new()),
            model,
        )
    }
}

/// The texts of the results in the last message of a request.
fn last_results(model: &ScriptedModel, request: usize) -> String {
    let requests = model.requests();
    let last = requests[request].messages.last().unwrap();
    last.tool_results()
        .flat_map(|result| result.content().to_vec())
        .filter_map(|block| block.as_text().map(str::to_owned))
        .collect()
}

fn query(words: &str) -> Reply {
    Reply::call("load_memory", json!({ "query": words }))
}

// R24
#[tokio::test]
async fn the_request_after_an_artifact_is_loaded_holds_its_content() {
    for database in databases().await {
        let save = Reply::call("save_artifact", json!({ "name": "plan.md", "text": "Buy a lead." }));
        let load = Reply::call("load_artifacts", json!({ "names": ["plan.md"] }));
        let (runner, model) = database.runner([save, load, Reply::text("A lead.")]);
        runner.run_with(run("s"), "Plan.").answer().await.unwrap();
        assert!(last_results(&model, 2).contains("Buy a lead."), "{}", last_results(&model, 2)); // V07
    }
}

// R21 V06
#[tokio::test]
async fn a_later_session_of_the_user_finds_what_an_earlier_one_said_and_no_other_user_does() {
    for database in databases().await {
        let (runner, _) = database.runner([Reply::text("A fine name for a spaniel.")]);
        runner.run_with(run("s"), "My dog is called Rex.").answer().await.unwrap();
        for (user, is_found) in [("u-7", true), ("u-8", false)] {
            let (runner, model) = database.runner([query("dog spaniel"), Reply::text("Well.")]);
            runner.run_with(run("t").with_user(user), "And its name?").answer().await.unwrap();
            let found = last_results(&model, 1);
            for text in ["My dog is called Rex.", "A fine name for a spaniel."] {
                assert_eq!(found.contains(text), is_found, "{found}");
            }
        }
    }
}

// R22
#[tokio::test]
async fn preloaded_notes_are_in_the_request_of_a_later_session_of_the_user_alone() {
    for database in databases().await {
        let (runner, _) = database.runner([Reply::text("A fine name.")]);
        runner.run_with(run("s"), "My dog is called Rex.").answer().await.unwrap();
        for (user, is_found) in [("u-7", true), ("u-8", false)] {
            let model = ScriptedModel::new([Reply::text("Rex.")]);
            let tools = Registry::builder().request_hook(PreloadMemory::new(database.memory.clone()));
            let agent =
                Agent::builder("friend", model.clone()).tools(tools.build().unwrap()).build().unwrap();
            let runner = Runner::new(agent).with_app("shop");
            runner.run_with(run("t").with_user(user), "How is my dog called?").answer().await.unwrap();
            let instruction = &model.requests()[0].instruction;
            assert_eq!(instruction.contains("My dog is called Rex."), is_found, "{instruction}");
        }
    }
}

/// Barks.
#[tool(register = false, confirm)]
fn bark() -> String {
    "Woof".to_owned()
}

// R22
#[tokio::test]
async fn preloaded_notes_are_in_the_request_of_a_run_that_continues() {
    for database in databases().await {
        let (runner, _) = database.runner([Reply::text("A fine name.")]);
        runner.run_with(run("s"), "My dog is called Rex.").answer().await.unwrap();
        let friend = |model: &ScriptedModel| {
            let tools =
                Registry::builder().tool::<bark>().request_hook(PreloadMemory::new(database.memory.clone()));
            let agent =
                Agent::builder("friend", model.clone()).tools(tools.build().unwrap()).build().unwrap();
            Runner::new(agent).with_app("shop")
        };
        let model = ScriptedModel::new([Reply::call("bark", json!({})), Reply::text("Rex.")]);
        let runner = friend(&model);
        let end = runner.run_with(run("t"), "How is my dog called?").end().await;
        assert_eq!(end.reason, EndReason::OpenCalls);
        let answers = Answers::new().approve(end.open[0].address().unwrap());
        assert_eq!(runner.resume(run("t"), answers).answer().await.unwrap(), "Rex.");
        for request in model.requests() {
            assert!(request.instruction.contains("My dog is called Rex."), "{}", request.instruction);
        }
    }
}

#[tokio::test]
async fn a_session_is_remembered_once_and_its_notes_are_deleted_with_it() {
    for database in databases().await {
        let notes = async || {
            let user = UserKey::new("shop", "u-7").unwrap();
            let found = database.memory.search(&user, "dog", 10).await.unwrap();
            found.iter().map(|it| it.note.content.text.to_string()).collect::<Vec<_>>()
        };
        let (runner, _) = database.runner([Reply::text("a"), Reply::text("b")]);
        runner.run_with(run("s"), "My dog is called Rex.").answer().await.unwrap();
        runner.run_with(run("s"), "It barks.").answer().await.unwrap();
        assert_eq!(notes().await, ["My dog is called Rex."]);
        assert!(runner.remove_session(&run("s")).await);
        assert!(notes().await.is_empty());
    }
}

#[tokio::test]
async fn the_messages_of_a_run_of_several_agents_are_remembered() {
    for database in databases().await {
        let speaker = |name: &str, text: &str| {
            Agent::builder(name, ScriptedModel::new([Reply::text(text)])).build().unwrap()
        };
        let steps = [speaker("first", "A spaniel."), speaker("second", "A terrier.")];
        let runner = Runner::new(Agent::sequence("steps", steps).build().unwrap())
            .with_app("shop")
            .with_store(database.sessions.clone())
            .with_memory(database.memory.clone())
            .remember(MemoryPolicy::new());
        runner.run_with(run("s"), "My dog is called Rex.").answer().await.unwrap();
        let user = UserKey::new("shop", "u-7").unwrap();
        for (query, text) in
            [("dog", "My dog is called Rex."), ("spaniel", "A spaniel."), ("terrier", "A terrier.")]
        {
            let found = database.memory.search(&user, query, 10).await.unwrap();
            let texts: Vec<_> = found.iter().map(|it| &*it.note.content.text).collect();
            assert_eq!(texts, [text], "{query}");
        }
    }
}

#[tokio::test]
async fn neither_results_nor_messages_of_failed_runs_are_remembered() {
    for database in databases().await {
        let failing = Reply::error(tool_agent::model::ModelErrorKind::InvalidRequest, "no");
        let save = Reply::call("save_artifact", json!({ "name": "zebra", "text": "zebra" }));
        let (runner, _) = database.runner([failing, save, Reply::text("Saved.")]);
        let end = runner.run_with(run("s"), "A lion and a zebra.").end().await;
        assert!(matches!(end.reason, EndReason::ModelFailed { .. }), "{end:?}");
        runner.run_with(run("s"), "Save the animal.").answer().await.unwrap();
        let user = UserKey::new("shop", "u-7").unwrap();
        assert!(database.memory.search(&user, "zebra lion", 10).await.unwrap().is_empty());
        assert_eq!(database.memory.search(&user, "animal", 10).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_run_that_was_recovered_under_another_id_is_remembered_with_its_question() {
    for database in databases().await {
        let (runner, _) = database.runner([Reply::text("A spaniel.")]);
        let waiting = runner.clone().with_hook(tool_agent::hook::before_model(|_| std::future::pending()));
        start(&mut waiting.run_with(run("s").with_id("asked"), "My dog is called Rex.")).await;
        runner.recover(run("s").with_id("recovered")).answer().await.unwrap();
        let user = UserKey::new("shop", "u-7").unwrap();
        for (query, text) in [("dog", "My dog is called Rex."), ("spaniel", "A spaniel.")] {
            let found = database.memory.search(&user, query, 10).await.unwrap();
            let found: Vec<_> = found.iter().map(|it| &*it.note.content.text).collect();
            assert_eq!(found, [text]);
        }
    }
}

#[tokio::test]
async fn a_fork_remembers_its_own_messages_and_not_those_of_its_original() {
    for database in databases().await {
        let (runner, _) = database.runner([Reply::text("A spaniel."), Reply::text("A poodle.")]);
        runner.run_with(run("s"), "My dog is called Rex.").answer().await.unwrap();
        let original = SessionKey::new("shop", "u-7", "s").unwrap();
        // With the question and the answer of the original.
        database.sessions.fork(&original, 2, "t").await.unwrap();
        runner.run_with(run("t"), "Your dog is called Bella.").answer().await.unwrap();
        let user = UserKey::new("shop", "u-7").unwrap();
        for (query, texts) in [
            ("dog called", &["My dog is called Rex.", "Your dog is called Bella."][..]),
            ("spaniel", &["A spaniel."]),
            ("poodle", &["A poodle."]),
        ] {
            let found = database.memory.search(&user, query, 10).await.unwrap();
            let mut found: Vec<_> = found.iter().map(|it| &*it.note.content.text).collect();
            found.sort_unstable();
            assert_eq!(found, texts, "{query}");
        }
    }
}

// V06
#[tokio::test]
async fn a_call_in_a_run_without_a_user_is_answered_with_an_error_that_says_so() {
    for database in databases().await {
        let (runner, model) = database.runner([query("dog"), Reply::text("I do not know.")]);
        let anonymous = RunContext::new().with_session("s");
        runner.run_with(anonymous, "How is my dog called?").answer().await.unwrap();
        let requests = model.requests();
        let text = requests[1].messages.last().unwrap().tool_results().next().unwrap().text().into_owned();
        assert!(text.contains("the run has no user"), "{text}");
    }
}

/// No arguments.
#[tool_args]
struct Empty {}

/// Runs a friend below a call, and returns what it finds about a dog: for `user`, with `handle`.
async fn notes_of_child(database: &Database, user: &str, handle: Option<SessionMemory>) -> String {
    let (friend, model) = database.runner([query("dog"), Reply::text("Well.")]);
    let user = user.to_owned();
    let ask =
        ToolBuilder::new("ask").description("Asks a friend.").handler(move |_: Empty, cx: ToolContext| {
            let (friend, user, handle) = (friend.clone(), user.clone(), handle.clone());
            async move {
                let child = cx.child_run("friend")?.with_user(user).with_session("below");
                let child = match handle {
                    Some(handle) => child.provide(handle),
                    None => child,
                };
                friend.run_with(child, "How is the dog called?").answer().await.or_tool_error()
            }
        });
    let tools = Registry::builder().add(ask.unwrap()).build().unwrap();
    let parent = ScriptedModel::new([Reply::call("ask", json!({})), Reply::text("Well.")]);
    let parent = Agent::builder("parent", parent).tools(tools).build().unwrap();
    let runner = Runner::new(parent).with_app("shop").with_memory(database.memory.clone());
    runner.run_with(run("parent"), "Ask.").answer().await.unwrap();
    let requests = model.requests();
    requests[1].messages.last().unwrap().tool_results().map(|result| result.text().into_owned()).collect()
}

// V06
#[tokio::test]
async fn a_run_below_a_call_has_the_memory_of_its_own_user_unless_its_caller_gives_it_another() {
    for database in databases().await {
        for (user, dog) in [("u-7", "Rex"), ("u-8", "Bello")] {
            let (runner, _) = database.runner([Reply::text("Good.")]);
            let text = format!("My dog is called {dog}.");
            runner.run_with(run(dog).with_user(user), text).answer().await.unwrap();
        }
        let found = notes_of_child(&database, "u-8", None).await;
        assert!(found.contains("Bello") && !found.contains("Rex"), "{found}");
        let handle = database.memory.for_user(&UserKey::new("shop", "u-7").unwrap());
        let found = notes_of_child(&database, "u-8", Some(handle)).await;
        assert!(found.contains("Rex") && !found.contains("Bello"), "{found}");
        let found = notes_of_child(&database, "", None).await;
        assert!(found.contains("the run has no user") && !found.contains("Rex"), "{found}");
    }
}

/// A memory that cannot be reached.
struct Failing;

fn unavailable<T>() -> Result<T, SessionError> {
    Err(SessionError::Unavailable("the disk is gone".to_owned()))
}

impl Memory for Failing {
    async fn add_note(&self, _: &UserKey, _: &NoteContent) -> Result<Note, SessionError> {
        unavailable()
    }

    async fn last_noted_entry(&self, _: &SessionKey) -> Result<u64, SessionError> {
        unavailable()
    }

    async fn add_entry_notes(&self, _: &SessionKey, _: &EntryNotes) -> Result<bool, SessionError> {
        unavailable()
    }

    async fn search_notes(&self, _: &UserKey, _: &str, _: usize) -> Result<Vec<NoteMatch>, SessionError> {
        unavailable()
    }

    async fn delete_note(&self, _: &UserKey, _: u64) -> Result<bool, SessionError> {
        unavailable()
    }

    async fn delete_notes(&self, _: &UserKey) -> Result<u64, SessionError> {
        unavailable()
    }
}

#[tokio::test]
async fn a_memory_that_fails_costs_a_notice_and_not_the_answer() {
    for database in databases().await {
        let (runner, _) = database.runner_of(SharedMemory::new(Failing), [Reply::text("A fine name.")]);
        let (mut events, mut notices) = (runner.run_with(run("s"), "My dog is called Rex."), Vec::new());
        let mut end = None;
        while let Some(event) = events.next().await {
            match event.kind {
                AgentEventKind::Notice { text } => notices.push(text),
                AgentEventKind::Ended { end: last } => end = Some(last),
                _ => {}
            }
        }
        let end = end.unwrap();
        assert_eq!((end.reason, end.text.as_str()), (EndReason::Answered, "A fine name."));
        assert_eq!(notices.len(), 1);
        assert!(
            notices[0].contains("not added to memory") && notices[0].contains("the disk is gone"),
            "{notices:?}"
        );
        // The next run of the session adds it.
        let (runner, _) = database.runner([Reply::text("Good.")]);
        runner.run_with(run("s"), "It barks.").answer().await.unwrap();
        let user = UserKey::new("shop", "u-7").unwrap();
        assert_eq!(database.memory.search(&user, "Rex", 10).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn added_content_is_a_message_of_a_model_without_a_dialect() {
    let hook = tool_runtime::request::request_fn(|request| async move {
        request.add_content([Content::text("The map:"), Content::image(vec![1], "image/png")]);
        request.add_content([]);
        Ok(())
    });
    let model = ScriptedModel::new([Reply::text("North.")]);
    let tools = Registry::builder().request_hook(hook).build().unwrap();
    let agent = Agent::builder("guide", model.clone()).tools(tools).build().unwrap();
    Runner::new(agent).run("Where?").answer().await.unwrap();
    let messages = &model.requests()[0].messages;
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[1].content(), [Content::text("The map:"), Content::image(vec![1], "image/png")]); // R24
}
