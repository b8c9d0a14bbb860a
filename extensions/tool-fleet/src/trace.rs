//! The trace of a call across processes ([W3C Trace Context]): the spans of a worker are below the span of the call at its caller.
//!
//! It travels in the metadata of the call and of its run, which the spans of an executor follow.
//!
//! [W3C Trace Context]: https://www.w3.org/TR/trace-context/

use serde_json::{Map, Value};

/// The members of metadata that have a trace.
const MEMBERS: [&str; 2] = ["traceparent", "tracestate"];

/// Returns the current trace; empty if there is none.
pub(crate) fn current_trace() -> Map<String, Value> {
    #[cfg(feature = "opentelemetry")]
    return tool_runtime::trace_context();
    #[cfg(not(feature = "opentelemetry"))]
    Map::new()
}

/// Returns metadata whose trace is `trace`, unless that is empty.
pub(crate) fn with_trace(mut meta: Map<String, Value>, trace: &Map<String, Value>) -> Map<String, Value> {
    if !trace.is_empty() {
        for member in MEMBERS {
            meta.remove(member);
        }
        meta.extend(trace.clone());
    }
    meta
}

/// Returns the members of the metadata that have a trace.
pub(crate) fn trace_members(meta: &Map<String, Value>) -> Map<String, Value> {
    let members = MEMBERS.into_iter().filter_map(|name| Some((name.to_owned(), meta.get(name)?.clone())));
    members.collect()
}
