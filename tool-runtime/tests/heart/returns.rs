//! Return types of tools.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{json, value::RawValue};
use tool_runtime::{
    Content, ErrorKind,
    output::{Bytes, Resource, ResourceBody},
    prelude::*,
    schemars, serde,
};

use crate::{call, definition, feedback, text};

#[derive(Serialize, JsonSchema)]
#[serde(crate = "serde")]
#[schemars(crate = "schemars")]
struct Weather {
    celsius: f64,
    wind: Option<u8>,
}

macro_rules! answers {
    ($($name:ident() -> $output:ty { $value:expr })*) => { $(
        /// Answers.
        #[tool(register = false)]
        fn $name() -> $output {
            $value
        }
    )* };
}

type Outcome<T> = Result<T, Boom>;

#[derive(Debug)]
struct Boom;

impl fmt::Display for Boom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("boom")
    }
}

#[derive(Debug)]
struct Chained(std::io::Error);

impl fmt::Display for Chained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot read")
    }
}

impl std::error::Error for Chained {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

answers! {
    number() -> u64 { 5 }
    structure() -> Weather { Weather { celsius: 21.5, wind: None } }
    owned() -> String { "a<b".into() }
    borrowed() -> &'static str { "é" }
    nothing() -> () { () }
    some() -> Option<Weather> { Some(Weather { celsius: 1.0, wind: Some(2) }) }
    none() -> Option<Weather> { None }
    raw() -> Box<RawValue> { RawValue::from_string("{\"x\": 1.50}".into()).unwrap() }
    bytes() -> Bytes { Bytes(b"\x89PNG\r\n\x1a\n".to_vec()) }
    list_of_bytes() -> Vec<u8> { vec![1, 2] }
    content() -> Content { Content::image([1], "image/png") }
    resource() -> Resource {
        Resource { uri: "file:///a".into(), mime_type: "text/plain".into(), body: ResourceBody::Text("x".into()) }
    }
    output() -> ToolOutput { ToolOutput::from("said").with_details(json!({ "seen": false })) }
    fine() -> Outcome<Option<String>> { Ok(Some("yes".into())) }
    displayed() -> Outcome<u8> { Err(Boom) }
    ours() -> Result<u8, ToolError> { Err(ToolError::cancelled()) }
    chained() -> Result<u8, Chained> { Err(Chained(std::io::Error::other("disk"))) }
    any() -> anyhow::Result<u8> { Err(anyhow::anyhow!("inner").context("outer")) }
    any_ours() -> anyhow::Result<u8> { Err(ToolError::cancelled().into()) }
    boxed() -> Result<u8, Box<dyn std::error::Error + Send + Sync>> { Err("in a box".into()) }
    message() -> Result<u8, &'static str> { Err("just a text") }
    keys() -> BTreeMap<u8, bool> { BTreeMap::from([(1, true)]) }
    bad_keys() -> BTreeMap<(u8, u8), bool> { BTreeMap::from([((1, 2), true)]) }
    implied() -> impl Serialize { json!({ "n": 1 }) }
}

macro_rules! of {
    ($name:ident) => {
        (Registry::builder().tool::<$name>(), stringify!($name), "{}")
    };
}

fn result_text((tools, name, arguments): (tool_runtime::registry::RegistryBuilder, &str, &str)) -> String {
    text(tools, name, arguments)
}

fn failed((tools, name, arguments): (tool_runtime::registry::RegistryBuilder, &str, &str)) -> ToolError {
    call(tools, name, arguments).unwrap_err()
}

// B07, D05
#[test]
fn every_type_of_success_has_a_text() {
    assert_eq!(result_text(of!(number)), "5");
    assert_eq!(result_text(of!(structure)), r#"{"celsius":21.5,"wind":null}"#);
    assert_eq!(result_text(of!(owned)), "a<b");
    assert_eq!(result_text(of!(borrowed)), "é");
    assert_eq!(result_text(of!(nothing)), "");
    assert_eq!(result_text(of!(some)), r#"{"celsius":1.0,"wind":2}"#);
    assert_eq!(result_text(of!(none)), "null");
    assert_eq!(result_text(of!(raw)), r#"{"x": 1.50}"#);
    assert_eq!(result_text(of!(list_of_bytes)), "[1,2]");
    assert_eq!(result_text(of!(output)), "said");
    assert_eq!(result_text(of!(fine)), "yes");
    assert_eq!(result_text(of!(keys)), r#"{"1":true}"#);
    assert_eq!(result_text(of!(implied)), r#"{"n":1}"#);
}

// B07, D02
#[test]
fn content_and_bytes_are_blocks() {
    let content = |(tools, name, arguments)| call(tools, name, arguments).unwrap().content().into_owned();
    let is_png =
        |block: &Content| matches!(block, Content::Image { mime_type, .. } if mime_type == "image/png");
    assert!(is_png(&content(of!(bytes))[0]));
    assert!(is_png(&content(of!(content))[0]));
    assert!(
        matches!(&content(of!(resource))[0], Content::Resource { resource } if resource.uri == "file:///a")
    );
}

// B08, E06
#[test]
fn every_type_of_failure_has_a_text_and_keeps_its_source() {
    assert_eq!(failed(of!(displayed)).feedback(), "boom");
    assert_eq!(failed(of!(ours)).kind(), ErrorKind::Cancelled);
    assert_eq!(failed(of!(any_ours)).kind(), ErrorKind::Cancelled);
    assert_eq!(failed(of!(boxed)).feedback(), "in a box");
    assert_eq!(failed(of!(message)).feedback(), "just a text");
    let chained = failed(of!(chained));
    assert_eq!(chained.feedback(), "cannot read");
    let source = std::error::Error::source(&chained).unwrap();
    assert!(source.is::<Chained>());
    assert_eq!(source.source().unwrap().to_string(), "disk");
    let any = failed(of!(any));
    assert_eq!(any.feedback(), "outer");
    assert_eq!(any.to_string(), "tool \"any\" failed");
}

// D10
#[test]
fn a_result_that_cannot_be_serialized_is_an_error() {
    assert_eq!(failed(of!(bad_keys)).kind(), ErrorKind::InvalidOutput);
}

// B23
#[test]
fn the_output_schema_is_the_schema_of_the_success_type() {
    let schema = |tools| definition(tools).output_schema().map(|schema| schema.as_value().clone());
    assert_eq!(schema(of!(structure).0).unwrap()["required"], json!(["celsius", "wind"]));
    assert_eq!(schema(of!(displayed).0), Some(json!({ "type": "integer", "minimum": 0, "maximum": 255 })));
    assert_eq!(schema(of!(owned).0), Some(json!({ "type": "string" })));
    assert_eq!(schema(of!(fine).0), Some(json!({ "type": ["string", "null"] })));
    for without in [of!(nothing).0, of!(output).0, of!(bytes).0, of!(implied).0] {
        assert_eq!(schema(without), None);
    }
}

// B23
#[test]
fn an_output_schema_can_be_disabled() {
    /// Answers.
    #[tool(register = false, output_schema = false)]
    fn plain() -> Weather {
        Weather { celsius: 0.0, wind: None }
    }
    let definition = definition(Registry::builder().tool::<plain>());
    assert!(definition.output_schema().is_none());
    assert!(serde_json::to_value(&definition).unwrap().get("outputSchema").is_none());
}

// B22, D09
#[test]
fn a_result_is_validated_by_a_hand_written_schema() {
    /// Answers.
    #[tool(register = false, output_schema = json!({ "type": "object", "required": ["ok"] }))]
    fn promised(keep: bool) -> serde_json::Value {
        if keep { json!({ "ok": 1 }) } else { json!({ "bad": 1 }) }
    }
    let tools = || Registry::builder().tool::<promised>();
    assert_eq!(
        definition(tools()).output_schema().unwrap().as_value(),
        &json!({ "type": "object", "required": ["ok"] })
    );
    assert_eq!(text(tools(), "promised", r#"{"keep":true}"#), r#"{"ok":1}"#);
    let broken = feedback(tools(), "promised", r#"{"keep":false}"#);
    assert!(broken.starts_with("Invalid output: output validation: /ok: expected"), "{broken}");
}

// D08
#[test]
fn a_missing_output_is_an_error_only_with_an_output_schema() {
    /// Answers.
    #[tool(register = false, output_schema = json!({ "type": "object" }))]
    fn silent() {}
    assert_eq!(result_text(of!(nothing)), "");
    assert_eq!(
        feedback(Registry::builder().tool::<silent>(), "silent", "{}"),
        "Invalid output: the tool declares an output schema but returned nothing"
    );
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "serde")]
#[schemars(crate = "schemars")]
struct Statistics {
    count: u32,
    mean: f64,
    spread: Option<f64>,
}

answers! {
    mean_of_nothing() -> Statistics { Statistics { count: 0, mean: f64::NAN, spread: None } }
    spread_of_nothing() -> Vec<Statistics> { vec![Statistics { count: 0, mean: 1.0, spread: Some(f64::INFINITY) }] }
    root_of_minus_one() -> f64 { f64::NAN }
    mean_of_some() -> Statistics { Statistics { count: 2, mean: 1.5, spread: None } }
}

// `null` is no value of the listed output schema, which says `number`.
#[test]
fn a_float_that_is_not_finite_is_an_invalid_output_that_names_its_location() {
    let builder = || {
        Registry::builder()
            .tool::<mean_of_nothing>()
            .tool::<spread_of_nothing>()
            .tool::<root_of_minus_one>()
            .tool::<mean_of_some>()
    };
    for (tool, location) in [
        ("mean_of_nothing", "at `/mean`, "),
        ("spread_of_nothing", "at `/0/spread`, "),
        ("root_of_minus_one", ""),
    ] {
        let error = call(builder(), tool, "{}").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidOutput, "{tool}");
        let message = format!(
            "{location}JSON has no number for `NaN` or an infinity; return a finite number or an `Option`"
        );
        assert!(error.to_string().contains(&message), "{error}");
    }
    assert_eq!(text(builder(), "mean_of_some", "{}"), r#"{"count":2,"mean":1.5,"spread":null}"#);
}
