//! The events of a streamed response.

use super::reading::read_call_request;
use crate::dialect::{DialectError, error::JsonLocation, partial_calls::PartialCalls, stop::Stop};

/// Reads a message: each is whole, there are no parts of calls.
pub(super) fn push_event(
    message: &JsonLocation<'_>,
    partial_calls: &mut PartialCalls,
) -> Result<(), DialectError> {
    partial_calls.set_stop(Stop::Finished);
    read_call_request(message, partial_calls)?;
    partial_calls.end_response();
    Ok(())
}
