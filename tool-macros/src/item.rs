//! The item below an attribute.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::discouraged::Speculative as _;
use syn::parse::{Parse, ParseStream};
use syn::{
    Attribute, DeriveInput, FnArg, ImplItem, Item, ItemImpl, Signature, Token, Type, Visibility, parse_quote,
};

use crate::args::is_helper;
use crate::kind::ItemKind;

/// The item below an attribute.
pub(crate) enum Target {
    Function(Box<FunctionItem>),
    /// A struct, enum or union.
    Type(Box<DeriveInput>),
    Impl(Box<ItemImpl>),
    /// Any other item: a noun for it, and its first token.
    Other(&'static str, TokenStream),
}

impl Parse for Target {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let ahead = input.fork();
        ahead.call(Attribute::parse_outer)?;
        ahead.parse::<Visibility>()?;
        if ahead.peek(Token![struct]) || ahead.peek(Token![enum]) {
            return input.parse().map(|item| Self::Type(Box::new(item)));
        }
        if starts_function(&ahead) {
            return input.parse().map(|item| Self::Function(Box::new(item)));
        }
        let start: TokenStream = ahead.parse()?;
        let start: TokenStream = start.into_iter().take(1).collect();
        let begin = input.fork();
        Ok(match begin.parse::<Item>() {
            Ok(Item::Union(_)) => {
                return input.parse().map(|item| Self::Type(Box::new(item)));
            }
            Ok(Item::Impl(item)) => {
                input.advance_to(&begin);
                return Ok(Self::Impl(Box::new(item)));
            }
            other => {
                input.parse::<TokenStream>()?;
                Self::Other(other.as_ref().map_or("this", item_kind), start)
            }
        })
    }
}

fn starts_function(input: ParseStream<'_>) -> bool {
    // A function with a syntax error is still a function; the error of its signature is the best message.
    input.peek(Token![fn]) || input.peek(Token![async]) || Signature::parse(&input.fork()).is_ok()
}

fn item_kind(item: &Item) -> &'static str {
    match item {
        Item::Const(_) => "a constant",
        Item::ExternCrate(_) => "an `extern crate`",
        Item::ForeignMod(_) => "an `extern` block",
        Item::Macro(_) => "a macro",
        Item::Mod(_) => "a module",
        Item::Static(_) => "a static",
        Item::Trait(_) | Item::TraitAlias(_) => "a trait",
        Item::Type(_) => "a type alias",
        Item::Use(_) => "a `use`",
        _ => "this",
    }
}

/// A function whose body is not parsed.
pub(crate) struct FunctionItem {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    /// The body, or the semicolon in its place.
    pub(crate) body: TokenStream,
}

impl Parse for FunctionItem {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self {
            attrs: input.call(Attribute::parse_outer)?,
            vis: input.parse()?,
            sig: input.parse()?,
            body: input.parse()?,
        })
    }
}

impl FunctionItem {
    /// The function without helper attributes on its parameters.
    pub(crate) fn without_helper_attributes(&self) -> TokenStream {
        let Self { attrs, vis, sig, body } = self;
        // A second attribute of an item was reported already; its expansion would cause further errors.
        let attrs = attrs.iter().filter(|attr| ItemKind::of_attribute(attr).is_none());
        let allowed = allow_needless_pass_by_value(sig);
        let sig = signature_without_helpers(sig);
        quote!(#(#attrs)* #allowed #vis #sig #body)
    }
}

/// Allows `needless_pass_by_value`: a parameter by value is an argument from the model, and a reference is not.
fn allow_needless_pass_by_value(sig: &Signature) -> Option<Attribute> {
    let any = sig.inputs.iter().any(|input| match input {
        FnArg::Receiver(_) => false,
        FnArg::Typed(parameter) => !matches!(*parameter.ty, Type::Reference(_)),
    });
    any.then(|| parse_quote!(#[allow(clippy::needless_pass_by_value)]))
}

/// A signature without helper attributes on its parameters.
fn signature_without_helpers(sig: &Signature) -> Signature {
    let mut sig = sig.clone();
    for input in &mut sig.inputs {
        let attrs = match input {
            FnArg::Receiver(receiver) => &mut receiver.attrs,
            FnArg::Typed(parameter) => &mut parameter.attrs,
        };
        attrs.retain(|attr| !is_helper(attr));
    }
    sig
}

/// An `impl` block without `#[tool]` on its methods and helper attributes on their parameters.
pub(crate) fn impl_without_helpers(item: &ItemImpl) -> ItemImpl {
    let mut item = item.clone();
    for item in &mut item.items {
        match item {
            ImplItem::Fn(method) if method.attrs.iter().any(is_tool) => {
                method.attrs.retain(|attr| !is_tool(attr));
                method.attrs.extend(allow_needless_pass_by_value(&method.sig));
                method.sig = signature_without_helpers(&method.sig);
            }
            ImplItem::Const(item) => item.attrs.retain(|attr| !is_tool(attr)),
            ImplItem::Type(item) => item.attrs.retain(|attr| !is_tool(attr)),
            _ => {}
        }
    }
    item
}

/// Returns `true` for `#[tool]`.
pub(crate) fn is_tool(attr: &Attribute) -> bool {
    ItemKind::of_attribute(attr) == Some(ItemKind::Tool)
}
