//! Queries: the scores of their words, and the words that stand for an unknown one.

use proptest::prelude::*;
use tool_builtins::tool_search::{Ranking, ToolIndex};
use tool_runtime::{ToolDefinition, prelude::*};

use super::{Fixed, tools_of};

/// Returns the matches with their scores, in one line.
fn scored(index: &ToolIndex, query: &str) -> String {
    let matches = index.search(query, 10);
    let matches = matches.iter().map(|it| format!("{} {:.3}", it.definition.name(), it.score));
    matches.collect::<Vec<_>>().join(", ")
}

/// Returns the names of the tools that a query finds, sorted.
fn found(index: &ToolIndex, query: &str) -> Vec<String> {
    let matches = index.search(query, usize::MAX);
    let mut names: Vec<_> = matches.iter().map(|it| it.definition.name().to_string()).collect();
    names.sort();
    names
}

/// Returns an index of tools that are named as words.
fn index_of_words<'w>(words: impl IntoIterator<Item = &'w str>) -> ToolIndex {
    ToolIndex::from(&tools_of(words.into_iter().map(|word| (word, ""))).build().unwrap())
}

/// Six tools with words in each field.
fn tools() -> Vec<ToolDefinition> {
    let property = |name: &str, schema: Value| json!({ "type": "object", "properties": { name: schema } });
    let harbour = property("harbour", json!({ "description": "sea", "enum": ["brest", "cork"] }));
    [
        ("find_tide", "tide harbour sea", harbour),
        ("show_moon", "moon tide tide", property("night", json!({}))),
        ("make_webhook", "address", property("brest", json!({ "description": "harbour harbour" }))),
        ("photo", "camera", json!({ "type": "object" })),
        ("draw_image", "canvas", json!({ "type": "object" })),
        ("data_set", "rows", json!({ "type": "object" })),
    ]
    .map(|(name, description, schema)| Fixed::new(name, description, schema).0)
    .into()
}

/// Another implementation of the formula has the same scores.
#[test]
fn scores_follow_bm25_over_weighted_fields_with_additions() {
    let ranking = Ranking {
        weights: [4.0, 2.0, 1.0, 0.5, 0.25],
        length_effects: [0.8, 0.6, 0.4, 0.2, 0.0],
        saturation: 1.0,
        coverage: 0.5,
        name_coverage: 0.5,
        similar: 0.5,
        joined: 0.4,
        related: 0.25,
        ..Ranking::default()
    };
    let mut index = ToolIndex::with_ranking(ranking);
    index.add_changed(&tools());
    for (query, expected) in [
        ("tide", "find_tide 1.290, show_moon 0.752"),
        ("the tides", "find_tide 1.290, show_moon 0.752"),
        // A repeated word counts more, and not in proportion.
        ("tide tide tide", "find_tide 1.999, show_moon 1.164"),
        ("harbour", "find_tide 0.722, make_webhook 0.468"),
        ("brest", "make_webhook 0.515, find_tide 0.206"),
        ("sea brest", "find_tide 1.206, make_webhook 0.361"),
        ("draw tide", "draw_image 1.457, find_tide 0.904, show_moon 0.526"),
        // A word of no tool counts for none, nor against one.
        ("tide unheard", "find_tide 1.290, show_moon 0.752"),
        ("harbor", "find_tide 0.361, make_webhook 0.234"),
        ("picture", "photo 0.415, draw_image 0.342"),
        ("web hook", "make_webhook 1.360"),
        ("dataset", "data_set 0.267"),
        ("unheard", ""),
    ] {
        assert_eq!(scored(&index, query), expected, "{query}");
    }
}

#[test]
fn without_additions_scores_follow_bm25_over_one_text() {
    let mut index = ToolIndex::with_ranking(Ranking::plain());
    index.add_changed(&tools());
    for (query, expected) in [
        ("tide", "show_moon 1.326, find_tide 1.139"),
        ("the tide", "show_moon 1.326, find_tide 1.139"),
        ("harbour sea", "find_tide 2.844, make_webhook 1.326"),
        ("address", "make_webhook 1.402"),
        // Words count as they are written.
        ("tides", ""),
        ("harbor", ""),
        ("picture", ""),
        ("web hook", ""),
        ("dataset", ""),
    ] {
        assert_eq!(scored(&index, query), expected, "{query}");
    }
    let mut index = ToolIndex::with_ranking(Ranking::plain());
    index.insert(&Fixed::new("photo", "the camera", json!({ "type": "object" })).0);
    assert_eq!(scored(&index, "the"), "photo 0.288");
}

#[test]
fn at_most_as_many_matches_as_the_limit_are_returned_and_the_best_ones() {
    let mut index = ToolIndex::new();
    assert!(index.is_empty());
    index.add_changed(&tools());
    assert!(!index.is_empty());
    assert_eq!((index.len(), index.get("photo"), index.get("absent")), (6, Some(&tools()[3]), None));
    let all = index.search("draw the tide and a photo", 10);
    assert_eq!(all.len(), 4);
    for limit in 0..5 {
        assert_eq!(index.search("draw the tide and a photo", limit), all[..limit.min(4)]);
    }
    let candidates = index.search_among("tide", 1, |definition| definition.name() == "show_moon");
    assert_eq!(candidates[0].definition.name(), "show_moon");
}

#[test]
fn of_a_long_query_the_first_words_are_read() {
    let letters = || "bcdfghjklmnpqrtvwx".chars();
    let unknown = letters().flat_map(|first| letters().map(move |second| format!("{first}{second}")));
    let unknown: Vec<_> = unknown.take(128).collect();
    let index = index_of_words(["tide", "moon"]);
    for (count, expected) in [(127, &["tide"][..]), (128, &[])] {
        let words = unknown[..count].join(" ");
        assert_eq!(found(&index, &format!("{words} tide")), expected, "{count}");
        // A repetition is no other word.
        assert_eq!(found(&index, &format!("{words} {words} tide")), expected, "{count}");
    }
    // 16 KiB, and no part of a character.
    let after_blanks = |count: usize, words: &str| found(&index, &format!("{}{words}", " ".repeat(count)));
    assert_eq!(after_blanks((16 << 10) - 4, "tide"), ["tide"]);
    assert_eq!(after_blanks((16 << 10) - 3, "tide"), [""; 0]);
    assert_eq!(after_blanks((16 << 10) - 5, "moonétide"), ["moon"]);
}

#[test]
fn eight_unknown_words_of_a_query_are_corrected() {
    let words = ["anchor", "basket", "carrot", "dragon", "falcon", "forest", "garden", "helmet", "island"];
    let misspelled: Vec<_> = words.iter().map(|word| format!("{word}q")).collect();
    let index = index_of_words(words);
    assert_eq!(found(&index, &misspelled.join(" ")), words[..8]);
    assert_eq!(found(&index, &format!("island {}", misspelled.join(" "))), words);
    assert_eq!(found(&index, &misspelled[8]), ["island"]);
}

#[test]
fn a_word_of_two_known_ones_is_divided_where_both_have_three_letters() {
    let index = ToolIndex::from(
        &tools_of([("dat", ""), ("set", ""), ("at", ""), ("sets", ""), ("size", "Größe"), ("price", "Wert")])
            .build()
            .unwrap(),
    );
    for (query, expected) in [
        ("datset", &["dat", "set", "sets"][..]),
        ("atset", &[]),
        ("datat", &[]),
        ("größewert", &["price", "size"]),
        ("größenwert", &[]),
    ] {
        assert_eq!(found(&index, query), expected, "{query}");
    }
}

/// Returns `true` if at most `max` changes of one letter lead from one word to the other.
fn is_near(one: &[u8], other: &[u8], max: usize) -> bool {
    match (one, other) {
        ([first, one_rest @ ..], [second, other_rest @ ..]) if first == second => {
            is_near(one_rest, other_rest, max)
        }
        ([], rest) | (rest, []) => rest.len() <= max,
        ([_, one_rest @ ..], [_, other_rest @ ..]) => {
            max > 0
                && [(one_rest, other_rest), (one_rest, other), (one, other_rest)]
                    .into_iter()
                    .any(|(one, other)| is_near(one, other, max - 1))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_unknown_word_of_five_letters_stands_for_those_with_one_other_letter_and_one_of_eight_with_two(
        known in proptest::collection::btree_set("k[kpx]{4,7}", 1..40),
        word in "k[kpx]{3,8}",
    ) {
        let index = index_of_words(known.iter().map(String::as_str));
        let max_edits = match word.len() {
            ..=4 => 0,
            5..=7 => 1,
            _ => 2,
        };
        let expected: Vec<_> = match known.get(&word) {
            Some(word) => vec![word.clone()],
            None => known.iter().filter(|known| is_near(word.as_bytes(), known.as_bytes(), max_edits)).cloned().collect(),
        };
        prop_assert_eq!(found(&index, &word), expected);
    }
}
