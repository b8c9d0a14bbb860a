//! Secrets in names: keys of a secret map, and calls of unknown tools.

use std::collections::BTreeMap;

use tool_runtime::{ToolCall, event::EventKind, prelude::*};

use super::ways::each_way;

const SECRET: &str = "sk-4711";

/// Stores tokens.
#[tool(register = false)]
fn store(
    #[arg(secret)]
    #[serde(alias = "keys")]
    tokens: BTreeMap<String, u8>,
    days: u8,
) -> usize {
    tokens.len() + usize::from(days)
}

#[test]
fn keys_of_a_secret_map_are_hidden_in_reports_and_corrections() {
    let tools = Registry::builder().tool::<store>().build().unwrap();
    for arguments in [
        r#"{"tokens":{"sk-4711":"x"},"days":1}"#,
        r#"{"tokens":{"sk-4711":{"sk-4711":1}},"days":1}"#,
        r#"{"tokens":{"sk-4711":1,"sk-4711":2},"days":1}"#,
        r#"{"keys":{"sk-4711":1,"sk-4711":2},"days":1}"#,
        r#"{"tokns":{"sk-4711":1,"sk-4711":2},"days":1}"#,
        r#"{"tokens":{"sk-4711":999},"days":"1"}"#,
        r#"{"tokens":{"sk-4711":1e999},"days":1}"#,
    ] {
        let error = crate::run(tools.call("store", arguments)).unwrap_err();
        for text in [error.feedback(), error.to_string(), format!("{error:?}")] {
            assert!(!text.contains(SECRET), "{arguments}: {text}");
        }
    }
    let error = crate::run(tools.call("store", r#"{"tokens":{"sk-4711":"x"},"days":1}"#)).unwrap_err();
    assert_eq!(error.violations()[0].pointer, "/tokens/***");
    let reply = crate::run(tools.call("store", r#"{"tokens":{"sk-4711":"1"},"days":"1"}"#)).unwrap();
    let told: Vec<_> = reply.corrections().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "/tokens/***: read a value that is hidden as a number",
            "/days: read a value that is hidden as a number",
        ]
    );
}

#[test]
fn a_missing_argument_beside_a_secret_is_reported_as_missing() {
    let tools = Registry::builder().tool::<store>().build().unwrap();
    let error = crate::run(tools.call("store", r#"{"tokens":{"sk-4711":1}}"#)).unwrap_err();
    let [violation] = error.violations() else { panic!("{error:?}") };
    assert_eq!((violation.pointer.as_str(), violation.received.as_str()), ("/days", "nothing"));
    let error = crate::run(tools.call("store", r#"{"tokens":{"sk-4711":1},"days":"nothing"}"#)).unwrap_err();
    assert_eq!(error.violations()[0].received, "a value that is hidden");
}

#[test]
fn arguments_of_an_unknown_tool_are_hidden_if_any_tool_has_a_secret() {
    each_way(async |way| {
        let executor = way.executor(Registry::builder().tool::<store>());
        executor.run(vec![ToolCall::new("stroe", r#"{"tokens":{"sk-4711":1},"days":1}"#)]).await;
        for event in executor.events().into_iter().flatten() {
            assert!(!serde_json::to_string(&event).unwrap().contains(SECRET), "{event:?}");
            if let EventKind::Started { call } = &event.kind {
                assert_eq!(call.arguments.as_str(), r#""***""#);
            }
        }
    });
}

#[test]
fn arguments_of_an_unknown_tool_are_shown_if_no_tool_has_a_secret() {
    let executor = super::executor(Registry::builder().tool::<super::hang>());
    let mut listener = executor.subscribe();
    crate::run(executor.run(super::one("hnag", r#"{ "a": 1.0 }"#)));
    let EventKind::Started { call, .. } = &super::events(&mut listener)[0].kind else { panic!() };
    assert_eq!(call.arguments.as_str(), r#"{ "a": 1.0 }"#);
}

#[test]
fn the_name_of_an_unknown_argument_is_hidden() {
    /// Logs in.
    #[tool(register = false, unknown_fields = "ignore")]
    fn open(#[arg(secret)] pin: String, user: String) -> usize {
        pin.len() + user.len()
    }
    /// Logs in.
    #[tool(register = false)]
    fn closed(#[arg(secret)] pin: String, user: String) -> usize {
        pin.len() + user.len()
    }
    each_way(async |way| {
        for name in ["open", "closed"] {
            let executor = way.executor(Registry::builder().tool::<open>().tool::<closed>());
            let arguments = r#"{"pin":"1234","user":"ada","sk-4711":1}"#;
            let results = executor.run(vec![ToolCall::new(name, arguments)]).await;
            let text = results[0].result().unwrap().text().to_string();
            assert!(!text.contains(SECRET), "{text}");
            for event in executor.events().into_iter().flatten() {
                assert!(!serde_json::to_string(&event).unwrap().contains(SECRET), "{event:?}");
                if let EventKind::Started { call } = &event.kind {
                    assert_eq!(call.arguments.as_str(), r#"{"pin":"***","user":"ada","***":"***"}"#); // E10
                }
            }
        }
    });
}

#[test]
fn an_error_about_an_unknown_argument_hides_its_name_and_suggests_the_known_one() {
    /// Logs in.
    #[tool(register = false)]
    fn login(#[arg(secret)] password: String) -> usize {
        password.len()
    }
    let tools = Registry::builder().tool::<login>().build().unwrap();
    let error = crate::run(tools.call("login", r#"{"passwrd":"x"}"#)).unwrap_err().feedback();
    assert!(error.contains("`password`") && !error.contains("passwrd"), "{error}"); // E10
}

/// A person.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Person {
    name: String,
    labels: Option<BTreeMap<String, String>>,
}

/// Logs in.
#[tool(register = false)]
fn enter(#[arg(secret)] pin: String, people: Vec<Person>) -> usize {
    pin.len() + people.iter().map(|it| it.name.len() + it.labels.iter().len()).sum::<usize>()
}

#[test]
fn the_name_of_an_unknown_member_of_an_argument_is_hidden() {
    let definition = Registry::builder().tool::<enter>().build().unwrap().definitions()[0].clone();
    let arguments = r#"{"pin":"1","people":[{"name":"ada","labels":{"a":"b"},"sk-4711":{"sk-4711":1}}]}"#;
    let shown = definition.redacted(&arguments.into());
    let expected = r#"{"pin":"***","people":[{"name":"ada","labels":{"a":"b"},"***":"***"}]}"#;
    assert_eq!(shown.as_str(), expected); // E10
    each_way(async |way| {
        let executor = way.executor(Registry::builder().tool::<enter>());
        let outcomes = executor.run(vec![ToolCall::new("enter", arguments)]).await;
        let text = outcomes[0].result().unwrap().text().to_string();
        assert!(!text.contains(SECRET), "{text}"); // E10
        for event in executor.events().into_iter().flatten() {
            assert!(!serde_json::to_string(&event).unwrap().contains(SECRET), "{event:?}"); // E10
        }
    });
}
