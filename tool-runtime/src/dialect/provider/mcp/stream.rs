//! The events of a streamed response.

use super::reading::read_request;
use crate::dialect::{DialectError, error::At, partial_calls::Slots, stop::Stop};

/// Reads a message: each is whole, there are no parts of calls.
pub(super) fn push(message: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    slots.stop(Stop::Finished);
    read_request(message, slots)?;
    slots.end();
    Ok(())
}
