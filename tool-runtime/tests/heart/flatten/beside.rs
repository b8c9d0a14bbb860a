//! Several flattened enums in one struct.

use serde_json::json;
use tool_runtime::prelude::*;

use super::{
    Adjacent, External, OrNothing, Tagged, Untagged, agree, external, id, registry, tagged, unknown,
    untagged, x,
};

// B18, B20
#[test]
fn a_tagged_and_an_untagged_enum_can_be_flattened_together() {
    #[tool_args]
    #[derive(Debug)]
    struct Args {
        id: u8,
        #[serde(flatten)]
        tagged: Tagged,
        #[serde(flatten)]
        untagged: Untagged,
    }
    let counts = agree::<Args>(&[id(), tagged(), untagged()].concat());
    // (circle, empty, at) with (a b, a, a c, text)
    assert_eq!(counts.admitted, 3 * 4);
    assert!(counts.decoded > counts.admitted && counts.all > counts.decoded, "{counts:?}");
}

// B18, B20
#[test]
fn two_untagged_enums_can_be_flattened_together() {
    #[tool_args]
    #[derive(Debug)]
    struct Args {
        id: u8,
        #[serde(flatten)]
        untagged: Untagged,
        #[serde(flatten)]
        or_nothing: OrNothing,
    }
    let counts = agree::<Args>(&[id(), untagged(), x()].concat());
    // (a b, a, a c, text) with (x, nothing)
    assert_eq!(counts.admitted, 4 * 2);
}

// B18, B20
#[test]
fn three_or_more_enums_can_be_flattened_together() {
    #[tool_args]
    #[derive(Debug)]
    struct Args {
        #[serde(flatten)]
        tagged: Tagged,
        #[serde(flatten)]
        adjacent: Adjacent,
        #[serde(flatten)]
        external: External,
        #[serde(flatten)]
        or_nothing: OrNothing,
    }
    let mut words = vec![("kind", json!(["circle", "empty"])), ("radius", json!([1])), ("x", json!([1]))];
    words.extend([("t", json!(["Number", "Nothing"])), ("c", json!([1]))]);
    words.extend([("Unit", json!([null])), ("One", json!([1])), ("Two", json!([{ "w": 1 }]))]);
    let counts = agree::<Args>(&words);
    // (circle, empty) with (number, nothing) with (unit, one, two) with (x, nothing)
    assert_eq!(counts.admitted, 2 * 2 * 3 * 2);
}

// B18, B20: invalid values, which `serde` would drop as `None`, are refused.
#[test]
fn an_optional_enum_is_complete_or_absent() {
    #[tool_args]
    #[derive(Debug)]
    struct Args {
        id: u8,
        #[serde(flatten)]
        tagged: Option<Tagged>,
    }
    let counts = agree::<Args>(&[id(), tagged(), unknown()].concat());
    assert_eq!(counts.admitted, 3 + 1);
    let tools = registry::<Args>();
    let refused = crate::run(tools.call("tool", r#"{"id":1,"kind":"circle","radius":"x"}"#)).unwrap_err();
    assert!(!refused.violations().is_empty(), "{refused}");
}

// B18, B20
#[test]
fn optional_enums_of_any_representation_can_be_flattened_together() {
    #[tool_args]
    #[derive(Debug)]
    struct Args {
        #[serde(flatten)]
        untagged: Option<Untagged>,
        #[serde(flatten)]
        or_nothing: Option<OrNothing>,
        #[serde(flatten)]
        external: Option<External>,
    }
    let counts = agree::<Args>(&[untagged(), x(), external(), unknown()].concat());
    // (a b, a, a c, text, none) with (x, nothing) with (unit, one, two, none)
    assert_eq!(counts.admitted, 5 * 2 * 4);
}

// B18: two enums with the same tag admit the variants that both have.
#[test]
fn two_enums_may_share_a_tag() {
    #[tool_args]
    #[derive(Debug)]
    #[serde(tag = "kind", rename_all = "lowercase")]
    enum Other {
        Circle { border: u8 },
        Empty,
        Square { side: u8 },
    }
    #[tool_args]
    #[derive(Debug)]
    struct Args {
        #[serde(flatten)]
        tagged: Tagged,
        #[serde(flatten)]
        other: Other,
    }
    let words = vec![("border", json!([1])), ("side", json!([1]))];
    // A circle with a radius and a border, or empty.
    assert_eq!(agree::<Args>(&[tagged(), words].concat()).admitted, 2);
}
