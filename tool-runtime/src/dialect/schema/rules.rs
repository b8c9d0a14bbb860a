//! The supported JSON Schema keywords of each provider, as data, with their sources.
//!
//! Checked against the sources in autumn 2026. Where a provider documents nothing, its refusals are the source.

/// The rules of a provider.
#[derive(Debug)]
pub(in crate::dialect) struct Rules {
    /// The supported keywords; `None`: all.
    pub(super) keywords: Option<&'static [&'static str]>,
    /// The supported values of `format`; `None`: all.
    pub(super) formats: Option<&'static [&'static str]>,
    pub(super) objects: Objects,
    pub(super) enums: Enums,
    pub(super) references: References,
    /// Set where the root may be a choice of objects.
    pub(super) root_choice: bool,
    /// Set where the names of properties are limited to `[a-zA-Z0-9_.-]{1,64}`.
    pub(super) plain_names: bool,
    /// Set where a list must declare its items with a schema other than a boolean.
    pub(super) items: bool,
    /// Set where types are those of OpenAPI, in capitals.
    pub(super) open_api: bool,
    /// Set where `propertyOrdering` is sent.
    pub(super) ordering: bool,
    /// Set where patterns do not support look-around.
    pub(super) plain_patterns: bool,
    /// The maximum value of `minItems`.
    pub(super) min_items: u64,
    /// Set where recursive schemas are supported.
    pub(super) recursion: bool,
    pub(super) limits: Option<&'static Limits>,
}

/// The objects that a provider supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Objects {
    /// All objects.
    Any,
    /// Objects that list all their properties and require each of them: optional properties become nullable.
    Strict,
    /// Objects that list all their properties, some of which may be optional.
    Closed,
    /// Objects that list at least one property.
    Listed,
}

/// The supported values of an enum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Enums {
    Any,
    /// Texts, numbers, booleans and `null`.
    Plain,
    TextsOrNumbers,
    Texts,
}

/// The handling of `$ref`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum References {
    AsTheyAre,
    /// No keyword may stand beside it.
    Alone,
    /// Not supported: the target is inlined, up to a limited depth.
    WrittenOut,
}

/// Size limits of a schema.
#[derive(Debug)]
pub(super) struct Limits {
    pub(super) properties: usize,
    pub(super) depth: usize,
    /// Characters of all names and of all enum values.
    pub(super) characters: usize,
    pub(super) enum_values: usize,
    /// Number of values from which an enum is limited to a number of characters: `(values, characters)`.
    pub(super) large_enum: (usize, usize),
}

/// All of JSON Schema, for [MCP](https://modelcontextprotocol.io/specification/2025-11-25/server/tools).
pub(in crate::dialect) const ALL: Rules = Rules {
    keywords: None,
    formats: None,
    objects: Objects::Any,
    enums: Enums::Any,
    references: References::AsTheyAre,
    root_choice: true,
    plain_names: false,
    items: false,
    open_api: false,
    ordering: false,
    plain_patterns: false,
    min_items: u64::MAX,
    recursion: true,
    limits: None,
};

/// OpenAI without `strict`: the root is an object without alternatives
/// ([refusal](https://github.com/langchain-ai/langchainjs/issues/9804)), lists declare their items
/// ([refusal](https://github.com/PrefectHQ/fastmcp/issues/2464)).
pub(in crate::dialect) const OPENAI: Rules = Rules { root_choice: false, items: true, ..ALL };

/// OpenAI with `strict`: [supported schemas](https://platform.openai.com/docs/guides/structured-outputs#supported-schemas);
/// nothing beside `$ref` ([refusal](https://github.com/langchain-ai/langchainjs/pull/11382)), no `default`
/// ([refusal](https://github.com/openai/openai-agents-python/pull/4668)), no other `format`
/// ([refusal](https://github.com/can1357/oh-my-pi/issues/206)).
pub(in crate::dialect) const OPENAI_STRICT: Rules = Rules {
    keywords: Some(&[
        "type",
        "title",
        "description",
        "enum",
        "const",
        "anyOf",
        "$ref",
        "$defs",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "pattern",
        "format",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
    ]),
    formats: Some(&["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]),
    objects: Objects::Strict,
    references: References::Alone,
    root_choice: false,
    items: true,
    plain_patterns: true,
    limits: Some(&Limits {
        properties: 5_000,
        depth: 10,
        characters: 120_000,
        enum_values: 1_000,
        large_enum: (250, 15_000),
    }),
    ..ALL
};

/// Anthropic: no alternatives in the root ([refusal](https://github.com/anthropics/claude-code/issues/27337)),
/// plain names of properties ([refusal](https://github.com/decocms/studio/pull/6874)).
pub(in crate::dialect) const ANTHROPIC: Rules = Rules { root_choice: false, plain_names: true, ..ALL };

/// Anthropic with `strict`: [supported
/// schemas](https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations),
/// with the conversions of [their
/// SDK](https://github.com/anthropics/anthropic-sdk-python/blob/main/src/anthropic/lib/_parse/_transform.py):
/// patterns, of which some are supported, move into descriptions, and nothing stands beside `$ref`. The limits
/// per request are in `budget.rs`.
pub(in crate::dialect) const ANTHROPIC_STRICT: Rules = Rules {
    keywords: Some(&[
        "type",
        "title",
        "description",
        "default",
        "enum",
        "const",
        "anyOf",
        "$ref",
        "$defs",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "format",
        "minItems",
    ]),
    formats: Some(&[
        "date-time",
        "time",
        "date",
        "duration",
        "email",
        "hostname",
        "uri",
        "ipv4",
        "ipv6",
        "uuid",
    ]),
    objects: Objects::Closed,
    enums: Enums::Plain,
    references: References::Alone,
    min_items: 1,
    recursion: false,
    ..ANTHROPIC
};

/// Gemini, `parametersJsonSchema`: the keywords listed for
/// [`responseJsonSchema`](https://pub.dev/documentation/google_cloud_aiplatform_v1beta1/latest/aiplatform/GenerationConfig/responseJsonSchema.html),
/// with nothing beside `$ref`.
pub(in crate::dialect) const GEMINI: Rules = Rules {
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
    ..ALL
};

/// Gemini, `parameters`: the fields of [`Schema`](https://ai.google.dev/api/caching#Schema), objects with properties
/// ([refusal](https://github.com/agno-agi/agno/issues/2112)).
pub(in crate::dialect) const GEMINI_SCHEMA: Rules = Rules {
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
    ..ALL
};

impl Rules {
    pub(super) fn keeps(&self, keyword: &str) -> bool {
        self.keywords.is_none_or(|kept| kept.contains(&keyword))
    }

    pub(super) fn keeps_format(&self, format: &str) -> bool {
        self.formats.is_none_or(|kept| kept.contains(&format))
    }
}
