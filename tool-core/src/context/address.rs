use std::fmt;

use serde::{Deserialize, Serialize};

use super::CallId;

/// The address of one call. Unlike the id, which a model may give twice in a run, it is unique among the calls of an
/// executor.
///
/// # Examples
///
/// ```
/// use tool_runtime::call::CallAddress;
///
/// let address = CallAddress { run: None, call_id: "call_1".into(), serial: 3 };
/// assert_eq!(address.to_string(), "call_1#3");
/// let json = serde_json::to_value(&address)?;
/// assert_eq!(json, serde_json::json!({ "callId": "call_1", "serial": 3 }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallAddress {
    /// The id of the run in which the call arrived; `None` for a call without a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<CallId>,
    /// The id of the call.
    pub call_id: CallId,
    /// The position of the call in the order of arrival at its executor. The first number is derived from the start
    /// time of the executor and random bits, so that two executors do not use the same numbers, also after a restart.
    /// At most 53 bits.
    pub serial: u64,
}

/// Formats as `call_1#3`, followed by ` of run r` if there is a run.
impl fmt::Display for CallAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.call_id, self.serial)?;
        self.run.as_ref().map_or(Ok(()), |run| write!(f, " of run {run}"))
    }
}
