//! The `Spec` of a tool, as a constant. Only keys that are present are written; the library provides the defaults.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned as _;

use crate::args::{Confirm, Key, Millis, ParameterDefault, Retry, ToolKeys, Unknown};
use crate::validate::{Decoded, Instance, Property, Tool, output_override};

/// The `Spec` of one tool.
pub(super) fn of(tool: &Tool, instance: &Instance) -> TokenStream {
    let mut fields = Fields::default();
    texts(tool, &mut fields);
    hints(&tool.keys, &mut fields);
    execution(&tool.keys, &mut fields);
    failures(tool, &mut fields);
    arguments_and_result(tool, &mut fields);
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
struct Fields(TokenStream);

impl Fields {
    fn set(&mut self, name: &str, value: impl ToTokens) {
        let name = Ident::new(name, Span::call_site());
        self.0.extend(quote!(#name: #value,));
    }

    fn some(&mut self, name: &str, value: Option<impl ToTokens>) {
        if let Some(value) = value {
            self.set(name, quote!(::core::option::Option::Some(#value)));
        }
    }

    /// A list, unless it is empty.
    fn list(&mut self, name: &str, items: &[impl ToTokens]) {
        if !items.is_empty() {
            self.set(name, quote!(&[#(#items),*]));
        }
    }

    /// A switch that is off by default.
    fn on(&mut self, name: &str, is_on: bool) {
        if is_on {
            self.set(name, quote!(true));
        }
    }
}

fn value<T>(key: &Option<Key<T>>) -> Option<&T> {
    key.as_ref().map(|key| &key.value)
}

fn is_on(key: &Option<Key<bool>>) -> bool {
    value(key).is_some_and(|is_on| *is_on)
}

fn texts(tool: &Tool, fields: &mut Fields) {
    let keys = &tool.keys;
    fields.some("title", value(&keys.title).or(value(&keys.label)));
    fields.list("tags", value(&keys.tags).map_or(&[], Vec::as_slice));
    fields.some("toolset", tool.toolset.as_ref());
    fields.some("group", value(&keys.group));
    fields.some("trust", value(&keys.trust));
    let meta: Vec<TokenStream> = value(&keys.meta)
        .into_iter()
        .flatten()
        .map(|entry| {
            let (key, value) = (&entry.key, &entry.value);
            let value = quote_spanned!(value.span()=> __tool::json(&(#value)));
            quote!((#key, || #value))
        })
        .collect();
    fields.list("meta", &meta);
    let examples: Vec<TokenStream> = value(&keys.examples)
        .into_iter()
        .flatten()
        .map(|example| quote_spanned!(example.span()=> || __tool::json(&(#example))))
        .collect();
    fields.list("examples", &examples);
}

fn hints(keys: &ToolKeys, fields: &mut Fields) {
    let mut hints = Fields::default();
    hints.some("read_only", value(&keys.read_only));
    hints.some("destructive", value(&keys.destructive));
    hints.some("idempotent", value(&keys.idempotent));
    hints.some("open_world", value(&keys.open_world));
    hints.some("concurrency_safe", value(&keys.concurrency_safe));
    hints.some("search_or_read", value(&keys.search_or_read));
    hints.some("long_running", value(&keys.long_running));
    let hints = hints.0;
    if !hints.is_empty() {
        fields.set("hints", quote!(__tool::Hints { #hints ..__tool::Hints::NONE }));
    }
}

fn execution(keys: &ToolKeys, fields: &mut Fields) {
    let millis = |key: &Option<Key<Millis>>| value(key).map(|millis| millis.0);
    fields.on("sequential", is_on(&keys.sequential));
    fields.on("blocking", is_on(&keys.blocking));
    fields.some("timeout_ms", millis(&keys.timeout));
    fields.some("idle_timeout_ms", millis(&keys.idle_timeout));
    fields.some("grace_period_ms", value(&keys.grace_period).map(|grace| grace.0));
    fields.some("retry", value(&keys.retry).map(retry));
    match value(&keys.confirm) {
        Some(Confirm::Constant(always)) => fields.on("confirm", *always),
        Some(Confirm::When(_)) => fields.on("confirm_when", true),
        None => {}
    }
    fields.on("has_permission", keys.permission.is_some());
    let needs: Vec<TokenStream> =
        value(&keys.needs).into_iter().flatten().map(|ty| quote!(__tool::Dependency::of::<#ty>)).collect();
    fields.list("needs", &needs);
    fields.some("on_request", value(&keys.on_request).map(on_request));
}

/// The function of `on_request`, converted to an async function that returns a `Result`.
fn on_request(path: &syn::Path) -> TokenStream {
    quote_spanned!(path.span()=> |request| {
        #[allow(unused_imports)]
        use __tool::AddedLater as _;
        __tool::Added(#path(request)).running()
    })
}

/// Sets `fails_blindly`, where `retry` is present without `when`.
fn failures(tool: &Tool, fields: &mut Fields) {
    let is_blind = value(&tool.keys.retry).is_some_and(|retry| retry.when.is_none());
    if let (true, Some(ty)) = (is_blind, &tool.returned) {
        let of = quote_spanned!(tool.result=> __tool::Of::<#ty>::new());
        fields.some("fails_blindly", Some(quote_spanned!(tool.result=> || #of.fails_blindly())));
    }
}

fn retry(keys: &Retry) -> TokenStream {
    let mut fields = Fields::default();
    let mut set = |name, value: Option<TokenStream>| {
        if let Some(value) = value {
            fields.set(name, value);
        }
    };
    let millis = |key| value(key).map(|millis: &Millis| millis.0.to_token_stream());
    set("attempts", value(&keys.attempts).map(ToTokens::to_token_stream));
    set("initial_ms", millis(&keys.initial));
    set("max_ms", millis(&keys.max));
    set("multiplier", value(&keys.multiplier).map(ToTokens::to_token_stream));
    set("jitter", value(&keys.jitter).map(ToTokens::to_token_stream));
    let fields = fields.0;
    match fields.is_empty() {
        true => quote!(__tool::Retry::DEFAULT),
        false => quote!(__tool::Retry { #fields ..__tool::Retry::DEFAULT }),
    }
}

fn arguments_and_result(tool: &Tool, fields: &mut Fields) {
    let keys = &tool.keys;
    let parameters: Vec<TokenStream> = tool.parameters.iter().map(parameter).collect();
    fields.list("parameters", &parameters);
    fields.some("strict", value(&keys.strict));
    fields.on("ignore_unknown", value(&keys.unknown_fields) == Some(&Unknown::Ignore));
    fields.some("prepare", value(&keys.prepare));
    let schema = |expr| quote!(|| __tool::IntoSchema::into_schema(#expr));
    fields.some("input_override", value(&keys.input_schema).map(schema));
    fields.some("output_override", output_override(keys).map(schema));
    let output = tool.output.as_ref();
    let output = output.map(|ty| {
        // A result that is no stream is reported at the key.
        let merged = tool.keys.merge.as_ref().filter(|key| key.value);
        let merged = merged.map(|key| quote_spanned!(key.path.span()=> .merged()));
        let of = quote_spanned!(tool.result=> __tool::Of::<#ty>::new().payload().items().payload() #merged);
        quote_spanned!(tool.result=> |__g| (&&&&&#of).schema(__g))
    });
    match (output, &tool.streamed) {
        (None, Some(ty)) => {
            let of = quote_spanned!(tool.result=> __tool::Of::<#ty>::new().payload().items());
            fields.some("streams", Some(quote_spanned!(tool.result=> || #of.is_stream())));
        }
        (output, _) => fields.some("output", output),
    }
    fields.some("max_result_size", value(&keys.max_result_size));
    fields.on("merge", tool.is_merging());
    fields.on("skip_summarization", is_on(&keys.skip_summarization));
}

/// One row of the table of parameters.
fn parameter(parameter: &Property) -> TokenStream {
    let mut fields = Fields::default();
    fields.set("name", &parameter.name);
    if let Some(description) = &parameter.description {
        fields.set("description", description);
    }
    fields.list("aliases", &parameter.aliases);
    fields.list("constraints", &parameter.constraints);
    fields.on("default_written", matches!(parameter.default, Some(ParameterDefault::Value(_))));
    fields.on("secret", parameter.secret);
    fields.on("whole", parameter.decoded == Decoded::Whole);
    let fields = fields.0;
    quote!(__tool::Parameter { #fields ..__tool::Parameter::EMPTY })
}
