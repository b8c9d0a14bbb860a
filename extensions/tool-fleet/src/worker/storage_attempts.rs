//! The start of a durable body with effects, which the queue gives once.

use std::time::Duration;

use tokio::time::Instant;

use crate::{CallQueue, FleetError, QueueEpoch, StartGrant};

/// The time for which a worker asks for the start of a call.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The pause between two attempts.
const START_PAUSE: Duration = Duration::from_millis(250);

/// Obtains the start from the queue, and asks again while the queue fails: nothing was executed, and the call has no end before it is known whether
/// another worker has it.
///
/// # Errors
///
/// The last error of the queue, after a minute.
pub(super) async fn obtain_start(queue: &dyn CallQueue, call: &QueueEpoch) -> Result<StartGrant, FleetError> {
    let deadline = Instant::now() + START_TIMEOUT;
    loop {
        match queue.start_call(call).await {
            Err(error) if Instant::now() < deadline => {
                tracing::warn!(id = call.id, %error, "the start of a durable call was not given; trying again");
                tokio::time::sleep(START_PAUSE).await;
            }
            answer => return answer,
        }
    }
}
