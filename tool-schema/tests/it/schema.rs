use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_schema::{
    __private::{Closing, Purpose, WrittenValue},
    InputSchema, OutputSchema,
};

/// Compares the canonical schema of `T` with its golden file.
fn golden<T: JsonSchema>(name: &str) -> Value {
    let schema = InputSchema::of::<T>().unwrap();
    let text = serde_json::to_string_pretty(&schema).unwrap();
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
    schema.as_value().clone()
}

#[derive(Deserialize, JsonSchema)]
struct Address {
    /// Street and number.
    street: String,
    zip: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
enum Unit {
    Celsius,
    Fahrenheit,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Documented {
    /// As Anders Celsius
    /// had it.
    Celsius,
    /// Older.
    Fahrenheit,
    Kelvin,
}

#[derive(Deserialize, JsonSchema)]
enum Shape {
    Point,
    Circle(f64),
    Line(f64, f64),
    Rectangle { width: f64, height: f64 },
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Internal {
    /// A round one.
    Circle {
        radius: f64,
    },
    Empty,
    At(Address),
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Number(i32),
    Text { text: String },
    Nothing,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Untagged {
    Number(u16),
    Text(String),
    Both { a: u16, b: String },
}

#[derive(Deserialize, JsonSchema)]
struct Tree {
    value: i64,
    children: Vec<Tree>,
}

/// B18: each kind of type has its golden file.
#[test]
fn nested_structs_are_inlined_and_closed() {
    #[derive(Deserialize, JsonSchema)]
    struct Person {
        name: String,
        address: Address,
        second: Option<Address>,
    }
    let schema = golden::<Person>("nested_struct");
    // B19, B20, B21
    assert!(!schema.to_string().contains("$ref"));
    assert_eq!(schema["properties"]["address"]["additionalProperties"], false);
    assert_eq!(schema["properties"]["second"]["type"], "object");
    assert_eq!(schema["required"], json!(["name", "address"]));
}

// B18
#[test]
fn lists_arrays_tuples_and_maps_have_their_own_schemas() {
    #[derive(Deserialize, JsonSchema)]
    struct Collections {
        list: Vec<u32>,
        array: [f32; 3],
        pair: (String, bool),
        map: HashMap<String, i16>,
        sorted: BTreeMap<String, Address>,
        nested: Vec<Option<String>>,
        any: Value,
    }
    let schema = golden::<Collections>("collections");
    // Inside a list, `null` is a value and stays.
    assert_eq!(schema["properties"]["nested"]["items"]["type"], json!(["string", "null"]));
    assert_eq!(schema["properties"]["map"]["additionalProperties"]["type"], "integer");
}

// B18
#[test]
fn a_unit_enum_is_a_list_of_names() {
    #[derive(Deserialize, JsonSchema)]
    struct In {
        unit: Unit,
        other: Option<Unit>,
    }
    let schema = golden::<In>("unit_enum");
    assert_eq!(schema["properties"]["other"], json!({ "type": "string", "enum": ["Celsius", "Fahrenheit"] }));
}

// B18: a doc comment on a variant changes only the description.
#[test]
fn a_documented_enum_stays_a_list_and_keeps_its_docs() {
    #[derive(Deserialize, JsonSchema)]
    struct In {
        /// The scale.
        unit: Documented,
        plain: Option<Documented>,
    }
    let schema = golden::<In>("documented_enum");
    let unit = &schema["properties"]["unit"];
    // schemars lists variants without docs first.
    assert_eq!(unit["enum"], json!(["kelvin", "celsius", "fahrenheit"]));
    assert_eq!(
        unit["description"],
        "The scale.\n- `celsius`: As Anders Celsius had it.\n- `fahrenheit`: Older."
    );
}

// B18
#[test]
fn enums_with_data_are_unions_of_closed_objects() {
    #[derive(Deserialize, JsonSchema)]
    struct In {
        shape: Shape,
        internal: Internal,
        adjacent: Adjacent,
        untagged: Untagged,
    }
    let schema = golden::<In>("data_enums");
    for branch in schema["properties"]["internal"]["oneOf"].as_array().unwrap() {
        assert_eq!(branch["additionalProperties"], false, "{branch}");
    }
}

// A11
#[test]
fn an_enum_may_be_the_root_if_all_variants_are_objects() {
    assert_eq!(golden::<Internal>("internal_root")["type"], "object");
    let error = InputSchema::of::<Untagged>().unwrap_err();
    assert!(error.to_string().contains("the arguments of a tool are an object"), "{error}");
}

// A11
#[test]
fn a_root_that_is_not_an_object_is_refused_with_its_type() {
    let error = InputSchema::of::<String>().unwrap_err().to_string();
    assert!(error.contains(r#""type": "string""#), "{error}");
    assert!(InputSchema::of::<Vec<u8>>().is_err());
    assert!(InputSchema::of::<Unit>().is_err());
    assert!(InputSchema::of::<BTreeMap<String, u8>>().is_ok());
}

// B19
#[test]
fn only_recursive_types_keep_definitions() {
    let schema = golden::<Tree>("recursive");
    assert_eq!(schema["$defs"].as_object().unwrap().len(), 1);
    assert_eq!(schema["type"], "object");
    for noise in ["$schema", "$id", "title"] {
        assert!(schema.get(noise).is_none(), "{noise}");
    }
}

// B18
#[test]
fn integers_have_bounds_instead_of_formats() {
    #[derive(Deserialize, JsonSchema)]
    struct Numbers {
        a: u8,
        b: i16,
        c: u32,
        d: i64,
        e: u64,
        f: usize,
        g: f32,
        h: f64,
        i: std::num::NonZeroU8,
        j: i128,
        k: u128,
        #[schemars(range(min = 1, max = 14))]
        narrow: u8,
        #[schemars(range(min = -5, max = 5000))]
        wide: u8,
    }
    let schema = golden::<Numbers>("numbers");
    assert!(!schema.to_string().contains("format"));
    assert_eq!(schema["properties"]["narrow"], json!({ "type": "integer", "minimum": 1, "maximum": 14 }));
    assert_eq!(schema["properties"]["wide"], json!({ "type": "integer", "minimum": 0, "maximum": 255 }));
}

// B18
#[test]
fn dates_and_ids_are_strings_with_a_format() {
    #[derive(Deserialize, JsonSchema)]
    struct Formats {
        chrono: chrono::DateTime<chrono::Utc>,
        chrono_date: chrono::NaiveDate,
        jiff: jiff::Timestamp,
        jiff_date: jiff::civil::Date,
        id: uuid::Uuid,
        url: url::Url,
        address: IpAddr,
    }
    let schema = golden::<Formats>("formats");
    for (name, property) in schema["properties"].as_object().unwrap() {
        assert_eq!(property["type"], "string", "{name}");
    }
}

// B14, B16
#[test]
fn serde_attributes_determine_names_and_required_properties() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct Attributes {
        first_name: String,
        #[serde(rename = "q")]
        query: String,
        #[serde(default)]
        tags: Vec<String>,
        #[serde(default = "ten")]
        limit: u32,
        #[serde(skip)]
        hidden: u8,
        #[serde(flatten)]
        address: Address,
        #[schemars(required)]
        must: Option<u8>,
    }
    fn ten() -> u32 {
        10
    }
    let schema = golden::<Attributes>("serde_attributes");
    assert_eq!(schema["required"], json!(["firstName", "q", "street", "must"]));
    assert_eq!(schema["properties"]["limit"]["default"], 10);
    assert_eq!(schema["additionalProperties"], false);
    assert!(schema["properties"].get("hidden").is_none());
}

// B18, B20: neither part of a flattened enum excludes properties of the other.
#[test]
fn a_flattened_enum_becomes_closed_merged_objects() {
    #[derive(Deserialize, JsonSchema)]
    struct WithShape {
        id: u8,
        #[serde(flatten)]
        shape: Internal,
    }
    #[derive(Deserialize, JsonSchema)]
    struct WithTwo {
        id: u8,
        #[serde(flatten)]
        shape: Internal,
        #[serde(flatten)]
        other: Adjacent,
    }
    let schema = golden::<WithShape>("flattened_enum");
    for branch in schema["oneOf"].as_array().unwrap() {
        assert!(branch["properties"].get("id").is_some(), "{branch}");
        assert_eq!(branch["additionalProperties"], false, "{branch}");
    }
    assert_eq!(golden::<WithTwo>("flattened_enums")["oneOf"].as_array().unwrap().len(), 9);
}

// B15
#[test]
fn a_description_may_contain_any_text() {
    #[derive(Deserialize, JsonSchema)]
    struct Texts {
        /// From the comment.
        #[schemars(description = "a, b=\"c\" – é")]
        text: String,
    }
    let schema = InputSchema::of::<Texts>().unwrap();
    assert_eq!(schema.as_value()["properties"]["text"]["description"], "a, b=\"c\" – é");
}

// B19: a property may have the name of a keyword.
#[test]
fn properties_named_like_keywords_are_properties() {
    #[derive(Deserialize, JsonSchema)]
    struct Keywords {
        items: Vec<u8>,
        properties: Address,
        #[serde(rename = "type")]
        kind: Option<String>,
        #[serde(rename = "$ref")]
        reference: String,
        required: bool,
    }
    let schema = golden::<Keywords>("keyword_names");
    let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["items", "properties", "type", "$ref", "required"]);
}

// B23
#[test]
fn an_output_schema_describes_the_serialized_form() {
    #[derive(Serialize, JsonSchema)]
    struct Report {
        #[serde(rename(serialize = "out"))]
        value: Option<u8>,
        #[serde(skip_serializing)]
        internal: String,
    }
    let schema = OutputSchema::of::<Report>();
    let schema = schema.as_value();
    assert_eq!(schema["properties"]["out"]["type"], json!(["integer", "null"]));
    assert!(schema["properties"].get("internal").is_none());
    assert_eq!(OutputSchema::of::<Vec<u8>>().as_value()["type"], "array");
}

/// Returns the smallest valid arguments of a schema.
fn smallest(properties: Value, required: Value) -> Option<Value> {
    let schema = json!({ "type": "object", "properties": properties, "required": required, "$defs": {
        "node": { "properties": { "next": { "$ref": "#/$defs/node" } }, "required": ["next"] },
        "leaf": { "const": 7 },
    } });
    let schema = tool_schema::InputSchema::new(schema).unwrap();
    let example = schema.example().cloned();
    assert!(example.iter().all(|it| schema.plan().unwrap().admits(it)));
    example
}

// F02
#[test]
fn the_example_of_a_schema_is_the_smallest_valid_object() {
    assert_eq!(smallest(json!({ "a": { "type": "string" } }), json!([])), Some(json!({})));
    let properties = json!({
        "name": { "type": "string", "minLength": 6 },
        "code": { "type": "string", "maxLength": 2 },
        "mail": { "type": "string", "format": "email" },
        "unit": { "enum": ["km", "mi"] },
        "limit": { "type": "integer", "exclusiveMinimum": 4, "multipleOf": 3 },
        "share": { "type": "number", "maximum": -0.5 },
        "tags": { "type": "array", "items": { "type": "string", "default": "new" }, "minItems": 2 },
        "place": { "anyOf": [{ "type": "null" }, { "type": "object" }] },
        "kind": { "$ref": "#/$defs/leaf" },
        "given": { "type": "string", "pattern": "^x+$", "examples": ["xx"] },
    });
    // A text without a name that it could have.
    assert_eq!(smallest(json!({ "": { "type": "string" } }), json!([""])), Some(json!({ "": "" })));
    let all: Vec<_> = properties.as_object().unwrap().keys().cloned().collect();
    let fits = json!({
        "name": "namexx", "code": "co", "mail": "name@example.org", "unit": "km", "limit": 6, "share": -0.5,
        "tags": ["new", "new"], "place": null, "kind": 7, "given": "xx",
    });
    assert_eq!(smallest(properties, json!(all)), Some(fits));
}

#[test]
fn a_schema_without_small_valid_arguments_has_no_example() {
    assert_eq!(smallest(json!({ "a": { "type": "string", "pattern": "^[0-9]{3}$" } }), json!(["a"])), None);
    assert_eq!(smallest(json!({ "a": { "$ref": "#/$defs/node" } }), json!(["a"])), None);
    assert_eq!(smallest(json!({ "a": false }), json!(["a"])), None);
}

// F15
#[test]
fn arguments_are_an_object_but_references_to_an_untyped_root_accept_any_value() {
    let fits = |schema: &Value, value: Value| {
        InputSchema::new(schema.clone()).unwrap().plan().unwrap().admits(&value)
    };
    let list = json!({"properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}, "required": ["n"]});
    assert!(fits(&list, json!({"n": 1, "next": {"n": 2}})));
    // The keywords of the root do not apply to a value that is not an object.
    assert!(fits(&list, json!({"n": 1, "next": 5})));
    assert!(!fits(&list, json!({"n": 1, "next": {"n": "2"}})));
    assert!(!fits(&list, json!({"n": 1, "next": {"n": 1, "next": {}}})));
    assert!(!fits(&list, json!({})));
    for schema in [
        list,
        json!({"$id": "urn:a:b", "items": {"$ref": "urn:a:b"}}),
        json!({"$anchor": "a", "not": {"required": ["x"]}, "items": {"$ref": "#a"}}),
    ] {
        for value in [json!(5), json!([]), json!(null), json!("a")] {
            assert!(!fits(&schema, value.clone()), "{schema} {value}");
        }
    }
    let plan = InputSchema::new(json!({"properties": {"next": {"$ref": "#"}}, "required": ["n"]})).unwrap();
    let said: Vec<_> = plan.plan().unwrap().violations(&json!({})).iter().map(ToString::to_string).collect();
    assert_eq!(said, ["/n: expected the property `n`, which is required, got nothing"]);
}

#[test]
fn a_written_value_that_its_parameter_rejects_is_a_misfit() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": { "type": "integer" },
            "ab": { "type": "string" },
            "c/d": { "type": "array", "items": { "type": "integer", "minimum": 3 } },
        },
        "required": ["ab"],
    });
    let misfits = |parameter: &'static str, purpose: Purpose, value: Value| {
        let written = WrittenValue { parameter, purpose, value };
        let schema = InputSchema::canonical(schema.clone(), Closing::Closed, vec![written]).unwrap();
        let misfits = schema.misfits();
        assert!(misfits.iter().all(|it| it.parameter == parameter && it.purpose == purpose));
        misfits.iter().map(|it| it.violation.to_string()).collect::<Vec<_>>()
    };
    for purpose in [Purpose::DefaultValue, Purpose::Example] {
        assert_eq!(misfits("a", purpose, json!(1)), [""; 0]);
        assert_eq!(misfits("a", purpose, json!("x")), [r#"/a: expected an integer, got "x""#]);
        assert_eq!(misfits("ab", purpose, json!(1)), ["/ab: expected a string, got 1"]);
        assert_eq!(
            misfits("c/d", purpose, json!([1, 3, "x"])),
            ["/c~1d/0: expected at least 3, got 1", r#"/c~1d/2: expected an integer, got "x""#]
        );
        assert_eq!(
            misfits("other", purpose, json!(1)),
            ["/other: expected a property that the schema knows; known: `a`, `ab`, `c/d`, got 1"]
        );
    }
    assert!(InputSchema::new(schema).unwrap().misfits().is_empty());
}
