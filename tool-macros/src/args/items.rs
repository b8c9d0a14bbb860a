//! The keys of `#[prompt(..)]` and `#[resource(..)]`: those that they share with `#[tool(..)]`, and their own.

use darling::{FromMeta, Result};
use syn::{Expr, Lit, LitStr, Path};

use super::forms::{Handle, Unknown};
use super::value::{Key, Value, malformed_value_error, value_literal};
use super::{AttributeKeys, ToolKeys};
use crate::names::RenameRule;

attribute_keys! {
    /// `#[prompt(..)]`.
    #[derive(FromMeta, Default)]
    #[darling(default)]
    pub(crate) struct PromptKeys {
        // Texts for the user.
        pub(crate) name: Option<Key<LitStr>>,
        pub(crate) title: Option<Key<LitStr>>,
        pub(crate) description: Option<Key<Expr>>,

        // The run of the prompt.
        pub(crate) model: Option<Key<LitStr>>,
        pub(crate) provider: Option<Key<LitStr>>,
        pub(crate) system_prompt: Option<Key<Expr>>,
        pub(crate) output_schema: Option<Key<Expr>>,
        pub(crate) tools: Option<Key<Vec<LitStr>>>,
        pub(crate) thinking: Option<Key<Thinking>>,
        pub(crate) thinking_budget: Option<Key<TokenCount>>,

        // Arguments and execution.
        pub(crate) rename_all: Option<Key<RenameRule>>,
        pub(crate) strict: Option<Key<bool>>,
        pub(crate) unknown_fields: Option<Key<Unknown>>,
        pub(crate) blocking: Option<Key<bool>>,

        // Generated items.
        pub(crate) register: Option<Key<bool>>,
        pub(crate) handle: Option<Key<Handle>>,
        #[darling(rename = "crate")]
        pub(crate) krate: Option<Key<Path>>,
    }
}

impl PromptKeys {
    /// The keys that have the same meaning on a tool.
    pub(crate) fn shared_keys(&self) -> ToolKeys {
        ToolKeys {
            name: self.name.clone(),
            description: self.description.clone(),
            rename_all: self.rename_all.clone(),
            strict: self.strict.clone(),
            unknown_fields: self.unknown_fields.clone(),
            blocking: self.blocking.clone(),
            register: self.register.clone(),
            handle: self.handle.clone(),
            krate: self.krate.clone(),
            ..ToolKeys::default()
        }
    }
}

attribute_keys! {
    /// `#[resource(..)]`.
    #[derive(FromMeta, Default)]
    #[darling(default)]
    pub(crate) struct ResourceKeys {
        pub(crate) uri: Option<Key<LitStr>>,
        pub(crate) name: Option<Key<LitStr>>,
        pub(crate) description: Option<Key<Expr>>,
        pub(crate) mime_type: Option<Key<LitStr>>,
        pub(crate) blocking: Option<Key<bool>>,

        // Generated items.
        pub(crate) register: Option<Key<bool>>,
        pub(crate) handle: Option<Key<Handle>>,
        #[darling(rename = "crate")]
        pub(crate) krate: Option<Key<Path>>,
    }
}

impl ResourceKeys {
    /// The keys that have the same meaning on a tool.
    pub(crate) fn shared_keys(&self) -> ToolKeys {
        ToolKeys {
            name: self.name.clone(),
            description: self.description.clone(),
            blocking: self.blocking.clone(),
            register: self.register.clone(),
            handle: self.handle.clone(),
            krate: self.krate.clone(),
            ..ToolKeys::default()
        }
    }
}

/// `thinking = "low"`, or `true` and `false`: the variant of `PromptThinking`.
pub(crate) struct Thinking(pub(crate) &'static str);

impl Value for Thinking {
    fn read(meta: &syn::Meta) -> Result<Self> {
        let level = match value_literal(meta) {
            Some(Lit::Bool(is_on)) => Some(if is_on.value { "On" } else { "Off" }),
            Some(Lit::Str(level)) => match level.value().as_str() {
                "off" => Some("Off"),
                "on" => Some("On"),
                "low" => Some("Low"),
                "medium" => Some("Medium"),
                "high" => Some("High"),
                _ => None,
            },
            _ => None,
        };
        let levels = "\"off\", \"on\", \"low\", \"medium\" or \"high\"";
        level.map(Self).ok_or_else(|| malformed_value_error(meta, levels, " = \"low\""))
    }
}

/// A number of tokens.
pub(crate) struct TokenCount(pub(crate) u32);

impl Value for TokenCount {
    fn read(meta: &syn::Meta) -> Result<Self> {
        let count = match value_literal(meta) {
            Some(Lit::Int(count)) => count.base10_parse().ok(),
            _ => None,
        };
        count.map(Self).ok_or_else(|| malformed_value_error(meta, "a number of tokens", " = 1024"))
    }
}
