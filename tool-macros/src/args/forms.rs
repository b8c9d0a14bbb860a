//! Values of particular keys.

use darling::{Error, FromMeta, Result};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Ident, Lit, LitStr, Path, Token};

use super::value::{
    Key, Value, list_items, malformed_value_error, spanned_error, value_expression, value_literal,
};
use crate::names::RenameRule;

/// A duration: `"250ms"`, `"30s"`, `"5m"`, `"1h"`.
pub(crate) struct Millis(pub(crate) u64);

impl Value for Millis {
    fn read(meta: &syn::Meta) -> Result<Self> {
        let (text, millis) = parse_duration(meta)?;
        match millis {
            0 => Err(spanned_error(text, "the duration must not be zero; remove the key for no limit")),
            millis => Ok(Self(millis)),
        }
    }
}

/// A duration that may be zero, such as `"0s"`.
pub(crate) struct Grace(pub(crate) u64);

impl Value for Grace {
    fn read(meta: &syn::Meta) -> Result<Self> {
        parse_duration(meta).map(|(_, millis)| Self(millis))
    }
}

/// A duration in milliseconds, and its literal.
fn parse_duration(meta: &syn::Meta) -> Result<(&LitStr, u64)> {
    let takes = || malformed_value_error(meta, "a duration such as \"250ms\", \"30s\", \"5m\"", " = \"30s\"");
    let Some(Lit::Str(text)) = value_literal(meta) else {
        return Err(takes());
    };
    let written = text.value();
    let digits = written.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match written.get(digits.len()..) {
        Some("ms") => 1,
        Some("s") => 1_000,
        Some("m") => 60_000,
        Some("h") => 3_600_000,
        _ => return Err(takes()),
    };
    let millis = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(factor));
    millis.map(|millis| (text, millis)).ok_or_else(takes)
}

/// `retry = 3` or `retry(attempts = 3, initial = "200ms", max = "30s", multiplier = 2.0, jitter, when = path)`.
#[derive(FromMeta, Default)]
#[darling(default)]
pub(crate) struct Retry {
    pub(crate) attempts: Option<Key<u32>>,
    pub(crate) initial: Option<Key<Millis>>,
    pub(crate) max: Option<Key<Millis>>,
    pub(crate) multiplier: Option<Key<f64>>,
    pub(crate) jitter: Option<Key<bool>>,
    pub(crate) when: Option<Key<Path>>,
}

impl Value for Retry {
    fn read(meta: &syn::Meta) -> Result<Self> {
        match meta {
            syn::Meta::Path(_) => Ok(Self::default()),
            syn::Meta::List(_) => <Self as FromMeta>::from_meta(meta),
            syn::Meta::NameValue(_) => Ok(Self {
                attempts: Some(Key { path: meta.path().clone(), value: u32::read(meta)? }),
                ..Self::default()
            }),
        }
    }
}

impl Value for u32 {
    fn read(meta: &syn::Meta) -> Result<Self> {
        match value_literal(meta) {
            Some(Lit::Int(int)) => match int.base10_parse() {
                Ok(0) => {
                    Err(spanned_error(int, "`attempts` must be at least 1; write `retry = 1` for no retries"))
                }
                Ok(attempts) => Ok(attempts),
                Err(error) => Err(error.into()),
            },
            _ => Err(malformed_value_error(meta, "a number", " = 3")),
        }
    }
}

impl Value for f64 {
    fn read(meta: &syn::Meta) -> Result<Self> {
        let number = match value_literal(meta) {
            Some(Lit::Float(float)) => float.base10_parse().ok(),
            Some(Lit::Int(int)) => int.base10_parse().ok(),
            _ => None,
        };
        number
            .filter(|number| *number >= 1.0)
            .ok_or_else(|| malformed_value_error(meta, "a number from 1.0", " = 2.0"))
    }
}

/// `confirm`, `confirm = false` or `confirm = path`.
pub(crate) enum Confirm {
    Constant(bool),
    When(Path),
}

impl Value for Confirm {
    fn read(meta: &syn::Meta) -> Result<Self> {
        bool::read(meta)
            .map(Self::Constant)
            .or_else(|_| Path::read(meta).map(Self::When))
            .map_err(|_| malformed_value_error(meta, "nothing or a function", " = path::of::function"))
    }
}

/// `output_schema = EXPR` or `output_schema = false`.
pub(crate) enum OutputSchema {
    Off,
    Given(Expr),
}

impl Value for OutputSchema {
    fn read(meta: &syn::Meta) -> Result<Self> {
        match value_literal(meta) {
            Some(Lit::Bool(off)) if !off.value => Ok(Self::Off),
            Some(Lit::Bool(_)) => Err(malformed_value_error(meta, "a schema or `false`", " = false")),
            _ => Expr::read(meta).map(Self::Given),
        }
    }
}

/// `unknown_fields = "ignore"` or `"deny"`.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Unknown {
    Ignore,
    Deny,
}

impl Value for Unknown {
    fn read(meta: &syn::Meta) -> Result<Self> {
        match value_literal(meta) {
            Some(Lit::Str(text)) if text.value() == "ignore" => Ok(Self::Ignore),
            Some(Lit::Str(text)) if text.value() == "deny" => Ok(Self::Deny),
            _ => Err(malformed_value_error(meta, "\"ignore\" or \"deny\"", " = \"ignore\"")),
        }
    }
}

impl Value for RenameRule {
    fn read(meta: &syn::Meta) -> Result<Self> {
        let Some(Lit::Str(text)) = value_literal(meta) else {
            return Err(malformed_value_error(meta, "a case", " = \"camelCase\""));
        };
        let known = |(name, _): &&(&str, Self)| *name == text.value();
        match Self::BY_NAME.iter().find(known) {
            Some((_, rule)) => Ok(*rule),
            None => {
                // A list of all cases would be too long; the nearest one is named, if there is one.
                let cases = Self::BY_NAME.map(|(name, _)| name);
                let nearest = Error::unknown_value_with_alts(&text.value(), &cases).with_span(text);
                if nearest.to_string().contains("Did you mean") {
                    return Err(nearest);
                }
                let message =
                    format!("unknown case `{}`; use one of serde, such as `camelCase`", text.value());
                Err(spanned_error(text, message))
            }
        }
    }
}

/// `handle = Name` or `handle = none`.
#[derive(Clone)]
pub(crate) enum Handle {
    None,
    Named(Ident),
}

impl Value for Handle {
    fn read(meta: &syn::Meta) -> Result<Self> {
        let ident = match value_expression(meta) {
            Some(Expr::Path(path)) => path.path.get_ident(),
            _ => None,
        };
        match ident {
            Some(ident) if ident == "none" => Ok(Self::None),
            Some(ident) => Ok(Self::Named(ident.clone())),
            None => Err(malformed_value_error(meta, "a name for the type, or `none`", " = Name")),
        }
    }
}

/// One `key = EXPR` of `meta(..)`; the key is an identifier or a string.
pub(crate) struct Meta {
    pub(crate) key: LitStr,
    pub(crate) value: Expr,
}

impl Parse for Meta {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let key = if input.peek(LitStr) {
            input.parse()?
        } else {
            let ident = input.call(Ident::parse_any)?;
            LitStr::new(&crate::names::unraw_name(&ident), ident.span())
        };
        if !input.peek(Token![=]) {
            return Err(syn::Error::new(key.span(), "expected a value, as in `meta(owner = \"ops\")`"));
        }
        input.parse::<Token![=]>()?;
        Ok(Self { key, value: input.parse()? })
    }
}

impl Value for Vec<Meta> {
    fn read(meta: &syn::Meta) -> Result<Self> {
        let entries: Self = list_items(meta)
            .unwrap_or_else(|| Err(malformed_value_error(meta, "entries", "(key = value)")))?;
        for (at, entry) in entries.iter().enumerate() {
            let key = entry.key.value();
            if entries.iter().take(at).any(|earlier| earlier.key.value() == key) {
                return Err(spanned_error(&entry.key, format!("duplicate key `{key}`; give each key once")));
            }
        }
        Ok(entries)
    }
}

/// One `TYPE as "name"` of `instantiate(..)`; for several parameters `(TYPE, 3) as "name"`.
pub(crate) struct Instance {
    /// The tokens before `as`; the type parameters of the function decide how they are parsed.
    pub(crate) arguments: TokenStream,
    pub(crate) name: LitStr,
}

impl Parse for Instance {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut arguments = TokenStream::new();
        let mut angles = 0_i32;
        // The `as` of a path such as `<T as Trait>::Type` is not followed by a string.
        while !(input.peek(Token![as]) && input.peek2(LitStr)) {
            if input.is_empty() || angles <= 0 && input.peek(Token![,]) {
                let message = "name each tool, as in `instantiate(i64 as \"sum_int\")`";
                return Err(match arguments.is_empty() {
                    true => input.error(message),
                    false => syn::Error::new_spanned(&arguments, message),
                });
            }
            if input.peek(Token![->]) {
                input.parse::<Token![->]>()?.to_tokens(&mut arguments);
                continue;
            }
            angles += i32::from(input.peek(Token![<])) - i32::from(input.peek(Token![>]));
            input.parse::<TokenTree>()?.to_tokens(&mut arguments);
        }
        input.parse::<Token![as]>()?;
        Ok(Self { arguments, name: input.parse()? })
    }
}

impl Value for Vec<Instance> {
    fn read(meta: &syn::Meta) -> Result<Self> {
        let takes = || malformed_value_error(meta, "types with names", "(i64 as \"sum_int\")");
        match list_items::<Instance>(meta) {
            Some(Ok(instances)) if instances.is_empty() => Err(takes()),
            Some(instances) => instances,
            None => Err(takes()),
        }
    }
}
