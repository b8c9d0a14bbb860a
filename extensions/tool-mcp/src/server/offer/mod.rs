//! Resources and prompts, which a server offers beside its tools.

mod changes;
mod collection;
mod page;
mod prompt_set;
mod prompts;
mod resource_set;
mod resources;
mod template;

pub(super) use self::changes::{OfferChange, OfferChanges};
pub use self::{
    changes::ChangeSignal,
    page::{Page, Paging},
    prompt_set::PromptSet,
    prompts::Prompts,
    resource_set::ResourceSet,
    resources::Resources,
    template::TemplateError,
};

use std::collections::HashMap;

/// An argument whose value a user types, for candidates: of a prompt, or a variable of a template's URI.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Completing<'a> {
    /// The name of the prompt, or the URI template.
    pub of: &'a str,
    /// The name of the argument.
    pub argument: &'a str,
    /// The text so far.
    pub value: &'a str,
    /// The other arguments, as far as they have a value.
    pub others: &'a HashMap<String, String>,
}
