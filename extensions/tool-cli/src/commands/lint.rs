use std::collections::BTreeMap;

use clap::{Arg, ArgMatches, builder::PossibleValuesParser};
use tool_runtime::{
    diagnostic::{Diagnostic, Severity},
    dialect::lint,
};

use super::{json_option, pretty_json};
use crate::{
    Command, Exit, Failure, Program, dialects,
    page::{Page, TextStyle},
};

/// The command `lint`, which lists diagnostics of dialects.
pub(super) struct Lint;

impl Command for Lint {
    fn grammar(&self) -> clap::Command {
        let severity = |name: &'static str, default: &'static str| {
            Arg::new(name)
                .long(name)
                .value_name("SEVERITY")
                .value_parser(PossibleValuesParser::new(["note", "warning", "error"]))
                .default_value(default)
        };
        clap::Command::new("lint")
            .about("List parts of definitions that dialects cannot carry, and missing descriptions")
            .arg(
                dialects::dialect_option()
                    .action(clap::ArgAction::Append)
                    .help("Only diagnostics of this dialect; may be repeated"),
            )
            .arg(severity("show", "warning").help("The lowest severity that is listed"))
            .arg(severity("deny", "error").help("The lowest severity with the exit code 1"))
            .arg(json_option())
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let dialects: Vec<_> =
            dialects::chosen_dialects(matches).iter().map(|dialect| dialect.name()).collect();
        let wanted = |diagnostic: &Diagnostic| {
            let dialect = dialect_name(diagnostic);
            dialects.is_empty() || dialect == "all" || dialects.contains(&dialect)
        };
        let all: Vec<_> = lint(program.tools()?).into_iter().filter(wanted).collect();
        let least = |name| severity_from_name(matches.get_one::<String>(name).map_or("", String::as_str));
        let shown: Vec<_> = all.iter().filter(|diagnostic| diagnostic.severity >= least("show")).collect();
        if matches.get_flag("json") {
            program.terminal().print_json(&pretty_json(&shown)?)?;
        } else {
            program.terminal().print_page(&diagnostics_page(program, &shown, &all))?;
        }
        let denied = all.iter().any(|diagnostic| diagnostic.severity >= least("deny"));
        Ok(if denied { Exit::Failed } else { Exit::Done })
    }
}

fn dialect_name(diagnostic: &Diagnostic) -> &'static str {
    diagnostic.location.dialect.unwrap_or("all")
}

fn severity_from_name(name: &str) -> Severity {
    match name {
        "note" => Severity::Note,
        "warning" => Severity::Warning,
        _ => Severity::Error,
    }
}

fn diagnostic_help(diagnostic: &Diagnostic) -> &str {
    diagnostic.help.as_deref().unwrap_or_default()
}

/// The diagnostics by tool; one of several dialects is listed once.
fn diagnostics_page(program: &Program, shown: &[&Diagnostic], all: &[Diagnostic]) -> Page {
    let mut by_place: BTreeMap<_, Vec<(&Diagnostic, Vec<&str>)>> = BTreeMap::new();
    for diagnostic in shown {
        let here = by_place.entry((&diagnostic.location.tool, &diagnostic.location.pointer)).or_default();
        let same = |(other, _): &&mut (&Diagnostic, Vec<&str>)| {
            (&other.message, other.severity) == (&diagnostic.message, diagnostic.severity)
        };
        match here.iter_mut().find(same) {
            Some((_, dialects)) => dialects.push(dialect_name(diagnostic)),
            None => here.push((diagnostic, vec![dialect_name(diagnostic)])),
        }
    }
    let mut page = program.terminal().page();
    let mut tool = "";
    for (diagnostic, dialects) in by_place.into_values().flatten() {
        let of_tool = diagnostic.location.tool.as_deref().unwrap_or_default();
        if tool != of_tool {
            tool = of_tool;
            page.add_styled_text(TextStyle::Name, tool).add("\n");
        }
        let (style, word) = match diagnostic.severity {
            Severity::Error => (TextStyle::Error, "error"),
            Severity::Warning => (TextStyle::Warning, "warning"),
            _ => (TextStyle::Dim, "note"),
        };
        let pointer = &diagnostic.location.pointer;
        let place = if pointer.is_empty() { String::new() } else { format!(" {pointer}") };
        page.add_item(style, word, &format!("{place}: {}", diagnostic.message));
        page.add_line_below_item(&format!("{} [{}]", diagnostic_help(diagnostic), dialects.join(", ")));
    }
    let count = |severity, word: &str| {
        let count = all.iter().filter(|diagnostic| diagnostic.severity == severity).count();
        format!("{count} {word}{}", if count == 1 { "" } else { "s" })
    };
    let errors = count(Severity::Error, "error");
    let (warnings, notes) = (count(Severity::Warning, "warning"), count(Severity::Note, "note"));
    let hidden = all.len() - shown.len();
    let more = if hidden > 0 { format!("; {hidden} not listed, see `--show note`") } else { String::new() };
    let blank = if shown.is_empty() { "" } else { "\n" };
    page.add(&format!("{blank}{errors}, {warnings}, {notes}{more}\n"));
    page
}
