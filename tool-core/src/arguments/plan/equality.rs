//! Equality of JSON values: numbers by what they are, objects whatever their order.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hash, Hasher},
};

use serde_json::Value;

use super::number::Exact;

/// Whether two values are equal as JSON Schema understands it: `1` is `1.0`.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            Exact::from(left).compare(Exact::from(right)).is_some_and(std::cmp::Ordering::is_eq)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, left)| right.get(name).is_some_and(|right| equal(left, right)))
        }
        _ => left == right,
    }
}

/// Up to this many items are compared each with each.
const FEW: usize = 16;

/// The items that are equal to an earlier one, and that one's index.
pub(super) fn repeated(items: &[Value]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    if items.len() <= FEW {
        for (at, item) in items.iter().enumerate() {
            if let Some(first) = items.iter().take(at).position(|earlier| equal(earlier, item)) {
                found.push((first, at));
            }
        }
        return found;
    }
    // A list from a model can be long; equal items stand beside each other once sorted by a hash
    // that nobody outside can foresee.
    let state = RandomState::new();
    let mut hashes: Vec<_> =
        items.iter().enumerate().map(|(at, item)| (hash(item, &state), at, item)).collect();
    hashes.sort_unstable_by_key(|&(hash, at, _)| (hash, at));
    for run in hashes.chunk_by(|left, right| left.0 == right.0) {
        // Those that differ and share a hash are next to none, so that this list stays at one.
        let mut different: Vec<(usize, &Value)> = Vec::new();
        for &(_, at, item) in run {
            match different.iter().find(|(_, earlier)| equal(earlier, item)) {
                Some(&(first, _)) => found.push((first, at)),
                None => different.push((at, item)),
            }
        }
    }
    found
}

/// Equal values have equal hashes.
fn hash(value: &Value, state: &RandomState) -> u64 {
    let mut hasher = state.build_hasher();
    match value {
        Value::Null => 0_u8.hash(&mut hasher),
        Value::Bool(value) => (1_u8, value).hash(&mut hasher),
        Value::Number(number) => match Exact::from(number) {
            Exact::Integer(integer) => (2_u8, integer).hash(&mut hasher),
            Exact::Float(float) => (3_u8, float.to_bits()).hash(&mut hasher),
        },
        Value::String(text) => (4_u8, text).hash(&mut hasher),
        Value::Array(items) => {
            (5_u8, items.len()).hash(&mut hasher);
            items.iter().for_each(|item| hash(item, state).hash(&mut hasher));
        }
        Value::Object(map) => {
            // A sum, since the order of properties does not count.
            let sum = map.iter().fold(0_u64, |sum, (name, value)| {
                sum.wrapping_add(state.hash_one((name, hash(value, state))))
            });
            (6_u8, map.len(), sum).hash(&mut hasher);
        }
    }
    hasher.finish()
}
