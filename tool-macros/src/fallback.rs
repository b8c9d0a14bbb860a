//! The expansion after an error: the user's item, unaltered, beside the errors.
//!
//! Code that calls or registers the tool must not cause further errors. The types and trait implementations of a valid
//! tool are generated without contents.
//!
//! Errors of types, such as a parameter that cannot be an argument, appear only after these errors are corrected. The
//! compiler finds them in the slots of an expansion, and the rejected keys decide about those: without its `default` or
//! `#[args]`, a parameter would cause errors that it does not have.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Field, ItemImpl};

use crate::args::{Handle, Key};
use crate::expand;
use crate::item::{FunctionItem, impl_without_helpers, is_tool};
use crate::krate::Krate;
use crate::signature::{cfg_attributes, receiver_or_self_tokens};
use crate::validate::Derives;

/// The function, and its handle unless the attribute has `handle = none`.
pub(crate) fn fallback_function(
    item: &FunctionItem,
    handle: Option<&Key<Handle>>,
    krate: &Krate,
) -> TokenStream {
    let clean = item.without_helper_attributes();
    // An `impl` block cannot contain a struct.
    if receiver_or_self_tokens(&item.sig).is_some() {
        return clean;
    }
    let name = match handle.map(|key| &key.value) {
        None => &item.sig.ident,
        Some(Handle::Named(name)) => name,
        Some(Handle::None) => return clean,
    };
    let attrs: Vec<_> = cfg_attributes(&item.attrs).into_iter().cloned().collect();
    let type_ = expand::handle_type(krate.kind(), (name, &item.sig.ident), &item.vis, &attrs);
    let implementation = unreachable_handle_impl(name, krate);
    quote!(#clean #type_ #(#attrs)* #implementation)
}

/// The struct as arguments, and as a handle.
pub(crate) fn fallback_struct(item: &DeriveInput, derives: &Derives, krate: &Krate) -> TokenStream {
    let attrs = cfg_attributes(&item.attrs);
    let arguments = fallback_arguments(item, derives, krate);
    // A generic type is not a handle.
    if !item.generics.params.is_empty() {
        return arguments;
    }
    let implementation = unreachable_handle_impl(&item.ident, krate);
    quote!(#arguments #(#attrs)* #implementation)
}

/// The struct or enum with the derives that are possible, so that tools that take it compile.
pub(crate) fn fallback_arguments(item: &DeriveInput, derives: &Derives, krate: &Krate) -> TokenStream {
    let mut item = item.clone();
    item.attrs.retain(|attr| !is_tool(attr));
    for_each_attribute_list(&mut item.data, |attrs| attrs.retain(|attr| !attr.path().is_ident("arg")));
    if derives.deserialize || derives.json_schema {
        return expand::expand_arguments(&item, derives, krate);
    }
    // Without the derives, the helper attributes are unknown to the compiler.
    let is_helper = |attr: &Attribute| attr.path().is_ident("serde") || attr.path().is_ident("schemars");
    item.attrs.retain(|attr| !is_helper(attr));
    for_each_attribute_list(&mut item.data, |attrs| attrs.retain(|attr| !is_helper(attr)));
    quote!(#item)
}

/// Calls `each` with the attributes of each variant and field.
fn for_each_attribute_list(data: &mut Data, mut each: impl FnMut(&mut Vec<Attribute>)) {
    let fields: Vec<&mut Field> = match data {
        Data::Struct(data) => data.fields.iter_mut().collect(),
        Data::Enum(data) => {
            data.variants.iter_mut().for_each(|variant| each(&mut variant.attrs));
            data.variants.iter_mut().flat_map(|it| &mut it.fields).collect()
        }
        Data::Union(data) => data.fields.named.iter_mut().collect(),
    };
    fields.into_iter().for_each(|field| each(&mut field.attrs));
}

/// The `impl` block, and a toolset without tools.
pub(crate) fn fallback_toolset(item: &ItemImpl, krate: &Krate) -> TokenStream {
    match item.trait_ {
        Some(_) => {
            let clean = impl_without_helpers(item);
            quote!(#clean)
        }
        None => expand::impl_with_static_toolset(item, &quote!(::core::unreachable!()), None, krate),
    }
}

/// An implementation of the traits of handles that is never evaluated, since the program does not compile.
fn unreachable_handle_impl(handle: &Ident, krate: &Krate) -> TokenStream {
    let private = krate.private_module();
    let registration = expand::registration_type(krate.kind());
    let traits = expand::handle_traits(krate.kind()).iter().map(|name| Ident::new(name, Span::call_site()));
    quote! { #(
        impl #private::#traits for #handle {
            const REGISTRATION: &'static #private::#registration = ::core::unreachable!();
        }
    )* }
}
