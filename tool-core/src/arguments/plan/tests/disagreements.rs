//! Where a plan and the `jsonschema` crate differ, and why the plan stays as it is.

use serde_json::json;

use super::plan;

#[test]
fn large_integer_is_divided_by_a_fraction_without_rounding() {
    // 2^64 - 1 is three times an odd number; the crate divides the float nearest to it.
    let schema = json!({"multipleOf": 1.5});
    let value = json!(u64::MAX);
    assert!(plan(&schema).admits(&value));
    assert!(!jsonschema::options().offline().build(&schema).unwrap().is_valid(&value));
}
