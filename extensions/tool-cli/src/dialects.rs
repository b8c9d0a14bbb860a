//! Dialects by their names.

use clap::{Arg, ArgMatches, builder::PossibleValuesParser};
use tool_runtime::dialect::Dialect;

/// The option by which a dialect is chosen.
pub(crate) fn option() -> Arg {
    let names: Vec<_> = Dialect::all().iter().map(Dialect::name).collect();
    Arg::new("dialect").long("dialect").value_name("DIALECT").value_parser(PossibleValuesParser::new(names))
}

/// The dialects that were chosen.
pub(crate) fn chosen(matches: &ArgMatches) -> Vec<Dialect> {
    let names: Vec<_> = matches.get_many::<String>("dialect").into_iter().flatten().collect();
    Dialect::all().into_iter().filter(|dialect| names.iter().any(|name| *name == dialect.name())).collect()
}
