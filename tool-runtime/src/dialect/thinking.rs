//! The setting for the thinking of a model before its answer, for each provider.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// The extent to which a model thinks (reasons) before it answers.
///
/// Providers differ: some have levels, some a number of tokens, and some models always or never think. A setting is
/// converted to the nearest one of the provider ([`Provider::set_thinking`](super::Provider::set_thinking)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Thinking {
    /// Not at all.
    Off,
    /// A little: 2,048 tokens where the provider counts tokens.
    Low,
    /// Moderately: 8,192 tokens.
    Medium,
    /// Much: 24,576 tokens.
    High,
    /// At most this number of tokens; 0 is [`Off`](Self::Off).
    Tokens(u32),
}

/// A level of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkingLevel {
    Off,
    Low,
    Medium,
    High,
}

const LOW_TOKENS: u32 = 2_048;
const MEDIUM_TOKENS: u32 = 8_192;
const HIGH_TOKENS: u32 = 24_576;

impl Thinking {
    /// Returns the nearest level.
    pub(super) fn level(self) -> ThinkingLevel {
        match self {
            Self::Off | Self::Tokens(0) => ThinkingLevel::Off,
            Self::Low => ThinkingLevel::Low,
            Self::Medium => ThinkingLevel::Medium,
            Self::High => ThinkingLevel::High,
            Self::Tokens(tokens) if tokens <= LOW_TOKENS => ThinkingLevel::Low,
            Self::Tokens(tokens) if tokens <= MEDIUM_TOKENS => ThinkingLevel::Medium,
            Self::Tokens(_) => ThinkingLevel::High,
        }
    }

    /// Returns the number of tokens; 0 to turn it off.
    pub(super) fn tokens(self) -> u32 {
        match self {
            Self::Off => 0,
            Self::Low => LOW_TOKENS,
            Self::Medium => MEDIUM_TOKENS,
            Self::High => HIGH_TOKENS,
            Self::Tokens(tokens) => tokens,
        }
    }

    /// Returns the sentence about a number of tokens, for a provider that has levels only.
    pub(super) fn level_notice(self, provider: &str) -> Option<String> {
        let Self::Tokens(tokens) = self else { return None };
        let level = self.level().name();
        (tokens > 0).then(|| {
            format!("`{provider}` has levels of thinking and no number of tokens; {tokens} tokens are sent as `{level}`")
        })
    }
}

impl ThinkingLevel {
    /// Returns the name of the level, which providers share.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Off => "none",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Returns the sentence about a model that cannot turn thinking off.
pub(super) fn always_thinks_notice(model: &str, level: &str) -> String {
    format!("`{model}` cannot turn thinking off; it is sent as `{level}`")
}

/// Returns the sentence about a model that does not think.
pub(super) fn never_thinks_notice(model: &str) -> String {
    format!("`{model}` does not think; the setting is left out")
}

/// A version in the name of a model, such as 4.6 in `claude-opus-4-6` and 2.5 in `gemini-2.5-pro`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ModelVersion(u8, u8);

impl ModelVersion {
    pub(super) const fn new(major: u8, minor: u8) -> Self {
        Self(major, minor)
    }

    /// Returns the first one or two numbers below 100 in a name; a date has more digits.
    pub(super) fn of(model: &str) -> Option<Self> {
        let words = model.split(['-', '.', '_', '@', ':', '/']);
        let mut numbers = words.skip_while(|word| short_number(word).is_none()).map_while(short_number);
        Some(Self(numbers.next()?, numbers.next().unwrap_or(0)))
    }

    pub(super) fn is_since(self, other: Self) -> bool {
        self.cmp(&other) != Ordering::Less
    }
}

fn short_number(word: &str) -> Option<u8> {
    let is_short = (1..=2).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit());
    is_short.then(|| word.parse().ok()).flatten()
}
