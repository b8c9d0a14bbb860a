//! The memory and the artifacts that the tools of a run receive, and the policy of memory.

use std::{fmt, ptr, sync::Arc};

use tool_runtime::{RunContext, guard::GuardedArc};
#[cfg(feature = "artifacts")]
use tool_session::{SessionArtifacts, SharedArtifacts};
use tool_session::{SessionError, SharedMemory, UserKey};

use super::Runner;
use crate::{Message, Role};

/// The reason for which a run without a user has no memory.
const NO_USER: &str =
    "the run has no user, to whom notes and artifacts belong; set it by `RunContext::with_user`";

/// The memory and the artifacts of a runner.
#[derive(Clone, Default)]
pub(super) struct MemorySettings {
    pub(super) memory: Option<SharedMemory>,
    #[cfg(feature = "artifacts")]
    artifacts: Option<SharedArtifacts>,
    pub(super) policy: Option<MemoryPolicy>,
}

/// The selection of messages that a runner adds to memory after a run: see [`Runner::remember`]. Cheap to clone.
///
/// # Examples
///
/// ```
/// use tool_agent::{MemoryPolicy, Role};
///
/// // What the user says, and no answer.
/// let policy = MemoryPolicy::of_messages(|message| (message.role() == Role::User).then(|| message.text()));
/// # drop(policy);
/// ```
#[derive(Clone)]
pub struct MemoryPolicy(GuardedArc<NoteOfMessage>);

/// Returns the text of the note of a message.
type NoteOfMessage = dyn Fn(&Message) -> Option<String> + Send + Sync;

impl MemoryPolicy {
    /// Creates the default policy: the texts of the user, and the answers of the agent, which have no calls. Neither results of
    /// tools nor arguments are part of it.
    #[must_use]
    pub fn new() -> Self {
        Self::of_messages(|message| {
            let is_text = match message.role() {
                Role::User => true,
                Role::Assistant => message.calls().next().is_none(),
                Role::Tool => false,
            };
            is_text.then(|| message.text())
        })
    }

    /// Creates a policy from a function that returns the text of the note of a message, or `None`. It does not receive messages that are
    /// encrypted in the store since they have secret arguments.
    pub fn of_messages(note: impl Fn(&Message) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(GuardedArc::new(Arc::new(note)))
    }

    /// Returns the text of the note of `message`; none if it would be blank.
    pub(super) fn note_text(&self, message: &Message) -> Option<String> {
        (self.0)(message).filter(|text| !text.trim().is_empty())
    }
}

impl Default for MemoryPolicy {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryPolicy").finish_non_exhaustive()
    }
}

/// Memory and artifacts.
impl Runner {
    /// Gives tools with a parameter `&SessionMemory` the notes of the user of their run; declare it by
    /// [`provide_per_run`](tool_runtime::registry::RegistryBuilder::provide_per_run). No argument of a model names another user. In a run without a
    /// user, a call of such a tool is answered with an error that says so. A handle that the caller provides for the run is used instead.
    ///
    /// With a [store](Self::with_store), new notes come from the session and are deleted with it; the memory has to be in the same
    /// database. Without one, they are kept until they or their user are deleted.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::{Agent, MemoryPolicy, Runner, ScriptedModel, model::Reply};
    /// use tool_runtime::RunContext;
    /// use tool_session::{InMemoryStore, SharedMemory, UserKey};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let store = InMemoryStore::new();
    /// let memory = SharedMemory::new(store.clone());
    /// let model = ScriptedModel::new([Reply::text("A good name for a dog.")]);
    /// let runner = Runner::new(Agent::builder("friend", model).build()?)
    ///     .with_app("hall")
    ///     .with_store(store)
    ///     .with_memory(memory.clone())
    ///     .remember(MemoryPolicy::new());
    /// let run = RunContext::new().with_user("u-7").with_session("s-1");
    /// runner.run_with(run, "My dog is called Rex.").answer().await?;
    ///
    /// let found = memory.search(&UserKey::new("hall", "u-7")?, "Rex", 5).await?;
    /// assert_eq!(found[0].note.content.text.as_ref(), "My dog is called Rex.");
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    #[must_use]
    pub fn with_memory(self, memory: impl Into<SharedMemory>) -> Self {
        let memory = memory.into();
        self.with_changed_settings(|settings| settings.memory.memory = Some(memory))
    }

    /// Gives tools with a parameter `&SessionArtifacts` the artifacts of the session and the user of their run, as
    /// [`with_memory`](Self::with_memory) does with notes. Without a [store](Self::with_store), names have to begin with `user:`.
    #[cfg(feature = "artifacts")]
    #[must_use]
    pub fn with_artifacts(self, artifacts: SharedArtifacts) -> Self {
        self.with_changed_settings(|settings| settings.memory.artifacts = Some(artifacts))
    }

    /// Adds what `policy` selects of a session to the [memory](Self::with_memory) after each run that ended with an answer, an output, or as a tool
    /// or hook asked. Messages of runs that ended otherwise are left out; those of runs that ended with open calls are added
    /// after the run that answers them. Each message is added once. Default: nothing is remembered.
    ///
    /// The notes are added before the last event of the run, within the [time of the store](Self::with_store_timeout). If that
    /// fails, the run has a notice and the log a warning; its answer remains, and the next run of the session adds them. Runs without a session
    /// or without a user are not remembered. It needs a [store](Self::with_store), in the database of the memory: a session that is deleted
    /// takes its notes with it.
    #[must_use]
    pub fn remember(self, policy: MemoryPolicy) -> Self {
        self.with_changed_settings(|settings| settings.memory.policy = Some(policy))
    }
}

impl MemorySettings {
    /// Gives `run` the handles of its user, and of its session if that is in a store.
    pub(super) fn provide_to(&self, run: RunContext, has_store: bool) -> RunContext {
        let run = match &self.memory {
            Some(memory) => provide_handle(run, |run| match has_store {
                true => memory.for_run(run),
                false => UserKey::of_run(run).map(|user| memory.for_user(&user)),
            }),
            None => run,
        };
        #[cfg(feature = "artifacts")]
        if let Some(artifacts) = &self.artifacts {
            return provide_handle(run, |run| -> Result<SessionArtifacts, SessionError> {
                match has_store {
                    true => artifacts.for_run(run),
                    false => UserKey::of_run(run).map(|user| artifacts.for_user(&user)),
                }
            });
        }
        run
    }
}

/// Provides a handle to `run`, or the reason for which there is none, unless the caller provided one.
fn provide_handle<T: Send + Sync + 'static>(
    run: RunContext,
    handle: impl FnOnce(&RunContext) -> Result<T, SessionError>,
) -> RunContext {
    // A handle that a runner gave to a run above belongs to the user and the session there.
    let key = format!("tool_agent.handle.{}", std::any::type_name::<T>());
    let inherited = run.value::<Arc<T>>(&key);
    let is_inherited = |provided: &T| inherited.is_some_and(|it| ptr::eq(&raw const **it, provided));
    if run.provided().get::<T>().is_some_and(|provided| !is_inherited(provided)) {
        return run;
    }
    if !has_user(&run) {
        return run.explain_absence::<T>(NO_USER);
    }
    match handle(&run) {
        Ok(handle) => {
            let handle = Arc::new(handle);
            run.set(key, Arc::clone(&handle));
            run.provide_shared(handle)
        }
        Err(error) => run.explain_absence::<T>(error.to_string()),
    }
}

/// Returns `true` if notes can belong to the user of `run`.
pub(super) fn has_user(run: &RunContext) -> bool {
    run.user().is_some_and(|user| !user.is_empty())
}
