//! The supported JSON Schema keywords of a provider, as data.
//!
//! The rules of each provider are in its folder, with their sources, checked in autumn 2026. Where a provider documents
//! nothing, its refusals are the source.

/// The rules of a provider.
#[derive(Debug)]
pub(in crate::dialect) struct Rules {
    /// The supported keywords; `None`: all.
    pub(in crate::dialect) keywords: Option<&'static [&'static str]>,
    /// The supported values of `format`; `None`: all.
    pub(in crate::dialect) formats: Option<&'static [&'static str]>,
    pub(in crate::dialect) objects: Objects,
    pub(in crate::dialect) enums: Enums,
    pub(in crate::dialect) references: References,
    /// Set where the root may be a choice of objects.
    pub(in crate::dialect) root_choice: bool,
    /// Set where the names of properties are limited to `[a-zA-Z0-9_.-]{1,64}`.
    pub(in crate::dialect) plain_names: bool,
    /// Set where a list must declare its items with a schema other than a boolean.
    pub(in crate::dialect) items: bool,
    /// Set where types are those of OpenAPI, in capitals.
    pub(in crate::dialect) open_api: bool,
    /// Set where `propertyOrdering` is sent.
    pub(in crate::dialect) ordering: bool,
    /// Set where patterns do not support look-around.
    pub(in crate::dialect) plain_patterns: bool,
    /// The maximum value of `minItems`.
    pub(in crate::dialect) min_items: u64,
    /// Set where recursive schemas are supported.
    pub(in crate::dialect) recursion: bool,
    pub(in crate::dialect) limits: Option<&'static Limits>,
}

/// The objects that a provider supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum Objects {
    /// All objects.
    Any,
    /// Objects that list all their properties and require each of them: optional properties become nullable.
    Strict,
    /// Objects that list all their properties, some of which may be optional.
    Closed,
    /// Objects that list at least one property.
    Listed,
}

/// The supported values of an enum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum Enums {
    Any,
    /// Texts, numbers, booleans and `null`.
    Plain,
    TextsOrNumbers,
    Texts,
}

/// The handling of `$ref`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum References {
    AsTheyAre,
    /// No keyword may stand beside it.
    Alone,
    /// Not supported: the target is inlined, up to a limited depth.
    WrittenOut,
}

/// Size limits of a schema.
#[derive(Debug)]
pub(in crate::dialect) struct Limits {
    pub(in crate::dialect) properties: usize,
    pub(in crate::dialect) depth: usize,
    /// Characters of all names and of all enum values.
    pub(in crate::dialect) characters: usize,
    pub(in crate::dialect) enum_values: usize,
    /// Number of values from which an enum is limited to a number of characters: `(values, characters)`.
    pub(in crate::dialect) large_enum: (usize, usize),
}

/// All of JSON Schema, for [MCP](https://modelcontextprotocol.io/specification/2025-11-25/server/tools).
pub(in crate::dialect) const UNRESTRICTED: Rules = Rules {
    keywords: None,
    formats: None,
    objects: Objects::Any,
    enums: Enums::Any,
    references: References::AsTheyAre,
    root_choice: true,
    plain_names: false,
    items: false,
    open_api: false,
    ordering: false,
    plain_patterns: false,
    min_items: u64::MAX,
    recursion: true,
    limits: None,
};

impl Rules {
    pub(super) fn keeps(&self, keyword: &str) -> bool {
        self.keywords.is_none_or(|kept| kept.contains(&keyword))
    }

    pub(super) fn keeps_format(&self, format: &str) -> bool {
        self.formats.is_none_or(|kept| kept.contains(&format))
    }
}
