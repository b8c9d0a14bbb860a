//! Deserialization of events.

use std::{sync::Arc, time::SystemTime};

use serde::{Deserialize, Deserializer};
use tool_core::{CallAddress, CallId, LogLine, Progress, ToolOutput, internals::FormatVersion};

use super::{EventKind, ToolEvent};
use crate::{ToolCall, ToolResult, millis, policy::ApprovalRequest};

/// The members of all kinds in one struct: nothing is buffered by `serde`, so that numbers keep their spelling.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(default, rename = "v")]
    _version: FormatVersion,
    #[serde(with = "millis")]
    time: SystemTime,
    #[serde(default)]
    run: Option<CallId>,
    #[serde(default)]
    author: Option<Arc<str>>,
    address: CallAddress,
    name: Arc<str>,
    title: Arc<str>,
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(default)]
    call: Option<Arc<ToolCall>>,
    #[serde(default)]
    attempt: Option<u32>,
    #[serde(default)]
    update: Option<ToolOutput>,
    #[serde(default)]
    progress: Option<Progress>,
    #[serde(default)]
    line: Option<Arc<LogLine>>,
    #[serde(default)]
    event: Option<Arc<ToolEvent>>,
    #[serde(default)]
    request: Option<Arc<ApprovalRequest>>,
    #[serde(default)]
    result: Option<Arc<ToolResult>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Started,
    Updated,
    Progress,
    Log,
    Child,
    External,
    ApprovalRequested,
    Finished,
}

impl<'de> Deserialize<'de> for ToolEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Returns the required member `name` of this kind of event.
        fn needed<T, E: serde::de::Error>(member: Option<T>, name: &'static str) -> Result<T, E> {
            member.ok_or_else(|| E::missing_field(name))
        }
        let wire = Wire::deserialize(deserializer)?;
        let kind = match wire.kind {
            Kind::Started => EventKind::Started { call: needed(wire.call, "call")? },
            Kind::Updated => EventKind::Updated {
                attempt: needed(wire.attempt, "attempt")?,
                update: needed(wire.update, "update")?,
            },
            Kind::Progress => EventKind::Progress { progress: needed(wire.progress, "progress")? },
            Kind::Log => EventKind::Log { line: needed(wire.line, "line")? },
            Kind::Child => EventKind::Child { event: needed(wire.event, "event")? },
            Kind::External => EventKind::External { call: needed(wire.call, "call")? },
            Kind::ApprovalRequested => {
                EventKind::ApprovalRequested { request: needed(wire.request, "request")? }
            }
            Kind::Finished => EventKind::Finished { result: needed(wire.result, "result")? },
        };
        let Wire { time, run, author, address, name, title, .. } = wire;
        Ok(Self { time, run, author, address, name, title, kind })
    }
}
