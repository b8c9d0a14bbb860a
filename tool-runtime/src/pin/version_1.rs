//! Hashes of files of version 1.
//!
//! They are RFC 8785, which takes numbers as `f64`: integers beyond 2^53 are rounded. They are made to
//! see that such a file was not edited, and for nothing else.

use std::fmt::Write as _;

use hmac_sha256::Hash;
use serde_json::Value;

/// The hash of `definition` by which version 1 pinned it.
pub(super) fn hash(definition: &Value) -> String {
    let text = serde_json_canonicalizer::to_vec(definition).or_else(|_| serde_json::to_vec(definition));
    let bytes = Hash::hash(&text.unwrap_or_default());
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
