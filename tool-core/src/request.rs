//! What a tool adds to the requests that a model is sent.

use std::{fmt, mem};

use serde_json::Value;

/// A request that is about to be sent to a model, with the tool among others; see
/// [`Tool::on_request`](crate::Tool::on_request).
///
/// It knows nothing of providers: what is added finds its place by whoever writes the request.
pub struct ModelRequest<'r> {
    dialect: &'r str,
    body: &'r mut Value,
    tool_name: &'r str,
    instructions: Vec<String>,
    native: Vec<Value>,
}

impl<'r> ModelRequest<'r> {
    /// The request `body` of a provider whose wire is called `dialect`.
    pub fn new(dialect: &'r str, body: &'r mut Value) -> Self {
        Self { dialect, body, tool_name: "", instructions: Vec::new(), native: Vec::new() }
    }

    /// Says by what name the model knows the tool that is asked next.
    pub fn ask_as(&mut self, tool_name: &'r str) {
        self.tool_name = tool_name;
    }

    /// The provider's wire: `openai-chat`, `anthropic`, ..
    #[must_use]
    pub fn dialect(&self) -> &str {
        self.dialect
    }

    /// The name by which the model knows the tool.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        self.tool_name
    }

    /// Adds `text` to what the model is told before all else. A text that is there already is not added again.
    pub fn instruct(&mut self, text: impl Into<String>) {
        self.instructions.push(text.into());
    }

    /// Adds a tool of the provider's own, such as a search, in the provider's form. One that is there already is not
    /// added again.
    ///
    /// It is for those that the provider runs by itself. One whose calls come to the program is for the dialect to know
    /// (`Dialect::with_native`), which keeps its name free and answers in its form.
    pub fn add_native(&mut self, tool: Value) {
        self.native.push(tool);
    }

    /// The request as the provider is sent it, with the declarations of all tools, for what is said in no other way.
    pub fn body(&mut self) -> &mut Value {
        self.body
    }

    /// The instructions that were added, and the provider's own tools; afterwards, there are none.
    pub fn take_added(&mut self) -> (Vec<String>, Vec<Value>) {
        (mem::take(&mut self.instructions), mem::take(&mut self.native))
    }
}

/// Without the body, which holds what was said.
impl fmt::Debug for ModelRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelRequest").field("dialect", &self.dialect).finish_non_exhaustive()
    }
}
