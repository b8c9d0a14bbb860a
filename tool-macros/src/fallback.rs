//! After a mistake: what the user wrote, beside the errors.
//!
//! Callers of a function that is merely a wrong tool must not fail too, nor those that register
//! it. The types and traits that a right one would have brought are there, without contents.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Field, ItemImpl};

use crate::args::{Handle, Key};
use crate::expand;
use crate::item::{FunctionItem, clean_impl, is_tool};
use crate::krate::Krate;
use crate::signature::cfgs;
use crate::validate::Derives;

/// The function, and its handle if it would have one.
pub(crate) fn function(item: &FunctionItem, handle: Option<&Key<Handle>>, krate: &Krate) -> TokenStream {
    let clean = item.clean();
    // Next to a method no type can stand.
    if item.sig.receiver().is_some() {
        return clean;
    }
    let name = match handle.map(|key| &key.value) {
        None => &item.sig.ident,
        Some(Handle::Named(name)) => name,
        Some(Handle::None) => return clean,
    };
    let attrs: Vec<_> = cfgs(&item.attrs).into_iter().cloned().collect();
    let type_ = expand::handle_type(name, &item.sig.ident, &item.vis, &attrs);
    let implementation = implementation(name, krate);
    quote!(#clean #type_ #(#attrs)* #implementation)
}

/// The struct as arguments, and as a handle.
pub(crate) fn structure(item: &DeriveInput, derives: &Derives, krate: &Krate) -> TokenStream {
    let attrs = cfgs(&item.attrs);
    let arguments = arguments(item, derives, krate);
    // A handle is one type.
    if !item.generics.params.is_empty() {
        return arguments;
    }
    let implementation = implementation(&item.ident, krate);
    quote!(#arguments #(#attrs)* #implementation)
}

/// The struct or enum with what can be derived: a tool that takes it is right.
pub(crate) fn arguments(item: &DeriveInput, derives: &Derives, krate: &Krate) -> TokenStream {
    let mut item = item.clone();
    item.attrs.retain(|attr| !is_tool(attr));
    attributes_of(&mut item.data, |attrs| attrs.retain(|attr| !attr.path().is_ident("arg")));
    if derives.deserialize || derives.json_schema {
        return expand::arguments(&item, derives, krate);
    }
    // Nothing is left that would know the helper attributes.
    let is_helper = |attr: &Attribute| attr.path().is_ident("serde") || attr.path().is_ident("schemars");
    item.attrs.retain(|attr| !is_helper(attr));
    attributes_of(&mut item.data, |attrs| attrs.retain(|attr| !is_helper(attr)));
    quote!(#item)
}

/// The attributes of everything inside an item.
fn attributes_of(data: &mut Data, mut each: impl FnMut(&mut Vec<Attribute>)) {
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

/// The `impl` block, as a set without tools.
pub(crate) fn toolset(item: &ItemImpl, krate: &Krate) -> TokenStream {
    match item.trait_ {
        Some(_) => {
            let clean = clean_impl(item);
            quote!(#clean)
        }
        None => expand::static_toolset(item, &quote!(::core::unreachable!()), krate),
    }
}

/// Evaluated only by a program that compiles, which this one does not.
fn implementation(handle: &Ident, krate: &Krate) -> TokenStream {
    let private = krate.private();
    quote! {
        impl #private::Handle for #handle {
            const REGISTRATION: &'static #private::Registration = ::core::unreachable!();
        }
    }
}
