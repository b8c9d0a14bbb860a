//! A call that was sent, in one epoch.

use tool_runtime::ToolContext;

use super::{
    budget::BudgetGrants,
    child_calls::ChildCalls,
    connection::{Connection, Replies},
    order::ReportOrder,
    unshown::UnshownReports,
};
use crate::message::{CallControl, CallEpoch, Control, Message, REPORT_WINDOW};

/// The number of reports after which the worker is notified that they were read.
const READ_INTERVAL: u64 = REPORT_WINDOW / 4;

/// A call that was sent; dropping it cancels the call.
pub(super) struct SentCall<'a> {
    pub(super) replies: &'a mut Replies,
    pub(super) cx: &'a ToolContext,
    pub(super) call: CallEpoch,
    /// The process of the worker, once it is known.
    pub(super) worker: Option<String>,
    /// The start was given.
    pub(super) started: bool,
    /// There is nothing to cancel.
    pub(super) ended: bool,
    pub(super) cancelled: bool,
    /// The connection has the control that cancels the call.
    can_be_cancelled: bool,
    pub(super) last_sequence: u64,
    pub(super) order: ReportOrder,
    pub(super) budget: BudgetGrants,
    pub(super) children: ChildCalls,
    /// The number of read reports of which the worker was notified.
    acknowledged: u64,
    pub(super) unshown: UnshownReports,
}

impl<'a> SentCall<'a> {
    pub(super) fn new(replies: &'a mut Replies, call: CallEpoch, cx: &'a ToolContext) -> Self {
        Self {
            replies,
            cx,
            call,
            worker: None,
            started: false,
            ended: false,
            cancelled: false,
            can_be_cancelled: false,
            last_sequence: 0,
            order: ReportOrder::default(),
            budget: BudgetGrants::default(),
            children: ChildCalls::default(),
            acknowledged: 0,
            unshown: UnshownReports::default(),
        }
    }

    fn connection(&self) -> &Connection {
        self.replies.connection()
    }

    /// Returns `true` if `sender` is the worker of the call, which the first one that reports becomes. A call that goes on after this
    /// report is cancelled there if the set is closed.
    pub(super) fn bind_worker(&mut self, sender: &str, goes_on: bool) -> bool {
        let is_bound = match &self.worker {
            Some(worker) => worker == sender,
            None => {
                self.worker = Some(sender.to_owned());
                true
            }
        };
        if is_bound && goes_on && !self.can_be_cancelled {
            self.can_be_cancelled = true;
            self.replies.set_cancellation(self.control_message(Control::Abandon));
        }
        is_bound
    }

    fn control_message(&self, control: Control) -> Option<(String, CallControl)> {
        let channel = &self.connection().channel;
        let subject = channel.process_subject(self.worker.as_ref()?, &self.call.call);
        Some((subject, CallControl { call: self.call.clone(), control }))
    }

    /// Sends a control to the worker, which requests it again if it does not arrive.
    pub(super) async fn send_control(&self, control: Control) {
        let Some((subject, control)) = self.control_message(control) else { return };
        let message = Message::Control(control);
        // Boxed, since the future of a call has one for each place that sends a control.
        let sent = Box::pin(self.connection().channel.send_message(&subject, None, message)).await;
        if let Err(error) = sent {
            tracing::warn!(%error, "a control of a call was not sent");
        }
    }

    /// Gives the start. Each further request is answered by the same start.
    pub(super) async fn give_start(&mut self) {
        // Before it is sent: from here on, the body may have run.
        self.started = true;
        self.send_control(Control::Start).await;
    }

    /// Returns `true` if the call has started, and this process has no connection to the broker: its worker may have ended it.
    pub(super) fn is_away(&self) -> bool {
        self.started && !self.connection().channel.is_connected()
    }

    /// Has the worker of a started call send its end again, if there is one.
    pub(super) fn ask_for_end(&self) {
        if self.started
            && let Some((subject, control)) = self.control_message(Control::RepeatEnd)
        {
            self.connection().send_later(subject, control);
        }
    }

    pub(super) fn send_cancel(&mut self) {
        if !self.cancelled
            && let Some((subject, control)) = self.control_message(Control::Cancel)
        {
            self.cancelled = true;
            self.connection().send_later(subject, control);
        }
    }

    /// Notifies the worker that there is room for reports, each time that many were read.
    pub(super) async fn acknowledge_if_due(&mut self) {
        if self.order.read_reports() >= self.acknowledged.saturating_add(READ_INTERVAL) {
            self.acknowledge().await;
        }
    }

    /// Notifies the worker how many reports were read, again if none is new: an earlier message may be lost.
    pub(super) async fn acknowledge(&mut self) {
        let read = self.order.read_reports();
        if read > 0 {
            self.acknowledged = read;
            self.send_control(Control::Read(read)).await;
        }
    }
}

impl Drop for SentCall<'_> {
    fn drop(&mut self) {
        for unread in self.order.take_unread() {
            self.connection().values.delete_report(&unread);
        }
        if !self.ended {
            // Also after a cancellation: the end has no reader any more.
            if let Some((subject, control)) = self.control_message(Control::Abandon) {
                self.connection().send_later(subject, control);
            }
            self.children.end_open_calls(self.cx);
        }
        if self.can_be_cancelled {
            self.replies.set_cancellation(None);
        }
    }
}

#[cfg(test)]
mod tests;
