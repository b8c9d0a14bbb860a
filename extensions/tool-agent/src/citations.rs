//! The citations of a message.

use serde_json::Value;

use crate::Message;

/// The members of blocks and of metadata that are lists of citations.
const LISTS: [&str; 2] = ["citations", "annotations"];

impl Message {
    /// Returns the citations of a response, in the form of its provider:
    ///
    /// | provider | citations |
    /// | --- | --- |
    /// | Anthropic | `citations` of the blocks |
    /// | OpenAI | `annotations` of the message, or of its texts |
    /// | Gemini | `groundingMetadata.groundingChunks`, and `citationMetadata.citationSources` or `.citations` |
    /// | compatible servers | `citations` of the response |
    ///
    /// They are read from the [original](Self::original) and the [metadata](Self::metadata) each time.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::Message;
    /// use tool_runtime::prelude::*;
    ///
    /// let message: Message = tool_runtime::serde_json::from_value(json!({
    ///     "role": "assistant",
    ///     "parts": [{ "text": "Oslo." }],
    ///     "metadata": { "groundingMetadata": { "groundingChunks": [{ "web": { "uri": "https://a.example" } }] } },
    /// }))?;
    /// assert_eq!(message.citations()[0]["web"]["uri"], "https://a.example");
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    #[must_use]
    pub fn citations(&self) -> Vec<Value> {
        let mut citations = Vec::new();
        if let Some(original) = self.original().and_then(|it| serde_json::from_str(it.json.get()).ok()) {
            add_block_citations(&original, &mut citations);
        }
        let metadata = self.metadata();
        for list in LISTS {
            append_array_items(metadata.get(list), &mut citations);
        }
        for (member, list) in [
            ("groundingMetadata", "groundingChunks"),
            ("citationMetadata", "citationSources"),
            ("citationMetadata", "citations"),
        ] {
            append_array_items(metadata.get(member).and_then(|it| it.get(list)), &mut citations);
        }
        citations
    }
}

/// Adds the citations of a message, or of the items and blocks in it.
fn add_block_citations(block: &Value, citations: &mut Vec<Value>) {
    match block {
        Value::Array(blocks) => blocks.iter().for_each(|block| add_block_citations(block, citations)),
        Value::Object(members) => {
            LISTS.iter().for_each(|list| append_array_items(members.get(*list), citations));
            if let Some(content) = members.get("content") {
                add_block_citations(content, citations);
            }
        }
        _ => {}
    }
}

fn append_array_items(list: Option<&Value>, citations: &mut Vec<Value>) {
    citations.extend(list.and_then(Value::as_array).into_iter().flatten().cloned());
}
