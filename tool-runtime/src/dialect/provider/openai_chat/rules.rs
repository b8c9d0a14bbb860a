//! The limits of requests and the supported schemas.

use crate::dialect::{
    names::NameRule,
    schema::{Limits, Objects, References, Rules, UNRESTRICTED},
};

/// [Names](https://platform.openai.com/docs/api-reference/chat/create) of OpenAI's APIs.
pub(in crate::dialect::provider) const NAME_RULE: NameRule =
    NameRule { max_chars: 64, extra_chars: &[], starts_with_letter: false };

/// "A max of 128 functions are supported" ([chat
/// completions](https://platform.openai.com/docs/api-reference/chat/create);
/// [refusal](https://github.com/zed-industries/zed/issues/32946)).
pub(super) const MAX_TOOLS: usize = 128;

/// No published source ([refusal](https://github.com/getsentry/sentry-mcp/issues/106)).
pub(in crate::dialect::provider) const MAX_DESCRIPTION_CHARS: usize = 1_024;

/// OpenAI without `strict`: the root is an object without alternatives
/// ([refusal](https://github.com/langchain-ai/langchainjs/issues/9804)), lists declare their items
/// ([refusal](https://github.com/PrefectHQ/fastmcp/issues/2464)).
pub(in crate::dialect::provider) const OPENAI: Rules =
    Rules { root_choice: false, items: true, ..UNRESTRICTED };

/// OpenAI with `strict`: [supported schemas](https://platform.openai.com/docs/guides/structured-outputs#supported-schemas);
/// nothing beside `$ref` ([refusal](https://github.com/langchain-ai/langchainjs/pull/11382)), no `default`
/// ([refusal](https://github.com/openai/openai-agents-python/pull/4668)), no other `format`
/// ([refusal](https://github.com/can1357/oh-my-pi/issues/206)).
pub(in crate::dialect::provider) const OPENAI_STRICT: Rules = Rules {
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
    ..UNRESTRICTED
};
