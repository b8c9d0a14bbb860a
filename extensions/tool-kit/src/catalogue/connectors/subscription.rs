//! Subscriptions to changes of resources.

use std::sync::Arc;

use tool_runtime::{RunContext, ToolError, guard::catch_async};

use super::attach::connector_panic_error;
use crate::catalogue::Catalogue;

impl Catalogue {
    /// Asks for changes of the content of a resource: a server announces them only if it is asked to. [Listeners](Self::subscribe) receive
    /// them as [`CatalogueChange::Resource`](super::super::CatalogueChange::Resource) with the URI. Nothing has to be asked for a resource of the
    /// program. The server forgets it when its connection ends: subscribe again when the connector is
    /// [active](super::ConnectorState::Active) again.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `BadParameter` for a text that is no key, of kind `NotFound` if there is no such resource, and the error of the
    /// [resource](crate::resource::ReadableResource::subscribe).
    pub async fn subscribe_resource(&self, run: &Arc<RunContext>, key: &str) -> Result<(), ToolError> {
        let items = self.snapshot(run).await.map_err(|error| ToolError::failed(error.to_string()))?;
        let resource = items.resource(key)?;
        catch_async(|| resource.subscribe()).await.map_err(connector_panic_error)?
    }
}
