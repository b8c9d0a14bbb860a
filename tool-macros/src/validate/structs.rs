//! Rules for argument structs and enums, and for structs that are tools.

use darling::ast::NestedMeta;
use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{Attribute, Data, DataEnum, DeriveInput, Field, Fields, GenericParam, Path, Token, Variant};

use crate::args::{self, checks_for_schemars_limits};
use crate::errors::Errors;

/// The derives of an item, and the checks of its fields.
pub(crate) struct Derives {
    pub(crate) deserialize: bool,
    pub(crate) json_schema: bool,
    pub(crate) serialize: bool,
    /// Calls of `__private::check`, one for each limit of a field.
    pub(crate) checks: Vec<TokenStream>,
}

/// Rules for the items of the derives.
pub(crate) fn checked_derives(item: &DeriveInput, serialize: bool, errors: &Errors) -> Derives {
    if let Data::Union(data) = &item.data {
        let message = "a union cannot be deserialized; write a struct or an enum";
        errors.report_at(&data.union_token, message);
    }
    for param in &item.generics.params {
        if let GenericParam::Lifetime(param) = param {
            errors
                .report_at(param, "an argument struct owns its fields; write owned types, such as `String`");
        }
    }
    let derived = report_existing_derives(item, serialize, errors);
    for attr in all_fields(&item.data).flat_map(|field| &field.attrs).filter(|it| it.path().is_ident("arg")) {
        report_parameter_attribute(attr, errors);
    }
    let concrete = item.generics.params.is_empty();
    // The derives would add errors of their own to an unsupported item.
    let possible = !matches!(item.data, Data::Union(_)) && item.generics.lifetimes().count() == 0;
    let derives = |name: &str| possible && !derived.iter().any(|it| it == name);
    Derives {
        deserialize: derives("Deserialize"),
        json_schema: derives("JsonSchema"),
        serialize: serialize && derives("Serialize"),
        checks: all_fields(&item.data)
            .filter(|field| concrete && !mentions_self(field))
            .flat_map(schemars_limit_checks)
            .collect(),
    }
}

/// "`#[arg(..)]` is for parameters"
fn report_parameter_attribute(attr: &Attribute, errors: &Errors) {
    let keys =
        attr.meta.require_list().ok().and_then(|list| NestedMeta::parse_meta_list(list.tokens.clone()).ok());
    let keys = keys.filter(|keys| !keys.is_empty());
    let Some(keys) = keys else {
        errors.report_at(attr.path(), "`#[arg(..)]` is for parameters; remove it from the field");
        return;
    };
    for key in keys {
        let name = args::key_name(&key);
        let way_out = match (args::field_attribute_of_key(&name), name.as_str()) {
            (_, "default") => {
                "write `#[serde(default)]` or `#[serde(default = \"path\")]` on a field".to_owned()
            }
            (_, "secret") => {
                "make this a parameter of the function, since a field cannot be redacted by itself".to_owned()
            }
            (Some(attribute), _) => format!("write `#[{attribute}({name} ..)]` on a field"),
            (None, _) => "on a field, use the keys of `#[serde(..)]` and `#[schemars(..)]`".to_owned(),
        };
        errors.report_at(&key, format!("`#[arg({name})]` is for parameters; {way_out}"));
    }
}

/// Rules for a struct that is a tool.
pub(super) fn check_struct_as_tool(item: &DeriveInput, errors: &Errors) {
    if let Some(param) = item.generics.params.first()
        && !matches!(param, GenericParam::Lifetime(_))
    {
        errors.report_at(param, "a generic struct cannot be a tool; write a struct for each type");
    }
    let fields = match &item.data {
        Data::Struct(data) => &data.fields,
        Data::Enum(data) => return check_variants_are_objects(item, data, errors),
        Data::Union(_) => return,
    };
    match fields {
        Fields::Unit => errors.report_at(
            &item.ident,
            format!("the arguments of a tool are an object; write `struct {} {{}}`", item.ident),
        ),
        Fields::Unnamed(fields) if fields.unnamed.len() != 1 => {
            errors.report_at(fields, "the arguments of a tool are an object; give the fields names");
        }
        _ => {}
    }
}

/// "the arguments of a tool are an object, but `A` is a string"
fn check_variants_are_objects(item: &DeriveInput, data: &DataEnum, errors: &Errors) {
    let is_tagged = item.attrs.iter().filter(|attr| attr.path().is_ident("serde")).any(|attr| {
        let keys = attr.meta.require_list().ok().map(|list| NestedMeta::parse_meta_list(list.tokens.clone()));
        let mut keys = keys.into_iter().flatten().flatten();
        keys.any(|key| matches!(args::key_name(&key).as_str(), "tag" | "untagged"))
    });
    let unit = data.variants.iter().find(|variant| matches!(variant.fields, Fields::Unit));
    if let (false, Some(Variant { ident, .. })) = (is_tagged, unit) {
        let message = format!(
            "the arguments of a tool are an object, but `{ident}` is a string; write `{ident} {{}}`, or \
             `#[serde(tag = \"type\")]` on `{}`",
            item.ident
        );
        errors.report_at(ident, message);
    }
}

fn all_fields(data: &Data) -> Box<dyn Iterator<Item = &Field> + '_> {
    match data {
        Data::Struct(data) => Box::new(data.fields.iter()),
        Data::Enum(data) => Box::new(data.variants.iter().flat_map(|it| &it.fields)),
        Data::Union(data) => Box::new(data.fields.named.iter()),
    }
}

/// "the attribute derives `Deserialize` as well"
fn report_existing_derives(item: &DeriveInput, serialize: bool, errors: &Errors) -> Vec<String> {
    let mut found = Vec::new();
    for path in item.attrs.iter().filter_map(derived_paths).flatten() {
        let Some(name) = path.segments.last().map(|last| last.ident.to_string()) else {
            continue;
        };
        let ours = match name.as_str() {
            "Deserialize" | "JsonSchema" => true,
            "Serialize" => serialize,
            _ => false,
        };
        if ours {
            let message = format!("the attribute derives `{name}` as well; remove it here");
            errors.report_at(&path, message);
            found.push(name);
        }
    }
    found
}

fn derived_paths(attr: &Attribute) -> Option<Punctuated<Path, Token![,]>> {
    let list = attr.meta.require_list().ok()?;
    let paths = Punctuated::<Path, Token![,]>::parse_terminated;
    list.path.is_ident("derive").then(|| paths.parse2(list.tokens.clone()).ok())?
}

fn schemars_limit_checks(field: &Field) -> Vec<TokenStream> {
    let ty = &field.ty;
    checks_for_schemars_limits(&field.attrs)
        .into_iter()
        .map(|check| {
            let check = proc_macro2::Ident::new(check, syn::spanned::Spanned::span(ty));
            quote!(__tool::check::#check::<#ty>();)
        })
        .collect()
}

/// Returns `true` if the type of the field mentions `Self`, which has no meaning outside of the item.
fn mentions_self(field: &Field) -> bool {
    fn has_self_token(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            proc_macro2::TokenTree::Ident(ident) => ident == "Self",
            proc_macro2::TokenTree::Group(group) => has_self_token(group.stream()),
            _ => false,
        })
    }
    has_self_token(field.ty.to_token_stream())
}
