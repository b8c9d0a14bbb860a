//! Dialects by name, and the dialect of a response.

use clap::{Arg, ArgMatches, builder::PossibleValuesParser};
use serde_json::Value;
use tool_runtime::{Registry, ToolCall, ToolResult, dialect::Dialect};

use crate::{Failure, input};

/// The option `--dialect`.
pub(crate) fn dialect_option() -> Arg {
    let names: Vec<_> = Dialect::all().iter().map(Dialect::name).collect();
    Arg::new("dialect").long("dialect").value_name("DIALECT").value_parser(PossibleValuesParser::new(names))
}

/// The dialects that the option names.
pub(crate) fn chosen_dialects(matches: &ArgMatches) -> Vec<Dialect> {
    let names: Vec<_> = matches.get_many::<String>("dialect").into_iter().flatten().collect();
    Dialect::all().into_iter().filter(|dialect| names.iter().any(|name| *name == dialect.name())).collect()
}

/// The dialect of the response `text`, with its calls.
///
/// Every dialect reads the response. Dialects that read the same calls and write the same results count as one, such as
/// a provider's dialect and its strict form.
///
/// # Errors
///
/// If no dialect reads calls, or several read different ones.
pub(crate) fn detect_dialect(tools: &Registry, text: &str) -> Result<(Dialect, Vec<ToolCall>), Failure> {
    // Text that is neither JSON nor a stream is the same problem in every dialect.
    let mut unreadable = None;
    let mut candidates: Vec<(Dialect, Vec<ToolCall>)> = Vec::new();
    for dialect in Dialect::all() {
        match input::read_calls(&dialect.bind_tools(tools), text) {
            Ok(calls) => candidates.push((dialect, calls)),
            Err(failure) => unreadable = Some(failure),
        }
    }
    let names = |dialects: &[(Dialect, Vec<ToolCall>)]| {
        let names: Vec<_> = dialects.iter().map(|(dialect, _)| dialect.name()).collect();
        names.join(", ")
    };
    let readers = names(&candidates);
    let mut different: Vec<(Dialect, Vec<ToolCall>)> = Vec::new();
    for candidate in candidates.into_iter().filter(|(_, calls)| !calls.is_empty()) {
        if !different.iter().any(|other| dialects_agree_on_calls(tools, other, &candidate)) {
            different.push(candidate);
        }
    }
    if let ([_], Some(only)) = (different.as_slice(), different.first().cloned()) {
        return Ok(only);
    }
    let problem = match (different.as_slice(), unreadable) {
        ([], Some(failure)) if !input::is_json_or_event_stream(text) => return Err(failure),
        ([], _) if readers.is_empty() => "no dialect reads this response".to_owned(),
        ([], _) => format!("the response contains no calls, as read by: {readers}"),
        (several, _) => format!("several dialects read this response: {}", names(several)),
    };
    Err(Failure::usage(format!("{problem}; name its dialect with `--dialect`")))
}

/// Returns `true` if both dialects read the same calls and write the same results for them.
fn dialects_agree_on_calls(
    tools: &Registry,
    one: &(Dialect, Vec<ToolCall>),
    other: &(Dialect, Vec<ToolCall>),
) -> bool {
    // Ids that the response does not contain are generated.
    let calls = |calls: &[ToolCall]| -> Vec<_> {
        calls
            .iter()
            .map(|it| (it.name.clone(), it.arguments.as_str().to_owned(), it.incomplete.clone()))
            .collect()
    };
    let results: Vec<_> =
        one.1.iter().map(|call| ToolResult::new(call.id.clone(), &*call.name, Ok("".into()))).collect();
    let written = |dialect: &Dialect| -> Value { dialect.bind_tools(tools).results(&results) };
    calls(&one.1) == calls(&other.1) && written(&one.0) == written(&other.0)
}
