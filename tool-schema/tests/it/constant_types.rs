//! Types with constant schemas, and lists of parameters of such types.

use serde_json::{Number, Value, json};
use tool_schema::{
    __private::{Flat, Limits, Plain, Row},
    InputSchema, OutputSchema,
};

fn limits(least: &Value, most: &Value) -> Limits {
    let number = |limit: &Value| limit.as_number().cloned();
    Limits { least: number(least), most: number(most) }
}

/// Returns the schema of a parameter of the type `T`.
fn parameter_schema<T: 'static>(description: &'static str, least: Value, most: Value) -> Value {
    let plain = Plain::of::<T>().unwrap();
    let row = Row { name: "it", description, plain, limits: limits(&least, &most), required: false };
    let schema = InputSchema::flat(Flat::new(vec![row]).unwrap());
    assert_eq!(*schema.as_value(), serde_json::to_value(&schema).unwrap());
    schema.as_value()["properties"]["it"].clone()
}

#[test]
fn a_type_is_a_number_or_has_a_length_by_its_outermost_type() {
    fn properties<T: 'static>() -> [bool; 4] {
        let plain = Plain::of::<T>().unwrap();
        [plain.is_number(), plain.has_length(), plain.is_option(), plain.is_single()]
    }
    for (found, expected) in [
        (properties::<i32>(), [true, false, false, false]),
        (properties::<f64>(), [true, false, false, false]),
        (properties::<f32>(), [true, false, false, true]),
        (properties::<Option<u8>>(), [true, false, true, false]),
        (properties::<String>(), [false, true, false, false]),
        (properties::<char>(), [false, false, false, false]),
        (properties::<bool>(), [false, false, false, false]),
        (properties::<Vec<i64>>(), [false, true, false, false]),
        (properties::<Vec<f32>>(), [false, true, false, true]),
        (properties::<Vec<char>>(), [false, true, false, false]),
        (properties::<Option<Vec<bool>>>(), [false, true, true, false]),
    ] {
        assert_eq!(found, expected);
    }
    assert!(Plain::of::<Vec<Option<i64>>>().is_none());
    assert!(Plain::of::<&'static str>().is_none());
}

#[test]
fn a_parameter_has_the_narrower_of_its_own_and_the_given_limits() {
    let none = || Value::Null;
    for (schema, expected) in [
        (parameter_schema::<bool>("", none(), none()), json!({ "type": "boolean" })),
        (
            parameter_schema::<u8>("A count.", none(), none()),
            json!({ "type": "integer", "description": "A count.", "minimum": 0, "maximum": 255 }),
        ),
        (
            parameter_schema::<u8>("", json!(1), json!(254)),
            json!({ "type": "integer", "minimum": 1, "maximum": 254 }),
        ),
        (
            parameter_schema::<u8>("", json!(-1), json!(256)),
            json!({ "type": "integer", "minimum": 0, "maximum": 255 }),
        ),
        (
            parameter_schema::<u8>("", json!(0.5), json!(254.5)),
            json!({ "type": "integer", "minimum": 0.5, "maximum": 254.5 }),
        ),
        (
            parameter_schema::<u8>("", json!(-0.5), json!(255.5)),
            json!({ "type": "integer", "minimum": 0, "maximum": 255 }),
        ),
        (
            parameter_schema::<Option<f64>>("", json!(0.5), none()),
            json!({ "type": "number", "minimum": 0.5 }),
        ),
        (parameter_schema::<i128>("", none(), json!(7)), json!({ "type": "integer", "maximum": 7 })),
        (
            parameter_schema::<String>("A name.", json!(1), json!(20)),
            json!({ "type": "string", "description": "A name.", "minLength": 1, "maxLength": 20 }),
        ),
        (
            parameter_schema::<char>("", none(), none()),
            json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
        ),
        (
            parameter_schema::<Option<Vec<u8>>>("", json!(2), json!(3)),
            json!({ "type": "array", "items": { "type": "integer", "minimum": 0, "maximum": 255 }, "minItems": 2, "maxItems": 3 }),
        ),
    ] {
        assert_eq!(schema, expected);
    }
}

#[test]
fn limits_without_a_value_between_them_admit_none() {
    fn admits_none<T: 'static>(least: Value, most: Value) -> bool {
        Plain::of::<T>().unwrap().admits_none(&limits(&least, &most))
    }
    let none = || Value::Null;
    for (found, expected) in [
        (admits_none::<i32>(none(), none()), false),
        (admits_none::<i32>(json!(3), json!(3)), false),
        (admits_none::<i32>(json!(3), json!(2)), true),
        // An integer, and a limit of the type itself.
        (admits_none::<i32>(json!(2.5), json!(2.75)), true),
        (admits_none::<f64>(json!(2.5), json!(2.75)), false),
        (admits_none::<f64>(json!(2.75), json!(2.5)), true),
        (admits_none::<f64>(json!(3), none()), false),
        (admits_none::<u8>(json!(255), none()), false),
        (admits_none::<u8>(json!(256), none()), true),
        (admits_none::<u8>(none(), json!(0)), false),
        (admits_none::<u8>(none(), json!(-1)), true),
        (admits_none::<i8>(none(), json!(-129)), true),
        (admits_none::<u64>(json!(u64::MAX), none()), false),
        (admits_none::<u128>(json!(u64::MAX), none()), false),
        (admits_none::<String>(json!(2), json!(1)), true),
        (admits_none::<String>(json!(1), json!(1)), false),
        (admits_none::<char>(json!(2), none()), true),
        (admits_none::<Vec<u8>>(json!(256), json!(256)), false),
        (admits_none::<Vec<u8>>(json!(257), json!(256)), true),
        (admits_none::<bool>(json!(1), none()), false),
    ] {
        assert_eq!(found, expected);
    }
}

#[test]
fn a_result_of_an_option_may_be_null() {
    fn result_schema<T: 'static>() -> Value {
        let schema = OutputSchema::plain(Plain::of::<T>().unwrap());
        assert!(!schema.is_promise());
        assert_eq!(*schema.as_value(), serde_json::to_value(&schema).unwrap());
        schema.as_value().clone()
    }
    let byte = json!({ "type": "integer", "minimum": 0, "maximum": 255 });
    assert_eq!(result_schema::<u8>(), byte);
    assert_eq!(
        result_schema::<Option<u8>>(),
        json!({ "type": ["integer", "null"], "minimum": 0, "maximum": 255 })
    );
    assert_eq!(result_schema::<Vec<u8>>(), json!({ "type": "array", "items": byte }));
    assert_eq!(result_schema::<Option<Vec<u8>>>(), json!({ "type": ["array", "null"], "items": byte }));
    assert_eq!(
        result_schema::<Option<char>>(),
        json!({ "type": ["string", "null"], "minLength": 1, "maxLength": 1 })
    );
    assert_eq!(result_schema::<f32>(), json!({ "type": "number" }));
}

#[test]
fn a_flat_list_has_each_parameter_once_and_names_the_required_ones() {
    let row = |name: &'static str, required: bool| Row {
        name,
        description: "",
        plain: Plain::of::<bool>().unwrap(),
        limits: Limits { least: None::<Number>, most: None },
        required,
    };
    let flat = |rows: Vec<Row>| InputSchema::flat(Flat::new(rows).unwrap());
    let bool = json!({ "type": "boolean" });
    for (schema, expected) in [
        (
            flat(vec![row("b", true), row("a", false), row("c", true)]),
            json!({
                "type": "object", "properties": { "b": bool, "a": bool, "c": bool },
                "required": ["b", "c"], "additionalProperties": false,
            }),
        ),
        (
            flat(vec![row("a", false)]),
            json!({ "type": "object", "properties": { "a": bool }, "additionalProperties": false }),
        ),
        (flat(Vec::new()), json!({ "type": "object", "properties": {}, "additionalProperties": false })),
    ] {
        assert_eq!(schema.as_value().to_string(), expected.to_string());
        assert_eq!(serde_json::to_string(&schema).unwrap(), expected.to_string());
        assert_eq!(*schema.to_value(), expected);
        assert_eq!(schema.keyword("type"), Some(&json!("object")));
        assert_eq!(
            schema.root_and_shared().0.map(|root| root.len()),
            expected.as_object().map(|it| it.len())
        );
        assert!(schema.check().is_ok() && schema.plan().is_ok());
        assert_eq!(schema, InputSchema::new(expected).unwrap());
    }
    assert!(Flat::new(vec![row("a", true), row("b", true), row("a", false)]).is_none());
}
