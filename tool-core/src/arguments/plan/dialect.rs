//! `$schema`: the draft in which a schema is written.
//!
//! A keyword may mean one thing in this draft and another in an earlier one, or nothing at all. What
//! programs write with drafts 7 and 2019-09 mostly keeps to keywords that mean the same and is read
//! as long as it does.

use serde_json::{Map, Value};

use super::{compile::Compiler, place::Location, words::quoted};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Draft {
    /// 2020-12.
    Own,
    /// Another, whose common keywords mean the same.
    Akin,
    /// One that has too little in common, or is not known.
    Other,
}

/// What in [`Draft::Akin`] is no keyword, or another one than here.
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

/// What beside a `$ref` says nothing of a value; other keywords there are not read in draft 7.
const BESIDE_A_REFERENCE: [&str; 8] =
    ["$ref", "$schema", "$comment", "title", "description", "default", "examples", "definitions"];

/// Whether a keyword of [`Draft::Akin`] means something else than here.
pub(super) fn differs(key: &str, value: &Value, keywords: &Map<String, Value>) -> bool {
    match key {
        "items" => value.is_array(),
        "$ref" => keywords.keys().any(|key| !BESIDE_A_REFERENCE.contains(&key.as_str())),
        _ => OTHERWISE.contains(&key),
    }
}

impl Compiler<'_> {
    /// The draft that a `$schema` names.
    pub(super) fn draft_of(&mut self, value: &Value, at: &Location<'_>) -> Draft {
        let Some(uri) = value.as_str() else {
            self.refuse("$schema", value, "the URI of a draft", at);
            return Draft::Other;
        };
        let bare = uri.strip_suffix('#').unwrap_or(uri);
        let path = bare.strip_prefix("https://").or_else(|| bare.strip_prefix("http://"));
        match path.and_then(|path| path.strip_prefix("json-schema.org/")) {
            Some("draft/2020-12/schema" | "schema") => return Draft::Own,
            Some("draft/2019-09/schema" | "draft-07/schema") => return Draft::Akin,
            Some("draft-06/schema" | "draft-04/schema") => {
                self.uncovered(&format!("`$schema` {}", quoted(uri)), at);
            }
            _ => self.problem(at, format!("`$schema` {} names no draft that is known", quoted(uri))),
        }
        Draft::Other
    }
}
