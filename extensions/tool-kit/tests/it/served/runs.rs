//! Prompts that clients run.

use rmcp::model::{ContentBlock, Role};
use tool_kit::{
    catalogue::{Catalogue, Delegate, PromptCall},
    mcp::{RUN_PROMPT, ServedCatalogue, serve_catalogue},
};
use tool_runtime::{BoxFuture, Content, ToolOutput, prelude::*};

use super::{BOTH, catalogue, connect, prompt};

/// Answers with the name of the prompt, its namespace by the user, and the input.
struct Echo;

impl Delegate for Echo {
    fn call<'a>(&'a self, call: PromptCall<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let name = call.prompt.definition().name();
            match name {
                "explain" => Ok(Content::Resource { resource: call.resources[0].clone() }.into()),
                "greet" => Ok(format!("ran {name}").into()),
                "mine" => Ok(().into()),
                _ => Err(ToolError::bad_parameter("it cannot be run")),
            }
        })
    }
}

fn meta(value: impl Into<Value>) -> Value {
    json!({ RUN_PROMPT: value.into() })
}

#[tokio::test]
async fn a_client_runs_a_prompt_where_the_program_allows_it() {
    for version in BOTH {
        let catalogue = catalogue().with_delegate(Echo);
        catalogue.add_prompts([prompt("a", "as a tool"), prompt("broken", "")]).unwrap();
        let server = serve_catalogue(ServedCatalogue::new(&catalogue).allow_prompt_runs());
        let world = connect(server, (), version).await;
        let ran = world.get("srv__greet", json!({}), meta(true)).await.unwrap();
        let [message] = &*ran.messages else { panic!("{ran:?}") };
        assert_eq!((&message.role, &message.content), (&Role::Assistant, &ContentBlock::text("ran greet"))); // O02
        assert_eq!(ran.meta.unwrap().0[RUN_PROMPT], true);
        let ran = world.get("explain", json!({ "topic": "7" }), meta(true)).await.unwrap();
        let ContentBlock::Resource(document) = &ran.messages[0].content else { panic!("{ran:?}") };
        let document = tool_runtime::serde_json::to_value(&document.resource).unwrap();
        assert_eq!(document["text"], r#"{"topic":"7"}"#); // O02
        assert!(world.get("user__mine", json!({}), meta(true)).await.unwrap().messages.is_empty());
        // Not the tool of its name.
        let error = world.get("a", json!({}), meta(true)).await.unwrap_err().to_string();
        assert!(error.contains("it cannot be run"), "{error}");
        for (name, arguments, problem) in [
            ("explain", json!({}), "the argument `topic` of the prompt is missing"),
            ("gone", json!({}), "there is no prompt `gone`"),
            ("broken", json!({}), "it cannot be run"),
        ] {
            let error = world.get(name, arguments, meta(true)).await.unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains("-32602"), "{error}");
        }
        for value in [json!("yes"), json!(1)] {
            let error = world.get("srv__greet", json!({}), meta(value)).await.unwrap_err().to_string();
            assert!(error.contains("is no boolean"), "{error}");
        }
        for not in [meta(false), Value::Null] {
            let rendered = world.get("srv__greet", json!({}), not).await.unwrap();
            assert_eq!(rendered.messages[0].content, ContentBlock::text("hello"));
            assert!(rendered.meta.is_none_or(|meta| !meta.0.contains_key(RUN_PROMPT)));
        }
    }
}

#[tokio::test]
async fn no_prompt_runs_unless_the_program_allows_it() {
    let catalogue = catalogue().with_delegate(Echo);
    let world = connect(serve_catalogue(&catalogue), (), BOTH[0].clone()).await;
    let error = world.get("srv__greet", json!({}), meta(true)).await.unwrap_err().to_string();
    assert!(error.contains("this server runs no prompts"), "{error}");
    assert!(world.get("srv__greet", json!({}), meta(false)).await.is_ok());
}

#[tokio::test]
async fn a_prompt_does_not_run_without_a_delegate() {
    let catalogue = Catalogue::new();
    catalogue.add_prompts([prompt("greet", "hello")]).unwrap();
    let served = ServedCatalogue::from(catalogue).allow_prompt_runs();
    let world = connect(serve_catalogue(served), (), BOTH[1].clone()).await;
    let error = world.get("greet", json!({}), meta(true)).await.unwrap_err().to_string();
    assert!(error.contains("`with_delegate`"), "{error}");
}
