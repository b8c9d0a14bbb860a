//! Resources and templates of resources.

use tool_mcp::{
    rmcp::model::{Resource, ResourceTemplate},
    server::ResourceSet,
};
use tool_runtime::{
    output::{Blob, ResourceBody},
    prelude::*,
};

use crate::content::PIXEL;

pub(crate) fn resources() -> anyhow::Result<ResourceSet> {
    let resource = |uri: &str, name: &str, description: &str, mime_type: &str| {
        Resource::new(uri, name).with_description(description).with_mime_type(mime_type)
    };
    let text = |text: &str| ResourceBody::Text(text.to_owned());
    let template = ResourceTemplate::new("test://template/{id}/data", "template")
        .with_description("Data by its id.")
        .with_mime_type("application/json");
    let resources = ResourceSet::new()
        .body(
            resource("test://static-text", "static-text", "A text.", "text/plain"),
            text("This is the content of the static text resource."),
        )
        .body(
            resource("test://static-binary", "static-binary", "An image.", "image/png"),
            ResourceBody::Blob(Blob(PIXEL.to_vec())),
        )
        .body(
            resource("test://watched-resource", "watched-resource", "A text to subscribe to.", "text/plain"),
            text("This resource may change."),
        )
        .template(template, |_, variables| async move {
            let id = &variables["id"];
            let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            Ok(ResourceBody::Text(data.to_string()))
        })?;
    Ok(resources)
}
