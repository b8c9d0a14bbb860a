//! The writer of a run below a call, under the lease of the root run.

use std::sync::{Arc, OnceLock, atomic::AtomicBool};

use tool_runtime::{RunContext, context::Trigger};
use tool_session::{EntryContent, SessionError, SessionKey, SessionWrite};

use super::{EntryCodec, SessionWriter, StoreAccess, WriterState};

impl SessionWriter {
    /// Creates the writer of a run below a call of this run, whose history has the key `view`.
    pub(in crate::runner) fn writer_below(&self, run: &Arc<RunContext>, view: Arc<str>) -> Self {
        Self {
            access: self.access.clone(),
            codec: self.codec.clone(),
            run: Arc::clone(run),
            view: Some(view),
            shared: Arc::clone(&self.shared),
            is_ended: AtomicBool::new(false),
            agent: std::sync::Mutex::default(),
            recovered: OnceLock::new(),
        }
    }

    /// Returns the store.
    pub(in crate::runner) fn access(&self) -> &StoreAccess {
        &self.access
    }

    pub(in crate::runner) fn codec(&self) -> &EntryCodec {
        &self.codec
    }

    /// Returns the view key of a run below a call; empty for a root run.
    pub(in crate::runner) fn view(&self) -> &str {
        self.view.as_deref().unwrap_or_default()
    }

    /// Returns an entry of the run in its view, below its call.
    pub(super) fn in_view(&self, mut entry: EntryContent) -> EntryContent {
        if let Some(view) = &self.view {
            entry.view = Some(Arc::clone(view));
            // On a deep level it may be too long for a name; the runs above are known by their ids.
            entry.branch = entry.branch.filter(|branch| branch.len() <= SessionKey::MAX_NAME_BYTES);
            entry.outer_call = match self.run.trigger() {
                Some(Trigger::Call { address, .. }) => Some(address.clone()),
                _ => None,
            };
        }
        entry
    }

    /// Writes a step of a run below a call: the state and the usage of the session are those of the root run.
    pub(super) async fn write_below(
        &self,
        entries: Result<Vec<EntryContent>, SessionError>,
        removed_views: Vec<Arc<str>>,
    ) -> bool {
        let mut state = self.shared.state.lock().await;
        let step = |state: &WriterState| {
            Ok(SessionWrite::new(state.revision).entries(entries?).remove_views(removed_views))
        };
        self.write_next(&mut state, step).await
    }
}
