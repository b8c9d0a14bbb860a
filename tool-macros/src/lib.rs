//! The attributes `#[tool]`, `#[toolset]` and `#[tool_args]`.
//!
//! Use them through `tool_runtime`, whose re-exports carry the documentation: an expansion names
//! things that only live there.
//!
//! The pipeline: `args` and `signature` read what was written, `validate` holds it against
//! the rules, `expand` turns what passed into tokens, and `fallback` stands in for it after a
//! mistake. A stage that got a value from the one before need not ask again.

mod args;
mod docs;
mod errors;
mod expand;
mod fallback;
mod item;
mod krate;
mod names;
mod pipeline;
mod signature;
mod validate;

use proc_macro::TokenStream;

/// Makes a function or a struct a tool; see `tool_runtime::tool`.
#[proc_macro_attribute]
pub fn tool(attr: TokenStream, item: TokenStream) -> TokenStream {
    pipeline::tool(attr.into(), item.into()).into()
}

/// Makes the methods of an `impl` block tools of one set; see `tool_runtime::toolset`.
#[proc_macro_attribute]
pub fn toolset(attr: TokenStream, item: TokenStream) -> TokenStream {
    pipeline::toolset(attr.into(), item.into()).into()
}

/// Makes a struct or an enum the arguments of a tool; see `tool_runtime::tool_args`.
#[proc_macro_attribute]
pub fn tool_args(attr: TokenStream, item: TokenStream) -> TokenStream {
    pipeline::tool_args(attr.into(), item.into()).into()
}

#[cfg(test)]
mod tests;
