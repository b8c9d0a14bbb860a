//! Tokens of validated items. Nothing here can fail.
//!
//! An expansion is data and one call: the `Spec` of the tool (`spec`), and a function that passes the slots of the
//! arguments and the user's function to the library (`call`). All paths start at the alias `__tool`; generated names
//! start with `__`, so that they do not shadow names of the user.

mod aliases;
mod call;
mod items;
mod spec;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{DeriveInput, Generics, ItemImpl, Visibility};

pub(crate) use self::items::{expand_prompt, expand_resource};
use crate::item::{FunctionItem, impl_without_helpers};
use crate::kind::ItemKind;
use crate::krate::Krate;
use crate::names;
use crate::validate::{Callee, Derives, Instance, Tool};

/// A function and its registration.
pub(crate) fn expand_function(item: &FunctionItem, tool: &Tool, krate: &Krate) -> TokenStream {
    let function = function_and_handle(item, tool);
    let registrations = all_registrations(tool, krate);
    quote!(#function #registrations)
}

fn function_and_handle(item: &FunctionItem, tool: &Tool) -> TokenStream {
    let function = item.without_helper_attributes();
    let handle = tool
        .handle
        .as_ref()
        .map(|handle| handle_type(tool.kind, (handle, &item.sig.ident), &item.vis, &tool.cfgs));
    quote!(#function #handle)
}

/// The traits of handles of a kind; each item has one of them.
pub(crate) fn handle_traits(kind: ItemKind) -> &'static [&'static str] {
    match kind {
        ItemKind::Tool => &["Handle"],
        ItemKind::Prompt => &["PromptHandle"],
        ItemKind::Resource => &["ResourceHandle", "TemplateHandle"],
    }
}

/// The type of the registrations of a kind.
pub(crate) fn registration_type(kind: ItemKind) -> TokenStream {
    match kind {
        ItemKind::Tool => quote!(Registration),
        ItemKind::Prompt | ItemKind::Resource => quote!(ItemRegistration),
    }
}

/// The handle of an item: a type by which it is registered by hand.
pub(crate) fn handle_type(
    kind: ItemKind,
    (handle, function): (&Ident, &Ident),
    vis: &Visibility,
    cfgs: &[syn::Attribute],
) -> TokenStream {
    // rustdoc does not resolve a raw identifier in a link.
    let named = match function.to_string().strip_prefix("r#") {
        Some(plain) => format!("`{plain}()`"),
        None => format!("[`{function}()`]"),
    };
    let handle_name = names::unraw_name(handle);
    let doc = match kind {
        ItemKind::Tool => format!(
            "The tool {named}, as a type: `Registry::builder().tool::<{handle_name}>()` registers it by hand."
        ),
        ItemKind::Prompt | ItemKind::Resource => {
            format!("The {} {named}, as a type, by which it is made by hand.", kind.noun())
        }
    };
    quote! {
        #(#cfgs)*
        #[doc = #doc]
        #[allow(
            non_camel_case_types, dead_code,
            missing_debug_implementations, missing_copy_implementations
        )]
        #vis struct #handle {}
    }
}

/// A struct that is a tool, and its registration.
pub(crate) fn expand_struct(
    item: &DeriveInput,
    derives: &Derives,
    tool: &Tool,
    krate: &Krate,
) -> TokenStream {
    let arguments = expand_arguments(item, derives, krate);
    let registrations = all_registrations(tool, krate);
    quote!(#arguments #registrations)
}

/// A struct or enum with the derives of an argument struct.
pub(crate) fn expand_arguments(item: &DeriveInput, derives: &Derives, krate: &Krate) -> TokenStream {
    let private = krate.private_module();
    let (serde, schemars) = (krate.path_literal("serde"), krate.path_literal("schemars"));
    let paths = [
        (derives.deserialize, quote!(#private::serde::Deserialize)),
        (derives.json_schema, quote!(#private::schemars::JsonSchema)),
        (derives.serialize, quote!(#private::serde::Serialize)),
    ];
    let paths = paths.iter().filter(|(derived, _)| *derived).map(|(_, path)| path);
    let checks = &derives.checks;
    let checks = (!checks.is_empty()).then(|| {
        let cfgs = crate::signature::cfg_attributes(&item.attrs);
        quote! {
            #(#cfgs)*
            const _: fn() = || {
                use #private as __tool;
                #(#checks)*
            };
        }
    });
    let item = aliases::with_annotated_aliases_and_defaults(item, derives);
    quote! {
        #[derive(#(#paths),*)]
        #[serde(crate = #serde)]
        #[schemars(crate = #schemars)]
        #item
        #checks
    }
}

fn all_registrations(tool: &Tool, krate: &Krate) -> TokenStream {
    let value = quote!(__tool::Registration::new(&__SPEC, __invocation));
    let entry = RegistrationEntry { data: None, value, handle_trait: "Handle" };
    tool.instances.iter().map(|instance| registration_of_instance((tool, instance), &entry, krate)).collect()
}

/// The `inventory` entry of an item.
struct RegistrationEntry {
    /// The constant data of an item that is no tool.
    data: Option<TokenStream>,
    value: TokenStream,
    handle_trait: &'static str,
}

/// The registration of one item: its `Spec`, its call, its constant data, its handle, and its `inventory` entry.
fn registration_of_instance(
    (tool, instance): (&Tool, &Instance),
    RegistrationEntry { data, value, handle_trait }: &RegistrationEntry,
    krate: &Krate,
) -> TokenStream {
    let private = krate.private_module();
    let (cfgs, bindings) = (&tool.cfgs, &instance.bindings);
    let spec = spec::spec_literal(tool, instance);
    let invocation = call::invocation(tool, instance);
    let checks = call::limit_checks(tool);
    let checks = (!checks.is_empty()).then(|| quote!(const _: fn() = || { #checks };));
    let (handle_trait, registration) =
        (Ident::new(handle_trait, Span::call_site()), registration_type(tool.kind));
    let handle = tool.handle.as_ref().map(|handle| {
        quote! {
            impl __tool::#handle_trait for #handle {
                const REGISTRATION: &'static __tool::#registration = &#value;
            }
        }
    });
    let submit = tool
        .keys
        .register
        .as_ref()
        .is_none_or(|register| register.value)
        .then(|| quote!(__tool::inventory::submit! { #value }));
    // Lints that generated code may trigger. The list must stay short: `allow` of a lint that the user's crate forbids
    // is an error.
    quote! {
        #(#cfgs)*
        #[allow(deprecated)]
        const _: () = {
            use #private as __tool;
            use __tool::probe::*;
            #(#bindings)*
            static __SPEC: __tool::Spec = #spec;
            #data
            fn __invocation<'a>(__mode: __tool::InvocationMode<'_, 'a>) -> __tool::Invoked<'a> {
                #invocation
            }
            #checks
            #handle
            #submit
        };
    }
}

/// An `impl` block, and its toolset.
pub(crate) fn expand_toolset(item: &ItemImpl, tools: &[Tool], krate: &Krate) -> TokenStream {
    let methods = tools
        .iter()
        .flat_map(|tool| tool.instances.iter().map(move |it| (tool, it)))
        .map(|(tool, instance)| toolset_method(tool, instance));
    let body = quote! {
        let mut __tools = __tool::Vec::new();
        #(#methods)*
        __tools
    };
    let names = tools.iter().flat_map(|tool| {
        let cfgs = &tool.cfgs;
        tool.instances.iter().map(move |Instance { name, .. }| quote!(#(#cfgs)* #name))
    });
    let self_ty = &item.self_ty;
    let declared = quote! {
        __tool::inventory::submit! {
            __tool::DeclaredToolset::new(::core::stringify!(#self_ty), &[#(#names),*])
        }
    };
    impl_with_static_toolset(item, &body, Some(&declared), krate)
}

/// An `impl` block, and `StaticToolSet` for its type.
pub(crate) fn impl_with_static_toolset(
    item: &ItemImpl,
    body: &TokenStream,
    declared: Option<&TokenStream>,
    krate: &Krate,
) -> TokenStream {
    let private = krate.private_module();
    let clean = impl_without_helpers(item);
    let cfgs = crate::signature::cfg_attributes(&item.attrs);
    let self_ty = &item.self_ty;
    let generics = with_toolset_bounds(item);
    let (params, _, bounds) = generics.split_for_impl();
    let header = quote_spanned! {self_ty.span()=>
        impl #params __tool::StaticToolSet for #self_ty #bounds
    };
    quote! {
        #clean
        #(#cfgs)*
        #[allow(deprecated, trivial_bounds)]
        const _: () = {
            use #private as __tool;
            use __tool::probe::*;
            #header {
                fn tools(self: __tool::Arc<Self>) -> __tool::Vec<__tool::Method> {
                    #body
                }
            }
            #declared
        };
    }
}

/// The generics of a toolset, with the supertraits of `StaticToolSet` as a where clause: an unmet bound is then
/// reported at the type, and not again in each method.
fn with_toolset_bounds(item: &ItemImpl) -> Generics {
    let mut generics = item.generics.clone();
    let bound = quote_spanned! {item.self_ty.span()=>
        Self: ::core::marker::Send + ::core::marker::Sync + 'static
    };
    if let Ok(bound) = syn::parse2(bound) {
        generics.make_where_clause().predicates.push(bound);
    }
    generics
}

/// One method of a toolset.
fn toolset_method(tool: &Tool, instance: &Instance) -> TokenStream {
    let (cfgs, bindings) = (&tool.cfgs, &instance.bindings);
    let spec = spec::spec_literal(tool, instance);
    let invocation = call::invocation(tool, instance);
    let checks = call::limit_checks(tool);
    let checks = (!checks.is_empty()).then(|| quote!(let _: fn() = || { #checks };));
    let (outer, inner) = match tool.callee {
        Callee::Method { takes_self: true, .. } => (
            Some(quote!(let __this = __tool::Arc::clone(&self);)),
            Some(quote!(let __this = __tool::Arc::clone(&__this);)),
        ),
        _ => (None, None),
    };
    quote! {
        #(#cfgs)*
        {
            #(#bindings)*
            #checks
            #outer
            __tools.push(__tool::Method::new(const { &#spec }, move |__mode| {
                #inner
                #invocation
            }));
        }
    }
}
