use serde_json::{Value, json};
use tool_core::{ContentHash, InputSchema, Metadata, OutputSchema, ToolDefinition, ToolName};

fn definition(description: &'static str) -> ToolDefinition {
    let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
    ToolDefinition::new(ToolName::new("sums").unwrap(), description, schema)
}

// A03
#[test]
fn absent_parts_of_a_definition_are_not_serialized() {
    let written = serde_json::to_value(definition("Sums.")).unwrap();
    assert_eq!(
        written,
        json!({ "name": "sums", "description": "Sums.", "inputSchema": { "type": "object" } })
    );
    let schema = OutputSchema::new(json!({ "type": "integer" })).unwrap();
    let written = serde_json::to_value(definition("Sums.").with_output_schema(schema)).unwrap();
    assert_eq!(written["outputSchema"], json!({ "type": "integer" }));
}

// A07
#[test]
fn a_title_is_for_people_and_defaults_to_the_name() {
    let plain = definition("Sums.");
    assert_eq!(plain.title(), "sums");
    let titled = plain.with_title("Sum up");
    assert_eq!((titled.title(), titled.name().as_str()), ("Sum up", "sums"));
}

// A08
#[test]
fn hints_are_absent_by_default() {
    let metadata = Metadata::default();
    assert_eq!(serde_json::to_value(&metadata).unwrap(), json!({}));
    let safe = Metadata { concurrency_safe: Some(true), ..metadata };
    assert_eq!(serde_json::to_value(&safe).unwrap(), json!({ "concurrencySafe": true }));
    assert!(safe.is_concurrency_safe());
    assert!(!safe.is_read_only() && !safe.is_idempotent() && !safe.is_destructive());
}

// A08: an absent hint differs from `false`.
#[test]
fn a_hint_can_be_false() {
    let metadata = Metadata { read_only: Some(false), ..Metadata::default() };
    assert!(!metadata.is_read_only());
    assert_eq!(serde_json::to_value(&metadata).unwrap(), json!({ "readOnly": false }));
}

// A14
#[test]
fn a_long_running_tool_tells_the_model_to_wait() {
    let metadata = || Metadata { long_running: Some(true), ..Metadata::default() };
    let described = definition("sums").with_metadata(metadata());
    let note = "This is a long-running operation. Do not call it again while a call of it is pending.";
    assert_eq!(described.description(), format!("sums\n\n{note}"));
    assert_eq!(definition("").with_metadata(metadata()).description(), note);
    // A second call of the setter adds nothing.
    assert_eq!(described.clone().with_metadata(metadata()).description(), described.description());
}

#[test]
fn the_content_hash_is_the_hash_of_canonical_json() {
    // SHA-256 of `{"a":1,"b":[true,null]}`, independent of the order of the properties.
    let one: Value = serde_json::from_str(r#"{"b":[true,null],"a":1}"#).unwrap();
    let other: Value = serde_json::from_str(r#"{"a":1.0,"b":[true,null]}"#).unwrap();
    assert_eq!(ContentHash::of(&one), ContentHash::of(&other));
    assert_eq!(
        ContentHash::of(&one).to_string(),
        "1cc69c7fa23616ca2ec3ee70d24390a6225c8832db8a4c814c7e0e7f942f8668"
    );
}

// A09: the same in every build of serde_json, with `arbitrary_precision` or without.
#[test]
fn spellings_of_a_number_have_the_same_hash() {
    let hash = |text: &str| ContentHash::of(&serde_json::from_str::<Value>(text).unwrap());
    let same = [
        vec!["1", "1.0", "1e0", "10E-1"],
        vec!["0", "-0", "-0.0", "0e5"],
        vec!["0.1", "1e-1", "0.10"],
        vec!["18446744073709551616", "18446744073709552000", "1.8446744073709552e19"],
    ];
    for written in same {
        let hashes: Vec<_> = written.iter().map(|text| hash(text)).collect();
        assert!(hashes.windows(2).all(|pair| pair[0] == pair[1]), "{written:?} {hashes:?}");
    }
    let text = r#"{ "type": "object", "properties": { "n": { "maximum": 1e2, "minimum": -0.5, "multipleOf": 0.10 } } }"#;
    let schema = InputSchema::new(serde_json::from_str(text).unwrap()).unwrap();
    let definition = ToolDefinition::new(ToolName::new("sums").unwrap(), "Sums.", schema);
    assert_eq!(
        definition.content_hash().to_string(),
        "aefe7e90c6c503b0535fcdfb978d45e588ad548f282374decd7dbdab7671df10"
    );
}

// A09: all digits count: in a value up to 64 bits, in a type or a text without a limit.
#[test]
fn integers_are_hashed_exactly() {
    let hash = |text: &str| ContentHash::of(&serde_json::from_str::<Value>(text).unwrap());
    assert_ne!(hash("9007199254740992"), hash("9007199254740993"));
    assert_ne!(hash("-9223372036854775807"), hash("-9223372036854775803"));
    assert_ne!(hash("18446744073709551615"), hash("18446744073709551614"));
    assert_ne!(ContentHash::of(&u128::MAX), ContentHash::of(&(u128::MAX - 1)));
    assert_ne!(ContentHash::of(&i128::MIN), ContentHash::of(&(i128::MIN + 1)));
    assert_eq!(ContentHash::of_json(&u128::MAX.to_string()), Some(ContentHash::of(&u128::MAX)));
    assert_eq!(ContentHash::of(&1_u128), ContentHash::of(&1.0_f32));
    assert_ne!(ContentHash::of_json("0.1"), ContentHash::of_json("0.10000000000000000001"));
    let schema = |maximum: i64| {
        let schema = json!({ "type": "object", "properties": { "n": { "maximum": maximum } } });
        ToolDefinition::new(ToolName::new("n").unwrap(), "N.", InputSchema::new(schema).unwrap())
    };
    assert_ne!(schema(i64::MAX), schema(9_223_372_036_854_775_803));
    // The same in every build of serde_json. (An `f32` is not: it becomes another `Value` with `arbitrary_precision`.)
    assert_eq!(
        ContentHash::of(&json!([9_007_199_254_740_993_u64, 1e300, 0.1, 5e-324])).to_string(),
        "dc966592f17a7a5c80a2d4e00a36df406082fc7b332dcc8de4e50bc4b812cc02"
    );
}

// A09
#[test]
fn the_text_of_a_hash_is_read_again_and_nothing_else_is() {
    let hash = ContentHash::of("a");
    let text = hash.to_string();
    assert_eq!((text.parse(), text.to_uppercase().parse()), (Ok(hash), Ok(hash)));
    assert_eq!((json!(hash), format!("{hash:?}")), (json!(text), text.clone()));
    assert_eq!(serde_json::from_value::<ContentHash>(json!(text)).unwrap(), hash);
    for other in [&text[1..], &format!("{text}0"), &text.replacen(&text[..1], "g", 1), &"é".repeat(32), ""] {
        let refused = other.parse::<ContentHash>().unwrap_err().to_string();
        assert_eq!(refused, "a hash has 64 hexadecimal digits", "{other}");
        assert!(serde_json::from_value::<ContentHash>(json!(other)).is_err());
    }
}

#[test]
fn the_order_of_properties_does_not_affect_equality() {
    let of = |schema: &str| {
        let schema = InputSchema::new(serde_json::from_str(schema).unwrap()).unwrap();
        ToolDefinition::new(ToolName::new("sums").unwrap(), "Sums.", schema)
    };
    let one = r#"{ "type": "object", "properties": { "a": { "enum": [1, 2] }, "b": {} } }"#;
    let same = [one, r#"{ "properties": { "b": {}, "a": { "enum": [1.0, 2] } }, "type": "object" }"#];
    same.iter().for_each(|other| assert_eq!(of(one), of(other)));
    let others = [
        r#"{ "type": "object", "properties": { "a": { "enum": [1, 2, 3] }, "b": {} } }"#,
        r#"{ "type": "object", "properties": { "a": { "enum": [2, 1] }, "b": {} } }"#,
        r#"{ "type": "object", "properties": { "a": { "enum": [1, 2] }, "c": {} } }"#,
        r#"{ "type": "object", "properties": { "a": { "enum": [1, 2] }, "b": {}, "c": {} } }"#,
        r#"{ "type": "object", "properties": { "a": { "enum": [1, 2] } } }"#,
    ];
    for other in others {
        assert!(of(one) != of(other) && of(other) != of(one), "{other}");
    }
}

#[test]
fn any_change_of_a_definition_changes_its_hash() {
    let plain = definition("Sums.");
    let mut hashes = vec![
        plain.content_hash(),
        definition("Sums!").content_hash(),
        plain.clone().with_title("Sum").content_hash(),
        plain.clone().with_examples(vec![json!({})]).content_hash(),
        plain.clone().with_metadata(Metadata { read_only: Some(true), ..Metadata::default() }).content_hash(),
        plain.clone().with_output_schema(OutputSchema::new(json!({})).unwrap()).content_hash(),
    ];
    assert_eq!(definition("Sums.").content_hash(), plain.content_hash());
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 6);
}

// I24, CF04
#[test]
fn absent_hints_can_be_replaced_by_the_worst_case() {
    let silent = Metadata::default();
    let worst = silent.conservative();
    assert_eq!(
        (worst.read_only, worst.destructive, worst.idempotent, worst.open_world),
        (Some(false), Some(true), Some(false), Some(true))
    );
    let said = Metadata {
        read_only: Some(true),
        open_world: Some(false),
        tags: vec!["a".into()],
        ..Metadata::default()
    };
    let read = said.conservative();
    assert_eq!(
        (read.read_only, read.destructive, read.idempotent, read.open_world),
        (Some(true), Some(false), Some(true), Some(false))
    );
    assert_eq!(read.tags, said.tags);
    // Hints that are set are kept, and the definition itself does not change.
    assert_eq!((silent.destructive, worst.conservative()), (None, worst));
}

// A08
#[test]
fn each_hint_is_claimed_by_its_own_member_alone() {
    type Hint = (fn(&Metadata) -> bool, fn(&mut Metadata) -> &mut Option<bool>);
    let hints: [Hint; 7] = [
        (Metadata::is_read_only, |it| &mut it.read_only),
        (Metadata::is_destructive, |it| &mut it.destructive),
        (Metadata::is_idempotent, |it| &mut it.idempotent),
        (Metadata::is_open_world, |it| &mut it.open_world),
        (Metadata::is_concurrency_safe, |it| &mut it.concurrency_safe),
        (Metadata::is_search_or_read, |it| &mut it.search_or_read),
        (Metadata::is_long_running, |it| &mut it.long_running),
    ];
    for (at, (_, member)) in hints.iter().enumerate() {
        for value in [None, Some(false), Some(true)] {
            let mut metadata = Metadata::default();
            *member(&mut metadata) = value;
            for (other, (is_claimed, _)) in hints.iter().enumerate() {
                assert_eq!(
                    is_claimed(&metadata),
                    value == Some(true) && other == at,
                    "{at} {other} {value:?}"
                );
            }
        }
    }
}
