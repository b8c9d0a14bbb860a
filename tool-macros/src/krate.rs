//! The path of the crate that owns an item, in expansions.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{LitStr, Path};

use crate::kind::ItemKind;

/// The crate at which paths in expansions start. A program without it as a dependency gets an error that names it.
#[derive(Clone, Default)]
pub(crate) struct Krate {
    renamed: Option<Path>,
    kind: ItemKind,
}

impl Krate {
    pub(crate) fn new(renamed: Option<Path>, kind: ItemKind) -> Self {
        Self { renamed, kind }
    }

    /// The kind of item that the crate owns.
    pub(crate) fn kind(&self) -> ItemKind {
        self.kind
    }

    /// The hidden module with everything that an expansion refers to.
    pub(crate) fn private_module(&self) -> TokenStream {
        match &self.renamed {
            Some(path) => quote!(#path::__private),
            None => {
                let owner = Ident::new(self.kind.owner_crate(), Span::call_site());
                quote!(::#owner::__private)
            }
        }
    }

    /// The path of `module` in the hidden module, as a string for `serde(crate = "..")`.
    pub(crate) fn path_literal(&self, module: &str) -> LitStr {
        let path: String =
            self.private_module().into_token_stream().into_iter().map(|token| token.to_string()).collect();
        LitStr::new(&format!("{path}::{module}"), Span::call_site())
    }
}

#[cfg(test)]
mod tests {
    use super::{ItemKind, Krate};

    #[test]
    fn each_kind_of_item_has_the_crate_that_owns_it() {
        let path = |kind| Krate::new(None, kind).private_module().to_string().replace(' ', "");
        assert_eq!(path(ItemKind::Tool), "::tool_runtime::__private");
        assert_eq!(path(ItemKind::Prompt), "::tool_kit::__private");
    }

    #[test]
    fn a_renamed_crate_is_found_under_its_new_name() {
        let renamed = Krate::new(Some(syn::parse_quote!(crate::deps::tools)), ItemKind::Tool);
        assert_eq!(renamed.path_literal("serde").value(), "crate::deps::tools::__private::serde");
        assert_eq!(Krate::default().path_literal("serde").value(), "::tool_runtime::__private::serde");
    }
}
