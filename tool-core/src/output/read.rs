//! Views of an output: text, content, value and document.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{Content, OutputBody, Resource, ResourceBody, ToolOutput};

impl ToolOutput {
    /// Returns the text for a model: plain text unchanged, any other value as compact JSON, and the texts of several
    /// blocks one per line. Blocks other than text are left out.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match &self.body {
            OutputBody::Empty => Cow::Borrowed(""),
            OutputBody::Text(text) | OutputBody::Json(text) => Cow::Borrowed(text),
            OutputBody::Blocks(blocks) => match blocks.content.as_slice() {
                [Content::Text { text }] => Cow::Borrowed(text),
                blocks => {
                    let texts: Vec<_> = blocks.iter().filter_map(Content::as_text).collect();
                    Cow::Owned(texts.join("\n"))
                }
            },
        }
    }

    /// Returns the [text](Self::text) for a model; text and JSON are not copied.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::ToolOutput;
    ///
    /// let text: String = ToolOutput::from("21 °C").into_text();
    /// assert_eq!(text, "21 °C");
    /// ```
    #[must_use]
    pub fn into_text(self) -> String {
        match self.body {
            OutputBody::Text(text) | OutputBody::Json(text) => text,
            _ => self.text().into_owned(),
        }
    }

    /// Returns `true` if a model reads more than the text blocks: other content that is rendered as text, or the
    /// value if there is no content.
    #[doc(hidden)]
    #[must_use]
    pub fn needs_words(&self) -> bool {
        match &self.body {
            OutputBody::Empty | OutputBody::Text(_) | OutputBody::Json(_) => false,
            OutputBody::Blocks(blocks) => {
                blocks.content.is_empty() || blocks.content.iter().any(|block| block.as_text().is_none())
            }
        }
    }

    /// Returns the content blocks.
    #[must_use]
    pub fn content(&self) -> Cow<'_, [Content]> {
        match &self.body {
            OutputBody::Empty => Cow::Borrowed(&[]),
            OutputBody::Text(text) | OutputBody::Json(text) => Cow::Owned(vec![Content::text(text.as_str())]),
            OutputBody::Blocks(blocks) => Cow::Borrowed(&blocks.content),
        }
    }

    /// Returns the result as a value, for programs; `None` if there is only content.
    #[must_use]
    pub fn structured(&self) -> Option<Value> {
        match &self.body {
            OutputBody::Empty => None,
            OutputBody::Text(text) => Some(Value::String(text.clone())),
            // `serde_json` wrote this text, so it can parse it, except for numbers that it cannot represent.
            OutputBody::Json(json) => serde_json::from_str(json).ok(),
            OutputBody::Blocks(blocks) => blocks.structured.clone(),
        }
    }

    /// Returns the [result as a value](Self::structured); a value that the tool set is not copied.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::ToolOutput;
    ///
    /// let output = ToolOutput::from("21 °C").with_structured(json!({ "celsius": 21 }));
    /// assert_eq!(output.into_structured(), Some(json!({ "celsius": 21 })));
    /// ```
    #[must_use]
    pub fn into_structured(self) -> Option<Value> {
        match self.body {
            OutputBody::Text(text) => Some(Value::String(text)),
            OutputBody::Blocks(blocks) => blocks.structured,
            OutputBody::Empty | OutputBody::Json(_) => self.structured(),
        }
    }

    /// Returns `true` if there is neither content nor a value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match &self.body {
            OutputBody::Empty => true,
            OutputBody::Text(_) | OutputBody::Json(_) => false,
            OutputBody::Blocks(blocks) => blocks.content.is_empty() && blocks.structured.is_none(),
        }
    }

    /// Returns the result as a JSON object, for function responses: an object unchanged, any other value under
    /// `result`, and `{}` for no output.
    #[must_use]
    pub fn to_map(&self) -> Map<String, Value> {
        let value = match self.structured() {
            Some(Value::Object(map)) => return map,
            Some(value) => value,
            None if self.is_empty() => return Map::new(),
            None => Value::String(self.text().into_owned()),
        };
        Map::from_iter([("result".to_owned(), value)])
    }

    /// Returns the result as a document named after the tool, without the namespace before its last dot.
    ///
    /// Text has the MIME type `text/plain` and a value `application/json`; a resource, image or audio block is
    /// returned unchanged. `None` if there is no output.
    #[must_use]
    pub fn to_resource(&self, tool: &str) -> Option<Resource> {
        let name = tool.rsplit('.').next().unwrap_or(tool).to_owned();
        let document =
            |mime_type: &str, body| Resource { uri: name.clone(), mime_type: mime_type.to_owned(), body };
        Some(match &self.body {
            OutputBody::Empty => return None,
            OutputBody::Text(text) => document("text/plain", ResourceBody::Text(text.clone())),
            OutputBody::Json(json) => document("application/json", ResourceBody::Text(json.clone())),
            OutputBody::Blocks(blocks) => match (blocks.content.as_slice(), &blocks.structured) {
                ([], None) => return None,
                (_, Some(value)) => document("application/json", ResourceBody::Text(value.to_string())),
                ([Content::Resource { resource }], None) => {
                    let uri = if resource.uri.is_empty() { name } else { resource.uri.clone() };
                    Resource { uri, ..resource.clone() }
                }
                ([Content::Image { data, mime_type } | Content::Audio { data, mime_type }], None) => {
                    document(mime_type, ResourceBody::Blob(data.clone()))
                }
                _ => document("text/plain", ResourceBody::Text(self.text().into_owned())),
            },
        })
    }
}
