//! The command `fleet`, and its grammar.

use std::sync::Arc;

use tool_cli::{
    Command, Exit, Failure, Program,
    clap::{self, Arg, ArgAction, ArgMatches, value_parser},
};
use tool_runtime::definition::ContentHash;

use super::{
    calls::{cancel_call, cancel_options, dead_option, list_calls, purge_calls, purge_options},
    connection::{PoolConnection, QueuePurpose, with_connection_options},
    drain::{drain_group, drain_options, drain_workers},
    key::{key_grammar, save_pool_key},
    limits::{age_options, read_limits},
    tools::list_tools,
    workers::list_workers,
};
use crate::{CallQueue, QueueLimits, ValueStore, values::LargeValues};

/// The characters of a hash in a table; JSON has all.
const HASH_CHARS: usize = 12;

/// The default maximum number of rows.
const DEFAULT_MAX_ROWS: u64 = 1000;

const EXAMPLES: &str = "\
Examples:
  fleet key --program-key program.key --save weather.key
  fleet workers --nats nats://127.0.0.1:4222 --key weather.key
  fleet calls --dead --nats nats://127.0.0.1:4222 --key weather.key
  fleet cancel CALL --nats nats://127.0.0.1:4222 --key weather.key
  fleet purge --nats nats://127.0.0.1:4222 --key weather.key
  fleet drain --all --nats nats://127.0.0.1:4222 --key weather.key";

const CANCEL_ABOUT: &str = "Cancel a durable call that waits for a worker, or one of a read-only or idempotent tool that runs; any other one that has \
                            started runs to its end";

/// The command `fleet`, which looks at a pool and its durable calls.
pub(super) struct Fleet {
    pool: Option<Arc<str>>,
    values: Option<Arc<dyn ValueStore>>,
    limits: QueueLimits,
}

impl Fleet {
    pub(super) fn new(
        pool: Option<Arc<str>>,
        values: Option<Arc<dyn ValueStore>>,
        limits: QueueLimits,
    ) -> Self {
        Self { pool, values, limits }
    }
}

impl Command for Fleet {
    fn grammar(&self) -> clap::Command {
        self.grammar_in("NAME")
    }

    fn grammar_in(&self, name: &str) -> clap::Command {
        let pool = self.pool.as_deref().unwrap_or(name);
        let list = |name: &'static str, about: &'static str| {
            with_connection_options(clap::Command::new(name).about(about), pool).args(list_options())
        };
        let change = |name: &'static str, about: &'static str| {
            with_connection_options(clap::Command::new(name).about(about), pool)
        };
        clap::Command::new("fleet")
            .about("List the workers, tools and durable calls of a pool, take workers out, and make its key")
            .after_help(EXAMPLES)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommands([
                list("workers", "List the workers of a pool").arg(
                    Arg::new("wait")
                        .long("wait")
                        .value_name("SECONDS")
                        .default_value("2")
                        .value_parser(value_parser!(u32).range(1..=60))
                        .help("The time in which workers answer"),
                ),
                list("tools", "List the tools of a pool"),
                list("calls", "List the durable calls of a pool, without their arguments").arg(dead_option()),
                change("cancel", CANCEL_ABOUT).args(cancel_options()).args(age_options(self.limits)),
                change(
                    "purge",
                    "Remove the durable calls of a pool that have ended, also results that were not taken",
                )
                .args(purge_options())
                .args(age_options(self.limits)),
                change("drain", "Take workers out: they take no more calls, end those that run, and leave")
                    .args(drain_options())
                    .group(drain_group()),
                key_grammar(pool),
            ])
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let Some((command, matches)) = matches.subcommand() else {
            return Err(Failure::usage("the command of `fleet` is missing"));
        };
        let pool = self.pool.as_deref();
        if command == "key" {
            return save_pool_key(program, matches, pool);
        }
        let connection = PoolConnection::open(program, matches, pool)?;
        let values = self.values.clone().map(|store| LargeValues::new(connection.key.clone(), store));
        let request = FleetRequest { program, matches, connection, values, limits: self.limits };
        match command {
            "workers" => list_workers(&request),
            "calls" => list_calls(&request),
            "cancel" => cancel_call(&request),
            "purge" => purge_calls(&request),
            "drain" => drain_workers(&request),
            _ => list_tools(&request),
        }
    }
}

/// A list of a pool, with its options.
pub(super) struct FleetRequest<'p> {
    pub(super) program: &'p Program,
    pub(super) matches: &'p ArgMatches,
    pub(super) connection: PoolConnection,
    /// The store of large values.
    pub(super) values: Option<LargeValues>,
    /// The limits of the queue, without options.
    limits: QueueLimits,
}

impl FleetRequest<'_> {
    /// Opens the queue of the pool, for a command with options of its limits.
    pub(super) fn open_queue(&self) -> Result<Arc<dyn CallQueue>, Failure> {
        let limits = read_limits(self.matches, self.limits);
        self.connection.open_queue(self.program, limits, QueuePurpose::Change)
    }

    /// Opens the queue of the pool for a command that only lists its calls.
    pub(super) fn open_listed_queue(&self) -> Result<Arc<dyn CallQueue>, Failure> {
        self.connection.open_queue(self.program, self.limits, QueuePurpose::List)
    }

    pub(super) fn has_json_output(&self) -> bool {
        self.matches.get_flag("json")
    }

    /// Returns the first rows, as many as the option allows, and notes that there are more.
    pub(super) fn limit_rows<T>(&self, mut rows: Vec<T>) -> Vec<T> {
        let limit = self.matches.get_one::<u64>("limit").copied().unwrap_or(DEFAULT_MAX_ROWS);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        if rows.len() > limit {
            self.program.note(&format!("there are {} in all; `--limit` shows more", rows.len()));
            rows.truncate(limit);
        }
        rows
    }

    /// Returns the first characters of a hash, which tell the rows of a table apart.
    pub(super) fn short_hash(hash: &ContentHash) -> String {
        hash.to_string().chars().take(HASH_CHARS).collect()
    }

    pub(super) fn print_json(&self, value: &impl serde::Serialize) -> Result<(), Failure> {
        let json = serde_json::to_string_pretty(value).map_err(|error| {
            Failure::new(Exit::Failed, format!("the output cannot be written as JSON: {error}"))
        })?;
        self.program.print_json(&(json + "\n"))
    }
}

fn list_options() -> [Arg; 2] {
    [
        Arg::new("limit")
            .long("limit")
            .value_name("NUMBER")
            .value_parser(value_parser!(u64).range(1..))
            .help(format!("The maximum number of rows [default: {DEFAULT_MAX_ROWS}]")),
        Arg::new("json").long("json").action(ArgAction::SetTrue).help("Write JSON"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_consistent() {
        Fleet::new(None, None, QueueLimits::default()).grammar_in("weather").debug_assert();
    }

    fn parse(arguments: &[&str]) -> Result<ArgMatches, clap::error::ErrorKind> {
        let fleet = Fleet::new(None, None, QueueLimits::default());
        fleet.grammar().try_get_matches_from([&["fleet"], arguments].concat()).map_err(|error| error.kind())
    }

    #[test]
    fn a_command_of_a_pool_is_required_with_its_broker_and_its_key() {
        use clap::error::ErrorKind::{
            ArgumentConflict, DisplayHelpOnMissingArgumentOrSubcommand, InvalidSubcommand,
            MissingRequiredArgument,
        };
        let nats = "--nats=nats://broker";
        for (arguments, expected) in [
            (&[][..], DisplayHelpOnMissingArgumentOrSubcommand),
            (&["other"], InvalidSubcommand),
            (&["workers", nats], MissingRequiredArgument),
            (&["workers", "--key=pool.key"], MissingRequiredArgument),
            (&["workers", nats, "--postgres=postgres://broker", "--key=pool.key"], ArgumentConflict),
            (&["cancel", nats, "--key=pool.key"], MissingRequiredArgument),
            (&["drain", nats, "--key=pool.key"], MissingRequiredArgument),
            (&["key", "--program-key=program.key"], MissingRequiredArgument),
            (&["key", "--save=pool.key"], MissingRequiredArgument),
        ] {
            assert_eq!(parse(arguments).map(drop), Err(expected), "{arguments:?}");
        }
        assert!(parse(&["key", "--program-key=program.key", "--save=pool.key", "--pool=trip"]).is_ok());
    }

    #[test]
    fn lists_have_a_limit_of_rows_and_a_time_of_up_to_a_minute() {
        let list = |command: &str, option: &str| {
            let arguments = [command, "--nats=nats://broker", "--key=pool.key", option];
            parse(&arguments).map(|mut matches| {
                let (_, matches) = matches.remove_subcommand().unwrap_or_default();
                let wait = matches.try_get_one::<u32>("wait").ok().flatten().copied();
                (wait, matches.get_one::<u64>("limit").copied(), matches.get_flag("json"))
            })
        };
        assert_eq!(list("workers", "--json"), Ok((Some(2), None, true)));
        assert_eq!(list("workers", "--wait=1"), Ok((Some(1), None, false)));
        assert_eq!(list("workers", "--wait=60"), Ok((Some(60), None, false)));
        for command in ["workers", "tools", "calls"] {
            assert_eq!(list(command, "--limit=1").map(|(_, limit, _)| limit), Ok(Some(1)));
        }
        let invalid = Err(clap::error::ErrorKind::ValueValidation);
        for option in ["--wait=0", "--wait=61", "--limit=0"] {
            assert_eq!(list("workers", option), invalid, "{option}");
        }
    }

    #[test]
    fn the_help_names_the_pool_of_the_program() {
        let help = |pool: Option<&str>| {
            let fleet = Fleet::new(pool.map(Arc::from), None, QueueLimits::default());
            let mut grammar = fleet.grammar_in("weather");
            let workers = grammar.find_subcommand_mut("workers").cloned();
            let workers = workers.map(|workers| workers.term_width(0).render_help());
            workers.map(|help| help.to_string()).unwrap_or_default()
        };
        assert!(help(None).contains("The pool [default: weather]"));
        assert!(help(Some("trip")).contains("The pool [default: trip]"));
        assert!(help(None).contains("Broker and pool:"));
    }

    #[test]
    fn a_hash_is_shown_by_its_first_twelve_characters() {
        let hash = ContentHash::of("tool");
        assert_eq!(FleetRequest::short_hash(&hash), hash.to_string()[..12]);
    }
}
