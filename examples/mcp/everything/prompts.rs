//! Prompts.

use std::sync::Arc;

use tool_kit::{
    catalogue::Catalogue,
    prompt::{Prompt, PromptDefinition, PromptMessage, PromptRole, RenderedPrompt, text_prompt},
};
use tool_mcp::server::{Answer, Caller};
use tool_runtime::{
    BoxFuture, Content, RunContext,
    output::{Resource, ResourceBody},
    prelude::*,
};

use crate::content::PIXEL;

/// Returns the messages of a prompt for its input.
type Messages = for<'a> fn(&'a RunContext, &'a Value) -> BoxFuture<'a, Result<Vec<PromptMessage>, ToolError>>;

/// A prompt of several messages, or one that asks the user.
struct TestPrompt {
    definition: PromptDefinition,
    messages: Messages,
}

impl Prompt for TestPrompt {
    fn definition(&self) -> &PromptDefinition {
        &self.definition
    }

    fn render<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        input: &'a Value,
    ) -> BoxFuture<'a, Result<RenderedPrompt, ToolError>> {
        Box::pin(async move {
            self.definition.check_input(input)?;
            Ok(RenderedPrompt::new((self.messages)(run, input).await?))
        })
    }
}

pub(crate) fn add_prompts(catalogue: &Catalogue) -> anyhow::Result<()> {
    catalogue.add_prompt(text_prompt(definition("test_simple_prompt", "A text.", &[])?, |_| {
        Ok("This is a simple prompt for testing.".to_owned())
    }))?;
    let with_arguments =
        definition("test_prompt_with_arguments", "A text with arguments.", &["arg1", "arg2"])?;
    catalogue.add_prompt(text_prompt(with_arguments, |input| {
        let [one, two] = ["arg1", "arg2"].map(|name| input[name].as_str().unwrap_or_default());
        Ok(format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))
    }))?;
    let others: [(PromptDefinition, Messages); 3] = [
        (
            definition("test_prompt_with_embedded_resource", "A document and a text.", &["resourceUri"])?,
            |_, input| Box::pin(async { Ok(with_document(input)) }),
        ),
        (definition("test_prompt_with_image", "An image and a text.", &[])?, |_, _| {
            Box::pin(async { Ok(with_image()) })
        }),
        (definition("test_input_required_result_prompt", "A text by the user.", &[])?, |run, _| {
            Box::pin(with_context(run))
        }),
    ];
    for (definition, messages) in others {
        catalogue.add_prompt(TestPrompt { definition, messages })?;
    }
    Ok(())
}

/// Comes and goes.
pub(crate) fn temporary_prompt() -> anyhow::Result<impl Prompt> {
    let definition = definition("test_temporary_prompt", "Comes and goes.", &[])?;
    Ok(text_prompt(definition, |_| Ok("Still here.".to_owned())))
}

/// The definition of a prompt with texts as arguments.
fn definition(name: &str, description: &str, required: &[&str]) -> anyhow::Result<PromptDefinition> {
    let properties = required.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" })));
    let properties = Value::Object(properties.collect());
    let input = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    Ok(PromptDefinition::new(name)?.with_description(description).with_input(input)?)
}

fn with_document(input: &Value) -> Vec<PromptMessage> {
    let resource = Resource {
        uri: input["resourceUri"].as_str().unwrap_or_default().to_owned(),
        mime_type: "text/plain".to_owned(),
        body: ResourceBody::Text("Embedded resource content for testing.".to_owned()),
    };
    vec![
        PromptMessage::new(PromptRole::User, Content::Resource { resource }),
        PromptMessage::user("Please process the embedded resource above."),
    ]
}

fn with_image() -> Vec<PromptMessage> {
    vec![
        PromptMessage::new(PromptRole::User, Content::image(PIXEL.to_vec(), "image/png")),
        PromptMessage::user("Please analyze the image above."),
    ]
}

async fn with_context(run: &RunContext) -> Result<Vec<PromptMessage>, ToolError> {
    let Some(caller) = run.provided().get::<Caller>() else {
        return Err(ToolError::failed("there is no client to ask"));
    };
    let schema = json!({
        "type": "object",
        "properties": { "context": { "type": "string" } },
        "required": ["context"],
    });
    let message = "What context should the prompt use?";
    let answer = caller.require_elicitation()?.form("user_context", message, schema).await?;
    let text = match &answer {
        Answer::Accepted(form) => format!("Use this context: {}", form["context"]),
        _ => "Use no context.".to_owned(),
    };
    Ok(vec![PromptMessage::user(text)])
}
