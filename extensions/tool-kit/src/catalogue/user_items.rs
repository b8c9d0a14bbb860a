//! The items that users stored: the namespace `user` of a catalogue.

use std::sync::{Arc, PoisonError, Weak};

use tool_runtime::{
    BoxFuture, RunContext, ToolError,
    diagnostic::Diagnostic,
    guard::{catch, discard},
};

use super::{Catalogue, CatalogueChange, CatalogueEvent, ConnectorNotifier, USER};
use crate::{prompt::Prompt, resource::ReadableResource};

/// Prompts and resources that users stored, each for itself: the namespace `user` of a [`Catalogue`], which look-up searches last. It has no
/// tools. `session::ArtifactItems` (feature `session`) has them in the artifacts of `tool-session`.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tool_kit::{catalogue::{Catalogue, UserItemList, UserItems}, resource::{ReadableResource, StoredResource}};
/// use tool_runtime::{BoxFuture, RunContext, ToolError};
///
/// /// A note for each user.
/// struct Notes;
///
/// impl UserItems for Notes {
///     fn list<'a>(&'a self, run: &'a Arc<RunContext>) -> BoxFuture<'a, Result<UserItemList, ToolError>> {
///         Box::pin(async {
///             let mut list = UserItemList::default();
///             if let Some(user) = run.user() {
///                 list.resources.push(Arc::new(StoredResource::must_text("note", format!("Of {user}."))));
///             }
///             Ok(list)
///         })
///     }
/// }
///
/// # #[tokio::main] async fn main() -> anyhow::Result<()> {
/// let catalogue = Catalogue::new();
/// catalogue.set_user_items(Notes)?;
/// let of_ada = catalogue.snapshot(&Arc::new(RunContext::new().with_user("ada"))).await?;
/// assert_eq!(of_ada.lookup("text:note")?.key(), "text:note#user");
/// let without_user = catalogue.snapshot(&Arc::new(RunContext::new())).await?;
/// assert!(without_user.lookup("text:note").is_err());
/// # Ok(())
/// # }
/// ```
pub trait UserItems: Send + Sync + 'static {
    /// Lists the items of the user of `run`. Called for each snapshot, so that the next list or look-up has what was stored.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be listed; the snapshot has it as a diagnostic.
    fn list<'a>(&'a self, run: &'a Arc<RunContext>) -> BoxFuture<'a, Result<UserItemList, ToolError>>;

    /// Called with a notifier when they become those of a catalogue: it announces changes that this process makes. Default: ignores it.
    fn attached(&self, notifier: ConnectorNotifier) {
        let _ = notifier;
    }
}

/// The items of a user.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct UserItemList {
    /// The prompts.
    pub prompts: Vec<Arc<dyn Prompt>>,
    /// The resources.
    pub resources: Vec<Arc<dyn ReadableResource>>,
    /// The problems of items that are left out.
    pub diagnostics: Vec<Diagnostic>,
}

impl Catalogue {
    /// Sets the items of the namespace `user`, in the place of those before. Default: none.
    ///
    /// # Errors
    ///
    /// Returns an error if [`attached`](UserItems::attached) panics. Nothing is changed then.
    pub fn set_user_items(&self, items: impl UserItems) -> Result<(), ToolError> {
        let items: Arc<dyn UserItems> = Arc::new(items);
        let notifier = self.notifier_of_user_items(&items);
        catch(|| items.attached(notifier)).map_err(|panic| {
            ToolError::failed(format!("the items of users panicked: {}", panic.message()))
        })?;
        let mut current = self.inner.user_items.write().unwrap_or_else(PoisonError::into_inner);
        let before = current.replace(items);
        drop(current);
        // Code of the program, outside of the lock.
        discard(before);
        for change in [CatalogueChange::Prompts, CatalogueChange::Resources] {
            self.inner.events.send(CatalogueEvent::new(Some(USER), change));
        }
        Ok(())
    }

    pub(super) fn user_items(&self) -> Option<Arc<dyn UserItems>> {
        self.inner.user_items.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns a notifier that has no effect once others are the items of users, or the catalogue is gone.
    fn notifier_of_user_items(&self, items: &Arc<dyn UserItems>) -> ConnectorNotifier {
        let (catalogue, items) = (Arc::downgrade(&self.inner), Arc::downgrade(items));
        ConnectorNotifier::new(move |change| {
            let Some(inner) = Weak::upgrade(&catalogue) else { return };
            let current = inner.user_items.read().unwrap_or_else(PoisonError::into_inner).clone();
            if current.is_some_and(|current| Weak::ptr_eq(&Arc::downgrade(&current), &items)) {
                inner.events.send(CatalogueEvent::new(Some(USER), change));
            }
        })
    }
}
