//! A process with the key of the pool that queues what no caller queues.

use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use tool_fleet::{CallState, MemoryTransport, NewCall, Transport};
use tool_runtime::{definition::ContentHash, prelude::*};

use super::{Broker, DurablePool, open_calls, program_key};

/// The context of the sealed request of a call.
fn context_of(pool: &str, id: &str, definition: ContentHash) -> Vec<u8> {
    let mut context = b"tool-fleet queue 1".to_vec();
    for part in ["request", pool, id, &definition.to_string(), ""] {
        context.extend_from_slice(&(part.len() as u64).to_le_bytes());
        context.extend_from_slice(part.as_bytes());
    }
    context
}

/// A pool without a worker, and a request of a call of `book` that is in its queue no more.
async fn pool_with_request(name: &'static str, transport: &MemoryTransport) -> (DurablePool, NewCall, Value) {
    let mut pool = DurablePool::new(Broker::Memory(transport.clone()), name).await;
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    assert!(!caller.call("book", json!({})).await.is_finished());
    let id = pool.queue.list_calls(&CallState::ALL).await.unwrap().remove(0).id;
    let (call, request) = pool.queue.read_call(&id).await.unwrap().unwrap();
    pool.queue.purge_calls(&[CallState::Queued]).await.unwrap();
    let text = program_key().pool_key(name).unseal(&request, &context_of(name, &id, call.key)).unwrap();
    let body = serde_json::from_str(text.as_str()).unwrap();
    (pool, NewCall { id, key: call.key, max_workers: 3, request }, body)
}

/// Queues a call with this body, and waits for its end.
async fn run_request(pool: &DurablePool, call: &NewCall, body: &Value) -> CallState {
    let context = context_of(pool.name, &call.id, call.key);
    let request = program_key().pool_key(pool.name).seal(&body.to_string(), &context).unwrap().into();
    assert!(pool.queue.put_call(NewCall { request, ..call.clone() }).await.unwrap());
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        pool.queue.settle_calls().await.unwrap();
        let state = pool.queue.find_call(&call.id).await.unwrap().unwrap().state;
        if state.is_ended() {
            pool.queue.purge_calls(&CallState::ENDED).await.unwrap();
            return state;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_call_is_announced_on_a_subject_of_its_pool_alone() {
    let transport = MemoryTransport::new();
    let (mut pool, call, mut body) = pool_with_request("ended", &transport).await;
    pool.start_worker().released.cancel();
    for (reply, is_announced) in
        [("elsewhere", false), ("tools.ended2.ends", false), ("tools.ended.ends", true)]
    {
        let mut ends = transport.listen(reply, None).await.unwrap();
        body["body"]["whole"]["reply"] = reply.into();
        assert_eq!(run_request(&pool, &call, &body).await, CallState::Finished);
        assert_eq!(ends.next().now_or_never().is_some(), is_announced, "{reply}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_has_expired_is_not_run() {
    let (mut pool, call, mut body) = pool_with_request("expired", &MemoryTransport::new()).await;
    let probe = pool.start_worker();
    probe.released.cancel();
    assert_eq!(run_request(&pool, &call, &body).await, CallState::Finished);
    body["expires"] = 1.into();
    assert_eq!(run_request(&pool, &call, &body).await, CallState::Interrupted);
    assert_eq!(probe.bodies(), 1);
}

/// The worker would run another text than the caller has judged.
#[tokio::test(start_paused = true)]
async fn arguments_that_are_not_in_the_form_of_the_worker_are_not_run() {
    let (mut pool, call, mut body) = pool_with_request("judged", &MemoryTransport::new()).await;
    let probe = pool.start_worker();
    probe.released.cancel();
    for (arguments, bodies) in [("{}", 1), ("{ }", 1), (r#"{"x":1}"#, 1), ("{}", 2)] {
        body["body"]["whole"]["request"]["arguments"] = arguments.into();
        assert_eq!(run_request(&pool, &call, &body).await, CallState::Finished);
        assert_eq!(probe.bodies(), bodies, "{arguments}");
    }
}
