//! A tool, a prompt and resources of one program, in one catalogue and as the client of an MCP server sees them.

use rmcp::{
    ServiceExt as _,
    model::{
        ArgumentInfo, CallToolRequestParams, CompleteRequestParams, GetPromptRequestParams,
        ReadResourceRequestParams, Reference, ResourceContents,
    },
};
use tokio::task::JoinSet;
use tool_kit::{
    catalogue::Catalogue,
    function::{FunctionPrompt, FunctionResource, FunctionTemplate},
    mcp::{offer_prompt, offer_resource, offer_template, serve_catalogue},
    prompt, resource,
};
use tool_mcp::server::{McpServer, PromptSet, ResourceSet};
use tool_runtime::{CancellationToken, Toolbox, prelude::*};

#[tool_args]
#[serde(rename_all = "lowercase")]
enum Style {
    /// In one sentence.
    Short,
    /// In one line.
    Shorter,
    /// In a page.
    Long,
}

/// Adds two numbers.
#[tool(register = false)]
fn sum(a: i64, b: i64) -> i64 {
    a + b
}

/// Explains a topic.
#[prompt(system_prompt = "You teach.", register = false)]
async fn teach(topic: String, #[arg(default = 1)] depth: u8, style: Option<Style>) -> String {
    let style = style.map_or(0, |style| style as u8);
    format!("{topic} {depth} {style}")
}

/// The motto.
#[resource(uri = "school://motto", mime_type = "text/markdown", register = false)]
fn motto() -> &'static str {
    "Ask."
}

/// A lesson.
#[resource(uri = "school://lessons/{number}/{style}", register = false)]
fn lesson(number: u16, style: Style) -> Value {
    json!({ "number": number, "style": style as u8 })
}

#[tokio::test]
async fn a_client_calls_gets_and_reads_what_functions_are() {
    let registry = Registry::builder().tool::<sum>().build().unwrap();
    let prompts = offer_prompt(PromptSet::new(), FunctionPrompt::of::<teach>(&registry).unwrap());
    let resources = offer_resource(ResourceSet::new(), FunctionResource::of::<motto>(&registry).unwrap());
    let resources = offer_template(resources, FunctionTemplate::of::<lesson>(&registry).unwrap()).unwrap();
    call_get_and_read(McpServer::new(registry).prompts(prompts).resources(resources)).await;
}

#[tokio::test]
async fn a_client_calls_gets_and_reads_what_functions_of_a_catalogue_are() {
    let registry = Registry::builder().tool::<sum>().build().unwrap();
    let catalogue = Catalogue::of_tools(Toolbox::from_registry(&registry));
    catalogue.add_prompt(FunctionPrompt::of::<teach>(&registry).unwrap()).unwrap();
    catalogue.add_resource(FunctionResource::of::<motto>(&registry).unwrap());
    catalogue.add_template(FunctionTemplate::of::<lesson>(&registry).unwrap()).unwrap();
    call_get_and_read(serve_catalogue(&catalogue)).await; // O01 O02
}

/// Calls the tool, gets the prompt and reads the resources by a client of the server.
async fn call_get_and_read(server: McpServer) {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (read, write) = tokio::io::split(far);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        server.serve(read, write, CancellationToken::new()).await.ok();
    });
    let client = ().serve(near).await.unwrap();

    let params = CallToolRequestParams::new("sum")
        .with_arguments(json!({ "a": 2, "b": 3 }).as_object().cloned().unwrap());
    let result = client.call_tool(params).await.unwrap();
    assert_eq!(result.content[0].as_text().unwrap().text, "5");

    let listed = client.list_all_prompts().await.unwrap();
    let arguments: Vec<_> = listed[0].arguments.iter().flatten().map(|it| (&*it.name, it.required)).collect();
    assert_eq!((&*listed[0].name, listed[0].description.as_deref()), ("teach", Some("Explains a topic."))); // O02
    assert_eq!(arguments, [("depth", Some(false)), ("style", Some(false)), ("topic", Some(true))]); // O02 U36
    let mut params = GetPromptRequestParams::new("teach");
    params.arguments = json!({ "topic": "7", "depth": "3", "style": "long" }).as_object().cloned();
    let messages = client.get_prompt(params).await.unwrap().messages;
    let texts: Vec<_> = messages.iter().map(|it| it.content.as_text().unwrap().text.as_str()).collect();
    assert_eq!(texts, ["You teach.", "7 3 2"]); // O02
    let mut params = GetPromptRequestParams::new("teach");
    params.arguments = json!({ "topic": "7", "style": "loud" }).as_object().cloned();
    assert!(client.get_prompt(params).await.unwrap_err().to_string().contains("/style"));

    let complete = async |reference, argument: &str, value: &str| {
        let params = CompleteRequestParams::new(reference, ArgumentInfo::new(argument, value));
        client.complete(params).await.unwrap().completion.values
    };
    assert_eq!(complete(Reference::for_prompt("teach"), "style", "sho").await, ["short", "shorter"]);
    let template = "school://lessons/{number}/{style}";
    assert_eq!(complete(Reference::for_resource(template), "style", "l").await, ["long"]);

    let templates = client.list_all_resource_templates().await.unwrap();
    assert_eq!((&*templates[0].uri_template, &*templates[0].name), (template, "lesson"));
    let read = async |uri: &str| {
        let contents = client.read_resource(ReadResourceRequestParams::new(uri)).await.map(|it| it.contents);
        match contents.as_deref() {
            Ok([ResourceContents::TextResourceContents { uri, mime_type, text, .. }]) => {
                Ok((uri.clone(), mime_type.clone().unwrap_or_default(), text.clone()))
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    };
    let text =
        |uri: &str, mime_type: &str, text: &str| Ok((uri.to_owned(), mime_type.to_owned(), text.to_owned()));
    assert_eq!(read("school://motto").await, text("school://motto", "text/markdown", "Ask.")); // U42
    let uri = "school://lessons/3/long";
    assert_eq!(read(uri).await, text(uri, "application/json", r#"{"number":3,"style":2}"#)); // O02
    assert!(read("school://lessons/x/long").await.unwrap_err().contains("/number"));
    assert!(read("school://lessons/3/a%2Fb").await.is_err());
}
