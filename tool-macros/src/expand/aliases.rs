//! Other names of fields, and that fields have defaults, told to the check of the arguments.
//!
//! `serde` knows them and `schemars` does not, or not all; without a word in the schema, which the library takes
//! out again, an argument under another name would be one that nobody knows, and a default that cannot be written
//! would be none.

use syn::{Attribute, Data, DeriveInput, Field, LitStr, Token, parse_quote};

use crate::validate::Derives;

/// `item`, whose schema lists the other names of its fields, and says which have a default.
pub(super) fn told(item: &DeriveInput, derives: &Derives) -> DeriveInput {
    let mut item = item.clone();
    if derives.json_schema {
        let has_default = Said::of(&item.attrs).has_default;
        match &mut item.data {
            Data::Struct(data) => data.fields.iter_mut().for_each(|field| tell(field, has_default)),
            Data::Enum(data) => {
                data.variants.iter_mut().flat_map(|it| it.fields.iter_mut()).for_each(|it| tell(it, false));
            }
            Data::Union(_) => {}
        }
    }
    item
}

fn tell(field: &mut Field, has_default: bool) {
    let said = Said::of(&field.attrs);
    if !said.aliases.is_empty() {
        let aliases = said.aliases;
        field.attrs.push(parse_quote!(#[schemars(extend("x-tool-aliases" = [#(#aliases),*]))]));
    }
    // Not necessarily one that can be written: then the library knows that there is one, and no more.
    if field.ident.is_some() && (has_default || said.has_default) && !said.is_no_property {
        field.attrs.push(parse_quote!(#[schemars(extend("x-tool-fills" = false))]));
    }
}

/// What `#[serde(..)]` says of a field or an item; what is wrong with it is for serde to say.
#[derive(Default)]
struct Said {
    aliases: Vec<LitStr>,
    has_default: bool,
    /// The field is flattened or left out.
    is_no_property: bool,
}

impl Said {
    fn of(attrs: &[Attribute]) -> Self {
        let mut said = Self::default();
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
            let _: syn::Result<()> = attr.parse_nested_meta(|meta| {
                let is = |name| meta.path.is_ident(name);
                said.has_default |= is("default");
                said.is_no_property |= is("flatten") || is("skip") || is("skip_deserializing");
                if is("alias") {
                    said.aliases.push(meta.value()?.parse()?);
                } else if meta.input.peek(Token![=]) {
                    meta.value()?.parse::<syn::Expr>()?;
                } else if !meta.input.is_empty() && !meta.input.peek(Token![,]) {
                    meta.input.parse::<proc_macro2::Group>()?;
                }
                Ok(())
            });
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_defaults_are_found_among_other_keys() {
        let attr: Attribute =
            parse_quote!(#[serde(rename(serialize = "a"), alias = "b", default, alias = "c", with = "m")]);
        let said = Said::of(&[attr]);
        let aliases: Vec<_> = said.aliases.iter().map(LitStr::value).collect();
        assert_eq!(aliases, ["b", "c"]);
        assert!(said.has_default && !said.is_no_property);
        let said =
            Said::of(&[parse_quote!(#[schemars(alias = "x", default)]), parse_quote!(#[serde(flatten)])]);
        assert!(said.aliases.is_empty() && !said.has_default && said.is_no_property);
    }
}
