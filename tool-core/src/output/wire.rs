//! The serialised form of a [`ToolOutput`]; absent parts are left out.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use tool_schema::__private::{FormatVersion, present};

use super::{Actions, Content, OutputBody, OutputDetails, OutputExtras, ToolOutput};
use crate::Correction;

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Wire {
    #[serde(rename = "v", skip_serializing)]
    version: FormatVersion,
    content: Vec<Content>,
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    structured: Option<Value>,
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    child_run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation_id: Option<String>,
    #[serde(skip_serializing_if = "Actions::is_empty")]
    actions: Actions,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    corrections: Vec<Correction>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    failure: bool,
    #[serde(rename = "final", skip_serializing_if = "std::ops::Not::not")]
    last: bool,
}

/// Returns `true` if `text` is the JSON of `value`, so that one of them can be left out.
fn is_json_of(text: &str, value: &Value) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|read| read == *value)
}

impl ToolOutput {
    /// Creates an output from its serialised `content` and `structured` members.
    #[doc(hidden)]
    #[must_use]
    pub fn of_wire(content: Vec<Content>, structured: Option<Value>) -> Self {
        Self::from(match (content.as_slice(), structured) {
            ([], None) => OutputBody::Empty,
            ([Content::Text { text }], None) => OutputBody::Text(text.clone()),
            ([Content::Text { text }], Some(value)) if is_json_of(text, &value) => {
                OutputBody::Json(text.clone())
            }
            (_, structured) => OutputBody::blocks(content, structured),
        })
    }
}

impl Serialize for ToolOutput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let OutputExtras {
            details,
            meta,
            child_run_id,
            operation_id,
            actions,
            corrections,
            failure,
            last,
            retry_after: _,
        } = self.extras.as_deref().cloned().unwrap_or_default();
        // A plain text is its own structured value and is not written twice.
        let structured = match self.body {
            OutputBody::Text(_) => None,
            _ => self.structured(),
        };
        let content = self.content().into_owned();
        let version = FormatVersion;
        Wire {
            version,
            content,
            structured,
            details: details.map(OutputDetails::into_value),
            meta,
            child_run_id,
            operation_id,
            actions,
            corrections,
            failure,
            last,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolOutput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Wire {
            version: FormatVersion,
            content,
            structured,
            details,
            meta,
            child_run_id,
            operation_id,
            actions,
            corrections,
            failure,
            last,
        } = Wire::deserialize(deserializer)?;
        let body = Self::of_wire(content, structured).body;
        let extras = OutputExtras {
            details: details.map(OutputDetails::Ready),
            meta,
            child_run_id,
            operation_id,
            actions,
            corrections,
            failure,
            last,
            retry_after: None,
        };
        let extras = (extras != OutputExtras::default()).then(|| Box::new(extras));
        Ok(Self { body, extras })
    }
}
