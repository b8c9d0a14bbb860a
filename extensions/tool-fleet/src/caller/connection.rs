//! The connection of a caller: one task reads announcements and replies, and sends the controls of calls that were dropped.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::StreamExt;
use tokio::sync::mpsc;
use tool_runtime::{CancellationToken, toolset::ToolSetNotifier};

use super::{FleetSettings, workers::Workers};
use crate::{
    Deliveries, Delivery, FleetError, Payload,
    channel::{Channel, Received, random_name},
    message::{CallControl, CallReport, Control, Message, Report},
};

/// The reports of a call that its reader has not read yet; beyond, the call is given up.
const UNREAD_REPLIES: usize = 1024;

/// The interval in which lost workers are looked for.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// A reply to a request or call.
pub(super) enum Reply {
    Received(Received),
    NoReceiver,
}

/// The connection that the tools of a set share.
pub(super) struct Connection {
    pub(super) channel: Channel,
    pub(super) settings: FleetSettings,
    pub(super) workers: Workers,
    pub(super) closed: CancellationToken,
    replies: Mutex<HashMap<String, mpsc::Sender<Reply>>>,
    controls: mpsc::UnboundedSender<(String, CallControl)>,
    notifiers: Mutex<Vec<ToolSetNotifier>>,
}

/// The replies to one request or call, until it is dropped.
pub(super) struct Replies {
    connection: Arc<Connection>,
    name: String,
    receiver: mpsc::Receiver<Reply>,
}

impl Drop for Replies {
    fn drop(&mut self) {
        self.connection.lock_replies().remove(&self.name);
    }
}

impl Replies {
    /// A name that no other call has.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn subject(&self) -> String {
        self.connection.channel.own_subject(&self.name)
    }

    /// Waits for a reply; `None` if there will be none.
    pub(super) async fn next(&mut self) -> Option<Reply> {
        tokio::select! {
            reply = self.receiver.recv() => reply,
            () = self.connection.closed.cancelled() => None,
        }
    }
}

/// The messages that the task of a connection reads.
pub(super) struct Incoming {
    announcements: Deliveries,
    replies: Deliveries,
    controls: mpsc::UnboundedReceiver<(String, CallControl)>,
}

impl Connection {
    pub(super) async fn open(
        channel: Channel,
        settings: FleetSettings,
    ) -> Result<(Arc<Self>, Incoming), FleetError> {
        let announcements = channel.listen(&channel.subject("announcements"), None).await?;
        let replies = channel.listen(&channel.own_subject(">"), None).await?;
        let (sender, controls) = mpsc::unbounded_channel();
        let connection = Self {
            channel,
            settings,
            workers: Workers::default(),
            closed: CancellationToken::new(),
            replies: Mutex::default(),
            controls: sender,
            notifiers: Mutex::default(),
        };
        Ok((Arc::new(connection), Incoming { announcements, replies, controls }))
    }

    fn lock_replies(&self) -> MutexGuard<'_, HashMap<String, mpsc::Sender<Reply>>> {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a request or call, before it is sent.
    pub(super) fn register_replies(self: &Arc<Self>) -> Replies {
        let (sender, receiver) = mpsc::channel(UNREAD_REPLIES);
        let name = random_name();
        self.lock_replies().insert(name.clone(), sender);
        Replies { connection: Arc::clone(self), name, receiver }
    }

    /// Sends a control without waiting, for calls that are dropped.
    pub(super) fn send_later(&self, subject: String, control: CallControl) {
        // Without the task, the set is closed, and there is no call.
        let _ = self.controls.send((subject, control));
    }

    pub(super) fn add_notifier(&self, notifier: ToolSetNotifier) {
        self.notifiers.lock().unwrap_or_else(PoisonError::into_inner).push(notifier);
    }

    /// Reads until the connection is closed.
    pub(super) async fn read_until_closed(self: Arc<Self>, mut incoming: Incoming) {
        let mut check = tokio::time::interval(CHECK_INTERVAL.min(self.settings.lost_after));
        let mut known = self.workers.registries();
        loop {
            tokio::select! {
                () = self.closed.cancelled() => return,
                announced = incoming.announcements.next() => match announced {
                    Some(delivery) => self.read_announcement(&delivery),
                    None => break,
                },
                reply = incoming.replies.next() => match reply {
                    Some(delivery) => self.read_reply(delivery),
                    None => break,
                },
                Some((subject, control)) = incoming.controls.recv() => {
                    if let Err(error) = self.channel.send_message(&subject, None, Message::Control(control)).await {
                        tracing::warn!(%error, "the cancellation of a call was not sent");
                    }
                }
                _ = check.tick() => self.workers.remove_lost(self.settings.lost_after),
            }
            let registries = self.workers.registries();
            if !registries.keys().eq(known.keys()) {
                self.announce_change();
            }
            known = registries;
        }
        self.closed.cancel();
    }

    fn announce_change(&self) {
        let notifiers = self.notifiers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for notifier in notifiers {
            notifier.announce();
        }
    }

    fn read_announcement(&self, delivery: &Delivery) {
        let Payload::Body(body) = &delivery.payload else { return };
        let opened = self.channel.open_message(&delivery.subject, delivery.reply.as_deref(), body);
        self.read_presence(opened.map(|received| received.message));
    }

    fn read_presence(&self, message: Option<Message>) {
        match message {
            Some(Message::Announce(announcement)) => self.workers.note_announcement(announcement),
            Some(Message::Leave { worker }) => self.workers.remove_worker(&worker),
            _ => {}
        }
    }

    /// Cancels a call whose caller no longer waits for it, and whose worker goes on.
    pub(super) fn cancel_unowned(&self, CallReport { call, control, report, .. }: CallReport) {
        let goes_on = matches!(
            report,
            Report::Beat | Report::Claim | Report::Update(_) | Report::Progress(_) | Report::Log(_)
        );
        if goes_on {
            self.send_later(control, CallControl { call, control: Control::Cancel });
        }
    }

    fn read_reply(&self, delivery: Delivery) {
        let Some(name) = delivery.subject.rsplit('.').next() else { return };
        let Some(sender) = self.lock_replies().get(name).cloned() else {
            // Its future was dropped, perhaps before its worker was known.
            if let Payload::Body(body) = &delivery.payload
                && let Some(received) =
                    self.channel.open_message(&delivery.subject, delivery.reply.as_deref(), body)
                && let Message::Report(report) = received.message
            {
                self.cancel_unowned(report);
            }
            return;
        };
        let reply = match &delivery.payload {
            Payload::NoReceiver => Reply::NoReceiver,
            Payload::Body(body) => {
                let opened = self.channel.open_message(&delivery.subject, delivery.reply.as_deref(), body);
                let Some(received) = opened else { return };
                Reply::Received(received)
            }
        };
        if sender.try_send(reply).is_err() {
            // Nothing is left out silently: the call ends as one whose worker is lost.
            self.lock_replies().remove(name);
        }
    }
}
