//! The limits of requests and the supported schemas.

use crate::dialect::names::NameRule;

/// [Names](https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names) of tools.
pub(super) const NAME_RULE: NameRule =
    NameRule { max_chars: 128, extra_chars: &['.'], starts_with_letter: false };
