use std::collections::BTreeMap;

use clap::{Arg, ArgMatches, builder::PossibleValuesParser};
use tool_runtime::dialect::{Finding, Severity, lint};

use super::{json, pretty};
use crate::{
    Command, Exit, Failure, Program, dialects,
    page::{Look, Page},
};

/// The command `lint`, which lists findings of dialects.
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
                dialects::option()
                    .action(clap::ArgAction::Append)
                    .help("Only findings of this dialect; may be repeated"),
            )
            .arg(severity("show", "warning").help("The lowest severity that is listed"))
            .arg(severity("deny", "error").help("The lowest severity with the exit code 1"))
            .arg(json())
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let dialects: Vec<_> = dialects::chosen(matches).iter().map(|dialect| dialect.name()).collect();
        let wanted = |finding: &Finding| {
            dialects.is_empty() || finding.dialect == "all" || dialects.contains(&finding.dialect)
        };
        let all: Vec<_> = lint(program.tools()?).into_iter().filter(wanted).collect();
        let least = |name| severity(matches.get_one::<String>(name).map_or("", String::as_str));
        let shown: Vec<_> = all.iter().filter(|finding| finding.severity >= least("show")).collect();
        if matches.get_flag("json") {
            program.terminal().print_json(&pretty(&shown)?)?;
        } else {
            program.terminal().print(&listed(program, &shown, &all))?;
        }
        let denied = all.iter().any(|finding| finding.severity >= least("deny"));
        Ok(if denied { Exit::Failed } else { Exit::Done })
    }
}

fn severity(name: &str) -> Severity {
    match name {
        "note" => Severity::Note,
        "warning" => Severity::Warning,
        _ => Severity::Error,
    }
}

/// The findings by tool; a finding of several dialects is listed once.
fn listed(program: &Program, shown: &[&Finding], all: &[Finding]) -> Page {
    let mut by_place: BTreeMap<_, Vec<(&Finding, Vec<&str>)>> = BTreeMap::new();
    for finding in shown {
        let here = by_place.entry((&finding.tool, &finding.pointer)).or_default();
        let same = |(other, _): &&mut (&Finding, Vec<&str>)| {
            (&other.message, other.severity) == (&finding.message, finding.severity)
        };
        match here.iter_mut().find(same) {
            Some((_, dialects)) => dialects.push(finding.dialect),
            None => here.push((finding, vec![finding.dialect])),
        }
    }
    let mut page = program.terminal().page();
    let mut tool = "";
    for (finding, dialects) in by_place.into_values().flatten() {
        if tool != finding.tool {
            tool = &finding.tool;
            page.paint(Look::Name, tool).add("\n");
        }
        let (look, word) = match finding.severity {
            Severity::Error => (Look::Bad, "error"),
            Severity::Warning => (Look::Odd, "warning"),
            _ => (Look::Faint, "note"),
        };
        let place = if finding.pointer.is_empty() { String::new() } else { format!(" {}", finding.pointer) };
        page.add_item(look, word, &format!("{place}: {}", finding.message));
        page.add_under(&format!("{} [{}]", finding.remedy, dialects.join(", ")));
    }
    let count = |severity, word: &str| {
        let count = all.iter().filter(|finding| finding.severity == severity).count();
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
