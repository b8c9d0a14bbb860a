//! Tests of messages.

use super::*;

#[test]
fn a_message_has_its_parts_by_kind() {
    let call = ToolCall::new("t", "{}");
    let image = || Content::image(vec![1], "image/png");
    let message = Message::assistant([
        Part::Text("a".to_owned()),
        Part::Reasoning("hidden".to_owned()),
        Part::Content(image()),
        Part::Call(call),
        Part::Text("b".to_owned()),
    ]);
    assert_eq!((message.role(), message.text().as_str()), (Role::Assistant, "ab"));
    assert_eq!((message.calls().count(), message.tool_results().count()), (1, 0));
    assert_eq!(message.content(), [Content::text("a"), image(), Content::text("b")]);
    let user = Message::user_content([Content::text("a"), image()]);
    assert!(matches!(user.parts(), [Part::Text(text), Part::Content(_)] if text == "a"));
    assert!(user.is_same(&user.clone()) && !user.is_same(&Message::user("a")));
    let other = user.clone().with_original(original("d", "1"));
    assert!(user.original().is_none() && other.original().is_some() && !user.is_same(&other));
    assert_eq!((other.role(), other.parts().len()), (Role::User, 2));
    let of_agent = other.clone().with_agent("writer");
    assert_eq!((other.agent(), of_agent.agent()), (None, Some("writer")));
    assert!(of_agent.original().is_some() && !other.is_same(&of_agent));
}

fn original(dialect: &str, json: &str) -> Original {
    Original { dialect: dialect.into(), json: RawValue::from_string(json.to_owned()).unwrap() }
}

#[cfg(feature = "http")]
#[test]
fn a_message_is_rendered_once_in_its_first_form() {
    let form = |dialect: &str| MessageForm { dialect: dialect.into(), variant: "v", names: Vec::new() };
    let raw = |json: &str| Arc::<RawValue>::from(RawValue::from_string(json.to_owned()).unwrap());
    let texts =
        |messages: &[Arc<RawValue>]| messages.iter().map(|it| it.get().to_owned()).collect::<Vec<_>>();
    let message = Message::user("a");
    let first = message.provider_json_or_render(form("d"), || vec![raw("1"), raw("2")]);
    assert_eq!(texts(&first), ["1", "2"]);
    let again = message.provider_json_or_render(form("d"), || vec![raw("3")]);
    assert_eq!(texts(&again), ["1", "2"]);
    let other = message.provider_json_or_render(form("e"), || vec![raw("3")]);
    assert_eq!(texts(&other), ["3"]);
    assert_eq!(texts(&message.provider_json_or_render(form("d"), || vec![raw("3")])), ["1", "2"]);
    // The form of its provider is kept for its provider alone.
    for (json, expected) in [("[1,2]", &["1", "2"][..]), ("{\"a\":[1]}", &["{\"a\":[1]}"]), ("[]", &[])] {
        let kept = Message::user("a").with_original(original("d", json));
        assert_eq!(texts(&kept.provider_json_or_render(form("d"), || vec![raw("3")])), expected);
        let kept = Message::user("a").with_original(original("d", json));
        assert_eq!(texts(&kept.provider_json_or_render(form("e"), || vec![raw("3")])), ["3"]);
    }
}

#[cfg(feature = "http")]
#[test]
fn a_message_that_changes_is_rendered_again_and_its_clones_are_not() {
    let form = || MessageForm { dialect: "d".into(), variant: "v", names: Vec::new() };
    let texts =
        |messages: &[Arc<RawValue>]| messages.iter().map(|it| it.get().to_owned()).collect::<Vec<_>>();
    let message = Message::user("a").with_original(original("d", "1"));
    assert_eq!(texts(&message.provider_json_or_render(form(), Vec::new)), ["1"]);
    let clone = message.clone();
    let changed = clone.with_original(original("d", "2"));
    assert_eq!(texts(&changed.provider_json_or_render(form(), Vec::new)), ["2"]);
    // Without a clone, the message itself changes.
    let changed = changed.with_original(original("d", "3"));
    assert_eq!(texts(&changed.provider_json_or_render(form(), Vec::new)), ["3"]);
    assert_eq!(texts(&message.provider_json_or_render(form(), Vec::new)), ["1"]);
}
