//! Hashes of file format version 1.
//!
//! They follow RFC 8785, which represents numbers as `f64`: integers beyond 2^53 are rounded. They only serve
//! to detect edits of such files.

use std::fmt::Write as _;

use hmac_sha256::Hash;
use serde_json::Value;

/// Returns the version 1 hash of `definition`.
pub(super) fn definition_hash(definition: &Value) -> String {
    let text = serde_json_canonicalizer::to_vec(definition).or_else(|_| serde_json::to_vec(definition));
    let bytes = Hash::hash(&text.unwrap_or_default());
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
