//! The attributes as a whole, on tokens.

mod golden;
mod mistakes;

use proc_macro2::TokenStream;

use crate::pipeline;

/// Expands the first attribute of an item.
fn expand(item: TokenStream) -> TokenStream {
    let Ok(WrittenKeys { name, keys, rest }) = syn::parse2(item) else {
        return TokenStream::new();
    };
    match name.as_str() {
        "toolset" => pipeline::toolset(keys, rest),
        "tool_args" => pipeline::tool_args(keys, rest),
        "prompt" => pipeline::prompt(keys, rest),
        "resource" => pipeline::resource(keys, rest),
        _ => pipeline::tool(keys, rest),
    }
}

struct WrittenKeys {
    name: String,
    keys: TokenStream,
    rest: TokenStream,
}

impl syn::parse::Parse for WrittenKeys {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Self> {
        input.parse::<syn::Token![#]>()?;
        let inner;
        syn::bracketed!(inner in input);
        let name = inner.parse::<syn::Ident>()?.to_string();
        let keys = match inner.is_empty() {
            true => TokenStream::new(),
            false => {
                let keys;
                syn::parenthesized!(keys in inner);
                keys.parse()?
            }
        };
        Ok(Self { name, keys, rest: input.parse()? })
    }
}
