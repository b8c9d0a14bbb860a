//! The helper attributes of a parameter: doc comments, `#[arg(..)]`, `#[args]`, `#[serde(..)]` and
//! `#[schemars(..)]`.
//!
//! Rust allows none of them on a parameter, so the expansion removes them.

use darling::ast::NestedMeta;
use darling::{FromMeta, Result};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Path};

use super::schema::{self, BELONG_TO_SERDE, Constraints, NEED_A_FIELD, SchemarsKeys};
use super::value::{Key, Value, malformed_value_error, spanned_error, value_expression, value_literal};
use super::{is_key_or_report, read_keys_of_items};
use crate::docs;
use crate::errors::Errors;

/// The contents of the helper attributes of one parameter.
#[derive(std::default::Default)]
pub(crate) struct HelperAttributes {
    /// `#[args]`, if present.
    pub(crate) args: Option<Path>,
    /// The first attribute that only a property can carry.
    pub(crate) of_property: Option<Path>,
    pub(crate) description: Option<TokenStream>,
    pub(crate) rename: Option<LitStr>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) default: Option<ParameterDefault>,
    pub(crate) secret: bool,
    pub(crate) constraints: Constraints,
}

/// The default of an argument.
pub(crate) enum ParameterDefault {
    /// `Default::default()`.
    OfType,
    /// An expression; a string literal is converted, so that it fits a `String`.
    Value(Expr),
    /// A function that returns the value.
    From(Path),
}

/// `#[arg(..)]`.
#[derive(FromMeta, std::default::Default)]
#[darling(default)]
struct ArgKeys {
    default: Option<Key<ParameterDefault>>,
    #[darling(multiple)]
    example: Vec<Key<Expr>>,
    secret: Option<Key<bool>>,
}

/// The keys of `#[serde(..)]` that a parameter can have.
#[derive(FromMeta, std::default::Default)]
#[darling(default)]
struct SerdeKeys {
    rename: Option<Key<Rename>>,
    #[darling(multiple)]
    alias: Vec<Key<LitStr>>,
    default: Option<Key<SerdeDefault>>,
}

/// Keys of `serde` that apply to fields only.
const NEED_A_FIELD_OF_SERDE: &[&str] = &[
    "borrow",
    "bound",
    "deserialize_with",
    "flatten",
    "getter",
    "serialize_with",
    "skip",
    "skip_deserializing",
    "skip_serializing",
    "skip_serializing_if",
    "with",
];

/// Returns `true` if an attribute of a parameter is a helper attribute, which the expansion removes.
pub(crate) fn is_helper(attr: &Attribute) -> bool {
    let ours = ["arg", "args", "serde", "schemars", "deprecated"];
    docs::is_doc(attr) || ours.iter().any(|name| attr.path().is_ident(name))
}

impl HelperAttributes {
    pub(crate) fn read(attrs: &[Attribute], errors: &Errors) -> Self {
        let mut found = Self { description: docs::description(attrs), ..Self::default() };
        for attr in attrs {
            let path = attr.path();
            if path.is_ident("args") {
                if attr.meta.require_path_only().is_err() {
                    errors.report_at(attr, "`#[args]` has no keys; write `#[args]`");
                }
                found.args = Some(path.clone());
            } else if path.is_ident("cfg") || path.is_ident("cfg_attr") {
                errors.report_at(
                    attr,
                    "a parameter cannot have a `#[cfg]`; put it on the function, and write one function for each case",
                );
            } else if is_helper(attr) && !docs::is_doc(attr) {
                found.of_property.get_or_insert_with(|| path.clone());
            }
        }
        let mut args = attribute_items(attrs, "arg", errors);
        args.retain(|item| !report_if_of_another_attribute(item, errors));
        let arg: ArgKeys = read_keys_of_items(args, &[], errors);
        let serde = SerdeKeys::read(attribute_items(attrs, "serde", errors), errors);
        let schemars = read_schemars_keys(attribute_items(attrs, "schemars", errors), errors);
        schemars.check(errors);
        let deprecated = attrs.iter().any(|attr| attr.path().is_ident("deprecated"));

        found.secret = arg.secret.is_some_and(|key| key.value);
        found.constraints = schemars.constraints(&arg.example, deprecated);
        if let Some(description) = schemars.description {
            found.description = Some(description.value.into_token_stream());
        }
        found.rename = serde.rename.map(|key| key.value.0);
        found.aliases = serde.alias.into_iter().map(|key| key.value).collect();
        if let (Some(_), Some(serde)) = (&arg.default, &serde.default) {
            errors.report_at(
                &serde.path,
                "duplicate default, also in `#[arg(default = ..)]`; keep one of the two",
            );
        }
        found.default = arg.default.map(|key| key.value).or(serde.default.map(|key| key.value.0));
        if let (Some(required), Some(_)) = (&schemars.required, &found.default) {
            errors
                .report_at(&required.path, "a property with a default is not required; keep one of the two");
        }
        found
    }
}

/// The keys of all attributes of one name.
fn attribute_items(attrs: &[Attribute], name: &str, errors: &Errors) -> Vec<NestedMeta> {
    attrs
        .iter()
        .filter(|attr| attr.path().is_ident(name))
        .filter_map(|attr| {
            let list = errors.value_or_report(attr.meta.require_list())?;
            errors.value_or_report(NestedMeta::parse_meta_list(list.tokens.clone()))
        })
        .flatten()
        .filter(|item| is_key_or_report(item, errors))
        .collect()
}

impl SerdeKeys {
    fn read(mut items: Vec<NestedMeta>, errors: &Errors) -> Self {
        items.retain(|item| !report_if_needs_field(item, NEED_A_FIELD_OF_SERDE, errors));
        read_keys_of_items(items, &[], errors)
    }
}

fn read_schemars_keys(mut items: Vec<NestedMeta>, errors: &Errors) -> SchemarsKeys {
    items.retain(|item| !report_if_needs_field(item, NEED_A_FIELD, errors));
    items.retain(|item| {
        let key = super::key_name(item);
        let of_serde = BELONG_TO_SERDE.contains(&key.as_str());
        if of_serde {
            let message = format!(
                "`{key}` in `#[schemars(..)]` has no effect on decoding; write `#[serde({key} = ..)]`"
            );
            errors.report_at(item, message);
        }
        !of_serde
    });
    read_keys_of_items(items, &[], errors)
}

/// Reports a key of `#[serde(..)]` or `#[schemars(..)]` that is written in `#[arg(..)]`.
fn report_if_of_another_attribute(item: &NestedMeta, errors: &Errors) -> bool {
    let key = super::key_name(item);
    let Some(attribute) = owner_attribute_of_key(&key) else { return false };
    errors.report_at(item, format!("`{key}` is not a key of `#[arg(..)]`; move it to `#[{attribute}(..)]`"));
    true
}

/// Returns the attribute whose key `key` describes a parameter or field.
fn owner_attribute_of_key(key: &str) -> Option<&'static str> {
    match key {
        "rename" | "alias" => Some("serde"),
        key if schema::DESCRIBE_A_VALUE.contains(&key) => Some("schemars"),
        _ => None,
    }
}

/// Returns the attribute that has the effect of `#[arg(key ..)]` on a field.
pub(crate) fn field_attribute_of_key(key: &str) -> Option<&'static str> {
    owner_attribute_of_key(key).or_else(|| (key == "example").then_some("schemars"))
}

fn report_if_needs_field(item: &NestedMeta, keys: &[&str], errors: &Errors) -> bool {
    let path = match item {
        NestedMeta::Meta(meta) => meta.path(),
        NestedMeta::NameValueInvalidExpr(meta) => &meta.path,
        NestedMeta::Lit(_) => return false,
    };
    let found = keys.iter().any(|key| path.is_ident(key));
    if found {
        errors.report_key_errors(schema::needs_field_error(path), &[]);
    }
    found
}

impl Value for ParameterDefault {
    fn read(meta: &syn::Meta) -> Result<Self> {
        match value_expression(meta) {
            Some(value) => Ok(Self::Value(value.clone())),
            None if matches!(meta, syn::Meta::Path(_)) => Ok(Self::OfType),
            None => Err(malformed_value_error(meta, "a value", " = ..")),
        }
    }
}

impl ParameterDefault {
    /// A function that returns the value; a type without `Default` is reported at `type_span`.
    pub(crate) fn value_function(&self, type_span: Span) -> TokenStream {
        match self {
            Self::OfType => quote_spanned!(type_span=> ::core::default::Default::default),
            Self::Value(text @ Expr::Lit(ExprLit { lit: Lit::Str(_), .. })) => {
                // A type that no string converts to is reported at the string.
                quote_spanned!(text.span()=> || __tool::default_from_text(#text))
            }
            Self::Value(value) => quote!(|| #value),
            Self::From(path) => path.into_token_stream(),
        }
    }
}

/// `default` or `default = "path"`.
struct SerdeDefault(ParameterDefault);

impl Value for SerdeDefault {
    fn read(meta: &syn::Meta) -> Result<Self> {
        match (meta, value_literal(meta)) {
            (syn::Meta::Path(_), _) => Ok(Self(ParameterDefault::OfType)),
            (_, Some(Lit::Str(path))) => match path.parse() {
                Ok(path) => Ok(Self(ParameterDefault::From(path))),
                Err(_) => {
                    Err(spanned_error(path, "this is not a path; write a value as `#[arg(default = ..)]`"))
                }
            },
            _ => Err(malformed_value_error(meta, "a function in a string", " = \"path\"")),
        }
    }
}

/// `rename = ".."` or `rename(deserialize = "..")`; a parameter is never serialized.
struct Rename(LitStr);

#[derive(FromMeta)]
struct RenameKeys {
    deserialize: Option<Key<LitStr>>,
    #[expect(dead_code, reason = "`serde` accepts the key, but a parameter is never serialized")]
    serialize: Option<Key<LitStr>>,
}

impl Value for Rename {
    fn read(meta: &syn::Meta) -> Result<Self> {
        match meta {
            syn::Meta::List(_) => match RenameKeys::from_meta(meta)?.deserialize {
                Some(name) => Ok(Self(name.value)),
                None => Err(malformed_value_error(meta, "a name", " = \"..\"")),
            },
            _ => LitStr::read(meta).map(Self),
        }
    }
}

impl HelperAttributes {
    /// The place of `#[args]` or of the first attribute that only a property can carry.
    pub(crate) fn property_attribute_span(&self) -> Option<Span> {
        self.of_property.as_ref().map(|path| path.span())
    }
}
