//! The options of the limits of a queue.

use std::time::Duration;

use tool_cli::clap::{Arg, ArgMatches, value_parser};

use crate::QueueLimits;

/// The greatest age, in seconds.
const MAX_AGE_SECONDS: u64 = QueueLimits::MAX_AGE.as_secs();

/// The options of a worker, with the defaults of the program.
pub(super) fn limit_options(defaults: QueueLimits) -> [Arg; 4] {
    let [call_age, result_age] = age_options(defaults);
    let calls = "The maximum number of calls, results that wait included; callers have it too";
    let bytes = "The maximum bytes of all calls and results; callers have it too";
    [
        limit_option("queue-calls", "NUMBER", calls, defaults.calls.to_string())
            .value_parser(value_parser!(u64).range(1..)),
        limit_option("queue-bytes", "BYTES", bytes, defaults.bytes.to_string())
            .value_parser(value_parser!(u64).range(1..)),
        call_age,
        result_age,
    ]
}

/// The options of a command that neither stores calls nor results, with the defaults of the program.
pub(super) fn age_options(defaults: QueueLimits) -> [Arg; 2] {
    let option = |name: &'static str, help: &str, age: Duration| {
        let help = format!("{help}, from 1 to {MAX_AGE_SECONDS}");
        limit_option(name, "SECONDS", &help, age.as_secs_f64().to_string())
            .value_parser(value_parser!(u64).range(1..=MAX_AGE_SECONDS))
    };
    [
        option("queue-call-age", "The time that a call waits, the same in all processes", defaults.call_age),
        option(
            "queue-result-age",
            "The time that a result is kept, the same in all processes",
            defaults.result_age,
        ),
    ]
}

fn limit_option(name: &'static str, value: &'static str, help: &str, default: String) -> Arg {
    let option = Arg::new(name).long(name).value_name(value).help_heading("Limits of the queue");
    option.help(format!("{help} [default: {default}]"))
}

/// Returns the limits of the options, and `defaults` for those that are left out.
pub(super) fn read_limits(matches: &ArgMatches, defaults: QueueLimits) -> QueueLimits {
    // Not each command has all of them.
    let number = |option: &str| matches.try_get_one::<u64>(option).ok().flatten().copied();
    let age = |option: &str, default| number(option).map_or(default, Duration::from_secs);
    QueueLimits {
        calls: number("queue-calls")
            .map_or(defaults.calls, |calls| usize::try_from(calls).unwrap_or(usize::MAX)),
        bytes: number("queue-bytes").unwrap_or(defaults.bytes),
        call_age: age("queue-call-age", defaults.call_age),
        result_age: age("queue-result-age", defaults.result_age),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use tool_cli::clap::Command;

    use super::*;

    #[test]
    fn options_replace_the_limits_of_the_program_one_by_one() {
        let defaults = QueueLimits { calls: 7, bytes: 8, ..QueueLimits::default() };
        let read = |options: &[&str]| {
            let grammar = Command::new("calls").args(limit_options(defaults));
            read_limits(&grammar.try_get_matches_from([&["calls"], options].concat()).unwrap(), defaults)
        };
        assert_eq!(read(&[]), defaults);
        let expected = QueueLimits { bytes: 9, result_age: Duration::from_secs(60), ..defaults };
        assert_eq!(read(&["--queue-bytes=9", "--queue-result-age=60"]), expected);
        let expected = QueueLimits { calls: 1, call_age: Duration::from_secs(5), ..defaults };
        assert_eq!(read(&["--queue-calls=1", "--queue-call-age=5"]), expected);
        let ages = Command::new("calls").args(age_options(defaults));
        let expected = QueueLimits { result_age: Duration::from_secs(60), ..defaults };
        let matches = ages.clone().try_get_matches_from(["calls", "--queue-result-age=60"]).unwrap();
        assert_eq!(read_limits(&matches, defaults), expected);
        let error = ages.try_get_matches_from(["calls", "--queue-calls=1"]).unwrap_err();
        assert!(error.to_string().contains("'--queue-calls'"), "{error}");
        let grammar = Command::new("calls").args(limit_options(defaults));
        let error = grammar.try_get_matches_from(["calls", "--queue-call-age=2592001"]).unwrap_err();
        assert!(error.to_string().contains("1..=2592000"), "{error}");
    }

    #[test]
    fn limits_are_at_least_one_and_ages_at_most_thirty_days() {
        let options = ["calls", "bytes", "call-age", "result-age"];
        for (option, last) in options.into_iter().zip([u64::MAX, u64::MAX, 2_592_000, 2_592_000]) {
            let is_read = |value: u64| {
                let grammar = Command::new("calls").args(limit_options(QueueLimits::default()));
                grammar.try_get_matches_from(["calls", &format!("--queue-{option}={value}")]).is_ok()
            };
            assert!(!is_read(0) && is_read(1) && is_read(last), "{option}");
        }
    }

    #[test]
    fn the_help_has_the_limits_of_the_program() {
        let defaults = QueueLimits { calls: 7, bytes: 8, ..QueueLimits::default() };
        let help =
            Command::new("calls").args(limit_options(defaults)).term_width(0).render_help().to_string();
        for expected in [
            "Limits of the queue:",
            "--queue-calls <NUMBER>",
            "[default: 7]",
            "--queue-bytes <BYTES>",
            "[default: 8]",
            "--queue-call-age <SECONDS>",
            "from 1 to 2592000 [default: 86400]",
        ] {
            assert!(help.contains(expected), "{expected}: {help}");
        }
    }
}
