//! Generators of schemas and values from one small vocabulary, so that values lie near the limits of the schemas.

use proptest::{
    collection::vec,
    prelude::*,
    sample::{select, subsequence},
    strategy::float_to_weight,
    test_runner::{Config, RngAlgorithm},
};
use serde_json::{Map, Value, json};

/// The default number of cases; `PROPTEST_CASES` overrides it.
pub(super) fn config(few: u32) -> Config {
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { Config::default().cases } else { few };
    // Each choice of a strategy starts a generator for the alternatives, which costs more than the choice itself.
    Config { cases, failure_persistence: None, rng_algorithm: RngAlgorithm::XorShift, ..Config::default() }
}

/// Returns the strategy of [`prop_recursive`](Strategy::prop_recursive) with the same probabilities, which builds its
/// levels anew for each value that it generates; here they are built once.
pub(super) fn nested<T: std::fmt::Debug + 'static>(
    leaf: BoxedStrategy<T>,
    depth: i32,
    desired_size: u32,
    branch_size: u32,
    branch: impl Fn(BoxedStrategy<T>) -> BoxedStrategy<T>,
) -> BoxedStrategy<T> {
    (1..=depth).rev().fold(leaf, |inner, level| {
        let share = f64::from(desired_size) / f64::from(2 * branch_size).powi(level);
        let (branches, leaves) = float_to_weight(share.min(0.9));
        prop_oneof![leaves => inner.clone(), branches => branch(inner)].boxed()
    })
}

const NAMES: [&str; 4] = ["a", "b", "ab", "é"];

fn name() -> impl Strategy<Value = String> {
    select(&NAMES[..]).prop_map(str::to_owned)
}

fn number() -> impl Strategy<Value = Value> {
    let small = prop_oneof![
        (-2..=4_i64).prop_map(|it| json!(it)),
        (-4..=8_i64).prop_map(|it| json!(it as f64 / 2.0))
    ];
    let edges = select(vec![
        json!(0.1),
        json!(0.3),
        json!(-0.7),
        json!(1e2),
        json!(9_007_199_254_740_992_u64),
        json!(9_007_199_254_740_993_u64),
        json!(9007199254740992.0),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(u64::MAX - 1),
    ]);
    prop_oneof![4 => small, 1 => edges]
}

fn scalar() -> impl Strategy<Value = Value> {
    let texts = select(vec!["", "a", "b", "ab", "é", "aé", "aaa", "1", "7a", "😀"]);
    prop_oneof![
        1 => Just(Value::Null),
        1 => proptest::bool::ANY.prop_map(Value::from),
        3 => number(),
        3 => texts.prop_map(Value::from),
    ]
}

pub(super) fn value() -> BoxedStrategy<Value> {
    nested(scalar().boxed(), 3, 12, 4, |inner| {
        prop_oneof![
            1 => scalar(),
            1 => vec(inner.clone(), 0..4).prop_map(Value::Array),
            2 => vec((name(), inner), 0..4).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
        .boxed()
    })
}

type Keywords = Vec<(&'static str, Value)>;

fn count() -> impl Strategy<Value = Value> {
    (0..4_u64, proptest::bool::ANY)
        .prop_map(|(count, float)| if float { json!(count as f64) } else { json!(count) })
}

fn names() -> impl Strategy<Value = Value> {
    subsequence(NAMES.to_vec(), 0..=3).prop_map(Value::from)
}

/// Keywords without subschemas.
fn simple() -> BoxedStrategy<Keywords> {
    const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
    let one = |key: &'static str| move |value: Value| vec![(key, value)];
    let counted = |key| count().prop_map(one(key));
    let limited = |key| number().prop_map(one(key));
    let factors =
        vec![json!(1), json!(2), json!(3), json!(0.5), json!(0.1), json!(2.0), json!(1.5), json!(7)];
    let patterns = vec![
        "a", "^a", "b$", "^a*$", "^[^a]", r"^\d", r"\w", r"\W", ".", "^.{1,2}$", "^$", "(a|é)$", r"^\S+$",
    ];
    prop_oneof![
        4 => select(&TYPES[..]).prop_map(|it| vec![("type", it.into())]),
        2 => subsequence(TYPES.to_vec(), 1..4).prop_map(|it| vec![("type", it.into())]),
        2 => vec(value(), 0..4).prop_map(|it| vec![("enum", it.into())]),
        2 => value().prop_map(one("const")),
        2 => names().prop_map(one("required")),
        1 => limited("minimum"),
        1 => limited("maximum"),
        1 => limited("exclusiveMinimum"),
        1 => limited("exclusiveMaximum"),
        1 => select(factors).prop_map(one("multipleOf")),
        1 => counted("minLength"),
        1 => counted("maxLength"),
        1 => select(patterns).prop_map(|it| vec![("pattern", it.into())]),
        1 => counted("minItems"),
        1 => counted("maxItems"),
        1 => proptest::bool::ANY.prop_map(|it| vec![("uniqueItems", it.into())]),
        1 => counted("minProperties"),
        1 => counted("maxProperties"),
        1 => (name(), names()).prop_map(|(name, names)| vec![("dependentRequired", json!({name: names}))]),
        2 => select(vec!["#/$defs/d0", "#/$defs/d1", "#", "#/$defs/d%30", "#named"]).prop_map(|it| vec![("$ref", it.into())]),
    ]
    .boxed()
}

/// Keywords with subschemas.
fn compound(schema: BoxedStrategy<Value>) -> BoxedStrategy<Keywords> {
    let one = |key: &'static str| schema.clone().prop_map(move |it| vec![(key, it)]);
    let many = |key: &'static str| vec(schema.clone(), 1..4).prop_map(move |it| vec![(key, it.into())]);
    let named = |key: &'static str| {
        vec((name(), schema.clone()), 0..4)
            .prop_map(move |it| vec![(key, Value::Object(it.into_iter().collect()))])
    };
    let tagged = vec((select(vec!["a", "b", "aé"]), schema.clone()), 1..4).prop_map(|branches| {
        let branch =
            |(kind, schema): (&str, Value)| json!({"properties": {"a": {"const": kind}, "b": schema}});
        branches.into_iter().map(branch).collect::<Vec<_>>()
    });
    let pattern = (select(vec!["^a", "b", "é$", "."]), schema.clone());
    let counts = (schema.clone(), count(), count(), 0..4_u8);
    prop_oneof![
        4 => (named("properties"), names()).prop_map(|(mut it, names)| {
            it.push(("required", names));
            it
        }),
        2 => named("properties"),
        2 => one("additionalProperties"),
        1 => pattern.prop_map(|(pattern, it)| vec![("patternProperties", json!({pattern: it}))]),
        1 => one("propertyNames"),
        1 => one("unevaluatedProperties"),
        1 => one("unevaluatedItems"),
        2 => evaluating(),
        1 => named("dependentSchemas"),
        2 => one("items"),
        1 => many("prefixItems"),
        1 => counts.prop_map(|(schema, least, most, which)| {
            let mut keywords = vec![("contains", schema)];
            if which & 1 == 1 { keywords.push(("minContains", least)) }
            if which & 2 == 2 { keywords.push(("maxContains", most)) }
            keywords
        }),
        1 => many("allOf"),
        2 => many("anyOf"),
        2 => many("oneOf"),
        1 => (tagged, proptest::bool::ANY).prop_map(|(it, any)| vec![(if any { "anyOf" } else { "oneOf" }, it.into())]),
        1 => one("not"),
        1 => (one("if"), one("then"), one("else"), 0..4_u8).prop_map(|(mut it, then, otherwise, which)| {
            if which & 1 == 0 { it.extend(then) }
            if which & 2 == 0 { it.extend(otherwise) }
            it
        }),
    ]
    .boxed()
}

/// An `unevaluated..` rule with schemas beside it that evaluate some parts.
fn evaluating() -> impl Strategy<Value = Keywords> {
    let what = select(vec![json!(true), json!(false), json!(false), json!({"type": "integer"})]);
    let keys = select(vec!["unevaluatedProperties", "unevaluatedProperties", "unevaluatedItems"]);
    (vec(speaking(), 1..3), keys, what).prop_map(|(parts, key, what)| {
        let mut keywords = parts.concat();
        keywords.push((key, what));
        keywords
    })
}

/// Keywords that evaluate properties or items, directly or through other schemas.
fn speaking() -> BoxedStrategy<Keywords> {
    let own =
        || select(vec![json!(true), json!(true), json!({"type": "integer"}), json!({"type": "string"})]);
    let leaf = prop_oneof![
        4 => (name(), own(), any::<bool>()).prop_map(|(name, it, required)| {
            let mut keywords = vec![("properties", json!({&name: it}))];
            if required { keywords.push(("required", json!([name]))) }
            keywords
        }),
        1 => own().prop_map(|it| vec![("patternProperties", json!({"^a": it}))]),
        1 => own().prop_map(|it| vec![("additionalProperties", it)]),
        2 => vec(own(), 1..3).prop_map(|it| vec![("prefixItems", it.into())]),
        1 => own().prop_map(|it| vec![("contains", it)]),
        1 => own().prop_map(|it| vec![("items", it)]),
        1 => select(vec!["unevaluatedProperties", "unevaluatedItems"]).prop_map(|key| vec![(key, json!(true))]),
    ];
    nested(leaf.boxed(), 2, 6, 2, |inner| {
        let one = vec(inner, 1..3).prop_map(object).boxed();
        let many = |key: &'static str| vec(one.clone(), 1..3).prop_map(move |it| vec![(key, it.into())]);
        let condition = (one.clone(), one.clone(), one.clone(), 0..4_u8);
        prop_oneof![
            many("allOf"),
            many("anyOf"),
            many("oneOf"),
            one.clone().prop_map(|it| vec![("not", json!({"not": it}))]),
            (name(), one.clone()).prop_map(|(name, it)| vec![("dependentSchemas", json!({name: it}))]),
            condition.prop_map(|(test, then, otherwise, which)| {
                let mut keywords = vec![("if", test)];
                if which & 1 == 0 {
                    keywords.push(("then", then))
                }
                if which & 2 == 0 {
                    keywords.push(("else", otherwise))
                }
                keywords
            }),
        ]
        .boxed()
    })
}

fn object(parts: Vec<Keywords>) -> Value {
    Value::Object(parts.into_iter().flatten().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn schema() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        1 => proptest::bool::ANY.prop_map(Value::from),
        8 => vec(simple(), 0..3).prop_map(object),
    ];
    nested(leaf.boxed(), 3, 16, 3, |inner| {
        (vec(simple(), 0..2), vec(compound(inner), 1..3))
            .prop_map(|(simple, compound)| object([simple, compound].concat()))
            .boxed()
    })
}

/// A schema with definitions that it may reference.
pub(super) fn root() -> impl Strategy<Value = Value> {
    let schema = schema();
    (schema.clone(), schema.clone(), schema).prop_map(|(root, first, second)| {
        let mut root = match root {
            Value::Object(root) => root,
            other => Map::from_iter([("not".to_owned(), json!({ "not": other }))]),
        };
        let named = json!({"$anchor": "named", "allOf": [second.clone()]});
        root.insert("$defs".to_owned(), json!({"d0": first, "d1": second, "d2": named}));
        Value::Object(root)
    })
}
