//! The registry to whose workers a call goes next.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tool_runtime::definition::ContentHash;

use super::tool::RemoteTool;

/// The pauses between two looks for a worker.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_millis(250);

/// The registries that are left for one call, or for a question about it.
///
/// Workers whose connections are lost with the broker are back some time after it, and so are their announcements: a call that had a worker, or for which
/// one is known, waits for them. Without any worker, it does not wait.
#[derive(Default)]
pub(super) struct CallRoute {
    /// Those whose workers refused the call.
    refused: Vec<ContentHash>,
    /// Those of which no worker received the last message of the call. That may be a forged notice: it holds for this call, and a while.
    unreceived: Vec<ContentHash>,
    /// The call was received by a worker that was lost.
    had_worker: bool,
    /// The end of the wait for a worker, while there is none.
    wait_until: Option<Instant>,
    /// The number of pauses of that wait.
    pauses: u32,
}

impl CallRoute {
    pub(super) fn note_refused(&mut self, registry: ContentHash) {
        self.refused.push(registry);
    }

    pub(super) fn note_no_receiver(&mut self, registry: ContentHash) {
        self.unreceived.push(registry);
    }

    pub(super) fn note_lost_worker(&mut self) {
        self.had_worker = true;
        self.wait_until = None;
        self.pauses = 0;
    }

    /// Chooses a registry that has the tool and a worker, and waits for one for `max_wait`; `None` if there is none.
    pub(super) async fn choose_registry(
        &mut self,
        tool: &RemoteTool,
        max_wait: Duration,
    ) -> Option<ContentHash> {
        loop {
            let excluded = [self.refused.as_slice(), &self.unreceived].concat();
            if let Some(registry) = tool.choose_registry(&excluded) {
                return Some(registry);
            }
            let is_known = !self.unreceived.is_empty() && tool.choose_registry(&self.refused).is_some();
            let until = *self.wait_until.get_or_insert_with(|| Instant::now() + max_wait);
            let is_closed = tool.connection().closed.is_cancelled();
            if is_closed || !(is_known || self.had_worker) || Instant::now() >= until {
                return None;
            }
            sleep(self.next_pause()).await;
            self.unreceived.clear();
        }
    }

    /// Returns the pause before the next look for a worker.
    fn next_pause(&mut self) -> Duration {
        let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(self.pauses)).min(MAX_PAUSE);
        self.pauses += 1;
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_quarter_of_a_second_and_begin_anew_with_another_lost_worker() {
        let mut route = CallRoute::default();
        for _ in 0..2 {
            let pauses = [(); 6].map(|()| route.next_pause().as_millis());
            assert_eq!(pauses, [20, 40, 80, 160, 250, 250]);
            route.wait_until = Some(Instant::now());
            route.note_lost_worker();
            assert!(route.had_worker && route.wait_until.is_none());
        }
    }
}
