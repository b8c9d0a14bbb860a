use std::{borrow::Cow, error::Error, fmt};

use sqlx::error::{DatabaseError, ErrorKind};

use super::*;

/// An error of a server with this code.
#[derive(Debug)]
struct ServerError(&'static str);

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "code {}", self.0)
    }
}

impl Error for ServerError {}

impl DatabaseError for ServerError {
    fn message(&self) -> &str {
        self.0
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        Some(self.0.into())
    }

    fn as_error(&self) -> &(dyn Error + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn Error + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn Error + Send + Sync + 'static> {
        self
    }

    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}

fn of_code(code: &'static str) -> sqlx::Error {
    sqlx::Error::Database(Box::new(ServerError(code)))
}

fn io_error() -> sqlx::Error {
    sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into())
}

#[test]
fn errors_of_a_lost_connection_and_of_a_busy_server_pass() {
    for (error, is_of_lost_connection, passes) in [
        (of_code("08006"), true, true),
        (of_code("57P01"), true, true),
        (of_code("25P03"), true, true),
        (of_code("40001"), false, true),
        (of_code("40P01"), false, true),
        (of_code("53300"), false, true),
        (of_code("55P03"), false, true),
        (of_code("57014"), false, true),
        (of_code("42P01"), false, false),
        (of_code(""), false, false),
        (io_error(), true, true),
        (sqlx::Error::WorkerCrashed, true, true),
        (sqlx::Error::PoolTimedOut, false, true),
        (sqlx::Error::PoolClosed, false, false),
        (sqlx::Error::RowNotFound, false, false),
    ] {
        assert_eq!((is_lost(&error), is_transient(&error)), (is_of_lost_connection, passes), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_are_repeated_with_growing_pauses_while_there_is_time_for_another_one() {
    for (millis, expected) in
        [(1_050, &[20, 60, 140, 300, 550, 800][..]), (1_051, &[20, 60, 140, 300, 550, 800, 1_050])]
    {
        let start = Instant::now();
        let mut attempts = Attempts::new(Deadline::after(Duration::from_millis(millis)));
        let mut times = Vec::new();
        let error = loop {
            match attempts.wait_after(sqlx::Error::WorkerCrashed).await {
                Ok(()) => times.push(start.elapsed().as_millis()),
                Err(error) => break error.to_string(),
            }
        };
        assert_eq!(times, expected);
        let problem = format!("the database did not answer within {:?}: ", Duration::from_millis(millis));
        assert!(error.contains(&problem), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_that_does_not_pass_is_returned_at_once() {
    for (error, expected) in [
        (of_code("42P01"), "the database failed: error returned from database: code 42P01"),
        (sqlx::Error::PoolClosed, "the transport is closed"),
    ] {
        let start = Instant::now();
        let returned = Attempts::new(Deadline::after(Duration::from_secs(5))).wait_after(error).await;
        let text = returned.map_err(|error| error.to_string());
        assert_eq!(text, Err(FleetError::Transport(expected.to_owned()).to_string()));
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}

#[test]
fn a_statement_is_noted_as_sent_once_its_values_are_bound() {
    let was_sent = AtomicBool::new(false);
    drop(bound_query("SELECT $1", &[Value::WasSent(&was_sent)], true));
    assert!(was_sent.load(Ordering::Relaxed));
}
