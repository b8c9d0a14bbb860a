//! Prompts and resources: the registration of a function with constant data of its own.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::{
    RegistrationEntry,
    spec::{SpecFields, key_value},
};
use crate::args::PromptKeys;
use crate::item::FunctionItem;
use crate::krate::Krate;
use crate::validate::{Prompt, Resource, Tool};

/// A function and its registration as a prompt.
pub(crate) fn expand_prompt(item: &FunctionItem, prompt: &Prompt, krate: &Krate) -> TokenStream {
    let spec = prompt_spec_literal(&prompt.keys);
    let data = quote!(static __ITEM: __tool::PromptSpec = #spec;);
    expand_item(item, &prompt.function, (data, "PromptHandle"), krate)
}

/// A function and its registration as a resource.
pub(crate) fn expand_resource(item: &FunctionItem, resource: &Resource, krate: &Krate) -> TokenStream {
    let Resource { function, uri, mime_type, is_template } = resource;
    let (spec, handle_trait) = match is_template {
        true => (quote!(__tool::TemplateSpec), "TemplateHandle"),
        false => (quote!(__tool::ResourceSpec), "ResourceHandle"),
    };
    let mime_type = mime_type.as_ref().map_or_else(|| quote!(""), ToTokens::to_token_stream);
    let data = quote!(static __ITEM: #spec = #spec { uri: #uri, mime_type: #mime_type };);
    expand_item(item, function, (data, handle_trait), krate)
}

fn expand_item(
    item: &FunctionItem,
    tool: &Tool,
    (data, handle_trait): (TokenStream, &'static str),
    krate: &Krate,
) -> TokenStream {
    let function = super::function_and_handle(item, tool);
    let value = quote!(__tool::ItemRegistration::new(&__ITEM, &__SPEC, __invocation));
    let entry = RegistrationEntry { data: Some(data), value, handle_trait };
    let registrations = tool
        .instances
        .iter()
        .map(|instance| super::registration_of_instance((tool, instance), &entry, krate));
    quote!(#function #(#registrations)*)
}

/// The `PromptSpec` of a prompt: the keys that a tool does not have.
fn prompt_spec_literal(keys: &PromptKeys) -> TokenStream {
    let mut fields = SpecFields::default();
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
