//! Prompts.

use std::collections::BTreeMap;

use tool_mcp::{
    rmcp::model::{ContentBlock, Prompt, PromptArgument, PromptMessage, ResourceContents, Role},
    server::{Answer, Caller, PromptSet},
};
use tool_runtime::{RunContext, prelude::*};

use crate::content::PIXEL;

pub(crate) fn prompts() -> PromptSet {
    let prompt = |name: &str, description: &str, required: &[&str]| {
        let argument = |name: &&str| PromptArgument::new(*name).with_required(true);
        let arguments: Vec<_> = required.iter().map(argument).collect();
        Prompt::new(name, Some(description), (!arguments.is_empty()).then_some(arguments))
    };
    PromptSet::new()
        .text(prompt("test_simple_prompt", "A text.", &[]), |_| {
            "This is a simple prompt for testing.".to_owned()
        })
        .text(
            prompt("test_prompt_with_arguments", "A text with arguments.", &["arg1", "arg2"]),
            |arguments| {
                format!("Prompt with arguments: arg1='{}', arg2='{}'", arguments["arg1"], arguments["arg2"])
            },
        )
        .complete(|_, completing| {
            let words = ["parameter", "party", "test"].into_iter();
            words.filter(|word| word.starts_with(completing.value)).map(str::to_owned).collect()
        })
        .dynamic(
            prompt("test_prompt_with_embedded_resource", "A document and a text.", &["resourceUri"]),
            |_, arguments| async move { Ok(with_document(&arguments)) },
        )
        .dynamic(prompt("test_prompt_with_image", "An image and a text.", &[]), |_, _| async {
            Ok(with_image())
        })
        .dynamic(
            prompt("test_input_required_result_prompt", "A text by the user.", &[]),
            |run, _| async move { with_context(&run).await },
        )
}

fn with_document(arguments: &BTreeMap<String, String>) -> Vec<PromptMessage> {
    let text = "Embedded resource content for testing.";
    let document = ResourceContents::text(text, &*arguments["resourceUri"]).with_mime_type("text/plain");
    vec![
        PromptMessage::new(Role::User, ContentBlock::resource(document)),
        PromptMessage::new_text(Role::User, "Please process the embedded resource above."),
    ]
}

fn with_image() -> Vec<PromptMessage> {
    let image = ContentBlock::image(base64(PIXEL), "image/png");
    vec![
        PromptMessage::new(Role::User, image),
        PromptMessage::new_text(Role::User, "Please analyze the image above."),
    ]
}

fn base64(bytes: &[u8]) -> String {
    json!(tool_runtime::output::Blob(bytes.to_vec())).as_str().unwrap_or_default().to_owned()
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
    Ok(vec![PromptMessage::new_text(Role::User, text)])
}
