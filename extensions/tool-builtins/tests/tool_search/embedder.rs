//! Embedders: what they are sent, the order of their vectors, and vectors that are none.

use std::sync::{Arc, Mutex};

use tool_builtins::{
    ToolSearch,
    tool_search::{Embedder, Embeddings},
};
use tool_runtime::{ToolDefinition, prelude::*};

use super::{Fixed, run, tools_of};

/// An embedder that is a function, and records its texts.
#[derive(Clone)]
struct Recorded<F> {
    vectors_of: F,
    requests: Arc<Mutex<Vec<Vec<String>>>>,
}

impl<F: Fn(&[String]) -> Vec<Vec<f32>> + Clone> Recorded<F> {
    fn new(vectors_of: F) -> Self {
        Self { vectors_of, requests: Arc::default() }
    }

    fn take_requests(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

impl<F: Fn(&[String]) -> Vec<Vec<f32>> + Send + Sync + 'static> Embedder for Recorded<F> {
    async fn embed(&self, texts: &[String]) -> Result<Embeddings, ToolError> {
        self.requests.lock().unwrap().push(texts.to_vec());
        Ok(Embeddings::new((self.vectors_of)(texts)))
    }
}

fn definitions(named: &[(&str, &str)]) -> Vec<ToolDefinition> {
    tools_of(named.iter().copied()).build().unwrap().all_definitions().to_vec()
}

fn found(search: &ToolSearch, tools: &[ToolDefinition], query: &str, limit: usize) -> Result<String, String> {
    let found = run(search.find(tools, query, limit)).map_err(|error| error.to_string())?;
    Ok(found.iter().map(|it| it.name().to_string()).collect::<Vec<_>>().join(" "))
}

/// Returns a vector of the numbers of some words that no index has; with `then`, it has one number more.
fn vector_of(text: &str) -> Vec<f32> {
    let count = |word: &str| text.split_whitespace().filter(|it| *it == word).count() as f32;
    let mut vector = vec![count("here") - count("not"), count("there")];
    vector.extend((count("then") > 0.0).then_some(1.0));
    vector
}

fn search_by_vectors() -> ToolSearch {
    ToolSearch::new()
        .embedder(Recorded::new(|texts: &[String]| texts.iter().map(|text| vector_of(text)).collect()))
}

#[test]
fn tools_are_in_the_order_of_their_angle_to_the_query_and_then_of_their_names() {
    let search = search_by_vectors();
    let tools = definitions(&[
        ("far", &"there ".repeat(900)),
        ("left", "here"),
        ("long", &"here here here here there there there ".repeat(100)),
        ("near", "here here here here there there there"),
        ("none", ""),
        ("opposite", "not"),
    ]);
    assert_eq!(found(&search, &tools, "here here", 10).unwrap(), "left long near far none opposite");
    assert_eq!(found(&search, &tools, "here here", 2).unwrap(), "left long");
    // Tools whose vectors have another length are not found.
    assert_eq!(found(&search, &tools, "here then", 10).unwrap(), "");
}

#[test]
fn the_orders_of_words_and_vectors_are_combined_by_their_reciprocal_ranks() {
    let search = search_by_vectors();
    // By words: `tide`, `moon`, `wave`; by vectors the reverse. 1/60 and 1/62 are more than 1/61 and 1/61.
    let tools = definitions(&[
        ("call_tool", "tide there"),
        ("moon", "tide harbour here there"),
        ("search_tools", "tide there"),
        ("tide", "here"),
        ("wave", "tide harbour boat sail anchor rope there"),
    ]);
    assert_eq!(found(&search, &tools, "tide there", 10).unwrap(), "tide wave moon");
}

#[test]
fn an_embedder_is_sent_the_query_and_then_the_texts_of_new_tools_128_at_once() {
    let embedder = Recorded::new(|texts: &[String]| vec![vec![1.0]; texts.len()]);
    let search = ToolSearch::new().embedder(embedder.clone());
    let long = "ä".repeat(3_000);
    let names: Vec<_> = (0..130).map(|number| format!("tool_{number:03}")).collect();
    let named: Vec<_> = names.iter().map(|name| (name.as_str(), long.as_str())).collect();
    let mut tools = definitions(&named);
    found(&search, &tools, &long, 1).unwrap();
    let requests = embedder.take_requests();
    assert_eq!(requests.iter().map(Vec::len).collect::<Vec<_>>(), [1, 128, 2]);
    assert_eq!(requests[0], ["ä".repeat(2_000)]);
    assert_eq!(requests[2][1], format!("tool_129: {}", "ä".repeat(1_990)));
    // A tool that changed is new.
    tools[7] = Fixed::new("tool_007", "Is another one.", json!({ "type": "object" })).0;
    found(&search, &tools, "again", 1).unwrap();
    assert_eq!(embedder.take_requests(), [["again"], ["tool_007: Is another one."]]);
    // Those of another run cost no tool its vector.
    found(&search, &definitions(&[("other", "")]), "third", 1).unwrap();
    found(&search, &tools, "fourth", 1).unwrap();
    assert_eq!(embedder.take_requests(), [["third"], ["other: "], ["fourth"]]);
}

#[test]
fn vectors_that_are_none_are_an_error_that_says_what_they_must_be() {
    let tools = definitions(&[("moon", ""), ("tide", "")]);
    type Vectors = fn(&[String]) -> Vec<Vec<f32>>;
    let ways: [(Vectors, usize); 5] = [
        (|_| Vec::new(), 0),
        (|texts| vec![vec![1.0]; texts.len() + 1], 2),
        (|texts| vec![Vec::new(); texts.len()], 1),
        (|texts| vec![vec![1.0, f32::NAN]; texts.len()], 1),
        (|texts| vec![vec![f32::INFINITY]; texts.len()], 1),
    ];
    for (vectors_of, count) in ways {
        let search = ToolSearch::new().embedder(Recorded::new(vectors_of));
        let expected = format!(
            "tool failed: the embedder returned {count} vectors for 1 texts; it must return one for each, of one length and with finite \
             numbers"
        );
        assert_eq!(found(&search, &tools, "tide", 5).unwrap_err(), expected);
    }
    // Vectors of several lengths are none of several tools, and one of each.
    let search = ToolSearch::new().embedder(Recorded::new(|texts: &[String]| {
        (0..texts.len()).map(|number| vec![1.0; number + 1]).collect()
    }));
    assert_eq!(found(&search, &tools, "Where?", 5).unwrap(), "moon tide");
}
