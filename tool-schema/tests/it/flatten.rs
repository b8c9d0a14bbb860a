//! The schemas of objects with flattened fields.

use std::collections::{BTreeMap, HashMap};

use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_schema::{InputSchema, OutputSchema};

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Tagged {
    /// A round one.
    Circle {
        radius: u8,
    },
    Empty,
}

#[derive(Deserialize, Serialize, JsonSchema)]
enum External {
    Unit,
    /// A number.
    One(u8),
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
enum Untagged {
    A { a: u8 },
    Number(u8),
    B { a: u8, b: u8 },
}

fn schema<T: JsonSchema>() -> Value {
    InputSchema::of::<T>().unwrap().as_value().clone()
}

fn error<T: JsonSchema>() -> String {
    InputSchema::of::<T>().unwrap_err().to_string()
}

/// Returns the properties and the required properties of each form.
fn forms(choice: &Value) -> Vec<String> {
    let form = |form: &Value| {
        let names: Vec<_> = form["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let required: Vec<_> =
            form["required"].as_array().into_iter().flatten().map(|it| it.as_str().unwrap()).collect();
        assert_eq!(form["type"], "object");
        format!("{} | {}", names.join(" "), required.join(" "))
    };
    choice.as_array().unwrap().iter().map(form).collect()
}

fn byte() -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": 255 })
}

// B18, B20
#[test]
fn tagged_variants_become_one_of() {
    #[derive(Deserialize, Serialize, JsonSchema)]
    struct Args {
        id: u8,
        #[serde(flatten)]
        tagged: Tagged,
        #[serde(flatten)]
        external: External,
    }
    let schema = schema::<Args>();
    assert_eq!(
        forms(&schema["oneOf"]),
        [
            "id kind radius One | id kind radius One",
            "id kind radius Unit | id kind radius Unit",
            "id kind One | id kind One",
            "id kind Unit | id kind Unit",
        ]
    );
    assert!(schema["oneOf"].as_array().unwrap().iter().all(|form| form["additionalProperties"] == false));
    assert_eq!(schema["oneOf"][0]["description"], "A round one.\nA number.");
    let keys: Vec<_> = schema.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["type", "oneOf"]);
    // A result has the same schema, but is not closed.
    let output = OutputSchema::of::<Args>();
    assert_eq!(forms(&output.as_value()["oneOf"]), forms(&schema["oneOf"]));
    assert!(!output.as_value().to_string().contains("additionalProperties"));
}

// B18, B20
#[test]
fn variants_that_may_overlap_become_any_of() {
    #[derive(Deserialize, JsonSchema)]
    struct Args {
        id: u8,
        #[serde(flatten)]
        tagged: Tagged,
        #[serde(flatten)]
        untagged: Untagged,
    }
    let schema = schema::<Args>();
    assert_eq!(
        forms(&schema["anyOf"]),
        [
            "id kind radius a | id kind radius a",
            "id kind radius a b | id kind radius a b",
            "id kind a | id kind a",
            "id kind a b | id kind a b",
        ]
    );
    assert!(schema["anyOf"].as_array().unwrap().iter().all(|form| form["additionalProperties"] == false));
    #[derive(Deserialize, JsonSchema)]
    struct Two {
        #[serde(flatten)]
        one: Untagged,
        #[serde(flatten)]
        other: Option<Tagged>,
    }
    let two = self::schema::<Two>();
    assert_eq!(
        forms(&two["anyOf"]),
        ["a kind radius | a kind radius", "a kind | a kind", "a | a"]
            .into_iter()
            .chain(["a b kind radius | a b kind radius", "a b kind | a b kind", "a b | a b"])
            .collect::<Vec<_>>()
    );
}

// B18, B20
#[test]
fn an_optional_enum_adds_a_form_without_it() {
    #[derive(Deserialize, JsonSchema)]
    struct Args {
        id: u8,
        #[serde(flatten)]
        tagged: Option<Tagged>,
    }
    let schema = schema::<Args>();
    assert_eq!(forms(&schema["anyOf"]), ["id kind radius | id kind radius", "id kind | id kind", "id | id"]);
    let bare = json!({
        "type": "object",
        "properties": { "id": byte() },
        "required": ["id"],
        "additionalProperties": false,
    });
    assert_eq!(schema["anyOf"][2], bare);
    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    enum OrNothing {
        A { a: u8 },
        Nothing {},
    }
    #[derive(Deserialize, JsonSchema)]
    struct Twice {
        id: u8,
        #[serde(flatten)]
        or_nothing: Option<OrNothing>,
    }
    // There is a single form without any variant.
    assert_eq!(forms(&self::schema::<Twice>()["anyOf"]), ["id a | id a", "id | id"]);
}

// B18, B20
#[test]
fn a_flattened_map_describes_additional_properties_of_each_form() {
    #[derive(Deserialize, JsonSchema)]
    struct Args {
        id: u8,
        #[serde(flatten)]
        rest: HashMap<String, u8>,
        #[serde(flatten)]
        external: External,
    }
    let schema = schema::<Args>();
    // The properties of two variants may be present: one variant is selected, the other is read by the map.
    assert_eq!(forms(&schema["anyOf"]), ["id One | id One", "id Unit | id Unit"]);
    assert!(schema["anyOf"].as_array().unwrap().iter().all(|form| form["additionalProperties"] == byte()));
    #[derive(Deserialize, JsonSchema)]
    struct Anything {
        #[serde(flatten)]
        tagged: Tagged,
        #[serde(flatten)]
        rest: Value,
    }
    let anything = self::schema::<Anything>();
    assert!(anything["oneOf"].as_array().unwrap().iter().all(|form| form["additionalProperties"] == true));
    #[derive(Deserialize, JsonSchema)]
    struct InVariant {
        id: u8,
        #[serde(flatten)]
        variant: Variant,
        #[serde(flatten)]
        rest: HashMap<String, i8>,
    }
    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "kind")]
    enum Variant {
        Map {
            #[serde(flatten)]
            map: BTreeMap<String, u8>,
        },
        None,
    }
    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    enum OrAnything {
        A { a: u8 },
        Any(Value),
    }
    #[derive(Deserialize, JsonSchema)]
    struct OfAnyKind {
        id: u8,
        #[serde(flatten)]
        any: OrAnything,
    }
    let any = self::schema::<OfAnyKind>();
    assert_eq!(forms(&any["anyOf"]), ["id a | id a", "id | id"]);
    assert_eq!(any["anyOf"][0]["additionalProperties"], false);
    assert_eq!(any["anyOf"][1]["additionalProperties"], true);
    // Two maps read the same properties.
    let both = self::schema::<InVariant>();
    let rest = &both["oneOf"][0]["additionalProperties"]["allOf"];
    assert_eq!(*rest, json!([{ "type": "integer", "minimum": -128, "maximum": 127 }, byte()]));
    assert_eq!(both["oneOf"][1]["additionalProperties"]["minimum"], -128);
}

// B20
#[test]
fn a_flattened_map_with_an_enum_as_keys_is_closed() {
    #[derive(Deserialize, JsonSchema)]
    struct Args {
        id: u8,
        #[serde(flatten)]
        numbers: BTreeMap<u32, u8>,
    }
    assert_eq!(schema::<Args>()["additionalProperties"], false);
}

// B18
#[test]
fn a_property_is_listed_in_required_once() {
    #[derive(Deserialize, JsonSchema)]
    struct Args {
        id: u8,
        #[serde(flatten)]
        middle: Middle,
    }
    #[derive(Deserialize, JsonSchema)]
    struct Middle {
        id: u8,
        #[serde(flatten)]
        low: Low,
    }
    #[derive(Deserialize, JsonSchema)]
    struct Low {
        id: u8,
    }
    assert_eq!(schema::<Args>()["required"], json!(["id"]));
}

// B18
#[test]
fn too_many_forms_are_an_error() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    enum Many<const N: u8> {
        A { a: u8 },
        B { b: u8 },
        C { c: u8 },
        D { d: u8 },
        E { e: u8 },
        F { f: u8 },
    }
    #[derive(Deserialize, JsonSchema)]
    struct Args {
        #[serde(flatten)]
        one: Many<1>,
        #[serde(flatten)]
        two: Many<2>,
        #[serde(flatten)]
        three: Many<3>,
        #[serde(flatten)]
        four: Many<4>,
    }
    assert_eq!(
        error::<Args>(),
        "flattened enums give this object more than 1024 forms; put one of them into a property"
    );
}

// B18: hand-written keywords are kept.
#[test]
fn hand_written_conditions_keep_their_meaning() {
    #[derive(Deserialize, JsonSchema)]
    #[schemars(extend(
        "oneOf" = [{ "required": ["a"] }, { "required": ["b"] }],
        "not" = { "type": "object", "properties": { "c": { "const": 1 } }, "required": ["c"] },
    ))]
    struct Either {
        a: Option<u8>,
        b: Option<u8>,
        c: Option<u8>,
    }
    let schema = schema::<Either>();
    assert_eq!(forms(&schema["oneOf"]), ["a b c | a", "a b c | b"]);
    let not = json!({ "type": "object", "properties": { "c": { "const": 1 } }, "required": ["c"] });
    assert_eq!(schema["not"], not);
    struct ByHand;
    impl JsonSchema for ByHand {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "ByHand".into()
        }
        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            by_hand().try_into().unwrap()
        }
    }
    fn by_hand() -> Value {
        json_schema!({
            "type": "object",
            "properties": { "a": { "type": "null" }, "b": { "type": "null" } },
            "oneOf": [
                { "type": "object", "properties": { "a": true }, "additionalProperties": false },
                { "type": "object", "properties": { "b": true }, "required": ["b"] },
            ],
        })
        .to_value()
    }
    assert_eq!(self::schema::<ByHand>(), by_hand());
}

// B18
#[test]
fn closed_object_with_flattened_choices_is_closed_by_its_forms_alone() {
    #[derive(Deserialize, JsonSchema)]
    #[schemars(deny_unknown_fields)]
    struct Args {
        name: u8,
        #[serde(flatten)]
        tagged: Tagged,
    }
    let schema = schema::<Args>();
    assert!(schema.get("unevaluatedProperties").is_none() && schema.get("properties").is_none(), "{schema}");
    let closed = schema["oneOf"].as_array().unwrap();
    assert!(closed.iter().all(|form| form["additionalProperties"] == false), "{schema}");
    assert_eq!(forms(&schema["oneOf"]), ["name kind radius | name kind radius", "name kind | name kind"]);
}
