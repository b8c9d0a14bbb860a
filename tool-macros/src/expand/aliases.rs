//! Other names of fields, told to the check of the arguments.
//!
//! `serde` knows them and `schemars` does not; without a word in the schema, which the library takes
//! out again, an argument under another name would be one that nobody knows.

use syn::{Attribute, Data, DeriveInput, Field, LitStr, Token, parse_quote};

use crate::validate::Derives;

/// `item`, whose schema lists the other names of its fields.
pub(super) fn told(item: &DeriveInput, derives: &Derives) -> DeriveInput {
    let mut item = item.clone();
    if derives.json_schema {
        match &mut item.data {
            Data::Struct(data) => data.fields.iter_mut().for_each(tell),
            Data::Enum(data) => data.variants.iter_mut().flat_map(|it| it.fields.iter_mut()).for_each(tell),
            Data::Union(_) => {}
        }
    }
    item
}

fn tell(field: &mut Field) {
    let aliases: Vec<_> = field.attrs.iter().flat_map(aliases).collect();
    if !aliases.is_empty() {
        field.attrs.push(parse_quote!(#[schemars(extend("x-tool-aliases" = [#(#aliases),*]))]));
    }
}

/// The values of `alias` in `#[serde(..)]`; what is wrong with it is for serde to say.
fn aliases(attr: &Attribute) -> Vec<LitStr> {
    let mut found = Vec::new();
    if attr.path().is_ident("serde") {
        let _: syn::Result<()> = attr.parse_nested_meta(|meta| {
            if meta.path.is_ident("alias") {
                found.push(meta.value()?.parse()?);
            } else if meta.input.peek(Token![=]) {
                meta.value()?.parse::<syn::Expr>()?;
            } else if !meta.input.is_empty() && !meta.input.peek(Token![,]) {
                meta.input.parse::<proc_macro2::Group>()?;
            }
            Ok(())
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_found_among_other_keys() {
        let attr: Attribute =
            parse_quote!(#[serde(rename(serialize = "a"), alias = "b", default, alias = "c", with = "m")]);
        let found: Vec<_> = aliases(&attr).iter().map(LitStr::value).collect();
        assert_eq!(found, ["b", "c"]);
        assert!(aliases(&parse_quote!(#[schemars(alias = "x")])).is_empty());
    }
}
