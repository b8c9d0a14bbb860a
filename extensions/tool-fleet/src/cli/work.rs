//! The command `work`.

use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use tokio::net::TcpListener;
use tool_cli::{
    Command, Exit, Failure, Program,
    clap::{self, Arg, ArgAction, ArgMatches, value_parser},
};
use tool_runtime::CancellationToken;

use super::{
    connection::{PoolConnection, QueuePurpose, connection_failure, with_connection_options},
    health::{WorkerHealth, listen_for_health, serve_health},
    limits::{limit_options, read_limits},
    signals::StopSignals,
};
use crate::{QueueLimits, ValueStore, Worker, WorkerState, channel::Channel};

const EXAMPLES: &str = "\
Examples:
  work --nats nats://127.0.0.1:4222 --key weather.key
  work --nats nats://127.0.0.1:4222 --key weather.key --durable --health 127.0.0.1:8080
  work --postgres postgres://app@db.example/tools --key weather.key --slots 4";

/// The command `work`, which runs the calls of a pool.
pub(super) struct Work {
    pool: Option<Arc<str>>,
    values: Option<Arc<dyn ValueStore>>,
    limits: QueueLimits,
}

impl Work {
    pub(super) fn new(
        pool: Option<Arc<str>>,
        values: Option<Arc<dyn ValueStore>>,
        limits: QueueLimits,
    ) -> Self {
        Self { pool, values, limits }
    }
}

impl Command for Work {
    fn grammar(&self) -> clap::Command {
        self.grammar_in("NAME")
    }

    fn grammar_in(&self, name: &str) -> clap::Command {
        let command = clap::Command::new("work")
            .about(
                "Run the calls of a pool by the tools of the program, until Ctrl-C, SIGTERM or `fleet drain`",
            )
            .after_help(EXAMPLES);
        with_connection_options(command, self.pool.as_deref().unwrap_or(name))
            .args([
                Arg::new("slots")
                    .long("slots")
                    .value_name("NUMBER")
                    .default_value("16")
                    .value_parser(value_parser!(u32).range(1..))
                    .help("The number of calls that run at once"),
                Arg::new("drain")
                    .long("drain")
                    .value_name("SECONDS")
                    .default_value("30")
                    .value_parser(value_parser!(u32))
                    .help("The time that running calls have after Ctrl-C, SIGTERM or `fleet drain`; then they are dropped"),
                Arg::new("durable")
                    .long("durable")
                    .action(ArgAction::SetTrue)
                    .help("Also run the durable calls of the pool, by JetStream or the database"),
                Arg::new("health")
                    .long("health")
                    .value_name("ADDRESS")
                    .value_parser(value_parser!(SocketAddr))
                    .help("Answer GET /healthz and /readyz at this address, such as 127.0.0.1:8080"),
            ])
            .args(limit_options(self.limits).map(|option| option.requires("durable")))
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let executor = program.executor()?.clone();
        let connection = PoolConnection::open(program, matches, self.pool.as_deref())?;
        let number = |option: &str| matches.get_one::<u32>(option).copied().unwrap_or_default();
        let tools = match executor.tools().len() {
            1 => "1 tool".to_owned(),
            tools => format!("{tools} tools"),
        };
        let queue = match matches.get_flag("durable") {
            true => Some(connection.open_queue(
                program,
                read_limits(matches, self.limits),
                QueuePurpose::Change,
            )?),
            false => None,
        };
        let channel = connection.channel().map_err(|error| connection_failure(&error))?;
        let transport = connection.broker.transport();
        let worker = Worker::new(executor, connection.key)
            .slots(usize::try_from(number("slots")).unwrap_or(usize::MAX))
            .drain(Duration::from_secs(number("drain").into()));
        let worker = self.values.iter().cloned().fold(worker, Worker::value_store);
        let worker = queue.into_iter().fold(worker, Worker::queue);
        let serving_note = format!("serving {tools} in the pool `{}`; Ctrl-C ends it", channel.pool());
        let listener = match matches.get_one::<SocketAddr>("health") {
            Some(address) => Some(open_health(program, *address)?),
            None => None,
        };
        program.block_on(async {
            let health = WorkerHealth { state: worker.watch_state(), transport };
            tokio::select! {
                exit = serve_until_signal(program, worker, channel, &serving_note) => exit,
                never = serve_if_open(listener, health) => match never {},
            }
        })?
    }
}

/// Listens for requests about the health of the worker, and writes the URL.
fn open_health(program: &Program, address: SocketAddr) -> Result<TcpListener, Failure> {
    let (listener, local) = program.block_on(listen_for_health(address))??;
    program.print(&format!("http://{local}\n"))?;
    Ok(listener)
}

async fn serve_if_open(listener: Option<TcpListener>, health: WorkerHealth) -> Infallible {
    match listener {
        Some(listener) => serve_health(listener, health).await,
        None => std::future::pending().await,
    }
}

/// Serves until a signal, and then until the running calls have ended, or until a second signal.
async fn serve_until_signal(
    program: &Program,
    worker: Worker,
    channel: Channel,
    serving_note: &str,
) -> Result<Exit, Failure> {
    let mut signals = StopSignals::listen()?;
    let mut state = worker.watch_state();
    let stop = CancellationToken::new();
    // A line of its own, which is not wrapped.
    let name_note = format!("this is the worker `{}`", channel.name());
    let serving = worker.serve_on(channel, stop.clone());
    tokio::pin!(serving);
    let mut is_drained = false;
    loop {
        tokio::select! {
            served = &mut serving => {
                // At once, without calls.
                if served.is_ok() && !stop.is_cancelled() && !is_drained {
                    program.note("`fleet drain` took this worker out");
                }
                return served.map(|()| Exit::Done).map_err(|error| connection_failure(&error));
            }
            Ok(()) = state.changed() => {
                let state = *state.borrow_and_update();
                match state {
                    WorkerState::Serving => {
                        program.note(&name_note);
                        program.note(serving_note);
                    }
                    WorkerState::Draining if !stop.is_cancelled() => {
                        is_drained = true;
                        program.note(
                            "`fleet drain` took this worker out: taking no more calls, and ending those that run",
                        );
                    }
                    _ => {}
                }
            }
            () = signals.wait() => {
                if stop.is_cancelled() {
                    program.note("ended before all calls had ended");
                    return Ok(Exit::Cancelled);
                }
                program.note("taking no more calls, and ending those that run; a second signal ends them at once");
                stop.cancel();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_consistent() {
        Work::new(None, None, QueueLimits::default()).grammar_in("weather").debug_assert();
    }

    #[test]
    fn a_worker_has_these_options() {
        let parse = |options: &[&str]| {
            let work = Work::new(None, None, QueueLimits::default());
            let connection = ["work", "--nats=nats://broker", "--key=pool.key"];
            let matches = work.grammar().try_get_matches_from([&connection[..], options].concat()).ok()?;
            let number = |option: &str| matches.get_one::<u32>(option).copied();
            let health = matches.get_one::<SocketAddr>("health").copied();
            Some((number("slots")?, number("drain")?, matches.get_flag("durable"), health))
        };
        assert_eq!(parse(&[]), Some((16, 30, false, None)));
        let address = SocketAddr::from(([127, 0, 0, 1], 8080));
        let options = ["--slots=1", "--drain=0", "--durable", "--health=127.0.0.1:8080", "--queue-calls=5"];
        assert_eq!(parse(&options), Some((1, 0, true, Some(address))));
        for option in ["--slots=0", "--drain=-1", "--health=8080", "--queue-calls=5"] {
            assert_eq!(parse(&[option]), None, "{option}");
        }
    }
}
