//! A broker in memory of which a test sees the messages, and changes them on their way: several test programs have it.

#![allow(dead_code, reason = "each program uses a part of it")]

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tool_fleet::{Deliveries, FleetError, MemoryTransport, Transport};
use tool_runtime::BoxFuture;

/// A message, as a client of the broker sees it.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) subject: String,
    pub(crate) reply: Option<String>,
    pub(crate) body: Bytes,
}

impl Sent {
    /// A report of a worker. Controls, and answers about definitions, name no subject for an answer.
    pub(crate) fn is_report(&self) -> bool {
        self.subject.contains(".process.") && self.reply.is_some()
    }

    pub(crate) fn is_call(&self) -> bool {
        self.subject.contains(".calls.")
    }

    pub(crate) async fn deliver(&self, transport: &impl Transport) {
        transport.send(&self.subject, self.reply.as_deref(), self.body.clone()).await.unwrap();
    }
}

type Tamper = dyn Fn(MemoryTransport, Sent) -> BoxFuture<'static, ()> + Send + Sync;

/// A broker in memory. Clones are the same one.
#[derive(Clone)]
pub(crate) struct TestBroker {
    pub(crate) inner: MemoryTransport,
    pub(crate) seen: Arc<Mutex<Vec<Sent>>>,
    records: bool,
    tamper: Arc<Tamper>,
    max_bytes: usize,
}

impl TestBroker {
    /// A broker that delivers each message as it is.
    pub(crate) fn new() -> Self {
        Self::tampering(|inner, sent| async move { sent.deliver(&inner).await })
    }

    /// A broker of which `tamper` delivers the messages.
    pub(crate) fn tampering<F: Future<Output = ()> + Send + 'static>(
        tamper: impl Fn(MemoryTransport, Sent) -> F + Send + Sync + 'static,
    ) -> Self {
        let tamper: Arc<Tamper> = Arc::new(move |inner, sent| Box::pin(tamper(inner, sent)));
        let inner = MemoryTransport::new();
        Self { max_bytes: inner.max_bytes(), inner, seen: Arc::default(), records: true, tamper }
    }

    /// The broker without a record of its messages, for tests that send very many.
    pub(crate) fn unrecorded(mut self) -> Self {
        self.records = false;
        self
    }

    pub(crate) fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// The messages so far of which `is_chosen`.
    pub(crate) fn seen(&self, is_chosen: impl Fn(&Sent) -> bool) -> Vec<Sent> {
        self.seen.lock().unwrap().iter().filter(|sent| is_chosen(sent)).cloned().collect()
    }
}

impl Transport for TestBroker {
    fn send<'a>(
        &'a self,
        subject: &'a str,
        reply: Option<&'a str>,
        body: Bytes,
    ) -> BoxFuture<'a, Result<(), FleetError>> {
        let sent = Sent { subject: subject.to_owned(), reply: reply.map(str::to_owned), body };
        if self.records {
            self.seen.lock().unwrap().push(sent.clone());
        }
        Box::pin(async move {
            (self.tamper)(self.inner.clone(), sent).await;
            Ok(())
        })
    }

    fn listen<'a>(
        &'a self,
        pattern: &'a str,
        group: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Deliveries, FleetError>> {
        self.inner.listen(pattern, group)
    }

    fn max_bytes(&self) -> usize {
        self.max_bytes
    }
}
