//! Agreement of schemas and calls.

use std::collections::BTreeMap;

use serde_json::json;
use tool_runtime::prelude::*;

use crate::{call, feedback, text};

// B19
#[test]
fn arguments_may_be_a_recursive_type_with_any_name() {
    #[tool_args]
    struct Größe {
        #[schemars(range(max = 9))]
        maß: u8,
        #[serde(default)]
        teile: Vec<Größe>,
    }
    fn sum(of: &Größe) -> u32 {
        u32::from(of.maß) + of.teile.iter().map(sum).sum::<u32>()
    }
    /// Sums.
    #[tool(register = false)]
    fn whole(#[args] args: Größe) -> u32 {
        sum(&args)
    }
    /// Sums.
    #[tool(register = false)]
    fn part(one: Größe) -> u32 {
        sum(&one)
    }
    let nested = json!({ "maß": 1, "teile": [{ "maß": 2, "teile": [{ "maß": 3 }] }] });
    let whole = || Registry::builder().tool::<whole>();
    let part = || Registry::builder().tool::<part>();
    assert_eq!(text(whole(), "whole", &nested.to_string()), "6");
    assert_eq!(text(part(), "part", &json!({ "one": nested }).to_string()), "6");
    let refused = feedback(whole(), "whole", r#"{"maß":1,"teile":[{"maß":1,"teile":[{"maß":10}]}]}"#);
    assert!(refused.contains("/teile/0/teile/0/maß: expected at most 9, got 10"), "{refused}");
}

// B14
#[test]
fn a_property_may_have_the_name_of_a_keyword() {
    #[tool_args]
    struct Called {
        #[serde(rename = "x-tool-aliases", alias = "properties")]
        aliases: u8,
        #[serde(rename = "$ref")]
        reference: u8,
        #[serde(rename = "oneOf", alias = "anyOf")]
        one_of: u8,
    }
    /// Sums.
    #[tool(register = false)]
    fn sum(#[args] args: Called) -> u8 {
        args.aliases + args.reference + args.one_of
    }
    let tools = || Registry::builder().tool::<sum>();
    assert_eq!(crate::schema(tools())["required"], json!(["x-tool-aliases", "$ref", "oneOf"]));
    assert_eq!(crate::schema(tools())["properties"].as_object().unwrap().len(), 3);
    assert_eq!(text(tools(), "sum", r##"{"x-tool-aliases":1,"$ref":2,"oneOf":3}"##), "6");
    assert_eq!(text(tools(), "sum", r##"{"properties":1,"$ref":2,"anyOf":3}"##), "6");
    assert!(call(tools(), "sum", r##"{"$ref":2,"oneOf":3}"##).is_err());
}

// B17
#[test]
fn a_fractional_bound_keeps_the_range_of_the_type() {
    /// Halves.
    #[tool(register = false)]
    fn halve(#[schemars(range(min = 0.5, max = 300.5))] n: u8) -> u8 {
        n / 2
    }
    let tools = || Registry::builder().tool::<halve>();
    assert_eq!(text(tools(), "halve", r#"{"n":255}"#), "127");
    let too_large = feedback(tools(), "halve", r#"{"n":256}"#);
    assert!(too_large.contains("/n: expected at most 255, got 256"), "{too_large}");
    let too_small = feedback(tools(), "halve", r#"{"n":0}"#);
    assert!(too_small.contains("/n: expected at least 0.5, got 0"), "{too_small}");
}
// B18, E05: the decoder of a key reports constraints that no schema expresses.
#[test]
fn an_invalid_key_is_reported_at_its_place() {
    #[tool_args]
    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
    enum Unit {
        /// With docs.
        Celsius,
        Fahrenheit,
    }
    /// Shows them.
    #[tool(register = false)]
    fn keys(
        #[serde(default)] small: BTreeMap<u8, u8>,
        #[serde(default)] large: BTreeMap<i64, u8>,
        #[serde(default)] letters: Vec<BTreeMap<char, u8>>,
        #[serde(default)] flags: BTreeMap<bool, u8>,
        #[serde(default)] units: BTreeMap<Unit, u8>,
    ) -> String {
        format!("{small:?} {large:?} {letters:?} {flags:?} {units:?}")
    }
    let tools = || Registry::builder().tool::<keys>();
    let all = json!({
        "small": { "255": 1, "0": 2 },
        "large": { "-10": 1 },
        "letters": [{ "ß": 1 }],
        "flags": { "true": 1 },
        "units": { "Celsius": 1 },
    });
    let shown = "{0: 2, 255: 1} {-10: 1} [{'ß': 1}] {true: 1} {Celsius: 1}";
    assert_eq!(text(tools(), "keys", &all.to_string()), shown);
    let unreadable = |why: &str| format!("something that can be read ({why})");
    for (arguments, pointer, expected) in [
        (r#"{"small":{"256":1}}"#, "/small/256", unreadable("\"256\" is no number of this kind")),
        (r#"{"small":{"1":1,"07":1}}"#, "/small/07", "no such property".to_owned()),
        (r#"{"large":{"+7":1}}"#, "/large/+7", "no such property".to_owned()),
        (
            r#"{"letters":[{"a":1},{"a":1,"ab":1}]}"#,
            "/letters/1/ab",
            unreadable("invalid value: string \"ab\", expected a character"),
        ),
        (r#"{"flags":{"yes/no":1}}"#, "/flags/yes~1no", unreadable("\"yes/no\" is no boolean")),
        (
            r#"{"units":{"Kelvin":1}}"#,
            "/units/Kelvin",
            unreadable("unknown variant `Kelvin`, expected `Celsius` or `Fahrenheit`"),
        ),
    ] {
        let error = call(tools(), "keys", arguments).unwrap_err();
        let [violation] = error.violations() else { panic!("{error}") };
        assert_eq!((&*violation.pointer, &*violation.expected), (pointer, &*expected));
    }
}

/// Found and given back.
#[tool_args]
#[derive(serde::Serialize)]
struct Entry {
    #[serde(alias = "file")]
    path: String,
    #[serde(default)]
    size: u64,
}

/// Copies an entry.
#[tool(register = false)]
fn copy(entry: Entry) -> Vec<Entry> {
    vec![entry]
}

// Keywords for the built-in check are not in published schemas.
#[test]
fn schemas_do_not_contain_aliases() {
    let tools = Registry::builder().tool::<copy>().build().unwrap();
    let definition = &tools.definitions()[0];
    let output = definition.output_schema().unwrap().as_value();
    assert_eq!(output["items"]["properties"]["path"]["type"], "string");
    for schema in [definition.input_schema().as_value(), output] {
        assert!(!schema.to_string().contains("x-tool-"), "{schema}");
    }
}

// Not 0.10000000149011612, which depends on the features of serde_json.
#[test]
fn the_default_of_an_f32_has_its_shortest_digits() {
    fn tenth() -> f32 {
        0.1
    }
    #[tool_args]
    struct Zoom {
        #[serde(default = "tenth")]
        by: f32,
    }
    /// Scales.
    #[tool(register = false)]
    fn scale(#[serde(default = "tenth")] by: f32, zoom: Zoom) -> bool {
        by.to_bits() == tenth().to_bits() && zoom.by.to_bits() == tenth().to_bits()
    }
    let scale = || Registry::builder().tool::<scale>();
    let schema = crate::schema(scale());
    assert_eq!(schema["properties"]["by"]["default"].to_string(), "0.1");
    assert_eq!(schema["properties"]["zoom"]["properties"]["by"]["default"].to_string(), "0.1");
    assert_eq!(text(scale(), "scale", r#"{"zoom":{}}"#), "true");
}
