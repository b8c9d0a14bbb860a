//! Tests of the allocations for borrowed texts.

use allocation_counter::{AllocationInfo, measure};
use benches::{calls, now};
use tool_runtime::{Registry, registry::BuildError};

/// Returns the allocations of one call whose answer is `expected`.
fn check(tools: &Registry, arguments: &str, expected: &str) -> AllocationInfo {
    let mut reply = None;
    let allocations = measure(|| reply = now(tools.call("length", arguments)));
    let reply = reply.and_then(Result::ok);
    assert_eq!(reply.as_ref().map(|reply| reply.text()).as_deref(), Some(expected));
    allocations
}

#[test]
fn long_text_without_escapes_is_not_copied() -> Result<(), BuildError> {
    let tools = calls::tools()?;
    let allocations = check(&tools, &calls::long_text(""), "100000");
    // The sum of all allocations is less than the text, hence each of them is.
    assert!(allocations.bytes_total < 10_000, "{allocations:?}");
    Ok(())
}

#[test]
fn text_with_an_escape_is_decoded_once() -> Result<(), Box<dyn std::error::Error>> {
    let tools = calls::tools()?;
    let arguments = calls::long_text(r"\n");
    let raw = arguments.trim_start_matches(r#"{"text": "#).trim_end_matches('}');
    let decoding = measure(|| assert!(serde_json::from_str::<String>(raw).is_ok()));
    let allocations = check(&tools, &arguments, "100001");
    assert!(allocations.bytes_total >= 100_001, "{allocations:?}");
    assert!(allocations.bytes_total < decoding.bytes_total + 10_000, "{allocations:?}, {decoding:?}");
    Ok(())
}
