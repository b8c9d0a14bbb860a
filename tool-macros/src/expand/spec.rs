//! The `Spec` of a tool, as a constant. Only keys that are present are written; the library provides the defaults.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned as _;

use crate::args::{Confirm, Key, Millis, ParameterDefault, Retry, ToolKeys, Unknown};
use crate::validate::{Decoded, Instance, Property, Tool, output_schema_override};

/// The `Spec` of one tool.
pub(super) fn spec_literal(tool: &Tool, instance: &Instance) -> TokenStream {
    let mut fields = SpecFields::default();
    set_texts(tool, &mut fields);
    set_hints(&tool.keys, &mut fields);
    set_execution(&tool.keys, &mut fields);
    set_failures_are_never_temporary(tool, &mut fields);
    set_arguments_and_result(tool, &mut fields);
    let fields = fields.0;
    let (name, description) = (&instance.name, &tool.description);
    // The span of the description: the library reports an empty constant there.
    let site = quote!(__tool::site!());
    let new = quote_spanned!(description.span()=> __tool::Spec::new(#name, #description, #site));
    quote! {
        __tool::Spec {
            #fields
            ..#new
        }
    }
}

/// The fields of a struct literal that differ from the default.
#[derive(Default)]
pub(super) struct SpecFields(TokenStream);

impl SpecFields {
    fn set(&mut self, name: &str, value: impl ToTokens) {
        let name = Ident::new(name, Span::call_site());
        self.0.extend(quote!(#name: #value,));
    }

    pub(super) fn set_some(&mut self, name: &str, value: Option<impl ToTokens>) {
        if let Some(value) = value {
            self.set(name, quote!(::core::option::Option::Some(#value)));
        }
    }

    /// A list, unless it is empty.
    fn set_list(&mut self, name: &str, items: &[impl ToTokens]) {
        if !items.is_empty() {
            self.set(name, quote!(&[#(#items),*]));
        }
    }

    pub(super) fn into_tokens(self) -> TokenStream {
        self.0
    }

    /// A switch that is off by default.
    fn set_flag(&mut self, name: &str, is_on: bool) {
        if is_on {
            self.set(name, quote!(true));
        }
    }
}

pub(super) fn key_value<T>(key: &Option<Key<T>>) -> Option<&T> {
    key.as_ref().map(|key| &key.value)
}

fn is_on(key: &Option<Key<bool>>) -> bool {
    key_value(key).is_some_and(|is_on| *is_on)
}

fn set_texts(tool: &Tool, fields: &mut SpecFields) {
    let keys = &tool.keys;
    fields.set_some("title", key_value(&keys.title).or(key_value(&keys.label)));
    fields.set_list("tags", key_value(&keys.tags).map_or(&[], Vec::as_slice));
    fields.set_some("toolset", tool.toolset.as_ref());
    fields.set_some("group", key_value(&keys.group));
    fields.set_some("trust", key_value(&keys.trust));
    let meta: Vec<TokenStream> = key_value(&keys.meta)
        .into_iter()
        .flatten()
        .map(|entry| {
            let (key, value) = (&entry.key, &entry.value);
            let value = quote_spanned!(value.span()=> __tool::json(&(#value)));
            quote!((#key, || #value))
        })
        .collect();
    fields.set_list("meta", &meta);
    let examples: Vec<TokenStream> = key_value(&keys.examples)
        .into_iter()
        .flatten()
        .map(|example| quote_spanned!(example.span()=> || __tool::json(&(#example))))
        .collect();
    fields.set_list("examples", &examples);
}

fn set_hints(keys: &ToolKeys, fields: &mut SpecFields) {
    let mut hints = SpecFields::default();
    hints.set_some("read_only", key_value(&keys.read_only));
    hints.set_some("destructive", key_value(&keys.destructive));
    hints.set_some("idempotent", key_value(&keys.idempotent));
    hints.set_some("open_world", key_value(&keys.open_world));
    hints.set_some("concurrency_safe", key_value(&keys.concurrency_safe));
    hints.set_some("search_or_read", key_value(&keys.search_or_read));
    hints.set_some("long_running", key_value(&keys.long_running));
    let hints = hints.0;
    if !hints.is_empty() {
        fields.set("hints", quote!(__tool::Hints { #hints ..__tool::Hints::NONE }));
    }
}

fn set_execution(keys: &ToolKeys, fields: &mut SpecFields) {
    let millis = |key: &Option<Key<Millis>>| key_value(key).map(|millis| millis.0);
    fields.set_flag("sequential", is_on(&keys.sequential));
    fields.set_flag("blocking", is_on(&keys.blocking));
    fields.set_some("timeout_ms", millis(&keys.timeout));
    fields.set_some("idle_timeout_ms", millis(&keys.idle_timeout));
    fields.set_some("grace_period_ms", key_value(&keys.grace_period).map(|grace| grace.0));
    fields.set_some("retry", key_value(&keys.retry).map(retry_literal));
    match key_value(&keys.confirm) {
        Some(Confirm::Constant(always)) => fields.set_flag("confirm", *always),
        Some(Confirm::When(_)) => fields.set_flag("confirm_when", true),
        None => {}
    }
    fields.set_flag("has_permission", keys.permission.is_some());
    let needs: Vec<TokenStream> = key_value(&keys.needs)
        .into_iter()
        .flatten()
        .map(|ty| quote!(__tool::Dependency::of::<#ty>))
        .collect();
    fields.set_list("needs", &needs);
    fields.set_some("on_request", key_value(&keys.on_request).map(request_addition_function));
}

/// The function of `on_request`, converted to an async function that returns a `Result`.
fn request_addition_function(path: &syn::Path) -> TokenStream {
    quote_spanned!(path.span()=> |request| {
        #[allow(unused_imports)]
        use __tool::AsyncRequestAddition as _;
        __tool::RequestAddition(#path(request)).running()
    })
}

/// Sets `failures_are_never_temporary`, where `retry` is present without `when`.
fn set_failures_are_never_temporary(tool: &Tool, fields: &mut SpecFields) {
    let is_blind = key_value(&tool.keys.retry).is_some_and(|retry| retry.when.is_none());
    if let (true, Some(ty)) = (is_blind, &tool.returned) {
        let of = quote_spanned!(tool.result=> __tool::TypeProbe::<#ty>::new());
        fields.set_some(
            "failures_are_never_temporary",
            Some(quote_spanned!(tool.result=> || #of.failures_are_never_temporary())),
        );
    }
}

fn retry_literal(keys: &Retry) -> TokenStream {
    let mut fields = SpecFields::default();
    let mut set = |name, value: Option<TokenStream>| {
        if let Some(value) = value {
            fields.set(name, value);
        }
    };
    let millis = |key| key_value(key).map(|millis: &Millis| millis.0.to_token_stream());
    set("attempts", key_value(&keys.attempts).map(ToTokens::to_token_stream));
    set("initial_ms", millis(&keys.initial));
    set("max_ms", millis(&keys.max));
    set("multiplier", key_value(&keys.multiplier).map(ToTokens::to_token_stream));
    set("jitter", key_value(&keys.jitter).map(ToTokens::to_token_stream));
    let fields = fields.0;
    match fields.is_empty() {
        true => quote!(__tool::Retry::DEFAULT),
        false => quote!(__tool::Retry { #fields ..__tool::Retry::DEFAULT }),
    }
}

fn set_arguments_and_result(tool: &Tool, fields: &mut SpecFields) {
    let keys = &tool.keys;
    let parameters: Vec<TokenStream> = tool.parameters.iter().map(parameter_row).collect();
    fields.set_list("parameters", &parameters);
    fields.set_some("strict", key_value(&keys.strict));
    fields.set_flag("ignore_unknown", key_value(&keys.unknown_fields) == Some(&Unknown::Ignore));
    fields.set_some("prepare", key_value(&keys.prepare));
    let schema = |expr| quote!(|| __tool::IntoSchema::into_schema(#expr));
    fields.set_some("input_override", key_value(&keys.input_schema).map(schema));
    fields.set_some("output_override", output_schema_override(keys).map(schema));
    let output = tool.output.as_ref();
    let output = output.map(|ty| {
        // A result that is no stream is reported at the key.
        let merged = tool.keys.merge.as_ref().filter(|key| key.value);
        let merged = merged.map(|key| quote_spanned!(key.path.span()=> .merged()));
        let of =
            quote_spanned!(tool.result=> __tool::TypeProbe::<#ty>::new().payload().items().payload() #merged);
        quote_spanned!(tool.result=> |__g| (&&&&&#of).schema(__g))
    });
    match (output, &tool.streamed) {
        (None, Some(ty)) => {
            let of = quote_spanned!(tool.result=> __tool::TypeProbe::<#ty>::new().payload().items());
            fields.set_some("streams", Some(quote_spanned!(tool.result=> || #of.is_stream())));
        }
        (output, _) => fields.set_some("output", output),
    }
    fields.set_some("max_result_size", key_value(&keys.max_result_size));
    fields.set_flag("merge", tool.is_merging());
    fields.set_flag("skip_summarization", is_on(&keys.skip_summarization));
}

/// One row of the table of parameters.
fn parameter_row(parameter: &Property) -> TokenStream {
    let mut fields = SpecFields::default();
    fields.set("name", &parameter.name);
    if let Some(description) = &parameter.description {
        fields.set("description", description);
    }
    fields.set_list("aliases", &parameter.aliases);
    fields.set_list("constraints", &parameter.constraints);
    fields.set_flag("default_written", matches!(parameter.default, Some(ParameterDefault::Value(_))));
    fields.set_flag("secret", parameter.secret);
    fields.set_flag("whole", parameter.decoded == Decoded::Whole);
    let fields = fields.0;
    quote!(__tool::Parameter { #fields ..__tool::Parameter::EMPTY })
}
