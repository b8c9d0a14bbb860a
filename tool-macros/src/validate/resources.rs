//! Rules for resources.

use syn::LitStr;

use super::{Property, Tool, validate_function};
use crate::args::{ResourceKeys, WrittenKeys};
use crate::errors::Errors;
use crate::signature::{Function, Parameter, Role};
use crate::uri::{ParsedUri, parse_uri_template};

/// A resource without errors in its syntax.
pub(crate) struct Resource {
    pub(crate) function: Tool,
    pub(crate) uri: LitStr,
    pub(crate) mime_type: Option<LitStr>,
    /// `true` if its URI has variables.
    pub(crate) is_template: bool,
}

/// Validates the function of a resource.
pub(crate) fn validate_resource(
    (keys, written): (ResourceKeys, WrittenKeys),
    function: Function<'_>,
    errors: &Errors,
) -> Option<Resource> {
    let uri = checked_uri(&keys, &written, function, errors);
    check_mime_type(&keys, errors);
    let function = Function { uri: uri.as_ref(), ..function };
    let tool = validate_function((keys.shared_keys(), written), function, errors)?;
    let ParsedUri { uri, variables } = uri?;
    let mime_type = keys.mime_type.map(|key| key.value);
    Some(Resource { function: tool, uri, mime_type, is_template: !variables.is_empty() })
}

/// "a resource needs a URI"
fn checked_uri(
    keys: &ResourceKeys,
    written: &WrittenKeys,
    function: Function<'_>,
    errors: &Errors,
) -> Option<ParsedUri> {
    let Some(key) = &keys.uri else {
        if !written.has_key("uri") {
            let message = "a resource needs a URI; write `#[resource(uri = \"notes://today\")]`";
            errors.report_at(&function.sig.ident, message);
        }
        return None;
    };
    match parse_uri_template(&key.value.value()) {
        Ok(variables) => Some(ParsedUri { uri: key.value.clone(), variables }),
        Err(problem) => {
            errors.report_at(&key.value, problem);
            None
        }
    }
}

/// Rules for a parameter of a resource, before it is known to be a variable.
pub(super) fn check_resource_parameter(parameter: &Parameter<'_>, errors: &Errors) {
    if parameter.role == Role::Whole {
        let message = "a resource has no argument struct; take each variable of its URI as a parameter";
        errors.report_at(&parameter.node.pat, message);
    }
    if let (Some(_), Some(span)) = (&parameter.helpers.default, parameter.helpers.property_attribute_span()) {
        errors.report_at_span(span, "a variable of a URI always has a value; remove the default");
    }
}

/// Sets which parameters are variables of `uri`. "the URI has a variable without a parameter"
pub(super) fn bind_variables(uri: &ParsedUri, parameters: &mut [&mut Property], errors: &Errors) {
    for variable in &uri.variables {
        if !parameters.iter().any(|parameter| parameter.name == *variable) {
            let message = format!(
                "the URI has the variable `{variable}`, but the function has no parameter of this name; add `{variable}: String`"
            );
            errors.report_at(&uri.uri, message);
        }
    }
    for parameter in parameters {
        let is_variable = uri.variables.contains(&parameter.name);
        parameter.slot_check = Some(if is_variable { "variable" } else { "injected" });
    }
}

/// "`mime_type` takes a type"
fn check_mime_type(keys: &ResourceKeys, errors: &Errors) {
    let Some(key) = &keys.mime_type else { return };
    let is_type = |text: &str| {
        let parts = text.split(';').next().and_then(|essence| essence.trim().split_once('/'));
        parts.is_some_and(|(main, sub)| !main.is_empty() && !sub.is_empty() && !sub.contains('/'))
    };
    if !is_type(&key.value.value()) {
        let message = "`mime_type` takes a MIME type; write one such as `mime_type = \"text/markdown\"`";
        errors.report_at(&key.value, message);
    }
}
