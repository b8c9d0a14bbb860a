//! The flags of a tool, made of its schema.
//!
//! A flag is read as what the schema says of its property and written into a JSON object, which is then checked like
//! the arguments of any call: what a flag checks by itself is only what makes for a better message.

mod argument;
mod collect;
mod exact;
mod kind;
mod property;
mod schema;
mod shape;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests;

pub(crate) use self::{
    collect::{Given, collect},
    exact::{exact, members},
    kind::{Kind, shown},
    property::{Property, properties, properties_of},
    schema::kind_of,
    shape::Inner,
};

/// A flag as it is written: `--days`.
pub(crate) fn flag(property: &Property) -> String {
    format!("--{}", property.flag)
}

/// The arguments of `clap` for the properties of a tool.
pub(crate) fn arguments(properties: &[Property]) -> Vec<clap::Arg> {
    properties.iter().filter(|it| it.has_flag).map(argument::argument).collect()
}
