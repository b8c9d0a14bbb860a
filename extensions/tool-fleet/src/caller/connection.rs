//! The connection of a caller: one task reads announcements and replies, and sends the controls of calls that were dropped. It ends with the
//! cancellation of open calls.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt, StreamExt};
use tokio::{
    sync::mpsc::{self, error::TrySendError},
    time::{Instant, timeout_at},
};
use tool_runtime::{CancellationToken, toolset::ToolSetNotifier};

use super::{
    DurableCalls, FleetSettings,
    seen::SeenReports,
    unowned::UnownedCalls,
    values::{CallerValues, Deletions},
    withdrawal::Withdrawal,
    workers::Workers,
};
use crate::{
    Deliveries, Delivery, FleetError, Payload,
    channel::{Channel, Received},
    message::{CallControl, CallReport, Control, Message, Report},
};

/// The replies to a call that its reader has not read yet; beyond, the call is given up. A worker stops before
/// ([`REPORT_WINDOW`](crate::message::REPORT_WINDOW)).
pub(super) const MAX_UNREAD_REPLIES: usize = 1024;

/// The controls of dropped calls that are not sent yet. Beyond, a call is cancelled once its worker reports again.
const MAX_UNSENT_CONTROLS: usize = 4096;

/// The time in which open calls are cancelled after the set was closed.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The interval in which lost workers are looked for.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// A reply to a request or call.
pub(super) enum Reply {
    Received(Box<Received>),
    /// The broker's notice that there was no receiver. It is not sealed, and may be forged.
    NoReceiver,
    /// There were more unread replies than [`MAX_UNREAD_REPLIES`].
    Overflow,
    /// The connection is closed.
    Closed,
}

/// A request or call that waits for replies.
struct Waiting {
    replies: mpsc::Sender<Reply>,
    seen: SeenReports,
    /// Cancels the call at its worker, once that is known.
    cancellation: Option<(String, CallControl)>,
    /// The name of its request in the store of large values.
    stored_request: Option<String>,
}

impl Waiting {
    fn new(replies: mpsc::Sender<Reply>) -> Self {
        Self { replies, seen: SeenReports::default(), cancellation: None, stored_request: None }
    }

    /// Gives a reply to the reader, unless it is a repeated report; returns it if there is no room.
    fn give_reply(&mut self, reply: Reply) -> Option<Reply> {
        let mut is_beat = false;
        if let Reply::Received(received) = &reply
            && let Message::Report(report) = &received.message
        {
            if !self.seen.add_report(report, &received.sender) {
                return None;
            }
            is_beat = matches!(report.report, Report::Beat | Report::Storing);
        }
        // Replies that are unread show that the worker lives, and has the call.
        let is_optional = is_beat || matches!(reply, Reply::NoReceiver);
        if is_optional && self.replies.capacity() < MAX_UNREAD_REPLIES / 2 {
            return None;
        }
        match self.replies.try_send(reply) {
            Err(TrySendError::Full(reply)) => Some(reply),
            Ok(()) | Err(TrySendError::Closed(_)) => None,
        }
    }
}

/// The connection that the tools of a set share.
pub(super) struct Connection {
    pub(super) channel: Channel,
    pub(super) settings: FleetSettings,
    pub(super) durable: Option<DurableCalls>,
    pub(super) workers: Workers,
    pub(super) closed: CancellationToken,
    pub(super) values: CallerValues,
    waiting: Mutex<HashMap<String, Waiting>>,
    controls: mpsc::Sender<(String, CallControl)>,
    withdrawals: mpsc::UnboundedSender<Withdrawal>,
    unowned: Mutex<UnownedCalls>,
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
        self.connection.lock_waiting().remove(&self.name);
        // Those that arrive from now on have no reader.
        while let Ok(reply) = self.receiver.try_recv() {
            self.connection.delete_stored(&reply);
        }
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

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Sets the control that is sent if the set is closed; `None` if there is nothing to cancel.
    pub(super) fn set_cancellation(&self, cancellation: Option<(String, CallControl)>) {
        if let Some(waiting) = self.connection.lock_waiting().get_mut(&self.name) {
            waiting.cancellation = cancellation;
        }
    }

    /// Sets the name of the call's request in the store of large values.
    pub(super) fn set_stored_request(&self, name: String) {
        if let Some(waiting) = self.connection.lock_waiting().get_mut(&self.name) {
            waiting.stored_request = Some(name);
        }
    }

    /// Waits for a reply.
    pub(super) async fn next(&mut self) -> Reply {
        tokio::select! {
            // The sender is removed when there is no room.
            reply = self.receiver.recv() => reply.unwrap_or(Reply::Overflow),
            () = self.connection.closed.cancelled() => Reply::Closed,
        }
    }

    /// Discards the replies that have arrived.
    pub(super) fn discard_unread(&mut self) {
        while self.receiver.try_recv().is_ok() {}
    }
}

/// The messages that the task of a connection reads.
pub(super) struct Incoming {
    announcements: Deliveries,
    replies: Deliveries,
    controls: mpsc::Receiver<(String, CallControl)>,
    deletions: Deletions,
    withdrawals: mpsc::UnboundedReceiver<Withdrawal>,
}

impl Connection {
    pub(super) async fn open(
        channel: Channel,
        settings: FleetSettings,
        durable: Option<DurableCalls>,
    ) -> Result<(Arc<Self>, Incoming), FleetError> {
        let announcements = channel.listen(&channel.subject("announcements"), None).await?;
        let replies = channel.listen(&channel.own_subject(">"), None).await?;
        let (sender, controls) = mpsc::channel(MAX_UNSENT_CONTROLS);
        let (values, deletions) = CallerValues::new();
        let (withdrawal_sender, withdrawals) = mpsc::unbounded_channel();
        let connection = Self {
            channel,
            settings,
            durable,
            workers: Workers::default(),
            closed: CancellationToken::new(),
            values,
            waiting: Mutex::default(),
            controls: sender,
            withdrawals: withdrawal_sender,
            unowned: Mutex::default(),
            notifiers: Mutex::default(),
        };
        Ok((Arc::new(connection), Incoming { announcements, replies, controls, deletions, withdrawals }))
    }

    fn lock_waiting(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a request or call, before it is sent.
    pub(super) fn register_replies(self: &Arc<Self>) -> Replies {
        let (sender, receiver) = mpsc::channel(MAX_UNREAD_REPLIES);
        let name = self.channel.next_call_name();
        self.lock_waiting().insert(name.clone(), Waiting::new(sender));
        Replies { connection: Arc::clone(self), name, receiver }
    }

    /// Sends a control without waiting, for calls that are dropped.
    pub(super) fn send_later(&self, subject: String, control: CallControl) {
        // Without the task, the set is closed, and its calls were cancelled.
        if let Err(TrySendError::Full(_)) = self.controls.try_send((subject, control)) {
            tracing::warn!(
                "a call is cancelled with its next report, since {MAX_UNSENT_CONTROLS} controls are unsent"
            );
        }
    }

    /// Withdraws a durable call without waiting.
    pub(super) fn withdraw_later(&self, withdrawal: Withdrawal) {
        // Without the task, the set is closed, and the call goes on.
        let _ = self.withdrawals.send(withdrawal);
    }

    pub(super) fn add_notifier(&self, notifier: ToolSetNotifier) {
        self.notifiers.lock().unwrap_or_else(PoisonError::into_inner).push(notifier);
    }

    /// Reads until the connection is closed; then cancels the open calls.
    pub(super) async fn read_until_closed(self: Arc<Self>, incoming: Incoming) {
        let Incoming { announcements, replies, mut controls, mut deletions, withdrawals } = incoming;
        let reading = async {
            self.read_messages(announcements, replies, &mut controls, &mut deletions).await;
            self.closed.cancel();
        };
        tokio::join!(reading, self.withdraw_calls(withdrawals));
        self.cancel_open_calls(controls).await;
        let stored: Vec<_> =
            self.lock_waiting().values_mut().filter_map(|waiting| waiting.stored_request.take()).collect();
        deletions.finish(stored, &self.values, Instant::now() + CLOSE_TIMEOUT).await;
    }

    async fn read_messages(
        &self,
        mut announcements: Deliveries,
        mut replies: Deliveries,
        controls: &mut mpsc::Receiver<(String, CallControl)>,
        deletions: &mut Deletions,
    ) {
        let mut check = tokio::time::interval(CHECK_INTERVAL.min(self.settings.lost_after));
        loop {
            let registries_changed = tokio::select! {
                () = self.closed.cancelled() => return,
                announced = announcements.next() => match announced {
                    Some(delivery) => self.read_announcement(&delivery),
                    None => return,
                },
                reply = replies.next() => match self.read_replies(reply, &mut replies) {
                    true => false,
                    false => return,
                },
                Some((subject, control)) = controls.recv() => {
                    tokio::select! {
                        () = self.send_control(&subject, control) => false,
                        () = self.wait_for_close_timeout() => return,
                    }
                }
                () = deletions.run() => false,
                _ = check.tick() => {
                    let (lost, has_changed) = self.workers.remove_lost(self.settings.lost_after);
                    self.channel.metrics().count_lost_workers(lost);
                    has_changed
                }
            };
            if registries_changed {
                self.announce_change();
            }
        }
    }

    /// Waits until the set is closed, and then for the time that its last messages have.
    pub(super) async fn wait_for_close_timeout(&self) {
        self.closed.cancelled().await;
        tokio::time::sleep(CLOSE_TIMEOUT).await;
    }

    async fn send_control(&self, subject: &str, control: CallControl) {
        if let Err(error) = self.channel.send_message(subject, None, Message::Control(control)).await {
            tracing::warn!(%error, "the cancellation of a call was not sent");
        }
    }

    /// Cancels the calls that wait, whose futures may never be polled again, and those that were dropped.
    async fn cancel_open_calls(&self, mut controls: mpsc::Receiver<(String, CallControl)>) {
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        // A call that is dropped now leaves its control before it leaves this list.
        let mut left: Vec<_> =
            self.lock_waiting().values_mut().filter_map(|waiting| waiting.cancellation.take()).collect();
        while let Ok(control) = controls.try_recv() {
            left.push(control);
        }
        while let Some((subject, control)) = left.pop() {
            if timeout_at(deadline, self.send_control(&subject, control)).await.is_err() {
                tracing::warn!(
                    calls = left.len() + 1,
                    "calls were not cancelled in time after their set was closed"
                );
                return;
            }
        }
    }

    fn announce_change(&self) {
        let notifiers = self.notifiers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for notifier in notifiers {
            notifier.announce();
        }
    }

    /// Returns `true` if a registry has come or left.
    fn read_announcement(&self, delivery: &Delivery) -> bool {
        let Payload::Body(body) = &delivery.payload else { return false };
        let opened = self.channel.open_message(&delivery.subject, delivery.reply.as_deref(), body);
        let Some(Received { sender, message, .. }) = opened else { return false };
        match message {
            Message::Announce(announcement) => self.workers.note_announcement(sender, &announcement),
            Message::Leave => self.workers.remove_worker(&sender),
            _ => false,
        }
    }

    /// Deletes the value of a reply without a reader.
    fn delete_stored(&self, reply: &Reply) {
        if let Reply::Received(received) = reply {
            self.values.delete_unread(&received.message);
        }
    }

    /// Cancels a call whose caller no longer waits for it, and whose worker goes on.
    pub(super) fn cancel_unowned(&self, report: CallReport, worker: &str) {
        self.values.delete_report(&report.report);
        let mut unowned = self.unowned.lock().unwrap_or_else(PoisonError::into_inner);
        if report.report.goes_on() && unowned.note_report(&report, worker) {
            drop(unowned);
            let subject = self.channel.process_subject(worker, &report.call.call);
            self.send_later(subject, CallControl { call: report.call, control: Control::Abandon });
        }
    }

    /// Reads a reply, and those that have arrived since; returns `false` if the connection is closed.
    fn read_replies(&self, first: Option<Delivery>, replies: &mut Deliveries) -> bool {
        let mut next = Some(first);
        while let Some(reply) = next {
            let Some(delivery) = reply else { return false };
            self.read_reply(delivery);
            next = replies.next().now_or_never();
        }
        true
    }

    fn read_reply(&self, delivery: Delivery) {
        let Some(name) = delivery.subject.rsplit('.').next() else { return };
        let reply = match &delivery.payload {
            Payload::NoReceiver => Reply::NoReceiver,
            Payload::Body(body) => {
                let opened = self.channel.open_message(&delivery.subject, delivery.reply.as_deref(), body);
                let Some(received) = opened else { return };
                Reply::Received(Box::new(received))
            }
        };
        let mut all = self.lock_waiting();
        let Some(waiting) = all.get_mut(name) else {
            drop(all);
            // Its future was dropped, perhaps before its worker was known.
            if let Reply::Received(received) = reply {
                let Received { sender, message, .. } = *received;
                match message {
                    Message::Report(report) => self.cancel_unowned(report, &sender),
                    message => self.values.delete_unread(&message),
                }
            }
            return;
        };
        let Some(reply) = waiting.give_reply(reply) else { return };
        self.delete_stored(&reply);
        // Nothing is left out silently: the call is cancelled, and ends with an error that names the limit.
        let removed = all.remove(name);
        drop(all);
        if let Some((subject, control)) = removed.and_then(|waiting| waiting.cancellation) {
            self.send_later(subject, control);
        }
    }
}
