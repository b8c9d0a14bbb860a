//! A broker in memory of which a test sees the messages, and changes them on their way; and a process that forges messages.

use std::{
    sync::{Arc, Mutex},
    time::{SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use tool_fleet::{Deliveries, FleetError, MemoryTransport, Transport};
use tool_runtime::{BoxFuture, open_calls::PoolKey, prelude::*};

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
        Self { max_bytes: inner.max_bytes(), inner, seen: Arc::default(), tamper }
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
        self.seen.lock().unwrap().push(sent.clone());
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

/// A process with the key of the pool that sends any message.
pub(crate) struct Forger {
    pub(crate) key: PoolKey,
    pub(crate) transport: MemoryTransport,
    /// The name of the process.
    pub(crate) sender: String,
    /// Milliseconds from now.
    pub(crate) expires_in: i64,
}

impl Forger {
    pub(crate) fn new(transport: &MemoryTransport, pool: &str) -> Self {
        let key = super::program_key().pool_key(pool);
        Self { key, transport: transport.clone(), sender: "forger".to_owned(), expires_in: 30_000 }
    }

    pub(crate) async fn send(&self, subject: &str, reply: Option<&str>, kind: &str, body: Value) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let expires = i64::try_from(since.as_millis()).unwrap() + self.expires_in;
        let message = json!({ kind: body });
        let envelope = json!({ "sender": self.sender, "expires": expires, "message": message });
        let sealed = self.key.seal(&envelope.to_string(), &context_of(subject, reply)).unwrap();
        self.transport.send(subject, reply, sealed.into()).await.unwrap();
    }

    /// Announces a registry of one tool.
    pub(crate) async fn announce(&self, registry: &str) {
        let subject = format!("tools.{}.announcements", self.key.pool());
        self.send(&subject, None, "announce", json!({ "registry": registry, "tools": 1 })).await;
    }

    /// Reads a message that was sent.
    pub(crate) fn read(&self, sent: &Sent) -> Value {
        let context = context_of(&sent.subject, sent.reply.as_deref());
        let text = self.key.unseal(&sent.body, &context).unwrap();
        serde_json::from_str(text.as_str()).unwrap()
    }
}

fn context_of(subject: &str, reply: Option<&str>) -> Vec<u8> {
    let mut context = b"tool-fleet message 1".to_vec();
    for part in [subject, reply.unwrap_or_default()] {
        context.extend_from_slice(&(part.len() as u64).to_le_bytes());
        context.extend_from_slice(part.as_bytes());
    }
    context
}
