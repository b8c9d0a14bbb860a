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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }

    #[test]
    fn a_trace_replaces_both_members_of_another_one() {
        let meta = map(json!({ "traceparent": "old", "tracestate": "old", "user": "u" }));
        assert_eq!(with_trace(meta.clone(), &Map::new()), meta);
        let trace = map(json!({ "traceparent": "new" }));
        assert_eq!(with_trace(meta, &trace), map(json!({ "traceparent": "new", "user": "u" })));
    }

    #[test]
    fn the_members_of_a_trace_are_those_of_the_standard() {
        let trace = map(json!({ "traceparent": "p", "tracestate": "s" }));
        let mut meta = trace.clone();
        meta.insert("user".to_owned(), json!("u"));
        assert_eq!(trace_members(&meta), trace);
        meta.remove("tracestate");
        assert_eq!(trace_members(&meta), map(json!({ "traceparent": "p" })));
        assert_eq!(trace_members(&Map::new()), Map::new());
    }
}
