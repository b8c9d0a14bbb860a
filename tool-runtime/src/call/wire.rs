//! Calls, results and outcomes as JSON, as programs store and exchange them.

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::{Map, Value, value::RawValue};
use tool_core::{
    Actions, Arguments, CallAddress, CallId, Content, Correction, Resource, ToolError, ToolOutput,
    internals::{FormatVersion, present},
};

use super::{CallOutcome, Incomplete, Operation, Pending, ToolCall, ToolResult, replace::FollowUps};
use crate::millis;

/// Arguments given as a JSON text or as the object itself, whose text is kept unchanged where the format allows.
#[derive(Default)]
struct ReceivedArguments(Option<Arguments<'static>>);

impl<'de> Deserialize<'de> for ReceivedArguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // `serde_json` gives the text of a value for a newtype of this name; other formats give the value.
        deserializer
            .deserialize_newtype_struct(RAW_VALUE, ArgumentsVisitor)
            .map(|arguments| Self(Some(arguments)))
    }
}

/// The name by which `serde_json` recognises a request for a `RawValue`.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

struct ArgumentsVisitor;

impl<'de> Visitor<'de> for ArgumentsVisitor {
    type Value = Arguments<'static>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("arguments as a JSON text, or as an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let raw = Box::<RawValue>::deserialize(RawAccess(map))?;
        match raw.get().starts_with('"') {
            true => serde_json::from_str::<String>(raw.get()).map(Into::into).map_err(A::Error::custom),
            false => Ok(raw.get().to_owned().into()),
        }
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::String(text) => text.into(),
            value => value.into(),
        })
    }
}

/// The map that `serde_json` deserializes as a raw value.
struct RawAccess<A>(A);

impl<'de, A: MapAccess<'de>> Deserializer<'de> for RawAccess<A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        MapAccessDeserializer::new(self.0).deserialize_any(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        visitor.visit_map(self.0)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallWire {
    #[serde(default, rename = "v")]
    _version: FormatVersion,
    #[serde(default)]
    id: Option<String>,
    name: String,
    #[serde(default)]
    arguments: ReceivedArguments,
    #[serde(default)]
    meta: Option<Map<String, Value>>,
    #[serde(default)]
    resources: Vec<Resource>,
    #[serde(default)]
    incomplete: Option<Incomplete>,
    #[serde(default)]
    redirected_from: Option<Arc<str>>,
}

/// Generates an id if it is empty, `null` or absent. The arguments are a JSON text or the value itself; the text of a
/// value is kept, with all digits of its numbers, if the format is JSON.
impl<'de> Deserialize<'de> for ToolCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let CallWire { id, name, arguments, meta, resources, incomplete, redirected_from, .. } =
            CallWire::deserialize(deserializer)?;
        let id = non_empty_or_new_id(id);
        let arguments = arguments.0.unwrap_or(Arguments::EMPTY);
        Ok(Self { id, name, arguments, meta, resources, incomplete, redirected_from, address: None })
    }
}

/// Treats an empty id as absent.
fn non_empty_or_new_id(id: Option<String>) -> CallId {
    id.filter(|id| !id.is_empty()).map_or_else(CallId::generate, CallId::from)
}

/// The form in which programs exchange and store results: the model's part in `content`, the rest beside it. Times are
/// in milliseconds; the sources of an error are texts.
impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire<'a> {
            id: &'a CallId,
            name: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            redirected_from: Option<&'a str>,
            is_error: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<&'a ToolError>,
            content: Cow<'a, [Content]>,
            #[serde(skip_serializing_if = "Option::is_none")]
            structured: Option<Value>,
            #[serde(skip_serializing_if = "Option::is_none")]
            details: Option<&'a Value>,
            #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
            meta: Option<&'a Map<String, Value>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            child_run_id: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            operation_id: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            actions: Option<&'a Actions>,
            #[serde(skip_serializing_if = "<[Correction]>::is_empty")]
            corrections: &'a [Correction],
            #[serde(rename = "final", skip_serializing_if = "std::ops::Not::not")]
            last: bool,
            #[serde(skip_serializing_if = "<[Vec<Content>]>::is_empty")]
            follow_ups: &'a [Vec<Content>],
            attempts: u32,
            duration_ms: u64,
            finished_at_ms: i64,
        }
        let output = self.outcome.as_ref().ok();
        Wire {
            id: &self.id,
            name: &self.name,
            redirected_from: self.redirected_from.as_deref(),
            is_error: self.is_error(),
            error: self.outcome.as_ref().err(),
            content: self.content(),
            structured: self.structured(),
            details: self.details(),
            meta: self.meta(),
            child_run_id: self.child_run_id(),
            operation_id: output.and_then(ToolOutput::operation_id),
            actions: self.actions().filter(|actions| !actions.is_empty()),
            corrections: self.corrections(),
            last: output.is_some_and(ToolOutput::is_final),
            follow_ups: self.follow_ups(),
            attempts: self.attempts,
            duration_ms: u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            finished_at_ms: millis::epoch_millis(self.finished_at),
        }
        .serialize(serializer)
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ResultWire {
    #[serde(rename = "v")]
    _version: FormatVersion,
    id: Option<String>,
    name: String,
    redirected_from: Option<Arc<str>>,
    is_error: bool,
    error: Option<ToolError>,
    content: Vec<Content>,
    #[serde(deserialize_with = "present")]
    structured: Option<Value>,
    #[serde(deserialize_with = "present")]
    details: Option<Value>,
    #[serde(rename = "_meta")]
    meta: Option<Map<String, Value>>,
    child_run_id: Option<String>,
    operation_id: Option<String>,
    actions: Option<Actions>,
    corrections: Vec<Correction>,
    #[serde(rename = "final")]
    last: bool,
    follow_ups: Vec<Vec<Content>>,
    attempts: u32,
    duration_ms: u64,
    finished_at_ms: i64,
}

/// Absent members have defaults: `{"content":[]}` is an empty result with a generated id and an empty tool name that
/// finished at the Unix epoch. With `isError` and without `error`, it is an output that reports a failure.
impl<'de> Deserialize<'de> for ToolResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut wire = ResultWire::deserialize(deserializer)?;
        let finished_at = millis::time_at_epoch_millis(wire.finished_at_ms)
            .ok_or_else(|| D::Error::custom("`finishedAtMs` is further away than the clock goes"))?;
        let (id, name) = (non_empty_or_new_id(wire.id.take()), Arc::from(std::mem::take(&mut wire.name)));
        let (attempts, duration) = (wire.attempts, Duration::from_millis(wire.duration_ms));
        let redirected_from = wire.redirected_from.take();
        let follow_ups = FollowUps::new(std::mem::take(&mut wire.follow_ups));
        let outcome = match wire.error.take() {
            Some(error) => Err(error),
            None => Ok(wire.into_output()),
        };
        Ok(Self { id, name, outcome, attempts, finished_at, duration, redirected_from, follow_ups })
    }
}

impl ResultWire {
    fn into_output(self) -> ToolOutput {
        let mut output = match (self.content.as_slice(), self.structured) {
            // The structured value of a plain text is the text itself.
            ([Content::Text { text }], Some(Value::String(value))) if *text == value => value.into(),
            // A text without a structured value was written by the tool as content.
            ([Content::Text { .. }], None) => ToolOutput::new(self.content),
            (_, structured) => ToolOutput::of_wire(self.content, structured),
        };
        if let Some(details) = self.details {
            output = output.with_details(details);
        }
        if let Some(meta) = self.meta {
            output = output.with_meta(meta);
        }
        if let Some(id) = self.child_run_id {
            output = output.with_child_run_id(id);
        }
        if let Some(id) = self.operation_id {
            output = output.with_operation_id(id);
        }
        if let Some(actions) = self.actions {
            output = output.with_actions(actions);
        }
        if !self.corrections.is_empty() {
            output = output.with_corrections(self.corrections);
        }
        if self.is_error {
            output = output.as_failure();
        }
        if self.last { output.as_final() } else { output }
    }
}

/// The status of a call, in an outcome.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Status {
    Finished,
    External,
    Pending,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OutcomeRef<'a> {
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<&'a ToolCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<&'a CallAddress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'a Operation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a ToolResult>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OutcomeWire {
    #[serde(default, rename = "v")]
    _version: FormatVersion,
    status: Status,
    #[serde(default)]
    call: Option<ToolCall>,
    #[serde(default)]
    address: Option<CallAddress>,
    #[serde(default)]
    operation: Option<Operation>,
    #[serde(default)]
    result: Option<ToolResult>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PendingWire {
    #[serde(default, rename = "v")]
    _version: FormatVersion,
    call: ToolCall,
    address: CallAddress,
    operation: Operation,
    #[serde(default)]
    result: Option<ToolResult>,
}

impl From<PendingWire> for Pending {
    fn from(PendingWire { call, address, operation, result, .. }: PendingWire) -> Self {
        Self { call, address, operation, result }
    }
}

/// Serialized as `status` (`finished`, `external` or `pending`) with `result`, or with `call`, `address`, `operation`
/// and `result`.
impl Serialize for CallOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let none = OutcomeRef {
            status: Status::Finished,
            call: None,
            address: self.address(),
            operation: None,
            result: self.result(),
        };
        match self {
            Self::Finished(_) => none,
            Self::External(call, _) => OutcomeRef { status: Status::External, call: Some(call), ..none },
            Self::Pending(pending) => {
                let (call, operation) = (Some(&pending.call), Some(&pending.operation));
                OutcomeRef { status: Status::Pending, call, operation, ..none }
            }
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CallOutcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let OutcomeWire { status, call, address, operation, result, .. } =
            OutcomeWire::deserialize(deserializer)?;
        let call = || call.ok_or_else(|| D::Error::missing_field("call"));
        let address = || address.ok_or_else(|| D::Error::missing_field("address"));
        Ok(match status {
            Status::Finished => Self::Finished(result.ok_or_else(|| D::Error::missing_field("result"))?),
            Status::External => Self::External(Box::new(call()?), address()?),
            Status::Pending => Self::Pending(Box::new(Pending {
                call: call()?,
                address: address()?,
                operation: operation.ok_or_else(|| D::Error::missing_field("operation"))?,
                result,
            })),
        })
    }
}
