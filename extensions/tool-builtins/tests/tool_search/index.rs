//! The index: its order, its changes, and queries that a hostile model writes.

use tool_builtins::{ToolSearch, tool_search::ToolIndex};
use tool_runtime::{RunContext, ToolDefinition, Toolbox, prelude::*};

use super::{Fixed, run, tools_of};

fn names(index: &ToolIndex, query: &str) -> Vec<String> {
    index.search(query, 10).iter().map(|it| it.definition.name().to_string()).collect()
}

fn index_of<'t>(named: impl IntoIterator<Item = (&'t str, &'t str)>) -> ToolIndex {
    ToolIndex::from(&tools_of(named).build().unwrap())
}

#[test]
fn a_tool_is_found_by_each_part_of_its_definition() {
    let schema = json!({ "type": "object", "properties": {
        "recipientAddress": { "type": "string", "description": "Where the parcel goes." },
        "speed": { "enum": ["overnight", "economy"] },
        "parts": { "type": "array", "items": { "type": "object", "properties": { "fragile": { "type": "boolean" } } } },
    } });
    let tool = Fixed::new("bookCourier", "Sends a thing.", schema);
    let definition = tool.0.clone().with_examples(vec![json!({ "recipientAddress": "Lisbon" })]);
    let definition = definition.with_title("Messenger");
    let mut index = index_of([("other", "Something else.")]);
    index.insert(&definition);
    for query in [
        "courier",
        "messenger",
        "BOOK",
        "sending things",
        "recipient address",
        "parcels",
        "overnight",
        "fragile",
        "lisbon",
    ] {
        assert_eq!(names(&index, query)[..1], ["bookCourier"], "{query}");
    }
}

#[test]
fn tools_that_are_not_kept_are_found_no_more() {
    let mut index = index_of([("keep_notes", "Stores notes."), ("drop_notes", "Removes notes.")]);
    index.retain(|definition| definition.name().as_str() == "keep_notes");
    assert_eq!(names(&index, "notes"), ["keep_notes"]);
    index.retain(|_| true);
    assert_eq!(names(&index, "notes"), ["keep_notes"]);
}

#[test]
fn forms_of_words_and_words_written_as_one_are_found() {
    let index = index_of([
        ("create_webhook", "Registers an address for events."),
        ("delete_data_set", "Removes rows."),
        ("list_repositories", "Returns all of them."),
    ]);
    for (query, expected) in [
        ("add a web hook", "create_webhook"),
        ("web hook", "create_webhook"),
        ("deletion of a dataset", "delete_data_set"),
        ("listing the repository", "list_repositories"),
        ("list repositorys", "list_repositories"),
        ("craete webhok", "create_webhook"),
    ] {
        assert_eq!(names(&index, query)[0], expected, "{query}");
    }
}

#[test]
fn an_unknown_word_is_compared_with_a_bounded_number_of_words() {
    let letter = |at: usize| char::from(b'a' + (at % 26) as u8);
    let words = (0..3_000).map(|at| format!("za{}{}{}zz", letter(at / 676), letter(at / 26), letter(at)));
    let words: Vec<_> = words.collect();
    let tools = words.chunks(300).map(|words| words.join(" "));
    let named: Vec<_> = tools.enumerate().map(|(at, words)| (format!("t{at}"), words)).collect();
    let named: Vec<_> = named.iter().map(|(name, words)| (name.as_str(), words.as_str())).collect();
    let index = index_of(named.iter().copied().chain([("last", "zyxwvut")]));
    assert_eq!(index.search("zyxwvut", 5).len(), 1);
    // It is the last one of its length.
    assert_eq!(names(&index, "zyxwvuz"), [""; 0]);
    assert_eq!(names(&index_of([("last", "zyxwvut")]), "zyxwvuz"), ["last"]);
}

#[test]
fn equal_scores_are_sorted_by_name_whatever_the_order_of_insertion() {
    let tools = [("b_mail", "Sends."), ("a_mail", "Sends."), ("c_mail", "Sends.")];
    let registry = tools_of(tools).build().unwrap();
    let (mut one, mut other) = (ToolIndex::new(), ToolIndex::new());
    for definition in registry.definitions() {
        one.insert(definition);
    }
    for definition in registry.definitions().iter().rev() {
        other.insert(definition);
    }
    assert_eq!(names(&one, "mail"), ["a_mail", "b_mail", "c_mail"]);
    assert_eq!(names(&other, "mail"), names(&one, "mail"));
}

#[test]
fn a_changed_index_equals_a_new_one() {
    let tools: Vec<_> = (0..60)
        .map(|number| (format!("tool_{number}"), format!("Counts word{} here.", number % 7)))
        .collect();
    let registry = tools_of(tools.iter().map(|(name, text)| (name.as_str(), text.as_str()))).build().unwrap();
    let new = ToolIndex::from(&registry);
    let mut changed = new.clone();
    for definition in registry.definitions().iter().step_by(3) {
        assert!(changed.remove(definition.name().as_str()));
    }
    assert!(!changed.remove("absent"));
    assert_eq!(changed.add_changed(registry.definitions()), 20);
    assert_eq!(changed.add_changed(registry.definitions()), 0);
    let replacement = Fixed::new("tool_1", "Counts zebras.", json!({ "type": "object" }));
    assert!(changed.insert(&replacement.0));
    assert_eq!(names(&changed, "zebra"), ["tool_1"]);
    assert!(changed.insert(new.get("tool_1").unwrap()));
    for query in ["word3", "tool 12", "counts"] {
        assert_eq!(changed.search(query, 60), new.search(query, 60), "{query}");
    }
}

#[test]
fn a_tool_that_repeats_the_words_of_a_query_is_not_the_best() {
    let stuffed = "refund payment create issue weather ".repeat(2_000);
    let index = index_of([
        ("refund_payment", "Refunds a payment."),
        ("helper", &stuffed),
        ("get_weather", "Returns the weather."),
        ("create_issue", "Creates an issue."),
    ]);
    for (query, expected) in [
        ("refund a payment", "refund_payment"),
        ("weather", "get_weather"),
        ("create an issue", "create_issue"),
    ] {
        assert_eq!(names(&index, query)[0], expected, "{query}");
    }
}

#[test]
fn queries_of_any_size_and_script_have_an_answer() {
    let mut index = index_of([("get_weather", "Returns the weather.")]);
    index.insert(&Fixed::new("tenki", "明日の天気を返します。", json!({ "type": "object" })).0);
    index.insert(&Fixed::new("pogoda", "Возвращает прогноз погоды.", json!({ "type": "object" })).0);
    assert_eq!(names(&index, "天気は？"), ["tenki"]);
    assert_eq!(names(&index, "прогноз на завтра"), ["pogoda"]);
    for query in
        [String::new(), " ".repeat(1 << 20), "𒀀".to_owned(), "\u{0}".to_owned(), "the of and".to_owned()]
    {
        assert_eq!(names(&index, &query), Vec::<String>::new());
    }
    for query in
        ["weather ".repeat(1 << 17), format!("weather {}", "x".repeat(1 << 20)), "weather 気".repeat(1 << 17)]
    {
        assert_eq!(names(&index, &query)[0], "get_weather");
    }
    assert_eq!(index.search("weather", 0), []);
}

#[test]
fn a_search_follows_a_toolbox_that_changes() {
    run(async {
        let toolbox =
            Toolbox::from_registry(&tools_of([("get_weather", "Returns the weather.")]).build().unwrap());
        let search = ToolSearch::new();
        let found = async |query: &str| {
            let snapshot = toolbox.snapshot(&RunContext::new()).await.unwrap();
            let found = search.matches(snapshot.tools().all_definitions(), query, 5);
            found.iter().map(|it| it.definition.name().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found("tide").await, Vec::<String>::new());
        toolbox.add(Fixed::new("get_tide", "Returns the tide.", json!({ "type": "object" }))).unwrap();
        assert_eq!(found("tide").await, ["get_tide"]);
        toolbox.replace(Fixed::new("get_tide", "Returns the moon.", json!({ "type": "object" }))).unwrap();
        assert_eq!(found("moon").await, ["get_tide"]);
        toolbox.remove("get_tide");
        assert_eq!(found("moon tide").await, Vec::<String>::new());
    });
}

#[test]
fn threads_search_a_toolbox_while_others_change_it() {
    const ROUNDS: usize = 40;
    let toolbox =
        Toolbox::from_registry(&tools_of([("get_weather", "Returns the weather.")]).build().unwrap());
    let search = ToolSearch::new();
    let tide = |text: &str| Fixed::new("get_tide", text, json!({ "type": "object" }));
    let found = |query: &str| {
        let snapshot = run(toolbox.snapshot(&RunContext::new())).unwrap();
        let known = snapshot.tools().all_definitions();
        let matches = search.matches(known, query, 5);
        // Each match is a tool of this snapshot, as it is there.
        assert!(matches.iter().all(|it| known.contains(&it.definition)), "{matches:?}");
        matches.len()
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                match round % 3 {
                    0 => drop(toolbox.replace(tide("Returns the tide.")).unwrap()),
                    1 => drop(toolbox.replace(tide("Returns the moon.")).unwrap()),
                    _ => drop(toolbox.remove("get_tide")),
                }
            }
        });
        for _ in 0..3 {
            scope.spawn(|| (0..ROUNDS).for_each(|_| assert_eq!(found("weather"), 1)));
            scope.spawn(|| (0..ROUNDS).for_each(|_| assert!(found("tide moon") <= 1)));
        }
    });
}

#[test]
fn words_of_one_meaning_find_a_tool_after_those_that_have_the_word_itself() {
    let index = index_of([
        ("make_image", "Draws something."),
        ("take_photo", "Uses the camera."),
        ("send_invoice", "Asks for money."),
    ]);
    assert_eq!(names(&index, "a photo, please")[..2], ["take_photo", "make_image"]);
    assert_eq!(names(&index, "pictures"), ["make_image", "take_photo"]);
    assert_eq!(names(&index, "a bill for the customer"), ["send_invoice"]);
}

/// Returns `count` different words.
fn words(count: usize) -> Vec<String> {
    let letter = |at: usize| char::from(b'b' + (at % 20) as u8);
    let word = |at| [8_000, 400, 20, 1].map(|unit| letter(at / unit)).into_iter().chain(['k']).collect();
    (0..count).map(word).collect()
}

fn tool_with(name: &str, words: &[String]) -> ToolDefinition {
    Fixed::new(name, &words.join(" "), json!({ "type": "object" })).0
}

// Programs change their tools for months.
#[test]
fn words_that_no_tool_has_are_forgotten_once_they_are_more_than_10000_and_than_half() {
    let words = words(31_200);
    let (unused, used) = words.split_at(10_000);
    let mut index = ToolIndex::new();
    for words in unused.chunks(400) {
        index.insert(&tool_with("changed", words));
    }
    let (changed, other) = (tool_with("changed", &used[..400]), tool_with("other", &used[400..401]));
    index.add_changed(&[changed.clone(), other.clone()]);
    // Each name is a word, too.
    assert_eq!(format!("{index:?}"), "ToolIndex { tools: 2, words: 10403 }");

    let shorter = tool_with("changed", &used[..399]);
    type Change<'c> = (&'c dyn Fn(&mut ToolIndex), &'c [&'c ToolDefinition]);
    let changes: [Change<'_>; 4] = [
        (&|index| assert!(index.insert(&shorter)), &[&shorter, &other]),
        (&|index| assert_eq!(index.add_changed(&[other.clone(), shorter.clone()]), 1), &[&shorter, &other]),
        (&|index| assert!(index.remove("other")), &[&changed]),
        (&|index| index.retain(|definition| definition.name() == "changed"), &[&changed]),
    ];
    for (change, expected) in changes {
        let (mut index, mut new) = (index.clone(), ToolIndex::new());
        change(&mut index);
        expected.iter().for_each(|definition| assert!(!new.insert(definition)));
        assert_eq!(format!("{index:?}"), format!("{new:?}"));
        assert_eq!(index.search(&used[0], 5), new.search(&used[0], 5));
    }
    let many: Vec<_> = used[800..].chunks(400).enumerate().collect();
    let many: Vec<_> = many.iter().map(|(at, words)| tool_with(&format!("tool_{at}"), words)).collect();
    index.add_changed(&many);
    index.insert(&shorter);
    assert!(format!("{index:?}").starts_with("ToolIndex { tools: 53, words: 30"), "{index:?}");
}

#[test]
fn each_field_of_a_tool_is_indexed_up_to_400_words() {
    let text = words(401);
    let parameters = |names: &[String]| {
        let properties: serde_json::Map<_, _> =
            names.iter().map(|name| (name.clone(), json!({ "description": name }))).collect();
        json!({ "type": "object", "properties": properties, "examples": names })
    };
    let mut index = ToolIndex::new();
    // The texts of a tool are kept for the next one, which has room for them.
    index.add_changed(&[
        Fixed::new("in_text", &text.join(" "), json!({ "type": "object" })).0,
        Fixed::new("in_parameters", "", parameters(&text)).0,
        Fixed::new("last", "", parameters(&text[399..])).0,
    ]);
    assert_eq!(names(&index, &text[399]), ["last", "in_text", "in_parameters"]);
    assert_eq!(names(&index, &text[400]), ["last"]);
}
