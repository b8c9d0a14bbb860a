//! The names of tools on a provider's wire.
//!
//! A name that the provider accepts is sent unchanged. Any other name is rewritten, with a hash of the whole
//! name at its end, so that two names never collide and the same name is the same in every run.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use tool_core::internals::rewritten;

/// A provider's rule for names.
#[derive(Debug, Clone, Copy)]
pub(super) struct NameRule {
    /// The maximum number of characters.
    pub(super) max_chars: usize,
    /// The characters allowed beside ASCII letters, digits, `_` and `-`.
    pub(super) extra_chars: &'static [char],
    /// Set where the first character must be a letter or `_`.
    pub(super) starts_with_letter: bool,
}

impl NameRule {
    pub(super) fn is_valid(&self, name: &str) -> bool {
        (1..=self.max_chars).contains(&name.len())
            && name.chars().all(|it| self.is_allowed(it))
            && name.chars().next().is_some_and(|first| self.may_start(first))
    }

    fn is_allowed(&self, character: char) -> bool {
        character.is_ascii_alphanumeric() || "_-".contains(character) || self.extra_chars.contains(&character)
    }

    fn may_start(&self, first: char) -> bool {
        !self.starts_with_letter || first.is_ascii_alphabetic() || first == '_'
    }

    /// Rewrites `name` to a valid name; `attempt` counts names that were already taken.
    pub(super) fn rewritten(&self, name: &str, attempt: u32) -> String {
        rewritten(name, attempt, self.max_chars, |it| self.is_allowed(it), |it| self.may_start(it))
    }
}

/// Names of tools, and their spelling on the wire.
#[derive(Debug, Default)]
pub(super) struct WireNames {
    wire: HashMap<String, String, FixedState>,
    own: HashMap<String, String, FixedState>,
}

impl WireNames {
    /// Rewrites `names` with `prefix`; names in `reserved` belong to native tools.
    pub(super) fn new<'n>(
        names: impl Iterator<Item = &'n str> + Clone,
        prefix: &str,
        rule: NameRule,
        reserved: &[&str],
    ) -> Self {
        let mut all = Self::default();
        let free = |wire: &str, all: &Self| !all.own.contains_key(wire) && !reserved.contains(&wire);
        // Valid names are assigned first, so that no rewritten name takes their place.
        let is_plain = |name: &str| {
            let wire = format!("{prefix}{name}");
            rule.is_valid(&wire) && !reserved.contains(&wire.as_str())
        };
        for name in names.clone().filter(|name| is_plain(name)) {
            all.insert(name, format!("{prefix}{name}"));
        }
        for name in names.filter(|name| !is_plain(name)) {
            let full = format!("{prefix}{name}");
            let candidates = (0..u32::MAX).map(|attempt| rule.rewritten(&full, attempt));
            if let Some(wire) = { candidates }.find(|wire| free(wire, &all)) {
                all.insert(name, wire);
            }
        }
        all
    }

    fn insert(&mut self, name: &str, wire: String) {
        self.own.insert(wire.clone(), name.to_owned());
        self.wire.insert(name.to_owned(), wire);
    }

    /// Returns the wire name of `name`; an unknown name is returned unchanged.
    pub(super) fn wire_name<'n>(&'n self, name: &'n str) -> &'n str {
        self.wire.get(name).map_or(name, String::as_str)
    }

    /// Returns the name with the wire name `wire`; an unknown name is returned unchanged.
    pub(super) fn own_name<'n>(&'n self, wire: &'n str) -> &'n str {
        self.own.get(wire).map_or(wire, String::as_str)
    }
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
