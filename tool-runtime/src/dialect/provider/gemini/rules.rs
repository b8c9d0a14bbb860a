//! The limits of requests and the supported schemas.

use crate::dialect::{
    names::NameRule,
    schema::{Enums, Objects, References, Rules, UNRESTRICTED},
};

/// [Names](https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/FunctionDeclaration) of functions.
pub(super) const NAME_RULE: NameRule =
    NameRule { max_chars: 64, extra_chars: &['.'], starts_with_letter: true };

/// "Maximum 512 function declarations can be provided" ([Google's
/// SDK](https://github.com/googleapis/python-genai/blob/main/google/genai/types.py)).
pub(super) const MAX_TOOLS: usize = 512;

/// Gemini, `parametersJsonSchema`: the keywords listed for
/// [`responseJsonSchema`](https://pub.dev/documentation/google_cloud_aiplatform_v1beta1/latest/aiplatform/GenerationConfig/responseJsonSchema.html),
/// with nothing beside `$ref`.
pub(super) const GEMINI: Rules = Rules {
    keywords: Some(&[
        "$id",
        "$defs",
        "$ref",
        "$anchor",
        "type",
        "format",
        "title",
        "description",
        "enum",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        // `oneOf` is interpreted as this keyword; and constraints that move into descriptions may make its
        // branches overlap.
        "anyOf",
        "properties",
        "additionalProperties",
        "required",
    ]),
    enums: Enums::TextsOrNumbers,
    references: References::Alone,
    root_choice: false,
    items: true,
    ordering: true,
    ..UNRESTRICTED
};

/// Gemini, `parameters`: the fields of [`Schema`](https://ai.google.dev/api/caching#Schema), objects with properties
/// ([refusal](https://github.com/agno-agi/agno/issues/2112)).
pub(super) const GEMINI_SCHEMA: Rules = Rules {
    keywords: Some(&[
        "type",
        "format",
        "title",
        "description",
        "enum",
        "items",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "pattern",
        "default",
        "minimum",
        "maximum",
        "anyOf",
        "properties",
        "required",
    ]),
    formats: Some(&["float", "double", "int32", "int64", "date-time", "enum"]),
    objects: Objects::Listed,
    enums: Enums::Texts,
    references: References::WrittenOut,
    root_choice: false,
    items: true,
    open_api: true,
    ordering: true,
    ..UNRESTRICTED
};
