//! Connectors come into the lists and leave them: a namespace is held, then its tools are added to the toolbox, then its items are listed; and
//! back in the opposite order. So two threads that connect and disconnect one namespace never leave one without the other, and a snapshot that is
//! taken meanwhile has all items of a connector, or none.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicBool, Ordering},
};

use tool_runtime::{
    BoxFuture, Tool, ToolError, ToolSet,
    context::ReadonlyContext,
    guard::{Panic, catch},
    registry::RESERVED_SETS,
    request::SharedRequestHook,
    toolset::{ToolSetExt as _, ToolSetNotifier},
};

use super::{
    ConnectorState,
    table::{AttachedConnector, AttachedPhase, Detachment, Slot},
};
use crate::{
    catalogue::{
        Catalogue, CatalogueChange, CatalogueEvent, CatalogueInner, Connector, ConnectorNotifier,
        key::shown_key,
    },
    names::check_name,
};

impl Catalogue {
    /// Adds a connector, whose items are those of its namespace, until it is [disconnected](Self::disconnect). For one that comes and goes, add
    /// its [URL](Self::add_server) or its [source](Self::add_source).
    ///
    /// # Errors
    ///
    /// Returns an error of kind `BadParameter` if its namespace is no identifier or reserved (`builtin`, `user`), or its toolset has another
    /// name, and of kind `Conflict` if there is a connector or a toolset with its namespace, or the [run](Self::run) of the catalogue has ended.
    /// Nothing is changed then.
    pub fn connect(&self, connector: impl Connector) -> Result<(), ToolError> {
        let connector: Arc<dyn Connector> = Arc::new(connector);
        let (namespace, set) = catch(|| (connector.namespace().to_owned(), connector.toolset()))
            .map_err(connector_panic_error)?;
        check_namespace(&namespace)?;
        if let Some(set) = &set {
            check_set_name(set, &namespace)?;
        }
        let (inner, namespace) = (&self.inner, Arc::<str>::from(namespace));
        let id = inner.connectors.new_id();
        let is_set = inner.has_toolset(&namespace);
        inner.connectors.change_state(|state| {
            state.check_not_ended()?;
            state.check_namespace_is_free(&namespace, id)?;
            if is_set {
                return Err(taken_by_toolset_error(&namespace));
            }
            state.slots.push(Slot {
                id,
                key: Arc::clone(&namespace),
                url: None,
                namespace: Some(Arc::clone(&namespace)),
                server_name: None,
                state: ConnectorState::Connecting,
                last_error: None,
                attached: None,
                source: None,
            });
            Ok(())
        })?;
        let attached = inner.attach(id, &namespace, &connector, set);
        // Nothing of a connector that fails stays.
        attached.inspect_err(|_| {
            if inner.detach_connector(id) {
                inner.remove_slot(id);
            }
        })
    }

    /// Removes the connector of a namespace with all its items. It is not closed. One that the catalogue connects itself is removed by
    /// [`remove_connector`](Self::remove_connector), which waits for its end.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `NotFound` if there is none, and of kind `Conflict` for one that the catalogue connects itself.
    pub fn disconnect(&self, namespace: &str) -> Result<(), ToolError> {
        let shown = || shown_key(namespace);
        let (id, detachment) = self.inner.connectors.change_state(|state| {
            let slot = state.slots.iter_mut().find(|slot| slot.namespace.as_deref() == Some(namespace));
            let not_found = || ToolError::not_found(format!("there is no connector `{}`", shown()));
            let slot = slot.ok_or_else(not_found)?;
            if slot.source.is_some() {
                return Err(ToolError::conflict(format!(
                    "the catalogue connects `{}` itself; remove it by `remove_connector`",
                    shown()
                )));
            }
            // One that another thread connects or disconnects at present is not there.
            let listed = slot.attached.as_mut().filter(|it| it.phase == AttachedPhase::Listed);
            let detachment = listed.and_then(AttachedConnector::begin_detachment).ok_or_else(not_found)?;
            Ok((slot.id, detachment))
        })?;
        self.inner.complete_detachment(id, &detachment);
        self.inner.remove_slot(id);
        Ok(())
    }
}

impl CatalogueInner {
    /// Returns `true` if the toolbox has a toolset of this name.
    pub(super) fn has_toolset(&self, name: &str) -> bool {
        self.tools.toolsets().iter().any(|set| catch(|| set.name() == name).unwrap_or_default())
    }

    /// Lists the items of a connector in the namespace that its slot holds.
    pub(super) fn attach(
        self: &Arc<Self>,
        id: u64,
        namespace: &Arc<str>,
        connector: &Arc<dyn Connector>,
        set: Option<Arc<dyn ToolSet>>,
    ) -> Result<(), ToolError> {
        let attachment = self.connectors.new_id();
        let attached = AttachedConnector {
            id: attachment,
            namespace: Arc::clone(namespace),
            connector: Arc::clone(connector),
            has_tools: set.is_some(),
            phase: AttachedPhase::Arriving,
        };
        self.connectors.add_attached(id, attached);
        if let Some(set) = set {
            let set = ConnectorTools { namespace: Arc::clone(namespace), set, is_announced: Arc::default() };
            let added = self.tools.add_toolset(set.prefixed());
            added.map_err(|error| ToolError::bad_parameter(error.to_string()))?;
        }
        self.connectors.change_slot(id, |slot| {
            if let Some(attached) = &mut slot.attached {
                attached.phase = AttachedPhase::Listed;
            }
            slot.last_error = None;
        });
        self.announce_all_lists(namespace);
        self.set_state(id, ConnectorState::Active);
        let notifier = self.notifier_of(id, attachment, namespace);
        catch(|| connector.attached(notifier)).map_err(connector_panic_error)
    }

    /// Takes the items of the connector of a slot out of the lists; `false` if it has none, or another thread does so. The namespace stays held.
    pub(super) fn detach_connector(&self, id: u64) -> bool {
        let begin = |slot: &mut Slot| slot.attached.as_mut().and_then(AttachedConnector::begin_detachment);
        let detachment = self.connectors.change_slot(id, begin).flatten();
        detachment.inspect(|detachment| self.complete_detachment(id, detachment)).is_some()
    }

    fn complete_detachment(&self, id: u64, detachment: &Detachment) {
        if detachment.has_tools {
            self.tools.remove_toolset(&detachment.namespace);
        }
        self.connectors.change_slot(id, |slot| slot.attached = None);
        self.announce_all_lists(&detachment.namespace);
    }

    fn announce_all_lists(&self, namespace: &str) {
        for change in [CatalogueChange::Tools, CatalogueChange::Prompts, CatalogueChange::Resources] {
            self.events.send(CatalogueEvent::new(Some(namespace), change));
        }
    }

    /// Returns the notifier of a connector, which has no effect once the connector or the catalogue is gone.
    fn notifier_of(self: &Arc<Self>, id: u64, attachment: u64, namespace: &Arc<str>) -> ConnectorNotifier {
        let (catalogue, namespace) = (Arc::downgrade(self), Arc::clone(namespace));
        let attached_inner = move || {
            let inner = Weak::upgrade(&catalogue)?;
            let state = inner.connectors.state();
            let attached = state.slot(id).and_then(|slot| slot.attached.as_ref());
            let is_attached =
                attached.is_some_and(|attached| attached.id == attachment && attached.is_listed());
            is_attached.then_some(inner)
        };
        let is_attached = {
            let attached_inner = attached_inner.clone();
            move || attached_inner().is_some()
        };
        let announce = move |change| {
            if let Some(inner) = attached_inner() {
                inner.events.send(CatalogueEvent::new(Some(&namespace), change));
            }
        };
        ConnectorNotifier::new(announce).attached_while(is_attached)
    }
}

/// The tools of a connector under the name of its namespace. A change is announced once until they are listed again, so that a server that changes
/// them all the time floods no listener.
struct ConnectorTools {
    namespace: Arc<str>,
    set: Arc<dyn ToolSet>,
    is_announced: Arc<AtomicBool>,
}

impl ToolSet for ConnectorTools {
    fn name(&self) -> &str {
        &self.namespace
    }

    fn tools<'a>(&'a self, cx: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        self.is_announced.store(false, Ordering::Release);
        self.set.tools(cx)
    }

    fn close(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        self.set.close()
    }

    fn is_prefixed(&self) -> bool {
        self.set.is_prefixed()
    }

    fn attached(&self, notifier: ToolSetNotifier) {
        let is_announced = Arc::clone(&self.is_announced);
        let of_set = notifier.clone();
        let announce = move || {
            if !is_announced.swap(true, Ordering::AcqRel) {
                notifier.announce();
            }
        };
        self.set.attached(ToolSetNotifier::new(announce).attached_while(move || of_set.is_attached()));
    }

    fn request_hooks(&self) -> Vec<SharedRequestHook> {
        self.set.request_hooks()
    }
}

/// Returns an error if a namespace is no identifier or reserved.
pub(super) fn check_namespace(namespace: &str) -> Result<(), ToolError> {
    check_name("connector", namespace).map_err(ToolError::bad_parameter)?;
    match RESERVED_SETS.contains(&namespace) {
        true => Err(ToolError::bad_parameter(format!(
            "the namespace `{namespace}` is reserved; give the connector another one"
        ))),
        false => Ok(()),
    }
}

fn check_set_name(set: &Arc<dyn ToolSet>, namespace: &str) -> Result<(), ToolError> {
    let name = catch(|| set.name().to_owned());
    let name =
        name.map_err(|panic| ToolError::failed(format!("the toolset panicked: {}", panic.message())))?;
    match name == namespace {
        true => Ok(()),
        false => Err(ToolError::bad_parameter(format!(
            "the toolset of the connector `{namespace}` has the name `{}`; give both one name",
            shown_key(&name)
        ))),
    }
}

pub(super) fn taken_by_toolset_error(namespace: &str) -> ToolError {
    ToolError::conflict(format!(
        "there is a toolset `{namespace}`; remove it, or give the connector another namespace"
    ))
}

pub(super) fn connector_panic_error(panic: Panic) -> ToolError {
    ToolError::failed(format!("the connector panicked: {}", panic.message()))
}
