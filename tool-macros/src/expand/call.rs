//! The call: a slot for each argument, and the user's function.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Path;
use syn::spanned::Spanned as _;

use crate::args::{Confirm, Key};
use crate::kind::ItemKind;
use crate::validate::{Callee, Decoded, Instance, Property, Tool};

/// Passes the slots and the function to the library. Type errors are reported at the name of the function, unless a
/// part of the call has a better place.
pub(super) fn invocation(tool: &Tool, instance: &Instance) -> TokenStream {
    let slots = tool.parameters.iter().map(parameter_slot);
    let run = match is_blocking(tool) {
        true => blocking_body(tool, instance),
        false => future_body(tool, instance),
    };
    let capture = match tool.callee {
        Callee::Method { .. } => Some(quote!(move)),
        _ => None,
    };
    let (mode, taken, call) = (local_variable("__mode"), slot_names(tool), local_variable("__call"));
    let body =
        quote_spanned!(callee_span(tool)=> #mode, (#(#slots,)*), #capture |(#(mut #taken,)*), #call| #run);
    match confirm_and_permission_functions(tool) {
        None => quote_spanned!(callee_span(tool)=> __tool::invocation(#body)),
        Some(guards) => quote_spanned!(callee_span(tool)=> __tool::guarded(#body, #guards)),
    }
}

/// A variable with the span of the attribute, whatever span the surrounding tokens have: inside of a `macro_rules!`,
/// only identifiers with the same hygiene resolve to each other.
fn local_variable(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

/// Checks that the types of parameters support their limits.
pub(super) fn limit_checks(tool: &Tool) -> TokenStream {
    let checks = tool.parameters.iter().flat_map(|parameter| {
        parameter.checks.iter().map(|check| {
            let check = Ident::new(check, parameter.span);
            let ty = &parameter.ty;
            quote!(__tool::check::#check::<#ty>();)
        })
    });
    checks.collect()
}

/// The slot that an argument is decoded into. All tokens have the span of the type, so that an unsuitable type is
/// reported there, and once: the compiler removes duplicate errors with the same span.
fn parameter_slot(parameter: &Property) -> TokenStream {
    let (ty, span) = (&parameter.ty, parameter.span);
    let method = match parameter.decoded {
        Decoded::ByType => Ident::new("slot", span),
        Decoded::Whole => Ident::new("whole", span),
    };
    let or = parameter.default.as_ref().map(|default| {
        let make = default.value_function(span);
        quote_spanned!(span=> .or(#make, |__v| __tool::to_json!(__v)))
    });
    let slot = quote_spanned!(span=> __tool::TypeProbe::<#ty>::new().#method() #or);
    match parameter.slot_check {
        None => slot,
        Some(check) => {
            let check = Ident::new(check, span);
            quote_spanned!(span=> __tool::#check(#slot))
        }
    }
}

fn is_blocking(tool: &Tool) -> bool {
    tool.keys.blocking.as_ref().is_some_and(|key| key.value)
}

fn slot_names(tool: &Tool) -> Vec<Ident> {
    (0..tool.parameters.len()).map(|at| format_ident!("__{at}")).collect()
}

/// The body as a future.
fn future_body(tool: &Tool, instance: &Instance) -> TokenStream {
    let call = local_variable("__call");
    let run = function_call(tool, instance, &slot_names(tool));
    let outcome = with_retry_decision(tool, run, |value| match tool.kind {
        ItemKind::Tool if tool.is_merging() => quote_spanned!(tool.result=> __tool::merged!(#call, #value)),
        ItemKind::Tool => quote_spanned!(tool.result=> __tool::outcome!(#call, #value)),
        ItemKind::Prompt | ItemKind::Resource => prompt_or_resource_outcome(tool, &value),
    });
    quote_spanned!(callee_span(tool)=> __tool::boxed(async move { #outcome }))
}

/// The outcome of a prompt or of a resource, which is never a stream.
fn prompt_or_resource_outcome(tool: &Tool, value: &TokenStream) -> TokenStream {
    match tool.kind {
        ItemKind::Resource => quote_spanned!(tool.result=> __tool::resource_outcome!(__ITEM, #value)),
        ItemKind::Tool | ItemKind::Prompt => quote_spanned!(tool.result=> __tool::prompt_outcome!(#value)),
    }
}

/// The body on a thread that may block; it owns its arguments.
fn blocking_body(tool: &Tool, instance: &Instance) -> TokenStream {
    let call = local_variable("__call");
    let run = function_call(tool, instance, &slot_names(tool));
    let outcome = with_retry_decision(tool, run, |value| match tool.kind {
        ItemKind::Tool => quote_spanned!(tool.result=> __tool::outcome_sync!(#call, #value)),
        ItemKind::Prompt | ItemKind::Resource => prompt_or_resource_outcome(tool, &value),
    });
    quote_spanned! {callee_span(tool)=>
        __tool::boxed(__tool::blocking(#call, move |#call| #outcome))
    }
}

/// The outcome of `run`; the function of `retry(when = ..)` receives the error first.
fn with_retry_decision(
    tool: &Tool,
    run: TokenStream,
    outcome: impl FnOnce(TokenStream) -> TokenStream,
) -> TokenStream {
    let when = tool.keys.retry.as_ref().and_then(|key| key.value.when.as_ref());
    let Some(Key { value: when, .. }) = when else { return outcome(run) };
    let result = local_variable("__result");
    let finish = outcome(quote!(#result));
    // A type error is reported at the path in the attribute.
    quote_spanned!(when.span()=> __tool::retried!(#run, #when, |#result| #finish))
}

/// The span of the name of the callee.
fn callee_span(tool: &Tool) -> Span {
    match &tool.callee {
        Callee::Function { ident, .. } | Callee::Method { ident, .. } | Callee::Struct { ident } => {
            ident.span()
        }
    }
}

/// The user's function with its arguments.
fn function_call(tool: &Tool, instance: &Instance, slots: &[Ident]) -> TokenStream {
    let arguments = quote!(#(#slots.get(&__call)?),*);
    let generics = &instance.arguments;
    let generics = (!generics.is_empty()).then(|| quote!(::<#(#generics),*>));
    match &tool.callee {
        Callee::Function { ident, is_async } => {
            let wait = is_async.then(|| quote!(.await));
            quote!(#ident #generics (#arguments) #wait)
        }
        Callee::Method { ident, is_async, takes_self } => {
            let wait = is_async.then(|| quote!(.await));
            let this = takes_self.then(|| quote!(&__this,));
            quote!(Self::#ident #generics (#this #arguments) #wait)
        }
        Callee::Struct { ident } => {
            quote_spanned!(ident.span()=> <#ident as __tool::Run>::run(#arguments).await)
        }
    }
}

/// The functions of `confirm` and `permission`, which receive references to the decoded arguments.
fn confirm_and_permission_functions(tool: &Tool) -> Option<TokenStream> {
    let confirm = match tool.keys.confirm.as_ref().map(|key| &key.value) {
        Some(Confirm::When(path)) => Some(confirm_or_permission_function(path, &quote!(bool), tool)),
        _ => None,
    };
    let permission = tool.keys.permission.as_ref();
    let permission =
        permission.map(|key| confirm_or_permission_function(&key.value, &quote!(__tool::Permission), tool));
    if confirm.is_none() && permission.is_none() {
        return None;
    }
    let confirm = confirm.unwrap_or_else(|| quote!(__tool::never));
    let permission = permission.unwrap_or_else(|| quote!(__tool::allow));
    Some(quote!(#confirm, #permission))
}

/// A function of `confirm` or `permission`; a type error is reported at its path in the attribute.
fn confirm_or_permission_function(path: &Path, answer_type: &TokenStream, tool: &Tool) -> TokenStream {
    let (taken, call, answer) =
        (local_variable("__slots"), local_variable("__call"), local_variable("__answer"));
    let names = slot_names(tool);
    let slots = (0..names.len()).map(syn::Index::from);
    let at_path = Span::call_site().located_at(path.span());
    let arguments = names.iter().map(|name| Ident::new(&name.to_string(), at_path));
    // The name of the macro appears in the error for a function that takes its parameters by value.
    let check = quote_spanned! {path.span()=>
        let #answer: #answer_type = __tool::takes_its_parameters_by_reference!(#path, #(#arguments),*);
    };
    quote! {
        |#taken, #call| {
            #(let #names = #taken.#slots.peek(#call)?;)*
            #check
            ::core::result::Result::Ok(#answer)
        }
    }
}
