//! The bounds of integer types.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tool_schema::InputSchema;

// B18: a bound that is not an integer still limits an integer.
#[test]
fn the_narrower_of_type_bound_and_constraint_applies() {
    #[derive(Deserialize, JsonSchema)]
    struct Numbers {
        #[schemars(range(min = 0.5, max = 255.5))]
        above: u8,
        #[schemars(range(min = -0.5, max = 300.5))]
        wide: u8,
        #[schemars(range(min = 0.5, max = 99.5))]
        narrow: i16,
        #[schemars(range(min = -1.0, max = 255.0))]
        equal: u8,
        #[schemars(range(min = -1e300, max = 1e300))]
        huge: i64,
        #[schemars(range(max = 9007199254740993.0))]
        long: u64,
        #[schemars(range(min = -5))]
        longest: u128,
        #[schemars(range(max = 0.5))]
        float: f32,
    }
    let schema = InputSchema::of::<Numbers>().unwrap();
    let bounds = |name: &str| {
        let property = &schema.as_value()["properties"][name];
        json!([property.get("minimum"), property.get("maximum")])
    };
    assert_eq!(bounds("above"), json!([0.5, 255]));
    assert_eq!(bounds("wide"), json!([0, 255]));
    assert_eq!(bounds("narrow"), json!([0.5, 99.5]));
    assert_eq!(bounds("equal"), json!([0, 255.0]));
    assert_eq!(bounds("huge"), json!([i64::MIN, i64::MAX]));
    assert_eq!(bounds("long"), json!([0, 9_007_199_254_740_992.0]));
    assert_eq!(bounds("longest"), json!([0, null]));
    assert_eq!(bounds("float"), json!([null, 0.5]));
}
