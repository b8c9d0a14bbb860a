use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tool_core::{Actions, Blob, Bytes, Content, Correction, ErrorKind, Resource, ResourceBody, ToolOutput};

// D05
#[test]
fn a_text_is_unchanged_and_a_value_is_compact_json() {
    assert_eq!(ToolOutput::from("a<b").text(), "a<b");
    assert_eq!(ToolOutput::json("a<b").unwrap().text(), "a<b");
    assert_eq!(ToolOutput::json(&json!({ "x": "é & <" })).unwrap().text(), r#"{"x":"é & <"}"#);
    assert_eq!(ToolOutput::json(&5).unwrap().text(), "5");
}

// D01
#[test]
fn an_output_round_trips_through_json() {
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
fn an_image_is_base64_with_its_media_type() {
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
fn a_resource_is_serialized_by_its_content_type() {
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
fn a_value_that_cannot_be_serialized_is_an_error() {
    let keys = BTreeMap::from([((1, 2), 3)]);
    let error = ToolOutput::json(&keys).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidOutput);
    assert_eq!(
        error.feedback(),
        "Invalid output: the result cannot be written as JSON: key must be a string"
    );
}

#[test]
fn content_and_structured_value_may_differ() {
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
fn merged_actions_contain_all_actions() {
    let each = [
        Actions { terminate: true, ..Actions::default() },
        Actions { skip_summarization: true, ..Actions::default() },
        Actions { escalate: true, ..Actions::default() },
        Actions { transfer: Some("billing".to_owned()), ..Actions::default() },
        Actions { state: entry("k", 1), ..Actions::default() },
        Actions { artifacts: entry("a.txt", 1), ..Actions::default() },
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

fn entry(key: &str, value: u8) -> Map<String, Value> {
    Map::from_iter([(key.to_owned(), json!(value))])
}

#[test]
fn later_actions_override_earlier_ones_by_key() {
    let one = Actions { state: entry("k", 1), artifacts: entry("a", 1), ..Actions::default() };
    let other = Actions { state: entry("k", 2), artifacts: entry("a", 2), ..Actions::default() };
    let mut both = one.clone();
    both.follow(other.clone());
    assert_eq!(both, other);
    both.follow(Actions { state: entry("l", 3), artifacts: entry("b", 3), ..Actions::default() });
    // The highest version of an artifact counts.
    both.follow(Actions { artifacts: entry("a", 1), ..Actions::default() });
    assert_eq!(
        (Value::from(both.state), Value::from(both.artifacts)),
        (json!({ "k": 2, "l": 3 }), json!({ "a": 2, "b": 3 }))
    );
}

#[test]
fn getters_of_an_output_return_the_values_set() {
    let none = ToolOutput::from("x");
    assert_eq!(
        (none.details(), none.child_run_id(), none.operation_id(), none.actions()),
        (None, None, None, None)
    );
    assert!(none.corrections().is_empty() && !none.is_failure() && !none.is_final() && !none.is_empty());
    let corrections: Vec<Correction> = Vec::new();
    let actions = Actions { escalate: true, ..Actions::default() };
    let output = none
        .with_details(json!(1))
        .with_child_run_id("r")
        .with_operation_id("o")
        .with_actions(actions.clone())
        .with_corrections(corrections);
    assert_eq!((output.details(), output.actions()), (Some(&json!(1)), Some(&actions)));
    assert_eq!((output.child_run_id(), output.operation_id()), (Some("r"), Some("o")));
    assert!(!output.is_failure() && !output.is_final());
    assert!(output.clone().as_failure().is_failure() && !output.clone().as_failure().is_final());
    assert!(output.clone().as_final().is_final() && !output.clone().as_final().is_failure());
    // Replacing the text keeps all other parts.
    let said = output.clone().with_text("y");
    assert_eq!(
        (said.text(), said.details(), said.structured()),
        ("y".into(), Some(&json!(1)), Some(json!("y")))
    );
}

#[test]
fn each_part_of_an_output_round_trips_through_json() {
    let all = [
        ToolOutput::from("x"),
        ToolOutput::from("5"),
        ToolOutput::json(&5).unwrap(),
        ToolOutput::empty().with_structured(json!(5)),
        ToolOutput::new([Content::text("x")]).with_structured(json!("y")),
        ToolOutput::new([Content::text("x"), Content::text("y")]),
        ToolOutput::empty().as_failure(),
        ToolOutput::empty().as_final(),
        ToolOutput::empty().with_details(json!(1)),
        ToolOutput::empty().with_child_run_id("r"),
        ToolOutput::empty().with_operation_id("o"),
        ToolOutput::empty().with_actions(Actions { skip_summarization: true, ..Actions::default() }),
    ];
    for output in all {
        let written = serde_json::to_value(&output).unwrap();
        assert_eq!(serde_json::from_value::<ToolOutput>(written.clone()).unwrap(), output, "{written}");
    }
    let written = |output: ToolOutput| serde_json::to_value(output).unwrap();
    // A plain text is not serialized twice.
    assert_eq!(written("x".into()), json!({ "content": [{ "type": "text", "text": "x" }] }));
    assert_eq!(
        written(ToolOutput::empty().with_structured(json!(5))),
        json!({ "content": [], "structured": 5 })
    );
}

#[test]
fn an_output_is_empty_without_content_and_value() {
    for empty in [ToolOutput::empty(), ToolOutput::from(()), ToolOutput::new([]), Vec::new().into()] {
        assert!(empty.is_empty() && empty.content().is_empty() && empty.to_map().is_empty());
        assert_eq!((empty.text(), empty.structured(), empty.to_resource("t")), ("".into(), None, None));
    }
    for full in [
        ToolOutput::from(""),
        ToolOutput::json(&()).unwrap(),
        ToolOutput::new([Content::text("")]),
        ToolOutput::empty().with_structured(Value::Null),
    ] {
        assert!(!full.is_empty() && full.to_resource("t").is_some(), "{full:?}");
        assert_eq!(full.to_map().len(), 1, "{full:?}");
    }
}

#[test]
fn a_block_is_appended_to_existing_content() {
    let picture = || Content::image([1], "image/png");
    let texts = |output: ToolOutput| {
        let output = output.with_content(picture());
        (output.text().into_owned(), output.structured(), output.content().len())
    };
    assert_eq!(texts(ToolOutput::empty()), (String::new(), None, 1));
    assert_eq!(texts(ToolOutput::from("x")), ("x".to_owned(), Some(json!("x")), 2));
    assert_eq!(texts(ToolOutput::json(&5).unwrap()), ("5".to_owned(), Some(json!(5)), 2));
    assert_eq!(texts(ToolOutput::new([Content::text("x")])), ("x".to_owned(), None, 2));
    let several = ToolOutput::new([Content::text("a"), picture(), Content::text("b")]);
    assert_eq!(
        (several.text(), Content::text("a").as_text(), picture().as_text()),
        ("a\nb".into(), Some("a"), None)
    );
    assert_eq!(Value::Object(several.to_map()), json!({ "result": "a\nb" }));
    let valued = ToolOutput::json(&json!({ "n": 1 })).unwrap().with_structured(json!({ "n": 2 }));
    assert_eq!((valued.text(), valued.structured()), (r#"{"n":1}"#.into(), Some(json!({ "n": 2 }))));
}

#[test]
fn content_other_than_text_has_a_text_substitute() {
    let picture = || Content::image([1], "image/png");
    for plain in [
        ToolOutput::empty(),
        "x".into(),
        ToolOutput::json(&5).unwrap(),
        ToolOutput::new([Content::text("x")]),
    ] {
        assert!(!plain.needs_words(), "{plain:?}");
    }
    for other in [
        ToolOutput::new([picture()]),
        ToolOutput::new([Content::text("x"), picture()]),
        ToolOutput::empty().with_structured(json!(5)),
    ] {
        assert!(other.needs_words(), "{other:?}");
    }
}

// D07
#[test]
fn a_document_keeps_its_name_or_gets_a_default_name() {
    let blob = |data: &[u8]| ResourceBody::Blob(Blob(data.to_vec()));
    let document = |uri: &str| {
        let body = ResourceBody::Text("x".to_owned());
        Resource { uri: uri.to_owned(), mime_type: "text/csv".to_owned(), body }
    };
    let named = |uri: &str| ToolOutput::from(document(uri)).to_resource("ns.t").unwrap();
    assert_eq!((named("file:///a"), named("")), (document("file:///a"), document("t")));
    let of = |output: ToolOutput| {
        let Resource { uri, mime_type, body } = output.to_resource("t").unwrap();
        assert_eq!(uri, "t");
        (mime_type, body)
    };
    assert_eq!(of(Content::image([1], "image/png").into()), ("image/png".to_owned(), blob(&[1])));
    assert_eq!(of(Content::audio([2], "audio/wav").into()), ("audio/wav".to_owned(), blob(&[2])));
    let value = ToolOutput::new([Content::image([1], "image/png")]).with_structured(json!([1]));
    assert_eq!(of(value), ("application/json".to_owned(), ResourceBody::Text("[1]".to_owned())));
    let several = ToolOutput::new([Content::text("a"), Content::text("b")]);
    assert_eq!(of(several), ("text/plain".to_owned(), ResourceBody::Text("a\nb".to_owned())));
}

// D02
#[test]
fn the_media_type_is_detected_from_the_first_bytes() {
    let content = |bytes: &[u8]| Content::from(Bytes(bytes.to_vec()));
    assert!(
        matches!(content(b"\x89PNG\r\n\x1a\n"), Content::Image { mime_type, .. } if mime_type == "image/png")
    );
    let wave = b"RIFF\x24\0\0\0WAVEfmt ";
    assert!(
        matches!(content(wave), Content::Audio { data: Blob(data), mime_type } if data == wave && mime_type == "audio/x-wav")
    );
    let document = |bytes: &[u8]| match content(bytes) {
        Content::Resource { resource } => (resource.uri, resource.mime_type, resource.body),
        other => panic!("{other:?}"),
    };
    let zip = b"PK\x03\x04\0\0";
    let blob = |bytes: &[u8]| ResourceBody::Blob(Blob(bytes.to_vec()));
    assert_eq!(document(zip), (String::new(), "application/zip".to_owned(), blob(zip)));
    let raw = [0xff, 0xfe, 0x00];
    assert_eq!(document(&raw), (String::new(), "application/octet-stream".to_owned(), blob(&raw)));
    assert_eq!(content("é".as_bytes()), Content::text("é"));
    assert_eq!(serde_json::from_value::<Blob>(json!("AQID")).unwrap(), Blob(vec![1, 2, 3]));
    assert!(serde_json::from_value::<Blob>(json!("?")).is_err());
}

#[test]
fn setters_in_place_change_only_their_part() {
    let plain = || ToolOutput::from("x");
    let changed = |output: ToolOutput, change: fn(&mut ToolOutput)| {
        let mut output = output;
        change(&mut output);
        output
    };
    assert_eq!(changed(plain(), |it| it.set_details(None)), plain());
    assert_eq!(changed(plain(), |it| it.set_failure(false)), plain());
    assert_eq!(changed(plain(), |it| it.set_details(Some(json!(1)))), plain().with_details(json!(1)));
    assert_ne!(plain().with_details(json!(1)), plain().with_details(json!(2)));
    assert_eq!(changed(plain(), |it| it.set_failure(true)), plain().as_failure());
    let failed = || plain().as_failure().with_details(json!(1));
    let unset = changed(failed(), |it| it.set_failure(false));
    assert_eq!((unset.is_failure(), unset.details()), (false, Some(&json!(1))));
    let unset = changed(failed(), |it| it.set_details(None));
    assert_eq!((unset.is_failure(), unset.details()), (true, None));
    let actions = Actions { terminate: true, ..Actions::default() };
    let mut acting = plain();
    acting.set_actions(actions.clone());
    assert_eq!(acting, plain().with_actions(actions));
    // The value of blocks stays beside other content; the value of a text is its content.
    let picture = || vec![Content::image([1], "image/png")];
    let mut valued = plain().with_structured(json!(5));
    valued.set_content(picture());
    assert_eq!((valued.content().to_vec(), valued.structured()), (picture(), Some(json!(5))));
    let mut text = plain();
    text.set_content(picture());
    assert_eq!(text, ToolOutput::from(picture()));
    assert_eq!((plain().into_text(), plain().into_structured()), ("x".to_owned(), Some(json!("x"))));
    let number = || ToolOutput::json(&5).unwrap();
    assert_eq!((number().into_text(), number().into_structured()), ("5".to_owned(), Some(json!(5))));
    let blocks = ToolOutput::new([Content::text("a"), Content::text("b")]).with_structured(json!(6));
    assert_eq!((blocks.clone().into_text(), blocks.into_structured()), ("a\nb".to_owned(), Some(json!(6))));
    assert_eq!(
        (ToolOutput::empty().into_text(), ToolOutput::empty().into_structured()),
        (String::new(), None)
    );
}
