//! Rules for the keys of `#[tool(..)]`, and for those that the attributes share.

use syn::{Expr, ExprLit, Ident, Lit, LitStr, Path};

use super::ToolKind;
use crate::args::{Handle, Key, ToolKeys, integer_literal_value, key_span};
use crate::errors::Errors;
use crate::kind::ItemKind;
use crate::names;
use crate::signature::{Function, Returns};

/// "this key is not allowed here"
pub(super) fn check_keys_fit_kind(keys: &ToolKeys, kind: ToolKind<'_>, errors: &Errors) {
    let says = |path: Option<&Path>, way_out: &str| {
        if let Some(path) = path {
            let key = darling::util::path_to_string(path);
            errors.report_at(path, format!("`{key}` {way_out}"));
        }
    };
    let handle = keys.handle.as_ref().map(|key| &key.path);
    let register = keys.register.as_ref().map(|key| &key.path);
    let toolset = keys.toolset.as_ref().map(|key| &key.path);
    let krate = keys.krate.as_ref().map(|key| &key.path);
    let instantiate = keys.instantiate.as_ref().map(|key| &key.path);
    let rename_all = keys.rename_all.as_ref().map(|key| &key.path);
    let blocking = keys.blocking.as_ref().map(|key| &key.path);
    match kind {
        ToolKind::Function => {
            if let (Some(path), Some(_)) = (handle, instantiate) {
                errors.report_at(
                    path,
                    "`instantiate` makes several tools, which have no handle; remove `handle`",
                );
            }
        }
        ToolKind::Method(_) => {
            says(handle, "is for functions; remove it, since a toolset is added as a whole");
            says(register, "is for functions; remove it, since a toolset is added by `builder.toolset(..)`");
            says(toolset, "is a key of the toolset; write `#[toolset(name = \"..\")]`");
            says(krate, "is a key of the toolset; write `#[toolset(crate = ..)]`");
        }
        ToolKind::Struct => {
            says(handle, "is for functions; remove it, since the struct itself is the handle");
            says(instantiate, "is for functions; write one struct for each type");
            says(rename_all, "is for functions; write `#[serde(rename_all = \"..\")]` on the struct");
            says(blocking, "is for functions; remove it, since `Run::run` is async");
        }
    }
}

/// "these keys contradict each other"
pub(super) fn check_contradicting_keys(keys: &ToolKeys, kind: ItemKind, errors: &Errors) {
    let on = |key: &Option<Key<bool>>| key.as_ref().is_some_and(|key| key.value);
    if on(&keys.read_only) && on(&keys.destructive) {
        let span = key_span(keys.destructive.as_ref());
        errors.report_at_span(span, "`read_only` contradicts `destructive`; keep one of the two");
    }
    if on(&keys.sequential) && on(&keys.concurrency_safe) {
        let span = key_span(keys.concurrency_safe.as_ref());
        errors.report_at_span(span, "`sequential` contradicts `concurrency_safe`; keep one of the two");
    }
    if keys.title.is_some() && keys.label.is_some() {
        let span = key_span(keys.label.as_ref());
        errors.report_at_span(span, "`label` is an alias of `title`; keep one of the two");
    }
    if let (Some(idle), Some(total)) = (&keys.idle_timeout, &keys.timeout)
        && idle.value.0 >= total.value.0
    {
        errors.report_at(&idle.path, "`idle_timeout` never expires before `timeout`; make it shorter");
    }
    if let Some(retry) = &keys.retry
        && let (Some(initial), Some(max)) = (&retry.value.initial, &retry.value.max)
        && initial.value.0 > max.value.0
    {
        errors.report_at(&initial.path, "`initial` is longer than `max`; swap them");
    }
    let unregistered = keys.register.as_ref().filter(|key| !key.value);
    let nameless = keys.handle.as_ref().filter(|key| matches!(key.value, Handle::None));
    if let (Some(register), Some(_)) = (unregistered, nameless) {
        let noun = kind.noun();
        let message =
            format!("a {noun} without a handle cannot be registered by hand; remove one of the two");
        errors.report_at(&register.path, message);
    }
    if let (Some(register), Some(_)) = (unregistered, &keys.instantiate) {
        let message = "`instantiate` makes no handle to register the tools by; remove `register = false`";
        errors.report_at(&register.path, message);
    }
    if let Some(size) = &keys.max_result_size {
        match (&size.value, integer_literal_value(&size.value)) {
            (_, Some(bytes)) if bytes <= 0 => {
                errors.report_at(
                    &size.value,
                    "a limit of zero bytes allows no result; write a positive number of bytes",
                );
            }
            (Expr::Lit(ExprLit { lit, .. }), None) if !matches!(lit, Lit::Int(_)) => {
                let message = "`max_result_size` takes a number of bytes; write `max_result_size = 65536`";
                errors.report_at(lit, message);
            }
            _ => {}
        }
    }
}

/// "this key does not fit this function"
pub(super) fn check_keys_fit_function(keys: &ToolKeys, function: Function<'_>, errors: &Errors) {
    if let (Some(blocking), Some(_)) = (&keys.blocking, &function.sig.asyncness)
        && blocking.value
    {
        errors.report_at(&blocking.path, "an `async fn` must not block; remove `blocking` or `async`");
    }
    if let (Some(blocking), Returns::Items(_)) = (&keys.blocking, function.returned_type())
        && blocking.value
    {
        errors.report_at(
            &blocking.path,
            "a blocking function cannot return a stream; remove `blocking` or the stream",
        );
    }
    if let (Some(merge), Returns::Nothing) = (&keys.merge, function.returned_type())
        && merge.value
    {
        errors.report_at(&merge.path, "`merge` requires a stream; return `impl Stream` or remove the key");
    }
}

/// Rule for a name in the attribute.
pub(super) fn check_item_name(kind: ItemKind, name: &LitStr, errors: &Errors) {
    if let Some(why) = names::invalid_item_name_reason(kind, &name.value()) {
        errors.report_at(name, why);
    }
}

/// Rule for a name that is derived from an identifier.
pub(super) fn check_identifier_as_item_name(kind: ItemKind, name: &str, ident: &Ident, errors: &Errors) {
    if let Some(why) = names::invalid_item_name_reason(kind, name) {
        errors.report_at(ident, format!("{why}; add `name = \"..\"`"));
    }
}
