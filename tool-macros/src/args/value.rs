//! Kinds of values that several keys have.

use darling::{Error, FromMeta, Result};
use syn::parse::Parse;
use syn::punctuated::Punctuated;
use syn::{Expr, ExprLit, Lit, LitStr, Path, Token, Type};

/// A key and its value.
#[derive(Clone)]
pub(crate) struct Key<T> {
    pub(crate) path: Path,
    pub(crate) value: T,
}

/// A value that can be read from a key.
pub(crate) trait Value: Sized {
    fn read(meta: &syn::Meta) -> Result<Self>;
}

impl<T: Value> FromMeta for Key<T> {
    fn from_meta(meta: &syn::Meta) -> Result<Self> {
        Ok(Self { path: meta.path().clone(), value: T::read(meta)? })
    }
}

/// The error for a key whose value has another form; `way_out` is the text after the key in the suggested fix.
pub(super) fn malformed_value_error(meta: &syn::Meta, takes: &str, way_out: &str) -> Error {
    let key = darling::util::path_to_string(meta.path());
    let message = format!("`{key}` takes {takes}; write `{key}{way_out}`");
    match meta {
        syn::Meta::NameValue(meta) => spanned_error(&meta.value, message),
        _ => spanned_error(meta.path(), message),
    }
}

/// An error that covers all of `node`.
pub(super) fn spanned_error(node: &impl syn::spanned::Spanned, message: impl std::fmt::Display) -> Error {
    Error::custom(message).with_span(node)
}

/// The expression of `key = EXPR`, without the invisible groups that `macro_rules!` adds.
pub(super) fn value_expression(meta: &syn::Meta) -> Option<&Expr> {
    let syn::Meta::NameValue(meta) = meta else {
        return None;
    };
    let mut expr = &meta.value;
    while let Expr::Group(group) = expr {
        expr = &group.expr;
    }
    Some(expr)
}

/// The literal of `key = LITERAL`.
pub(super) fn value_literal(meta: &syn::Meta) -> Option<&Lit> {
    match value_expression(meta)? {
        Expr::Lit(ExprLit { lit, .. }) => Some(lit),
        _ => None,
    }
}

/// The value of an integer literal, which may be negated.
pub(crate) fn integer_literal_value(expr: &Expr) -> Option<i128> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => int.base10_parse().ok(),
        Expr::Unary(syn::ExprUnary { op: syn::UnOp::Neg(_), expr, .. }) => {
            integer_literal_value(expr).map(|int| -int)
        }
        Expr::Group(group) => integer_literal_value(&group.expr),
        _ => None,
    }
}

/// The items of `key(a, b)`.
pub(super) fn list_items<T: Parse>(meta: &syn::Meta) -> Option<Result<Vec<T>>> {
    let syn::Meta::List(list) = meta else {
        return None;
    };
    // With `parse_args_with`, a missing token is reported at the closing parenthesis.
    let items = list.parse_args_with(Punctuated::<T, Token![,]>::parse_terminated);
    Some(items.map(|items| items.into_iter().collect()).map_err(Error::from))
}

impl Value for LitStr {
    fn read(meta: &syn::Meta) -> Result<Self> {
        match value_literal(meta) {
            Some(Lit::Str(text)) if text.value().trim().is_empty() => {
                let key = darling::util::path_to_string(meta.path());
                Err(spanned_error(text, format!("`{key}` is empty; remove it or write a text")))
            }
            Some(Lit::Str(text)) => Ok(text.clone()),
            _ => Err(malformed_value_error(meta, "a string", " = \"..\"")),
        }
    }
}

impl Value for bool {
    fn read(meta: &syn::Meta) -> Result<Self> {
        match (meta, value_literal(meta)) {
            (syn::Meta::Path(_), _) => Ok(true),
            (_, Some(Lit::Bool(value))) => Ok(value.value),
            _ => Err(malformed_value_error(meta, "nothing, `true` or `false`", "")),
        }
    }
}

/// A key without a value.
pub(crate) struct Word;

impl Value for Word {
    fn read(meta: &syn::Meta) -> Result<Self> {
        match meta {
            syn::Meta::Path(_) => Ok(Self),
            _ => Err(malformed_value_error(meta, "no value", "")),
        }
    }
}

impl Value for Expr {
    fn read(meta: &syn::Meta) -> Result<Self> {
        value_expression(meta).cloned().ok_or_else(|| {
            let key = darling::util::path_to_string(meta.path());
            let (takes, way_out) = match key.as_str() {
                "description" | "system_prompt" => ("a string", " = \"..\""),
                "input_schema" | "output_schema" => ("a JSON Schema", " = json!({ .. })"),
                "max_result_size" => ("a number of bytes", " = 65536"),
                _ => ("a value", " = .."),
            };
            malformed_value_error(meta, takes, way_out)
        })
    }
}

impl Value for Path {
    fn read(meta: &syn::Meta) -> Result<Self> {
        match value_expression(meta) {
            Some(Expr::Path(path)) if path.qself.is_none() => Ok(path.path.clone()),
            _ => crate_path(meta).ok_or_else(|| malformed_value_error(meta, "a path", " = some::path")),
        }
    }
}

/// `crate = crate` and `crate = "path"`, the forms of `serde`.
fn crate_path(meta: &syn::Meta) -> Option<Path> {
    if !meta.path().is_ident("crate") {
        return None;
    }
    match value_literal(meta)? {
        Lit::Str(text) => text.parse_with(Path::parse_mod_style).ok(),
        _ => None,
    }
}

impl Value for Vec<Expr> {
    fn read(meta: &syn::Meta) -> Result<Self> {
        list_items(meta).unwrap_or_else(|| Err(malformed_value_error(meta, "a list", "(.., ..)")))
    }
}

impl Value for Vec<LitStr> {
    fn read(meta: &syn::Meta) -> Result<Self> {
        let texts: Vec<LitStr> = list_items::<Expr>(meta)
            .unwrap_or_else(|| Err(malformed_value_error(meta, "strings", "(\"..\", \"..\")")))?
            .into_iter()
            .map(|expr| match expr {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text),
                other => Err(spanned_error(&other, "expected a string, as in `\"..\"`")),
            })
            .collect::<Result<_>>()?;
        for (at, text) in texts.iter().enumerate() {
            if text.value().trim().is_empty() {
                return Err(spanned_error(text, "empty string; remove it or write a text"));
            }
            if texts.iter().take(at).any(|earlier| earlier.value() == text.value()) {
                let message = format!("duplicate `{}`; give each value once", text.value());
                return Err(spanned_error(text, message));
            }
        }
        Ok(texts)
    }
}

impl Value for Vec<Type> {
    fn read(meta: &syn::Meta) -> Result<Self> {
        list_items(meta).unwrap_or_else(|| Err(malformed_value_error(meta, "types", "(Db, dyn Store)")))
    }
}
