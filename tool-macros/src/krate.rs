//! The path of the runtime crate in expansions.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{LitStr, Path};

/// The crate at which paths in expansions start.
#[derive(Clone, Default)]
pub(crate) struct Krate {
    renamed: Option<Path>,
}

impl Krate {
    pub(crate) fn new(renamed: Option<Path>) -> Self {
        Self { renamed }
    }

    /// The hidden module with everything that an expansion refers to.
    pub(crate) fn private_module(&self) -> TokenStream {
        match &self.renamed {
            Some(path) => quote!(#path::__private),
            None => quote!(::tool_runtime::__private),
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
    use super::Krate;

    #[test]
    fn a_renamed_crate_is_found_under_its_new_name() {
        let renamed = Krate::new(Some(syn::parse_quote!(crate::deps::tools)));
        assert_eq!(renamed.path_literal("serde").value(), "crate::deps::tools::__private::serde");
        assert_eq!(Krate::default().path_literal("serde").value(), "::tool_runtime::__private::serde");
    }
}
