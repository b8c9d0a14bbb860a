//! Maps whose keys are integers.
//!
//! In JSON a key is a text. schemars asks for digits; the decoder reads a number in quotes, as JSON
//! writes numbers: no sign but `-`, no zero in front, no zero below zero. Of the keys' width nothing
//! reaches the schema, nor of keys of a type that is no integer and no enum without docs: such a key
//! is refused by the decoder, which says where it stands.

use serde_json::{Map, Value};

/// What schemars writes, and what the decoder reads.
const KEYS: [(&str, &str); 2] = [(r"^\d+$", r"^(0|[1-9]\d*)$"), (r"^-?\d+$", r"^(0|-?[1-9]\d*)$")];

/// Makes the patterns of integer keys exact.
pub(super) fn exact_keys(schema: &mut Map<String, Value>) {
    let Some(Value::Object(patterns)) = schema.get_mut("patternProperties") else { return };
    let exact = |pattern: String| {
        let known = KEYS.iter().find(|(written, _)| *written == pattern);
        known.map_or(pattern, |(_, exact)| (*exact).to_owned())
    };
    *patterns = std::mem::take(patterns).into_iter().map(|(key, value)| (exact(key), value)).collect();
}
