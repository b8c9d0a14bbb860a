//! Resources and templates of resources.

use tool_kit::{
    catalogue::Catalogue,
    resource,
    resource::{ReadableResource as _, StoredResource},
};
use tool_runtime::prelude::*;

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

/// Data by its id.
#[resource(uri = "test://template/{id}/data", mime_type = "application/json")]
fn template(id: &str) -> Value {
    json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") })
}
