//! Functions with `#[prompt]`.

use std::{borrow::Cow, sync::Arc};

use tool_kit::{
    function::FunctionPrompt,
    prompt,
    prompt::{Prompt, PromptMessage, PromptRole, PromptThinking, RenderedPrompt},
};
use tool_runtime::{Content, prelude::*};

/// The books of a library.
struct Library(&'static str);

/// The length of the text.
#[tool_args(serialize)]
#[serde(rename_all = "lowercase")]
enum Style {
    Short,
    Long,
}

/// Explains a topic.
///
/// For beginners.
#[prompt(
    title = "Explains a topic",
    model = "gpt-5",
    provider = "openai",
    system_prompt = "You teach.",
    output_schema = json!({ "type": "string" }),
    tools("search_books"),
    thinking = "low",
    thinking_budget = 1024,
    rename_all = "camelCase",
    register = false
)]
async fn explain(
    library: &Library,
    cx: &ToolContext,
    /// The subject.
    the_topic: &str,
    #[schemars(range(min = 1, max = 9))]
    #[arg(default = 3)]
    sentences: u8,
    style: Option<Style>,
    #[serde(alias = "remark")] note: Option<String>,
) -> Result<String, ToolError> {
    let user = cx.run().and_then(|run| run.user()).unwrap_or("guest");
    let style = style.map_or("plain", |style| match style {
        Style::Short => "short",
        Style::Long => "long",
    });
    if the_topic == "nothing" {
        return Err(ToolError::not_found("there is nothing to explain"));
    }
    let note = note.unwrap_or_default();
    Ok(format!("{the_topic} {sentences} {style} {note} {user} {}", library.0))
}

fn library() -> Registry {
    Registry::builder().provide(Library("Turku")).build().unwrap()
}

async fn render(prompt: &FunctionPrompt, input: Value) -> Result<RenderedPrompt, ToolError> {
    prompt.render(&Arc::new(RunContext::new().with_user("Ada")), &input).await
}

#[test]
fn a_function_with_all_keys_has_their_definition() {
    let explain = FunctionPrompt::of::<explain>(&library()).unwrap();
    let definition = explain.definition();
    assert_eq!((definition.name(), definition.title()), ("explain", Some("Explains a topic"))); // U32
    assert_eq!(definition.description(), Some("Explains a topic.\n\nFor beginners.")); // U32
    assert_eq!((definition.model(), definition.provider()), (Some("gpt-5"), Some("openai"))); // U32
    assert_eq!(definition.output(), Some(&json!({ "type": "string" }))); // U32
    assert_eq!(definition.tools(), Some(&["search_books".to_owned()][..])); // U32
    assert_eq!(definition.thinking(), Some(PromptThinking::Low)); // U32
    assert_eq!(definition.thinking_budget(), Some(1024)); // U32
    let arguments = json!([
        { "name": "note", "required": false },
        { "name": "sentences", "required": false },
        { "name": "style", "description": "The length of the text.", "required": false },
        { "name": "theTopic", "description": "The subject.", "required": true },
    ]);
    assert_eq!(json!(definition)["arguments"], arguments); // U36
    let sentences = &definition.input().unwrap()["properties"]["sentences"];
    assert_eq!(
        (&sentences["minimum"], &sentences["maximum"], &sentences["default"]),
        (&json!(1), &json!(9), &json!(3))
    );
}

#[tokio::test]
async fn arguments_are_decoded_and_values_injected_as_for_a_tool() {
    let explain = FunctionPrompt::of::<explain>(&library()).unwrap();
    let rendered = render(&explain, json!({ "theTopic": "tides" })).await.unwrap();
    assert_eq!(
        (rendered.text(), rendered.instruction),
        ("tides 3 plain  Ada Turku".to_owned(), Some("You teach.".to_owned()))
    );
    let all = json!({ "theTopic": "tides", "sentences": "5", "style": "long", "remark": "now" });
    assert_eq!(render(&explain, all).await.unwrap().text(), "tides 5 long now Ada Turku");
    let run = Arc::new(RunContext::new().provide(Library("Oslo")));
    let rendered = explain.render(&run, &json!({ "theTopic": "a" })).await.unwrap();
    assert!(rendered.text().ends_with("guest Oslo"));
}

#[tokio::test]
async fn an_input_that_does_not_fit_is_an_error_with_all_violations() {
    let explain = FunctionPrompt::of::<explain>(&library()).unwrap();
    for (input, expected) in [
        (
            json!({}),
            "the input of the prompt `explain` does not fit: /theTopic: expected the property `theTopic`",
        ),
        (json!({ "theTopic": "a", "sentences": 10, "style": "loud" }), "/sentences: "),
        (json!({ "theTopic": "a", "sentences": 10, "style": "loud" }), "/style: "),
        (json!({ "theTopic": "a", "other": 1 }), "other"),
        (json!("a"), "expected an object"),
    ] {
        let error = render(&explain, input.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadParameter, "{input}");
        assert!(error.to_string().contains(expected), "{input}: {error}");
    }
    let error = render(&explain, json!({ "theTopic": "nothing" })).await.unwrap_err();
    assert_eq!((error.kind(), error.to_string().contains("there is nothing")), (ErrorKind::NotFound, true));
}

/// Returns several messages.
#[prompt(register = false, handle = Dialogue, system_prompt = "Be kind.")]
fn dialogue(kind: &'_ str) -> Result<RenderedPrompt, std::num::ParseIntError> {
    let picture = Content::image(vec![1, 2], "image/png");
    let messages = [
        PromptMessage::user("Hello."),
        PromptMessage::assistant("Yes?"),
        PromptMessage::new(PromptRole::User, picture),
    ];
    Ok(match kind {
        "own" => RenderedPrompt::new(messages).with_instruction("Be brief."),
        number => RenderedPrompt::new(messages.into_iter().take(number.parse()?)),
    })
}

#[tokio::test]
async fn messages_keep_their_roles_contents_and_instruction() {
    let dialogue = FunctionPrompt::of::<Dialogue>(&Registry::default()).unwrap();
    let own = render(&dialogue, json!({ "kind": "own" })).await.unwrap();
    assert_eq!(own.instruction.as_deref(), Some("Be brief."));
    let roles: Vec<_> = own.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [PromptRole::User, PromptRole::Assistant, PromptRole::User]);
    assert_eq!(own.messages[2].content, Content::image(vec![1, 2], "image/png"));
    let two = render(&dialogue, json!({ "kind": "2" })).await.unwrap();
    assert_eq!((two.messages.len(), two.instruction.as_deref()), (2, Some("Be kind.")));
    let error = render(&dialogue, json!({ "kind": "x" })).await.unwrap_err();
    assert!(error.feedback().contains("invalid digit"), "{error}");
}

macro_rules! forms {
    ($($name:ident: $result:ty = $value:expr;)*) => {
        $(
            /// Returns a text.
            #[prompt(register = false)]
            fn $name() -> $result {
                $value
            }
        )*

        #[tokio::test]
        async fn every_form_of_a_result_is_messages_of_the_user() {
            for prompt in [$(FunctionPrompt::of::<$name>(&Registry::default()).unwrap()),*] {
                let rendered = render(&prompt, json!({})).await.unwrap();
                assert_eq!(rendered.messages, [PromptMessage::user("x")], "{prompt:?}");
                assert_eq!(prompt.definition().input(), None);
            }
        }
    };
}

forms! {
    static_text: &'static str = "x";
    owned_text: String = "x".to_owned();
    some_text: Cow<'static, str> = Cow::Borrowed("x");
    one_message: PromptMessage = PromptMessage::user("x");
    list: Vec<PromptMessage> = vec![PromptMessage::user("x")];
    fallible: anyhow::Result<&'static str> = Ok("x");
}

/// Counts how often it is rendered.
#[prompt(register = false, blocking)]
fn counted(state: &State) -> Result<String, ToolError> {
    let count = state.get("count")?.unwrap_or(0) + 1;
    state.set("count", count)?;
    Ok(format!("{count}"))
}

#[tokio::test]
async fn changes_of_the_state_are_those_of_the_run() {
    let counted = FunctionPrompt::of::<counted>(&Registry::default()).unwrap();
    let run = Arc::new(RunContext::new());
    for expected in ["1", "2"] {
        assert_eq!(counted.render(&run, &json!({})).await.unwrap().text(), expected);
    }
    assert_eq!(run.state().get("count"), Some(&json!(2)));
}

/// Fails in one of two ways.
#[prompt(register = false)]
fn failing(cx: &ToolContext, #[arg(default)] transfer: bool) -> Result<String, ToolError> {
    assert!(transfer, "on purpose");
    cx.add_actions(tool_runtime::output::Actions { terminate: true, ..Default::default() })?;
    Ok(String::new())
}

#[tokio::test]
async fn a_panic_and_an_action_of_a_run_are_errors() {
    let failing = FunctionPrompt::of::<failing>(&Registry::default()).unwrap();
    let error = render(&failing, json!({})).await.unwrap_err();
    assert_eq!(
        (error.kind(), &*error.feedback()),
        (ErrorKind::Panicked, "the prompt `failing` panicked: on purpose")
    );
    let error = render(&failing, json!({ "transfer": true })).await.unwrap_err().to_string();
    assert!(
        error.contains(
            "the prompt `failing` requested an action of a run, such as a transfer; only tools can"
        ),
        "{error}"
    );
}

/// Takes a value that each run provides.
#[prompt(register = false)]
fn shelved(library: &Library) -> &'static str {
    library.0
}

#[tokio::test]
async fn a_value_that_no_run_provides_is_an_error_of_the_prompt() {
    let values = Registry::builder().provide_per_run::<Library>().build().unwrap();
    let shelved = FunctionPrompt::of::<shelved>(&values).unwrap();
    let error = render(&shelved, json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let feedback = error.feedback();
    assert!(feedback.starts_with("the prompt `shelved` is not available: no value of type `"), "{feedback}");
}

#[tokio::test]
async fn a_function_stays_a_function() {
    assert_eq!(counted(&State::default()).unwrap(), "1");
    assert_eq!(dialogue("1").unwrap().messages.len(), 1);
}
