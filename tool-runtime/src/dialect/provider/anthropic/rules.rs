//! The limits of requests and the supported schemas.

use crate::dialect::{
    names::NameRule,
    schema::{Enums, Objects, References, Rules, UNRESTRICTED},
};

/// [Names](https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools) of tools.
pub(super) const NAME_RULE: NameRule =
    NameRule { max_chars: 128, extra_chars: &[], starts_with_letter: false };

/// Anthropic: no alternatives in the root ([refusal](https://github.com/anthropics/claude-code/issues/27337)),
/// plain names of properties ([refusal](https://github.com/decocms/studio/pull/6874)).
pub(super) const ANTHROPIC: Rules = Rules { root_choice: false, plain_names: true, ..UNRESTRICTED };

/// Anthropic with `strict`: [supported
/// schemas](https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations),
/// with the conversions of [their
/// SDK](https://github.com/anthropics/anthropic-sdk-python/blob/main/src/anthropic/lib/_parse/_transform.py):
/// patterns, of which some are supported, move into descriptions, and nothing stands beside `$ref`. The limits
/// per request are in `budget.rs`.
pub(super) const ANTHROPIC_STRICT: Rules = Rules {
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
