//! The commands `work` and `fleet` for [`tool-cli`](tool_cli): any program with tools as a worker, and a look at a pool.
//!
//! ```no_run,standalone_crate
//! use tool_cli::Cli;
//! use tool_fleet::cli::FleetCommands;
//! use tool_runtime::prelude::*;
//!
//! /// Adds two numbers.
//! #[tool(read_only)]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     Cli::new().extension(FleetCommands::new().pool("math")).main()
//! }
//! ```
//!
//! ```text
//! $ calculator fleet key --program-key program.key --save math.key
//! $ calculator work --nats nats://127.0.0.1:4222 --key math.key
//! $ calculator fleet workers --nats nats://127.0.0.1:4222 --key math.key
//! ```
//!
//! | command | does |
//! | --- | --- |
//! | `work` | runs the calls of a pool by the tools of the program, until Ctrl-C or SIGTERM |
//! | `fleet workers` | lists the workers of a pool that answer: whether they serve or drain, and how many calls they run |
//! | `fleet tools` | lists the tools of a pool, by the names that a caller has |
//! | `fleet calls` | lists the [durable calls](crate::DurableCalls) of a pool: ids, states, ages and hashes of definitions; `--dead` those whose workers ended during them |
//! | `fleet cancel CALL` | cancels a durable call that waits, or one of a read-only or idempotent tool that runs; any other one that has started runs to its end |
//! | `fleet purge` | removes the durable calls that have ended, with results that were not taken, after a question or with `--yes`; `--queued` also cancels those that wait |
//! | `fleet drain WORKER`, `fleet drain --all` | takes workers out, as SIGTERM does, and waits until they have left |
//! | `fleet key` | writes the key of a pool, derived from the key of the program, which it makes if there is none |
//!
//! # Broker and pool
//!
//! `--nats URL` (feature `nats`) or `--postgres URL` (feature `postgres`) is the broker. A password or token is never part of the command line, which
//! other programs of the machine can read: `env:NAME` reads the URL from an environment variable, `@FILE` from a file, and the variables of `psql`,
//! such as `PGPASSFILE`, apply. `--pool NAME` is the pool; default: the one of [`FleetCommands::pool`], or else the name of the program.
//! `--key FILE` is the key of the pool, which [`PoolKey::save`](tool_runtime::open_calls::PoolKey::save) or `fleet key` wrote: 32 bytes in a file
//! that its owner alone can read. A worker needs no other key.
//!
//! With `--postgres`, `--postgres-schema NAME` is the schema of the tables, `--postgres-poll MILLISECONDS` looks for messages in an interval, for
//! a pooler without `LISTEN`, and `--postgres-max-bytes BYTES` is the largest message: as in `PostgresOptions`. Workers and callers of a pool have
//! the same schema and the same largest message.
//!
//! # Durable calls
//!
//! `work --durable` also runs the durable calls of the pool, which the broker keeps: a server of NATS with JetStream (`nats-server -js -sd FOLDER`),
//! or the database. `fleet calls`, `fleet cancel` and `fleet purge` read and change the same queue. They show neither arguments nor results, and need
//! no worker.
//! `work --durable` has `--queue-calls` and `--queue-bytes`, and it, `fleet cancel` and `fleet purge` have `--queue-call-age` and `--queue-result-age`: the limits of the queue
//! ([`QueueLimits`]), in calls, bytes and seconds; default: those of [`FleetCommands::queue_limits`]. Calls are counted by the callers that store them, and bytes also by
//! the workers that store results. Over JetStream, the ages are those of the process that looks: one with a lower age ends or removes what is older.
//!
//! # The end of a worker
//!
//! At Ctrl-C or SIGTERM, `work` takes no new call, and ends those that it has, for at most `--drain` seconds. A second signal ends it at once, with the
//! exit code 130. In both cases, callers repeat read-only and idempotent calls that did not end at another worker.
//!
//! `fleet drain` does the same from afar, by a message under the key of the pool: to the workers that it names, as `fleet workers` lists them, or to all of
//! the pool that answer within 2 s (`--all`), after a question or with `--yes`. It waits for 60 s (`--wait`), and ends with an error that names each worker that still runs calls,
//! has dropped calls, or no longer answers. A worker drains also if the command is ended. Its process then ends with the exit code 0, or 1 if it dropped calls: a
//! supervisor that restarts it after such an end brings back a worker with another name. `work` writes the name of its worker as it begins to serve.
//!
//! # Health
//!
//! `work --health ADDRESS` answers two requests over HTTP, and writes its URL to the standard output; port 0 is any free one.
//!
//! | request | answer |
//! | --- | --- |
//! | `GET /healthz` | 200 while the process runs |
//! | `GET /readyz` | 200 while the worker takes calls and its connection to the broker stands; otherwise 503 with the reason, such as while it drains; the queue of durable calls is not looked at |
//!
//! Requests need no authentication, and show nothing else: at most 32 connections of a second each, with one request of at most 8 KiB.
//!
//! # Guards
//!
//! `work` serves [`Program::executor`](tool_cli::Program::executor): rules, policies, hooks, limits and timeouts of
//! [`Cli::executor`](tool_cli::Cli::executor) apply to calls of the pool.
//!
//! # Text of others
//!
//! Names and descriptions of a pool are text of its workers. They are shown through [`Escape`](tool_runtime::policy::Escape), and shortened;
//! `--json` writes them in full, with invisible characters as JSON escapes. Tables have the first 12 characters of a hash, JSON all.
//!
//! # Exit codes
//!
//! 0 for success; 1 if the broker cannot be reached or fails, if no worker answers, if one that is drained has not left in time, if a worker that was stopped or drained has dropped calls (`work` and `fleet drain` alike), or if a call cannot be cancelled; 2 for an invalid command line and a key that
//! cannot be used; 3 if a question was not answered by yes; 4 if the tools of the program cannot be used; 130 after a second signal.

mod calls;
mod connection;
mod database;
mod drain;
mod fleet;
mod health;
mod key;
mod limits;
mod signals;
mod tools;
mod work;
mod workers;

use std::{fmt, sync::Arc};

use tool_cli::{Command, Extension};

use self::{fleet::Fleet, work::Work};
use crate::{QueueLimits, ValueStore};

/// The commands `work` and `fleet`. The [module](self) describes them.
///
/// # Examples
///
/// ```
/// use tool_cli::Cli;
/// use tool_fleet::cli::FleetCommands;
///
/// let cli = Cli::new().extension(FleetCommands::new().pool("weather"));
/// ```
#[derive(Clone, Default)]
#[must_use = "commands do nothing until they are added to a command line"]
pub struct FleetCommands {
    pool: Option<Arc<str>>,
    values: Option<Arc<dyn ValueStore>>,
    limits: QueueLimits,
}

impl FleetCommands {
    /// Creates the commands.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the pool, without `--pool`. Default: the name of the program.
    pub fn pool(mut self, pool: impl Into<Arc<str>>) -> Self {
        self.pool = Some(pool.into());
        self
    }

    /// Sets the store of `work` for arguments and results that are too large for the broker or the queue: see
    /// [`Worker::value_store`](crate::Worker::value_store). The commands of the queue delete the values of the calls that they remove; without it, those are left to
    /// the sweep of the store. Default: none.
    pub fn value_store(mut self, store: impl ValueStore) -> Self {
        self.values = Some(Arc::new(store));
        self
    }

    /// Sets the limits of the queue of `work --durable`, `fleet cancel` and `fleet purge`, without options such as
    /// `--queue-call-age`: those of the program's callers. Default: those of [`QueueLimits`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tool_fleet::{QueueLimits, cli::FleetCommands};
    ///
    /// let limits = QueueLimits { result_age: Duration::from_secs(7 * 24 * 60 * 60), ..QueueLimits::default() };
    /// let commands = FleetCommands::new().pool("weather").queue_limits(limits);
    /// ```
    pub fn queue_limits(mut self, limits: QueueLimits) -> Self {
        self.limits = limits;
        self
    }
}

impl fmt::Debug for FleetCommands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetCommands").field("pool", &self.pool).finish_non_exhaustive()
    }
}

impl Extension for FleetCommands {
    fn commands(&self) -> Vec<Box<dyn Command>> {
        vec![
            Box::new(Work::new(self.pool.clone(), self.values.clone(), self.limits)),
            Box::new(Fleet::new(self.pool.clone(), self.values.clone(), self.limits)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_have_the_pool_and_the_limits_of_the_program() {
        let help = |commands: FleetCommands| {
            let texts = commands.commands().into_iter().map(|command| {
                let mut grammar = command.grammar();
                let name = grammar.get_name().to_owned();
                let purge = grammar.find_subcommand_mut("purge").cloned();
                (name, purge.unwrap_or(grammar).term_width(0).render_help().to_string())
            });
            texts.collect::<Vec<_>>()
        };
        let call_age = std::time::Duration::from_secs(77);
        let limits = QueueLimits { call_age, ..QueueLimits::default() };
        let commands = FleetCommands::new().pool("trip").queue_limits(limits);
        assert_eq!(format!("{commands:?}"), r#"FleetCommands { pool: Some("trip"), .. }"#);
        let texts = help(commands);
        assert_eq!(texts.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["work", "fleet"]);
        for (name, text) in texts {
            assert!(text.contains("[default: trip]") && text.contains("[default: 77]"), "{name}: {text}");
        }
        for (name, text) in help(FleetCommands::new()) {
            assert!(text.contains("[default: NAME]") && text.contains("[default: 86400]"), "{name}: {text}");
        }
    }
}
