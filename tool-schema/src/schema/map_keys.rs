//! Maps with integer keys.
//!
//! JSON keys are strings. schemars requires digits, but the decoder reads a number in its JSON form: no sign other
//! than `-`, no leading zero, no negative zero. The schema does not express the width of the keys, nor keys of types
//! other than integers and undocumented enums: the decoder rejects such keys and reports their location.

use serde_json::{Map, Value};

/// The patterns of schemars, and those that match the decoder.
const KEYS: [(&str, &str); 2] = [(r"^\d+$", r"^(0|[1-9]\d*)$"), (r"^-?\d+$", r"^(0|-?[1-9]\d*)$")];

/// Makes the patterns of integer keys exact.
pub(super) fn make_key_patterns_exact(schema: &mut Map<String, Value>) {
    let Some(Value::Object(patterns)) = schema.get_mut("patternProperties") else { return };
    let exact = |pattern: String| {
        let known = KEYS.iter().find(|(written, _)| *written == pattern);
        known.map_or(pattern, |(_, exact)| (*exact).to_owned())
    };
    *patterns = std::mem::take(patterns).into_iter().map(|(key, value)| (exact(key), value)).collect();
}
