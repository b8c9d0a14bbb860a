//! Tools that a model may confuse with each other.

use serde_json::json;

use super::{definition, found};

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
