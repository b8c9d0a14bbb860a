//! Whether a tool says what it does to the world.

use super::{Found, Severity, words::words};

/// What destroys something, by its name.
const DESTROYS: &str =
    "delete remove destroy drop erase purge wipe truncate overwrite uninstall revoke terminate kill";

/// Hosts ask a person before a call, or do not, by these hints; what is silent is taken at its worst by some
/// ([MCP](https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations)).
pub(super) fn check(found: &mut Found<'_>) {
    let metadata = found.of.metadata();
    if metadata.read_only.is_some() || metadata.destructive.is_some() {
        return;
    }
    let destroys = |word: String| words(DESTROYS).any(|it| it == word);
    if words(found.of.name()).any(destroys) {
        let message = "its name says that it destroys something, and no hint does";
        found.push(Severity::Warning, "", message, "add `destructive` to it, or `destructive = false`");
    } else {
        let message = "it does not say whether it changes anything, so that hosts may ask before each call";
        found.push(
            Severity::Note,
            "",
            message,
            "add `read_only` or `destructive` to it, or `destructive = false`",
        );
    }
}
