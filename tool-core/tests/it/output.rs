use std::collections::BTreeMap;

use serde_json::{Value, json};
use tool_core::{Actions, Bytes, Content, ErrorKind, ResourceBody, ToolOutput};

// D05
#[test]
fn a_text_is_itself_and_a_value_is_compact_json() {
    assert_eq!(ToolOutput::from("a<b").text(), "a<b");
    assert_eq!(ToolOutput::json("a<b").unwrap().text(), "a<b");
    assert_eq!(ToolOutput::json(&json!({ "x": "é & <" })).unwrap().text(), r#"{"x":"é & <"}"#);
    assert_eq!(ToolOutput::json(&5).unwrap().text(), "5");
}

// D01
#[test]
fn an_output_survives_json() {
    let plain: ToolOutput = serde_json::from_value(json!({ "content": [] })).unwrap();
    assert_eq!(plain, ToolOutput::empty());
    assert_eq!(serde_json::to_value(&plain).unwrap(), json!({ "content": [] }));
    let actions = Actions { terminate: true, ..Actions::default() };
    let full = ToolOutput::json(&json!({ "n": 1 }))
        .unwrap()
        .with_details(json!({ "secret": 1 }))
        .with_child_run_id("run-7")
        .with_operation_id("op-1")
        .with_actions(actions);
    let written = serde_json::to_value(&full).unwrap();
    assert_eq!(
        written,
        json!({
            "content": [{ "type": "text", "text": "{\"n\":1}" }],
            "structured": { "n": 1 },
            "details": { "secret": 1 },
            "childRunId": "run-7",
            "operationId": "op-1",
            "actions": { "terminate": true },
        })
    );
    assert_eq!(serde_json::from_value::<ToolOutput>(written).unwrap(), full);
}

// D02
#[test]
fn a_picture_is_base64_with_its_type() {
    let image = Content::image([1, 2, 3], "image/png");
    let written = serde_json::to_value(&image).unwrap();
    assert_eq!(written, json!({ "type": "image", "data": "AQID", "mimeType": "image/png" }));
    assert_eq!(serde_json::from_value::<Content>(written).unwrap(), image);
    let sound = serde_json::to_value(Content::audio([1], "audio/wav")).unwrap();
    assert_eq!(sound["type"], "audio");
}

// D06
#[test]
fn the_map_form_is_always_an_object() {
    let map = |output: ToolOutput| Value::Object(output.to_map());
    assert_eq!(map(ToolOutput::json(&5).unwrap()), json!({ "result": 5 }));
    assert_eq!(map(ToolOutput::json(&json!({ "temp": 72 })).unwrap()), json!({ "temp": 72 }));
    assert_eq!(map(ToolOutput::from("x")), json!({ "result": "x" }));
    let picture = Content::image([1], "image/png");
    assert_eq!(map(ToolOutput::from("x").with_content(picture)), json!({ "result": "x" }));
    assert_eq!(map(ToolOutput::empty()), json!({}));
}

// D07
#[test]
fn the_resource_form_has_the_type_of_what_it_holds() {
    let text = ToolOutput::from("x").to_resource("ns.t").unwrap();
    assert_eq!((text.uri.as_str(), text.mime_type.as_str()), ("t", "text/plain"));
    assert_eq!(text.body, ResourceBody::Text("x".into()));
    let json = ToolOutput::json(&json!([1])).unwrap().to_resource("t").unwrap();
    assert_eq!(json.mime_type, "application/json");
    let png = ToolOutput::from(Bytes(b"\x89PNG\r\n\x1a\n".to_vec())).to_resource("t").unwrap();
    assert_eq!(png.mime_type, "image/png");
    let raw = ToolOutput::from(Bytes(vec![0xff, 0xfe, 0x00])).to_resource("t").unwrap();
    assert_eq!(raw.mime_type, "application/octet-stream");
    assert_eq!(raw.uri, "t");
    assert_eq!(ToolOutput::empty().to_resource("t"), None);
}

// D10
#[test]
fn what_cannot_be_json_is_an_error_and_not_a_panic() {
    let keys = BTreeMap::from([((1, 2), 3)]);
    let error = ToolOutput::json(&keys).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidOutput);
    assert_eq!(
        error.feedback(),
        "Invalid output: the result cannot be written as JSON: key must be a string"
    );
}

#[test]
fn content_and_value_may_differ() {
    let output = ToolOutput::from("21 degrees").with_structured(json!({ "celsius": 21 }));
    assert_eq!(output.text(), "21 degrees");
    assert_eq!(output.structured(), Some(json!({ "celsius": 21 })));
    let read: ToolOutput = serde_json::from_value(serde_json::to_value(&output).unwrap()).unwrap();
    assert_eq!((read.text().as_ref(), read.structured()), ("21 degrees", output.structured()));
    let output = output.with_content(Content::image([1], "image/png"));
    assert_eq!(output.content().len(), 2);
    assert_eq!(output.structured(), Some(json!({ "celsius": 21 })));
    assert_eq!(output.text(), "21 degrees");
}

// D14, G15
#[test]
fn actions_ask_for_what_any_of_them_asks_for() {
    let each = [
        Actions { terminate: true, ..Actions::default() },
        Actions { skip_summarization: true, ..Actions::default() },
        Actions { escalate: true, ..Actions::default() },
        Actions { transfer: Some("billing".to_owned()), ..Actions::default() },
    ];
    for asked in each {
        let mut first = asked.clone();
        first.follow(Actions::default());
        assert_eq!(first, asked);
        let mut second = Actions::default();
        second.follow(asked.clone());
        assert_eq!(second, asked);
    }
    let to = |name: &str| Actions { transfer: Some(name.to_owned()), ..Actions::default() };
    let mut both = to("billing");
    both.follow(to("support"));
    assert_eq!(both, to("support"));
}
