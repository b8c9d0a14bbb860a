//! Additions and removals of the sources of connections.

use std::sync::Arc;

use tool_runtime::{
    ErrorKind, ToolError,
    guard::{Panic, catch},
};

use super::{
    ConnectorFactory, ConnectorInfo, ConnectorSource, ConnectorState,
    attach::check_namespace,
    table::{Slot, SlotSource, SlotTask, TableState},
    url::ServerUrl,
};
use crate::catalogue::{Catalogue, CatalogueChange, key::shown_key};

impl Catalogue {
    /// Sets the factory of the connectors of [URLs](Self::add_server). Default: none. Clones that were made before stay as they are.
    #[must_use]
    pub fn with_connector_factory(mut self, factory: impl ConnectorFactory) -> Self {
        self.callers.factory = Some(Arc::new(factory));
        self
    }

    /// Adds the server at `url`, which the [run](Self::run) of the catalogue connects. Its namespace is the name that it reports: a name that is no
    /// identifier, has `__` or ends in `_` is made one, followed by a hash of the name. If the name is reserved or taken, the state of the connector
    /// is [`Conflict`](ConnectorState::Conflict), and other connectors are not affected: add those under namespaces of the program first. A server that reports another name after it was connected
    /// again changes its namespace; use [`add_server_as`](Self::add_server_as) for one that stays.
    ///
    /// URLs are compared in canonical form: without user information, query and fragment, with scheme and host in lower case, and without a default
    /// port and dot segments.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `BadParameter` for a text that is no URL with `http` or `https`, of kind `Conflict` if its server is added already or
    /// the run of the catalogue has ended, of kind `NotImplemented` without a [factory](Self::with_connector_factory) or if it makes no connector of
    /// the URL, and the error of the factory. Nothing is added then.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_kit::catalogue::{Catalogue, Connector, ConnectorFactory, ConnectorSource};
    /// use tool_runtime::{BoxFuture, ToolError};
    /// # use std::sync::Arc;
    /// # struct Unreachable;
    /// # impl ConnectorSource for Unreachable {
    /// #     fn connect(&self) -> BoxFuture<'_, Result<Arc<dyn Connector>, ToolError>> {
    /// #         Box::pin(async { Err(ToolError::failed("the network is down")) })
    /// #     }
    /// # }
    /// # struct Servers;
    /// # impl ConnectorFactory for Servers {
    /// #     fn create_connector(&self, _: &str) -> Result<Option<Arc<dyn ConnectorSource>>, ToolError> {
    /// #         Ok(Some(Arc::new(Unreachable)))
    /// #     }
    /// # }
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// // `mcp::McpConnectorFactory` is the one of MCP servers.
    /// let catalogue = Catalogue::new().with_connector_factory(Servers);
    /// catalogue.add_server("https://Example.com:443/mcp?key=secret")?;
    /// assert!(catalogue.add_server("https://example.com/mcp").is_err());
    /// assert_eq!(catalogue.connectors()[0].key, "https://example.com/mcp");
    /// # Ok(())
    /// # }
    /// ```
    pub fn add_server(&self, url: &str) -> Result<(), ToolError> {
        self.add_url(url, None)
    }

    /// Adds the server at `url` as [`add_server`](Self::add_server), under a namespace of the program.
    ///
    /// # Errors
    ///
    /// As [`add_server`](Self::add_server); also of kind `BadParameter` if the namespace is no identifier or reserved, and of kind `Conflict` if it
    /// is taken.
    pub fn add_server_as(&self, namespace: &str, url: &str) -> Result<(), ToolError> {
        check_namespace(namespace)?;
        self.add_url(url, Some(namespace))
    }

    /// Adds a source under a namespace of the program, which is its key. The [run](Self::run) of the catalogue connects it.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `BadParameter` if the namespace is no identifier or reserved, and of kind `Conflict` if it is taken or the run of the
    /// catalogue has ended. Nothing is added then.
    pub fn add_source(&self, namespace: &str, source: impl ConnectorSource) -> Result<(), ToolError> {
        self.add_source_at(namespace, None, source)
    }

    /// Adds a source under a namespace; its key is its URL, if it has one.
    pub(crate) fn add_source_at(
        &self,
        namespace: &str,
        url: Option<&str>,
        source: impl ConnectorSource,
    ) -> Result<(), ToolError> {
        check_namespace(namespace)?;
        let url = url.map(ServerUrl::parse).transpose()?;
        self.add_slot(url.as_ref(), Some(namespace), || Ok(Arc::new(source)))
    }

    /// Removes a connector by its URL, in any spelling, or by its namespace: ends its connection at once, waits for the end, and frees the namespace.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `NotFound` if there is none, or another call removes it, and of kind `BadParameter` for a URL that is none.
    pub async fn remove_connector(&self, key: &str) -> Result<(), ToolError> {
        let by_url = if key.contains(':') { Some(ServerUrl::parse(key)?.canonical) } else { None };
        let is_named = |slot: &Slot| match &by_url {
            Some(url) => slot.url.as_ref() == Some(url),
            None => slot.namespace.as_deref() == Some(key),
        };
        let not_found = || ToolError::not_found(format!("there is no connector `{}`", shown_key(key)));
        let removal = self.inner.connectors.change_state(|state| {
            let slot = state.slots.iter_mut().find(|slot| is_named(slot)).ok_or_else(not_found)?;
            let Some(source) = &mut slot.source else { return Ok(None) };
            match std::mem::replace(&mut source.task, SlotTask::Removing) {
                SlotTask::Removing => Err(not_found()),
                SlotTask::Running(tokens) => Ok(Some((slot.id, Some(tokens)))),
                SlotTask::Queued | SlotTask::Ended => Ok(Some((slot.id, None))),
            }
        })?;
        match removal {
            None => self.disconnect(key),
            // The task removes its slot.
            Some((_, Some(tokens))) => {
                tokens.stop.cancel();
                tokens.ended.cancelled().await;
                Ok(())
            }
            Some((id, None)) => {
                self.inner.remove_slot(id);
                Ok(())
            }
        }
    }

    /// Returns the connectors in the order of their registration, whatever their states are.
    #[must_use]
    pub fn connectors(&self) -> Vec<ConnectorInfo> {
        self.inner.connectors.state().slots.iter().map(Slot::info).collect()
    }

    /// Waits until each connector has been connected, or its first attempt has failed: none is queued or connecting. The catalogue has to
    /// [run](Self::run) meanwhile.
    pub async fn wait_for_connectors(&self) {
        let mut listener = self.subscribe();
        let is_open =
            |info: &ConnectorInfo| matches!(info.state, ConnectorState::Queued | ConnectorState::Connecting);
        while self.connectors().iter().any(is_open) {
            let is_state = |change: &CatalogueChange| matches!(change, CatalogueChange::Connector { .. });
            while let Some(Ok(event)) = listener.next().await
                && !is_state(&event.change)
            {}
        }
    }

    fn add_url(&self, text: &str, namespace: Option<&str>) -> Result<(), ToolError> {
        let url = ServerUrl::parse(text)?;
        self.add_slot(Some(&url), namespace, || self.create_source(&url))
    }

    fn create_source(&self, url: &ServerUrl) -> Result<Arc<dyn ConnectorSource>, ToolError> {
        let Some(factory) = &self.callers.factory else {
            return Err(ToolError::new(
                ErrorKind::NotImplemented,
                "the catalogue has no factory of connectors; set one by `with_connector_factory`",
            ));
        };
        created_source(factory, &url.text)?.ok_or_else(|| {
            let message =
                format!("the factory makes no connector of `{}`; add its source", shown_key(&url.canonical));
            ToolError::new(ErrorKind::NotImplemented, message)
        })
    }

    /// Adds a slot for the source that `create` returns. No lock is held while it is called.
    fn add_slot(
        &self,
        url: Option<&ServerUrl>,
        namespace: Option<&str>,
        create: impl FnOnce() -> Result<Arc<dyn ConnectorSource>, ToolError>,
    ) -> Result<(), ToolError> {
        let connectors = &self.inner.connectors;
        let id = connectors.new_id();
        let check = |state: &TableState| {
            state.check_not_ended()?;
            if let Some(url) =
                url.filter(|url| state.slots.iter().any(|it| it.url.as_ref() == Some(&url.canonical)))
            {
                return Err(ToolError::conflict(format!(
                    "the server `{}` is added already; remove it before it is added again",
                    shown_key(&url.canonical)
                )));
            }
            namespace.map_or(Ok(()), |namespace| state.check_namespace_is_free(namespace, id))
        };
        check(&connectors.state())?;
        let source = create()?;
        connectors.change_state(|state| {
            check(state)?;
            let namespace: Option<Arc<str>> = namespace.map(Into::into);
            let url = url.map(|url| Arc::clone(&url.canonical));
            let key = url.clone().or_else(|| namespace.clone()).unwrap_or_default();
            let (has_fixed_namespace, task) = (namespace.is_some(), SlotTask::Queued);
            state.slots.push(Slot {
                id,
                key,
                url,
                namespace,
                server_name: None,
                state: ConnectorState::Queued,
                last_error: None,
                attached: None,
                source: Some(SlotSource { source, has_fixed_namespace, task }),
            });
            Ok(())
        })?;
        self.inner.announce_slot_state(id);
        connectors.added.notify_one();
        Ok(())
    }
}

fn created_source(
    factory: &Arc<dyn ConnectorFactory>,
    url: &str,
) -> Result<Option<Arc<dyn ConnectorSource>>, ToolError> {
    let panicked =
        |panic: Panic| ToolError::failed(format!("the factory of connectors panicked: {}", panic.message()));
    catch(|| factory.create_connector(url)).map_err(panicked)?
}
