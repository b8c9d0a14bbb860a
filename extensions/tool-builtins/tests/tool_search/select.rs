//! Selections of the tools of each request.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tool_agent::{
    Agent, AgentTools, EndReason, Runner, ScriptedModel,
    model::{Reply, Request, SharedModel},
};
use tool_builtins::{
    ToolSearch,
    tool_search::{Embedder, Embeddings, SelectTools},
};
use tool_runtime::{RunContext, Toolbox, dialect::Usage, prelude::*, toolbox::Visibility};

use super::{Fixed, run, tools_of};

/// Ten tools, `a` to `j`.
pub(super) fn ten() -> [(&'static str, &'static str); 10] {
    [
        ("a", "Returns the weather."),
        ("b", "Sends letters."),
        ("c", "Counts sheep."),
        ("d", "Paints fences."),
        ("e", "Bakes bread."),
        ("f", "Cuts grass."),
        ("g", "Feeds cats."),
        ("h", "Walks dogs."),
        ("i", "Fixes bikes."),
        ("j", "Washes cars."),
    ]
}

fn listed(request: &Request) -> Vec<String> {
    request.tools.definitions().iter().map(|it| it.name().to_string()).collect()
}

pub(super) fn model_of(replies: impl IntoIterator<Item = Reply>) -> (ScriptedModel, SharedModel) {
    let script = ScriptedModel::new(replies);
    (script.clone(), SharedModel::new(script))
}

/// Runs an agent once with `hook`; returns the tools of its requests and the reason of its end.
pub(super) async fn requests_with(
    tools: impl Into<AgentTools>,
    hook: SelectTools,
    replies: impl IntoIterator<Item = Reply>,
    message: &str,
) -> (Vec<Vec<String>>, EndReason) {
    let model = ScriptedModel::new(replies);
    let agent = Agent::builder("a", model.clone()).tools(tools).hook(hook).build().unwrap();
    let end = Runner::new(agent).run(message).end().await;
    (model.requests().iter().map(listed).collect(), end.reason)
}

// T02
#[test]
fn a_limit_of_zero_or_of_all_tools_selects_all() {
    run(async {
        for (limit, expected) in [(0, 10), (9, 1), (10, 10)] {
            let registry = tools_of(ten()).build().unwrap();
            let hook = SelectTools::new(limit);
            let (requests, _) = requests_with(registry, hook, [Reply::text("Done.")], "Bake bread.").await;
            assert_eq!(requests[0].len(), expected);
        }
    });
}

// T03
#[test]
fn a_failed_selection_ends_the_run_or_selects_all_tools() {
    run(async {
        for answer in ["no list", r#"{"tools": ["zebra"]}"#, "{\"tools\": [1]}"] {
            for fails_open in [false, true] {
                let (_, shared) = model_of([Reply::text(answer)]);
                let hook = SelectTools::new(3).by_model(shared).fail_open(fails_open);
                let registry = tools_of(ten()).build().unwrap();
                let (requests, end) = requests_with(registry, hook, [Reply::text("Done.")], "Hi.").await;
                match fails_open {
                    true => assert_eq!((requests[0].len(), &end), (10, &EndReason::Answered), "{answer}"),
                    false => {
                        assert!(
                            matches!(&end, EndReason::Failed { message } if message.contains("selects tools"))
                        );
                        assert!(requests.is_empty());
                    }
                }
            }
        }
    });
}

// T01, T08, T10
#[test]
fn the_newest_message_of_the_user_selects_and_other_tools_are_unknown() {
    run(async {
        let model = ScriptedModel::new([
            Reply::call("b", json!({})),
            Reply::text("Sunny."),
            Reply::text("Baked."),
            Reply::text("Yes."),
        ]);
        let registry = tools_of(ten()).build().unwrap();
        let agent = Agent::builder("a", model.clone())
            .tools(registry)
            .hook(SelectTools::new(1).always(["j"]))
            .build();
        let runner = Runner::new(agent.unwrap());
        let session = || RunContext::new().with_session("s");
        runner.run_with(session(), "What is the weather?").answer().await.unwrap();
        runner.run_with(session(), "Bake bread.").answer().await.unwrap();
        // Without a word of any tool, the message before counts.
        runner.run_with(session(), "Yes.").answer().await.unwrap();
        let requests = model.requests();
        let tools: Vec<_> = requests.iter().map(listed).collect();
        assert_eq!(tools, [["a", "j"], ["a", "j"], ["e", "j"], ["e", "j"]]);
        let answer = requests[1].messages.last().unwrap().text();
        let answered =
            requests[1].messages.last().unwrap().tool_results().next().unwrap().text().into_owned();
        assert!(answered.starts_with("Tool not found: b"), "{answer}{answered}");
    });
}

// T07, T08
#[test]
fn framework_tools_are_kept_and_hidden_tools_are_no_candidates() {
    run(async {
        for is_of_runner in [false, true] {
            let toolbox = Toolbox::from_registry(&tools_of(ten()).build().unwrap());
            toolbox
                .add_framework_tool(Fixed::new(
                    "transfer",
                    "Asks another agent.",
                    json!({ "type": "object" }),
                ))
                .unwrap();
            toolbox.show(Visibility::all().except(["a"]));
            let model = ScriptedModel::new([Reply::text("Done.")]);
            let (hook, builder) = (SelectTools::new(2), Agent::builder("a", model.clone()).tools(toolbox));
            let runner = match is_of_runner {
                true => Runner::new(builder.build().unwrap()).with_hook(hook),
                false => Runner::new(builder.hook(hook).build().unwrap()),
            };
            runner.run("Send letters about the weather, and bake bread.").answer().await.unwrap();
            assert_eq!(listed(&model.requests()[0]), ["b", "e", "transfer"]);
        }
    });
}

// T09
#[test]
fn the_tokens_of_a_selection_are_counted_apart() {
    run(async {
        let usage: Usage = serde_json::from_value(json!({ "input": 10, "output": 2 })).unwrap();
        let (_, shared) = model_of([Reply::text(r#"{"tools":["a"]}"#).with_usage(usage)]);
        let model = ScriptedModel::new([Reply::text("Done.")]);
        let hook = SelectTools::new(1).by_model(shared);
        let agent =
            Agent::builder("a", model).tools(tools_of(ten()).build().unwrap()).hook(hook).build().unwrap();
        let end = Runner::new(agent).run("Hi.").end().await;
        assert_eq!((end.usage.additional.input, end.usage.additional.output), (Some(10), Some(2)));
    });
}

// T10
#[test]
fn nothing_happens_without_tools_or_candidates() {
    run(async {
        let (selector, shared) = model_of([]);
        let none = tools_of([]).build().unwrap();
        let hook = SelectTools::new(3).by_model(shared.clone());
        let (requests, end) = requests_with(none, hook, [Reply::text("Done.")], "Hi.").await;
        assert_eq!((requests, end), (vec![Vec::new()], EndReason::Answered));
        let registry = tools_of(ten().into_iter().take(2)).build().unwrap();
        let hook = SelectTools::new(1).by_model(shared).always(["a", "b"]);
        let (requests, _) = requests_with(registry, hook, [Reply::text("Done.")], "Hi.").await;
        assert_eq!((requests[0].len(), selector.requests().len()), (2, 0));
    });
}

// T10
#[test]
fn a_run_without_words_of_the_user_fails_or_has_all_tools() {
    run(async {
        for fails_open in [false, true] {
            let hook = SelectTools::new(3).fail_open(fails_open);
            let registry = tools_of(ten()).build().unwrap();
            let (requests, end) = requests_with(registry, hook, [Reply::text("Done.")], " \n").await;
            match fails_open {
                true => assert_eq!((requests[0].len(), &end), (10, &EndReason::Answered)),
                false => assert!(
                    matches!(&end, EndReason::Failed { message } if message.contains("a message of the user")),
                    "{end}"
                ),
            }
        }
    });
}

// T09
#[test]
fn the_tokens_of_all_selections_of_a_run_are_summed() {
    run(async {
        let usage: Usage = serde_json::from_value(json!({ "input": 10, "output": 2 })).unwrap();
        let words = || Reply::text("wash car").with_usage(usage);
        let (_, rewriter) = model_of([words(), words()]);
        let model = ScriptedModel::new([Reply::call("j", json!({})), Reply::text("Done.")]);
        let agent = Agent::builder("a", model)
            .tools(tools_of(ten()).build().unwrap())
            .hook(SelectTools::new(1).rewrite_by(rewriter))
            .build()
            .unwrap();
        let end = Runner::new(agent).run("My vehicle is dirty.").end().await;
        assert_eq!((end.usage.additional.input, end.usage.additional.output), (Some(20), Some(4)));
    });
}

/// Vectors with one number for each of some words.
#[derive(Clone, Default)]
struct WordVectors {
    texts: Arc<AtomicUsize>,
    fails: bool,
}

impl Embedder for WordVectors {
    async fn embed(&self, texts: &[String]) -> Result<Embeddings, ToolError> {
        self.texts.fetch_add(texts.len(), Ordering::SeqCst);
        if self.fails {
            return Err(ToolError::failed("no server"));
        }
        let groups = [["weather", "umbrella"], ["letters", "post"], ["bread", "hungry"], ["dogs", "puppy"]];
        let count =
            |text: &str, group: [&str; 2]| group.iter().filter(|word| text.contains(**word)).count() as f32;
        let vectors = texts.iter().map(|text| groups.map(|group| count(text, group) + 0.01).to_vec());
        Ok(Embeddings::new(vectors).with_tokens(10 * texts.len() as u64))
    }
}

// T05, T06
#[test]
fn an_embedder_finds_tools_by_meaning_and_embeds_each_once() {
    run(async {
        let embedder = WordVectors::default();
        let search = ToolSearch::new().embedder(embedder.clone());
        let registry = tools_of(ten().into_iter().take(5)).build().unwrap();
        let model = ScriptedModel::new([Reply::text("One."), Reply::text("Two.")]);
        let agent =
            Agent::builder("a", model.clone()).tools(registry).hook(SelectTools::new(1).search(search));
        let runner = Runner::new(agent.build().unwrap());
        runner.run("Do I need an umbrella?").answer().await.unwrap();
        runner.run("I am hungry.").answer().await.unwrap();
        let tools: Vec<_> = model.requests().iter().map(listed).collect();
        assert_eq!(tools, [["a"], ["e"]]);
        // Five tools, and two queries.
        assert_eq!(embedder.texts.load(Ordering::SeqCst), 5 + 2);
    });
}

// T09
#[test]
fn the_tokens_of_an_embedder_are_those_of_the_run_beside_those_of_a_rewriting_model() {
    run(async {
        let usage: Usage = serde_json::from_value(json!({ "input": 10, "output": 2 })).unwrap();
        let (_, rewriter) = model_of([Reply::text("umbrella").with_usage(usage)]);
        let search = ToolSearch::new().embedder(WordVectors::default());
        let registry = tools_of(ten().into_iter().take(5)).build().unwrap();
        let agent = Agent::builder("a", ScriptedModel::new([Reply::text("One."), Reply::text("Two.")]))
            .tools(registry)
            .hook(SelectTools::new(1).search(search.clone()).rewrite_by(rewriter))
            .build()
            .unwrap();
        let first = Runner::new(agent).run("Do I need an umbrella?").end().await;
        // Five tools and the query, at ten tokens each.
        assert_eq!((first.usage.additional.input, first.usage.additional.output), (Some(10 + 60), Some(2)));
        let agent = Agent::builder("a", ScriptedModel::new([Reply::text("One.")]))
            .tools(tools_of(ten().into_iter().take(5)).build().unwrap())
            .hook(SelectTools::new(1).search(search))
            .build()
            .unwrap();
        let second = Runner::new(agent).run("Do I need an umbrella?").end().await;
        // The tools were embedded before.
        assert_eq!(second.usage.additional.input, Some(10));
        let agent = Agent::builder("a", ScriptedModel::new([Reply::text("One.")]))
            .tools(tools_of(ten()).build().unwrap())
            .hook(SelectTools::new(1).search(ToolSearch::new().embedder(Uncounted)))
            .build()
            .unwrap();
        assert_eq!(Runner::new(agent).run("Bake bread.").end().await.usage.additional.input, None);
    });
}

/// An embedder that counts no tokens.
struct Uncounted;

impl Embedder for Uncounted {
    async fn embed(&self, texts: &[String]) -> Result<Embeddings, ToolError> {
        Ok(Embeddings::new(texts.iter().map(|_| vec![1.0])))
    }
}

/// An embedder that refuses requests with a text that is too long for it, and counts its requests.
#[derive(Clone, Default)]
struct ShortTexts {
    words: WordVectors,
    requests: Arc<AtomicUsize>,
    is_down: Arc<AtomicBool>,
}

impl Embedder for ShortTexts {
    async fn embed(&self, texts: &[String]) -> Result<Embeddings, ToolError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        if self.is_down.load(Ordering::SeqCst) || texts.iter().any(|text| text.contains("hostile")) {
            return Err(ToolError::failed("the input is too large"));
        }
        self.words.embed(texts).await
    }
}

#[test]
fn a_tool_that_the_embedder_refuses_costs_no_other_its_vector() {
    run(async {
        let embedder = ShortTexts::default();
        let search = ToolSearch::new().embedder(embedder.clone());
        let registry = tools_of(ten().into_iter().chain([("k", "Is hostile."), ("l", "Is hostile, too.")]));
        let registry = registry.build().unwrap();
        let found = async |query: &str| {
            let found = search.find(registry.definitions(), query, 1).await;
            found.map(|found| found.iter().map(|it| it.name().to_string()).collect::<Vec<_>>())
        };
        assert_eq!(found("Do I need an umbrella?").await.unwrap(), ["a"]);
        // The tools that were refused are not requested again, and are found by their words.
        let requests = embedder.requests.swap(0, Ordering::SeqCst);
        assert!(requests < 20, "{requests}");
        assert_eq!(found("I am hungry.").await.unwrap(), ["e"]);
        assert_eq!(embedder.requests.load(Ordering::SeqCst), 1);
        assert!(search.matches(registry.definitions(), "hostile", 5).len() == 2);
        // A selection goes on, too.
        let hook = SelectTools::new(1).search(search.clone());
        let (requests, end) =
            requests_with(registry.clone(), hook, [Reply::text("Done.")], "My puppy is tired.").await;
        assert_eq!((requests, end), (vec![vec!["h".to_owned()]], EndReason::Answered));
    });
}

#[test]
fn a_server_that_is_down_refuses_no_tool() {
    run(async {
        let embedder = ShortTexts::default();
        embedder.is_down.store(true, Ordering::SeqCst);
        let search = ToolSearch::new().embedder(embedder.clone());
        let registry = tools_of(ten()).build().unwrap();
        assert!(search.find(registry.definitions(), "I am hungry.", 1).await.is_err());
        assert_eq!(embedder.requests.load(Ordering::SeqCst), 1);
        embedder.is_down.store(false, Ordering::SeqCst);
        let found = search.find(registry.definitions(), "I am hungry.", 1).await.unwrap();
        assert_eq!(found[0].name(), "e");
    });
}

#[test]
fn many_hostile_tools_cost_a_bounded_number_of_requests() {
    run(async {
        let names: Vec<_> = (0..1_000).map(|at| format!("t{at}")).collect();
        let hostile = names.iter().map(|name| (name.as_str(), "Is hostile."));
        let registry = tools_of(hostile.chain(ten())).build().unwrap();
        let embedder = ShortTexts::default();
        let search = ToolSearch::new().embedder(embedder.clone());
        assert!(search.find(registry.definitions(), "Bake bread.", 1).await.is_ok());
        let requests = embedder.requests.load(Ordering::SeqCst);
        assert!(requests < 300, "{requests}");
    });
}

// T03
#[test]
fn a_failed_embedder_leaves_the_order_of_the_words_to_search_tools() {
    run(async {
        let search = ToolSearch::new().embedder(WordVectors { fails: true, ..WordVectors::default() });
        let registry = tools_of(ten()).add(search.search_tools()).build().unwrap();
        let found = registry.call("search_tools", json!({ "query": "bread", "limit": 1 })).await.unwrap();
        assert!(found.text().contains(r#""name":"e""#), "{}", found.text());
        let hook = SelectTools::new(1).search(search);
        let (_, end) = requests_with(tools_of(ten()).build().unwrap(), hook, [], "Bake bread.").await;
        assert!(matches!(end, EndReason::Failed { .. }));
    });
}
