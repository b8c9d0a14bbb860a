//! Deserialization of events and ends.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;
use tool_runtime::{
    CallOutcome, ToolCall,
    call::{CallAddress, CallId},
    dialect::Usage,
    event::ToolEvent,
};

use super::{AgentEvent, AgentEventKind, End, EndReason, RunUsage, open_below::CallAbove};
use crate::{Message, format_version::FormatVersion};

/// The members of all kinds in one struct: nothing is buffered by `serde`, so that numbers keep their spelling, and messages
/// the JSON of their provider.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventWire {
    #[serde(default, rename = "v")]
    _version: FormatVersion,
    #[serde(default)]
    time: Option<u64>,
    #[serde(default)]
    run: Option<CallId>,
    #[serde(default)]
    agent: Option<Arc<str>>,
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(default)]
    delta: Option<String>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    total: Option<RunUsage>,
    #[serde(default)]
    event: Option<Box<ToolEvent>>,
    #[serde(default)]
    call: Option<CallAddress>,
    #[serde(default)]
    child: Option<Box<AgentEvent>>,
    #[serde(default)]
    to: Option<Arc<str>>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    calls: Option<Vec<ToolCall>>,
    #[serde(default)]
    long_running: Option<Vec<CallId>>,
    #[serde(default)]
    end: Option<End>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Text,
    Reasoning,
    Withdrawn,
    Message,
    Usage,
    Tool,
    Child,
    Transferred,
    Notice,
    Open,
    Ended,
}

/// Returns a member that the kind of an event requires.
fn required_member<T, E: Error>(value: Option<T>, name: &'static str) -> Result<T, E> {
    value.ok_or_else(|| E::missing_field(name))
}

impl EventWire {
    fn into_kind<E: Error>(self) -> Result<AgentEventKind, E> {
        Ok(match self.kind {
            Kind::Text => AgentEventKind::Text { delta: required_member(self.delta, "delta")? },
            Kind::Reasoning => AgentEventKind::Reasoning { delta: required_member(self.delta, "delta")? },
            Kind::Withdrawn => AgentEventKind::Withdrawn { reason: required_member(self.reason, "reason")? },
            Kind::Message => AgentEventKind::Message { message: required_member(self.message, "message")? },
            Kind::Usage => AgentEventKind::Usage {
                usage: required_member(self.usage, "usage")?,
                total: required_member(self.total, "total")?,
            },
            Kind::Tool => AgentEventKind::Tool { event: required_member(self.event, "event")? },
            Kind::Child => AgentEventKind::Child {
                call: required_member(self.call, "call")?,
                event: required_member(self.child, "child")?,
            },
            Kind::Transferred => AgentEventKind::Transferred { to: required_member(self.to, "to")? },
            Kind::Notice => AgentEventKind::Notice { text: required_member(self.text, "text")? },
            Kind::Open => AgentEventKind::Open {
                calls: required_member(self.calls, "calls")?,
                long_running: required_member(self.long_running, "longRunning")?,
            },
            Kind::Ended => AgentEventKind::Ended { end: required_member(self.end, "end")? },
        })
    }
}

impl<'de> Deserialize<'de> for AgentEventKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        EventWire::deserialize(deserializer)?.into_kind()
    }
}

impl<'de> Deserialize<'de> for AgentEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut wire = EventWire::deserialize(deserializer)?;
        let millis = Duration::from_millis(required_member(wire.time, "time")?);
        let time = SystemTime::UNIX_EPOCH.checked_add(millis);
        let time = time.ok_or_else(|| D::Error::custom("the `time` of the event is out of range"))?;
        let run = required_member(wire.run.take(), "run")?;
        let agent = required_member(wire.agent.take(), "agent")?;
        Ok(Self { time, run, agent, kind: wire.into_kind()? })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EndWire {
    #[serde(default, rename = "v")]
    _version: FormatVersion,
    reason: EndReason,
    #[serde(default)]
    text: String,
    #[serde(default)]
    output: Option<Value>,
    #[serde(default)]
    usage: RunUsage,
    #[serde(default)]
    open: Vec<CallOutcome>,
    #[serde(default)]
    confirmations: Vec<ToolCall>,
    #[serde(default)]
    paths: Vec<Vec<CallAbove>>,
}

impl<'de> Deserialize<'de> for End {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let EndWire { reason, text, output, usage, open, confirmations, paths, .. } =
            EndWire::deserialize(deserializer)?;
        let output_json = output.as_ref().map(|output| output.to_string().into());
        Ok(Self { reason, text, output, output_json, usage, open, confirmations, paths })
    }
}
