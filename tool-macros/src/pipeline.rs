//! From an attribute and its item to tokens: read, validate, expand.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote};
use syn::{DeriveInput, ImplItem, ItemImpl, LitStr, Type};

use crate::args::{self, PromptKeys, ResourceKeys, ToolArgsKeys, ToolKeys, ToolsetKeys, WrittenKeys};
use crate::errors::Errors;
use crate::item::{FunctionItem, Target, impl_without_helpers, is_tool};
use crate::kind::ItemKind;
use crate::signature::{Function, without_groups};
use crate::validate::{self, Tool};
use crate::{expand, fallback, names};

/// `#[tool]`.
pub(crate) fn tool(attr: TokenStream, item: TokenStream) -> TokenStream {
    let errors = Errors::default();
    let Some(target) = errors.value_or_report(syn::parse2(item.clone())) else {
        return errors_before_item(errors, &item);
    };
    match target {
        Target::Function(function) => expand_function_tool(attr, &function, errors),
        Target::Type(item) => expand_struct_tool(attr, &item, errors),
        Target::Impl(block) => {
            errors.report_at(
                &block.impl_token,
                "`#[tool]` cannot be on an `impl` block; put `#[toolset]` here and `#[tool]` on its methods",
            );
            errors_before_item(errors, &impl_without_helpers(&block))
        }
        Target::Other(what, start) => {
            errors.report_at(
                &start,
                format!("{what} cannot be a tool; put `#[tool]` on a function, method or struct"),
            );
            errors_before_item(errors, &item)
        }
    }
}

fn expand_function_tool(attr: TokenStream, item: &FunctionItem, errors: Errors) -> TokenStream {
    let (keys, written) = args::read_keys::<ToolKeys>(attr, &errors);
    let krate = args::named_crate(keys.krate.as_ref(), ItemKind::Tool);
    report_conflicting_attributes(ItemKind::Tool, &item.attrs, &errors);
    let handle = keys.handle.clone();
    match validate::validate_function((keys, written), function_of_item(ItemKind::Tool, item), &errors) {
        Some(tool) => expand::expand_function(item, &tool, &krate),
        None => errors_before_item(errors, &fallback::fallback_function(item, handle.as_ref(), &krate)),
    }
}

fn function_of_item(kind: ItemKind, item: &FunctionItem) -> Function<'_> {
    Function { kind, uri: None, attrs: &item.attrs, sig: &item.sig }
}

/// `#[prompt]`.
pub(crate) fn prompt(attr: TokenStream, item: TokenStream) -> TokenStream {
    let (kind, errors) = (ItemKind::Prompt, Errors::default());
    let function = match read_function(kind, item, &errors) {
        Ok(function) => function,
        Err(item) => return errors_before_item(errors, &item),
    };
    let (keys, written) = args::read_keys::<PromptKeys>(attr, &errors);
    let krate = args::named_crate(keys.krate.as_ref(), kind);
    report_conflicting_attributes(kind, &function.attrs, &errors);
    let handle = keys.handle.clone();
    match validate::validate_prompt((keys, written), function_of_item(kind, &function), &errors) {
        Some(prompt) => expand::expand_prompt(&function, &prompt, &krate),
        None => errors_before_item(errors, &fallback::fallback_function(&function, handle.as_ref(), &krate)),
    }
}

/// `#[resource]`.
pub(crate) fn resource(attr: TokenStream, item: TokenStream) -> TokenStream {
    let (kind, errors) = (ItemKind::Resource, Errors::default());
    let function = match read_function(kind, item, &errors) {
        Ok(function) => function,
        Err(item) => return errors_before_item(errors, &item),
    };
    let (keys, written) = args::read_keys::<ResourceKeys>(attr, &errors);
    let krate = args::named_crate(keys.krate.as_ref(), kind);
    report_conflicting_attributes(kind, &function.attrs, &errors);
    let handle = keys.handle.clone();
    match validate::validate_resource((keys, written), function_of_item(kind, &function), &errors) {
        Some(resource) => expand::expand_resource(&function, &resource, &krate),
        None => errors_before_item(errors, &fallback::fallback_function(&function, handle.as_ref(), &krate)),
    }
}

/// The function below an attribute that other items cannot have, or the item as it is to be emitted.
fn read_function(
    kind: ItemKind,
    item: TokenStream,
    errors: &Errors,
) -> Result<Box<FunctionItem>, TokenStream> {
    let Some(target) = errors.value_or_report(syn::parse2(item.clone())) else {
        return Err(item);
    };
    let noun = kind.noun();
    let (what, start) = match target {
        Target::Function(function) => return Ok(function),
        Target::Type(item) => ("a type", item.ident.to_token_stream()),
        Target::Impl(block) => ("an `impl` block", block.impl_token.to_token_stream()),
        Target::Other(what, start) => (what, start),
    };
    errors.report_at(&start, format!("{what} cannot be a {noun}; put `#[{noun}]` on a function"));
    Err(item)
}

fn expand_struct_tool(attr: TokenStream, item: &DeriveInput, errors: Errors) -> TokenStream {
    let (keys, written) = args::read_keys::<ToolKeys>(attr, &errors);
    let krate = args::named_crate(keys.krate.as_ref(), ItemKind::Tool);
    report_conflicting_attributes(ItemKind::Tool, &item.attrs, &errors);
    let derives = validate::checked_derives(item, false, &errors);
    match validate::validate_struct((keys, written), item, &errors) {
        Some(tool) => expand::expand_struct(item, &derives, &tool, &krate),
        None => errors_before_item(errors, &fallback::fallback_struct(item, &derives, &krate)),
    }
}

/// "duplicate `#[tool]`", or another attribute that makes an item of a function
fn report_conflicting_attributes(kind: ItemKind, attrs: &[syn::Attribute], errors: &Errors) {
    for attr in attrs {
        match ItemKind::of_attribute(attr) {
            None => {}
            Some(same) if same == kind => errors.report_at(attr, duplicate_attribute_message(kind)),
            Some(other) => {
                let (noun, other) = (kind.noun(), other.noun());
                let message = format!(
                    "a {noun} cannot be a {other} as well; put `#[{other}]` on a function that calls this one"
                );
                errors.report_at(attr, message);
            }
        }
    }
}

fn duplicate_attribute_message(kind: ItemKind) -> String {
    format!("duplicate `#[{}]`; merge the keys into one attribute", kind.noun())
}

/// `#[toolset]`.
pub(crate) fn toolset(attr: TokenStream, item: TokenStream) -> TokenStream {
    let errors = Errors::default();
    let (keys, _) = args::read_keys::<ToolsetKeys>(attr, &errors);
    let krate = args::named_crate(keys.krate.as_ref(), ItemKind::Tool);
    let Some(target) = errors.value_or_report(syn::parse2(item.clone())) else {
        return errors_before_item(errors, &item);
    };
    let Target::Impl(block) = target else {
        let start: TokenStream = item.clone().into_iter().take(1).collect();
        errors.report_at(
            &start,
            "`#[toolset]` requires an `impl` block; put it on the one that contains the tools",
        );
        return errors_before_item(errors, &item);
    };
    if let Some((path, _)) = &block.trait_ {
        errors.report_at(
            path,
            "`#[toolset]` cannot be on an `impl` of a trait; move the tools to an `impl Type` block",
        );
    }
    let tools = read_tool_methods(&block, &toolset_name(&keys, &block), &errors);
    validate::check_distinct_tool_names(&tools, &errors);
    match errors.is_empty() {
        true => expand::expand_toolset(&block, &tools, &krate),
        false => errors_before_item(errors, &fallback::fallback_toolset(&block, &krate)),
    }
}

/// The name of a toolset; default: the last segment of its type in snake case.
fn toolset_name(keys: &ToolsetKeys, block: &ItemImpl) -> LitStr {
    if let Some(name) = &keys.name {
        return name.value.clone();
    }
    let last = match without_groups(&block.self_ty) {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    };
    match last {
        Some(segment) => LitStr::new(&names::snake_case(&segment.ident), segment.ident.span()),
        None => LitStr::new("toolset", Span::call_site()),
    }
}

fn read_tool_methods(block: &ItemImpl, toolset: &LitStr, errors: &Errors) -> Vec<Tool> {
    let mut tools = Vec::new();
    let mut found = false;
    for item in &block.items {
        let (attrs, name) = match item {
            ImplItem::Fn(method) => (&method.attrs, &method.sig.ident),
            ImplItem::Const(item) => (&item.attrs, &item.ident),
            ImplItem::Type(item) => (&item.attrs, &item.ident),
            _ => continue,
        };
        let Some(attr) = attrs.iter().find(|attr| is_tool(attr)) else {
            continue;
        };
        found = true;
        let ImplItem::Fn(method) = item else {
            errors.report_at(name, "only a method can be a tool here; remove `#[tool]`");
            continue;
        };
        tools.extend(read_tool_method(attr, method, toolset, errors));
    }
    if !found && block.trait_.is_none() {
        errors.report_at(
            &block.self_ty,
            "this toolset has no tools; put `#[tool]` on the methods that are tools",
        );
    }
    tools
}

fn read_tool_method(
    attr: &syn::Attribute,
    method: &syn::ImplItemFn,
    toolset: &LitStr,
    errors: &Errors,
) -> Option<Tool> {
    // Each method is validated by itself, and the errors of all are reported together.
    let own = Errors::default();
    let tokens = match &attr.meta {
        syn::Meta::Path(_) => TokenStream::new(),
        meta => own.value_or_report(meta.require_list())?.tokens.clone(),
    };
    let keys: (ToolKeys, WrittenKeys) = args::read_keys(tokens, &own);
    if method.attrs.iter().filter(|attr| is_tool(attr)).count() > 1 {
        own.report_at(attr, duplicate_attribute_message(ItemKind::Tool));
    }
    let function = Function { uri: None, kind: ItemKind::Tool, attrs: &method.attrs, sig: &method.sig };
    let tool = validate::validate_method(keys, function, toolset, &own);
    errors.add_all(own);
    tool
}

/// `#[tool_args]`.
pub(crate) fn tool_args(attr: TokenStream, item: TokenStream) -> TokenStream {
    let errors = Errors::default();
    let (keys, _) = args::read_keys::<ToolArgsKeys>(attr, &errors);
    let krate = args::named_crate(keys.krate.as_ref(), ItemKind::Tool);
    let Some(target) = errors.value_or_report(syn::parse2(item.clone())) else {
        return errors_before_item(errors, &item);
    };
    let Target::Type(structure) = target else {
        let start: TokenStream = item.clone().into_iter().take(1).collect();
        errors.report_at(
            &start,
            "`#[tool_args]` requires a struct or an enum; put it on the type of the arguments",
        );
        return errors_before_item(errors, &item);
    };
    let serialize = keys.serialize.is_some_and(|key| key.value);
    let derives = validate::checked_derives(&structure, serialize, &errors);
    match errors.is_empty() {
        true => expand::expand_arguments(&structure, &derives, &krate),
        false => errors_before_item(errors, &fallback::fallback_arguments(&structure, &derives, &krate)),
    }
}

/// The errors, followed by the item.
fn errors_before_item(errors: Errors, item: &impl quote::ToTokens) -> TokenStream {
    let errors = errors.into_tokens();
    quote!(#errors #item)
}
