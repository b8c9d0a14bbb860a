//! A prompt: the registration of a function with the constant data of the prompt.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::spec::{Fields, key_value};
use crate::args::PromptKeys;
use crate::item::FunctionItem;
use crate::krate::Krate;
use crate::validate::Prompt;

/// A function and its registration as a prompt.
pub(crate) fn expand_prompt(item: &FunctionItem, prompt: &Prompt, krate: &Krate) -> TokenStream {
    let Prompt { function: tool, keys } = prompt;
    let function = super::function_and_handle(item, tool);
    let spec = prompt_spec_literal(keys);
    let data = quote!(static __ITEM: __tool::PromptSpec = #spec;);
    let value = quote!(__tool::ItemRegistration::new(&__ITEM, &__SPEC, __invocation));
    let registrations = tool
        .instances
        .iter()
        .map(|instance| super::registration((tool, instance), Some(&data), &value, krate));
    quote!(#function #(#registrations)*)
}

/// The `PromptSpec` of a prompt: the keys that a tool does not have.
fn prompt_spec_literal(keys: &PromptKeys) -> TokenStream {
    let mut fields = Fields::default();
    fields.set_some("title", key_value(&keys.title));
    fields.set_some("model", key_value(&keys.model));
    fields.set_some("provider", key_value(&keys.provider));
    fields.set_some("system_prompt", key_value(&keys.system_prompt));
    let schema = key_value(&keys.output_schema);
    fields.set_some(
        "output_schema",
        schema.map(|schema| quote_spanned!(schema.span()=> || __tool::IntoSchema::into_schema(#schema))),
    );
    fields.set_some("tools", key_value(&keys.tools).map(|tools| quote!(&[#(#tools),*])));
    let level = key_value(&keys.thinking).map(|thinking| Ident::new(thinking.0, Span::call_site()));
    fields.set_some("thinking", level.map(|level| quote!(__tool::PromptThinking::#level)));
    let budget = key_value(&keys.thinking_budget);
    fields.set_some("thinking_budget", budget.map(|count| count.0.to_token_stream()));
    let fields = fields.into_tokens();
    quote!(__tool::PromptSpec { #fields ..__tool::PromptSpec::EMPTY })
}
