//! The parts of a definition: comparison, serialisation, and the form for a peer.

use serde_json::{Value, json};
use tool_core::{
    Confirmation, InputSchema, Metadata, OutputSchema, Permission, Retry, ToolDefinition, ToolName,
    internals::{PeerDefinition, ToolSteps},
};

fn name(name: &'static str) -> ToolName {
    ToolName::new(name).unwrap()
}

fn input(maximum: u8) -> InputSchema {
    InputSchema::new(json!({ "type": "object", "properties": { "n": { "maximum": maximum } } })).unwrap()
}

fn output(kind: &str) -> OutputSchema {
    OutputSchema::new(json!({ "type": kind })).unwrap()
}

fn described(name: ToolName, description: &'static str, input: InputSchema) -> ToolDefinition {
    ToolDefinition::new(name, description, input)
        .with_title("Sum up")
        .with_metadata(Metadata { read_only: Some(true), ..Metadata::default() })
        .with_examples(vec![json!({ "n": 1 })])
}

fn complete() -> ToolDefinition {
    described(name("sums"), "Sums.", input(1)).with_output_schema(output("integer"))
}

// A03
#[test]
fn a_difference_in_one_part_alone_makes_definitions_unequal() {
    assert_eq!(complete(), complete());
    assert_eq!(described(name("sums"), "Sums.", input(1)), described(name("sums"), "Sums.", input(1)));
    let with_output = |definition: ToolDefinition| definition.with_output_schema(output("integer"));
    for (part, other) in [
        ("name", complete().with_name(name("sum"))),
        ("raw name", with_output(described(name("sums").with_raw("sum.s"), "Sums.", input(1)))),
        ("title", complete().with_title("Sum")),
        ("description", with_output(described(name("sums"), "Adds.", input(1)))),
        ("metadata", complete().with_metadata(Metadata::default())),
        ("examples", complete().with_examples(vec![json!({ "n": 0 })])),
        ("input schema", with_output(described(name("sums"), "Sums.", input(2)))),
        ("output schema", complete().with_output_schema(output("string"))),
        ("no output schema", described(name("sums"), "Sums.", input(1))),
    ] {
        assert!(complete() != other && other != complete(), "{part}");
        assert_ne!(complete().content_hash(), other.content_hash(), "{part}");
    }
    let anything = |kind: &str| {
        let schema = InputSchema::new(json!({ "properties": {} })).unwrap();
        ToolDefinition::new(name("any"), "Takes anything.", schema).with_output_schema(output(kind))
    };
    assert!(anything("integer") == anything("integer") && anything("integer") != anything("string"));
}

// A03
#[test]
fn all_parts_of_a_definition_are_serialized_and_a_change_is_seen_at_once() {
    let definition = complete().with_name(name("files__sums"));
    assert_eq!(
        serde_json::to_value(&definition).unwrap(),
        json!({
            "name": "files__sums",
            "rawName": "sums",
            "title": "Sum up",
            "description": "Sums.",
            "inputSchema": { "type": "object", "properties": { "n": { "maximum": 1 } } },
            "outputSchema": { "type": "integer" },
            "metadata": { "readOnly": true },
            "examples": [{ "n": 1 }],
        })
    );
    assert_eq!((definition.raw_name(), definition.examples()), ("sums", &[json!({ "n": 1 })][..]));
    assert_eq!(definition.output_schema().map(OutputSchema::as_value), Some(&json!({ "type": "integer" })));
    // An example and a hash that were read before a change are made again after it.
    let before = (definition.example().cloned(), definition.content_hash());
    let changed = definition.with_examples(vec![json!({ "n": 0 })]);
    assert_eq!((before.0, changed.example()), (Some(json!({ "n": 1 })), Some(&json!({ "n": 0 }))));
    assert_ne!(before.1, changed.content_hash());
    // Without an example of the tool, the schema makes one.
    assert_eq!(changed.with_examples(Vec::new()).example(), Some(&json!({})));
}

// A08
#[test]
fn all_metadata_are_serialized_under_their_names_unless_they_are_default() {
    let metadata = Metadata {
        sequential: true,
        blocking: true,
        skip_summarization: true,
        merge: true,
        streaming: true,
        permission: true,
        confirmation: Confirmation::Always,
        retry: Some(Retry::default()),
        ..Metadata::default()
    };
    let written = json!({
        "sequential": true,
        "blocking": true,
        "skipSummarization": true,
        "merge": true,
        "streaming": true,
        "retry": { "attempts": 3, "initialMs": 200, "maxMs": 30_000, "multiplier": 2.0, "jitter": true },
        "confirmation": "always",
        "permission": true,
    });
    assert_eq!(serde_json::to_value(&metadata).unwrap(), written);
    assert_eq!(serde_json::from_value::<Metadata>(written).unwrap(), metadata);
    let sometimes = Metadata { confirmation: Confirmation::Sometimes, ..Metadata::default() };
    assert_eq!(serde_json::to_value(sometimes).unwrap(), json!({ "confirmation": "sometimes" }));
    assert_eq!(Permission::deny("no"), Permission::Deny { reason: "no".to_owned() });
    assert_eq!(Permission::ask("sure?"), Permission::Ask { reason: "sure?".to_owned() });
    assert_eq!(Permission::default(), Permission::Allow);
}

#[test]
fn the_form_for_a_peer_keeps_all_parts_and_what_the_decoder_knows() {
    let aliased = json!({
        "type": "object",
        "properties": { "path": { "type": "string", "x-tool-aliases": ["file"] } },
        "additionalProperties": false,
    });
    let steps = |redirects_calls| ToolSteps { redirects_calls, ..ToolSteps::default() };
    let sent = |definition: &ToolDefinition, steps| {
        let peer = PeerDefinition::new(definition, steps);
        let written = serde_json::to_value(&peer).unwrap();
        let read: PeerDefinition = serde_json::from_value(written.clone()).unwrap();
        assert_eq!((read.steps(), read.content_hash()), (steps, peer.content_hash()));
        (written, read.into_definition().unwrap())
    };
    let original =
        described(name("open").with_raw("file/open"), "Opens.", InputSchema::own(aliased).unwrap())
            .with_output_schema(output("integer"));
    let (written, received) = sent(&original, steps(true));
    assert_eq!((&received, received.title()), (&original, "Sum up"));
    assert_eq!(serde_json::to_value(&received).unwrap(), serde_json::to_value(&original).unwrap());
    assert!(received.output_schema().is_some_and(OutputSchema::is_promise));
    assert_eq!(received.canonical(r#"{"file":"a"}"#.into()).unwrap().as_str(), r#"{"path":"a"}"#);
    assert_eq!(
        (&written["steps"], &written["hasInternalKeywords"]),
        (
            &json!({ "preparesArguments": false, "redirectsCalls": true, "addsToRequests": false }),
            &json!(true)
        )
    );
    // A foreign schema has no such keywords, and an output schema that is no promise stays so.
    let foreign = ToolDefinition::new(name("sums"), "Sums.", input(1))
        .with_output_schema(OutputSchema::deferred(|| json!({ "type": "integer" })));
    let (written, received) = sent(&foreign, ToolSteps::default());
    assert_eq!((&received, received.title()), (&foreign, "sums"));
    assert!(received.output_schema().is_some_and(|schema| !schema.is_promise()));
    assert_eq!((written.get("steps"), &written["hasInternalKeywords"]), (None, &json!(false)));
    // Nothing that a definition refuses is one.
    for (member, value, message) in [
        (
            "name",
            json!("a b"),
            Some(
                "the name of the tool is invalid: the tool name `a b` has the character ' '; only letters, digits, `_` and `-` are allowed",
            ),
        ),
        ("inputSchema", json!(5), None),
        ("outputSchema", json!(5), None),
    ] {
        let mut broken = written.clone();
        broken[member] = value;
        let error = serde_json::from_value::<PeerDefinition>(broken).unwrap().into_definition().unwrap_err();
        assert!(message.is_none_or(|message| error.to_string() == message), "{error}");
    }
    assert!(ToolSteps::default().is_empty() && !steps(true).is_empty());
}

fn refused_number(text: &str) -> String {
    serde_json::from_str::<tool_core::ContentHash>(text).unwrap_err().to_string()
}

// A09
#[test]
fn a_hash_is_a_string_and_several_are_combined_in_order() {
    use tool_core::ContentHash;
    assert_eq!(
        refused_number("5"),
        "invalid type: integer `5`, expected a string of 64 hexadecimal digits at line 1 column 1"
    );
    let (one, other) = (ContentHash::of("a"), ContentHash::of("b"));
    let all = [[one, other], [other, one], [one, one]].map(ContentHash::combine);
    assert!(all[0] != all[1] && all[0] != all[2] && all[1] != all[2]);
    assert_ne!(ContentHash::combine([one]), one);
    assert_eq!(ContentHash::combine([one, other]), all[0]);
    // The SHA-256 of nothing.
    let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(ContentHash::combine([]).to_string(), nothing);
    let bytes: [u8; 32] = std::array::from_fn(|at| u8::try_from(at * 8 + at).unwrap_or(0xf0));
    let hash = ContentHash::from(bytes);
    assert_eq!((<[u8; 32]>::from(hash), hash.to_string().parse()), (bytes, Ok(hash)));
    // A value that has no JSON is hashed by its error.
    let keys = std::collections::BTreeMap::from([((1, 2), 3)]);
    assert_eq!(ContentHash::of(&keys), ContentHash::of(&keys));
    assert_ne!(ContentHash::of(&keys), ContentHash::of(&Value::Null));
}
