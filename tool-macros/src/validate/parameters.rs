//! Rules for parameters.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote};
use syn::spanned::Spanned as _;
use syn::{Pat, ReceiverKind, Type};

use super::resources::{bind_variables, check_resource_parameter};
use crate::args::{HelperAttributes, Key, ParameterDefault};
use crate::errors::Errors;
use crate::kind::ItemKind;
use crate::names::{self, RenameRule};
use crate::signature::{ForbiddenTypes, Function, Parameter, Role, without_groups};

/// The maximum number of parameters.
const MAX_PARAMETERS: usize = 16;

/// A valid parameter.
pub(crate) struct Property {
    /// The name of the property, if the parameter is an argument.
    pub(crate) name: String,
    pub(crate) ty: TokenStream,
    /// The span at which an unsuitable type is reported.
    pub(crate) span: Span,
    pub(crate) decoded: Decoded,
    pub(crate) description: Option<TokenStream>,
    pub(crate) aliases: Vec<syn::LitStr>,
    pub(crate) default: Option<ParameterDefault>,
    pub(crate) secret: bool,
    pub(crate) constraints: Vec<TokenStream>,
    pub(crate) checks: Vec<&'static str>,
    /// The function of `__private` that checks the kind of slot, for a resource.
    pub(crate) slot_check: Option<&'static str>,
}

/// The conversion of an argument to the parameter.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Decoded {
    /// By its type: from one property, or from the program.
    ByType,
    /// From all properties.
    Whole,
}

/// The parameters of a function.
pub(super) fn read_parameters(
    function: Function<'_>,
    rule: Option<&Key<RenameRule>>,
    errors: &Errors,
) -> Vec<Property> {
    let parameters = function.parameters(errors);
    check_parameter_count(function, &parameters, errors);
    check_single_argument_struct(function.kind, &parameters, errors);
    if let Some(rule) = rule
        && parameters.iter().any(|it| it.role == Role::Whole)
    {
        let message = "`rename_all` does not apply to an argument struct; write `#[serde(rename_all = ..)]` on the struct";
        errors.report_at(&rule.path, message);
    }
    for parameter in &parameters {
        check_pattern(parameter, errors);
        check_type_syntax(function.kind, parameter, errors);
        check_property_attributes(function.kind, parameter, errors);
        if function.kind == ItemKind::Resource {
            check_resource_parameter(parameter, errors);
        }
    }
    let rule = rule.map(|key| key.value);
    let mut properties: Vec<(Property, SpannedNames)> =
        parameters.into_iter().map(|parameter| property_of_parameter(parameter, rule)).collect();
    if let Some(uri) = function.uri {
        let mut all: Vec<_> = properties.iter_mut().map(|(property, _)| property).collect();
        bind_variables(uri, &mut all, errors);
    }
    check_distinct_property_names(&properties, errors);
    properties.into_iter().map(|(it, _)| it).collect()
}

/// The parameters of `Run::run`, for a struct that is a tool.
pub(super) fn parameters_of_struct(ident: &Ident) -> Vec<Property> {
    let of = |name: &str, ty, decoded| Property {
        name: name.to_owned(),
        ty,
        span: ident.span(),
        decoded,
        description: None,
        aliases: Vec::new(),
        default: None,
        secret: false,
        constraints: Vec::new(),
        checks: Vec::new(),
        slot_check: None,
    };
    vec![
        of("arguments", ident.to_token_stream(), Decoded::Whole),
        of("cx", quote!(&__tool::ToolContext), Decoded::ByType),
    ]
}

/// The names and aliases of a parameter with their spans; empty for a parameter that the program may provide.
type SpannedNames = Vec<(String, Span)>;

fn property_of_parameter(parameter: Parameter<'_>, rule: Option<RenameRule>) -> (Property, SpannedNames) {
    let (ty, span) = (parameter.ty(), parameter.span());
    let ident = parameter.ident();
    let Parameter { node, helpers, role } = parameter;
    let HelperAttributes { rename, aliases, description, default, secret, constraints, .. } = helpers;
    let own = ident.map(names::unraw_name);
    let (name, name_span) = match (&rename, own) {
        (Some(name), _) => (name.value(), name.span()),
        (None, Some(own)) => (rule.map_or(own.clone(), |rule| rule.apply(&own)), node.pat.span()),
        (None, None) => ("arguments".to_owned(), node.pat.span()),
    };
    // A pattern without a name was reported already.
    let is_named = ident.is_some() || rename.is_some();
    let chosen_by_model = role == Role::Property && is_named || rename.is_some() || !aliases.is_empty();
    let mut written = SpannedNames::new();
    if chosen_by_model {
        written.push((name.clone(), name_span));
        written.extend(aliases.iter().map(|alias| (alias.value(), alias.span())));
    }
    let property = Property {
        name,
        ty: ty.into_token_stream(),
        span,
        decoded: match role {
            Role::Whole => Decoded::Whole,
            Role::Reference | Role::Property => Decoded::ByType,
        },
        description,
        aliases,
        default,
        secret,
        constraints: constraints.entries,
        checks: constraints.checks,
        slot_check: None,
    };
    (property, written)
}

/// "a tool takes at most 16 parameters"
fn check_parameter_count(function: Function<'_>, parameters: &[Parameter<'_>], errors: &Errors) {
    if let Some(parameter) = parameters.get(MAX_PARAMETERS) {
        let message = format!(
            "`{}` has {} parameters, but a {} has at most {MAX_PARAMETERS}; put them into an argument struct",
            names::unraw_name(&function.sig.ident),
            parameters.len(),
            function.kind.noun()
        );
        errors.report_at(&parameter.node.pat, message);
    }
}

/// "an argument struct contains all arguments"
fn check_single_argument_struct(kind: ItemKind, parameters: &[Parameter<'_>], errors: &Errors) {
    let mut wholes = parameters.iter().filter(|it| it.role == Role::Whole);
    if wholes.next().is_none() {
        return;
    }
    for second in wholes {
        let noun = kind.noun();
        errors.report_at(
            &second.node.pat,
            format!("a {noun} has one argument struct; put its fields into the first"),
        );
    }
    for property in parameters.iter().filter(|it| it.role == Role::Property) {
        let message = "an argument struct contains all arguments; make this parameter one of its fields";
        errors.report_at(&property.node.pat, message);
    }
}

/// "a parameter needs a name"
fn check_pattern(parameter: &Parameter<'_>, errors: &Errors) {
    let pat = &*parameter.node.pat;
    match pat {
        Pat::Struct(_) => {}
        Pat::Ident(_) if parameter.ident().is_some() => {}
        Pat::Wild(_) => errors.report_at(pat, "a parameter needs a name; write `_name` if it is not used"),
        _ => errors.report_at(pat, "only a struct pattern is supported here; replace the pattern by a name"),
    }
}

/// "this type cannot be a tool argument"
fn check_type_syntax(kind: ItemKind, parameter: &Parameter<'_>, errors: &Errors) {
    let ty = &*parameter.node.ty;
    let found = ForbiddenTypes::find_in_type(ty);
    if let Some(opaque) = found.opaque {
        let noun = kind.noun();
        errors.report_at(opaque, format!("`impl Trait` cannot be a {noun} argument; write a concrete type"));
    }
    if let Some(mutable) = found.mutable {
        errors.report_at(
            mutable,
            "concurrent calls cannot share a `&mut`; take `&T` with a lock inside, or an owned value",
        );
    }
    if let Some(forever) = found.forever {
        errors.report_at(forever, "an argument does not outlive its call; remove `'static`");
    }
    if let Some(borrowed) = found.borrowed {
        errors
            .report_at(borrowed, "an argument cannot contain references; use owned types, such as `String`");
    }
    if parameter.role == Role::Whole && matches!(without_groups(ty), Type::Reference(_)) {
        errors.report_at(ty, "an argument struct is taken by value; remove the `&`");
    }
}

/// "this attribute does not apply to this parameter"
fn check_property_attributes(kind: ItemKind, parameter: &Parameter<'_>, errors: &Errors) {
    let Some(span) = parameter.helpers.property_attribute_span() else {
        return;
    };
    if parameter.helpers.secret && kind != ItemKind::Tool {
        let noun = kind.noun();
        errors.report_at_span(
            span,
            format!("`secret` hides a value in the records of calls, which a {noun} has not; remove it"),
        );
    }
    if parameter.role == Role::Whole {
        errors.report_at_span(
            span,
            "this attribute is for one argument; put it on a field of the argument struct",
        );
    }
    // Other references may borrow from the arguments, as `&str` does.
    if let Type::Reference(reference) = without_groups(&parameter.node.ty)
        && matches!(without_groups(&reference.elem), Type::TraitObject(_))
    {
        errors.report_at_span(span, "the program provides this value, not the model; remove the attribute");
    }
}

/// "two properties have one name"
fn check_distinct_property_names(properties: &[(Property, SpannedNames)], errors: &Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for (name, span) in properties.iter().flat_map(|(_, names)| names) {
        if seen.contains(&name.as_str()) {
            errors.report_at_span(*span, format!("another property is named `{name}`; rename one"));
        }
        seen.push(name);
    }
}

/// "a method of a toolset takes `&self`"
pub(super) fn check_shared_receiver(function: Function<'_>, errors: &Errors) {
    let Some(receiver) = function.sig.receiver() else {
        return;
    };
    let message = match &receiver.kind {
        ReceiverKind::Reference(_, _, None) => return,
        ReceiverKind::Reference(..) => "concurrent calls share the toolset; take `&self` with a lock inside",
        ReceiverKind::Typed(_, ty) if is_shared_self_reference(ty) => return,
        _ => "a toolset is shared by its calls; take `&self`",
    };
    errors.report_at(receiver, message);
}

fn is_shared_self_reference(ty: &Type) -> bool {
    match without_groups(ty) {
        Type::Reference(reference) if reference.mutability.is_none() => {
            matches!(without_groups(&reference.elem), Type::Path(path) if path.path.is_ident("Self"))
        }
        _ => false,
    }
}
