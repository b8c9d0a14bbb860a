//! The attributes `#[tool]`, `#[toolset]` and `#[tool_args]` of `tool_runtime`, and `#[prompt]` and `#[resource]` of
//! `tool_kit`.
//!
//! Use them through these crates, whose re-exports have the documentation: expansions refer to items of the crate that owns the
//! attribute.
//!
//! The pipeline: `args` and `signature` parse the attribute and its item, `validate` checks the rules, `expand` writes
//! the tokens of valid items, and `fallback` those of items with errors. A stage does not repeat the checks of the
//! stages before it.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr, reason = "a library does not print"))]

mod args;
mod docs;
mod errors;
mod expand;
mod fallback;
mod item;
mod kind;
mod krate;
mod names;
mod pipeline;
mod signature;
mod uri;
mod validate;

use proc_macro::TokenStream;

/// Makes a function or a struct a tool; see `tool_runtime::tool`.
#[proc_macro_attribute]
pub fn tool(attr: TokenStream, item: TokenStream) -> TokenStream {
    pipeline::tool(attr.into(), item.into()).into()
}

/// Makes the methods of an `impl` block tools of one toolset; see `tool_runtime::toolset`.
#[proc_macro_attribute]
pub fn toolset(attr: TokenStream, item: TokenStream) -> TokenStream {
    pipeline::toolset(attr.into(), item.into()).into()
}

/// Makes a struct or an enum the arguments of a tool; see `tool_runtime::tool_args`.
#[proc_macro_attribute]
pub fn tool_args(attr: TokenStream, item: TokenStream) -> TokenStream {
    pipeline::tool_args(attr.into(), item.into()).into()
}

/// Makes a function a prompt; see `tool_kit::prompt`.
#[proc_macro_attribute]
pub fn prompt(attr: TokenStream, item: TokenStream) -> TokenStream {
    pipeline::prompt(attr.into(), item.into()).into()
}

/// Makes a function a resource; see `tool_kit::resource`.
#[proc_macro_attribute]
pub fn resource(attr: TokenStream, item: TokenStream) -> TokenStream {
    pipeline::resource(attr.into(), item.into()).into()
}

#[cfg(test)]
mod tests;
