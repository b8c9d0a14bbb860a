//! The end of a run: the ends of durable calls that no process has taken are read and removed, and no call goes on.

use std::{collections::HashMap, path::Path, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};
use tool_fleet::{CallQueue, CallState};
use tool_runtime::{
    Registry, ToolCall,
    call::{Operation, Pending},
};

use crate::{
    bodies::Kind,
    caller::{CALLS_FILE, EndReader, address_of, queue_id_prefix},
    lines::{Clock, Lines},
    queue::ChaosQueue,
};

/// The states of calls that go on.
const RUNNING: [CallState; 3] = [CallState::Queued, CallState::Taken, CallState::Started];

/// Answers the calls that are still open, and then reads and removes the ends of those that were not opened, since their caller died.
///
/// # Panics
///
/// If a call is still queued, runs or is open after `time`.
pub(crate) async fn collect_ends(queue: Arc<dyn CallQueue>, folder: &Path, clock: Clock, time: Duration) {
    let none = Registry::builder().build().unwrap();
    let ends = EndReader::new(ChaosQueue::new(Arc::clone(&queue)), none, folder, clock);
    let until = Instant::now() + time;
    loop {
        ends.answer_calls().await;
        queue.settle_calls().await.unwrap();
        let running = queue.list_calls(&RUNNING).await.unwrap();
        let open = ends.executor.open_calls().await.unwrap();
        if running.is_empty() && open.is_empty() {
            break;
        }
        assert!(Instant::now() < until, "calls go on: {running:?}; calls are open: {open:?}");
        sleep(Duration::from_millis(100)).await;
    }
    let ids = durable_ids(folder);
    for ended in queue.list_calls(&CallState::ENDED).await.unwrap() {
        // An interrupted call that was answered stays in the list.
        if ended.bytes == 0 {
            continue;
        }
        let Some(id) = ids.get(ended.id.split('-').next().unwrap()) else {
            panic!("no caller has begun the call {ended:?}");
        };
        let operation = Operation::LongRunning(Some(ended.id.clone()));
        let call = ToolCall::new("", "{}");
        let pending = Pending { call, address: address_of(id), operation, result: None };
        let end = ends.durable.ended_call(&pending).await.unwrap().unwrap();
        let text = match end.outcome {
            Ok(output) if output.text().starts_with(&format!("{id} by ")) => "ok".to_owned(),
            Ok(output) => output.text().into_owned(),
            Err(error) => error.to_string(),
        };
        ends.add_line("kept", id, &text);
        assert!(ends.durable.remove_ended(&end.id).await.unwrap());
    }
    let left = queue.list_calls(&CallState::ALL).await.unwrap();
    assert!(left.iter().all(|it| it.bytes == 0 && it.state == CallState::Interrupted), "{left:?}");
}

/// Returns the ids of all durable calls, by the beginnings of their ids in the queue.
fn durable_ids(folder: &Path) -> HashMap<String, String> {
    let mut ids = HashMap::new();
    for line in Lines::read(folder, CALLS_FILE) {
        let parts: Vec<_> = line.split(' ').collect();
        if let ["begin", id, _, kind] = parts[..]
            && kind.parse::<Kind>().unwrap().is_durable()
        {
            ids.insert(queue_id_prefix(id), id.to_owned());
        }
    }
    ids
}
