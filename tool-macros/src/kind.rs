//! The kinds of items that an attribute makes of a function.

/// The kind of an item: of its attribute, of the words in messages, and of the crate that owns it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ItemKind {
    #[default]
    Tool,
    Prompt,
    Resource,
}

impl ItemKind {
    const KINDS: [Self; 3] = [Self::Tool, Self::Prompt, Self::Resource];

    /// The name of the attribute, and the noun of the item.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
        }
    }

    /// The crate whose hidden module the expansions of the attribute refer to.
    pub(crate) fn owner_crate(self) -> &'static str {
        match self {
            Self::Tool => "tool_runtime",
            Self::Prompt | Self::Resource => "tool_kit",
        }
    }

    /// The kind of the item that `attr` makes, by the last segment of its path: a macro cannot resolve paths.
    pub(crate) fn of_attribute(attr: &syn::Attribute) -> Option<Self> {
        let last = attr.path().segments.last()?;
        Self::KINDS.into_iter().find(|kind| last.ident == kind.noun())
    }
}
