//! Keywords of JSON Schema, and whether their values have schemas.

/// The kind of value of a keyword.
pub(super) enum Keyword {
    /// The keyword is left out.
    Dropped,
    /// A value without schemas.
    Plain,
    Schema,
    List,
    Map,
}

/// Returns the kind of the values of `key`.
pub(super) fn keyword(key: &str) -> Keyword {
    match key {
        "additionalProperties"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Keyword::Schema,
        "items" | "prefixItems" | "allOf" | "anyOf" | "oneOf" => Keyword::List,
        "properties" | "patternProperties" | "dependentSchemas" => Keyword::Map,
        "title" | "description" | "default" | "examples" | "deprecated" | "type" | "enum" | "const"
        | "format" | "multipleOf" | "maximum" | "exclusiveMaximum" | "minimum" | "exclusiveMinimum"
        | "maxLength" | "minLength" | "pattern" | "maxItems" | "minItems" | "uniqueItems" | "maxContains"
        | "minContains" | "maxProperties" | "minProperties" | "required" | "dependentRequired"
        | "contentEncoding" | "contentMediaType" => Keyword::Plain,
        _ => Keyword::Dropped,
    }
}
