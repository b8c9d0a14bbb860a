//! Descriptions of tools: that there is one, and that it says something.

use super::{
    Found, Severity,
    words::{tells, words},
};

/// From so many characters on, a description is longer than a model needs before it decides to call. The
/// figure is ours, about a thousand tokens of every request; what providers refuse is found in their dialects.
const LONG: usize = 4_000;

pub(super) fn check(found: &mut Found<'_>) {
    let definition = found.of;
    let description = definition.description().trim();
    let remedy = "say what it does, and when to call it";
    if description.is_empty() {
        found.push(Severity::Warning, "", "the tool has no description", remedy);
        return;
    }
    let name: Vec<_> = words(definition.name()).collect();
    let mut telling = words(description).filter(|word| tells(word) && !name.contains(word));
    if telling.next().is_none() {
        found.push(Severity::Warning, "", "the description says no more than the name", remedy);
    } else if is_a_word(description) {
        found.push(Severity::Warning, "", "the description is a single word", remedy);
    }
    let length = description.chars().count();
    if length > LONG {
        let message = format!(
            "the description has {length} characters, which are part of every request; {LONG} are a lot"
        );
        let remedy = "say more of it where the parameters are described, or in the results";
        found.push(Severity::Warning, "", message, remedy);
    }
}

/// Many scripts write without spaces: what is in one of those is more than a word.
fn is_a_word(description: &str) -> bool {
    description.is_ascii() && !description.contains(char::is_whitespace)
}
