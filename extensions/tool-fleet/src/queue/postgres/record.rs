//! The rows of calls.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sqlx::postgres::PgRow;
use tool_runtime::definition::ContentHash;

use crate::{CallState, FleetError, QueuedCall, transport::postgres::read_column};

/// The columns of a [`QueuedCall`], as [`read_call_row`] reads them.
pub(super) const COLUMNS: &str = "id, key, state, epoch, workers, was_started, cancel_requested, \
                       (extract(epoch FROM created_at) * 1000)::bigint, (extract(epoch FROM changed_at) * 1000)::bigint, \
                       octet_length(body)::bigint, request";

pub(super) fn read_call_row(row: &PgRow) -> Result<QueuedCall, FleetError> {
    Ok(QueuedCall {
        id: read_column(row, 0)?,
        key: parse_key(read_column(row, 1)?)?,
        state: parse_state(read_column(row, 2)?)?,
        epoch: read_number(row, 3)?,
        workers: read_number(row, 4)?,
        was_started: read_column(row, 5)?,
        cancel_requested: read_column(row, 6)?,
        created: time_at(read_column(row, 7)?),
        changed: time_at(read_column(row, 8)?),
        bytes: read_column::<i64>(row, 9)?.unsigned_abs(),
        request: parse_key(read_column(row, 10)?)?,
    })
}

pub(super) fn names_of(states: &[CallState]) -> Vec<String> {
    states.iter().map(|state| state.name().to_owned()).collect()
}

fn time_at(millis: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis.unsigned_abs())
}

pub(super) fn read_number(row: &PgRow, column: usize) -> Result<u32, FleetError> {
    u32::try_from(read_column::<i64>(row, column)?).map_err(|_| altered_row("a number"))
}

pub(super) fn parse_key(key: &str) -> Result<ContentHash, FleetError> {
    key.parse().map_err(|_| altered_row("a key"))
}

pub(super) fn parse_state(state: &str) -> Result<CallState, FleetError> {
    CallState::of_name(state).ok_or_else(|| altered_row("a state"))
}

pub(super) fn altered_row(column: &str) -> FleetError {
    FleetError::Transport(format!(
        "{column} of a stored call is not valid; was the table changed by another program?"
    ))
}
