use clap::{Arg, ArgMatches, value_parser};
use tool_runtime::{
    CallOutcome, Executor,
    executor::{ExecutionStrategy, RunSettings},
};

use super::{exit_of_result, external_call_note, pretty_json};
use crate::{
    Command, Exit, Failure, Program,
    approver::{self, ApproveMode, MissingTerminalFlag},
    dialects, input,
    progress::{ProgressView, run_batch_with_view},
    sanitize::escaped_line,
};

/// The command `run`, which runs the calls of a response.
pub(super) struct Run;

impl Command for Run {
    fn grammar(&self) -> clap::Command {
        clap::Command::new("run")
            .visible_alias("r")
            .about("Run the calls of a response, and write their results for the provider")
            .long_about(
                "Run the calls of a response, and write their results for the provider.\n\n\
                 The response is JSON or a stream: server-sent events, or one JSON value per line.",
            )
            .arg(
                dialects::dialect_option()
                    .help("The dialect of the response. Default: detected, if it is unambiguous"),
            )
            .arg(
                Arg::new("strategy")
                    .long("strategy")
                    .value_name("HOW")
                    .value_parser(parse_strategy)
                    .default_value("parallel")
                    .help("parallel, sequential, or a number of calls at once: batched=4"),
            )
            .arg(approver::approve_option())
            .arg(
                Arg::new("events")
                    .long("events")
                    .value_name("FORM")
                    .value_parser(["text", "json"])
                    .default_value("text")
                    .help("The form of events on the standard error"),
            )
            .arg(
                Arg::new("response")
                    .value_name("FILE")
                    .default_value("-")
                    .value_parser(value_parser!(String))
                    .help("The response; - is the standard input"),
            )
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let path = matches.get_one::<String>("response").map_or("-", String::as_str);
        let text = input::read_file(path)?;
        let (dialect, calls) = match dialects::chosen_dialects(matches).pop() {
            Some(dialect) => {
                let calls = input::read_calls(&dialect.bind_tools(program.tools()?), &text)?;
                (dialect, calls)
            }
            None => dialects::detect_dialect(program.tools()?, &text)?,
        };
        let terminal = program.terminal();
        let mut missing_terminal = MissingTerminalFlag::default();
        let outcomes = match calls.is_empty() {
            // Values are provided only for calls.
            true => Vec::new(),
            false => {
                let (executor, of_batch) = executor_with_options(program, matches)?;
                missing_terminal = of_batch;
                let json = matches.get_one::<String>("events").is_some_and(|form| form == "json");
                let view = if json {
                    ProgressView::with_json_events(terminal)
                } else {
                    ProgressView::with_text_events(terminal)
                };
                program.block_on(run_batch_with_view(executor.batch(calls), view, None))?
            }
        };

        let results: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.result().cloned()).collect();
        terminal.print_json(&pretty_json(&dialect.bind_tools(program.tools()?).results(&results))?)?;
        for result in results.iter().filter(|result| result.is_error()) {
            let first = result.text().lines().next().unwrap_or_default().to_owned();
            terminal.report_error(&format!("{}: {}", escaped_line(&result.name), escaped_line(&first)));
        }
        missing_terminal.report_missing_terminal(terminal);
        if outcomes.is_empty() {
            terminal.report_note(&format!("the response contains no calls (dialect: {})", dialect.name()));
        }
        for outcome in &outcomes {
            if let CallOutcome::External(call, _) = outcome {
                terminal.report_note(&external_call_note(&call.name));
            }
        }
        let ends = results.iter().map(exit_of_result);
        Ok(ends.max_by_key(|exit| exit_severity(*exit)).unwrap_or(Exit::Done))
    }
}

/// The executor of the program with the options of the command.
fn executor_with_options(
    program: &Program,
    matches: &ArgMatches,
) -> Result<(Executor, MissingTerminalFlag), Failure> {
    let base = program.executor()?;
    let asked = matches.get_one::<ExecutionStrategy>("strategy").copied().unwrap_or_default();
    let strategies = [base.strategy(), asked];
    // The program may rely on its own strategy: the one that runs fewer calls at once applies.
    let strategy =
        strategies.into_iter().min_by_key(|strategy| max_concurrent_calls(*strategy)).unwrap_or_default();
    let settings = RunSettings::new().strategy(strategy);
    let approve = ApproveMode::from_name(matches.get_one::<String>("approve").map(String::as_str));
    let derived = approve.derive_executor(base, settings, true, program.terminal().question_screen(), None);
    derived.map_err(|error| Failure::usage(error.to_string()))
}

/// The number of calls that run at once.
fn max_concurrent_calls(strategy: ExecutionStrategy) -> usize {
    match strategy {
        ExecutionStrategy::Sequential => 1,
        ExecutionStrategy::Batched { size } => size,
        ExecutionStrategy::Parallel => usize::MAX,
    }
}

/// The rank of an exit code: of several calls, the highest one counts.
fn exit_severity(exit: Exit) -> u8 {
    [Exit::Done, Exit::Failed, Exit::Usage, Exit::Refused]
        .iter()
        .position(|it| *it == exit)
        .map_or(u8::MAX, |at| at as u8)
}

fn parse_strategy(text: &str) -> Result<ExecutionStrategy, String> {
    let size = text.strip_prefix("batched=").and_then(|size| size.parse().ok()).filter(|size| *size > 0);
    match (text, size) {
        ("parallel", _) => Ok(ExecutionStrategy::Parallel),
        ("sequential", _) => Ok(ExecutionStrategy::Sequential),
        (_, Some(size)) => Ok(ExecutionStrategy::Batched { size }),
        _ => Err("expected `parallel`, `sequential`, or `batched=4` or another size".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strategy_is_read_by_its_name() {
        for (text, strategy) in [
            ("parallel", Some(ExecutionStrategy::Parallel)),
            ("sequential", Some(ExecutionStrategy::Sequential)),
            ("batched=1", Some(ExecutionStrategy::Batched { size: 1 })),
            ("batched=12", Some(ExecutionStrategy::Batched { size: 12 })),
            ("batched=0", None),
            ("batched=", None),
            ("batched", None),
            ("", None),
        ] {
            assert_eq!(parse_strategy(text).ok(), strategy, "{text}");
        }
    }

    #[test]
    fn the_number_of_calls_at_once_follows_from_the_strategy() {
        let strategies = [
            ExecutionStrategy::Sequential,
            ExecutionStrategy::Batched { size: 4 },
            ExecutionStrategy::Parallel,
        ];
        assert_eq!(strategies.map(max_concurrent_calls), [1, 4, usize::MAX]);
    }

    #[test]
    fn the_worst_end_of_several_calls_counts() {
        let ends = [Exit::Done, Exit::Failed, Exit::Usage, Exit::Refused, Exit::Cancelled];
        assert!(ends.map(exit_severity).is_sorted_by(|one, other| one < other));
    }
}
