//! Every form of a prompt.

use std::borrow::Cow;

use tool_kit::{
    function::FunctionPrompt,
    prompt,
    prompt::{PromptMessage, RenderedPrompt},
};
use tool_runtime::{Registry, State, ToolContext, ToolError, tool_args};

mod deps {
    pub use tool_kit as kit;
}

type Words = Vec<String>;

pub trait Store: Send + Sync {
    fn read(&self) -> String;
}

#[tool_args(serialize)]
#[derive(Clone, Copy)]
pub enum Style {
    Short,
    Long,
}

/// Has each source of a parameter.
#[prompt]
pub async fn sources(
    store: &dyn Store,
    maybe: Option<&(dyn Store + 'static)>,
    cx: &ToolContext,
    state: &State,
    text: &str,
    copied: Cow<'_, str>,
    words: Words,
    #[arg(default = Style::Short)] style: Style,
    #[serde(rename = "type")] kind: Option<u8>,
) -> String {
    let _ = (maybe.is_some(), cx.is_cancelled(), state, style as u8, kind);
    format!("{}{text}{copied}{words:?}", store.read())
}

#[tool_args]
pub struct Review {
    change: String,
}

/// Takes a struct.
#[prompt(handle = none)]
pub fn whole(Review { change }: Review) -> Result<Vec<PromptMessage>, ToolError> {
    Ok(vec![PromptMessage::user(change)])
}

/// Is of a renamed crate.
#[prompt(crate = deps::kit, handle = Renamed, register = false, blocking)]
pub fn r#type(r#match: u8) -> Result<RenderedPrompt, std::num::ParseIntError> {
    Ok(format!("{match}", r#match = r#match).into())
}

macro_rules! greetings {
    ($($name:ident $greeting:literal)*) => { $(
        #[doc = concat!("Says ", $greeting, ".")]
        #[prompt]
        pub fn $name(name: &str) -> String {
            format!("{} {name}", $greeting)
        }
    )* };
}

greetings! { hello "hello" goodbye "goodbye" }

pub fn main() {
    let renamed = FunctionPrompt::of::<Renamed>(&Registry::default()).unwrap();
    assert!(format!("{renamed:?}").contains("type"));
    for prompt in [FunctionPrompt::of::<hello>, FunctionPrompt::of::<goodbye>] {
        assert!(prompt(&Registry::default()).is_ok());
    }
    let error = FunctionPrompt::of::<sources>(&Registry::default()).unwrap_err();
    assert!(error.to_string().contains("dyn "), "{error}");
    assert_eq!(hello("Ada"), "hello Ada");
}
