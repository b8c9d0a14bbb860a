//! The rules for items, and validated items.
//!
//! A rule is a function named after its requirement; it checks one thing and adds its errors. All rules are checked,
//! whatever the results of the others, so that one compile reports every mistake.

mod generics;
mod keys;
mod parameters;
mod prompts;
mod resources;
mod structs;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{Attribute, DeriveInput, Expr, ExprLit, Ident, Lit, LitStr, Safety, Type};

use crate::args::{Handle, OutputSchema, ToolKeys, WrittenKeys};
use crate::docs;
use crate::errors::Errors;
use crate::kind::ItemKind;
use crate::names;
use crate::signature::{
    Function, Returns, associated_type, cfg_attributes, receiver_or_self_tokens, without_groups,
};

pub(crate) use generics::Instance;
pub(crate) use parameters::{Decoded, Property};
pub(crate) use prompts::{Prompt, validate_prompt};
pub(crate) use resources::{Resource, validate_resource};
pub(crate) use structs::{Derives, checked_derives};

/// A tool without errors in its syntax; or the function of a prompt, with the keys that both have.
pub(crate) struct Tool {
    pub(crate) kind: ItemKind,
    pub(crate) keys: ToolKeys,
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) callee: Callee,
    /// A constant expression.
    pub(crate) description: TokenStream,
    pub(crate) parameters: Vec<Property>,
    /// The span at which an unsuitable result type is reported.
    pub(crate) result: Span,
    /// The type of the output schema.
    pub(crate) output: Option<TokenStream>,
    /// The type that may be a stream, where `output` is `None`.
    pub(crate) streamed: Option<TokenStream>,
    /// The result type, if it can be named.
    pub(crate) returned: Option<TokenStream>,
    /// One for each tool; a function without type parameters has one.
    pub(crate) instances: Vec<Instance>,
    /// The handle of the tool.
    pub(crate) handle: Option<Ident>,
    pub(crate) toolset: Option<LitStr>,
}

impl Tool {
    /// Returns `true` if the items of its stream are merged into one value.
    pub(crate) fn is_merging(&self) -> bool {
        self.keys.merge.as_ref().is_some_and(|key| key.value)
    }
}

/// The function that a call runs.
pub(crate) enum Callee {
    Function { ident: Ident, is_async: bool },
    Method { ident: Ident, is_async: bool, takes_self: bool },
    Struct { ident: Ident },
}

/// The form of the item below `#[tool]`; some keys are allowed on one kind only.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ToolKind<'a> {
    Function,
    Struct,
    /// In a toolset of this name.
    Method(&'a LitStr),
}

/// Validates a free function.
pub(crate) fn validate_function(
    (keys, written): (ToolKeys, WrittenKeys),
    function: Function<'_>,
    errors: &Errors,
) -> Option<Tool> {
    let (ident, noun) = (&function.sig.ident, function.kind.noun());
    if let Some(self_tokens) = receiver_or_self_tokens(function.sig) {
        let message = match function.kind {
            ItemKind::Tool => {
                "a method requires `#[toolset]` on its `impl Type` block; a method of a trait cannot be a tool".to_owned()
            }
            ItemKind::Prompt | ItemKind::Resource => {
                format!("a method cannot be a {noun}; write a function, which takes the value of `self` as `&Type`")
            }
        };
        errors.report_at(&self_tokens, message);
    }
    if names::is_primitive(&ident.to_string()) && keys.handle.is_none() {
        let message = format!(
            "the type of this {noun} would shadow a primitive type; add `handle = Name` or `handle = none`"
        );
        errors.report_at(ident, message);
    }
    let callee = Callee::Function { ident: ident.clone(), is_async: function.sig.asyncness.is_some() };
    validated_tool((keys, written), function, (ToolKind::Function, callee), errors)
}

/// Validates a method of a toolset.
pub(crate) fn validate_method(
    keys: (ToolKeys, WrittenKeys),
    function: Function<'_>,
    toolset: &LitStr,
    errors: &Errors,
) -> Option<Tool> {
    parameters::check_shared_receiver(function, errors);
    let callee = Callee::Method {
        ident: function.sig.ident.clone(),
        is_async: function.sig.asyncness.is_some(),
        takes_self: function.sig.receiver().is_some(),
    };
    validated_tool(keys, function, (ToolKind::Method(toolset), callee), errors)
}

fn validated_tool(
    (keys, written): (ToolKeys, WrittenKeys),
    function: Function<'_>,
    (kind, callee): (ToolKind<'_>, Callee),
    errors: &Errors,
) -> Option<Tool> {
    check_function_qualifiers(function, errors);
    keys::check_keys_fit_kind(&keys, kind, errors);
    keys::check_contradicting_keys(&keys, function.kind, errors);
    keys::check_keys_fit_function(&keys, function, errors);
    let description =
        checked_description(function.kind, &keys, &written, function.attrs, &function.sig.ident, errors);
    let parameters = parameters::read_parameters(function, keys.rename_all.as_ref(), errors);
    let instances = generics::read_instances(&keys, &written, function, errors);
    let described = match function.returned_type() {
        // Only the result of a tool has a schema.
        _ if function.kind != ItemKind::Tool => None,
        Returns::Nothing | Returns::Opaque => None,
        Returns::Value(ty) => Some(ty.into_token_stream()),
        Returns::Items(item) => Some(quote!(__tool::Items<#item>)),
    };
    let (output, streamed) = described_or_streamed_type(&keys, described);
    let handle = match (&keys.handle, kind) {
        (_, ToolKind::Method(_) | ToolKind::Struct) => None,
        _ if keys.instantiate.is_some() => None,
        (Some(key), _) => match &key.value {
            Handle::None => None,
            Handle::Named(name) => Some(name.clone()),
        },
        (None, _) => Some(function.sig.ident.clone()),
    };
    errors.is_empty().then(|| Tool {
        kind: function.kind,
        cfgs: function.cfg_attributes().into_iter().cloned().collect(),
        toolset: match kind {
            ToolKind::Method(set) => Some(set.clone()),
            _ => keys.toolset.as_ref().map(|key| key.value.clone()),
        },
        keys,
        callee,
        description,
        parameters,
        result: function.result_span(),
        output,
        streamed,
        returned: match function.returned_type() {
            Returns::Value(ty) => Some(ty.into_token_stream()),
            Returns::Nothing | Returns::Opaque | Returns::Items(_) => None,
        },
        instances,
        handle,
    })
}

/// Validates a struct or enum that is a tool.
pub(crate) fn validate_struct(
    (keys, written): (ToolKeys, WrittenKeys),
    item: &DeriveInput,
    errors: &Errors,
) -> Option<Tool> {
    structs::check_struct_as_tool(item, errors);
    keys::check_keys_fit_kind(&keys, ToolKind::Struct, errors);
    keys::check_contradicting_keys(&keys, ItemKind::Tool, errors);
    let description = checked_description(ItemKind::Tool, &keys, &written, &item.attrs, &item.ident, errors);
    let ident = &item.ident;
    let name = checked_item_name(ItemKind::Tool, &keys, &names::snake_case(ident), ident, errors);
    let returned = quote_spanned!(ident.span()=> <#ident as __tool::Run>::Output);
    let (output, streamed) = described_or_streamed_type(&keys, Some(returned.clone()));
    errors.is_empty().then(|| Tool {
        kind: ItemKind::Tool,
        cfgs: cfg_attributes(&item.attrs).into_iter().cloned().collect(),
        callee: Callee::Struct { ident: ident.clone() },
        description,
        parameters: parameters::parameters_of_struct(ident),
        result: ident.span(),
        output,
        streamed,
        returned: Some(returned),
        instances: vec![Instance::of_plain_function(name)],
        handle: Some(ident.clone()),
        toolset: keys.toolset.as_ref().map(|key| key.value.clone()),
        keys,
    })
}

/// The name of an item: the key `name`, or the identifier.
fn checked_item_name(
    kind: ItemKind,
    keys: &ToolKeys,
    of_ident: &str,
    ident: &Ident,
    errors: &Errors,
) -> LitStr {
    match &keys.name {
        Some(key) => {
            keys::check_item_name(kind, &key.value, errors);
            key.value.clone()
        }
        None => {
            keys::check_identifier_as_item_name(kind, of_ident, ident, errors);
            LitStr::new(of_ident, ident.span())
        }
    }
}

/// "a tool needs a description"
fn checked_description(
    kind: ItemKind,
    keys: &ToolKeys,
    written: &WrittenKeys,
    attrs: &[Attribute],
    ident: &Ident,
    errors: &Errors,
) -> TokenStream {
    let noun = kind.noun();
    let missing =
        format!("a {noun} needs a description; write a doc comment (`/// ...`) or `description = \"...\"`");
    match &keys.description {
        Some(key) => {
            if let Expr::Lit(ExprLit { lit, .. }) = &key.value {
                match lit {
                    Lit::Str(text) if text.value().trim().is_empty() => errors.report_at(text, missing),
                    Lit::Str(_) => {}
                    other => {
                        errors.report_at(other, "`description` takes a string; write `description = \"..\"`")
                    }
                }
            }
            key.value.to_token_stream()
        }
        None => docs::description(attrs).unwrap_or_else(|| {
            if !written.has_key("description") {
                errors.report_at(ident, missing);
            }
            TokenStream::new()
        }),
    }
}

/// Rules for the qualifiers and the result type of a function.
fn check_function_qualifiers(function: Function<'_>, errors: &Errors) {
    let (sig, noun) = (function.sig, function.kind.noun());
    // A variadic function is always `unsafe extern`: one error, not three.
    if let Some(variadic) = &sig.variadic {
        errors.report_at(variadic, format!("a {noun} cannot be variadic; take a `Vec` instead"));
        return;
    }
    if let Safety::Unsafe(keyword) = &sig.safety {
        errors.report_at(keyword, format!("an `unsafe fn` cannot be a {noun}; wrap it in a safe function"));
    }
    if let Some(abi) = &sig.abi {
        errors.report_at(
            abi,
            format!("an `extern` function cannot be a {noun}; call it from an ordinary function"),
        );
    }
    let syn::ReturnType::Type(_, ty) = &sig.output else {
        let missing = match function.kind {
            ItemKind::Tool => return,
            ItemKind::Prompt => {
                "a prompt returns a text or messages; add the type of its result, as in `-> String`"
            }
            ItemKind::Resource => {
                "a resource returns its content; add the type of its result, as in `-> String`"
            }
        };
        errors.report_at(&sig.ident, missing);
        return;
    };
    match without_groups(ty) {
        Type::ImplTrait(opaque) if associated_type(opaque, "Output").is_some() => {
            errors.report_at(
                opaque,
                format!(
                    "`impl Future` cannot be the result of a {noun}; write `async fn` and the type of its output"
                ),
            );
        }
        Type::Never(never) => {
            errors.report_at(never, format!("a {noun} must return; replace `!` by the type of a result"));
        }
        _ => {}
    }
}

/// Reports duplicate names in a toolset; tools with a `#[cfg]` are skipped, since they may be alternatives.
pub(crate) fn check_distinct_tool_names(tools: &[Tool], errors: &Errors) {
    let mut seen: Vec<String> = Vec::new();
    for tool in tools.iter().filter(|tool| tool.cfgs.is_empty()) {
        for Instance { name, .. } in &tool.instances {
            if seen.contains(&name.value()) {
                let message = format!("two tools of this toolset are named `{}`; rename one", name.value());
                errors.report_at_span(name.span(), message);
            }
            seen.push(name.value());
        }
    }
}

/// The type of the output schema, or the type that may be a stream if the schema is overridden.
fn described_or_streamed_type(
    keys: &ToolKeys,
    returned: Option<TokenStream>,
) -> (Option<TokenStream>, Option<TokenStream>) {
    match keys.output_schema {
        Some(_) => (None, returned),
        None => (returned, None),
    }
}

/// `output_schema = EXPR`.
pub(crate) fn output_schema_override(keys: &ToolKeys) -> Option<&Expr> {
    match &keys.output_schema.as_ref()?.value {
        OutputSchema::Given(schema) => Some(schema),
        OutputSchema::Off => None,
    }
}
