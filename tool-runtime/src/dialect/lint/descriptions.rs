//! Descriptions of tools: present, informative and of reasonable length.

use super::{
    ToolFindings,
    words::{describes_purpose, word_stems},
};
use crate::diagnostic::Severity;

/// The number of characters from which a description is too long for a model's decision to call. Our own limit,
/// about a thousand tokens of every request; limits of providers are checked in their dialects.
const LONG: usize = 4_000;

pub(super) fn check_description(found: &mut ToolFindings<'_>) {
    let definition = found.of;
    let description = definition.description().trim();
    let help = "describe what it does and when to call it";
    if description.is_empty() {
        found.push(Severity::Warning, "missing_description", "", "the tool has no description", help);
        return;
    }
    let name: Vec<_> = word_stems(definition.name()).collect();
    let mut telling = word_stems(description).filter(|word| describes_purpose(word) && !name.contains(word));
    if telling.next().is_none() {
        found.push(
            Severity::Warning,
            "undescriptive_description",
            "",
            "the description only repeats the name",
            help,
        );
    } else if is_single_word(description) {
        found.push(
            Severity::Warning,
            "undescriptive_description",
            "",
            "the description is a single word",
            help,
        );
    }
    let length = description.chars().count();
    if length > LONG {
        let message =
            format!("the description adds {length} characters to every request; keep it within {LONG}");
        let help = "move details to the descriptions of parameters, or to the results";
        found.push(Severity::Warning, "long_description", "", message, help);
    }
}

/// Returns `true` for a single word. Many scripts have no spaces: a text in one of those counts as more than a
/// word.
fn is_single_word(description: &str) -> bool {
    description.is_ascii() && !description.contains(char::is_whitespace)
}
