//! Keywords of JSON Schema, and whether their values have schemas.

/// The kind of value of a keyword.
pub(super) enum KeywordKind {
    /// The keyword is left out.
    Dropped,
    /// A value without schemas.
    Plain,
    Schema,
    List,
    Map,
}

/// Returns the kind of the values of `key`.
pub(super) fn keyword_kind(key: &str) -> KeywordKind {
    match key {
        "additionalProperties"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties" => KeywordKind::Schema,
        "items" | "prefixItems" | "allOf" | "anyOf" | "oneOf" => KeywordKind::List,
        "properties" | "patternProperties" | "dependentSchemas" => KeywordKind::Map,
        "title" | "description" | "default" | "examples" | "deprecated" | "type" | "enum" | "const"
        | "format" | "multipleOf" | "maximum" | "exclusiveMaximum" | "minimum" | "exclusiveMinimum"
        | "maxLength" | "minLength" | "pattern" | "maxItems" | "minItems" | "uniqueItems" | "maxContains"
        | "minContains" | "maxProperties" | "minProperties" | "required" | "dependentRequired"
        | "contentEncoding" | "contentMediaType" => KeywordKind::Plain,
        _ => KeywordKind::Dropped,
    }
}
