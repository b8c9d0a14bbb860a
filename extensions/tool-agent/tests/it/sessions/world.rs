//! The stores, tools and values that the tests share.

use std::{
    any::Any,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use tool_agent::{Agent, AgentBuilder, AgentStream, Runner, ScriptedModel, model::Reply};
use tool_runtime::{
    Executor, RunContext, State,
    executor::ExecutorBuilder,
    open_calls::{ProgramKey, SharedOpenCallStore},
    prelude::*,
};
use tool_session::{Clock, Entry, EntryQuery, SessionKey, SharedSessionStore};

/// Makes the stores of one implementation.
pub(super) trait StoreFactory {
    /// Returns `true` if this machine can open such stores; otherwise it reports that the test is skipped.
    fn is_available() -> bool {
        true
    }

    /// Opens new, empty stores of one database with `clock`.
    async fn open(clock: Clock) -> Stores;
}

/// The sessions and the open calls of one database.
pub(super) struct Stores {
    pub(super) sessions: SharedSessionStore,
    pub(super) open_calls: SharedOpenCallStore,
    /// Kept as long as the stores.
    pub(super) owned: Box<dyn Any>,
}

/// A new store, and its clock.
pub(super) struct World {
    pub(super) store: SharedSessionStore,
    pub(super) open_calls: SharedOpenCallStore,
    time: Arc<Mutex<SystemTime>>,
    _owned: Box<dyn Any>,
}

impl World {
    pub(super) async fn new<F: StoreFactory>() -> Self {
        let time = Arc::new(Mutex::new(SystemTime::now()));
        let clock_time = Arc::clone(&time);
        let stores = F::open(Clock::new(move || *clock_time.lock().unwrap())).await;
        Self { time, ..Self::of(stores) }
    }

    /// A world whose stores have a clock of their own.
    pub(super) fn of(stores: Stores) -> Self {
        let Stores { sessions: store, open_calls, owned } = stores;
        Self { store, open_calls, time: Arc::new(Mutex::new(SystemTime::now())), _owned: owned }
    }

    /// Lets leases expire.
    pub(super) fn pass(&self, seconds: u64) {
        *self.time.lock().unwrap() += Duration::from_secs(seconds);
    }

    /// Returns a runner, as another process has it, and its model.
    pub(super) fn runner(&self, replies: impl IntoIterator<Item = Reply>) -> (Runner, ScriptedModel) {
        let (agent, model) = agent(replies);
        (self.runner_of(agent), model)
    }

    pub(super) fn runner_of(&self, agent: AgentBuilder) -> Runner {
        Runner::new(agent.build().unwrap()).with_app("shop").with_store(self.store.clone())
    }

    /// Returns the settings of an executor whose open calls are in the database.
    pub(super) fn executor(&self, tools: Registry) -> ExecutorBuilder {
        Executor::builder(tools).open_calls(self.open_calls.clone()).program_key(ProgramKey::new([2; 32]))
    }

    /// Returns all entries of a session.
    pub(super) async fn entries(&self, session: &str) -> Vec<Entry> {
        let query = EntryQuery::forward().limit(EntryQuery::MAX_ENTRIES);
        self.store.entries(&key(session), &query).await.unwrap().entries
    }

    /// Returns the kinds of all entries of a session.
    pub(super) async fn kinds(&self, session: &str) -> Vec<String> {
        self.entries(session).await.iter().map(|entry| entry.content.kind.to_string()).collect()
    }

    pub(super) async fn state(&self, session: &str) -> Value {
        json!(self.store.load(&key(session)).await.unwrap().unwrap().state.merged())
    }
}

pub(super) fn key(session: &str) -> SessionKey {
    SessionKey::new("shop", "u-7", session).unwrap()
}

pub(super) fn run(session: &str) -> RunContext {
    RunContext::new().with_user("u-7").with_session(session)
}

/// Multiplies two numbers.
#[tool(register = false, read_only)]
fn multiply(a: f64, b: f64) -> f64 {
    a * b
}

/// Sets values of the state.
#[tool(register = false)]
fn remember(state: &State, values: Value) -> Result<String, ToolError> {
    for (name, value) in values.as_object().into_iter().flatten() {
        state.set(name, value)?;
    }
    Ok("remembered".to_owned())
}

/// Sets a value of the state, and fails.
#[tool(register = false)]
fn forget(state: &State) -> Result<String, ToolError> {
    state.set("forgotten", 1)?;
    Err(ToolError::failed("no"))
}

/// Signs in.
#[tool(register = false)]
fn sign_in(user: String, #[arg(secret)] password: String) -> String {
    format!("{user} has a password of {} bytes", password.len())
}

/// Changes a password.
#[tool(register = false, confirm)]
fn change_password(#[arg(secret)] password: String) -> usize {
    password.len()
}

/// Removes a file.
#[tool(register = false, destructive, confirm)]
fn remove(path: String) -> String {
    format!("{path} is removed")
}

pub(super) fn tools() -> Registry {
    let tools = Registry::builder().tool::<multiply>().tool::<remember>().tool::<forget>();
    tools.tool::<sign_in>().tool::<change_password>().tool::<remove>().build().unwrap()
}

pub(super) fn agent(replies: impl IntoIterator<Item = Reply>) -> (AgentBuilder, ScriptedModel) {
    let model = ScriptedModel::new(replies);
    (Agent::builder("calculator", model.clone()).tools(tools()), model)
}

/// A hook that waits before each request until the test lets it go on.
pub(super) struct Gate(tokio::sync::watch::Sender<bool>);

impl Gate {
    pub(super) fn closed() -> Self {
        Self(tokio::sync::watch::channel(false).0)
    }

    pub(super) fn open(&self) {
        self.0.send_replace(true);
    }

    pub(super) fn hook(&self) -> impl tool_agent::AgentHook + 'static {
        self.hook_from(1)
    }

    /// Lets the requests before the one with this number pass.
    pub(super) fn hook_from(&self, first: u64) -> impl tool_agent::AgentHook + 'static {
        let passes = self.0.subscribe();
        tool_agent::hook::before_model(move |step| {
            let mut passes = passes.clone();
            async move {
                if step.number >= first {
                    drop(passes.wait_for(|passes| *passes).await);
                }
                Ok(step.into())
            }
        })
    }
}

/// Polls a run until its message is stored; a run with a gate waits then.
pub(super) async fn start(events: &mut AgentStream) {
    let event = events.next().await.unwrap();
    assert!(matches!(event.kind, tool_agent::AgentEventKind::Message { .. }), "{event:?}");
}

/// A folder that is removed with its value.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("sessions-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(super) fn file(&self) -> PathBuf {
        self.0.join("sessions.sqlite")
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
