//! The signature of a function: its parameters with their roles, and its result.
//!
//! The syntax nodes keep their spans, so that later errors can point at them.

use std::collections::HashSet;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{
    AssocType, Attribute, BoundLifetimes, FnArg, GenericArgument, GenericParam, Ident, Lifetime,
    ParenthesizedGenericArguments, Pat, PatType, PathArguments, ReturnType, Signature, Type, TypeArray,
    TypeFnPtr, TypeImplTrait, TypeParamBound, TypeReference, TypeSlice, TypeTuple, parse_quote,
};

use crate::args::HelperAttributes;
use crate::errors::Errors;
use crate::kind::ItemKind;
use crate::uri::ParsedUri;

/// The attributes and the signature of a function or method, and the kind of item that it becomes.
#[derive(Clone, Copy)]
pub(crate) struct Function<'a> {
    pub(crate) kind: ItemKind,
    /// The URI of a resource.
    pub(crate) uri: Option<&'a ParsedUri>,
    pub(crate) attrs: &'a [Attribute],
    pub(crate) sig: &'a Signature,
}

impl<'a> Function<'a> {
    /// The `#[cfg]` attributes, which all generated items have as well.
    pub(crate) fn cfg_attributes(&self) -> Vec<&'a Attribute> {
        cfg_attributes(self.attrs)
    }

    /// The parameters with their helper attributes, without `self`.
    pub(crate) fn parameters(&self, errors: &Errors) -> Vec<Parameter<'a>> {
        self.sig
            .inputs
            .iter()
            .filter_map(|input| match input {
                FnArg::Receiver(_) => None,
                FnArg::Typed(node) => Some(Parameter::read(node, errors)),
            })
            .collect()
    }

    /// The type and constant parameters; lifetimes are inferred.
    pub(crate) fn type_and_const_parameters(&self) -> Vec<&'a GenericParam> {
        self.sig.generics.params.iter().filter(|param| !matches!(param, GenericParam::Lifetime(_))).collect()
    }

    /// The span of the result type, or of the name if there is none.
    pub(crate) fn result_span(&self) -> Span {
        match &self.sig.output {
            ReturnType::Default => self.sig.ident.span(),
            ReturnType::Type(_, ty) => ty.span(),
        }
    }

    pub(crate) fn returned_type(&self) -> Returns {
        match &self.sig.output {
            ReturnType::Default => Returns::Nothing,
            ReturnType::Type(_, ty) => match without_groups(ty) {
                Type::ImplTrait(opaque) => match associated_type(opaque, "Item") {
                    Some(item) => Returns::Items(nameable_type(with_elided_lifetimes(item))),
                    None => Returns::Opaque,
                },
                ty => Returns::Value(nameable_type(with_elided_lifetimes(ty))),
            },
        }
    }
}

/// The `#[cfg]` attributes among `attrs`.
pub(crate) fn cfg_attributes(attrs: &[Attribute]) -> Vec<&Attribute> {
    attrs.iter().filter(|attr| attr.path().is_ident("cfg")).collect()
}

/// The result of a function, by its syntax.
pub(crate) enum Returns {
    Nothing,
    Value(Type),
    /// `impl Trait<Item = T>`: the items of a stream.
    Items(Type),
    /// Any other `impl Trait`.
    Opaque,
}

/// The `T` of `impl Trait<Name = T>`.
pub(crate) fn associated_type<'a>(opaque: &'a TypeImplTrait, name: &str) -> Option<&'a Type> {
    opaque
        .bounds
        .iter()
        .filter_map(|bound| match bound {
            TypeParamBound::Trait(bound) => bound.path.segments.last(),
            _ => None,
        })
        .filter_map(|segment| match &segment.arguments {
            PathArguments::AngleBracketed(arguments) => Some(&arguments.args),
            _ => None,
        })
        .flatten()
        .find_map(|argument| match argument {
            GenericArgument::AssocType(AssocType { ident, ty, .. }) if ident == name => Some(ty),
            _ => None,
        })
}

/// One parameter and its role.
pub(crate) struct Parameter<'a> {
    pub(crate) node: &'a PatType,
    pub(crate) helpers: HelperAttributes,
    pub(crate) role: Role,
}

/// The source of the value of a parameter.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Role {
    /// By reference: provided by the program, or borrowed from the arguments; the type decides.
    Reference,
    /// By value: one property of the arguments.
    Property,
    /// By value: all properties, as the fields of one struct.
    Whole,
}

impl<'a> Parameter<'a> {
    fn read(node: &'a PatType, errors: &Errors) -> Self {
        let helpers = HelperAttributes::read(&node.attrs, errors);
        let role = match (&*node.pat, without_groups(&node.ty)) {
            (Pat::Struct(_), _) => Role::Whole,
            _ if helpers.args.is_some() => Role::Whole,
            (_, Type::Reference(_)) => Role::Reference,
            _ => Role::Property,
        };
        Self { node, helpers, role }
    }

    /// The identifier of the parameter; `None` for other patterns.
    pub(crate) fn ident(&self) -> Option<&'a Ident> {
        match &*self.node.pat {
            Pat::Ident(pat) if pat.subpat.is_none() => Some(&pat.ident),
            _ => None,
        }
    }

    /// The type, in a form that generated code can name.
    pub(crate) fn ty(&self) -> Type {
        with_elided_lifetimes(&self.node.ty)
    }

    /// The span at which an unsuitable type is reported.
    pub(crate) fn span(&self) -> Span {
        self.node.ty.span()
    }
}

/// The type without the invisible groups of `macro_rules!`, and without parentheses.
pub(crate) fn without_groups(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => without_groups(&group.elem),
        Type::Paren(paren) => without_groups(&paren.elem),
        ty => ty,
    }
}

/// A type for generated code: named lifetimes are replaced by `'_`, since generated code does not declare them.
fn with_elided_lifetimes(ty: &Type) -> Type {
    let mut ty = ty.clone();
    LifetimeElider::default().visit_type_mut(&mut ty);
    ty
}

#[derive(Default)]
struct LifetimeElider {
    /// Lifetimes that the type itself declares, as in `for<'a> Fn(&'a str)`.
    declared: HashSet<Ident>,
}

impl LifetimeElider {
    fn visit_inside_binder(&mut self, binder: Option<&BoundLifetimes>, go_on: impl FnOnce(&mut Self)) {
        let outer = self.declared.clone();
        let lifetimes = binder.into_iter().flat_map(|binder| &binder.lifetimes);
        self.declared.extend(lifetimes.filter_map(|param| match param {
            GenericParam::Lifetime(param) => Some(param.lifetime.ident.clone()),
            _ => None,
        }));
        go_on(self);
        self.declared = outer;
    }
}

impl VisitMut for LifetimeElider {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident != "static" && !self.declared.contains(&lifetime.ident) {
            lifetime.ident = Ident::new("_", lifetime.ident.span());
        }
    }

    fn visit_type_reference_mut(&mut self, ty: &mut TypeReference) {
        visit_mut::visit_type_reference_mut(self, ty);
        ty.lifetime = ty.lifetime.take().filter(|lifetime| lifetime.ident != "_");
    }

    fn visit_bound_lifetimes_mut(&mut self, _: &mut BoundLifetimes) {}

    fn visit_type_fn_ptr_mut(&mut self, ty: &mut TypeFnPtr) {
        let binder = ty.lifetimes.clone();
        self.visit_inside_binder(binder.as_ref(), |it| visit_mut::visit_type_fn_ptr_mut(it, ty));
    }

    fn visit_trait_bound_mut(&mut self, bound: &mut syn::TraitBound) {
        let binder = bound.lifetimes.clone();
        self.visit_inside_binder(binder.as_ref(), |it| visit_mut::visit_trait_bound_mut(it, bound));
    }
}

/// A type for generated code, where `impl Trait` is not allowed: it is replaced by a type with the same output schema.
fn nameable_type(mut ty: Type) -> Type {
    ImplTraitReplacer.visit_type_mut(&mut ty);
    ty
}

struct ImplTraitReplacer;

impl VisitMut for ImplTraitReplacer {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        visit_mut::visit_type_mut(self, ty);
        if let Type::ImplTrait(opaque) = ty {
            *ty = match associated_type(opaque, "Item") {
                Some(item) => parse_quote!(__tool::Items<#item>),
                None => parse_quote!(__tool::Opaque),
            };
        }
    }
}

/// Syntax that the type of a parameter must not contain, at any depth.
#[derive(Default)]
pub(crate) struct ForbiddenTypes<'a> {
    pub(crate) opaque: Option<&'a TypeImplTrait>,
    pub(crate) mutable: Option<&'a TypeReference>,
    pub(crate) forever: Option<&'a TypeReference>,
    /// An item of a slice, array or tuple: all of them are arguments, whose items are owned.
    pub(crate) borrowed: Option<&'a TypeReference>,
}

impl<'a> ForbiddenTypes<'a> {
    pub(crate) fn find_in_type(ty: &'a Type) -> Self {
        let mut found = Self::default();
        found.visit_type(ty);
        found
    }

    fn note_borrowed_item(&mut self, ty: &'a Type) {
        if let Type::Reference(reference) = without_groups(ty)
            && reference.mutability.is_none()
            && reference.lifetime.as_ref().is_none_or(|it| it.ident != "static")
        {
            self.borrowed.get_or_insert(reference);
        }
    }
}

impl<'a> Visit<'a> for ForbiddenTypes<'a> {
    fn visit_type_impl_trait(&mut self, ty: &'a TypeImplTrait) {
        self.opaque.get_or_insert(ty);
    }

    fn visit_type_reference(&mut self, ty: &'a TypeReference) {
        if ty.mutability.is_some() {
            self.mutable.get_or_insert(ty);
        } else if ty.lifetime.as_ref().is_some_and(|it| it.ident == "static") {
            self.forever.get_or_insert(ty);
        }
        visit::visit_type_reference(self, ty);
    }

    fn visit_type_slice(&mut self, ty: &'a TypeSlice) {
        self.note_borrowed_item(&ty.elem);
        visit::visit_type_slice(self, ty);
    }

    fn visit_type_array(&mut self, ty: &'a TypeArray) {
        self.note_borrowed_item(&ty.elem);
        visit::visit_type_array(self, ty);
    }

    fn visit_type_tuple(&mut self, ty: &'a TypeTuple) {
        ty.elems.iter().for_each(|it| self.note_borrowed_item(it));
        visit::visit_type_tuple(self, ty);
    }

    // The parameters of a function pointer are allowed: `fn(&mut u8)` is not a reference.
    fn visit_type_fn_ptr(&mut self, _: &'a TypeFnPtr) {}

    fn visit_parenthesized_generic_arguments(&mut self, _: &'a ParenthesizedGenericArguments) {}
}

/// Returns the tokens that show that the function is in an `impl` block or trait: its receiver, or `Self`.
///
/// Without them, nothing tells it from a free function, and the compiler reports that its handle cannot be declared
/// there.
pub(crate) fn receiver_or_self_tokens(sig: &Signature) -> Option<TokenStream> {
    fn find_self_token(tokens: TokenStream) -> Option<TokenStream> {
        tokens.into_iter().find_map(|token| match token {
            TokenTree::Ident(ident) => (ident == "Self").then(|| ident.into_token_stream()),
            TokenTree::Group(group) => find_self_token(group.stream()),
            _ => None,
        })
    }
    match sig.receiver() {
        Some(receiver) => Some(receiver.into_token_stream()),
        None => find_self_token(sig.to_token_stream()),
    }
}

#[cfg(test)]
mod tests {
    use super::{ForbiddenTypes, with_elided_lifetimes};
    use quote::ToTokens as _;
    use syn::{Type, parse_quote};

    fn check(ty: Type, expected: Type) {
        assert_eq!(
            with_elided_lifetimes(&ty).into_token_stream().to_string(),
            expected.into_token_stream().to_string()
        );
    }

    #[test]
    fn named_lifetimes_are_left_to_inference() {
        check(
            parse_quote!(Result<Cow<'a, str>, &'b E<'static>>),
            parse_quote!(Result<Cow<'_, str>, &E<'static>>),
        );
        check(parse_quote!(&'a (dyn S + 'a)), parse_quote!(&(dyn S + '_)));
    }

    #[test]
    fn lifetimes_that_a_type_declares_are_kept() {
        check(
            parse_quote!(&(dyn for<'a> Fn(&'a str, &'b str) + 'b)),
            parse_quote!(&(dyn for<'a> Fn(&'a str, &str) + '_)),
        );
        check(parse_quote!(for<'a> fn(&'a str) -> &'a str), parse_quote!(for<'a> fn(&'a str) -> &'a str));
    }

    #[test]
    fn forbidden_syntax_is_found_at_any_depth() {
        let ty: Type = parse_quote!(Option<(&mut u8, &'static str, Vec<impl Copy>)>);
        let found = ForbiddenTypes::find_in_type(&ty);
        assert!(found.mutable.is_some() && found.forever.is_some() && found.opaque.is_some());
        let ty: Type = parse_quote!(Option<fn(&mut u8)>);
        assert!(ForbiddenTypes::find_in_type(&ty).mutable.is_none());
        for ty in [parse_quote!(&[&str]), parse_quote!(Vec<(u8, &str)>), parse_quote!([&str; 2])] {
            assert!(ForbiddenTypes::find_in_type(&ty).borrowed.is_some());
        }
        for ty in [parse_quote!(&[String]), parse_quote!(Option<&str>), parse_quote!(&dyn Fn(&str) -> u8)] {
            assert!(ForbiddenTypes::find_in_type(&ty).borrowed.is_none());
        }
    }
}
