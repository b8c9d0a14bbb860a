#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt as _, StreamExt as _};
use tool_runtime::open_calls::ProgramKey;

use super::*;
use crate::{Deliveries, FleetSettings, MemoryTransport, Payload, channel::Channel};

/// The connection of a caller, and a worker that receives controls.
struct World {
    connection: Arc<Connection>,
    worker: Channel,
    deliveries: Deliveries,
}

impl World {
    async fn open() -> Self {
        let (transport, key) = (MemoryTransport::new(), ProgramKey::new([7; 32]).pool_key("trip"));
        let channel = || Channel::new(key.clone(), Arc::new(transport.clone())).unwrap();
        let worker = channel();
        let deliveries = worker.listen(&worker.own_subject(">"), None).await.unwrap();
        let (connection, incoming) =
            Connection::open(channel(), FleetSettings::default(), None).await.unwrap();
        tokio::spawn(Arc::clone(&connection).read_until_closed(incoming));
        Self { connection, worker, deliveries }
    }

    /// Returns the controls of the call that have arrived.
    async fn controls(&mut self) -> Vec<String> {
        // The task of the connection sends them.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut controls = Vec::new();
        while let Some(delivery) = self.deliveries.next().now_or_never().flatten() {
            let Payload::Body(body) = delivery.payload else { continue };
            let received = self.worker.open_message(&delivery.subject, delivery.reply.as_deref(), &body);
            if let Message::Control(CallControl { call, control }) = received.unwrap().message {
                assert_eq!(call.epoch, 2);
                controls.push(format!("{control:?}"));
            }
        }
        controls
    }
}

fn call(replies: &Replies) -> CallEpoch {
    CallEpoch { call: replies.name().to_owned(), epoch: 2 }
}

#[tokio::test(start_paused = true)]
async fn controls_go_to_the_first_process_that_reports() {
    let (mut world, cx) = (World::open().await, ToolContext::for_test());
    let mut replies = world.connection.register_replies();
    let call = call(&replies);
    let mut sent = SentCall::new(&mut replies, call, &cx);
    sent.send_cancel();
    sent.send_control(Control::Start).await;
    assert!(!sent.cancelled);
    assert_eq!(world.controls().await, [""; 0]);

    let worker = world.worker.name().to_owned();
    assert!(sent.bind_worker(&worker, false) && sent.bind_worker(&worker, true));
    assert!(!sent.bind_worker("other", true));
    // There is nothing to repeat or acknowledge.
    sent.ask_for_end();
    sent.acknowledge().await;
    sent.acknowledge_if_due().await;
    assert_eq!(world.controls().await, [""; 0]);
    sent.send_cancel();
    sent.send_cancel();
    assert!(sent.cancelled && !sent.started && !sent.is_away());
    assert_eq!(world.controls().await, ["Cancel"]);
    sent.give_start().await;
    assert!(sent.started && !sent.is_away());
    assert_eq!(world.controls().await, ["Start"]);
    sent.ask_for_end();
    assert_eq!(world.controls().await, ["RepeatEnd"]);
    drop(sent);
    assert_eq!(world.controls().await, ["Abandon"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_has_ended_is_not_abandoned() {
    let (mut world, cx) = (World::open().await, ToolContext::for_test());
    let mut replies = world.connection.register_replies();
    let call = call(&replies);
    let mut sent = SentCall::new(&mut replies, call, &cx);
    assert!(sent.bind_worker(world.worker.name(), true));
    sent.ended = true;
    drop(sent);
    world.connection.closed.cancel();
    assert_eq!(world.controls().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_goes_on_is_abandoned_as_its_set_is_closed() {
    for (goes_on, expected) in [(true, &["Abandon"][..]), (false, &[])] {
        let (mut world, cx) = (World::open().await, ToolContext::for_test());
        let mut replies = world.connection.register_replies();
        let call = call(&replies);
        let mut sent = SentCall::new(&mut replies, call, &cx);
        assert!(sent.bind_worker(world.worker.name(), goes_on));
        world.connection.closed.cancel();
        assert_eq!(world.controls().await, expected);
        drop(sent);
    }
}
