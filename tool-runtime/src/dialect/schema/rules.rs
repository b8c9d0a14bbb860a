//! What each provider takes of JSON Schema, as data, with where it is written.
//!
//! Checked against the sources in autumn 2026. Where a provider writes nothing, its refusals are the source.

/// What a provider takes.
#[derive(Debug)]
pub(in crate::dialect) struct Rules {
    /// The keywords that are sent as they are; `None`: all.
    pub(super) keywords: Option<&'static [&'static str]>,
    /// The values of `format` that are sent; `None`: all.
    pub(super) formats: Option<&'static [&'static str]>,
    pub(super) objects: Objects,
    pub(super) enums: Enums,
    pub(super) references: References,
    /// Whether the root may be a choice of objects.
    pub(super) root_choice: bool,
    /// Whether the names of arguments are limited to `[a-zA-Z0-9_.-]{1,64}`.
    pub(super) plain_names: bool,
    /// Whether a list has to say what its items are, by a schema that is no boolean.
    pub(super) items: bool,
    /// Whether the types are those of OpenAPI, in capitals.
    pub(super) open_api: bool,
    /// Whether the order of properties is told.
    pub(super) ordering: bool,
    /// Whether patterns cannot look around.
    pub(super) plain_patterns: bool,
    /// The most that a list may be asked to have at the least.
    pub(super) min_items: u64,
    /// Whether a schema may hold itself.
    pub(super) recursion: bool,
    pub(super) limits: Option<&'static Limits>,
}

/// Which objects a provider takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Objects {
    /// Any.
    Any,
    /// Those that list all their properties, each of which is required: what may be absent may be `null`.
    Strict,
    /// Those that list all their properties, some of which may be absent.
    Closed,
    /// Those that list at least one property.
    Listed,
}

/// Which values an enum may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Enums {
    Any,
    /// Texts, numbers, booleans and `null`.
    Plain,
    TextsOrNumbers,
    Texts,
}

/// What becomes of `$ref`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum References {
    AsTheyAre,
    /// Nothing may stand beside one.
    Alone,
    /// There are none: what is referred to is written out, to a limited depth.
    WrittenOut,
}

/// How large a schema may be.
#[derive(Debug)]
pub(super) struct Limits {
    pub(super) properties: usize,
    pub(super) depth: usize,
    /// Characters of all names and of all values of enums.
    pub(super) characters: usize,
    pub(super) enum_values: usize,
    /// From so many values on, an enum may have no more than so many characters.
    pub(super) large_enum: (usize, usize),
}

/// All of JSON Schema, as [MCP](https://modelcontextprotocol.io/specification/2025-11-25/server/tools) has it.
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

/// OpenAI without `strict`: a root that is an object and no choice
/// ([refusal](https://github.com/langchain-ai/langchainjs/issues/9804)), lists that say their items
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

/// Anthropic: a root that is no choice ([refusal](https://github.com/anthropics/claude-code/issues/27337)), plain
/// names of arguments ([refusal](https://github.com/decocms/studio/pull/6874)).
pub(in crate::dialect) const ANTHROPIC: Rules = Rules { root_choice: false, plain_names: true, ..ALL };

/// Anthropic with `strict`: [supported schemas](https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations),
/// and what [their SDK](https://github.com/anthropics/anthropic-sdk-python/blob/main/src/anthropic/lib/_parse/_transform.py) makes of
/// others: patterns, of which some are taken, are said in words, and nothing stands beside `$ref`. How much of a request may be
/// strict is another matter (`budget.rs`).
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
        // `oneOf` is read as this; and what is said in words may leave its branches less apart.
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
