//! Attributes and the definitions that they produce.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tool_runtime::{
    ErrorKind, Tool,
    definition::{Confirmation, Permission, Retry},
    prelude::*,
};

use crate::{call, definition, feedback, schema, text};

const WORDS: &str = "Words of a constant.";

// B02, B03
#[test]
fn the_name_and_description_default_to_the_function_name_and_its_doc_comment() {
    /// First line.
    ///
    /// Second paragraph, over
    /// two lines.
    #[tool(register = false)]
    fn documented() {}
    /// Not this.
    #[tool(register = false, name = "other-name", description = concat!("Made ", "of parts."))]
    fn overridden() {}
    #[tool(register = false, description = WORDS)]
    fn constant() {}
    let documented = definition(Registry::builder().tool::<documented>());
    assert_eq!(documented.name().as_str(), "documented");
    assert_eq!(documented.description(), "First line.\n\nSecond paragraph, over\ntwo lines.");
    let overridden = definition(Registry::builder().tool::<overridden>());
    assert_eq!(overridden.name().as_str(), "other-name");
    assert_eq!(overridden.description(), "Made of parts.");
    assert_eq!(definition(Registry::builder().tool::<constant>()).description(), WORDS);
}

fn is_large(amount: &u32, _note: &Option<String>) -> bool {
    *amount > 100
}

fn may(amount: &u32, _note: &Option<String>) -> Permission {
    match amount {
        0 => Permission::deny("nothing to do"),
        1000.. => Permission::ask("a lot of money"),
        _ => Permission::Allow,
    }
}

fn cents(arguments: &mut Map<String, Value>) -> Result<(), ToolError> {
    if let Some(value) = arguments.remove("cents") {
        let cents = value.as_u64().ok_or_else(|| ToolError::failed("`cents` is no number"))?;
        arguments.insert("amount".into(), (cents / 100).into());
    }
    Ok(())
}

/// Pays.
#[tool(
    register = false,
    title = "Pay a bill",
    destructive,
    idempotent = false,
    open_world,
    concurrency_safe = false,
    search_or_read = false,
    long_running,
    sequential,
    timeout = "30s",
    idle_timeout = "500ms",
    retry(attempts = 5, initial = "1s", jitter = false),
    confirm = is_large,
    permission = may,
    prepare = cents,
    max_result_size = 1024,
    tags("money", "bank"),
    toolset = "bank",
    group = "slow",
    trust = "internal",
    skip_summarization,
    strict,
    meta(owner = "finance", level = 3),
    examples(json!({ "amount": 1 }), json!({ "amount": 2, "note": "tea" }))
)]
fn pay(amount: u32, #[arg(secret)] note: Option<String>) -> String {
    format!("{amount} {note:?}")
}

// B13, A14
#[test]
fn every_key_is_carried_in_the_definition() {
    let definition = definition(Registry::builder().tool::<pay>());
    let metadata = definition.metadata();
    assert_eq!(definition.title(), "Pay a bill");
    assert!(definition.description().starts_with("Pays.\n\nThis is a long-running operation."));
    assert_eq!(
        (metadata.read_only, metadata.destructive, metadata.idempotent),
        (None, Some(true), Some(false))
    );
    assert_eq!((metadata.open_world, metadata.concurrency_safe), (Some(true), Some(false)));
    assert_eq!((metadata.search_or_read, metadata.long_running), (Some(false), Some(true)));
    assert!(metadata.sequential && metadata.skip_summarization);
    assert_eq!(metadata.strict, Some(true));
    assert_eq!(metadata.timeout, Some(Duration::from_secs(30)));
    assert_eq!(metadata.idle_timeout, Some(Duration::from_millis(500)));
    let retry = Retry { attempts: 5, initial_ms: 1000, jitter: false, ..Retry::DEFAULT };
    assert_eq!(metadata.retry, Some(retry));
    assert_eq!((metadata.confirmation, metadata.permission), (Confirmation::Sometimes, true));
    assert_eq!(metadata.max_result_size, Some(1024));
    assert_eq!(metadata.tags, ["money", "bank"]);
    assert_eq!(metadata.toolset.as_deref(), Some("bank"));
    assert_eq!((metadata.group.as_deref(), metadata.trust.as_deref()), (Some("slow"), Some("internal")));
    assert_eq!(metadata.secrets, ["note"]);
    assert_eq!(Value::Object(metadata.custom.clone()), json!({ "owner": "finance", "level": 3 }));
    assert_eq!(definition.examples(), [json!({ "amount": 1 }), json!({ "amount": 2, "note": "tea" })]);
}

// Section 13, 1 of the design: a call without an executor does not decide for a person.
#[test]
fn a_plain_call_requires_confirmation_and_an_unguarded_call_does_not() {
    let tools = Registry::builder().tool::<pay>().build().unwrap();
    let error = crate::run(tools.call("pay", r#"{"amount":5}"#)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ApprovalRequired);
    assert_eq!(
        error.feedback(),
        "Approval required: the tool requires confirmation, and its calls cannot be confirmed here. Nothing was \
         executed; do not repeat the call."
    );
    assert_eq!(
        error.to_string(),
        "tool \"pay\" needs an approval: the tool requires confirmation; call it through an executor, or with \
         `call_unguarded`"
    );
    let output = crate::run(tools.call_unguarded("pay", r#"{"amount":5}"#)).unwrap();
    assert_eq!(output.text(), "5 None");
}

#[test]
fn arguments_are_validated_before_confirmation_is_requested() {
    let error = call(Registry::builder().tool::<pay>(), "pay", r#"{"amount":-1}"#).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArguments);
}

#[test]
fn checks_of_a_prepared_call_see_its_typed_arguments() {
    let tools = Registry::builder().tool::<pay>().build().unwrap();
    let tool = tools.get("pay").unwrap();
    let cx = tools.context_for("pay").unwrap();
    let ask = |text: &'static str| {
        let prepared = tool.prepare(text.into()).unwrap();
        (prepared.wants_confirmation(&cx).unwrap(), prepared.permission(&cx).unwrap())
    };
    assert_eq!(ask(r#"{"amount":5}"#), (Some(false), Some(Permission::Allow)));
    assert_eq!(ask(r#"{"amount":500}"#), (Some(true), Some(Permission::Allow)));
    assert_eq!(ask(r#"{"amount":0}"#), (Some(false), Some(Permission::deny("nothing to do"))));
    assert_eq!(ask(r#"{"amount":5000}"#), (Some(true), Some(Permission::ask("a lot of money"))));
}

#[test]
fn arguments_may_be_rewritten_before_validation() {
    let tools = Registry::builder().tool::<pay>().build().unwrap();
    let output = crate::run(tools.call_unguarded("pay", r#"{"cents":700}"#)).unwrap();
    assert_eq!(output.text(), "7 None");
    let error = crate::run(tools.call_unguarded("pay", r#"{"cents":"x"}"#)).unwrap_err();
    assert_eq!(error.feedback(), "`cents` is no number");
    let error = crate::run(tools.call_unguarded("pay", "[1]")).unwrap_err();
    assert!(error.feedback().contains("expected an object"), "{}", error.feedback());
}

#[test]
fn a_secret_is_in_no_report() {
    /// Takes a PIN.
    #[tool(register = false)]
    fn pin(#[arg(secret)] note: u32) {
        let _ = note;
    }
    let wrong = [
        (Registry::builder().tool::<pay>(), "pay", r#"{"amount":"x","note":["hunter2"]}"#),
        (Registry::builder().tool::<pin>(), "pin", r#"{"note":"hunter2"}"#),
        (Registry::builder().tool::<pin>(), "pin", r#"{"note":1,"x":"hunter2","note":"hunter2"}"#),
    ];
    #[tool_args]
    #[derive(Debug)]
    struct Other {
        #[allow(dead_code, reason = "only decoded")]
        note: u32,
    }
    let pay = Registry::builder().tool::<pay>().build().unwrap();
    let other = pay.decode::<Other>("pay", r#"{"amount":1,"note":"hunter2"}"#).unwrap_err();
    assert!(!other.feedback().contains("hunter2") && !other.to_string().contains("hunter2"));
    for (tools, name, text) in wrong {
        let tools = tools.build().unwrap();
        let by_hand = tools.get(name).unwrap().prepare(text.into()).unwrap_err();
        for error in [crate::run(tools.call(name, text)).unwrap_err(), by_hand] {
            for said in [error.feedback(), error.to_string(), format!("{error:?}")] {
                assert!(said.contains("/note") && !said.contains("hunter2"), "{said}");
            }
        }
    }
}

// B14, B15, B16, B17
#[test]
fn parameters_accept_the_attributes_of_fields() {
    /// Searches.
    #[tool(register = false)]
    #[allow(clippy::too_many_arguments, reason = "one for each attribute")]
    fn search(
        /// Not this text.
        #[serde(rename = "q", alias = "query")]
        #[schemars(description = "a, b=\"c\" – é", length(min = 1, max = 5), regex(pattern = "^[a-z]+$"))]
        text: String,
        #[arg(default = 10, example = 20)]
        #[schemars(range(min = 1, max = 50))]
        limit: u8,
        #[serde(default)] exact: bool,
        #[arg(default = "en")] language: String,
        #[arg(default = "x")] borrowed: &str,
        #[schemars(length(max = 2), inner(length(min = 2)))] tags: Option<Vec<String>>,
        #[schemars(required)] must: Option<u8>,
        #[schemars(extend("x-unit" = "kg"), title = "Weight", deprecated)] weight: Option<f64>,
    ) -> String {
        format!("{text} {limit} {exact} {language} {borrowed} {tags:?} {must:?} {weight:?}")
    }
    let tools = || Registry::builder().tool::<search>();
    let schema = schema(tools());
    assert_eq!(schema["required"], json!(["q", "must"]));
    assert_eq!(
        schema["properties"],
        json!({
            "q": { "type": "string", "description": "a, b=\"c\" – é", "minLength": 1, "maxLength": 5, "pattern": "^[a-z]+$" },
            "limit": { "type": "integer", "minimum": 1, "maximum": 50, "default": 10, "examples": [20] },
            "exact": { "type": "boolean", "default": false },
            "language": { "type": "string", "default": "en" },
            "borrowed": { "type": "string", "default": "x" },
            "tags": { "type": "array", "items": { "type": "string", "minLength": 2 }, "maxItems": 2 },
            "must": { "type": "integer", "minimum": 0, "maximum": 255 },
            "weight": { "type": "number", "title": "Weight", "deprecated": true, "x-unit": "kg" },
        })
    );
    assert_eq!(text(tools(), "search", r#"{"q":"a","must":1}"#), "a 10 false en x None Some(1) None");
    assert_eq!(
        text(tools(), "search", r#"{"query":"a","must":1,"limit":null,"borrowed":"y","exact":true}"#),
        "a 10 true en y None Some(1) None"
    );
    let refused = feedback(tools(), "search", r#"{"q":"A1","limit":51,"must":1,"tags":["a","bb","cc"]}"#);
    for place in ["/q", "/limit", "/tags", "/tags/0"] {
        assert!(refused.contains(place), "{place}: {refused}");
    }
    let refused = feedback(tools(), "search", r#"{"q":"a","limit":0}"#);
    assert!(refused.contains("/limit: expected at least 1, got 0"), "{refused}");
    assert!(refused.contains("/must"), "{refused}");
}

// The same fields, described by schemars.
#[tool_args]
struct Fields {
    /// Text.
    #[schemars(length(min = 1, max = 5), regex(pattern = "^[a-z]+$"), title = "T", example = &"e")]
    text: String,
    #[schemars(range(min = 1, max = 50), extend("x-unit" = "kg"))]
    number: u8,
    #[schemars(length(equal = 3), inner(range(min = 2)))]
    list: Vec<i32>,
    #[schemars(email)]
    mail: String,
    #[schemars(contains(pattern = "a.b"))]
    part: String,
    #[serde(rename = "renamed")]
    old: Option<f32>,
}

// B17, B25
#[test]
fn a_parameter_is_described_as_schemars_describes_a_field() {
    /// Compares.
    #[tool(register = false)]
    fn parameters(
        /// Text.
        #[schemars(length(min = 1, max = 5), regex(pattern = "^[a-z]+$"), title = "T", example = &"e")]
        text: String,
        #[schemars(range(min = 1, max = 50), extend("x-unit" = "kg"))] number: u8,
        #[schemars(length(equal = 3), inner(range(min = 2)))] list: Vec<i32>,
        #[schemars(email)] mail: String,
        #[schemars(contains(pattern = "a.b"))] part: String,
        #[serde(rename = "renamed")] old: Option<f32>,
    ) {
        let _ = (text, number, list, mail, part, old);
    }
    let by_schemars = tool_runtime::schema::InputSchema::of::<Fields>().unwrap();
    assert_eq!(schema(Registry::builder().tool::<parameters>()), *by_schemars.as_value());
}

// B20
#[test]
fn unknown_properties_are_refused_unless_the_tool_ignores_them() {
    /// Closed.
    #[tool(register = false)]
    fn closed(limit: Option<u8>) -> String {
        format!("{limit:?}")
    }
    /// Open.
    #[tool(register = false, unknown_fields = "ignore")]
    fn open(limit: Option<u8>) -> String {
        format!("{limit:?}")
    }
    let refused = feedback(Registry::builder().tool::<closed>(), "closed", r#"{"limt":1}"#);
    assert!(refused.contains("/limt") && refused.contains("did you mean `limit`"), "{refused}");
    assert_eq!(text(Registry::builder().tool::<open>(), "open", r#"{"limt":1}"#), "None");
    assert!(schema(Registry::builder().tool::<open>()).get("additionalProperties").is_none());
}

// B21
#[test]
fn an_option_may_be_absent_or_null() {
    #[tool_args]
    struct Inner {
        b: Option<u8>,
        #[serde(default)]
        c: u8,
    }
    /// Shows.
    #[tool(register = false)]
    fn show(b: Option<u8>, inner: Option<Inner>) -> String {
        format!("{b:?} {:?}", inner.map(|inner| (inner.b, inner.c)))
    }
    let tools = || Registry::builder().tool::<show>();
    assert_eq!(text(tools(), "show", "{}"), "None None");
    assert_eq!(text(tools(), "show", r#"{"b":null,"inner":null}"#), "None None");
    assert_eq!(text(tools(), "show", r#"{"b":1,"inner":{"b":null,"c":null}}"#), "Some(1) Some((None, 0))");
    assert_eq!(schema(tools())["properties"]["b"]["type"], "integer");
}

// B22, B24
#[test]
fn an_overridden_input_schema_is_advertised_and_enforced() {
    /// Takes a small number.
    #[tool(register = false, input_schema = json!({ "type": "object", "properties": { "n": { "type": "integer", "maximum": 5 } } }))]
    fn small(n: u32) -> u32 {
        n
    }
    /// Takes a small number.
    #[tool(register = false, input_schema = r#"{ "type": "object", "properties": { "n": { "type": 5 } } }"#)]
    fn broken(n: u32) -> u32 {
        n
    }
    let tools = || Registry::builder().tool::<small>();
    assert_eq!(schema(tools())["properties"]["n"], json!({ "type": "integer", "maximum": 5 }));
    assert_eq!(text(tools(), "small", r#"{"n":5}"#), "5");
    assert!(feedback(tools(), "small", r#"{"n":6}"#).contains("/n: expected at most 5, got 6"));
    let error = Registry::builder().tool::<broken>().build().unwrap_err().to_string();
    assert!(error.contains("tool `broken`") && error.contains("input schema: at /properties/n"), "{error}");
}

// B11
#[test]
fn attributes_visibility_and_docs_are_kept() {
    mod inner {
        /// Documented.
        #[tool_runtime::tool(register = false)]
        #[must_use]
        #[inline]
        pub(super) fn visible() -> u8 {
            7
        }

        /// Not there.
        #[tool_runtime::tool]
        #[cfg(any())]
        pub(super) fn compiled_out() -> Missing {
            compile_error!("not here")
        }
    }
    assert_eq!(inner::visible(), 7);
    let tools = Registry::builder().discover().build().unwrap();
    assert!(tools.get("compiled_out").is_none());
    assert!(tools.get("sum_int").is_some());
}

// B25
#[test]
fn a_parameter_struct_may_be_renamed_as_a_whole() {
    /// Shows.
    #[tool(register = false, rename_all = "camelCase")]
    fn show(first_name: String, #[serde(rename = "x_y")] other_name: String) -> String {
        first_name + &other_name
    }
    let tools = || Registry::builder().tool::<show>();
    assert_eq!(schema(tools())["required"], json!(["firstName", "x_y"]));
    assert_eq!(text(tools(), "show", r#"{"firstName":"a","x_y":"b"}"#), "ab");
}
