//! Schema annotations for aliases and defaults of fields.
//!
//! `serde` reads aliases and all defaults, but `schemars` does not. The annotations, which the library removes from the
//! schema, keep the validator from rejecting an alias as an unknown property, and from requiring a property whose
//! default cannot be serialized.

use syn::{Attribute, Data, DeriveInput, Field, LitStr, Token, parse_quote};

use crate::validate::Derives;

/// Returns `item` with annotations for the aliases and defaults of its fields.
pub(super) fn with_annotated_aliases_and_defaults(item: &DeriveInput, derives: &Derives) -> DeriveInput {
    let mut item = item.clone();
    if derives.json_schema {
        let has_default = SerdeFieldKeys::read(&item.attrs).has_default;
        match &mut item.data {
            Data::Struct(data) => {
                data.fields.iter_mut().for_each(|field| annotate_alias_and_default(field, has_default))
            }
            Data::Enum(data) => {
                data.variants
                    .iter_mut()
                    .flat_map(|it| it.fields.iter_mut())
                    .for_each(|it| annotate_alias_and_default(it, false));
            }
            Data::Union(_) => {}
        }
    }
    item
}

fn annotate_alias_and_default(field: &mut Field, has_default: bool) {
    let serde_keys = SerdeFieldKeys::read(&field.attrs);
    if !serde_keys.aliases.is_empty() {
        let aliases = serde_keys.aliases;
        field.attrs.push(parse_quote!(#[schemars(extend("x-tool-aliases" = [#(#aliases),*]))]));
    }
    // The default may not be serializable; the annotation records only that there is one.
    if field.ident.is_some() && (has_default || serde_keys.has_default) && !serde_keys.is_no_property {
        field.attrs.push(parse_quote!(#[schemars(extend("x-tool-fills" = false))]));
    }
}

/// The relevant keys of `#[serde(..)]` on a field or an item; mistakes in it are reported by `serde`.
#[derive(Default)]
struct SerdeFieldKeys {
    aliases: Vec<LitStr>,
    has_default: bool,
    /// `true` if the field is flattened or skipped.
    is_no_property: bool,
}

impl SerdeFieldKeys {
    fn read(attrs: &[Attribute]) -> Self {
        let mut serde_keys = Self::default();
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
            let _: syn::Result<()> = attr.parse_nested_meta(|meta| {
                let is = |name| meta.path.is_ident(name);
                serde_keys.has_default |= is("default");
                serde_keys.is_no_property |= is("flatten") || is("skip") || is("skip_deserializing");
                if is("alias") {
                    serde_keys.aliases.push(meta.value()?.parse()?);
                } else if meta.input.peek(Token![=]) {
                    meta.value()?.parse::<syn::Expr>()?;
                } else if !meta.input.is_empty() && !meta.input.peek(Token![,]) {
                    meta.input.parse::<proc_macro2::Group>()?;
                }
                Ok(())
            });
        }
        serde_keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_defaults_are_found_among_other_keys() {
        let attr: Attribute =
            parse_quote!(#[serde(rename(serialize = "a"), alias = "b", default, alias = "c", with = "m")]);
        let serde_keys = SerdeFieldKeys::read(&[attr]);
        let aliases: Vec<_> = serde_keys.aliases.iter().map(LitStr::value).collect();
        assert_eq!(aliases, ["b", "c"]);
        assert!(serde_keys.has_default && !serde_keys.is_no_property);
        let serde_keys = SerdeFieldKeys::read(&[
            parse_quote!(#[schemars(alias = "x", default)]),
            parse_quote!(#[serde(flatten)]),
        ]);
        assert!(serde_keys.aliases.is_empty() && !serde_keys.has_default && serde_keys.is_no_property);
    }
}
