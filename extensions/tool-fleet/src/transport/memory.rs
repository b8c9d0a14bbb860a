//! A transport within one process.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::sync::mpsc;
use tool_runtime::BoxFuture;

use super::{Deliveries, Delivery, Payload, Transport};
use crate::FleetError;

/// The limit of a message: the default of a NATS server.
const MAX_BYTES: usize = 1 << 20;

/// A transport within one process, for tests and for programs that may be divided later. Clones share the subjects.
#[derive(Clone, Default)]
pub struct MemoryTransport {
    listeners: Arc<Mutex<Vec<Listener>>>,
}

struct Listener {
    pattern: String,
    group: Option<String>,
    deliveries: mpsc::UnboundedSender<Delivery>,
}

impl Listener {
    fn matches(&self, subject: &str) -> bool {
        match self.pattern.strip_suffix('>') {
            Some(start) => subject.len() > start.len() && subject.starts_with(start),
            None => self.pattern == subject,
        }
    }
}

impl MemoryTransport {
    /// Creates a transport without listeners.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns `true` if a listener received the message.
    fn deliver(&self, delivery: &Delivery) -> bool {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| !listener.deliveries.is_closed());
        let matching: Vec<_> = listeners.iter().filter(|it| it.matches(&delivery.subject)).collect();
        let mut groups: Vec<&str> = matching.iter().filter_map(|it| it.group.as_deref()).collect();
        groups.sort_unstable();
        groups.dedup();
        let of_groups = groups.into_iter().filter_map(|group| {
            let members: Vec<_> = matching.iter().filter(|it| it.group.as_deref() == Some(group)).collect();
            members.get(fastrand::usize(..members.len().max(1))).copied()
        });
        let single = matching.iter().filter(|it| it.group.is_none());
        single.chain(of_groups).filter(|listener| listener.deliveries.send(delivery.clone()).is_ok()).count()
            > 0
    }
}

impl Transport for MemoryTransport {
    fn send<'a>(
        &'a self,
        subject: &'a str,
        reply: Option<&'a str>,
        body: Bytes,
    ) -> BoxFuture<'a, Result<(), FleetError>> {
        Box::pin(async move {
            let reply_subject = reply.map(str::to_owned);
            let delivery =
                Delivery { subject: subject.to_owned(), reply: reply_subject, payload: Payload::Body(body) };
            if !self.deliver(&delivery)
                && let Some(reply) = reply
            {
                let subject = reply.to_owned();
                self.deliver(&Delivery { subject, reply: None, payload: Payload::NoReceiver });
            }
            Ok(())
        })
    }

    fn listen<'a>(
        &'a self,
        pattern: &'a str,
        group: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Deliveries, FleetError>> {
        Box::pin(async move {
            let (sender, receiver) = mpsc::unbounded_channel();
            self.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(Listener {
                pattern: pattern.to_owned(),
                group: group.map(str::to_owned),
                deliveries: sender,
            });
            Ok(stream::unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) })
                .boxed())
        })
    }

    fn max_bytes(&self) -> usize {
        MAX_BYTES
    }
}

impl fmt::Debug for MemoryTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTransport").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// Returns the bodies that have arrived; `-` for a message without a receiver.
    fn arrived(deliveries: &mut Deliveries) -> String {
        let next = || tokio::task::unconstrained(deliveries.next()).now_or_never().flatten();
        let texts = std::iter::from_fn(next).map(|delivery| match delivery.payload {
            Payload::Body(body) => String::from_utf8_lossy(&body).into_owned(),
            Payload::NoReceiver => "-".to_owned(),
        });
        texts.collect()
    }

    #[test]
    fn a_pattern_is_a_subject_or_all_subjects_below_a_beginning() {
        let matches = |pattern: &str, subject: &str| {
            let (deliveries, _) = mpsc::unbounded_channel();
            Listener { pattern: pattern.to_owned(), group: None, deliveries }.matches(subject)
        };
        assert!(matches("a.b", "a.b") && matches("a.>", "a.b") && matches("a.>", "a.b.c"));
        for (pattern, subject) in
            [("a.b", "a.b.c"), ("a.b", "a"), ("a.>", "a."), ("a.>", "a"), ("a.>", "b.a.c")]
        {
            assert!(!matches(pattern, subject), "{pattern} {subject}");
        }
    }

    #[tokio::test]
    async fn each_receiver_and_one_member_of_each_group_receives_a_message() {
        let transport = MemoryTransport::new();
        let mut replies = transport.listen("reply", None).await.unwrap();
        let send =
            async |body: &'static str| transport.send("a.b", Some("reply"), body.into()).await.unwrap();
        send("1").await;
        assert_eq!(arrived(&mut replies), "-");
        let mut alone =
            [transport.listen("a.b", None).await.unwrap(), transport.listen("a.>", None).await.unwrap()];
        let mut other = transport.listen("b.>", None).await.unwrap();
        let mut members = Vec::new();
        for group in ["first", "second", "first"] {
            members.push(transport.listen("a.b", Some(group)).await.unwrap());
        }
        for _ in 0..50 {
            send("2").await;
        }
        let counts: Vec<_> = members.iter_mut().map(|member| arrived(member).len()).collect();
        assert_eq!((counts[0] + counts[2], counts[1]), (50, 50));
        assert!(counts[0] > 0 && counts[2] > 0, "{counts:?}");
        assert_eq!(alone.each_mut().map(|deliveries| arrived(deliveries).len()), [50, 50]);
        assert_eq!((arrived(&mut other), arrived(&mut replies)), (String::new(), String::new()));
        // Those that were dropped receive nothing.
        drop((members, alone));
        send("3").await;
        assert_eq!(arrived(&mut replies), "-");
        transport.send("a.b", None, "4".into()).await.unwrap();
        assert_eq!(transport.listeners.lock().unwrap_or_else(PoisonError::into_inner).len(), 2);
    }
}
