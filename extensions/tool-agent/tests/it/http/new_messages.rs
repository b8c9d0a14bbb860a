//! Content that a provider does not accept is reported once: with the request that has it first.

use test_support::http::Recorder;
use tool_agent::{
    Message, Part,
    model::{Model as _, ModelEvent, Request},
};
use tool_runtime::Content;

use super::{events, finished, model, saying, server::Answer};

#[tokio::test]
async fn only_messages_after_the_last_answer_of_the_provider_are_reported() {
    for wire in ["openai", "openai-responses", "anthropic"] {
        let server = Recorder::scripted((0..4).map(|_| Answer::json(&saying(wire, "100")))).await;
        let model = model(wire, &server.url);
        let odd = |kind: &str| Message::user_content([Content::audio([1], format!("audio/x-{kind}"))]);
        let asked = async |messages: Vec<Message>| {
            let events = events(model.respond(Request::new(messages))).await;
            let reported = events.iter().filter_map(|event| match event {
                Ok(ModelEvent::Unsupported(text)) => Some(text.clone()),
                _ => None,
            });
            let reported: Vec<_> = reported.collect();
            (finished(events).message, reported)
        };
        let (own, reported) = asked(vec![odd("one")]).await;
        assert_eq!(reported.len(), 1, "{wire}: {reported:?}");
        assert!(reported[0].contains("audio/x-one"), "{reported:?}");
        let (_, reported) = asked(vec![odd("one"), own.clone(), Message::user("And 2?")]).await;
        assert_eq!(reported, [""; 0], "{wire}");
        let (again, reported) = asked(vec![odd("one"), own.clone(), odd("two")]).await;
        assert!(matches!(&reported[..], [text] if text.contains("audio/x-two")), "{wire}: {reported:?}");
        // Messages of the provider itself are the ones that count.
        let foreign = Message::assistant([Part::Text("100".to_owned())]);
        let messages = vec![odd("one"), own, odd("two"), again, odd("three"), foreign, odd("four")];
        let (_, reported) = asked(messages).await;
        let named: Vec<_> = ["one", "two", "three", "four"]
            .into_iter()
            .filter(|kind| reported.iter().any(|text| text.contains(&format!("audio/x-{kind}"))))
            .collect();
        assert_eq!(named, ["three", "four"], "{wire}: {reported:?}");
    }
}
