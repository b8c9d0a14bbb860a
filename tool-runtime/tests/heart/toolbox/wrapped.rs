//! Tools that a set lists in another form, and what they are asked.

use std::sync::Arc;

use tool_runtime::{
    BoxFuture, RunContext, Tool, ToolContext, ToolDefinition, ToolName,
    definition::{Checks, Metadata, Prepared},
    prelude::*,
    request::ModelRequest,
    schema::{Arguments, InputSchema},
    serde_json::{Map, Value},
    toolset::{NamedTools, ToolSetExt},
};

use super::{boxed, snapshot};
use crate::run;

/// A hand-written tool that gives one answer to all questions, or the other one.
struct Answers(ToolDefinition, bool);

fn refuse(_: &mut Map<String, Value>) -> Result<(), ToolError> {
    Err(ToolError::failed("no"))
}

impl Tool for Answers {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, _: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let error = ToolError::failed("not prepared");
        Err(if self.1 { error.of_tool("own") } else { error.of_tool("other") })
    }

    fn start<'a>(&'a self, _: Arguments<'a>, _: &'a ToolContext) -> Result<BoxFuture<'a>, ToolError> {
        let error = ToolError::failed("not started");
        Err(if self.1 { error.of_tool("own") } else { error.of_tool("other") })
    }

    fn holds_arguments(&self) -> bool {
        self.1
    }

    fn prepare_arguments(&self) -> Option<fn(&mut Map<String, Value>) -> Result<(), ToolError>> {
        self.1.then_some(refuse)
    }

    fn is_external(&self) -> bool {
        self.1
    }

    fn checks(&self) -> Checks {
        if self.1 { Checks::ALL } else { Checks::NONE }
    }

    fn retries_blindly(&self) -> bool {
        self.1
    }

    fn on_request(&self, _: ModelRequest) -> BoxFuture<'_, Result<(), ToolError>> {
        let added = if self.1 { Err(ToolError::failed("no")) } else { Ok(()) };
        Box::pin(std::future::ready(added))
    }
}

/// Returns the answers of a tool.
fn answers(tool: &dyn Tool) -> Vec<String> {
    let cx = ToolContext::for_test();
    let request = ModelRequest::new("neutral", json!({}), Arc::new(RunContext::new()));
    let failure = |error: ToolError| format!("{} {error:?}", error.tool().unwrap_or_default());
    vec![
        format!("{:?}", tool.checks()),
        tool.holds_arguments().to_string(),
        tool.prepare_arguments().is_some().to_string(),
        tool.is_external().to_string(),
        tool.retries_blindly().to_string(),
        run(tool.on_request(request)).is_ok().to_string(),
        tool.redirect().is_some().to_string(),
        failure(tool.prepare("{}".into()).err().unwrap()),
        failure(tool.start("{}".into(), &cx).err().unwrap()),
    ]
}

// L06
#[test]
fn a_renamed_tool_answers_as_the_tool_that_it_is() {
    for answer in [false, true] {
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        let metadata = Metadata { permission: answer, ..Metadata::default() };
        let definition = ToolDefinition::new(ToolName::new("own").unwrap(), "Answers.", schema);
        let own: Arc<dyn Tool> = Arc::new(Answers(definition.with_metadata(metadata), answer));
        let set = NamedTools::new("a", [Arc::clone(&own)]).renamed([("own", "theirs")]);
        let tools = snapshot(&boxed(set)).unwrap().into_tools();
        let listed = tools.get("theirs").unwrap();
        // An error of the tool has the name by which the model knows the tool; one of another tool keeps its name.
        let expected = answers(&*own).into_iter().map(|answer| match answer.strip_prefix("own ") {
            Some(rest) => format!("theirs {}", rest.replace("\"own\"", "\"theirs\"")),
            None => answer,
        });
        assert_eq!(answers(&**listed), expected.collect::<Vec<_>>());
    }
}
