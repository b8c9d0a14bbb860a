//! Equality of JSON values: numbers by value, objects regardless of order.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hash, Hasher},
    mem,
};

use serde_json::Value;

use super::number::ExactNumber;

/// Returns `true` if two values are equal in JSON Schema: `1` equals `1.0`.
pub(super) fn json_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            ExactNumber::from(left).compare(ExactNumber::from(right)).is_some_and(std::cmp::Ordering::is_eq)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| json_equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(name, left)| right.get(name).is_some_and(|right| json_equal(left, right)))
        }
        _ => left == right,
    }
}

/// Up to this number, all pairs of items are compared.
const MAX_PAIRWISE_ITEMS: usize = 16;

/// Returns the items that equal an earlier item, with the index of that item.
pub(super) fn repeated_items(items: &[Value]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    if items.len() <= MAX_PAIRWISE_ITEMS {
        for (at, item) in items.iter().enumerate() {
            if let Some(first) = items.iter().take(at).position(|earlier| json_equal(earlier, item)) {
                found.push((first, at));
            }
        }
        return found;
    }
    // Long lists are sorted by a randomly keyed hash, so that equal items become neighbours and a sender cannot
    // provoke collisions.
    let state = RandomState::new();
    let mut hashes: Vec<_> =
        items.iter().enumerate().map(|(at, item)| (hash_value(item, &state), at, item)).collect();
    hashes.sort_unstable_by_key(|&(hash, at, _)| (hash, at));
    for run in hashes.chunk_by(|left, right| left.0 == right.0) {
        // Hash collisions are rare, so this list usually has one entry.
        let mut different: Vec<(usize, &Value)> = Vec::new();
        for &(_, at, item) in run {
            match different.iter().find(|(_, earlier)| json_equal(earlier, item)) {
                Some(&(first, _)) => found.push((first, at)),
                None => different.push((at, item)),
            }
        }
    }
    found
}

/// Returns the same hash for equal values.
fn hash_value(value: &Value, state: &RandomState) -> u64 {
    let mut hasher = state.build_hasher();
    mem::discriminant(value).hash(&mut hasher);
    match value {
        Value::Null => {}
        Value::Bool(value) => value.hash(&mut hasher),
        Value::Number(number) => match ExactNumber::from(number) {
            ExactNumber::Integer(integer) => integer.hash(&mut hasher),
            ExactNumber::Float(float) => float.to_bits().hash(&mut hasher),
        },
        Value::String(text) => text.hash(&mut hasher),
        Value::Array(items) => {
            items.len().hash(&mut hasher);
            items.iter().for_each(|item| hash_value(item, state).hash(&mut hasher));
        }
        Value::Object(map) => {
            // A sum, since the order of properties is irrelevant.
            let sum = map.iter().fold(0_u64, |sum, (name, value)| {
                sum.wrapping_add(state.hash_one((name, hash_value(value, state))))
            });
            (map.len(), sum).hash(&mut hasher);
        }
    }
    hasher.finish()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;

    use super::*;

    /// Values of which no two are equal.
    fn distinct() -> Vec<Value> {
        let texts = [
            "null",
            "true",
            "false",
            "0",
            "1",
            "-1",
            "0.5",
            "-0.5",
            "18446744073709551615",
            "1e300",
            "\"\"",
            "\"1\"",
            "\"null\"",
            "[]",
            "[1]",
            "[2]",
            "[1,2]",
            "[2,1]",
            "[[1],2]",
            "[1,[2]]",
            "[[]]",
            "{}",
            "{\"a\":1}",
            "{\"a\":2}",
            "{\"b\":1}",
            "{\"a\":1,\"b\":2}",
            "{\"a\":2,\"b\":1}",
            "{\"a\":[1]}",
        ];
        texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
    }

    // F11
    #[test]
    fn equal_values_have_equal_hashes_and_others_have_not() {
        let state = RandomState::new();
        let values = distinct();
        for (at, left) in values.iter().enumerate() {
            for (other, right) in values.iter().enumerate() {
                assert_eq!(json_equal(left, right), at == other, "{left} {right}");
                assert_eq!(
                    hash_value(left, &state) == hash_value(right, &state),
                    at == other,
                    "{left} {right}"
                );
            }
        }
        for (left, right) in [
            (json!(1), json!(1.0)),
            (json!([2, 0]), json!([2.0, -0.0])),
            (json!({ "a": 1, "b": [3] }), json!({ "b": [3.0], "a": 1 })),
        ] {
            assert!(json_equal(&left, &right), "{left} {right}");
            assert_eq!(hash_value(&left, &state), hash_value(&right, &state), "{left} {right}");
        }
    }

    #[test]
    fn each_repeated_item_is_listed_with_the_first_one_that_equals_it() {
        // Compared in pairs, in the order of the items.
        let twice: Vec<_> = (0..16).map(|at| json!(at % 8)).collect();
        let expected: Vec<_> = (0..8).map(|at| (at, at + 8)).collect();
        assert_eq!(repeated_items(&twice), expected);
        // By their hashes, in any order.
        for count in [17, 28, 100] {
            let items: Vec<_> = distinct().into_iter().cycle().take(count).collect();
            let mut found = repeated_items(&items);
            found.sort_by_key(|(_, at)| *at);
            let expected: Vec<_> = (28..count).map(|at| (at % 28, at)).collect();
            assert_eq!(found, expected, "{count}");
        }
        assert_eq!(repeated_items(&vec![json!(1); 20]), (1..20).map(|at| (0, at)).collect::<Vec<_>>());
        assert_eq!(repeated_items(&[]), []);
    }
}
