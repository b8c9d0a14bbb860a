//! The choice of a model.

use tool_agent::{
    Model,
    model::{Reply, Request, ResponseStream},
};
use tool_kit::{
    agent::{AgentDelegate, Models},
    catalogue::Catalogue,
    prompt::PromptFile,
};
use tool_runtime::{ErrorKind, prelude::*};

use super::{answer, model};

fn named(name: &str) -> tool_agent::ScriptedModel {
    model([Reply::text(name)]).with_name(name)
}

#[tokio::test]
async fn the_prompt_chooses_its_model_by_name_and_provider_or_has_the_default() {
    let models = || {
        let models = Models::new(named("small")).unwrap();
        let models = models.with_named("anthropic", "large", named("large of anthropic")).unwrap();
        models.with_named("openai", "large", named("large of openai")).unwrap()
    };
    for (front_matter, expected) in [
        ("", Ok("small")),
        ("model: small\n", Ok("small")),
        ("model: large\n", Ok("large of anthropic")),
        ("provider: openai\n", Ok("large of openai")),
        ("model: large\nprovider: openai\n", Ok("large of openai")),
        (
            "model: huge\n",
            Err(
                "there is no model `huge`; the models are `scripted/small`, `anthropic/large`, `openai/large`",
            ),
        ),
        ("provider: google\n", Err("there is no model of the provider `google`;")),
        ("model: small\nprovider: openai\n", Err("there is no model `openai/small`;")),
    ] {
        let catalogue = Catalogue::new().with_delegate(AgentDelegate::new(models()));
        let prompt = PromptFile::parse(&format!("---\nname: greet\n{front_matter}---\nHello.")).unwrap();
        catalogue.add_prompt(prompt).unwrap();
        match (answer(&catalogue, "greet", json!({})).await, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{front_matter}"), // U28 U32
            (Err(error), Err(expected)) => {
                assert_eq!(error.kind(), ErrorKind::NotFound, "{front_matter}: {error}"); // U28
                assert!(error.to_string().contains(expected), "{front_matter}: {error}");
            }
            (found, _) => panic!("{front_matter}: {found:?}"),
        }
    }
}

/// A model that cannot tell its name.
struct Nameless;

impl Model for Nameless {
    fn name(&self) -> &str {
        panic!("no name")
    }

    fn respond(&self, _: Request) -> ResponseStream {
        ResponseStream::of_future(std::future::pending())
    }
}

#[test]
fn models_with_the_same_names_and_without_one_are_refused() {
    let models = Models::new(named("small")).unwrap();
    let error = models.with(named("small")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict); // U01
    assert!(error.to_string().contains("there is a model `scripted/small`"), "{error}");
    let error = Models::new(Nameless).unwrap_err().to_string();
    assert!(error.contains("a model has no name: it panicked: no name"), "{error}"); // U01
}

#[tokio::test]
async fn a_message_escapes_and_limits_names() {
    let mut models = Models::new(named("m0")).unwrap();
    for number in 1..40 {
        models = models.with(named(&format!("m{number}"))).unwrap();
    }
    let error = models.choose(Some("\u{1b}[31m"), None).unwrap_err().to_string();
    assert!(!error.contains('\u{1b}') && error.ends_with("and 8 more"), "{error}");
}
