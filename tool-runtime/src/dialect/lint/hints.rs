//! Hints about the effects of a tool.

use super::{ToolFindings, words::word_stems};
use crate::diagnostic::Severity;

/// Names of destructive actions.
const DESTROYS: &str =
    "delete remove destroy drop erase purge wipe truncate overwrite uninstall revoke terminate kill";

/// Checks the hints by which hosts decide to ask a person before a call; some hosts assume the worst where a
/// hint is missing ([MCP](https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations)).
pub(super) fn check_hints(found: &mut ToolFindings<'_>) {
    let metadata = found.of.metadata();
    if metadata.read_only.is_some() || metadata.destructive.is_some() {
        return;
    }
    let destroys = |word: String| word_stems(DESTROYS).any(|it| it == word);
    if word_stems(found.of.name()).any(destroys) {
        let message = "its name suggests a destructive action, but no hint says so";
        found.push(
            Severity::Warning,
            "missing_destructive_hint",
            "",
            message,
            "add `destructive` to it, or `destructive = false`",
        );
    } else {
        let message = "it has no hint about its effects, so hosts may ask before each call";
        found.push(
            Severity::Note,
            "missing_hint",
            "",
            message,
            "add `read_only` or `destructive` to it, or `destructive = false`",
        );
    }
}
