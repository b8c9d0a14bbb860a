//! The limits of requests and the supported schemas.

use crate::dialect::names::NameRule;

/// [Names](https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names) of tools.
pub(super) const NAME_RULE: NameRule = NameRule { longest: 128, also: &['.'], starts_with_letter: false };
