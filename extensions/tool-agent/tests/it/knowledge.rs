//! Knowledge of agents.

use std::sync::{Arc, Mutex};

use tool_agent::{
    Agent, AgentKnowledge, Runner, ScriptedModel,
    knowledge::{Knowledge, KnowledgeMatch, KnowledgeQuery, MemoryKnowledge},
    model::Reply,
};
use tool_runtime::{Executor, RunContext, executor::RunSettings, prelude::*, toolbox::Visibility};
use tool_session::{InMemoryStore, NoteContent, SharedMemory, UserKey};

/// Knowledge with prepared matches, which remembers its queries.
#[derive(Clone, Default)]
struct Scripted {
    found: Vec<KnowledgeMatch>,
    queries: Arc<Mutex<Vec<KnowledgeQuery>>>,
}

impl Knowledge for Scripted {
    async fn search(&self, query: &KnowledgeQuery, _: &RunContext) -> Result<Vec<KnowledgeMatch>, ToolError> {
        assert!(!query.text.contains("panic"), "the search panicked");
        self.queries.lock().unwrap().push(query.clone());
        Ok(self.found.clone())
    }
}

fn search(query: &str) -> Reply {
    Reply::call("knowledge_search", json!({ "query": query }))
}

fn filtered(query: &str, filters: Value) -> Reply {
    Reply::call("agentic_knowledge_search", json!({ "query": query, "filters": filters }))
}

/// Returns the results of the searches of a run, and its model.
async fn results_of(
    knowledge: AgentKnowledge,
    replies: impl IntoIterator<Item = Reply>,
    run: RunContext,
) -> (Vec<String>, ScriptedModel) {
    let model = ScriptedModel::new(replies.into_iter().chain([Reply::text("Done.")]));
    let agent = Agent::builder("clerk", model.clone()).knowledge(knowledge).build().unwrap();
    assert_eq!(Runner::new(agent).run_with(run, "Go.").answer().await.unwrap(), "Done.");
    let requests = model.requests();
    let messages = &requests.last().unwrap().messages;
    let results = messages.iter().flat_map(|it| it.tool_results()).map(|it| it.text().into_owned());
    (results.collect(), model)
}

#[tokio::test]
async fn a_model_searches_knowledge_by_tools_that_are_never_hidden() {
    // R28
    let hours = KnowledgeMatch::new("Open\u{200b} from 9 to 17.").with_source("hours\n.md");
    let knowledge = Scripted { found: vec![hours], ..Scripted::default() };
    let queries = Arc::clone(&knowledge.queries);
    let (results, model) =
        results_of(AgentKnowledge::new(knowledge), [search("opening hours"), search(" ")], RunContext::new())
            .await;
    assert_eq!(results[0], r#"{"texts":[{"text":"Open from 9 to 17.","source":"hours\\n.md"}]}"#);
    assert!(results[1].contains("`query` is empty"), "{}", results[1]);
    let queries = queries.lock().unwrap();
    assert_eq!((queries.len(), queries[0].text.as_str(), queries[0].max_matches), (1, "opening hours", 10));
    let tools = model.requests()[0].tools.clone();
    assert!(tools.get("agentic_knowledge_search").is_none());
    let nothing = RunSettings::new().show(Visibility::all().only(["x"]));
    let hidden = Executor::new(tools).with_settings(&RunContext::new(), nothing).unwrap();
    assert!(hidden.tools().get("knowledge_search").is_some());
}

#[tokio::test]
async fn a_model_sets_the_filters_that_there_are_and_changes_none_of_the_programs() {
    // R28
    let knowledge = Scripted::default();
    let queries = Arc::clone(&knowledge.queries);
    let knowledge = AgentKnowledge::new(knowledge)
        .with_max_matches(3)
        .with_filter("topic", "`shop` or `press`")
        .with_filter("team", "the owner")
        .with_fixed_filter("team", "sales");
    let replies = [
        filtered("hours", json!({ "topic": "shop", "team": "board" })),
        filtered("hours", json!({ "secret\n": "x" })),
        filtered("hours", json!({})),
        search("hours"),
    ];
    let (results, model) = results_of(knowledge, replies, RunContext::new()).await;
    assert_eq!(results[0], r#"{"texts":[]}"#);
    let problem =
        r"there is no filter `secret\n`; the filters are `team` (the owner), `topic` (`shop` or `press`)";
    assert!(results[1].contains(problem), "{}", results[1]);
    let queries = queries.lock().unwrap();
    let filters: Vec<_> = queries.iter().map(|query| json!(query.filters)).collect();
    let sales = json!({ "team": "sales" });
    assert_eq!(filters, [json!({ "team": "sales", "topic": "shop" }), sales.clone(), sales]);
    assert_eq!(queries[0].max_matches, 3);
    let instruction = &model.requests()[0].instruction;
    assert!(instruction.contains("- `topic`: `shop` or `press`"), "{instruction}");
}

#[tokio::test]
async fn results_are_bounded_and_a_panic_is_an_error_of_the_call() {
    let mut long = KnowledgeMatch::new("ä".repeat(5_000));
    long.score = Some(f64::NAN);
    let knowledge = Scripted { found: vec![long; 20], ..Scripted::default() };
    let (results, _) =
        results_of(AgentKnowledge::new(knowledge), [search("a"), search("panic")], RunContext::new()).await;
    let found: Value = serde_json::from_str(&results[0]).unwrap();
    let texts = found["texts"].as_array().unwrap();
    assert_eq!((texts.len(), &found["left_out"]), (4, &json!(16)));
    assert_eq!(
        (texts[0]["text"].as_str().unwrap().len(), &texts[0]["left_out_bytes"]),
        (8_192, &json!(1_808))
    );
    assert!(texts[0].get("score").is_none());
    assert!(results[1].contains("The knowledge is not available at present."), "{}", results[1]);
    assert!(!results[1].contains("panicked"));
}

#[tokio::test]
async fn a_match_that_is_left_out_leaves_out_no_later_one() {
    let long = KnowledgeMatch::new("x".repeat(8_000));
    let mut described = KnowledgeMatch::new("described");
    described.metadata.insert("page".into(), json!("y".repeat(40_000)));
    let found = std::iter::once(described).chain(vec![long; 5]).chain([KnowledgeMatch::new("short")]);
    let knowledge = Scripted { found: found.collect(), ..Scripted::default() };
    let (results, _) = results_of(AgentKnowledge::new(knowledge), [search("a")], RunContext::new()).await;
    let found: Value = serde_json::from_str(&results[0]).unwrap();
    let texts = found["texts"].as_array().unwrap();
    assert_eq!(
        (&texts[0]["text"], texts.last().unwrap()),
        (&json!("described"), &json!({ "text": "short" }))
    );
    assert_eq!((&texts[0]["left_out_metadata_bytes"], &texts[0]["metadata"]), (&json!(40_011), &json!(null)));
    assert_eq!((texts.len(), &found["left_out"]), (6, &json!(1)));
    assert!(found["note"].as_str().unwrap().starts_with("1 of 7 texts were left out, since"), "{found}");
    assert!(results[0].len() < 34_000);
}

#[tokio::test]
async fn notes_of_the_user_are_knowledge() {
    let memory = SharedMemory::new(InMemoryStore::new());
    let user = UserKey::new("shop", "u-7").unwrap();
    let mut note = NoteContent::new("The dog of the user is called Rex.");
    note.author = Some("user".into());
    memory.add(&user, &note).await.unwrap();
    memory.add(&user, &NoteContent::new("A dog barked.")).await.unwrap();
    memory.add(&UserKey::new("shop", "u-8").unwrap(), &NoteContent::new("Another dog.")).await.unwrap();
    let knowledge = AgentKnowledge::new(MemoryKnowledge::new(memory))
        .with_filter("author", "the author")
        .with_filter("color", "no filter of notes");
    let replies = [
        search("name of the dog"),
        filtered("dog", json!({ "author": "user" })),
        filtered("dog", json!({ "color": "red" })),
    ];
    let run = RunContext::new().with_app("shop").with_user("u-7");
    let (results, _) = results_of(knowledge, replies, run).await;
    let texts = |result: &str| {
        let found: Value = serde_json::from_str(result).unwrap();
        found["texts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["text"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(texts(&results[0]), ["The dog of the user is called Rex.", "A dog barked."]);
    assert_eq!(texts(&results[1]), ["The dog of the user is called Rex."]);
    assert!(results[1].contains(r#""source":"note 1""#) && results[1].contains(r#""author":"user""#));
    assert!(results[2].contains("notes have no filter `color`"), "{}", results[2]);
}

#[tokio::test]
async fn a_filter_finds_a_note_behind_better_ones_of_others() {
    let memory = SharedMemory::new(InMemoryStore::new());
    let user = UserKey::new("shop", "u-7").unwrap();
    memory.add(&user, &NoteContent::new("A dog.")).await.unwrap();
    let mut note = NoteContent::new("One of the neighbours of the user has a dog, a cat and two birds.");
    note.author = Some("user".into());
    memory.add(&user, &note).await.unwrap();
    let knowledge = AgentKnowledge::new(MemoryKnowledge::new(memory))
        .with_filter("author", "the author")
        .with_max_matches(1);
    let replies = [search("dog"), filtered("dog", json!({ "author": "user" }))];
    let run = RunContext::new().with_app("shop").with_user("u-7");
    let (results, _) = results_of(knowledge, replies, run).await;
    let text = |result: &str| serde_json::from_str::<Value>(result).unwrap()["texts"][0]["text"].clone();
    assert_eq!((text(&results[0]), text(&results[1])), (json!("A dog."), json!(&*note.text)));
}
