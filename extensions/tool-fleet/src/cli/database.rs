//! The options of a database as the broker.

#[cfg(feature = "postgres")]
use std::time::Duration;

#[cfg(feature = "postgres")]
use tool_cli::Exit;
use tool_cli::{
    Failure, Program,
    clap::{Arg, ArgMatches, value_parser},
};

use super::connection::Broker;
#[cfg(feature = "postgres")]
use super::connection::unreachable_failure;
#[cfg(feature = "postgres")]
use crate::{FleetError, PostgresOptions};

/// The options, each of which requires `--postgres`.
pub(super) fn database_options() -> [Arg; 3] {
    let option = |name: &'static str, value: &'static str| {
        Arg::new(name).long(name).value_name(value).requires("postgres")
    };
    [
        option("postgres-schema", "NAME")
            .help("The schema of the tables, the same for workers and callers [default: tool_fleet]"),
        option("postgres-poll", "MILLISECONDS")
            .value_parser(value_parser!(u32).range(10..=60_000))
            .help("Look for messages in this interval, behind a pooler without LISTEN"),
        option("postgres-max-bytes", "BYTES")
            .value_parser(value_parser!(usize))
            .help("The largest message, up to 64 MiB [default: 1048576]"),
    ]
}

#[cfg(feature = "postgres")]
pub(super) fn connect_to_postgres(
    program: &Program,
    matches: &ArgMatches,
    url: &str,
) -> Result<Broker, Failure> {
    let options = read_options(matches, url)?;
    program
        .block_on(options.connect())?
        .map(Broker::Postgres)
        .map_err(|error| unreachable_failure(url, &error))
}

#[cfg(not(feature = "postgres"))]
pub(super) fn connect_to_postgres(_: &Program, _: &ArgMatches, _: &str) -> Result<Broker, Failure> {
    Err(Failure::usage(
        "`--postgres`: the program is compiled without Postgres; enable the feature `postgres` of `tool-fleet`",
    ))
}

#[cfg(feature = "postgres")]
fn read_options(matches: &ArgMatches, url: &str) -> Result<PostgresOptions, Failure> {
    let invalid = |option: &'static str| {
        move |error: FleetError| Failure::quoting(Exit::Usage, format!("`--{option}`: {error}"))
    };
    let mut options = PostgresOptions::new(url).map_err(invalid("postgres"))?;
    if let Some(schema) = matches.get_one::<String>("postgres-schema") {
        options = options.schema(schema).map_err(invalid("postgres-schema"))?;
    }
    if let Some(bytes) = matches.get_one::<usize>("postgres-max-bytes") {
        options = options.max_bytes(*bytes).map_err(invalid("postgres-max-bytes"))?;
    }
    let interval = matches.get_one::<u32>("postgres-poll");
    let intervals = interval.into_iter().map(|millis| Duration::from_millis((*millis).into()));
    Ok(intervals.fold(options, PostgresOptions::poll_interval))
}

#[cfg(all(test, feature = "postgres"))]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use tool_cli::clap::Command;

    use super::*;

    const URL: &str = "postgres://db.example/tools";

    fn matches_of(options: &[&str]) -> ArgMatches {
        let grammar =
            Command::new("work").args(database_options()).arg(Arg::new("postgres").long("postgres"));
        grammar.try_get_matches_from([&["work", "--postgres", URL], options].concat()).unwrap()
    }

    #[test]
    fn each_setting_of_a_database_has_an_option() {
        let options = ["--postgres-schema=trip", "--postgres-poll=250", "--postgres-max-bytes=8388608"];
        let expected = PostgresOptions::new(URL).unwrap().schema("trip").unwrap();
        let expected = expected.poll_interval(Duration::from_millis(250)).max_bytes(8 << 20).unwrap();
        let read = read_options(&matches_of(&options), URL).unwrap();
        assert_eq!(format!("{read:?}"), format!("{expected:?}"));
        let read = read_options(&matches_of(&[]), URL).unwrap();
        assert_eq!(format!("{read:?}"), format!("{:?}", PostgresOptions::new(URL).unwrap()));
    }

    #[test]
    fn a_database_is_looked_at_each_ten_milliseconds_to_a_minute() {
        let is_read = |option: &str| {
            let grammar =
                Command::new("work").args(database_options()).arg(Arg::new("postgres").long("postgres"));
            grammar.try_get_matches_from(["work", "--postgres", URL, option]).is_ok()
        };
        let polls = [9, 10, 60_000, 60_001].map(|millis| is_read(&format!("--postgres-poll={millis}")));
        assert_eq!(polls, [false, true, true, false]);
    }

    #[test]
    fn a_setting_of_a_database_beyond_its_range_is_an_error_that_names_the_option() {
        for (option, expected) in [
            ("--postgres-schema=Trip", "`--postgres-schema`: \"Trip\" is not a valid schema"),
            ("--postgres-max-bytes=5", "`--postgres-max-bytes`: 5 bytes are not a valid limit"),
        ] {
            let failure = read_options(&matches_of(&[option]), URL).unwrap_err().to_string();
            assert!(failure.contains(expected), "{failure}");
        }
    }
}
