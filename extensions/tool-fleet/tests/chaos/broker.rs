//! The brokers of the tests, and the connections of processes to them.

use std::sync::Arc;

use tool_fleet::{FleetError, Transport};

/// The files of a broker that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    Kept,
    /// Deleted before it starts again. A server of NATS has none for calls that are not durable; in a database, the tables are emptied.
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
            Self::Nats(server) => server.start_again(),
            Self::Postgres(server) => {
                server.switch("start");
                if files == Files::Deleted {
                    // One after another: processes that have connections already use both.
                    for table in ["messages", "listeners"] {
                        run_sql(server, &format!("TRUNCATE {SCHEMA}.{table}"));
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
pub(crate) async fn connect(address: &str) -> Result<Arc<dyn Transport>, FleetError> {
    if address.starts_with("postgres:") {
        let options = tool_fleet::PostgresOptions::new(address)?.schema(SCHEMA)?.max_connections(4);
        return Ok(Arc::new(options.connect().await?));
    }
    if address.starts_with("nats:") {
        return Ok(Arc::new(tool_fleet::NatsTransport::connect(address).await?));
    }
    Err(FleetError::Invalid(format!("{address:?} is not the address of a broker")))
}
