//! JSON arguments from flags.

use clap::{ArgMatches, parser::ValueSource};
use serde_json::{Map, Value};

use super::{Property, ValueKind, flag_name, lossless_json::parse_lossless_json};
use crate::{Failure, sanitize::escaped_line};

/// The arguments of a call, with their origin.
#[derive(Debug)]
pub(crate) struct CallArguments {
    /// The arguments as JSON; unchanged if no flag was added.
    pub(crate) text: String,
    /// The file of the arguments, for messages; `None` for flags.
    pub(crate) origin: Option<String>,
}

/// Reads the flags in `matches`, which override `json`. `read` parses the value of a flag.
pub(crate) fn collect_arguments(
    properties: &[Property],
    matches: &ArgMatches,
    json: Option<CallArguments>,
    read: &dyn Fn(&Property, &str) -> Result<Value, Failure>,
) -> Result<CallArguments, Failure> {
    let mut arguments = Map::new();
    let flags: Vec<_> = properties.iter().filter(|it| it.has_flag && is_given_as_flag(it, matches)).collect();
    if let Some(json) = json {
        if flags.is_empty() {
            return Ok(json);
        }
        let why = match parse_lossless_json(&json.text) {
            Ok(Value::Object(given)) => {
                arguments = given;
                None
            }
            Ok(_) => Some("flags require a JSON object as the other arguments".to_owned()),
            Err(error) => Some(format!("the arguments: {}", escaped_line(&error))),
        };
        if let Some(why) = why {
            // The value of a boolean flag without `=` is read as the arguments.
            let switch = flags.iter().find(|it| it.kind == ValueKind::Switch);
            let how = switch.map(|it| format!("; write a boolean as `{}=true`", flag_name(it)));
            return Err(Failure::usage(why + &how.unwrap_or_default()));
        }
    }
    for property in flags {
        let texts = matches.get_many::<String>(&property.clap_id()).into_iter().flatten();
        let values = texts.map(|text| read(property, text)).collect::<Result<Vec<_>, _>>()?;
        let value = match property.kind {
            ValueKind::List(_) => Some(Value::Array(values)),
            _ => values.into_iter().next_back(),
        };
        if let Some(value) = value {
            property.insert_into(&mut arguments, value).map_err(|error| invalid_value(property, &error))?;
        }
    }
    Ok(CallArguments { text: Value::Object(arguments).to_string(), origin: None })
}

/// Parses the value of a flag that is not a secret.
pub(crate) fn read_value(property: &Property, text: &str) -> Result<Value, Failure> {
    property.kind.parse(text).map_err(|error| invalid_value(property, &error))
}

fn invalid_value(property: &Property, error: &str) -> Failure {
    Failure::usage(format!("{}: {}", flag_name(property), escaped_line(error)))
}

/// The valid values of a flag that is given.
pub(crate) fn valid_values(property: &Property, matches: &ArgMatches) -> Vec<Value> {
    if !is_given_as_flag(property, matches) {
        return Vec::new();
    }
    let texts = matches.get_many::<String>(&property.clap_id()).into_iter().flatten();
    texts.filter_map(|text| property.kind.parse(text).ok()).collect()
}

fn is_given_as_flag(property: &Property, matches: &ArgMatches) -> bool {
    matches.value_source(&property.clap_id()) == Some(ValueSource::CommandLine)
}
