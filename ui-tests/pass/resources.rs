//! Every form of a resource.

use std::borrow::Cow;

use tool_kit::{
    function::{FunctionResource, FunctionTemplate},
    resource,
};
use tool_runtime::{
    Registry, State, ToolContext, ToolError,
    output::{Bytes, Resource, ResourceBody},
    serde_json::{Value, json},
};

mod deps {
    pub use tool_kit as kit;
}

pub struct Notes;

type Shared<'a> = &'a Notes;

/// Has each source of a parameter.
#[resource(uri = "notes://all")]
pub async fn sources(notes: Shared<'_>, maybe: Option<&Notes>, cx: &ToolContext, state: &State) -> String {
    let _ = (notes, maybe.is_some(), cx.is_cancelled(), state);
    String::new()
}

/// Has each form of a variable.
#[resource(uri = "notes://{text}/{copied}/{number}?{type}&{+path}", register = false)]
pub fn variables(
    text: &str,
    copied: Cow<'_, str>,
    number: i16,
    #[serde(rename = "type")] kind: Option<String>,
    #[schemars(length(max = 9))] path: &std::path::Path,
    notes: Option<&Notes>,
) -> Result<Value, std::num::ParseIntError> {
    Ok(json!([text, copied, number, kind, path.display().to_string(), notes.is_some()]))
}

/// Is of a renamed crate.
#[resource(uri = "own:renamed", crate = deps::kit, handle = Renamed, register = false, blocking)]
pub fn r#static() -> Result<Bytes, ToolError> {
    Ok(Bytes(vec![1, 2]))
}

macro_rules! constants {
    ($($name:ident $uri:literal $result:ty = $value:expr;)*) => { $(
        #[doc = concat!("Is ", $uri, ".")]
        #[resource(uri = $uri, mime_type = "text/plain")]
        pub fn $name() -> $result {
            $value
        }
    )* };
}

constants! {
    borrowed "own:borrowed" &'static str = "";
    body "own:body" ResourceBody = ResourceBody::Text(String::new());
    list "own:list" Vec<u32> = vec![1];
    whole "own:whole" anyhow_free::Result<Resource> = Err("none".to_owned());
}

mod anyhow_free {
    pub type Result<T> = std::result::Result<T, String>;
}

pub fn main() {
    let none = Registry::default();
    assert!(FunctionTemplate::of::<variables>(&none).is_ok());
    assert!(FunctionResource::of::<Renamed>(&none).is_ok());
    let error = FunctionResource::discover(&none).unwrap_err();
    assert_eq!(error.diagnostics().len(), 1, "{error}");
    let registry = Registry::builder().provide(Notes).build().unwrap();
    let resources = FunctionResource::discover(&registry).unwrap();
    assert_eq!(resources.len(), 5);
    assert_eq!(body(), ResourceBody::Text(String::new()));
}
