//! Rules for type parameters: one tool for each list of types.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Expr, GenericParam, Ident, LitStr, Token, Type};

use super::keys::check_item_name;
use crate::args::{self, ToolKeys, WrittenKeys};
use crate::errors::Errors;
use crate::kind::ItemKind;
use crate::names;
use crate::signature::Function;

/// One tool of a function.
pub(crate) struct Instance {
    pub(crate) name: LitStr,
    /// `type T = i64;` for each parameter.
    pub(crate) bindings: Vec<TokenStream>,
    /// The arguments for the type parameters of the function.
    pub(crate) arguments: Vec<TokenStream>,
}

impl Instance {
    /// The only tool of a function without type parameters.
    pub(super) fn of_plain_function(name: LitStr) -> Self {
        Self { name, bindings: Vec::new(), arguments: Vec::new() }
    }
}

/// The instances of a function.
pub(super) fn read_instances(
    keys: &ToolKeys,
    written: &WrittenKeys,
    function: Function<'_>,
    errors: &Errors,
) -> Vec<Instance> {
    let params = function.type_and_const_parameters();
    let ident = &function.sig.ident;
    match (&keys.instantiate, params.first()) {
        (None, Some(param)) if function.kind != ItemKind::Tool => {
            let noun = function.kind.noun();
            errors.report_at(
                param,
                format!("a generic function cannot be a {noun}; write a function for each type"),
            );
            Vec::new()
        }
        (None, Some(param)) => {
            if !written.has_key("instantiate") {
                errors.report_at(
                    param,
                    format!(
                        "a generic function is one tool for each type; \
                         add `instantiate(i64 as \"{}_int\")`",
                        names::unraw_name(ident)
                    ),
                );
            }
            Vec::new()
        }
        (None, None) => {
            let name =
                super::checked_item_name(function.kind, keys, &names::unraw_name(ident), ident, errors);
            vec![Instance::of_plain_function(name)]
        }
        (Some(key), None) => {
            errors.report_at(&key.path, "`instantiate` requires a generic function; remove the key");
            Vec::new()
        }
        (Some(key), Some(_)) => {
            if let Some(name) = &keys.name {
                errors.report_at(&name.path, "each instance has its name in `instantiate`; remove `name`");
            }
            check_instance_names(&key.value, errors);
            key.value
                .iter()
                .filter_map(|instance| errors.value_or_report(bind_parameters(&params, instance)))
                .collect()
        }
    }
}

fn check_instance_names(instances: &[args::Instance], errors: &Errors) {
    for (at, instance) in instances.iter().enumerate() {
        let name = &instance.name;
        check_item_name(ItemKind::Tool, name, errors);
        let earlier = instances.iter().take(at);
        if earlier.into_iter().any(|it| it.name.value() == name.value()) {
            errors.report_at(name, format!("two instances are named `{}`; rename one", name.value()));
        }
    }
}

/// Binds each type parameter to its argument, under the name that the signature uses.
fn bind_parameters(params: &[&GenericParam], instance: &args::Instance) -> syn::Result<Instance> {
    let arguments = split_arguments(params.len(), &instance.arguments)?;
    let mut found = Instance::of_plain_function(instance.name.clone());
    for (param, argument) in params.iter().zip(arguments) {
        match param {
            GenericParam::Const(param) => {
                let (ident, ty) = (&param.ident, &param.ty);
                let value: Expr = syn::parse2(argument)?;
                let allowed = quote!(#[allow(unused_braces)]);
                found.bindings.push(quote!(#allowed const #ident: #ty = #value;));
                found.arguments.push(quote!({ #ident }));
            }
            GenericParam::Type(param) => {
                let ty: Type = syn::parse2(argument)?;
                // An unmet bound is reported at the type in `instantiate`.
                let ident = Ident::new(&param.ident.to_string(), ty.span());
                found.bindings.push(quote!(type #ident = #ty;));
                found.arguments.push(ident.to_token_stream());
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Splits arguments: one is written as it is, several in parentheses.
fn split_arguments(count: usize, arguments: &TokenStream) -> syn::Result<Vec<TokenStream>> {
    if count == 1 {
        return Ok(vec![arguments.clone()]);
    }
    let mut trees = arguments.clone().into_iter();
    let found = match (trees.next(), trees.next()) {
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::Parenthesis => {
            let types = Punctuated::<Argument, Token![,]>::parse_terminated;
            types.parse2(group.stream())?.into_iter().map(|it| it.0).collect()
        }
        _ => vec![arguments.clone()],
    };
    if found.len() != count {
        let message = format!(
            "the function has {count} type parameters, but this instance has {}; write `(A, B) as \"name\"`",
            found.len()
        );
        return Err(syn::Error::new_spanned(arguments, message));
    }
    Ok(found)
}

/// A type or a constant.
struct Argument(TokenStream);

impl syn::parse::Parse for Argument {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Self> {
        let constant = input.peek(syn::Lit) || input.peek(Token![-]) || input.peek(syn::token::Brace);
        match constant {
            true => input.parse::<Expr>().map(|it| Self(it.into_token_stream())),
            false => input.parse::<Type>().map(|it| Self(it.into_token_stream())),
        }
    }
}
