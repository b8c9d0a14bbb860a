//! `#[schemars(..)]` on a parameter.
//!
//! The keys have the same meaning as on a field with `schemars`; each becomes an entry in the table of constraints of
//! the parameter. An expression becomes a function, since it need not be constant.

use darling::ast::NestedMeta;
use darling::{Error, FromMeta, Result};
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned as _;
use syn::{Expr, Lit, LitStr, Token};

use super::integer_literal_value;
use super::value::{Key, Value, Word, list_items, malformed_value_error, spanned_error, value_literal};
use crate::errors::Errors;

/// The keys that describe a value.
#[derive(FromMeta, Default)]
#[darling(default)]
pub(super) struct SchemarsKeys {
    title: Option<Key<Expr>>,
    pub(super) description: Option<Key<Expr>>,
    #[darling(multiple)]
    example: Vec<Key<Expr>>,
    #[darling(multiple)]
    extend: Vec<Key<Vec<Extension>>>,
    deprecated: Option<Key<Word>>,
    pub(super) required: Option<Key<Word>>,
    #[darling(flatten)]
    limits: SchemaLimits,
}

/// The keys that limit a value; `inner(..)` has the same keys for the items of a list.
#[derive(FromMeta, Default)]
#[darling(default)]
struct SchemaLimits {
    range: Option<Key<Bounds>>,
    length: Option<Key<Bounds>>,
    pattern: Option<Key<Pattern>>,
    regex: Option<Key<Regex>>,
    contains: Option<Key<Contains>>,
    email: Option<Key<Word>>,
    url: Option<Key<Word>>,
    ip: Option<Key<Word>>,
    ipv4: Option<Key<Word>>,
    ipv6: Option<Key<Word>>,
    inner: Option<Key<Box<SchemaLimits>>>,
}

/// The constraints of a parameter, ready for its table.
#[derive(Default)]
pub(crate) struct Constraints {
    pub(crate) entries: Vec<TokenStream>,
    /// Requirements on the type of the parameter, as functions of `__private::check`.
    pub(crate) checks: Vec<&'static str>,
}

impl SchemarsKeys {
    pub(super) fn constraints(&self, examples: &[Key<Expr>], deprecated: bool) -> Constraints {
        let mut found = Constraints::default();
        self.limits.add_constraints_to(&mut found);
        if let Some(title) = &self.title {
            found.entries.push(constraint_with_value("Title", &title.value));
        }
        if deprecated || self.deprecated.is_some() {
            found.entries.push(quote!(__tool::Constraint::Deprecated));
        }
        for example in self.example.iter().chain(examples) {
            found.entries.push(constraint_with_value("Example", &example.value));
        }
        if self.required.is_some() {
            found.entries.push(quote!(__tool::Constraint::Required));
        }
        for Extension { key, value } in self.extend.iter().flat_map(|extend| &extend.value) {
            found.entries.push(quote! {
                __tool::Constraint::Extend(#key, || __tool::serde_json::json!(#value))
            });
        }
        found
    }

    /// Reports contradictions between keys.
    pub(super) fn check(&self, errors: &Errors) {
        self.limits.check(errors);
    }
}

impl SchemaLimits {
    fn add_constraints_to(&self, found: &mut Constraints) {
        let Constraints { entries, checks } = found;
        let bounds = [
            (&self.range, "Minimum", "Maximum", "ranged"),
            (&self.length, "MinLength", "MaxLength", "measured"),
        ];
        for (bounds, minimum, maximum, check) in bounds {
            let Some(Key { value: bounds, .. }) = bounds else {
                continue;
            };
            checks.push(check);
            let equal = bounds.equal.as_ref();
            entries
                .extend(bounds.min.as_ref().or(equal).map(|it| constraint_with_value(minimum, &it.value.0)));
            entries
                .extend(bounds.max.as_ref().or(equal).map(|it| constraint_with_value(maximum, &it.value.0)));
        }
        let pattern = self.regex.as_ref().map(|it| &it.value.0);
        let pattern = pattern.or(self.pattern.as_ref().map(|it| &it.value.0));
        let contains = self.contains.as_ref().map(|it| &it.value.0);
        entries.extend(pattern.map(|it| text_constraint_with_value("Pattern", it)));
        entries.extend(contains.map(|it| text_constraint_with_value("Contains", it)));
        let formats: Vec<&str> = self.present_formats().map(|(_, format, _)| format).collect();
        entries.extend(formats.iter().map(|it| quote!(__tool::Constraint::Format(#it))));
        if pattern.is_some() || contains.is_some() || !formats.is_empty() {
            checks.push("textual");
        }
        if let Some(Key { value: inner, .. }) = &self.inner {
            let mut of_items = Constraints::default();
            inner.add_constraints_to(&mut of_items);
            let of_items = of_items.entries;
            entries.push(quote!(__tool::Constraint::Inner(&[#(#of_items),*])));
        }
    }

    /// The format keys that are present: the key, the value of `format` in the schema, and the place.
    fn present_formats(&self) -> impl Iterator<Item = (&'static str, &'static str, &Key<Word>)> {
        [
            ("email", "email", &self.email),
            ("url", "uri", &self.url),
            ("ip", "ip", &self.ip),
            ("ipv4", "ipv4", &self.ipv4),
            ("ipv6", "ipv6", &self.ipv6),
        ]
        .into_iter()
        .filter_map(|(word, format, key)| Some((word, format, key.as_ref()?)))
    }

    fn check(&self, errors: &Errors) {
        let mut patterns = [
            self.regex.as_ref().map(|key| &key.path),
            self.pattern.as_ref().map(|key| &key.path),
            self.contains.as_ref().map(|key| &key.path),
        ]
        .into_iter()
        .flatten();
        if let (Some(_), Some(second)) = (patterns.next(), patterns.next()) {
            errors.report_at(
                second,
                "a value can have one pattern; keep one of `regex`, `pattern`, `contains`",
            );
        }
        let mut formats = self.present_formats();
        if let (Some((first, ..)), Some((second, _, key))) = (formats.next(), formats.next()) {
            errors.report_at(&key.path, format!("a value can have one format; keep `{first}` or `{second}`"));
        }
        for bounds in [&self.range, &self.length].into_iter().flatten() {
            bounds.value.check(errors);
        }
        if let Some(inner) = &self.inner {
            inner.value.check(errors);
        }
    }
}

/// `__private::Constraint::Kind` with a function that returns its value.
fn constraint_with_value(kind: &str, expr: &Expr) -> TokenStream {
    let kind = Ident::new(kind, Span::call_site());
    // A value that cannot be serialized is reported at the expression.
    let value = quote_spanned!(expr.span()=> __tool::json(&(#expr)));
    quote!(__tool::Constraint::#kind(|| #value))
}

/// The same for a pattern: like `schemars`, accepts any value with `Display`, such as a compiled regex.
fn text_constraint_with_value(kind: &str, expr: &Expr) -> TokenStream {
    match expr {
        Expr::Lit(_) => constraint_with_value(kind, expr),
        _ => {
            let kind = Ident::new(kind, Span::call_site());
            quote! {
                __tool::Constraint::#kind(|| __tool::json(&::std::string::ToString::to_string(&(#expr))))
            }
        }
    }
}

/// `range(min = .., max = ..)`, `length(equal = ..)`.
#[derive(FromMeta, Default)]
#[darling(default)]
struct Bounds {
    min: Option<Key<Bound>>,
    max: Option<Key<Bound>>,
    equal: Option<Key<Bound>>,
}

impl Value for Bounds {
    fn read(meta: &syn::Meta) -> Result<Self> {
        match meta {
            syn::Meta::List(list) if !list.tokens.is_empty() => <Self as FromMeta>::from_meta(meta),
            _ => Err(malformed_value_error(meta, "bounds", "(min = 1, max = 9)")),
        }
    }
}

impl Bounds {
    fn check(&self, errors: &Errors) {
        if let (Some(equal), true) = (&self.equal, self.min.is_some() || self.max.is_some()) {
            errors.report_at(&equal.path, "`equal` sets both bounds; keep it, or `min` and `max`");
        }
        let literal = |bound: &Option<Key<Bound>>| integer_literal_value(&bound.as_ref()?.value.0);
        if let (Some(min), Some(max), Some(key)) = (literal(&self.min), literal(&self.max), &self.min)
            && min > max
        {
            errors.report_at(
                &key.value.0,
                format!("the minimum {min} is greater than the maximum {max}; swap the bounds"),
            );
        }
    }
}

/// A bound; as in `schemars`, a string contains an expression.
struct Bound(Expr);

impl Value for Bound {
    fn read(meta: &syn::Meta) -> Result<Self> {
        match value_literal(meta) {
            Some(Lit::Str(text)) => Ok(Self(text.parse()?)),
            _ => Expr::read(meta).map(Self),
        }
    }
}

/// `pattern("^a")`.
struct Pattern(Expr);

impl Value for Pattern {
    fn read(meta: &syn::Meta) -> Result<Self> {
        match list_items::<Expr>(meta).transpose()?.map(<[Expr; 1]>::try_from) {
            Some(Ok([pattern])) => Ok(Self(pattern)),
            _ => Err(malformed_value_error(meta, "a pattern", "(\"^[a-z]+$\")")),
        }
    }
}

/// `regex(pattern = "^a")`.
struct Regex(Expr);

#[derive(FromMeta)]
struct RegexKeys {
    pattern: Option<Key<Expr>>,
}

impl Value for Regex {
    fn read(meta: &syn::Meta) -> Result<Self> {
        if let syn::Meta::List(list) = meta
            && !list.tokens.is_empty()
            && let Some(pattern) = RegexKeys::from_meta(meta)?.pattern
        {
            return Ok(Self(pattern.value));
        }
        Err(malformed_value_error(meta, "a pattern", "(pattern = \"^[a-z]+$\")"))
    }
}

/// `contains("a")` or `contains(pattern = "a")`.
struct Contains(Expr);

impl Value for Contains {
    fn read(meta: &syn::Meta) -> Result<Self> {
        let is_keyed = |input: ParseStream<'_>| -> syn::Result<bool> {
            let keyed = input.peek(syn::Ident) && input.peek2(Token![=]);
            input.parse::<TokenStream>()?;
            Ok(keyed)
        };
        match meta {
            syn::Meta::List(list) if list.parse_args_with(is_keyed)? => {
                Regex::read(meta).map(|it| Self(it.0))
            }
            _ => Pattern::read(meta).map(|it| Self(it.0)),
        }
    }
}

impl Value for Box<SchemaLimits> {
    fn read(meta: &syn::Meta) -> Result<Self> {
        match meta {
            syn::Meta::List(list) if !list.tokens.is_empty() => SchemaLimits::from_meta(meta).map(Box::new),
            _ => Err(malformed_value_error(meta, "limits of the items", "(length(min = 1))")),
        }
    }
}

/// One `"key" = JSON` of `extend(..)`.
struct Extension {
    key: LitStr,
    value: TokenStream,
}

impl Parse for Extension {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let key = input.parse()?;
        input.parse::<Token![=]>()?;
        let mut value = TokenStream::new();
        while !input.is_empty() && !input.peek(Token![,]) {
            input.parse::<TokenTree>()?.to_tokens(&mut value);
        }
        match value.is_empty() {
            true => Err(input.error("expected a JSON value")),
            false => Ok(Self { key, value }),
        }
    }
}

impl Value for Vec<Extension> {
    fn read(meta: &syn::Meta) -> Result<Self> {
        let example = "(\"x-unit\" = \"km\")";
        let extensions: Self = list_items(meta)
            .unwrap_or_else(|| Err(malformed_value_error(meta, "keys with values", example)))?;
        for (at, extension) in extensions.iter().enumerate() {
            let key = extension.key.value();
            if extensions.iter().take(at).any(|earlier| earlier.key.value() == key) {
                let message = format!("duplicate key `{key}`; give each key once");
                return Err(spanned_error(&extension.key, message));
            }
        }
        Ok(extensions)
    }
}

/// The keys of `#[schemars(..)]` that `#[arg(..)]` does not have.
pub(super) const DESCRIBE_A_VALUE: &[&str] = &[
    "title",
    "description",
    "extend",
    "deprecated",
    "required",
    "range",
    "length",
    "pattern",
    "regex",
    "contains",
    "email",
    "url",
    "ip",
    "ipv4",
    "ipv6",
    "inner",
];

/// Keys of `schemars` that apply to fields only.
pub(super) const NEED_A_FIELD: &[&str] = &[
    "flatten",
    "inline",
    "schema_with",
    "skip",
    "skip_deserializing",
    "skip_serializing",
    "skip_serializing_if",
    "serialize_with",
    "deserialize_with",
    "transform",
    "with",
    "bound",
];

/// Keys that affect decoding, which `schemars` does not do.
pub(super) const BELONG_TO_SERDE: &[&str] = &["rename", "alias", "default"];

/// The error for a key that only a field can have.
pub(super) fn needs_field_error(path: &syn::Path) -> Error {
    let key = darling::util::path_to_string(path);
    spanned_error(path, format!("`{key}` requires a field; put the parameters into an argument struct"))
}

/// Requirements of the `#[schemars(..)]` attributes of a field on its type, as functions of `__private::check`.
///
/// `schemars` reads these attributes itself and reports their mistakes, but it accepts a limit that does not apply to
/// the type.
pub(crate) fn checks_for_schemars_limits(attrs: &[syn::Attribute]) -> Vec<&'static str> {
    let keys: Vec<String> = attrs
        .iter()
        .filter(|attr| attr.path().is_ident("schemars") || attr.path().is_ident("serde"))
        .filter_map(|attr| attr.meta.require_list().ok())
        .filter_map(|list| NestedMeta::parse_meta_list(list.tokens.clone()).ok())
        .flatten()
        .map(|item| super::key_name(&item))
        .collect();
    let has = |wanted: &[&str]| keys.iter().any(|key| wanted.contains(&key.as_str()));
    if has(&["with", "schema_with", "deserialize_with"]) {
        return Vec::new();
    }
    let checks = [
        ("ranged", &["range"][..]),
        ("measured", &["length"]),
        ("textual", &["regex", "pattern", "contains", "email", "url", "ip", "ipv4", "ipv6"]),
    ];
    checks.iter().filter(|(_, keys)| has(keys)).map(|(check, _)| *check).collect()
}
