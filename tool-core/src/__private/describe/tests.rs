//! Constant schemas, compared with those that schemars makes.

use std::path::Path;

use serde_json::{Value, json};
use tool_schema::__private::{canonical_output, output_generator, with_definitions};

use super::{
    Generator, InputSchema, ModelParameter, OutputSchema, Parameter, ResultSchema, Returned, Source, Spec,
    flat_schema, input_schema,
};
use crate::{
    __private::{Constraint, Slot, TypeProbe, probe::*},
    SourceLocation,
};

const SITE: SourceLocation = SourceLocation { file: "", line: 1, module: "", package: None, version: None };

static SPEC: Spec = Spec::new("tool", "Does.", SITE);

/// Parameters with everything that a constant schema takes.
static PARAMETERS: [Parameter; 7] = [
    Parameter { name: "bare", ..Parameter::EMPTY },
    Parameter { name: "said \"twice\"", description: "One\ttab, ä, \u{1}.", ..Parameter::EMPTY },
    Parameter { name: "required", constraints: &[Constraint::Required], ..Parameter::EMPTY },
    Parameter {
        name: "narrow",
        constraints: &[Constraint::Minimum(|| json!(2)), Constraint::Maximum(|| json!(100))],
        ..Parameter::EMPTY
    },
    Parameter {
        name: "wide",
        constraints: &[Constraint::Minimum(|| json!(-1e300)), Constraint::Maximum(|| json!(u64::MAX))],
        ..Parameter::EMPTY
    },
    Parameter {
        name: "uneven",
        constraints: &[Constraint::Maximum(|| json!(7.25)), Constraint::Minimum(|| json!(0.5))],
        ..Parameter::EMPTY
    },
    Parameter {
        name: "long",
        description: "Long.",
        constraints: &[Constraint::MaxLength(|| json!(9)), Constraint::MinLength(|| json!(1))],
        ..Parameter::EMPTY
    },
];

fn argued(slot: &dyn Slot) -> ModelParameter {
    match slot.source() {
        Source::Model(argued) => argued,
        _ => panic!("the model fills it"),
    }
}

fn made(parameter: &'static Parameter, slot: &dyn Slot) -> InputSchema {
    input_schema(&SPEC, vec![(parameter, argued(slot))]).unwrap()
}

/// Compares the schemas of one parameter, and returns `true` if it has a constant one.
fn is_same(parameter: &'static Parameter, slot: &dyn Slot) -> bool {
    let made = made(parameter, slot);
    let Some(flat) = flat_schema(&SPEC, &[(parameter, argued(slot))]).map(InputSchema::flat) else {
        return false;
    };
    let text = serde_json::to_string(&flat).unwrap();
    assert_eq!(text, made.as_value().to_string());
    assert_eq!(flat.as_value(), made.as_value());
    assert_eq!(flat.as_value().to_string(), text);
    assert!(flat.plan().is_ok(), "{text}");
    true
}

fn result_of<T: schemars::JsonSchema>() -> Value {
    let mut generator = output_generator();
    let schema = generator.subschema_for::<T>();
    canonical_output(with_definitions(schema.to_value(), generator))
}

macro_rules! each_plain {
    ($each:ident!) => {
        $each!(bool char String f32 f64 i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize)
    };
}

// B24
#[test]
fn a_parameter_with_a_constant_schema_has_the_one_that_its_type_derives() {
    macro_rules! each {
        ($($of:ty)*) => { $(
            let slots: [&dyn Slot; 4] = [
                &TypeProbe::<$of>::new().slot(),
                &TypeProbe::<Option<$of>>::new().slot(),
                &TypeProbe::<Vec<$of>>::new().slot(),
                &TypeProbe::<Option<Vec<$of>>>::new().slot(),
            ];
            for slot in slots {
                for parameter in &PARAMETERS[..3] {
                    assert!(is_same(parameter, slot), "{} {}", stringify!($of), parameter.name);
                }
                // One of a range and a length limits the type, except `bool` and `char`.
                let limited = PARAMETERS[3..].iter().filter(|it| is_same(it, slot)).count();
                let is_list = slots[2..].iter().any(|it| std::ptr::eq(*it, slot));
                let expected = match stringify!($of) {
                    _ if is_list => 1,
                    "bool" | "char" => 0,
                    "String" => 1,
                    _ => 3,
                };
                assert_eq!(limited, expected, "{}", stringify!($of));
            }
        )* };
    }
    each_plain!(each!);
}

#[test]
fn a_borrowed_parameter_has_the_schema_of_its_owned_type() {
    let slots: [&dyn Slot; 6] = [
        &TypeProbe::<&str>::new().slot(),
        &TypeProbe::<Option<&str>>::new().slot(),
        &TypeProbe::<&Path>::new().slot(),
        &TypeProbe::<std::borrow::Cow<'_, str>>::new().slot(),
        &TypeProbe::<&[u8]>::new().slot(),
        &TypeProbe::<Option<&[String]>>::new().slot(),
    ];
    for slot in slots {
        assert!(PARAMETERS[..3].iter().all(|parameter| is_same(parameter, slot)));
    }
}

#[test]
fn a_list_of_parameters_has_one_object() {
    let slots: [&dyn Slot; 3] = [
        &TypeProbe::<Option<i64>>::new().slot(),
        &TypeProbe::<&str>::new().slot(),
        &TypeProbe::<Vec<bool>>::new().slot(),
    ];
    for count in 0..=slots.len() {
        let arguments = || PARAMETERS.iter().zip(slots).take(count).map(|(it, slot)| (it, argued(slot)));
        let flat = InputSchema::flat(flat_schema(&SPEC, &arguments().collect::<Vec<_>>()).unwrap());
        let made = input_schema(&SPEC, arguments().collect()).unwrap();
        let text = serde_json::to_string(&flat).unwrap();
        assert_eq!(text, made.as_value().to_string());
        assert_eq!(flat.as_value(), made.as_value());
        assert_eq!((flat.with_internal_keywords(), made.with_internal_keywords()), (None, None));
    }
}

#[test]
fn a_result_with_a_constant_schema_has_the_one_that_its_type_derives() {
    fn compare<T: schemars::JsonSchema + 'static>(described: Returned) {
        let schema: OutputSchema = described.schema.unwrap();
        let text = serde_json::to_string(&schema).unwrap();
        assert_eq!(text, result_of::<T>().to_string());
        assert_eq!(schema.as_value(), &result_of::<T>());
        assert!(matches!(
            ResultSchema::of::<T>(&mut Generator::default(), |_| panic!("it is constant")),
            ResultSchema::Plain(_)
        ));
    }
    macro_rules! each {
        ($($of:ty)*) => { $(
            compare::<$of>(Returned::described(|g| (&&&&&TypeProbe::<$of>::new()).schema(g)));
            compare::<Option<$of>>(Returned::described(|g| (&&&&&TypeProbe::<Option<$of>>::new()).schema(g)));
            compare::<Vec<$of>>(Returned::described(|g| (&&&&&TypeProbe::<Vec<$of>>::new()).schema(g)));
            compare::<Option<Vec<$of>>>(Returned::described(|g| (&&&&&TypeProbe::<Option<Vec<$of>>>::new()).schema(g)));
        )* };
    }
    each_plain!(each!);
}

#[test]
fn parameters_with_more_than_limits_are_described_by_schemars() {
    static REST: [Parameter; 4] = [
        Parameter { name: "alias", aliases: &["other"], ..Parameter::EMPTY },
        Parameter { name: "pattern", constraints: &[Constraint::Pattern(|| json!("("))], ..Parameter::EMPTY },
        Parameter { name: "example", constraints: &[Constraint::Example(|| json!(1))], ..Parameter::EMPTY },
        Parameter { name: "length", constraints: &[Constraint::MinLength(|| json!(-1))], ..Parameter::EMPTY },
    ];
    let slot = TypeProbe::<String>::new().slot();
    assert!(REST.iter().all(|parameter| flat_schema(&SPEC, &[(parameter, argued(&slot))]).is_none()));
    let with_default = TypeProbe::<String>::new().slot().or(String::new, |text| Some(json!(text)));
    assert!(flat_schema(&SPEC, &[(&PARAMETERS[0], argued(&with_default))]).is_none());
    let twice = [(&PARAMETERS[0], argued(&slot)), (&PARAMETERS[0], argued(&slot))];
    assert!(flat_schema(&SPEC, &twice).is_none());
    let ignoring = Spec { ignore_unknown: true, ..Spec::new("tool", "Does.", SITE) };
    assert!(flat_schema(&ignoring, &[(&PARAMETERS[0], argued(&slot))]).is_none());
}

// B24
#[test]
fn bounds_that_admit_no_value_are_an_error() {
    static EMPTY: [Parameter; 3] = [
        Parameter { name: "range", constraints: &[Constraint::Minimum(|| json!(300))], ..Parameter::EMPTY },
        Parameter {
            name: "uneven",
            constraints: &[Constraint::Minimum(|| json!(2.25)), Constraint::Maximum(|| json!(2.75))],
            ..Parameter::EMPTY
        },
        Parameter {
            name: "length",
            constraints: &[Constraint::MinLength(|| json!(3)), Constraint::MaxLength(|| json!(2))],
            ..Parameter::EMPTY
        },
    ];
    let check = |parameter: &'static Parameter, slot: &dyn Slot, message: Option<&str>| {
        let argued = || argued(slot);
        let made = input_schema(&SPEC, vec![(parameter, argued())]).err().map(|it| it.to_string());
        assert_eq!(made.as_deref(), message, "{}", parameter.name);
        assert_eq!(
            flat_schema(&SPEC, &[(parameter, argued())]).is_none(),
            message.is_some(),
            "{}",
            parameter.name
        );
    };
    let [range, uneven, length] = &EMPTY;
    let of_bytes = "in `range`, `minimum` is 300 and `maximum` is 255, so no value is valid; change one";
    check(range, &TypeProbe::<u8>::new().slot(), Some(of_bytes));
    check(range, &TypeProbe::<Option<u8>>::new().slot(), Some(of_bytes));
    check(range, &TypeProbe::<u16>::new().slot(), None);
    let of_integers =
        "in `uneven`, `minimum` is 2.25 and `maximum` is 2.75, so no value is valid; change one";
    check(uneven, &TypeProbe::<i64>::new().slot(), Some(of_integers));
    check(uneven, &TypeProbe::<f64>::new().slot(), None);
    let of_texts = "in `length`, `minLength` is 3 and `maxLength` is 2, so no value is valid; change one";
    check(length, &TypeProbe::<String>::new().slot(), Some(of_texts));
    let of_lists = "in `length`, `minItems` is 3 and `maxItems` is 2, so no value is valid; change one";
    check(length, &TypeProbe::<Vec<u8>>::new().slot(), Some(of_lists));
}
