//! The backlog of each queue.

use std::time::Duration;

use bytes::Bytes;
use tool_fleet::{NewCall, QueueBacklog, QueueLimits};
use tool_runtime::definition::ContentHash;

use super::{Broker, over_queues};

over_queues! {
    a_backlog_has_the_calls_that_wait_and_the_oldest_age,
}

async fn a_backlog_has_the_calls_that_wait_and_the_oldest_age(broker: Broker, name: &'static str) {
    let queue = broker.queue(name, QueueLimits::default()).await;
    assert_eq!(queue.read_backlog().await.unwrap(), QueueBacklog::default());
    let key = ContentHash::of("tool");
    let mut puts = Vec::new();
    for id in ["a-1", "a-2", "a-3"] {
        let request = Bytes::from_static(b"request");
        puts.push(std::time::Instant::now());
        queue.put_call(NewCall { id: id.to_owned(), key, max_workers: 3, request }).await.unwrap();
    }
    let taken = queue.take_call(&[key], "worker", Duration::from_secs(30)).await.unwrap();
    assert_eq!(taken.unwrap().call.id, "a-1");
    let backlog = queue.read_backlog().await.unwrap();
    assert_eq!(backlog.calls, 2);
    // The clocks of this machine and of its database are the same.
    let longest = puts[1].elapsed() + Duration::from_millis(100);
    assert!(backlog.oldest_age.unwrap() <= longest, "{backlog:?} {longest:?}");
    let min_age = Duration::from_millis(20);
    while queue.read_backlog().await.unwrap().oldest_age.unwrap() < min_age {}
    assert!(puts[0].elapsed() >= min_age);
}
