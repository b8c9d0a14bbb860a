//! The options of the broker, the pool and its key.

use std::{io, path::PathBuf, sync::Arc};

use tool_cli::{
    Exit, Failure, Program,
    clap::{self, Arg, ArgGroup, ArgMatches, value_parser},
};
use tool_runtime::open_calls::{KeyFileError, PoolKey};

use super::database::{connect_to_postgres, database_options};
use crate::{
    CallQueue, FleetError, QueueLimits, Transport,
    channel::{Channel, check_pool_name},
};

/// The pool of a command, and the connection to its broker.
pub(super) struct PoolConnection {
    pub(super) key: PoolKey,
    pub(super) broker: Broker,
}

/// The use of the queue of a pool by a command.
#[derive(Debug, Clone, Copy)]
pub(super) enum QueuePurpose {
    /// It changes nothing.
    List,
    Change,
}

/// The broker of a command, which also keeps durable calls.
pub(super) enum Broker {
    #[cfg(feature = "nats")]
    Nats(crate::NatsTransport),
    #[cfg(feature = "postgres")]
    Postgres(crate::PostgresTransport),
}

impl Broker {
    pub(super) fn transport(&self) -> Arc<dyn Transport> {
        match *self {
            #[cfg(feature = "nats")]
            Self::Nats(ref transport) => Arc::new(transport.clone()),
            #[cfg(feature = "postgres")]
            Self::Postgres(ref transport) => Arc::new(transport.clone()),
        }
    }

    #[cfg_attr(not(feature = "nats"), expect(unused_variables, reason = "of one broker"))]
    async fn open_queue(
        &self,
        pool: &str,
        limits: QueueLimits,
        purpose: QueuePurpose,
    ) -> Result<Arc<dyn CallQueue>, FleetError> {
        match *self {
            #[cfg(feature = "nats")]
            Self::Nats(ref transport) => Ok(Arc::new(match purpose {
                QueuePurpose::List => {
                    crate::JetStreamCallQueue::open_for_list(transport, pool, limits).await?
                }
                QueuePurpose::Change => crate::JetStreamCallQueue::open_with(transport, pool, limits).await?,
            })),
            #[cfg(feature = "postgres")]
            Self::Postgres(ref transport) => Ok(Arc::new(transport.call_queue(pool).with_limits(limits))),
        }
    }
}

/// The heading of these options in the help.
const HEADING: &str = "Broker and pool";

/// Adds the options of the broker, the pool and its key.
pub(super) fn with_connection_options(grammar: clap::Command, default_pool: &str) -> clap::Command {
    let url = |name: &'static str, help: &'static str| Arg::new(name).long(name).value_name("URL").help(help);
    grammar
        .args([
            url("nats", "A server of NATS: nats://HOST:PORT; or env:NAME or @FILE with the URL"),
            url(
                "postgres",
                "A database of Postgres: postgres://USER@HOST/DATABASE; or env:NAME or @FILE with the URL",
            ),
        ].map(|option| option.help_heading(HEADING)))
        .group(ArgGroup::new("broker").args(["nats", "postgres"]).required(true))
        .args(database_options().map(|option| option.help_heading(HEADING)))
        .args([
            pool_option(default_pool),
            Arg::new("key")
                .long("key")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("The file with the key of the pool, which `fleet key` wrote"),
        ].map(|option| option.help_heading(HEADING)))
}

pub(super) fn pool_option(default_pool: &str) -> Arg {
    Arg::new("pool").long("pool").value_name("NAME").help(format!("The pool [default: {default_pool}]"))
}

/// Returns the name of the pool: of the option, of the program's code, or else the name of the program.
pub(super) fn pool_name<'a>(
    program: &'a Program,
    matches: &'a ArgMatches,
    default: Option<&'a str>,
) -> Result<&'a str, Failure> {
    let pool = matches.get_one::<String>("pool").map(String::as_str).or(default).unwrap_or(program.name());
    check_pool_name(pool).map_err(|error| Failure::quoting(Exit::Usage, format!("`--pool`: {error}")))?;
    Ok(pool)
}

impl PoolConnection {
    /// Reads the options, and connects to the broker.
    pub(super) fn open(
        program: &Program,
        matches: &ArgMatches,
        default_pool: Option<&str>,
    ) -> Result<Self, Failure> {
        let pool = pool_name(program, matches, default_pool)?;
        let path = matches.get_one::<PathBuf>("key").ok_or_else(|| Failure::usage("`--key` is missing"))?;
        let key = PoolKey::load(pool, path).map_err(|error| pool_key_failure(&error))?;
        let broker = match (matches.get_one::<String>("nats"), matches.get_one::<String>("postgres")) {
            (Some(url), _) => connect_to_nats(program, &broker_url(program, "nats", url)?)?,
            (None, Some(url)) => {
                connect_to_postgres(program, matches, &broker_url(program, "postgres", url)?)?
            }
            (None, None) => return Err(Failure::usage("expected `--nats URL` or `--postgres URL`")),
        };
        Ok(Self { key, broker })
    }

    /// A side of the pool for one command.
    pub(super) fn channel(&self) -> Result<Channel, FleetError> {
        Channel::new(self.key.clone(), self.broker.transport())
    }

    /// Opens the queue of the durable calls of the pool.
    pub(super) fn open_queue(
        &self,
        program: &Program,
        limits: QueueLimits,
        purpose: QueuePurpose,
    ) -> Result<Arc<dyn CallQueue>, Failure> {
        let opening = self.broker.open_queue(self.key.pool(), limits, purpose);
        program.block_on(opening)?.map_err(|error| connection_failure(&error))
    }
}

/// Reads the URL of an option, which has no secret on the command line.
fn broker_url(program: &Program, option: &str, url: &str) -> Result<String, Failure> {
    if url.starts_with("env:") || url.starts_with('@') {
        return program.read_secret(option, url);
    }
    let has_secret = match option {
        // A user without a password is a token.
        "nats" => url.contains('@'),
        _ => url_has_password(url),
    };
    match has_secret {
        true => Err(Failure::usage(format!(
            "`--{option}` contains a password or token, which other programs of the machine can read on the command line; give the \
             URL by `--{option} env:NAME` or `--{option} @FILE`"
        ))),
        false => Ok(url.to_owned()),
    }
}

/// Returns `true` if the URL of a database has a password, as `user:password@` or as a parameter.
fn url_has_password(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    // A password may have a slash.
    let user = rest.rsplit_once('@').map(|(user, _)| user).unwrap_or_default();
    user.contains(':') || parameters.split('&').any(|it| it.to_ascii_lowercase().starts_with("password="))
}

#[cfg(feature = "nats")]
fn connect_to_nats(program: &Program, url: &str) -> Result<Broker, Failure> {
    let connecting = crate::NatsTransport::connect(url);
    program.block_on(connecting)?.map(Broker::Nats).map_err(|error| unreachable_failure(url, &error))
}

#[cfg(not(feature = "nats"))]
fn connect_to_nats(_: &Program, _: &str) -> Result<Broker, Failure> {
    Err(Failure::usage(
        "`--nats`: the program is compiled without NATS; enable the feature `nats` of `tool-fleet`",
    ))
}

/// Returns the failure of a broker to which there is no connection yet, with its address.
#[cfg(any(feature = "nats", feature = "postgres"))]
pub(super) fn unreachable_failure(url: &str, error: &FleetError) -> Failure {
    let (FleetError::Transport(problem), Some(host)) = (error, host_of(url)) else {
        return connection_failure(error);
    };
    let problem = format!("the broker at `{host}` cannot be used: {problem}");
    Failure::quoting(Exit::Failed, problem)
}

/// Returns the host and port of a URL, without all else, which may be a secret; `None` if it names no host.
#[cfg(any(feature = "nats", feature = "postgres"))]
fn host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let rest = rest.split(['?', '#']).next()?;
    // A password may have a slash, and a parameter, a password.
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    rest.split(['/', ',']).next().filter(|host| !host.is_empty())
}

/// Returns the failure of a broker that fails.
pub(super) fn connection_failure(error: &FleetError) -> Failure {
    let problem = match error {
        FleetError::Transport(problem) => format!("the broker cannot be used: {problem}"),
        error => error.to_string(),
    };
    Failure::quoting(Exit::Failed, problem)
}

/// Returns the failure of a file with the key of a pool, which is not made here.
fn pool_key_failure(error: &KeyFileError) -> Failure {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<io::Error>());
    match cause {
        Some(cause) if cause.kind() == io::ErrorKind::NotFound => {
            let path = error.path().display();
            let problem = format!(
                "the key file `{path}` does not exist; write it by `fleet key`, and copy it to this machine"
            );
            Failure::quoting(Exit::Usage, problem)
        }
        _ => key_failure(error),
    }
}

/// Returns the failure of a file with a key, with its cause.
pub(super) fn key_failure(error: &KeyFileError) -> Failure {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    Failure::quoting(Exit::Usage, format!("{error}{cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(any(feature = "nats", feature = "postgres"))]
    #[test]
    fn a_failure_names_the_host_of_a_url_and_no_secret() {
        for (url, expected) in [
            ("nats://127.0.0.1:4222", Some("127.0.0.1:4222")),
            ("nats://hush@broker:4222", Some("broker:4222")),
            ("postgres://app:hu/sh@db/tools", Some("db")),
            ("postgres://app@db:5432/tools?password=hush@h", Some("db:5432")),
            ("postgres:///tools?password=hush", None),
            ("hush", None),
        ] {
            assert_eq!(host_of(url), expected, "{url}");
        }
    }

    #[test]
    fn a_password_of_a_database_is_recognized_wherever_it_stands() {
        for url in [
            "postgres://app:secret@db/tools",
            "postgres://app:se/cret@db/tools",
            "postgres://app@db/tools?sslmode=require&Password=secret",
        ] {
            assert!(url_has_password(url), "{url}");
        }
        for url in ["postgres://app@db:5432/tools", "postgres:///tools"] {
            assert!(!url_has_password(url), "{url}");
        }
    }
}
