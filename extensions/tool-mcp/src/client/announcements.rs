//! Changes that a server announces.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use tool_runtime::{guard::catch, toolset::ToolSetNotifier};

use super::handler::ServerChange;

/// The changes that a server announced.
pub(super) struct AnnouncedChanges {
    /// From 1.
    version: AtomicU64,
    notifiers: Mutex<Vec<ToolSetNotifier>>,
    listener: Option<Box<ChangeListener>>,
}

pub(super) type ChangeListener = dyn Fn(ServerChange) + Send + Sync;

impl AnnouncedChanges {
    pub(super) fn new(listener: Option<Box<ChangeListener>>) -> Self {
        Self { version: AtomicU64::new(1), notifiers: Mutex::default(), listener }
    }

    /// Returns the number of changes of the tools.
    pub(super) fn tools_version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Adds a toolbox that hears of changes of the tools. Those that the toolset was removed from are forgotten.
    pub(super) fn add_notifier(&self, notifier: ToolSetNotifier) {
        // Code of the program, outside of the lock.
        let known = std::mem::take(&mut *self.notifiers.lock().unwrap_or_else(PoisonError::into_inner));
        let attached: Vec<_> = known.into_iter().filter(ToolSetNotifier::is_attached).collect();
        let mut notifiers = self.notifiers.lock().unwrap_or_else(PoisonError::into_inner);
        notifiers.extend(attached);
        notifiers.push(notifier);
    }

    /// Announces a change to the listener, and one of the tools to the toolboxes.
    pub(super) fn announce(&self, change: ServerChange) {
        if change == ServerChange::Tools {
            self.version.fetch_add(1, Ordering::AcqRel);
            let notifiers = self.notifiers.lock().unwrap_or_else(PoisonError::into_inner).clone();
            notifiers.iter().for_each(ToolSetNotifier::announce);
        }
        if let Some(listener) = &self.listener
            && catch(|| listener(change)).is_err()
        {
            tracing::error!("a listener for changes of an MCP server panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn toolboxes_that_the_toolset_was_removed_from_are_forgotten() {
        let changes = AnnouncedChanges::new(None);
        for number in 0..10 {
            changes.add_notifier(ToolSetNotifier::new(|| {}).attached_while(move || number == 3));
        }
        // The last one is checked by the next addition.
        assert_eq!(changes.notifiers.lock().unwrap_or_else(PoisonError::into_inner).len(), 2);
    }

    #[test]
    fn changes_of_the_tools_are_counted_and_all_are_heard() {
        let heard = Arc::<Mutex<Vec<ServerChange>>>::default();
        let all = Arc::clone(&heard);
        let listener = move |change| all.lock().unwrap_or_else(PoisonError::into_inner).push(change);
        let changes = AnnouncedChanges::new(Some(Box::new(listener)));
        assert_eq!(changes.tools_version(), 1);
        for (change, version) in [
            (ServerChange::Tools, 2),
            (ServerChange::Prompts, 2),
            (ServerChange::Resources, 2),
            (ServerChange::Tools, 3),
        ] {
            changes.announce(change.clone());
            assert_eq!(changes.tools_version(), version);
            let heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
            assert_eq!(heard.last(), Some(&change));
        }
    }
}
