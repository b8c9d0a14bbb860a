//! The draft of a schema, from `$schema`.
//!
//! A keyword may have another meaning in an earlier draft, or none. Schemas of drafts 7 and 2019-09 mostly contain
//! keywords with the same meaning, and are accepted as long as they do.

use serde_json::{Map, Value};

use super::{compile::Compiler, location::Location, messages::quoted};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Draft {
    /// Draft 2020-12.
    Draft2020,
    /// Another draft whose common keywords have the same meaning.
    Compatible,
    /// A draft that differs too much, or is unknown.
    Unsupported,
}

/// Keywords that are unknown in [`Draft::Compatible`] or have another meaning there.
const OTHERWISE: [&str; 14] = [
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$recursiveAnchor",
    "$recursiveRef",
    "additionalItems",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "maxContains",
    "minContains",
    "prefixItems",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords beside a `$ref` that do not restrict a value; draft 7 ignores all others there.
const BESIDE_A_REFERENCE: [&str; 8] =
    ["$ref", "$schema", "$comment", "title", "description", "default", "examples", "definitions"];

/// Returns `true` if a keyword has another meaning in [`Draft::Compatible`].
pub(super) fn differs_in_compatible_draft(key: &str, value: &Value, keywords: &Map<String, Value>) -> bool {
    match key {
        "items" => value.is_array(),
        "$ref" => keywords.keys().any(|key| !BESIDE_A_REFERENCE.contains(&key.as_str())),
        _ => OTHERWISE.contains(&key),
    }
}

impl Compiler<'_> {
    /// Returns the draft that a `$schema` names.
    pub(super) fn parse_draft(&mut self, value: &Value, at: &Location<'_>) -> Draft {
        let Some(uri) = value.as_str() else {
            self.add_malformed_problem("$schema", value, "the URI of a draft", at);
            return Draft::Unsupported;
        };
        let bare = uri.strip_suffix('#').unwrap_or(uri);
        let path = bare.strip_prefix("https://").or_else(|| bare.strip_prefix("http://"));
        match path.and_then(|path| path.strip_prefix("json-schema.org/")) {
            Some("draft/2020-12/schema" | "schema") => return Draft::Draft2020,
            Some("draft/2019-09/schema" | "draft-07/schema") => return Draft::Compatible,
            Some("draft-06/schema" | "draft-04/schema") => {
                self.add_unsupported(&format!("`$schema` {}", quoted(uri)), at);
            }
            _ => self.add_keyword_problem(
                "$schema",
                at,
                format!("`$schema` {} names no draft that is known", quoted(uri)),
            ),
        }
        Draft::Unsupported
    }
}
