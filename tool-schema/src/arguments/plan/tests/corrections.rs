//! Properties of every correction, for any schema and value.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    Plan, correct,
    drawn::{config, nested, root, value},
};
use crate::arguments::plan::{coerce::can_only_be_one_item, equality::json_equal};

proptest! {
    #![proptest_config(config(2_000))]

    // F04-F10
    #[test]
    fn correction_of_anything_fits_and_touches_nothing_else(schema in root(), values in vec(value(), 6)) {
        let Ok(plan) = Plan::compile(&schema) else { return Ok(()) };
        for value in values {
            check(&plan, &odd_text(&value))?;
            check(&plan, &odd_text(&Value::from(value.to_string())))?;
        }
    }

    // F04-F09
    #[test]
    fn distorted_arguments_are_corrected_to_the_original(shape in shape(), bytes in vec(any::<u8>(), 48)) {
        let schema = shape.schema();
        let plan = Plan::compile(&schema).unwrap();
        let mut choices = bytes.into_iter().cycle();
        let right = shape.value(&mut choices);
        prop_assert!(plan.admits(&right), "{} {}", schema, right);
        let almost = shape.twist(&right, Spot::Alone, &mut choices);
        let text = odd_text(&almost);
        match check(&plan, &text)? {
            Some(corrected) => prop_assert!(json_equal(&corrected, &right), "{} {} {}", schema, text, corrected),
            None => prop_assert_eq!(almost, right, "{}", schema),
        }
    }
}

/// Corrects `text` and checks the guarantees of corrections.
fn check(plan: &Plan, text: &str) -> Result<Option<Value>, TestCaseError> {
    let before: Value = serde_json::from_str(text).unwrap();
    let Some((corrected, corrections)) = correct(plan, text) else { return Ok(None) };
    let mut settled = before.clone();
    plan.normalize_value(&mut settled);
    prop_assert!(!plan.admits(&before) && !plan.admits(&settled), "what fits is left alone: {}", text);
    prop_assert!(!corrections.is_empty());
    let is_repeated = |(at, it)| corrections.iter().take(at).any(|earlier| earlier == it);
    prop_assert!(!corrections.iter().enumerate().any(is_repeated), "{:?}", corrections);
    let after: Value = serde_json::from_str(&corrected).unwrap();
    prop_assert!(plan.admits(&after), "what is corrected fits: {} {}", text, corrected);
    prop_assert_eq!(correct(plan, &corrected), None, "what is corrected is not corrected again");
    let written = leaves(text);
    for (pointer, raw) in leaves(&corrected) {
        let was = before.pointer(&pointer);
        if was.is_some() && was == after.pointer(&pointer) {
            prop_assert_eq!(Some(&raw), written.get(&pointer), "what is not corrected keeps its bytes");
        }
    }
    Ok(Some(after))
}

/// Typical arguments of tools.
#[derive(Debug, Clone)]
enum Shape {
    Integer,
    Number,
    Boolean,
    Text,
    Word,
    Anything,
    Maybe(Box<Shape>),
    List(Box<Shape>),
    Map(Box<Shape>),
    Struct(Vec<(String, Shape)>),
    /// One of two structs, discriminated by its kind.
    Tagged([Vec<(String, Shape)>; 2]),
}

use Shape::{Anything, Boolean, Integer, List, Maybe, Number, Struct, Tagged, Text, Word};

/// The relevant location of a value.
#[derive(Clone, Copy, PartialEq)]
enum Spot {
    Alone,
    Item,
}

fn shape() -> BoxedStrategy<Shape> {
    let leaf = select(vec![Integer, Number, Boolean, Text, Word, Anything]).boxed();
    nested(leaf, 4, 20, 4, |inner| {
        let fields = vec(inner.clone(), 0..4).prop_map(|shapes| {
            ["a", "b", "ab", "é"].into_iter().map(str::to_owned).zip(shapes).collect::<Vec<_>>()
        });
        let one = inner.prop_map(Box::new);
        prop_oneof![
            one.clone().prop_map(Maybe),
            one.clone().prop_map(List),
            one.prop_map(Shape::Map),
            fields.clone().prop_map(Struct),
            [fields.clone(), fields].prop_map(Tagged),
        ]
        .boxed()
    })
}

type Choices<'c> = dyn Iterator<Item = u8> + 'c;

fn choose<T: Clone>(from: &[T], choices: &mut Choices<'_>) -> T {
    from[usize::from(choices.next().unwrap()) % from.len()].clone()
}

impl Shape {
    fn schema(&self) -> Value {
        match self {
            Integer => json!({"type": "integer"}),
            Number => json!({"type": "number"}),
            Boolean => json!({"type": "boolean"}),
            Text => json!({"type": "string"}),
            Word => json!({"type": "string", "enum": ["a", "7", "true"]}),
            Anything => json!({}),
            Maybe(inner) => json!({"anyOf": [inner.schema(), {"type": "null"}]}),
            List(inner) => json!({"type": "array", "items": inner.schema()}),
            Self::Map(inner) => json!({"type": "object", "additionalProperties": inner.schema()}),
            Struct(fields) => struct_schema(fields, None),
            Tagged([left, right]) => {
                json!({"oneOf": [struct_schema(left, Some("l")), struct_schema(right, Some("r"))]})
            }
        }
    }

    /// Generates a value of this shape.
    fn value(&self, choices: &mut Choices<'_>) -> Value {
        match self {
            Integer => {
                choose(&[json!(0), json!(-7), json!(9_007_199_254_740_993_u64), json!(u64::MAX)], choices)
            }
            Number => choose(&[json!(0), json!(1.5), json!(-0.1), json!(1e300), json!(i64::MIN)], choices),
            Boolean => choose(&[json!(true), json!(false)], choices),
            Text => json!(choose(&["", " ", "a", "12", "1.5", "true", "[1", "{}", "null", "é\"\\"], choices)),
            Word => json!(choose(&["a", "7", "true"], choices)),
            Anything => {
                choose(&[json!(0.1), json!("3"), json!({"a": "3", "b": [1.5]}), Value::Null], choices)
            }
            Maybe(inner) => {
                if choose(&[true, false], choices) {
                    Value::Null
                } else {
                    inner.value(choices)
                }
            }
            List(inner) => {
                let length = choose(&[0, 1, 1, 1, 3], choices);
                (0..length).map(|_| inner.value(choices)).collect()
            }
            Self::Map(inner) => {
                ["x", "a"].into_iter().map(|name| (name.to_owned(), inner.value(choices))).collect()
            }
            Struct(fields) => struct_value(fields, None, choices),
            Tagged([left, right]) => {
                let (fields, kind) = choose(&[(left, "l"), (right, "r")], choices);
                struct_value(fields, Some(kind), choices)
            }
        }
    }

    /// Distorts `value` of this shape as a model may: scalars as strings, strings as scalars, lists and objects as
    /// strings, a list of one item as the item.
    fn twist(&self, value: &Value, spot: Spot, choices: &mut Choices<'_>) -> Value {
        let which = choose(&[0, 1, 2, 3], choices);
        let twisted = match (self, value) {
            (Anything, _) | (Maybe(_), Value::Null) => return value.clone(),
            (Maybe(inner), _) => return inner.twist(value, spot, choices),
            (Boolean, Value::Bool(truth)) if which == 0 => return json!(u8::from(*truth)),
            (Integer, _) if which == 0 => return json!(format!("{value}.0")),
            (Integer | Number | Boolean, _) if which < 3 => return value.to_string().into(),
            (Text | Word, Value::String(text)) => {
                let scalar =
                    serde_json::from_str(text).ok().filter(|it: &Value| it.is_number() || it.is_boolean());
                return scalar.filter(|_| which < 2).unwrap_or_else(|| value.clone());
            }
            (List(inner), Value::Array(items)) => {
                let mut items: Vec<_> = items.iter().map(|it| inner.twist(it, Spot::Item, choices)).collect();
                match items.as_slice() {
                    [only] if which < 2 && spot == Spot::Alone && inner.may_stand_for_a_list(only) => {
                        return items.remove(0);
                    }
                    _ => items.into(),
                }
            }
            (Self::Map(inner), Value::Object(map)) => {
                let twisted =
                    map.iter().map(|(name, it)| (name.clone(), inner.twist(it, Spot::Alone, choices)));
                Value::Object(twisted.collect())
            }
            (Struct(fields), Value::Object(map)) => twist_struct(fields, map, choices),
            (Tagged([left, right]), Value::Object(map)) => {
                twist_struct(if map["kind"] == "l" { left } else { right }, map, choices)
            }
            _ => return value.clone(),
        };
        if which == 3 { twisted.to_string().into() } else { twisted }
    }

    fn may_stand_for_a_list(&self, only: &Value) -> bool {
        let is_known = !matches!(self, Anything | Maybe(_) | Self::Map(_));
        is_known
            && match only {
                Value::Null | Value::Array(_) => false,
                Value::String(text) => can_only_be_one_item(text),
                _ => true,
            }
    }
}

fn struct_schema(fields: &[(String, Shape)], kind: Option<&str>) -> Value {
    let mut properties: Map<_, _> = fields.iter().map(|(name, it)| (name.clone(), it.schema())).collect();
    if let Some(kind) = kind {
        properties.insert("kind".to_owned(), json!({"const": kind}));
    }
    let required: Vec<_> = properties.keys().cloned().collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn struct_value(fields: &[(String, Shape)], kind: Option<&str>, choices: &mut Choices<'_>) -> Value {
    let kind = kind.map(|kind| ("kind".to_owned(), json!(kind)));
    let fields = fields.iter().map(|(name, shape)| (name.clone(), shape.value(choices)));
    Value::Object(fields.chain(kind).collect())
}

fn twist_struct(fields: &[(String, Shape)], map: &Map<String, Value>, choices: &mut Choices<'_>) -> Value {
    let mut twisted = map.clone();
    for (name, shape) in fields {
        twisted.insert(name.clone(), shape.twist(&map[name], Spot::Alone, choices));
    }
    twisted.into()
}

/// Formats `value` in an unusual spelling, so that rewritten parts are noticed.
fn odd_text(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Number(number) => {
            // Keeps the digits, which would be visible in a string.
            number.to_string().replace('e', "E")
        }
        Value::String(text) => {
            text.encode_utf16().fold("\"".to_owned(), |all, unit| format!("{all}\\u{unit:04x}")) + "\""
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| format!(" {} ", odd_text(item))).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(map) => {
            let property = |(name, value): (&String, &Value)| {
                format!(" {} : {}", odd_text(&Value::from(name.as_str())), odd_text(value))
            };
            format!("{{{}}}", map.iter().map(property).collect::<Vec<_>>().join(","))
        }
    }
}

/// Returns the spelling of each scalar of a text by its pointer.
fn leaves(text: &str) -> BTreeMap<String, String> {
    fn add(text: &str, pointer: &str, all: &mut BTreeMap<String, String>) {
        if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text) {
            items.iter().enumerate().for_each(|(at, item)| add(item.get(), &format!("{pointer}/{at}"), all));
        } else if let Ok(map) = serde_json::from_str::<BTreeMap<String, &RawValue>>(text) {
            map.iter().for_each(|(name, item)| add(item.get(), &format!("{pointer}/{name}"), all));
        } else {
            all.insert(pointer.to_owned(), text.to_owned());
        }
    }
    let mut all = BTreeMap::new();
    add(text, "", &mut all);
    all
}
