//! Tools that a model may confuse with each other.

use std::time::Instant;

use serde_json::json;
use tool_runtime::{Registry, ToolDefinition, dialect::lint};

use super::{definition, found, registry};

#[test]
fn names_with_the_same_words_are_a_finding() {
    let tool = |name: &str, description: &str| definition(name, description, json!({}));
    let text = "warning: `get_user` in all, at ``: its name has the same words as `getUser`; use names that show the \
                difference";
    assert_eq!(found([tool("get_user", "Looks in the cache."), tool("getUser", "Asks the server.")]), [text]);
    let apart = [
        tool("get_user", "Looks one up by its number."),
        tool("get_users", "Lists all of them."),
        tool("user_get", "Opens the page."),
        tool("step_1", "Opens the box."),
        tool("step_2", "Closes the lid."),
    ];
    assert_eq!(found(apart), Vec::<String>::new());
}

#[test]
fn indistinguishable_descriptions_are_a_finding() {
    let tool = |name: &str, description: &str| definition(name, description, json!({}));
    let text = |name: &str, what: &str| {
        format!(
            "warning: `{name}` in all, at ``: its description is {what} to the description of `alpha`; \
             state in each description when to call which tool"
        )
    };
    let long = "Finds the documents of the customer that hold all of the given words, newest first, and gives for each \
                of them the title, the author and the first lines of its text";
    let tools = [
        tool("alpha", &format!("{long}.")),
        tool("beta", &format!("{long}!")),
        tool("gamma", &format!("{long} now.")),
    ];
    assert_eq!(found(tools), [text("beta", "equal"), text("gamma", "nearly equal")]);
}

#[test]
fn distinguishable_descriptions_are_not_a_finding() {
    let tool = |name: &str, description: &str| definition(name, description, json!({}));
    let rest = "the issue with the given number in the repository that was opened before, and gives the address at \
                which a person can look at what was done";
    let of_all: String = (0..100).map(|at| format!("word{at} ")).collect();
    let apart = [
        tool("create_issue", &format!("Creates {rest}.")),
        tool("close_issue", &format!("Closes {rest}.")),
        tool("to_feet", "Converts metres to feet."),
        tool("to_metres", "Converts feet to metres."),
        tool("todos", &format!("Lists what is to be done. {of_all}")),
        tool("members", &format!("Lists who is part of it. {of_all}")),
        tool("first", "Reads the first line of a file."),
        tool("last", "Reads the last line of a file."),
    ];
    assert_eq!(found(apart), Vec::<String>::new());
}

/// Returns the time of comparing the descriptions of `tools`, as a multiple of the time of linting each alone, because
/// both depend on the load of the machine.
fn compared(tools: &Registry) -> f64 {
    let silent = |tool: &ToolDefinition| definition(tool.name(), "", json!({}));
    let without = registry(tools.definitions().iter().map(silent));
    let fastest = |tools: &Registry| {
        let time = || {
            let start = Instant::now();
            assert!(!lint(tools).is_empty());
            start.elapsed()
        };
        (0..3).map(|_| time()).min().unwrap()
    };
    let (all, each) = (fastest(tools), fastest(&without));
    println!("{} tools: {each:?}, and {:?} to compare them", tools.len(), all.saturating_sub(each));
    all.saturating_sub(each).as_secs_f64() / each.as_secs_f64()
}

#[test]
fn comparing_tools_that_differ_in_a_word_is_fast() {
    let of_all: String = (0..60).map(|at| format!(" word{at}")).collect();
    let named = |at| definition(&format!("create_x{at}"), &format!("Creates x{at} in{of_all}."), json!({}));
    let told = |at| {
        definition(
            &format!("tool_{at}"),
            &format!("Creates x{at} y{at} z{at} u{at} v{at} w{at} in{of_all}."),
            json!({}),
        )
    };
    for tools in [registry((0..500).map(named)), registry((0..500).map(told))] {
        let compared = compared(&tools);
        assert!(compared < 6.0, "{compared}");
    }
}

#[test]
fn comparing_a_thousand_tools_is_fast() {
    let words: Vec<_> = (0..200).map(|at| format!("word{at}")).collect();
    let described = |at: usize| {
        let of_all = "Gives the entries of the register that belong to it, sorted by their date, with the name of those who \
                      wrote them";
        let own: Vec<_> =
            (0..30).map(|step| words[(at * 7 + step * step * (at % 13 + 1)) % 200].as_str()).collect();
        definition(&format!("tool_{at}"), &format!("{of_all}: {}.", own.join(" ")), json!({}))
    };
    let compared = compared(&registry((0..1_000).map(described)));
    assert!(compared < 6.0, "{compared}");
}
