//! Who hears of what happens: the stream of a batch, and the listeners of its executor.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use serde_json::Value;
use tokio::{
    sync::{Mutex as Turn, broadcast, mpsc},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tool_core::{
    __private::ExactValue, Arguments, CallId, CallSink, ErrorKind, Progress, RunContext, Running,
    ToolContext, ToolDefinition, ToolError, ToolOutput,
};

use super::{
    Inner,
    around::{Surroundings, unless},
    build::{Hooked, Settings},
};
use crate::{ToolCall, ToolEvent, hook::CallView, shield::shielded};

/// Who panicked, where it was a hook.
pub(super) const HOOK: &str = "a hook";

/// Reports to the log that `hook` panicked when nobody waits for its answer.
pub(super) fn report_panic(view: &CallView<'_>, hook: &Hooked, stage: &'static str, error: &ToolError) {
    let (call, tool, hook, error) = (view.id, view.tool, hook.name, error.feedback());
    tracing::error!(%call, tool, hook, stage, error, "a hook panicked, which changes nothing about its call");
}

/// What stands for a value that nobody may read.
const HIDDEN: &str = "***";
const HIDDEN_VALUE: ExactValue<'static> = ExactValue::String(Cow::Borrowed(HIDDEN));

/// The way to those who listen.
#[derive(Clone)]
pub(super) struct Outlet {
    /// Reads all, and is waited for.
    stream: Option<mpsc::Sender<ToolEvent>>,
    /// Are not waited for.
    listeners: broadcast::Sender<ToolEvent>,
    /// Held by whoever asks the hooks while tools run: they are never asked about two calls at once.
    turn: Option<Arc<Turn<()>>>,
    /// Whether the arguments of tools that are not known are hidden: one of them may be a misspelt tool
    /// that has a secret.
    hides_unknown: bool,
}

impl Outlet {
    pub(super) fn new(stream: Option<mpsc::Sender<ToolEvent>>, executor: &Inner) -> Self {
        let turn = executor.settings.has_hooks().then(Arc::default);
        let hides_unknown = executor.tools.has_secret();
        Self { stream, listeners: executor.listeners.clone(), turn, hides_unknown }
    }

    /// Waits for the turn to ask the hooks; there is nothing to wait for where there are none.
    pub(super) async fn turn(&self) -> Option<impl Drop> {
        match &self.turn {
            Some(turn) => Some(turn.lock().await),
            None => None,
        }
    }

    /// `call`, as those may see it who listen.
    pub(super) fn shown(&self, call: &ToolCall, definition: Option<&ToolDefinition>) -> ToolCall {
        match definition {
            Some(definition) => shown(call, definition),
            None if self.hides_unknown => {
                ToolCall { arguments: Arguments::from(Value::from(HIDDEN)), ..call.clone() }
            }
            None => call.clone(),
        }
    }

    /// Tells `event` to those who are not waited for.
    pub(super) fn tell_listeners(&self, event: ToolEvent) {
        // An error is that there are none.
        let _ = self.listeners.send(event);
    }

    /// Whether nobody listens, and there are no hooks.
    pub(super) fn is_quiet(&self) -> bool {
        self.turn.is_none() && !self.is_heard()
    }

    /// Whether anybody listens.
    fn is_heard(&self) -> bool {
        self.stream.is_some() || self.listeners.receiver_count() > 0
    }

    /// Tells `event`, which is only made where somebody listens.
    pub(super) async fn tell(&self, event: impl FnOnce() -> ToolEvent) {
        if !self.is_heard() {
            return;
        }
        let event = event();
        // An error is that the reader of the stream has gone: no mistake.
        if let Some(stream) = &self.stream {
            let _ = stream.send(event.clone()).await;
        }
        self.tell_listeners(event);
    }
}

/// The display name of the tool that is called `name`.
pub(super) fn titled(definition: Option<&ToolDefinition>, name: &Arc<str>) -> Arc<str> {
    match definition.map(ToolDefinition::title) {
        Some(title) if title != &**name => Arc::from(title),
        _ => Arc::clone(name),
    }
}

/// `call` without its secrets: their values, and the names within them. All else is as it is written, with all digits
/// of its numbers.
pub(super) fn shown(call: &ToolCall, definition: &ToolDefinition) -> ToolCall {
    let secrets = &*definition.metadata().secrets;
    if secrets.is_empty() {
        return call.clone();
    }
    let mut value = ExactValue::read(call.arguments.as_str()).unwrap_or(HIDDEN_VALUE);
    match &mut value {
        ExactValue::Object(members) => {
            for (name, value) in members {
                if !definition.knows_parameter(name) {
                    *value = HIDDEN_VALUE;
                    // A property that is not known may be a secret one under another name; where any name is
                    // allowed, the name may be a part of the secret.
                    if !definition.is_closed() {
                        *name = HIDDEN.into();
                    }
                }
            }
        }
        other => *other = HIDDEN_VALUE,
    }
    hide(&mut value, secrets);
    ToolCall { arguments: Arguments::from(value.to_string()), ..call.clone() }
}

/// Hides the members that have the name of a secret, wherever they were put.
fn hide(value: &mut ExactValue<'_>, secrets: &[Cow<'static, str>]) {
    match value {
        ExactValue::Object(members) => {
            for (name, value) in members {
                match secrets.iter().any(|secret| *secret == **name) {
                    true => *value = HIDDEN_VALUE,
                    false => hide(value, secrets),
                }
            }
        }
        ExactValue::List(items) => items.iter_mut().for_each(|item| hide(item, secrets)),
        _ => {}
    }
}

/// What one call reports while it runs, and only then.
pub(super) struct CallReports {
    executor: Arc<Inner>,
    outlet: Outlet,
    /// Whether nobody is told, and only signs of life are waited for.
    is_quiet: bool,
    id: CallId,
    name: Arc<str>,
    title: Arc<str>,
    definition: ToolDefinition,
    run: Option<Arc<RunContext>>,
    /// As they came; for hooks.
    arguments: Arguments<'static>,
    /// The same in canonical form, once it is known.
    canonical: OnceLock<Arguments<'static>>,
    state: Mutex<State>,
    /// Cancelled when the call has ended.
    closed: CancellationToken,
}

pub(super) struct State {
    /// Whether the call still runs: what is reported later is lost.
    running: bool,
    last_sign: Instant,
}

impl CallReports {
    /// The reports of `call`, which runs in `cx`.
    pub(super) fn new(
        executor: &Arc<Inner>,
        around: &Surroundings,
        call: &ToolCall,
        cx: &ToolContext,
        definition: &ToolDefinition,
    ) -> Self {
        let has_hooks = executor.settings.has_hooks();
        let name = Arc::from(definition.name().as_str());
        Self {
            executor: Arc::clone(executor),
            outlet: around.outlet.clone(),
            is_quiet: around.is_quiet,
            id: cx.call_id().clone(),
            title: titled(Some(definition), &name),
            name,
            definition: definition.clone(),
            run: cx.run().cloned(),
            arguments: if has_hooks { call.arguments.clone() } else { Arguments::EMPTY },
            canonical: OnceLock::new(),
            state: Mutex::new(State { running: true, last_sign: Instant::now() }),
            closed: CancellationToken::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says with which arguments the call is made, after all that may have changed them.
    pub(super) fn are_of(&self, canonical: Arguments<'static>) {
        let _ = self.canonical.set(canonical);
    }

    /// Ends the reports: nothing follows, whoever still holds them.
    pub(super) fn close(&self) {
        self.lock().running = false;
        self.closed.cancel();
    }

    /// When the tool last gave a sign of life.
    pub(super) fn last_sign(&self) -> Instant {
        self.lock().last_sign
    }

    /// Starts to wait for a sign of life.
    pub(super) fn sign(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        state.last_sign = Instant::now();
        state
    }

    fn named(&self) -> (CallId, Arc<str>, Arc<str>) {
        (self.id.clone(), Arc::clone(&self.name), Arc::clone(&self.title))
    }

    fn hooks(&self) -> impl Iterator<Item = &Hooked> {
        self.executor.settings.all_hooks()
    }

    /// Asks the hooks whether the update of `view` is shown, and waits until there is room for it; `None`
    /// where it is kept back.
    async fn room(&self, view: &CallView<'_>, text: &str) -> Option<Option<mpsc::Permit<'_, ToolEvent>>> {
        let turn = self.outlet.turn().await;
        for hook in self.hooks() {
            // A hook that panics is no reason to show what it might have kept back.
            if !shielded(&self.id, HOOK, || hook.before_update(view, text)).await.unwrap_or(false) {
                return None;
            }
        }
        drop(turn);
        Some(match &self.outlet.stream {
            Some(stream) => stream.reserve().await.ok(),
            None => None,
        })
    }

    /// The same reports, of attempt `number`.
    pub(super) fn of_attempt(this: &Arc<Self>, number: u32) -> Arc<dyn CallSink> {
        Arc::new(AttemptReports { call: Arc::clone(this), number })
    }

    async fn reported(&self, attempt: u32, update: ToolOutput) {
        if !self.sign().running || self.is_quiet {
            return;
        }
        let text = update.text().into_owned();
        let view = CallView {
            id: &self.id,
            tool: &self.name,
            arguments: self.canonical.get().unwrap_or(&self.arguments),
            definition: Some(&self.definition),
            cx: None,
            run: self.run.as_deref(),
        };
        // Room first, so that what is told is told while the call runs. A task that outlives its call holds
        // up nobody here.
        let Some(Some(room)) = unless(&self.closed, self.room(&view, &text)).await else { return };
        {
            let state = self.lock();
            if !state.running {
                return;
            }
            let (id, name, title) = self.named();
            let event = ToolEvent::Updated { id, name, title, attempt, update };
            if let Some(room) = room {
                room.send(event.clone());
            }
            self.outlet.tell_listeners(event);
        }
        let _turn = self.outlet.turn().await;
        for hook in self.hooks() {
            // It was shown; whether somebody could be told of that changes nothing.
            if let Err(error) = shielded(&self.id, HOOK, || hook.after_update(&view, &text)).await {
                report_panic(&view, hook, "after_update", &error);
            }
        }
    }
}

impl CallSink for CallReports {
    fn update(&self, update: ToolOutput) -> Running<'_, ()> {
        Box::pin(self.reported(1, update))
    }

    fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        let state = self.sign();
        if !state.running || self.is_quiet || !self.outlet.is_heard() {
            return Ok(());
        }
        let (id, name, title) = self.named();
        let event = ToolEvent::Progress { id, name, title, progress };
        let told = match &self.outlet.stream {
            Some(stream) => stream.try_send(event.clone()),
            None => Ok(()),
        };
        self.outlet.tell_listeners(event);
        match told {
            Err(mpsc::error::TrySendError::Full(_)) => {
                let message = "the reader of the stream is behind, and has no room for the note";
                Err(ToolError::new(ErrorKind::Unavailable, message))
            }
            _ => Ok(()),
        }
    }
}

/// What one attempt after the first reports.
struct AttemptReports {
    call: Arc<CallReports>,
    number: u32,
}

impl CallSink for AttemptReports {
    fn update(&self, update: ToolOutput) -> Running<'_, ()> {
        Box::pin(self.call.reported(self.number, update))
    }

    fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        self.call.progress(progress)
    }
}

impl Settings {
    pub(super) fn all_hooks(&self) -> impl Iterator<Item = &Hooked> {
        self.plugins.iter().chain(&self.hooks)
    }

    pub(super) fn has_hooks(&self) -> bool {
        !self.plugins.is_empty() || !self.hooks.is_empty()
    }
}
