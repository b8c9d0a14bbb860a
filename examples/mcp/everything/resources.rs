//! Resources and templates of resources.

use tool_kit::{
    catalogue::Catalogue,
    resource::{ReadableResource as _, StoredResource},
};
use tool_mcp::{rmcp::model::ResourceTemplate, server::ResourceSet};
use tool_runtime::{output::ResourceBody, prelude::*};

use crate::content::PIXEL;

pub(crate) fn add_resources(catalogue: &Catalogue) -> anyhow::Result<()> {
    let text = "This is the content of the static text resource.";
    let resources = [
        (StoredResource::text("static-text", text)?, "test://static-text", "A text."),
        (StoredResource::data("static-binary", PIXEL)?, "test://static-binary", "An image."),
        (
            StoredResource::text("watched-resource", "This resource may change.")?,
            "test://watched-resource",
            "A text to subscribe to.",
        ),
    ];
    for (resource, uri, description) in resources {
        catalogue.add_resource(resource.with_uri(uri)?.with_description(description));
    }
    Ok(())
}

/// The templates: resources beside those of the catalogue.
pub(crate) fn templates() -> anyhow::Result<ResourceSet> {
    let template = ResourceTemplate::new("test://template/{id}/data", "template")
        .with_description("Data by its id.")
        .with_mime_type("application/json");
    let resources = ResourceSet::new().template(template, |_, variables| async move {
        let id = &variables["id"];
        let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
        Ok(ResourceBody::Text(data.to_string()))
    })?;
    Ok(resources)
}
