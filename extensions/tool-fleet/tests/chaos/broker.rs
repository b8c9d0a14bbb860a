//! The brokers of the tests, and the connections of processes to them.

use std::sync::Arc;

use tool_fleet::FleetError;

use crate::{Connections, POOL};

/// The files of a broker that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    Kept,
    /// Deleted before it starts again; in a database, the tables are emptied.
    Deleted,
}

/// A broker, which goes on when it is dropped, and ends.
pub(crate) enum Broker {
    Nats(test_support::nats::Server),
    Postgres(test_support::postgres::Server),
}

/// The schema of the tables.
const SCHEMA: &str = "chaos";

/// The time for which a message may wait in a table, and a receiver that has ended stays there, in seconds.
const MAX_EXPIRY_SECONDS: i64 = 61;

impl Broker {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Nats(_) => "nats",
            Self::Postgres(_) => "postgres",
        }
    }

    pub(crate) fn address(&self) -> String {
        match self {
            Self::Nats(server) => server.url().to_owned(),
            Self::Postgres(server) => server.url(),
        }
    }

    pub(crate) fn kill(&mut self) {
        match self {
            Self::Nats(server) => server.kill(),
            Self::Postgres(server) => server.switch("stop"),
        }
    }

    pub(crate) fn start(&mut self, files: Files) {
        match self {
            Self::Nats(server) => {
                if files == Files::Deleted {
                    server.delete_files();
                }
                server.start_again();
            }
            Self::Postgres(server) => {
                server.switch("start");
                if files == Files::Deleted {
                    // One after another: processes that have connections already use both.
                    for table in ["messages", "listeners", "calls"] {
                        // It may have been killed before a process has made them.
                        let name = format!("{SCHEMA}.{table}");
                        run_sql(
                            server,
                            &format!(
                                "DO $$ BEGIN IF to_regclass('{name}') IS NOT NULL THEN TRUNCATE {name}; END IF; END $$"
                            ),
                        );
                    }
                }
            }
        }
    }

    pub(crate) fn pause(&mut self) {
        match self {
            Self::Nats(server) => server.send_signal("STOP"),
            Self::Postgres(server) => server.switch("pause"),
        }
    }

    pub(crate) fn resume(&mut self) {
        match self {
            Self::Nats(server) => server.send_signal("CONT"),
            Self::Postgres(server) => server.switch("resume"),
        }
    }

    /// Checks that nothing is left in the broker but what expires.
    pub(crate) fn check_empty(&self) {
        match self {
            Self::Nats(_) => {}
            Self::Postgres(server) => {
                let late = |table: &str| {
                    format!(
                        "IF EXISTS (SELECT FROM {SCHEMA}.{table} WHERE expires_at > now() + interval '{MAX_EXPIRY_SECONDS} seconds') \
                         THEN RAISE EXCEPTION 'a row of {table} stays'; END IF;"
                    )
                };
                run_sql(server, &format!("DO $$ BEGIN {} {} END $$", late("messages"), late("listeners")));
            }
        }
    }
}

fn run_sql(server: &test_support::postgres::Server, sql: &str) {
    use sqlx::Connection as _;

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connection = sqlx::PgConnection::connect(&server.url()).await.unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.unwrap();
    });
}

/// Connects to the broker at an address.
pub(crate) async fn connect(address: &str) -> Result<Connections, FleetError> {
    if address.starts_with("postgres:") {
        let options = tool_fleet::PostgresOptions::new(address)?.schema(SCHEMA)?.max_connections(4);
        let transport = options.connect().await?;
        let queue = Arc::new(transport.call_queue(POOL));
        return Ok(Connections { transport: Arc::new(transport), queue });
    }
    if address.starts_with("nats:") {
        let transport = tool_fleet::NatsTransport::connect(address).await?;
        let queue = Arc::new(tool_fleet::JetStreamCallQueue::open(&transport, POOL).await?);
        return Ok(Connections { transport: Arc::new(transport), queue });
    }
    Err(FleetError::Invalid(format!("{address:?} is not the address of a broker")))
}
