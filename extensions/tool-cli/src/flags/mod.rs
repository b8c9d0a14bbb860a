//! The flags of a tool, derived from its schema.
//!
//! The value of a flag is parsed by the type of its property and written into a JSON object, which is then validated like
//! the arguments of any call. A flag validates its value only for a better message.

mod argument;
mod collect;
mod json_property;
mod lossless_json;
mod property;
mod schema;
mod source;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests;
mod value_kind;

pub(crate) use self::{
    collect::{CallArguments, collect_arguments, read_value, valid_values},
    json_property::JsonProperty,
    lossless_json::{object_members, parse_lossless_json},
    property::{Property, argument_properties, schema_properties},
    schema::schema_kind,
    source::SECRET_SOURCES,
    value_kind::{ValueKind, value_text},
};

/// The flag with its dashes, such as `--days`.
pub(crate) fn flag_name(property: &Property) -> String {
    format!("--{}", property.flag)
}

/// The grammar of a tool without the parsers of its flags, which reads each value as text.
pub(crate) fn without_value_parsers(grammar: clap::Command, properties: &[Property]) -> clap::Command {
    let ids: Vec<_> = properties.iter().map(Property::clap_id).collect();
    grammar.mut_args(|argument| match ids.iter().any(|id| argument.get_id() == id.as_str()) {
        true => argument.value_parser(clap::value_parser!(String)),
        false => argument,
    })
}

/// The arguments of `clap` for the properties of a tool.
pub(crate) fn flag_arguments(properties: &[Property]) -> Vec<clap::Arg> {
    properties.iter().filter(|it| it.has_flag).map(argument::flag_argument).collect()
}
